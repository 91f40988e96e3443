"""HTTP without I/O: bytes to the same few events in both versions and both roles, and back."""

"""HPACK's Huffman code (RFC 7541 section 5.2): see `huffman.pyx`."""

def decode(coded: bytes) -> bytes | None:
    """The octets that `coded` stands for, or None where it is no coding of any. Never raises."""

"""What goes up to the API server, what comes back, and its Status."""

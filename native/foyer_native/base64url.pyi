"""Unpadded base64url (RFC 4648 section 5), read strictly: see `base64url.pyx`."""

def decode(text: bytes) -> bytes | None:
    """The bytes that `text` spells, or None where it is not the one spelling of any. Never raises."""

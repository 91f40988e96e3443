"""Where the records of TLS begin: their headers are in the clear (RFC 8446 section 5.1)."""

from collections.abc import Iterator

TOGETHER = 32
"""Records given to OpenSSL at a time: it goes through all that it has for the next octet of content."""

_HEADER = 5


class Records:
    """Those of one direction."""

    __slots__ = ("_header", "_left")

    def __init__(self) -> None:
        self._header = b""  # as much of one as has come
        self._left = 0  # octets of a record still to come

    def groups(self, data: memoryview) -> Iterator[tuple[memoryview, int]]:
        """`data` in pieces, each with the number of records that end in it: `TOGETHER` at most."""
        begin = at = ended = 0
        size = len(data)
        while at < size:
            if not self._left:
                if self._header or size - at < _HEADER:
                    at += self._take_header(data[at:])
                else:
                    self._left = _HEADER + (data[at + 3] << 8 | data[at + 4])
            if self._left <= size - at:
                at += self._left
                self._left = 0
                ended += not self._header
            else:
                self._left -= size - at
                at = size
            if ended == TOGETHER:
                yield data[begin:at], ended
                begin, ended = at, 0
        if begin < at:
            yield data[begin:at], ended

    def _take_header(self, data: memoryview) -> int:
        """Goes on with a header that comes in pieces; how many octets of it there are."""
        taken = data[: _HEADER - len(self._header)]
        self._header += taken
        if len(self._header) == _HEADER:
            self._left = self._header[3] << 8 | self._header[4]
            self._header = b""
        return len(taken)

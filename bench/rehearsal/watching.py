"""A watch as its browser reads it, and what a crowd of them waits for."""

_TAIL = 64
"""Octets kept of a line that has not ended: more than any mark is long."""


class Awaited:
    """A mark in the content that each watch is to see once, and when each did."""

    def __init__(self, mark: bytes) -> None:
        assert len(mark) < _TAIL
        self.mark = mark
        self.seen: list[int] = []
        """In nanoseconds of the machine's monotonic clock."""


class Watch:
    """One open response of somebody's."""

    __slots__ = ("_last", "_over", "_tail", "awaited", "clean", "ended", "person")

    def __init__(self, person: int, awaited: Awaited, over: list["Watch"]) -> None:
        """`over` is where it puts itself at its end."""
        self.person = person
        self.awaited = awaited
        self.ended = 0
        self.clean = False
        self._over = over
        self._last: Awaited | None = None
        self._tail = b""

    def took(self, content: bytes, now: int) -> None:
        """A piece of the content, of any length."""
        text = self._tail + content if self._tail else content
        awaited = self.awaited
        if awaited is not self._last and awaited.mark in text:
            self._last = awaited
            awaited.seen.append(now)
        self._tail = b"" if text.endswith(b"\n") else text[-_TAIL:]

    def over(self, now: int, *, clean: bool) -> None:
        """It has ended; `clean` is an end that could pass for the whole."""
        if not self.ended:
            self.ended, self.clean = now, clean
            self._over.append(self)


class Chunks:
    """HTTP/1.1's chunked coding (RFC 9112 section 7.1), without trailers."""

    __slots__ = ("_held", "_left", "ended")

    def __init__(self) -> None:
        self._held = b""
        self._left = 0
        self.ended = False

    def read(self, data: bytes) -> bytes:
        """The content in `data`."""
        if self._held:
            data, self._held = self._held + data, b""
        content = []
        at = 0
        while at < len(data):
            if self._left > 2:  # the two are its CR LF
                piece = data[at : at + self._left - 2]
                content.append(piece)
                self._left -= len(piece)
                at += len(piece)
            elif self._left:
                skipped = min(self._left, len(data) - at)
                self._left -= skipped
                at += skipped
            else:
                end = data.find(b"\r\n", at)
                if end < 0:
                    self._held = data[at:]
                    break
                size = int(data[at:end], 16)
                at = end + 2
                self._left = size + 2
                self.ended = not size
        return content[0] if len(content) == 1 else b"".join(content)

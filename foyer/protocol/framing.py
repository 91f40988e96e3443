"""The strict framing guard in front of h11 (RFC 9112 sections 2 to 7; spec 03, What goes up: Body).

h11 0.16 accepts bare LF line ends, obs-fold, Content-Length beside Transfer-Encoding, repeated
lengths and chunk extensions: each one a way for two parsers to read two requests. So bytes are
walked here first, and h11 is given only what has one reading. The property that the tests hold:
what the guard accepts, h11 frames exactly as the guard did.

Pure functions over a head, and one small walker over the content that follows it.
"""

import re
from enum import Enum

from foyer.protocol.fault import ProtocolFault

MAX_HEAD = 64 * 1024
"""Bytes of a head (spec 03). A session, three logins in progress and an application's own cookies fit."""

MAX_FIELDS = 100
"""Field lines of a head (spec 03): h11 takes 28 ms for 8,000 tiny ones."""

MAX_RESPONSE_FIELDS = 2000
"""The same of a response: what HTTP/2's header list of 64 KiB has room for (RFC 9113 section 10.5.1), as
Kubernetes may send a `Warning` for each of many things."""

MAX_TRAILERS = 8 * 1024
"""Bytes of a trailer section. Trailers never pass, so nobody needs more."""

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# CR, LF and NUL are in neither class, so a line ends at CRLF alone and nothing can be folded.
_FIELD_LINES = rb"(?:" + _TOKEN + rb":[\t\x20-\x7e\x80-\xff]*\r\n)*"
_REQUEST = re.compile(_TOKEN + rb" [\x21-\x7e]+ HTTP/1\.[01]\r\n" + _FIELD_LINES + rb"\r\n")
_RESPONSE = re.compile(rb"HTTP/1\.[01] [0-9]{3}(?: [\t\x20-\x7e\x80-\xff]*)?\r\n" + _FIELD_LINES + rb"\r\n")
_TRAILERS = re.compile(_FIELD_LINES + rb"\r\n")
_FRAMING_FIELDS = re.compile(rb"\r\n(content-length|transfer-encoding):([^\r]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"[0-9]{1,15}")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_CHUNK_LINE = 18  # sixteen digits and CRLF

CHECKED_CHUNKS = 256
"""Chunks that are looked at before their request is told: a millisecond's worth."""


class Content(Enum):
    """How the end of a message's content is found (RFC 9112 section 6.3)."""

    LENGTH = "length"
    CHUNKED = "chunked"
    UNTIL_CLOSE = "until close"


def head_end(buffer: bytes | bytearray, searched: int) -> int:
    """The offset just past the head's blank line, or 0 when it has not arrived.

    `searched` bytes were looked at before. Raises `ProtocolFault`: 431 for a head too long, 400
    for a line that did not end in CRLF (found at once, not after the slow-head deadline).
    """
    at = buffer.find(b"\r\n\r\n", max(0, searched - 3))
    if 0 <= at <= MAX_HEAD - 4:
        return at + 4
    if at >= 0 or len(buffer) >= MAX_HEAD:
        raise ProtocolFault("the head is longer than 64 KiB", 431)
    # Of what is new alone, with the CR that may stand before it: a head may come byte by byte.
    if buffer.count(b"\n", searched) != buffer.count(b"\r\n", max(0, searched - 1)):
        raise ProtocolFault("a line of the head does not end in CRLF")
    return 0


def request_content(head: bytes) -> tuple[Content, int]:
    """Checks a whole request head; how its content is framed, and its length in bytes (RFC 9112 section 6).

    Raises `ProtocolFault`.
    """
    if not _REQUEST.fullmatch(head):
        raise ProtocolFault("the request's head is malformed")
    _check_count(head, MAX_FIELDS)
    lengths, codings = _framing_fields(head)
    if codings:
        if lengths:
            raise ProtocolFault("Content-Length beside Transfer-Encoding")
        if head[: head.index(b"\r\n")].endswith(b"HTTP/1.0"):
            raise ProtocolFault("Transfer-Encoding in an HTTP/1.0 request")
        if codings[0].lower() != b"chunked":
            raise ProtocolFault("a transfer coding other than chunked")
        return Content.CHUNKED, 0
    return Content.LENGTH, _length(lengths) if lengths else 0


def response_content(head: bytes, method: bytes) -> tuple[Content, int]:
    """The same for a response head to a request with `method` (RFC 9112 section 6.3)."""
    if not _RESPONSE.fullmatch(head):
        raise ProtocolFault("the response's head is malformed")
    _check_count(head, MAX_RESPONSE_FIELDS)
    lengths, codings = _framing_fields(head)
    status = int(head[9:12])
    if codings and lengths:
        raise ProtocolFault("Content-Length beside Transfer-Encoding")
    length = _length(lengths) if lengths else 0
    if method == b"HEAD" or status < 200 or status in (204, 304):
        return Content.LENGTH, 0
    if codings:
        if head.startswith(b"HTTP/1.0") or codings[0].lower() != b"chunked":
            raise ProtocolFault("a transfer coding other than chunked")
        return Content.CHUNKED, 0
    return (Content.LENGTH, length) if lengths else (Content.UNTIL_CLOSE, 0)


def _check_count(head: bytes, most: int) -> None:
    if head.count(b"\r\n") - 2 > most:
        raise ProtocolFault(f"more than {most} fields", 431)


def _framing_fields(head: bytes) -> tuple[list[bytes], list[bytes]]:
    lengths: list[bytes] = []
    codings: list[bytes] = []
    for name, value in _FRAMING_FIELDS.findall(head):
        # Stripped here and not by the pattern, which would try each blank of a value as its last: 60,000
        # of them between two letters held the loop for a quarter of a minute.
        (lengths if name[:1] in b"cC" else codings).append(value.strip(b" \t"))
    if len(lengths) > 1 or len(codings) > 1:
        raise ProtocolFault("a repeated Content-Length or Transfer-Encoding")
    return lengths, codings


def _length(lengths: list[bytes]) -> int:
    if not _LENGTH.fullmatch(lengths[0]):
        raise ProtocolFault("Content-Length is not one decimal number")
    return int(lengths[0])


class _At(Enum):
    """Where in chunked content the walk is (RFC 9112 section 7.1)."""

    SIZE = "chunk size"
    DATA = "chunk data"
    DATA_END = "the CRLF after chunk data"
    TRAILERS = "trailer section"
    DONE = "done"


class ContentWalk:
    """Walks the content after one head and finds where the message ends."""

    __slots__ = ("_at", "_fault", "_framing", "_line", "_remaining", "chunks")

    def __init__(self, framing: Content, length: int) -> None:
        self._framing = framing
        self._remaining = length
        self._line = b""  # an unfinished line or trailer section
        self._fault: ProtocolFault | None = None  # found behind bytes that were in order
        self.chunks = 0  # of which the size has been read
        self._at = _At.SIZE if framing is Content.CHUNKED else _At.DATA
        if framing is Content.LENGTH and not length:
            self._at = _At.DONE

    @property
    def done(self) -> bool:
        """The message's content has ended."""
        return self._at is _At.DONE

    @property
    def until_close(self) -> bool:
        """Only the connection's end ends this content."""
        return self._framing is Content.UNTIL_CLOSE

    def walk(self, data: bytes, chunks: int | None = None) -> int:
        """Goes over `data`, or `chunks` of it, and returns how much of that belongs to this message.

        Raises `ProtocolFault` at the first byte that has more than one reading: when bytes before
        it are in order, only at the next call, so that they have their way first.
        """
        if self._fault is not None:
            raise self._fault
        if self._framing is Content.UNTIL_CLOSE:
            return len(data)
        if self._framing is Content.LENGTH:
            taken = min(self._remaining, len(data))
            self._remaining -= taken
            if not self._remaining:
                self._at = _At.DONE
            return taken
        position = 0
        limit = None if chunks is None else self.chunks + chunks
        try:
            while position < len(data) and self._at is not _At.DONE and self.chunks != limit:
                position = self._step(data, position)
        except ProtocolFault as fault:
            if not position:
                raise
            self._fault = fault
        return position

    def check(self, data: bytes) -> None:
        """Goes over the first chunks of `data`. A `ProtocolFault` behind bytes in order is raised as well."""
        self.walk(data, CHECKED_CHUNKS)
        if self._fault is not None:
            raise self._fault

    def _step(self, data: bytes, position: int) -> int:
        match self._at:
            case _At.DATA:
                taken = min(self._remaining, len(data) - position)
                self._remaining -= taken
                if not self._remaining:
                    self._at = _At.DATA_END
                return position + taken
            case _At.SIZE:
                return self._size(data, position)
            case _At.DATA_END:
                return self._data_end(data, position)
            case _At.TRAILERS:
                return self._trailers(data, position)
            case _:
                raise AssertionError(self._at)

    def _size(self, data: bytes, position: int) -> int:
        # No extensions: nothing needs them, and parsers disagree on where they end (CVE-2025-22871).
        end = data.find(b"\n", position, position + _CHUNK_LINE)
        piece = data[position : end + 1] if end >= 0 else data[position : position + _CHUNK_LINE]
        line = self._line + piece
        if end < 0:
            digits = line.removesuffix(b"\r")
            if len(line) >= _CHUNK_LINE or (digits and not _CHUNK_SIZE.fullmatch(digits)) or line == b"\r":
                raise ProtocolFault("a malformed chunk size")
            self._line = line
            return position + len(piece)
        self._line = b""
        if line[-2:] != b"\r\n" or not _CHUNK_SIZE.fullmatch(line[:-2]):
            raise ProtocolFault("a malformed chunk size")
        self.chunks += 1
        self._remaining = int(line[:-2], 16)
        self._at = _At.DATA if self._remaining else _At.TRAILERS
        return end + 1

    def _data_end(self, data: bytes, position: int) -> int:
        piece = data[position : position + 2 - len(self._line)]
        line = self._line + piece
        if not b"\r\n".startswith(line):
            raise ProtocolFault("chunk data longer than its size")
        self._line = b"" if len(line) == 2 else line
        if not self._line:
            self._at = _At.SIZE
        return position + len(piece)

    def _trailers(self, data: bytes, position: int) -> int:
        held = len(self._line)
        section = self._line + data[position : position + MAX_TRAILERS + 4 - held]
        # Without trailers the section is one CRLF, else it ends at a blank line.
        end = 2 if section.startswith(b"\r\n") else section.find(b"\r\n\r\n") + 4
        if end == 3:
            if len(section) > MAX_TRAILERS or section.count(b"\n") != section.count(b"\r\n"):
                raise ProtocolFault("a malformed trailer section")
            self._line = section
            return len(data)
        if not _TRAILERS.fullmatch(section[:end]) or section.count(b"\r\n", 0, end) > MAX_FIELDS:
            raise ProtocolFault("a malformed trailer section")
        self._line = b""
        self._at = _At.DONE
        return position + end - held

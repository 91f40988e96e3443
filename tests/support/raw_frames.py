"""HTTP/2 frames by hand (RFC 9113 section 4.1), whatever they say, and frames read from bytes.

data = PREFACE + settings() + headers(1, GET) + frame(Kind.DATA, 1, b"hello", flags=END_STREAM)
assert [str(f) for f in frames(said)] == ["SETTINGS 0", "RST_STREAM 1 PROTOCOL_ERROR"]
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import hpack
from h2.errors import ErrorCodes

from tests.support.script import Fields

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITY = 0x20

GET: Fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"f"), (b":path", b"/a")]
POST: Fields = [(b":method", b"POST"), *GET[1:]]
OK: Fields = [(b":status", b"200")]


class Kind(IntEnum):
    """The frame types."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


def frame(kind: int, stream: int, payload: bytes = b"", *, flags: int = 0) -> bytes:
    """Any frame."""
    return b"%b%c%c%b%b" % (len(payload).to_bytes(3, "big"), kind, flags, stream.to_bytes(4, "big"), payload)


def block(fields: Fields) -> bytes:
    """A header block that leaves no trace in the table: every field a literal without indexing."""
    return hpack.Encoder().encode([hpack.NeverIndexedHeaderTuple(*field) for field in fields], huffman=False)


def headers(stream: int, fields: Fields, *, end: bool = True) -> bytes:
    """A HEADERS frame, whole."""
    return frame(Kind.HEADERS, stream, block(fields), flags=END_HEADERS | (END_STREAM if end else 0))


def data(stream: int, content: bytes, *, end: bool = False, padding: int = 0) -> bytes:
    """A DATA frame."""
    flags = END_STREAM if end else 0
    if padding:
        return frame(Kind.DATA, stream, b"%c%b%b" % (padding, content, bytes(padding)), flags=flags | PADDED)
    return frame(Kind.DATA, stream, content, flags=flags)


def settings(values: dict[int, int] | None = None) -> bytes:
    """A SETTINGS frame."""
    payload = b"".join(
        code.to_bytes(2, "big") + value.to_bytes(4, "big") for code, value in (values or {}).items()
    )
    return frame(Kind.SETTINGS, 0, payload)


def reset(stream: int, code: int = ErrorCodes.CANCEL) -> bytes:
    """A RST_STREAM frame."""
    return frame(Kind.RST_STREAM, stream, code.to_bytes(4, "big"))


def goaway(last: int, code: int = ErrorCodes.NO_ERROR) -> bytes:
    """A GOAWAY frame."""
    return frame(Kind.GOAWAY, 0, last.to_bytes(4, "big") + code.to_bytes(4, "big"))


def window_update(stream: int, increment: int) -> bytes:
    """A WINDOW_UPDATE frame."""
    return frame(Kind.WINDOW_UPDATE, stream, increment.to_bytes(4, "big"))


@dataclass(frozen=True)
class Frame:
    """One frame as it was on the wire."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> ErrorCodes:
        """What a RST_STREAM or a GOAWAY says."""
        return ErrorCodes(int.from_bytes(self.payload[-4:], "big"))

    @property
    def number(self) -> int:
        """A WINDOW_UPDATE's increment, or a GOAWAY's last stream."""
        return int.from_bytes(self.payload[:4], "big")

    def __str__(self) -> str:
        words = [Kind(self.kind).name, str(self.stream)]
        if self.kind == Kind.GOAWAY:
            words += [str(self.number), self.code.name]
        elif self.kind == Kind.RST_STREAM:
            words.append(self.code.name)
        elif self.kind in (Kind.DATA, Kind.HEADERS) and self.flags & END_STREAM:
            words.append("END_STREAM")
        elif self.kind == Kind.SETTINGS and self.flags & ACK:
            words.append("ACK")
        return " ".join(words)


def frames(wire: bytes) -> Iterator[Frame]:
    """The frames in what a codec said."""
    at = len(PREFACE) if wire.startswith(PREFACE) else 0
    while at < len(wire):
        size = 9 + int.from_bytes(wire[at : at + 3], "big")
        yield Frame(
            wire[at + 3], wire[at + 4], int.from_bytes(wire[at + 5 : at + 9], "big"), wire[at + 9 : at + size]
        )
        at += size
    assert at == len(wire), "a frame that was not whole"

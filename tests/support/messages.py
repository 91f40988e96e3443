"""HTTP/1.1 messages cut out of bytes: the scripted peers' own reader (RFC 9112).

Independent of h11 on purpose: the product may use h11, and what it writes is checked by another
pair of eyes. The reader is strict and shows what it saw: names as spelt, each chunk's extent, trailers.
"""

import re
from dataclasses import dataclass, field
from enum import Enum

from tests.support.script import Fields, How
from tests.support.wire import End


class Framing(Enum):
    """How a message's content is delimited (RFC 9112 section 6.3)."""

    NONE = "none"
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"


class MalformedError(AssertionError):
    """The product wrote something that is not HTTP/1.1."""


_VALUE = rb"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?"
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?(" + _VALUE + rb")")
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,16}")


@dataclass
class Message:
    """One message as far as it has arrived."""

    start: bytes
    fields: Fields
    framing: Framing = Framing.NONE
    content: bytearray = field(default_factory=bytearray)
    trailers: Fields = field(default_factory=list)
    chunks: int = 0
    ended: bool = False
    broken: How | None = None

    def all(self, name: bytes) -> list[bytes]:
        """Every value of the field called `name`, in lower case, however it was spelt."""
        return [value for key, value in self.fields if key.lower() == name]


class Reader:
    """Cuts one message after another. Its owner says how each one's content is delimited."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._left = 0
        self._in_chunk = False
        self.end = End.OPEN

    @property
    def rest(self) -> bytes:
        """Bytes received and not read as part of any message."""
        return bytes(self._buffer)

    def receive(self, data: bytes) -> None:
        self._buffer += data

    def next_message(self) -> Message | None:
        """The next head, once it is whole."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        start, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        return Message(start, [_field(line) for line in lines])

    def expect_content(self, message: Message, framing: Framing) -> None:
        """Begin the content of `message`."""
        message.framing = framing
        self._in_chunk = False
        self._left = int(message.all(b"content-length")[0]) if framing is Framing.LENGTH else 0
        self.go_on(message)

    def go_on(self, message: Message) -> None:
        """Move what has arrived into `message`, and notice its end."""
        match message.framing:
            case Framing.NONE:
                message.ended = True
            case Framing.LENGTH:
                self._take(message)
                message.ended = self._left == 0
            case Framing.CHUNKED:
                while not message.ended and self._chunked_step(message):
                    pass
            case Framing.CLOSE:
                message.content += self._buffer
                self._buffer.clear()

    def connection_ended(self, message: Message, end: End) -> None:
        """The connection ended within `message`."""
        self.go_on(message)
        match message.framing:
            case _ if message.ended:
                pass
            case Framing.CLOSE if end is End.CLOSED:
                message.ended = True
            case Framing.CLOSE:
                message.broken = How.WITHOUT_CLOSE_NOTIFY
            case Framing.LENGTH:
                message.broken = How.SHORT_OF_LENGTH
            case _:
                message.broken = How.BEFORE_LAST_CHUNK

    def _take(self, message: Message) -> int:
        piece = self._buffer[: self._left]
        del self._buffer[: len(piece)]
        self._left -= len(piece)
        message.content += piece
        return len(piece)

    def _chunked_step(self, message: Message) -> bool:
        if self._left:
            return self._take(message) > 0
        if self._in_chunk:
            if len(self._buffer) < 2:
                return False
            if self._line() != b"":
                raise MalformedError("a chunk longer than its size")
            self._in_chunk = False
            return True
        size = self._line()
        if size is None:
            return False
        if not _CHUNK.fullmatch(size):
            raise MalformedError(f"chunk size {size!r}")
        self._left = int(size, 16)
        if self._left == 0:
            return self._last_chunk(message, size)
        self._in_chunk = True
        message.chunks += 1
        return True

    def _last_chunk(self, message: Message, size: bytes) -> bool:
        if self._buffer.startswith(b"\r\n"):
            del self._buffer[:2]
        else:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                self._buffer[:0] = size + b"\r\n"
                return False
            message.trailers = [_field(line) for line in bytes(self._buffer[:end]).split(b"\r\n")]
            del self._buffer[: end + 4]
        message.ended = True
        return True

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line


def _field(line: bytes) -> tuple[bytes, bytes]:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise MalformedError(f"field line {line!r}")
    return found[1], found[2]


def delimited_by(message: Message) -> Framing | None:
    """What the fields say: chunked, a length, or neither (None). Both, or two lengths, is malformed."""
    coding, lengths = message.all(b"transfer-encoding"), message.all(b"content-length")
    if (coding and lengths) or len(lengths) > 1 or len(coding) > 1:
        raise MalformedError("ambiguous framing")
    if coding:
        if coding[0].lower() != b"chunked":
            raise MalformedError(f"transfer coding {coding[0]!r}")
        return Framing.CHUNKED
    if lengths:
        if not lengths[0].isdigit():
            raise MalformedError(f"Content-Length {lengths[0]!r}")
        return Framing.LENGTH
    return None


def chunk(data: bytes) -> bytes:
    """One chunk; of nothing, the last."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def head(start: bytes, fields: Fields) -> bytes:
    """A message's head."""
    return b"".join([start, b"\r\n", *(b"%b: %b\r\n" % pair for pair in fields), b"\r\n"])

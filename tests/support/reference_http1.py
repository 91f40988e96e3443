"""A slow reader of one HTTP/1.1 message, octet by octet, in the order of RFC 9112's grammar.

The oracle of the framing guard: written apart from it, without a regular expression, and without a
thought for speed or for input that comes in pieces. It knows the strictest reading alone: whatever
RFC 9112 lets a recipient repair is `REFUSED`.
"""

from dataclasses import dataclass
from enum import Enum

TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
DIGITS = frozenset(b"0123456789")
HEX = frozenset(b"0123456789abcdefABCDEF")
TEXT = frozenset([0x09, *range(0x20, 0x7F), *range(0x80, 0x100)])
VISIBLE = frozenset(range(0x21, 0x7F))

MAX_HEAD = 65536
MAX_FIELDS = 100
MAX_RESPONSE_FIELDS = 2000


class Verdict(Enum):
    """What there is to say of bytes that are not one whole message."""

    REFUSED = "it has no reading, or more than one"
    UNFINISHED = "more must come"


@dataclass(frozen=True)
class Message:
    """One whole message. `size` is where it ends; bytes behind it are not its own."""

    start: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    content: bytes
    size: int


class _End(Exception):
    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict


class _Octets:
    """What is read, and how far."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def peek(self) -> int:
        if self.at >= len(self.data):
            raise _End(Verdict.UNFINISHED)
        return self.data[self.at]

    def take(self) -> int:
        octet = self.peek()
        self.at += 1
        return octet

    def expect(self, text: bytes) -> None:
        for octet in text:
            if self.take() != octet:
                raise _End(Verdict.REFUSED)

    def some(self, of: frozenset[int]) -> bytes:
        """One octet or more of a class."""
        found = self.any(of)
        if not found:
            self.peek()
            raise _End(Verdict.REFUSED)
        return found

    def any(self, of: frozenset[int]) -> bytes:
        """As many octets of a class as there are; unfinished unless something else follows."""
        found = bytearray()
        while self.at < len(self.data) and self.data[self.at] in of:
            found.append(self.take())
        return bytes(found)


def request(data: bytes) -> Message | Verdict:
    """The request at the front of `data`."""
    return _message(data, None)


def response(data: bytes, method: bytes) -> Message | Verdict:
    """The final response at the front of `data`, to a request with `method`, its sender's end behind it."""
    return _message(data, method)


def _message(data: bytes, answered: bytes | None) -> Message | Verdict:
    octets = _Octets(data)
    try:
        start = _request_line(octets) if answered is None else _status_line(octets)
        fields = _field_lines(octets)
        most = MAX_FIELDS if answered is None else MAX_RESPONSE_FIELDS
        if octets.at > MAX_HEAD or len(fields) > most:
            return Verdict.REFUSED
        content = _content(octets, start, fields, answered)
    except _End as end:
        return end.verdict
    return Message(start, tuple(fields), content, octets.at)


def _request_line(octets: _Octets) -> bytes:
    method = octets.some(TOKEN)
    octets.expect(b" ")
    target = octets.some(VISIBLE)
    octets.expect(b" HTTP/1.")
    version = octets.take()
    if version not in b"01":
        raise _End(Verdict.REFUSED)
    octets.expect(b"\r\n")
    return b"%b %b HTTP/1.%c" % (method, target, version)


def _status_line(octets: _Octets) -> bytes:
    octets.expect(b"HTTP/1.")
    version = octets.take()
    if version not in b"01":
        raise _End(Verdict.REFUSED)
    octets.expect(b" ")
    status = bytes(octets.take() for _ in range(3))
    if not set(status) <= DIGITS:
        raise _End(Verdict.REFUSED)
    if octets.peek() == ord(" "):
        octets.any(TEXT)
    octets.expect(b"\r\n")
    return b"HTTP/1.%c %b" % (version, status)


def _field_lines(octets: _Octets) -> list[tuple[bytes, bytes]]:
    fields = []
    while octets.peek() != ord("\r"):
        name = octets.some(TOKEN)
        octets.expect(b":")
        value = octets.any(TEXT)
        octets.expect(b"\r\n")
        fields.append((name.lower(), value.strip(b" \t")))
    octets.expect(b"\r\n")
    return fields


def _content(
    octets: _Octets, start: bytes, fields: list[tuple[bytes, bytes]], answered: bytes | None
) -> bytes:
    lengths = [value for name, value in fields if name == b"content-length"]
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        raise _End(Verdict.REFUSED)
    if lengths and not (0 < len(lengths[0]) <= 15 and set(lengths[0]) <= DIGITS):
        raise _End(Verdict.REFUSED)
    if answered is not None:
        status = start[-3:]
        if answered == b"HEAD" or status[:1] in (b"0", b"1") or status in (b"204", b"304"):
            return b""
    if codings:
        version = start.split(b" ")[-1 if answered is None else 0]
        if codings[0].lower() != b"chunked" or version == b"HTTP/1.0":
            raise _End(Verdict.REFUSED)
        return _chunks(octets)
    if lengths:
        return bytes(octets.take() for _ in range(int(lengths[0])))
    if answered is None:
        return b""
    rest = octets.data[octets.at :]
    octets.at = len(octets.data)
    return rest


def _chunks(octets: _Octets) -> bytes:
    content = bytearray()
    while True:
        digits = octets.some(HEX)
        if len(digits) > 16:
            raise _End(Verdict.REFUSED)
        octets.expect(b"\r\n")
        size = int(digits, 16)
        if not size:
            break
        if size > len(octets.data) - octets.at:
            raise _End(Verdict.UNFINISHED)
        content += bytes(octets.take() for _ in range(size))
        octets.expect(b"\r\n")
    before = octets.at
    if len(_field_lines(octets)) >= MAX_FIELDS or octets.at - before > 8 * 1024 + 4:
        raise _End(Verdict.REFUSED)
    return bytes(content)

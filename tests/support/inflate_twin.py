"""The pure-Python twin of `foyer_native.inflate`: RFC 1952 over zlib, whole and slow, its oracle.

Written from the RFC's figures rather than from the module: one function reads everything, and
the engine is another.
"""

import zlib
from dataclasses import dataclass
from typing import Literal

Kind = Literal["truncated", "junk", "crc", "length", "corrupt"]

FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16
OPTIONAL_MOST = 64 * 1024


@dataclass(frozen=True)
class Outcome:
    """What came out before the end or the fault. `fault` is None after a whole content."""

    content: bytes
    fault: Kind | None


class Fault(Exception):
    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.kind = kind


def inflate(data: bytes) -> Outcome:
    """Decode every member of `data`, which is the whole input."""
    content = bytearray()
    rest = data
    try:
        while rest:
            rest = _member(rest, content, later=rest is not data)
    except Fault as fault:
        return Outcome(bytes(content), fault.kind)
    return Outcome(bytes(content), None)


def _member(data: bytes, content: bytearray, *, later: bool) -> bytes:
    """Decode one member into `content`; what follows it."""
    start = _header(data, later=later)
    begun = len(content)
    rest = _deflate(data[start:], content)
    decoded = content[begun:]
    if len(rest) < 8:
        raise Fault("truncated")
    if int.from_bytes(rest[:4], "little") != zlib.crc32(decoded):
        raise Fault("crc")
    if int.from_bytes(rest[4:8], "little") != len(decoded) % 2**32:
        raise Fault("length")
    return rest[8:]


def _header(data: bytes, *, later: bool) -> int:
    """The size of a member's header (RFC 1952 section 2.3)."""
    if not b"\x1f\x8b".startswith(data[:2]):
        raise Fault("junk" if later else "corrupt")
    if data[2:3] not in (b"", b"\x08") or (len(data) > 3 and data[3] & 0xE0):
        raise Fault("corrupt")
    if len(data) < 10:
        raise Fault("truncated")
    flags, at = data[3], 10
    if flags & FEXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little") if len(data) >= at + 2 else len(data)
    for flag in (FNAME, FCOMMENT):
        if flags & flag:
            end = data.find(b"\0", at)
            at = len(data) + 1 if end < 0 else end + 1
            if min(at, len(data)) - 10 > OPTIONAL_MOST + (2 if flags & FEXTRA else 0):
                raise Fault("corrupt")
    if flags & FHCRC:
        at += 2
        if (
            at <= len(data)
            and int.from_bytes(data[at - 2 : at], "little") != zlib.crc32(data[: at - 2]) & 0xFFFF
        ):
            raise Fault("crc")
    if at > len(data):
        raise Fault("truncated")
    return at


def _deflate(data: bytes, content: bytearray) -> bytes:
    """Decode DEFLATE data into `content`; what follows it.

    Fed a byte at a time, since zlib gives nothing of a call that meets a fault.
    """
    decoder = zlib.decompressobj(-zlib.MAX_WBITS)
    for at in range(len(data)):
        try:
            content += decoder.decompress(data[at : at + 1])
        except zlib.error:
            raise Fault("corrupt") from None
        if decoder.eof:
            return data[at + 1 :]
    raise Fault("truncated")

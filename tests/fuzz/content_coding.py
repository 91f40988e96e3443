"""The inflater against its pure twin and the standard library, for every cut into reads and steps.

It gives what the twin gives, never more in a step than was asked for, and nothing ends cleanly that is cut
off, followed by junk, or has another CRC or length than its content.
What it holds is what was fed and not decoded yet, and a decoder only within a member.
"""

import gzip
import zlib
from collections.abc import Callable

from hypothesis import strategies as st

from foyer_native.inflate import STEP, GzipError, Inflater
from tests.fuzz.target import Target, cut, joined, parted, with_whims
from tests.support.inflate_twin import Outcome, inflate

LIMITS = (1, 2, 3, 7, 100, 1000, 4096, 8191, 32_768, STEP)

MOST = 1 << 22
"""Bytes that are decoded of one input: a bomb of 16 KiB would be 16 MiB, and the twin goes byte by byte."""


def check(data: bytes) -> None:
    """The wire's bytes are a content; the first whim is how long a step may be."""
    wire, whims = parted(data)
    limit = LIMITS[whims[0] % len(LIMITS)] if whims else STEP
    ours = _inflated(cut(wire, whims[1:]), limit)
    if ours is None:
        return
    twin = inflate(wire)
    if twin.fault is None and ours.fault is None:
        assert ours == twin
        assert ours.content == (gzip.decompress(wire) if wire else b"")
    elif "corrupt" not in (ours.fault, twin.fault):
        assert ours.fault == twin.fault
        assert twin.content.startswith(ours.content)
        # ISA-L decodes up to three literals at once, and waits for the bits of all three.
        assert len(twin.content) - len(ours.content) <= (2 if ours.fault == "truncated" else 0)
    else:
        # Each engine refuses code sets that the other goes on with, until a CRC or the end has the last word:
        # so what zlib calls corrupt may end cleanly, with the content that its CRC is of.
        assert twin.content.startswith(ours.content) or ours.content.startswith(twin.content)


def _inflated(reads: list[bytes], limit: int) -> Outcome | None:
    """What comes out of the inflater; None where that is too much to go on."""
    inflater = Inflater()
    content = bytearray()
    fed = 0
    try:
        for read in reads:
            inflater.feed(read)
            fed += len(read)
            while step := inflater.step(limit):
                content += step
                assert len(step) <= limit
                assert inflater.decoded == len(content)
                assert 0 <= inflater.pending <= fed
                if len(content) > MOST or len(content) > 5000 * limit:
                    return None
            assert inflater.pending == 0
        inflater.finish()
    except GzipError as error:
        fault = error.kind
    else:
        assert inflater.resting
        return Outcome(bytes(content), None)
    assert not inflater.resting and inflater.pending == 0
    assert _fault(inflater.finish) == _fault(lambda: inflater.step(limit)) == fault
    return Outcome(bytes(content), fault)


def _fault(step: Callable[[], object]) -> str | None:
    try:
        step()
    except GzipError as fault:
        return fault.kind
    return None


def _member(content: bytes, level: int, strategy: int, flush: bool) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS + 16, 9, strategy)
    begun = deflate.compress(content)
    return begun + (deflate.flush(zlib.Z_SYNC_FLUSH) if flush else b"") + deflate.flush()


_CONTENTS = st.lists(
    st.sampled_from([b'{"kind":"Pod"', b'"name":', b"abcdefgh" * 9, b"\n", b"\0" * 300])
    | st.binary(max_size=40),
    max_size=20,
).map(b"".join)
_MEMBERS = st.builds(_member, _CONTENTS, st.integers(0, 9), st.sampled_from([0, 1, 2, 3, 4]), st.booleans())
_GRAMMAR = with_whims(st.lists(_MEMBERS, max_size=4).map(b"".join))


def _seeds() -> list[bytes]:
    plain = _member(b"hello, hello, hello", 6, 0, False)
    optional = plain[:3] + b"\x1e" + plain[4:10] + b"\x02\x00exname\0comment\0"
    optional += (zlib.crc32(optional) & 0xFFFF).to_bytes(2, "little")
    return [
        joined(plain, (9, 60)),
        joined(plain * 3, (0, 100, 101)),
        joined(optional + plain[10:], (3, 30)),
        joined(plain[:-1]),
        joined(plain + b"junk"),
        joined(_member(bytes(100_000), 9, 0, True), (9,)),
        joined(b"\x1f\x8b\x08\x00" + bytes(6) + b"\x01\x05\x00\xfa\xffhello"),
    ]


TARGET = Target("inflate", check, _seeds, _GRAMMAR, words=(b"\x1f\x8b\x08\x00", b"\x00\x00\xff\xff"))

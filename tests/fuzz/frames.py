"""HTTP/2 for the targets that hear it: a grammar of frames, and mutations that leave frames whole.

A plain mutation mostly breaks a length, and all that follows is noise; so a frame's payload, flags and
stream are changed in their places, frames are taken out, repeated and put elsewhere.
"""

from random import Random

from hypothesis import strategies as st

from tests.fuzz.target import Mutate, joined, parted
from tests.support import raw_frames as raw
from tests.support.script import Fields

STREAMS = st.sampled_from([1, 1, 1, 3, 3, 5, 7, 0, 2, 2**31 - 1])
NUMBERS = st.sampled_from([0, 1, 5, 100, 16_384, 65_535, 2**31 - 1, 2**31, 2**32 - 1])
BOOLS = st.booleans()

HEADS: list[Fields] = [
    raw.GET,
    raw.POST,
    raw.OK,
    [(b":status", b"100")],
    [(b":status", b"204")],
    [*raw.OK, (b"content-encoding", b"gzip")],
    [*raw.POST, (b"content-length", b"5")],
    [*raw.OK, (b"content-length", b"5")],
    [*raw.GET, (b"cookie", b"a" * 300), (b"x-a", b"")],
    [(b":method", b"HEAD"), *raw.GET[1:]],
    [(b"x-t", b"u")],
    [(b":path", b"/")],
    [],
]

FRAMES = st.one_of(
    st.builds(raw.headers, STREAMS, st.sampled_from(HEADS), end=BOOLS),
    st.builds(raw.headers, STREAMS, st.sampled_from(HEADS), end=BOOLS),
    st.builds(
        raw.data,
        STREAMS,
        st.sampled_from([b"", b"x", b"hello", bytes(1000)]),
        end=BOOLS,
        padding=st.sampled_from([0, 0, 1, 255]),
    ),
    st.builds(raw.settings, st.dictionaries(st.integers(0, 10), NUMBERS, max_size=3)),
    st.builds(raw.reset, STREAMS, NUMBERS),
    st.builds(raw.window_update, STREAMS, NUMBERS),
    st.builds(raw.goaway, STREAMS),
    st.builds(
        raw.frame,
        st.integers(0, 12),
        STREAMS,
        st.binary(max_size=40) | st.sampled_from([raw.block(each)[:20] for each in HEADS]),
        flags=st.integers(0, 255),
    ),
)
FRAMED = st.lists(FRAMES, max_size=12).map(b"".join)

FROM_A_CLIENT = FRAMED.map(lambda wire: raw.PREFACE + raw.settings() + wire)
FROM_A_SERVER = FRAMED.map(lambda wire: raw.settings({3: 100}) + wire)


def mutate(data: bytes, most: int, random: Random, plain: Mutate) -> bytes:
    """Another input, of frames for the most part."""
    wire, whims = parted(data)
    chance = random.randrange(10)
    if chance == 0:
        return plain(data, most)
    if chance == 1:
        return joined(wire, plain(whims, 32)[:32])
    start = len(raw.PREFACE) if wire.startswith(raw.PREFACE) else 0
    frames = _cut(wire[start:])
    for _ in range(random.randrange(1, 4)):
        _change(frames, random, plain)
    return joined(wire[:start] + b"".join(frames), whims)


def _cut(wire: bytes) -> list[bytes]:
    """The frames; what is left of the last one as if it were one."""
    frames = []
    while wire:
        size = 9 + int.from_bytes(wire[:3], "big")
        frames.append(wire[:size])
        wire = wire[size:]
    return frames


def _change(frames: list[bytes], random: Random, plain: Mutate) -> None:
    if not frames:
        frames.append(raw.frame(random.randrange(12), random.randrange(8), flags=random.randrange(256)))
        return
    at = random.randrange(len(frames))
    frame = frames[at]
    match random.randrange(7):
        case 0:
            del frames[at]
        case 1:
            frames.insert(random.randrange(len(frames) + 1), frame)
        case 2:
            other = random.randrange(len(frames))
            frames[at], frames[other] = frames[other], frame
        case 3:
            frames[at] = (
                frame[:4] + bytes([frame[4] ^ 1 << random.randrange(8)]) + frame[5:] if frame[4:] else frame
            )
        case 4:
            frames[at] = frame[:8] + bytes([random.choice((0, 1, 3, 5, 7, 2))]) + frame[9:]
        case 5:
            frames[at] = frame[:3] + bytes([random.randrange(12)]) + frame[4:]
        case _:
            payload = plain(frame[9:], len(frame) + 20)
            frames[at] = len(payload).to_bytes(3, "big") + frame[3:9] + payload

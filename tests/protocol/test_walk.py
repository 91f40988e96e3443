"""The walk over frames (A15): each is counted before any work is done for it, once and as what it is, however
it was cut and whatever a turn had work for. hyperframe, which the walk knows nothing of, reads beside it.
"""

import pytest
from hyperframe.frame import Frame
from hypothesis import given
from hypothesis import strategies as st

from foyer.protocol.fault import ProtocolFault
from foyer.protocol.h2 import H2Server
from tests.protocol.test_hostile import CUTS, pieces_of
from tests.support.raw_frames import PREFACE
from tests.support.raw_frames import settings as settings_frame
from tests.support.talk import Talk

Header = tuple[int, int, int, int]
"""Type, flags, stream and length."""


class Walked(H2Server):
    """A codec that only walks: what is counted is taken down, and h2 is told nothing."""

    counted: list[Header]

    def _count(self, kind: int, frame: bytes) -> None:
        length = int.from_bytes(frame[:3], "big")
        assert len(frame) == 9 + length
        stream = int.from_bytes(frame[5:9], "big") & 0x7FFFFFFF
        self.counted.append((kind, frame[4], stream, length))

    def _plain_data(self, frame: bytes) -> bool:
        return True

    def _frame(self, kind: int, frame: bytes) -> None:
        pass


ALONE = (4, 6, 7)
"""SETTINGS, PING and GOAWAY are the connection's: hyperframe reads them on no stream, and DATA on some."""


def framed(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    stream = stream & 0x80000000 if kind in ALONE else stream | 1
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


FRAMES = st.lists(
    st.builds(
        framed,
        st.integers(0, 12) | st.integers(0, 255),
        st.integers(0, 255),
        st.integers(0, 2**32 - 1),  # the first bit is reserved, and ignored
        st.binary(max_size=80) | st.sampled_from([bytes(300), bytes(16_384)]),
    ),
    max_size=20,
)


def headers_of(data: bytes) -> list[Header]:
    """Those that are whole, by hyperframe."""
    found = []
    while len(data) >= 9:
        length = int.from_bytes(data[:3], "big")
        if len(data) < 9 + length:
            break
        frame, size = Frame.parse_frame_header(memoryview(data[:9]))
        assert size == length
        found.append((data[3] if frame.type is None else frame.type, data[4], frame.stream_id, size))
        data = data[9 + size :]
    return found


@given(
    frames=FRAMES,
    cuts=CUTS,
    works=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    short=st.integers(0, 12),
)
def test_every_whole_frame_is_counted_once_as_hyperframe_reads_it(
    frames: list[bytes], cuts: list[int], works: list[int], short: int
) -> None:
    data = settings_frame() + b"".join(frames)
    data = data[: len(data) - short]
    codec = Talk(Walked).codec
    codec.counted = []
    turns = 0
    for piece in pieces_of(PREFACE + data, cuts):
        codec.work = works[turns % len(works)]
        codec.receive(piece)
        while codec.unfinished:
            turns += 1
            codec.work = works[turns % len(works)] + 1
            codec.proceed()
    assert codec.counted == headers_of(data)
    assert codec.held == len(data) - sum(9 + length for *_, length in codec.counted)


@given(before=FRAMES, length=st.integers(16_385, 2**24 - 1))
def test_one_that_is_too_long_is_a_fault_by_its_header_alone(before: list[bytes], length: int) -> None:
    codec = Talk(Walked).codec
    codec.counted = []
    whole = settings_frame() + b"".join(before)
    with pytest.raises(ProtocolFault):
        codec.receive(PREFACE + whole + length.to_bytes(3, "big") + bytes(6))
    assert codec.counted == headers_of(whole)

"""Whatever a peer sends, in whatever pieces, while exchanges come and go: `ProtocolFault` at most.

Arbitrary and mutated bytes, in arbitrary pieces, into each codec, whose sink answers, resets and
acknowledges at random, within the events and between them. Nothing else may escape, nothing is told
after a fault, and whoever speaks after it is not heard. What is told is in order: a head, then content,
then one end.
"""

from collections.abc import Iterator
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.h1 import H1Client, H1Server
from foyer.protocol.h2 import H2Client, H2Server
from tests.support import raw_frames as raw
from tests.support.near_misses import REQUESTS, RESPONSES
from tests.support.script import Fields

Codec = H1Client | H1Server | H2Client | H2Server

ROLES: dict[str, type[Codec]] = {
    "h1 server": H1Server,
    "h1 client": H1Client,
    "h2 server": H2Server,
    "h2 client": H2Client,
}


class Restless:
    """A sink that does something at random within each event, and keeps the rules a sink keeps."""

    def __init__(self, codec: type[Codec], whims: list[int]) -> None:
        self.whims: Iterator[int] = cycle(whims)
        self.faulted = False
        self.told: dict[int, str] = {}
        self.unsent: dict[int, bool] = {}  # streams on which we may speak: whether a head is still due
        self.withheld: list[tuple[int, int]] = []
        self.codec: Codec = codec(self)
        if isinstance(self.codec, H1Client):
            self.ask(self.codec)

    # The sink.

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        assert stream not in self.told or isinstance(self.codec, H1Client | H2Client)
        assert self.told.get(stream, "asked") == "asked"
        self.told[stream] = "ended" if head.ended else "content"
        if isinstance(head, RequestHead):
            self.unsent[stream] = True
        self.act(stream)

    def content(self, stream: int, data: bytes, flow: int) -> None:
        assert self.told[stream] == "content"
        assert flow >= len(data)
        self.withheld.append((stream, flow))
        self.act(stream)

    def end(self, stream: int) -> None:
        assert self.told[stream] == "content"
        self.told[stream] = "ended"
        self.act(stream)

    def reset(self, stream: int, failure: Failure) -> None:
        self.told[stream] = "reset"
        self.act(stream)

    def window(self, stream: int) -> None:
        self.act(stream)

    def ready(self) -> None:
        self.act(0)

    def going_away(self) -> None:
        self.act(0)

    # What it does.

    def act(self, stream: int) -> None:
        assert not self.faulted, "something was told after a fault"
        codec, whim = self.codec, next(self.whims)
        match whim % 10:
            case 0 | 1:
                self.speak(stream, ended=whim > 10)
            case 2:
                codec.reset(stream)
            case 3 | 4:
                while self.withheld:
                    codec.acknowledge(*self.withheld.pop())
            case 5 if isinstance(codec, H1Client | H2Client):
                codec.settle()
                self.ask(codec)
            case 5 if isinstance(codec, H1Server | H2Server) and stream:
                codec.send_informational(stream, 100)
            case 6:
                assert isinstance(codec.take(), bytes)
            case 7 if whim == 97:
                codec.go_away()
            case _:
                pass

    def ask(self, codec: H1Client | H2Client) -> None:
        if codec.capacity > len([s for s in self.told.values() if s in ("asked", "content")]):
            stream = codec.open()
            ended = bool(next(self.whims) % 2)
            self.told[stream] = "asked"
            if not ended:
                self.unsent[stream] = False
            codec.send_head(stream, RequestHead(b"POST", b"/a", [], authority=b"api", ended=ended))

    def speak(self, stream: int, *, ended: bool) -> None:
        if stream not in self.unsent:
            return
        codec = self.codec
        if self.unsent[stream]:
            assert isinstance(codec, H1Server | H2Server)
            self.unsent[stream] = False
            codec.send_head(stream, ResponseHead(200, [], ended=ended))
        else:
            codec.send_data(stream, bytes(min(20_000, codec.window(stream))), ended)
        if ended:
            del self.unsent[stream]

    # What is done to it.

    def hear(self, pieces: list[bytes]) -> None:
        codec = self.codec
        try:
            for piece in pieces:
                codec.receive(piece)
                self.act_between()
                if isinstance(codec, H1Server | H2Server):
                    codec.proceed()
        except ProtocolFault as fault:
            self.faulted = True
            self.after(fault, pieces)
        codec.take()
        if isinstance(codec, H1Client | H2Client) and not self.faulted:
            codec.eof(True)
        self.speak_on()

    def after(self, fault: ProtocolFault, pieces: list[bytes]) -> None:
        codec = self.codec
        assert fault.status in (400, 431, 501)
        assert codec.closing
        self.speak_on()
        if isinstance(codec, H1Server | H2Server):
            codec.refuse(fault)
        for piece in pieces:
            codec.receive(piece)

    def act_between(self) -> None:
        if not self.codec.closing:
            for stream in list(self.unsent):
                self.act(stream)

    def speak_on(self) -> None:
        """What an exchange may still say whose stream, or whose connection, has ended."""
        codec = self.codec
        for stream in [s for s in self.told if codec.closing or s not in self.unsent]:
            codec.send_data(stream, b"", True)
            codec.acknowledge(stream, 1)
            codec.reset(stream)
            codec.window(stream)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    at = sorted(cut % (len(data) + 1) for cut in cuts)
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]


def mutated(data: bytes, changes: list[tuple[int, str, int]]) -> bytes:
    made = bytearray(data)
    for at, what, octet in changes:
        at %= max(1, len(made))
        match what:
            case "set":
                made[at : at + 1] = bytes([octet])
            case "insert":
                made[at:at] = bytes([octet])
            case "delete":
                del made[at : at + octet % 16]
            case _:
                made[at:at] = made[at : at + octet]
    return bytes(made)


CUTS = st.lists(st.integers(0, 1 << 16), max_size=6)
WHIMS = st.lists(st.integers(0, 99), min_size=1, max_size=24)
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 1 << 16), st.sampled_from(["set", "insert", "delete", "repeat"]), st.integers(0, 255)
    ),
    max_size=3,
)

STREAMS = st.sampled_from([1, 1, 1, 3, 3, 5, 7, 0, 2, 2**31 - 1])
FIELDS: list[Fields] = [
    raw.GET,
    raw.POST,
    raw.OK,
    [(b":status", b"100")],
    [(b":status", b"204")],
    [*raw.POST, (b"content-length", b"5")],
    [*raw.OK, (b"content-length", b"5")],
    [*raw.GET, (b"cookie", b"a" * 300), (b"x-a", b"")],
    [(b"x-t", b"u")],
    [(b":path", b"/")],
    [],
]
BOOLS = st.booleans()
NUMBERS = st.sampled_from([0, 1, 5, 100, 16_384, 65_535, 2**31 - 1, 2**31, 2**32 - 1])
FRAMES = st.one_of(
    st.builds(raw.headers, STREAMS, st.sampled_from(FIELDS), end=BOOLS),
    st.builds(raw.headers, STREAMS, st.sampled_from(FIELDS), end=BOOLS),
    st.builds(
        raw.data,
        STREAMS,
        st.sampled_from([b"", b"x", b"hello", bytes(16_000)]),
        end=BOOLS,
        padding=st.sampled_from([0, 0, 1, 255]),
    ),
    st.builds(raw.settings, st.dictionaries(st.integers(0, 10), NUMBERS, max_size=3)),
    st.builds(raw.reset, STREAMS, NUMBERS.filter(lambda n: n < 2**32)),
    st.builds(raw.window_update, STREAMS, NUMBERS),
    st.builds(raw.goaway, STREAMS),
    st.builds(
        raw.frame,
        st.integers(0, 12),
        STREAMS,
        st.one_of(st.binary(max_size=40), st.sampled_from([raw.block(each)[:20] for each in FIELDS])),
        flags=st.integers(0, 255),
    ),
)
FRAMED = st.lists(FRAMES, max_size=12).map(b"".join)

TRAFFIC = {
    "h1 server": st.lists(REQUESTS, max_size=3).map(b"".join),
    "h1 client": st.lists(RESPONSES, max_size=3).map(b"".join),
    "h2 server": FRAMED.map(lambda wire: raw.PREFACE + raw.settings() + wire),
    "h2 client": FRAMED.map(lambda wire: raw.settings() + wire),
}


@pytest.mark.parametrize("role", ROLES)
@settings(max_examples=250)
@given(draw=st.data(), cuts=CUTS, whims=WHIMS, changes=CHANGES)
def test_nothing_but_a_protocol_fault_escapes(
    role: str, draw: st.DataObject, cuts: list[int], whims: list[int], changes: list[tuple[int, str, int]]
) -> None:
    data = mutated(draw.draw(TRAFFIC[role]), changes)
    Restless(ROLES[role], whims).hear(pieces_of(data, cuts))


@pytest.mark.parametrize("role", ROLES)
@settings(max_examples=60)
@given(data=st.binary(max_size=200), cuts=CUTS, whims=WHIMS)
def test_noise_is_a_fault_at_most(role: str, data: bytes, cuts: list[int], whims: list[int]) -> None:
    Restless(ROLES[role], whims).hear(pieces_of(data, cuts))

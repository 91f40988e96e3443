"""The four codecs, whose sink answers, resets and acknowledges as the whims say, within events and between.

Whatever comes: nothing but `ProtocolFault` is raised and nothing is told after it; what is told of a stream
is in order, one head, content, one end, and nothing after the peer's reset (after our own, what was under way
may still be told); what is held is no more than what came,
and what is said in return no more than that and what the sink said is worth.
"""

from collections.abc import Iterator
from itertools import cycle

from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.h1 import H1Client, H1Server
from foyer.protocol.h2 import H2Client, H2Server
from tests.fuzz import frames
from tests.fuzz.messages import WORDS
from tests.fuzz.target import Target, cut, joined, parted, with_whims
from tests.support import raw_frames as raw
from tests.support.near_misses import GLUED, REQUESTS, RESPONSES

Codec = H1Client | H1Server | H2Client | H2Server

HEAD_WORTH = 256
"""Octets of what one call of the sink may put on the wire besides content."""


class Whimsical:
    """A sink that keeps a sink's rules and does something within most events."""

    def __init__(self, kind: type[Codec], whims: bytes) -> None:
        self._whims: Iterator[int] = cycle(whims or b"\0")
        self._over = False  # the connection is
        self._told: dict[int, str] = {}
        self._unsent: dict[int, bool] = {}  # streams on which we may speak: whether a head is still due
        self._bare: set[int] = set()  # streams whose responses have no content
        self._tunnels: set[int] = set()  # streams that ask for one: they are refused
        self._withheld: list[tuple[int, int]] = []
        self._worth = 1024
        self._taken = 0
        self.codec: Codec = kind(self)
        self._ask()

    # The sink.

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        expected = "asked" if isinstance(self.codec, H1Client | H2Client) else None
        assert self._told.get(stream) == expected, "a head out of place"
        self._told[stream] = "whole" if head.ended else "begun"
        if isinstance(head, RequestHead):
            self._unsent[stream] = True
            self._bare |= {stream} if head.method == b"HEAD" else set()
            self._tunnels |= {stream} if head.method == b"CONNECT" else set()
        self._act(stream)

    def content(self, stream: int, data: bytes, flow: int) -> None:
        assert self._told[stream] in ("begun", "left") and flow >= len(data)
        self._withheld.append((stream, flow))
        self._act(stream)

    def end(self, stream: int) -> None:
        assert self._told[stream] in ("begun", "left")
        self._told[stream] = "whole"
        self._act(stream)

    def reset(self, stream: int, failure: Failure) -> None:
        assert self._told.get(stream) != "reset", "reset twice"
        self._told[stream] = "reset"
        self._unsent.pop(stream, None)
        self._act(stream)

    def window(self, stream: int) -> None:
        self._act(stream)

    def ready(self) -> None:
        self._act(0)

    def going_away(self) -> None:
        self._act(0)

    # What it does.

    def _act(self, stream: int) -> None:
        assert not self._over, "something is told after the connection's end"
        codec, whim = self.codec, next(self._whims)
        match whim % 10:
            case 0 | 1:
                self._speak(stream, ended=whim > 100)
            case 2:
                codec.reset(stream)
                self._worth += HEAD_WORTH
                self._unsent.pop(stream, None)
                if stream in self._told:
                    self._told[stream] = "left"
            case 3 | 4:
                while self._withheld:
                    codec.acknowledge(*self._withheld.pop())
                    self._worth += HEAD_WORTH
            case 5 if isinstance(codec, H1Client | H2Client):
                codec.settle()
                self._ask()
            case 5 if isinstance(codec, H1Server | H2Server) and stream in self._unsent:
                codec.send_informational(stream, 100)
                self._worth += HEAD_WORTH
            case 6:
                self._take()
            case 7 if whim > 200:
                codec.go_away()
                self._worth += HEAD_WORTH
            case _:
                pass

    def _ask(self) -> None:
        codec = self.codec
        if not isinstance(codec, H1Client | H2Client):
            return
        busy = sum(state in ("asked", "begun") for state in self._told.values())
        if codec.capacity > busy:
            stream = codec.open()
            ended = bool(next(self._whims) % 2)
            self._told[stream] = "asked"
            if not ended:
                self._unsent[stream] = False
            codec.send_head(stream, RequestHead(b"POST", b"/a", [], authority=b"api", ended=ended))
            self._worth += HEAD_WORTH

    def _speak(self, stream: int, *, ended: bool) -> None:
        if stream not in self._unsent:
            return
        codec = self.codec
        self._worth += HEAD_WORTH
        ended = ended or stream in self._bare
        if self._unsent[stream]:
            assert isinstance(codec, H1Server | H2Server)
            self._unsent[stream] = False
            status = 501 if stream in self._tunnels else 200
            codec.send_head(stream, ResponseHead(status, [], ended=ended))
        else:
            size = min(5000, codec.window(stream))
            self._worth += 2 * size
            codec.send_data(stream, bytes(size), ended)
        if ended:
            del self._unsent[stream]

    def _take(self) -> None:
        self._taken += len(self.codec.take())
        assert self._taken <= self._worth, "more is said than was asked for"

    # What is done to it.

    def hears(self, reads: list[bytes]) -> None:
        """The bytes of one connection, and its end."""
        codec = self.codec
        try:
            for read in reads:
                self._worth += 4 * len(read)
                self._receive(read)
                for stream in [] if codec.closing else [*self._unsent]:
                    self._act(stream)
        except ProtocolFault as fault:
            self._over = True
            if isinstance(codec, H1Server | H2Server):
                codec.refuse(fault)
                self._worth += HEAD_WORTH
        self._end(reads)

    def _receive(self, read: bytes) -> None:
        codec = self.codec
        if isinstance(codec, H1Client):
            codec.receive(read)
            return
        codec.work = next(self._whims)
        codec.receive(read)
        while codec.unfinished and not codec.closing:
            codec.work = 1 + next(self._whims) % 32
            codec.proceed()
        if isinstance(codec, H1Server):
            codec.proceed()

    def _end(self, reads: list[bytes]) -> None:
        codec = self.codec
        if not self._over and isinstance(codec, H1Client | H2Client):
            codec.eof(True)
            if isinstance(codec, H1Client):
                assert not any(state == "begun" for state in self._told.values()), "a response without an end"
        assert codec.closing or not self._over
        self._over = codec.closing
        self._take()
        # An exchange may still speak whose stream, or whose connection, has ended; and the peer goes on.
        for stream in [s for s in self._told if codec.closing or s not in self._unsent]:
            codec.send_data(stream, b"", True)
            codec.acknowledge(stream, 1)
            codec.reset(stream)
            codec.window(stream)
        if self._over:
            for read in reads:
                codec.receive(read)
        self._worth += HEAD_WORTH * (1 + len(self._told))
        self._take()


def _check(kind: type[Codec], data: bytes) -> None:
    wire, whims = parted(data)
    places = whims[: len(whims) // 2]
    Whimsical(kind, whims[len(places) :]).hears(cut(wire, places))


_GET, _POST = raw.headers(1, raw.GET), raw.headers(3, raw.POST, end=False)
_ASKED = (
    raw.PREFACE + raw.settings({4: 1000}) + _GET + _POST + raw.data(3, b"hello") + raw.data(3, b"", end=True)
)
_OK = raw.headers(1, raw.OK, end=False)
_ANSWERED = raw.settings({3: 100}) + _OK + raw.data(1, b"hello", padding=3) + raw.headers(1, [(b"x-t", b"u")])

TARGETS = (
    Target(
        "h1-server",
        lambda data: _check(H1Server, data),
        lambda: [joined(GLUED * 3, whims) for whims in (b"", b"\x10\x80\0\x65", b"\x05\x06\x66\x67")],
        with_whims(REQUESTS),
        words=WORDS,
    ),
    Target(
        "h1-client",
        lambda data: _check(H1Client, data),
        lambda: [
            joined(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" * 2, whims)
            for whims in (b"", b"\x80\x05")
        ],
        with_whims(RESPONSES),
        words=WORDS,
    ),
    Target(
        "h2-server",
        lambda data: _check(H2Server, data),
        lambda: [joined(_ASKED, whims) for whims in (b"", b"\x10\x80\0\x65\0\0", b"\x05\x06\x66\x67")],
        with_whims(frames.FROM_A_CLIENT),
        mutate=frames.mutate,
    ),
    Target(
        "h2-client",
        lambda data: _check(H2Client, data),
        lambda: [joined(_ANSWERED, whims) for whims in (b"", b"\x80\x05", b"\x41\x80\x05\x03")],
        with_whims(frames.FROM_A_SERVER),
        mutate=frames.mutate,
    ),
)

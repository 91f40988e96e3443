"""HTTP/1.1: what the codecs tell of any bytes, h11 behind the guard, is what a strict reader reads.

Whatever is told as whole has one head and one content, however it was cut into reads; what the reference
refuses is nobody's; nothing but `ProtocolFault` is raised. The codecs may refuse what the reference reads
only where h11 by itself does.
"""

from collections.abc import Callable

import h11

from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.framing import MAX_HEAD
from foyer.protocol.h1 import H1Client, H1Server
from tests.fuzz.target import Target, cut, joined, parted, with_whims
from tests.support import reference_http1 as reference
from tests.support.near_misses import GLUED, REQUESTS, RESPONSES
from tests.support.reference_http1 import Message, Verdict

Fields = tuple[tuple[bytes, bytes], ...]

WORDS = (
    b"\r\n",
    b"\r\n\r\n",
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"Expect: 100-continue\r\n",
    b"Host: f\r\n",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"0\r\nX-T: u\r\n\r\n",
    GLUED,
)


class Reading:
    """A sink that keeps each message told as whole: start, fields, content."""

    def __init__(self) -> None:
        self.whole: list[tuple[bytes, Fields, bytes]] = []
        self.answer: Callable[[int], object] = lambda stream: None
        self._begun: tuple[bytes, Fields] | None = None
        self._content = b""

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        assert self._begun is None, "a head within a message"
        start = (
            b"%b %b" % (head.method, head.target) if isinstance(head, RequestHead) else b"%d" % head.status
        )
        self._begun, self._content = (start, tuple(sorted(head.fields))), b""
        if head.ended:
            self.end(stream)

    def content(self, stream: int, data: bytes, flow: int) -> None:
        assert self._begun is not None and len(data) == flow
        self._content += data

    def end(self, stream: int) -> None:
        assert self._begun is not None
        self.whole.append((*self._begun, self._content))
        self._begun = None
        self.answer(stream)

    def reset(self, stream: int, failure: Failure) -> None:
        self._begun = None

    def window(self, stream: int) -> None:
        raise AssertionError("HTTP/1.1 has no windows")

    def ready(self) -> None:
        raise AssertionError("HTTP/1.1 has no settings")

    def going_away(self) -> None:
        raise AssertionError("HTTP/1.1 has no GOAWAY")


def check_requests(data: bytes) -> None:
    """The requests at the front of the bytes, each answered as it ends."""
    wire, places = parted(data)
    reading = Reading()
    codec = H1Server(reading)
    reading.answer = lambda stream: codec.send_head(stream, ResponseHead(204, [], ended=True))
    faulted = _hears(codec, cut(wire, places))
    for start, fields, content in reading.whole:
        known = reference.request(wire)
        assert isinstance(known, Message), f"told as whole, and {known.value}"
        assert (start, fields, content) == (known.start[: -len(b" HTTP/1.1")], _shown(known), known.content)
        wire = wire[known.size :]
    if faulted or not codec.closing:
        _judged(wire, faulted, reference.request, h11.Connection(h11.SERVER, MAX_HEAD))


def check_response(data: bytes) -> None:
    """The one response that was asked for, and the end of the connection behind it."""
    wire, whims = parted(data)
    method = b"HEAD" if whims[:1] == b"\x01" else b"GET"
    reading = Reading()
    codec = H1Client(reading)
    codec.send_head(codec.open(), RequestHead(method, b"/", [], authority=b"f"))
    faulted = _hears(codec, cut(wire, whims[1:]))
    codec.eof(True)

    def read(data: bytes) -> Message | Verdict:
        found = reference.response(data, method)
        while isinstance(found, Message) and found.start[9:10] == b"1":
            data = data[found.size :]
            found = reference.response(data, method)
        return found

    if reading.whole:
        [(start, fields, content)] = reading.whole
        known = read(wire)
        assert isinstance(known, Message), f"told as whole, and {known.value}"
        assert (int(start), fields, content) == (int(known.start[9:]), _shown(known), known.content)
        return
    asking = h11.Connection(h11.CLIENT, MAX_HEAD)
    asking.send(h11.Request(method=method, target=b"/", headers=[(b"host", b"f")]))
    asking.send(h11.EndOfMessage())
    _judged(wire, faulted, read, asking)


def _hears(codec: H1Server | H1Client, reads: list[bytes]) -> bool:
    """Whether the codec refuses something of it."""
    try:
        for read in reads:
            codec.receive(read)
    except ProtocolFault:
        return True
    return False


def _judged(
    rest: bytes, faulted: bool, read: Callable[[bytes], Message | Verdict], behind: h11.Connection
) -> None:
    """What was not told as whole was refused with a reason, or is not whole."""
    known = read(rest)
    if not faulted:
        # Within a line the guard waits for the rest; the reference has seen the wrong octet.
        assert not isinstance(known, Message), "a whole message, and nobody was told"
    elif isinstance(known, Message):
        assert _refuses(behind, rest), "refused, though the reference and h11 both read it"
    elif known is Verdict.UNFINISHED:
        # Refused before its end has come: then no end may make it one.
        ends = (b"\r\n", b"\r\n\r\n", b"\n")
        assert any(read(rest + end) is Verdict.REFUSED for end in ends) or _refuses(behind, rest)


def _refuses(connection: h11.Connection, data: bytes) -> bool:
    try:
        connection.receive_data(data)
        while (
            not isinstance(event := connection.next_event(), h11.EndOfMessage) and event is not h11.NEED_DATA
        ):
            pass
    except h11.RemoteProtocolError:
        return True
    return False


def _shown(message: Message) -> Fields:
    """The fields, with the one value that h11 shows in lower case."""
    coding = b"transfer-encoding"
    return tuple(sorted((name, value.lower() if name == coding else value) for name, value in message.fields))


def _requests() -> list[bytes]:
    start = b"POST /a HTTP/1.1\r\nHost: f\r\n"
    chunked = start + b"Transfer-Encoding: chunked\r\n\r\n"
    return [
        joined(GLUED * 2, (100,)),
        joined(start + b"Content-Length: 5\r\n\r\nhello" + GLUED, (10, 200)),
        joined(chunked + b"5\r\nhello\r\n0\r\n\r\n" + GLUED, (180, 220)),
        joined(chunked + b"5\r\nhello\r\n0\r\nX-T: u\r\n\r\n"),
        joined(start + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        joined(chunked + b"5;a=b\r\nhello\r\n0\r\n\r\n"),
        joined(b"GET /a HTTP/1.0\r\n\r\n"),
    ]


def _responses() -> list[bytes]:
    start = b"HTTP/1.1 200 OK\r\n"
    chunked = start + b"Transfer-Encoding: chunked\r\n\r\n"
    return [
        joined(start + b"Content-Length: 5\r\n\r\nhello", (0, 100)),
        joined(start + b"Content-Length: 5\r\n\r\n", (1,)),
        joined(chunked + b"5\r\nhello\r\n0\r\n\r\n", (0, 200)),
        joined(start + b"\r\nuntil the close"),
        joined(b"HTTP/1.1 103 -\r\n\r\n" + start + b"Content-Length: 0\r\n\r\n", (0, 30)),
        joined(b"HTTP/1.1 204\r\n\r\n"),
        joined(b"HTTP/1.0 200 OK\r\n\r\nhello"),
    ]


TARGETS = (
    Target("requests", check_requests, _requests, with_whims(REQUESTS), words=WORDS),
    Target("response", check_response, _responses, with_whims(RESPONSES), words=WORDS),
)

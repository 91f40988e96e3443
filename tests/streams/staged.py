"""One per-user stream between a fake browser and a fake API server, its clock and turns a test's."""

from collections.abc import Callable

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import UpstreamReceiver
from foyer.gate.wheel import TICK, Wheel
from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams.errors import StreamError
from foyer.streams.scope import Opening
from foyer.streams.server import GroupVersion, Server, Turned
from foyer.streams.source import Source
from foyer.streams.stream import Common, Stream
from foyer.streams.view import StreamView
from tests.exchange.sides import Admission, Browser, Services, Upstream
from tests.streams.following import CONFIGMAPS, opening
from tests.streams.gating import OpenGates
from tests.streams.wires import Event, events

JSON: Fields = [(b"content-type", b"application/json")]
TOKEN = IdToken(b"the-token")


class Place:
    """A place on a connection that was asked for."""

    def __init__(self, receiver: UpstreamReceiver) -> None:
        self._receiver: UpstreamReceiver | None = receiver
        self.side: Upstream | None = None

    def cancel(self) -> None:
        self._receiver = None

    @property
    def waits(self) -> bool:
        return self._receiver is not None

    def find(self) -> Upstream:
        receiver, self._receiver = self._receiver, None
        assert receiver is not None
        self.side = Upstream(receiver)
        receiver.upstream_open(self.side)
        return self.side

    def fail(self, failure: Failure = Failure.CONNECTION) -> None:
        receiver, self._receiver = self._receiver, None
        assert receiver is not None
        receiver.upstream_gone(failure)


class Clocked:
    """Time, turns and an API server, for as many streams as a test wants."""

    def __init__(self, *, at_once: bool = True) -> None:
        """`at_once`: places are found as they are asked for."""
        self.now = 1000.5
        self.wheel = Wheel(self.now)
        self.places: list[Place] = []
        self.watches = {"user": 0}
        self.turns: list[Turned] = []
        self.later: list[Callable[[], None]] = []
        self.ended: list[tuple[Opening, StreamError]] = []
        self.without_streaming: set[GroupVersion] = set()
        self._at_once = at_once
        self.gates = OpenGates(self._open)
        self.server = Server(
            self._open,
            self.gates,
            b"api.test",
            self.wheel,
            lambda: self.now,
            self.turns.append,
            self.watches,
            without_streaming=self.without_streaming,
        )
        self.common = Common(self.wheel, lambda: self.now, 10.0, lambda _, *how: self.ended.append(how))

    def _open(self, receiver: UpstreamReceiver) -> Place:
        return self.asked(Place(receiver))

    def asked(self, place: Place) -> Place:
        """A place on a connection is asked for."""
        self.places.append(place)
        if self._at_once:
            place.find()
        return place

    def assert_nothing_is_held(self) -> None:
        """Of what the gates let in."""
        assert self.gates.held == 0

    def go_on(self) -> bool:
        """What was put off until the next turn; whether that was anything."""
        later, self.later[:] = self.later[:], []
        for call in later:
            call()
        return bool(later)

    def turn(self) -> None:
        """One turn of the loop, for the first that waits for one."""
        self.turns.pop(0).go_on()

    def wait(self, seconds: float) -> None:
        """So much time passes, second by second."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(until, self.now + TICK)
            self.wheel.turn(self.now)


class Staged:
    """The stream, and everybody it has to do with."""

    def __init__(
        self, query: bytes = CONFIGMAPS, *, clocked: Clocked | None = None, lenient: bool = False
    ) -> None:
        self.clocked = clocked or Clocked()
        self.services = Services()
        self.browser = Browser()
        self.admission = Admission()
        self.exchange = Exchange(
            self.services, self.browser, RequestHead(b"GET", b"/stream/v1", [], ended=True)
        )
        self.exchange.admission = self.admission
        asked = opening(query)
        self.stream = Stream(self.clocked.common, self.exchange, asked)
        view = StreamView(asked, self.stream)
        self._first = len(self.clocked.places)
        self.source = Source(self.clocked.server, asked.scope, view, self.stream, TOKEN, lenient=lenient)
        self.stream.wait_for(self.source)
        self.source.start()

    @property
    def side(self) -> Upstream:
        """The newest request's."""
        side = self.clocked.places[-1].side
        assert side is not None
        return side

    @property
    def target(self) -> bytes:
        """What is asked now."""
        assert self.side.head is not None
        return self.side.head.target

    def respond(self, content: bytes = b"", status: int = 200, fields: Fields = JSON) -> None:
        """The head of an answer, and some content."""
        self.side.answer(ResponseHead(status, fields))
        if content:
            self.side.content(content)

    def answer(self, content: bytes = b"", status: int = 200, fields: Fields = JSON) -> None:
        """A whole answer."""
        side = self.side
        self.respond(content, status, fields)
        if not side.over:
            side.end()

    @property
    def wire(self) -> bytes:
        """Everything written, as the browser takes it now."""
        self.browser.take(1 << 40)
        return bytes(self.browser.taken)

    @property
    def events(self) -> list[Event]:
        return events(self.wire)

    @property
    def types(self) -> list[str]:
        """The types of all events, errors by their code."""
        return [event["code"] if event["type"] == "error" else event["type"] for event in self.events]

    def assert_nothing_is_left(self) -> None:
        """Of an exchange that is over: no deadline, no watch, no request, no place waited for."""
        assert self.services.endings, "it is not over"
        assert self.admission.closed == 1
        assert len(self.clocked.wheel) == 0
        assert self.clocked.watches == {"user": 0}
        self.clocked.assert_nothing_is_held()
        for place in self.clocked.places:
            assert not place.waits
            assert place.side is None or place.side.over

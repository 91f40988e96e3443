"""Both sides of an exchange as fakes that keep `foyer.exchange.ports` to the letter, and notice breaches.

They behave as `foyer.net` does: an abort is told of at once, what is queued leaves when the test
says that the peer takes it, and content under way when its source is paused still arrives.
"""

from enum import Enum

from foyer.exchange.endings import Ending
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import (
    HIGH_WATER,
    LOW_WATER,
    Answer,
    BrowserReceiver,
    Passed,
    ResponseBounds,
    UpstreamReceiver,
)
from foyer.interruption import Interruption
from foyer.k8s.incoming import Passed as PassedHead
from foyer.protocol.events import Failure, RequestHead, ResponseHead

BOUNDS = ResponseBounds(content=1 << 40, write_timeout=60.0)
"""Of a response that meets none."""

WINDOW = 96 * 1024
"""Bytes of a response that may be under way when it is paused."""


class Told(Enum):
    """What the browser has been told about the end of its response."""

    NOTHING = "nothing yet"
    FINISHED = "a clean end"
    ABORTED = "an abort"


class Browser:
    """A `BrowserSide`. `taken` is what reached the browser, in order."""

    def __init__(self) -> None:
        self.receiver: BrowserReceiver | None = None
        self.write_timeout: float | None = 60.0
        self.informational: list[int] = []
        self.head: ResponseHead | None = None
        self.taken = bytearray()
        self.told = Told.NOTHING
        self.paused = False
        self.gone = False
        self.most_queued = 0
        self._queue = bytearray()
        self._full = False
        self._over = False

    @property
    def neighbourhood(self) -> int:
        return id(self)

    @property
    def queued(self) -> int:
        return len(self._queue)

    def send_informational(self, status: int) -> None:
        self._may_send()
        assert self.head is None
        self.informational.append(status)

    def send_head(self, head: ResponseHead) -> None:
        self._may_send()
        assert self.head is None, "a second head"
        self.head = head
        if head.ended:
            self.told = Told.FINISHED

    def send(self, data: bytes) -> None:
        self._may_send()
        assert self.head is not None and data
        self._queue += data
        self.most_queued = max(self.most_queued, self.queued)
        self._full = self._full or self.queued >= HIGH_WATER

    def send_alone(self, data: bytes) -> None:
        self.send(data)

    def finish(self) -> None:
        self._may_send()
        assert self.head is not None
        self.told = Told.FINISHED

    def abort(self, *, deliver_first: bool = False) -> None:
        assert not self.gone, "an abort of what has gone"
        if deliver_first and self.told is Told.NOTHING:
            self.told = Told.ABORTED
            return
        if self._over:
            return
        self.told = Told.ABORTED
        self._queue.clear()
        self._end()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    # What the test does.

    def take(self, size: int) -> None:
        """The browser takes up to `size` bytes of what is queued, and the end when that was all."""
        if self._over or self.gone:
            return
        assert self.receiver is not None
        self.taken += self._queue[:size]
        del self._queue[:size]
        if self._full and self.queued < LOW_WATER:
            self._full = False
            self.receiver.browser_drained()
        if not self._queue and self.told is not Told.NOTHING:
            self._end()

    def leave(self) -> None:
        """The browser goes."""
        if self.gone or self._over:
            return
        assert self.receiver is not None
        self.gone = True
        self._queue.clear()
        self.receiver.browser_gone()

    def _end(self) -> None:
        assert self.receiver is not None
        if not self._over:
            self._over = True
            self.receiver.browser_sent()

    def _may_send(self) -> None:
        assert self.told is Told.NOTHING, f"something sent after {self.told.value}"
        assert not self.gone, "something sent to a browser that has gone"


class Upstream:
    """An `UpstreamSide`. `got` is the request content that reached the API server."""

    def __init__(self, receiver: UpstreamReceiver) -> None:
        self._receiver = receiver
        self.head: RequestHead | None = None
        self.got = bytearray()
        self.finished = False
        self.paused = False
        self.cancelled = False
        self.answered = False
        self.over = False  # whole, gone or cancelled: nothing more may be said either way
        self.window = WINDOW
        self._queue = bytearray()
        self._full = False

    @property
    def queued(self) -> int:
        return len(self._queue)

    def send_head(self, head: RequestHead) -> None:
        assert not self.over and self.head is None
        self.head = head
        self.finished = head.ended

    def send(self, data: bytes) -> None:
        assert not self.over and self.head is not None and not self.finished and data
        self._queue += data
        self._full = self._full or self.queued >= HIGH_WATER

    def finish(self) -> None:
        assert not self.over and not self.finished
        self.finished = True

    def cancel(self) -> None:
        assert not self.cancelled, "cancelled twice"
        self.cancelled = self.over = True

    def pause(self) -> None:
        assert not self.over
        self.paused = True

    def resume(self) -> None:
        assert not self.over
        self.paused = False
        self.window = WINDOW

    # What the test does.

    def take(self, size: int) -> None:
        """The API server takes up to `size` bytes of the request's content."""
        if self.over:
            return
        self.got += self._queue[:size]
        del self._queue[:size]
        if self._full and self.queued < LOW_WATER:
            self._full = False
            self._receiver.upstream_drained()

    def answer(self, head: ResponseHead) -> None:
        self.answered = True
        self.over = head.ended
        self._receiver.response_head(head)

    def content(self, data: bytes) -> None:
        """Content arrives, as much as the window lets through."""
        assert len(data) <= self.window
        self.window -= len(data)
        self._receiver.response_body(data)
        if not self.paused:
            self.window = WINDOW

    def end(self) -> None:
        self.over = True
        self._receiver.response_end()

    def fail(self, failure: Failure) -> None:
        self.over = True
        self._receiver.upstream_gone(failure)


class Pool:
    """A way up: a place at once, or when the test says so."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.side: Upstream | None = None
        self.waiting: UpstreamReceiver | None = None
        self.cancelled = False
        self._at_once = at_once

    def open(self, receiver: UpstreamReceiver) -> "Pool":
        self.waiting = receiver
        if self._at_once:
            self.place()
        return self

    def cancel(self) -> None:
        self.cancelled = True
        self.waiting = None

    def place(self) -> None:
        """A place on a connection was found."""
        receiver, self.waiting = self.waiting, None
        assert receiver is not None
        self.side = Upstream(receiver)
        receiver.upstream_open(self.side)

    def fail(self, failure: Failure) -> None:
        """None will be."""
        receiver, self.waiting = self.waiting, None
        assert receiver is not None
        receiver.upstream_gone(failure)


class Admission:
    """What an admitted request holds, and how often it was given back."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Services:
    """The application's rules: everything passes but what a test holds back, and every record is kept."""

    def __init__(self) -> None:
        self.endings: list[Ending | None] = []
        self.faults: list[Exception] = []
        self.held_back: Interruption | None = None
        self.failing: Exception | None = None

    def interrupted(self, interruption: Interruption, head: RequestHead) -> Answer:
        return Answer(interruption.reason.status, [], interruption.message.encode())

    def incoming(self, head: ResponseHead, method: bytes) -> Passed | Interruption:
        if self.failing is not None:
            raise self.failing
        if self.held_back is not None:
            return self.held_back
        gzip = bool(head.all(b"content-encoding"))
        empty = head.ended or method == b"HEAD" or head.status in (204, 304)
        lengths = [] if gzip else [int(value) for value in head.all(b"content-length")]
        known = lengths[0] if lengths else None
        return PassedHead(
            ResponseHead(head.status, [], ended=head.ended), gzip and not empty, 0 if empty else known
        )

    def closed(self, exchange: Exchange) -> None:
        self.endings.append(exchange.ending)

    def fault(self, exchange: Exchange, error: Exception) -> None:
        self.faults.append(error)

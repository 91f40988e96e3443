"""An API server with its connections, and people who read from it, on a clock that jumps from event to event.

What decides is foyer's own: `foyer.admission` with its wheel. Here is only what it has to do with: a server
that takes so many requests at once, each for so long, and may slow down, refuse connections or fall silent.
Chance has a seed, so a run is the same on every machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import NamedTuple

from foyer.admission.cap import Cap
from foyer.admission.limit import ReadLimit
from foyer.admission.place import Place
from foyer.admission.reads import Reads
from foyer.exchange.ports import UpstreamReceiver, UpstreamSide
from foyer.gate.wheel import TICK, Wheel
from foyer.measures import Measures, TargetMeasures
from foyer.net.upstream import CONNECT_TIME
from foyer.protocol.events import Failure, ResponseHead

CONNECTING = 0.005
"""Seconds to open a connection to a server that answers: TCP and TLS within one data centre."""


class Timeline:
    """Now, and what comes. `rng` is all the chance there is."""

    def __init__(self, seed: int = 6) -> None:
        self.now = 0.0
        self.rng = Random(seed)
        self.wheel = Wheel(0.0)
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()
        self.every(TICK, lambda: self.wheel.turn(self.now))

    def __call__(self) -> float:
        return self.now

    def after(self, seconds: float, call: Callable[[], object]) -> None:
        """Has `call` happen then."""
        heappush(self._events, (self.now + seconds, next(self._order), call))

    def soon(self, call: Callable[[], None]) -> None:
        """In the loop's next turn, as `loop.call_soon`."""
        self.after(0.0, call)

    def every(self, seconds: float, call: Callable[[], None]) -> None:
        """Again and again, from `seconds` on."""

        def again() -> None:
            call()
            self.after(seconds, again)

        self.after(seconds, again)

    def run(self, until: float) -> None:
        """Lets everything happen that happens until then."""
        while self._events[0][0] <= until:
            self.now, _, call = heappop(self._events)
            call()
        self.now = until


class Health(Enum):
    """How a server meets a connection that is opened to it."""

    UP = "answers"
    REFUSING = "refuses connections: its process is gone"
    SILENT = "says nothing: its machine is gone"


class Server:
    """So many requests at once, each for about so many seconds; the others wait inside."""

    def __init__(self, time: Timeline, workers: int, seconds: float) -> None:
        self.workers = workers
        self.seconds = seconds
        self.health = Health.UP
        self.order: list[str] = []
        """Names of the requests as they came."""
        self.most = 0
        """Requests that were there at once, before their heads, at the most."""
        self._time = time
        self._connected = False
        self._connecting: list[Request] | None = None
        self._queue: deque[Request] = deque()
        self._working: dict[Request, None] = {}

    def open(self, receiver: UpstreamReceiver, place: Place) -> Request:
        """Of its pool of connections: one that carries everything, as HTTP/2 does."""
        assert isinstance(receiver, Reader)
        request = Request(receiver, place)
        if self._connected:
            self._arrive(request)
        elif self._connecting is not None:
            self._connecting.append(request)
        else:
            self._connecting = [request]
            self._time.after(CONNECTING if self.health is not Health.SILENT else CONNECT_TIME, self._dialled)
        return request

    def become(self, health: Health) -> None:
        """From now on. Who is there when it goes is told at once, where there is anybody left to tell."""
        self.health = health
        if health is not Health.UP:
            self._connected = False
            there, self._queue, self._working = [*self._working, *self._queue], deque(), {}
            for request in there:
                request.fail(Failure.RESET)

    def _dialled(self) -> None:
        waiting, self._connecting = self._connecting or [], None
        self._connected = self.health is Health.UP
        for request in waiting:
            if self._connected:
                self._arrive(request)
            else:
                request.fail(Failure.CONNECTION)

    def _arrive(self, request: Request) -> None:
        if request.over:
            return
        request.opened(self._time.now)
        self.order.append(request.reader.name)
        self._queue.append(request)
        self.most = max(self.most, len(self._queue) + len(self._working))
        self._work()

    def _work(self) -> None:
        while self._queue and len(self._working) < self.workers:
            request = self._queue.popleft()
            self._working[request] = None
            if request.reader.hangs:
                continue
            self._time.after(self._time.rng.expovariate(1 / self.seconds), partial(self._done, request))

    def _done(self, request: Request) -> None:
        if self._working.pop(request, request) is None:
            request.answer()
            self._work()


class Request:
    """One, at the server."""

    def __init__(self, reader: Reader, place: Place) -> None:
        self.reader = reader
        self.over = False
        self._place: Place | None = place

    def opened(self, now: float) -> None:
        assert self._place is not None
        self._place.opened(now)
        self.reader.opened()

    def answer(self) -> None:
        """Its head, and as far as the gates are concerned that is all."""
        assert self._place is not None
        self._place = self._place.answered()
        self.reader.answered()
        if not self.reader.watch:
            self._leave()

    def fail(self, failure: Failure) -> None:
        self._leave()
        self.reader.upstream_gone(failure)

    def cancel(self) -> None:
        """Given up by who waits for it."""
        self._leave()

    def _leave(self) -> None:
        self.over = True
        place, self._place = self._place, None
        if place is not None:
            place.close()


class Ending(Enum):
    """What became of a read."""

    ANSWERED = "answered"
    FAILED = "failed at the target"
    NOT_ADMITTED = "not admitted"
    TARGET_FULL = "the cap was full"


@dataclass(eq=False)
class Reader:
    """A read through `/k8s`, from its arrival to its head.

    A `watch` stays open behind it; one that `hangs` is never answered.
    """

    time: Timeline
    name: str
    watch: bool = False
    hangs: bool = False
    arrived: float = 0.0
    opened_at: float | None = None
    ended_at: float | None = None
    ending: Ending | None = None

    def __post_init__(self) -> None:
        self.arrived = self.time.now

    def opened(self) -> None:
        self.opened_at = self.time.now

    def answered(self) -> None:
        self._end(Ending.ANSWERED)

    def upstream_gone(self, failure: Failure) -> None:
        endings = {Failure.NOT_ADMITTED: Ending.NOT_ADMITTED, Failure.TARGET_FULL: Ending.TARGET_FULL}
        self._end(endings.get(failure, Ending.FAILED))

    def _end(self, ending: Ending) -> None:
        assert self.ending is None, f"{self.name} ended twice"
        self.ending = ending
        self.ended_at = self.time.now

    # The rest of what a receiver is told: this server has no bytes.

    def upstream_open(self, side: UpstreamSide) -> None: ...

    def response_head(self, head: ResponseHead) -> None: ...

    def response_body(self, data: bytes) -> None: ...

    def response_end(self) -> None: ...

    def upstream_drained(self) -> None: ...


class Wait(NamedTuple):
    """What a read waited for its slot, as the limit hears it, and what the limit was until then."""

    at: float
    seconds: float
    limit: int


@dataclass(frozen=True)
class Sample:
    """A target at one moment."""

    at: float
    limit: int
    admitted: int
    waiting: int
    in_flight: int


@dataclass(eq=False)
class Target:
    """A server behind its gate and its cap, with foyer's defaults, and all the reads that came to it."""

    time: Timeline
    server: Server
    slots: int = 64
    threshold: float = 1.0
    admission_wait: float = 10.0
    timeout: float = 30.0
    readers: list[Reader] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)

    def __post_init__(self) -> None:
        time = self.time
        self.cap = Cap(
            self.slots,
            self.server.open,
            timeout=self.timeout,
            wheel=time.wheel,
            now=time,
            soon=time.soon,
            counts=TargetMeasures(),
        )
        self.limit = ReadLimit(self.slots, self.threshold, wheel=time.wheel, soon=time.soon, wait=self)
        self.refusals = Measures().admission_refusals
        self.reads = Reads(self.limit, self.cap, wait=self.admission_wait, now=time, refusals=self.refusals)

    def observe(self, value: float) -> None:
        """A read has waited so long for its slot (`foyer.gate.gate.Observed`)."""
        self.waits.append(Wait(self.time.now, value, self.limit.limit))

    def read(self, *, watch: bool = False, hangs: bool = False) -> Reader:
        """One comes."""
        reader = Reader(self.time, str(len(self.readers)), watch, hangs)
        self.readers.append(reader)
        self.reads.open(reader)
        return reader

    def burst(self, reads: int) -> None:
        """So many at once."""
        for _ in range(reads):
            self.read()

    def readers_come(self, a_second: float) -> None:
        """From now on, each by themselves, however the others fare."""

        def one() -> None:
            self.read()
            self.time.after(self.time.rng.expovariate(a_second), one)

        self.time.after(self.time.rng.expovariate(a_second), one)

    def sample(self, seconds: float) -> None:
        """Keeps one every so many seconds."""
        self.time.every(seconds, self._sample)

    def _sample(self) -> None:
        limit = self.limit
        self.samples.append(
            Sample(self.time.now, limit.limit, limit.admitted, limit.waiting, self.cap.in_flight)
        )

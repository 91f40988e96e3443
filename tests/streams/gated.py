"""Streams behind the gates of a target, which are foyer's own, and whose clock and turns are a test's."""

from __future__ import annotations

from dataclasses import replace

from foyer.admission import place
from foyer.admission.cap import Cap
from foyer.admission.estimates import Estimates
from foyer.admission.limit import ReadLimit
from foyer.admission.memory import Memory
from foyer.admission.pool import MemoryPool
from foyer.admission.reads import Read, Reads
from foyer.exchange.ports import Cancellable, UpstreamReceiver, UpstreamSide
from foyer.measures import Measures, TargetMeasures
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.streams.gates import Gates
from tests.exchange.sides import Upstream
from tests.streams.following import page
from tests.streams.staged import Clocked, Place

MIB = 1024 * 1024
WAIT = 10.0
RETRY_AFTER = 7


class Gated(Clocked):
    """An API server with as many reads at once as a test says, and as much memory."""

    def __init__(
        self, *, at_once: bool = True, reads: int = 2, slots: int = 64, pool: int = 10 * MIB
    ) -> None:
        super().__init__(at_once=at_once)
        self.measures = Measures()
        soon, now = self.later.append, lambda: self.now
        refusals = self.measures.admission_refusals
        self.pool = MemoryPool(pool, wheel=self.wheel, soon=soon)
        self.estimates = Estimates(now=now, soon=soon)
        self.memory = Memory(
            self.pool, self.estimates, wait=WAIT, wheel=self.wheel, now=now, refusals=refusals
        )
        counts = TargetMeasures()
        self.cap = Cap(slots, self._placed, timeout=30.0, wheel=self.wheel, now=now, soon=soon, counts=counts)
        self.limit = ReadLimit(reads, 1.0, wheel=self.wheel, soon=soon, wait=counts.wait)
        self.reads = Reads(self.limit, self.cap, wait=WAIT, now=now, refusals=refusals)
        self.real = Gates(self.reads, self.memory, b"api.test", MIB, RETRY_AFTER)
        self.server = replace(self.server, open_side=self.cap.open, gates=self.real)
        self._others: list[Read] = []
        self._entries: list[Cancellable] = []

    def _placed(self, receiver: UpstreamReceiver, held: place.Place) -> Place:
        return self.asked(Placed(Telling(self, receiver, held)))

    def go_on(self) -> bool:
        """Turns of the loop, until nothing is put off any more."""
        moved = False
        while super().go_on():
            moved = True
        return moved

    def wait(self, seconds: float) -> None:
        """So much time passes, second by second."""
        until = self.now + seconds
        while self.now < until:
            super().wait(min(1.0, until - self.now))
            self.go_on()

    # Others, who read as well.

    def crowd(self, count: int = 1) -> None:
        """Others come to the first gate and, one after the other, are let in there until they `leave`."""
        for _ in range(count):
            self._entries.append(self.reads.enter(self._others.append, lambda why: None))

    def fill(self, size: int) -> None:
        """Another takes so much of the memory."""
        read = Read(self.reads, self.limit.place(_told, _told))
        read.memory = self.pool.reservation(size, _told, _told)
        assert read.memory is not None
        read.memory.ask(self.now)
        self._others.append(read)

    def leave(self) -> None:
        """They leave, or wait no longer."""
        entries, self._entries[:] = self._entries[:], []
        for entry in entries:
            entry.cancel()
        others, self._others[:] = self._others[:], []
        for read in others:
            read.close()
        self.go_on()

    # What is asked.

    @property
    def looks(self) -> list[Upstream]:
        """At a scope's first item."""
        sides = [each.side for each in self.places if each.side is not None]
        return [side for side in sides if side.head is not None and is_look(side.head)]

    def look(self, *items: bytes, remaining: int | None = 0) -> None:
        """Whoever looks now is answered, and once more if that makes them ask for more; `remaining` as the
        list says it, if it does."""
        listed = page(items, token="more" if remaining or remaining is None else "")
        if remaining:
            listed = listed.replace(b'"metadata":{', b'"metadata":{"remainingItemCount":%d,' % remaining, 1)
        self.answer_look(listed)
        again = self.looks[-1]
        if not again.answered and again.head is not None and b"&continue=" in again.head.target:
            self.answer_look(listed)

    def answer_look(self, listed: bytes) -> None:
        """The newest of them is answered so."""
        side = self.looks[-1]
        side.answer(ResponseHead(200, [(b"content-type", b"application/json")]))
        side.content(listed)
        side.end()
        self.go_on()

    @property
    def refused(self) -> dict[str, int]:
        """What was not let in, by the gate."""
        return {gate: count for gate, count in self.measures.admission_refusals.items() if count}

    def assert_nothing_is_held(self) -> None:
        assert (self.cap.in_flight, self.cap.waiting) == (0, 0)
        assert (self.limit.admitted, self.limit.waiting) == (0, 0)
        assert (self.pool.reserved, self.pool.waiting) == (0, 0)
        assert self.pool.passing == self.pool.size  # nothing is thought to last
        assert self.limit._asking == 0
        assert self.estimates._looks == {}


def is_look(head: RequestHead) -> bool:
    """Whether it is one, and no page of a list."""
    return b"limit=1" in head.target.partition(b"?")[2].split(b"&")


def _told() -> None: ...


class Placed(Place):
    """A place that is told of when nobody waits for it any more."""

    def __init__(self, telling: Telling) -> None:
        super().__init__(telling)
        self._telling = telling

    def cancel(self) -> None:
        super().cancel()
        if self.side is None:
            self._telling.leave()


class Telling:
    """Tells what a request holds how far that has come, as the pool of connections does."""

    def __init__(self, clocked: Clocked, receiver: UpstreamReceiver, held: place.Place) -> None:
        self._clocked = clocked
        self._receiver = receiver
        self._held: place.Place | None = held

    def leave(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def upstream_open(self, side: UpstreamSide) -> None:
        assert self._held is not None
        self._held.opened(self._clocked.now)
        self._receiver.upstream_open(Side(side, self))

    def response_head(self, head: ResponseHead) -> None:
        if self._held is not None:
            self._held = self._held.answered()
        if head.ended:
            self.leave()
        self._receiver.response_head(head)

    def response_body(self, data: bytes) -> None:
        self._receiver.response_body(data)

    def response_end(self) -> None:
        self.leave()
        self._receiver.response_end()

    def upstream_gone(self, failure: Failure) -> None:
        self.leave()
        self._receiver.upstream_gone(failure)

    def upstream_drained(self) -> None: ...


class Side:
    """A side that is told of when it is given up."""

    queued = 0

    def __init__(self, side: UpstreamSide, telling: Telling) -> None:
        self._side = side
        self._telling = telling
        self.send_head = side.send_head
        self.send = side.send
        self.finish = side.finish
        self.pause = side.pause
        self.resume = side.resume

    def cancel(self) -> None:
        self._side.cancel()
        self._telling.leave()

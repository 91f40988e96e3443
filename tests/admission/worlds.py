"""A target that does what a test says, with a clock, a wheel and turns that stand still until then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from foyer.admission.cap import Cap
from foyer.admission.estimates import Estimates
from foyer.admission.limit import ReadLimit
from foyer.admission.memory import Memory
from foyer.admission.place import Place
from foyer.admission.pool import MemoryPool
from foyer.admission.reads import Reads
from foyer.exchange.ports import UpstreamReceiver, UpstreamSide
from foyer.gate.wheel import Wheel
from foyer.measures import Measures, TargetMeasures
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from tests.support.clock import Clock


class World:
    """Time, and the turns of a loop."""

    def __init__(self) -> None:
        self.clock = Clock(1000.0)
        self.wheel = Wheel(self.clock.now)
        self.later: list[Callable[[], None]] = []

    def soon(self, call: Callable[[], None]) -> None:
        """In a turn to come."""
        self.later.append(call)

    def turn(self) -> None:
        """Turns of the loop, until nothing is left for another."""
        while self.later:
            now, self.later = self.later, []
            for call in now:
                call()

    def wait(self, seconds: float) -> None:
        """Time goes by, as the wheel's timer has it: once a second."""
        until = self.clock.now + seconds
        while self.clock.now < until:
            self.clock.now = min(self.clock.now + 1.0, until)
            self.wheel.turn(self.clock.now)
            self.turn()


@dataclass(eq=False)
class Asked:
    """A request that has come to the pool of connections; a test takes it further."""

    world: World
    receiver: UpstreamReceiver
    place: Place | None
    opened: bool = False
    answered: bool = False
    over: bool = False

    def cancel(self) -> None:
        """Waits no longer for a connection."""
        if not self.opened:
            self.leave()

    def open(self) -> None:
        """A connection has room."""
        self.opened = True
        if self.place is not None:
            self.place.opened(self.world.clock.now)
        self.receiver.upstream_open(Side(self))

    def head(self) -> None:
        """The final head has come."""
        self.answered = True
        if self.place is not None:
            self.place = self.place.answered()
        self.receiver.response_head(ResponseHead(200, []))

    def leave(self) -> None:
        """The exchange is over, at this end."""
        self.over = True
        place, self.place = self.place, None
        if place is not None:
            place.close()

    def end(self) -> None:
        """The answer is whole."""
        self.leave()
        self.receiver.response_end()

    def fail(self, failure: Failure = Failure.CONNECTION) -> None:
        """There will be no whole answer, if there ever was a connection."""
        self.leave()
        self.receiver.upstream_gone(failure)


class Side:
    """What a receiver has once a connection had room."""

    queued = 0

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def cancel(self) -> None:
        self._asked.leave()

    def send_head(self, head: RequestHead) -> None: ...

    def send(self, data: bytes) -> None: ...

    def finish(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Pool:
    """Of connections to one target."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[Asked] = []

    def open(self, receiver: UpstreamReceiver, place: Place | None = None) -> Asked:
        asked = Asked(self.world, receiver, place)
        self.asked.append(asked)
        return asked

    @property
    def names(self) -> list[str]:
        """Of whoever has come as far as this, in that order."""
        return [asked.receiver.name for asked in self.asked if isinstance(asked.receiver, Receiver)]


@dataclass(eq=False)
class Receiver:
    """Whoever asks."""

    name: str = ""
    side: UpstreamSide | None = None
    failure: Failure | None = None
    head: bool = False
    ended: bool = False

    def upstream_open(self, side: UpstreamSide) -> None:
        self.side = side

    def response_head(self, head: ResponseHead) -> None:
        self.head = True

    def response_body(self, data: bytes) -> None: ...

    def response_end(self) -> None:
        self.ended = True

    def upstream_gone(self, failure: Failure) -> None:
        assert self.failure is None, "told twice"
        self.failure = failure

    def upstream_drained(self) -> None: ...


TIMEOUT = 30.0
WAIT = 10.0
THRESHOLD = 1.0
MIB = 1024 * 1024


@dataclass(eq=False)
class Replica:
    """What all targets share."""

    world: World = field(default_factory=World)
    pool_size: int = 100 * MIB

    def __post_init__(self) -> None:
        world = self.world
        self.measures = Measures()
        self.refusals = self.measures.admission_refusals
        self.pool = MemoryPool(self.pool_size, wheel=world.wheel, soon=world.soon)
        self.estimates = Estimates(now=world.clock, soon=world.soon)
        self.memory = Memory(
            self.pool,
            self.estimates,
            wait=WAIT,
            wheel=world.wheel,
            now=world.clock,
            refusals=self.refusals,
        )


class Target:
    """One target, from its cap to its gates."""

    def __init__(self, replica: Replica, limit: int = 2) -> None:
        world = replica.world
        self.replica = replica
        self.measures = TargetMeasures()
        self.connections = Pool(world)
        self.cap = Cap(
            limit,
            self.connections.open,
            timeout=TIMEOUT,
            wheel=world.wheel,
            now=world.clock,
            soon=world.soon,
            counts=self.measures,
        )
        self.limit = ReadLimit(
            limit,
            THRESHOLD,
            wheel=world.wheel,
            soon=world.soon,
            wait=self.measures.wait,
        )
        self.reads = Reads(self.limit, self.cap, wait=WAIT, now=world.clock, refusals=replica.refusals)

"""Large events on open watches before one small pool: any size, cut anywhere, ended in any way.

No byte of the pool is lost or given twice: after each step it is the sum of what its holders hold, an event
has what has come of it but for a little, and who waits in line is let in in the order they came.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.admission.line import State as Share
from foyer.admission.pool import Reservation
from foyer.exchange.endings import Cause
from foyer.protocol.events import Failure, ResponseHead
from foyer.streams.gates import UNFINISHED, _Held, _Room
from foyer.streams.source import State
from foyer.streams.watch import FREE_BYTES
from tests.exchange.sides import Upstream
from tests.streams.following import COMPLETE, config_map, error, modified
from tests.streams.gated import WAIT, Gated, Side
from tests.streams.staged import JSON, Staged

POOL = 300_000


@dataclass(eq=False)
class One:
    """A stream behind its snapshot, and what its API server has yet to send of a line."""

    staged: Staged
    side: Upstream
    version: int = 11
    rest: bytes = b""

    @property
    def room(self) -> int:
        """Bytes of the pool that an event holds."""
        room = self.staged.source._room
        if room is None:
            return 0
        assert isinstance(room, _Room) and room._memory is not None
        return room._memory.size

    @property
    def held(self) -> int:
        """All that it holds, of a later cycle too."""
        reading = self.staged.source._reading
        snapshot = None if reading is None else reading._snapshot
        if snapshot is None:
            return self.room
        assert isinstance(snapshot, _Held)
        return self.room + snapshot._memory.size


@dataclass
class World:
    """The pool, its streams, and others who read there: who was let in, in which order."""

    gated: Gated = field(default_factory=partial(Gated, reads=8, pool=POOL))
    ones: list[One] = field(default_factory=list)
    others: list[Reservation] = field(default_factory=list)
    let_in: list[int] = field(default_factory=list)

    def open(self) -> None:
        staged = Staged(clocked=self.gated)
        if not self.ones:
            self.gated.look()
        side = staged.side
        staged.respond(COMPLETE + b"\n")
        assert staged.types == ["reset", "synced"]
        self.ones.append(One(staged, side))

    @property
    def followed(self) -> list[One]:
        return [one for one in self.ones if not one.side.over]

    def look(self) -> None:
        """What holds at every moment."""
        self.gated.go_on()
        pool = self.gated.pool
        others = sum(other.size for other in self.others if other.state is Share.HELD)
        assert pool.reserved == others + sum(one.held for one in self.ones) <= POOL
        assert self.let_in == sorted(self.let_in)
        for one in self.ones:
            source = one.staged.source
            assert one.staged.services.faults == []
            assert source.waiting <= FREE_BYTES or one.held >= source.waiting * UNFINISHED
            if source.state is State.OVER:
                assert (source.waiting, one.held) == (0, 0)
            elif not source._paused:
                live = source.state is State.WATCHING and not source._reflector.in_snapshot
                assert (one.room > 0) == (live and source.waiting > FREE_BYTES)


def sends(world: World, much: int) -> None:
    """A piece of a line, of a new one where none has begun."""
    if not world.followed:
        return
    one = world.followed[much % len(world.followed)]
    if not one.rest:
        one.version += 1
        size = (100, 60_000, 80_000, 150_000, 290_000)[much % 5]
        body = config_map("u1", str(one.version), b'{"a":"%b"}' % (b"%d" % one.version * (size // 2)))
        one.rest = (error(410) + b" " * size if much % 23 == 0 else modified(body)) + b"\n"
    piece = min((1, 9000, 66_000, 90_000)[much % 4], one.side.window)
    if piece:
        came, one.rest = one.rest[:piece], one.rest[piece:]
        one.side.content(came)


def begins_again(world: World, much: int) -> None:
    """Whose watch was lost has another, and its snapshot comes."""
    for one in world.ones:
        side = one.staged.source._side
        if one.staged.source.state is State.ASKED and isinstance(side, Side):
            assert isinstance(side._side, Upstream)
            one.side, one.rest = side._side, b""
            one.side.answer(ResponseHead(200, JSON))
            one.side.content(COMPLETE + b"\n")


def takes(world: World, much: int) -> None:
    world.ones[much % len(world.ones)].staged.browser.take(much * 1000)


def leaves(world: World, much: int) -> None:
    world.ones[much % len(world.ones)].staged.browser.leave()


def cuts(world: World, much: int) -> None:
    staged = world.ones[much % len(world.ones)].staged
    if not (staged.services.endings or staged.browser.gone):
        staged.exchange.cut(list(Cause)[much % len(Cause)])


def ends(world: World, much: int) -> None:
    if world.followed:
        side = world.followed[much % len(world.followed)].side
        if much % 3:
            side.fail(Failure.RESET)
        else:
            side.end()


def reads(world: World, much: int) -> None:
    """Another comes for some of it, and waits where there is none."""
    number = len(world.others)
    other = world.gated.pool.reservation(
        1 + much * 1000 % POOL, lambda: world.let_in.append(number), lambda: None
    )
    assert other is not None
    world.others.append(other)
    other.ask(world.gated.now + WAIT)


def is_done(world: World, much: int) -> None:
    if world.others:
        world.others[much % len(world.others)].close()


def passes(world: World, much: int) -> None:
    world.gated.wait(much % 20)


Act = Callable[[World, int], None]
ACTS: tuple[Act, ...] = (
    *[sends] * 12,
    *[takes] * 4,
    begins_again,
    begins_again,
    leaves,
    cuts,
    ends,
    reads,
    is_done,
    is_done,
    passes,
)


@settings(max_examples=250, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 1000)), min_size=30, max_size=90),
    streams=st.integers(1, 5),
)
def test_no_byte_of_the_pool_is_lost_or_given_twice(steps: list[tuple[Act, int]], streams: int) -> None:
    world = World()
    for _ in range(streams):
        world.open()
    for act, much in steps:
        act(world, much)
        world.look()
    for other in world.others:
        other.close()
    for one in world.ones:
        one.staged.browser.leave()
    world.gated.go_on()
    world.gated.assert_nothing_is_held()

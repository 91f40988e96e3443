"""Streams of several people before one target's gates, and whatever happens to any of them, in any order.

Whatever that was: what a browser got is a whole answer of foyer's or the protocol, to a strict client; no
more memory is reserved than there is; a stream that is followed holds nothing of a read; and behind the last
one everything has been given back.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.exchange.endings import Cause
from foyer.protocol.events import Failure, ResponseHead
from foyer.streams.source import State
from tests.exchange.sides import Told, Upstream
from tests.streams.following import COMPLETE, CONFIGMAPS, added, config_map, error, modified, page, status
from tests.streams.gated import Gated, is_look
from tests.streams.staged import JSON, Staged
from tests.streams.wires import Client, events

POOL = 60_000

SCOPES = (CONFIGMAPS, CONFIGMAPS + b"&labelSelector=a")


@dataclass
class World:
    """The target, its streams and its API server."""

    gated: Gated
    streams: list[Staged] = field(default_factory=list)

    @property
    def sides(self) -> list[Upstream]:
        """Requests that are open."""
        sides = [place.side for place in self.gated.places if place.side is not None]
        return [side for side in sides if not side.over]

    def side(self, much: int) -> Upstream | None:
        sides = self.sides
        return sides[much % len(sides)] if sides else None

    def look(self) -> None:
        """What holds at every moment."""
        gated = self.gated
        assert gated.pool.reserved <= POOL
        for staged in self.streams:
            assert staged.services.faults == []
            source = staged.source
            if source.state is State.OVER or not (source._reflector.in_snapshot or source._paused):
                assert source._reading is None
            head = staged.browser.head
            if head is not None and head.status != 200:
                assert staged.exchange.interruption is not None
                assert head.status in (503, 422)
                assert source.state is State.OVER


Act = Callable[[World, int], None]


def opens(world: World, much: int) -> None:
    if len(world.streams) < 8:
        world.streams.append(Staged(SCOPES[much % 5 == 0], clocked=world.gated))


def finds(world: World, much: int) -> None:
    waiting = [place for place in world.gated.places if place.waits]
    if waiting:
        waiting[much % len(waiting)].find()


def finds_none(world: World, much: int) -> None:
    waiting = [place for place in world.gated.places if place.waits]
    if waiting:
        waiting[much % len(waiting)].fail()


def answers(world: World, much: int) -> None:
    side = world.side(much)
    if side is None or side.answered:
        return
    assert side.head is not None
    code = (200, 200, 200, 200, 200, 403, 422, 503)[much % 8]
    side.answer(ResponseHead(code, JSON, ended=much % 11 == 0))
    if code == 200 and not side.over and (is_look(side.head) or b"watch=1" not in side.head.target):
        items = [body(much)] * (1 if is_look(side.head) else much % 4)
        listed = page(items, token="more" * (much % 5 == 1))
        remaining = b'"metadata":{"remainingItemCount":%d,' % (much % 40)
        side.content(listed.replace(b'"metadata":{', remaining, 1) if is_look(side.head) else listed)
        if not side.over:
            side.end()
    elif code != 200 and not side.over:
        side.content(status(code, "sendInitialEvents"))
        if not side.over:
            side.end()


def body(much: int) -> bytes:
    return config_map(f"u{much % 3}", str(10 + much % 40), b'{"a":"%b"}' % (b"x" * (much % 9 * 1500)))


def sends(world: World, much: int) -> None:
    side = world.side(much)
    if side is None or not side.answered:
        return
    lines = (added(body(much)), modified(body(much)), COMPLETE, COMPLETE, error(410))
    content = lines[much % 5 if much % 4 else much % 3] + b"\n"
    for at in range(0, len(content), side.window):
        if side.over or side.window <= 0:
            return
        side.content(content[at : at + side.window])


def ends(world: World, much: int) -> None:
    side = world.side(much)
    if side is not None and side.answered:
        side.end()


def fails(world: World, much: int) -> None:
    side = world.side(much)
    if side is not None:
        side.fail(list(Failure)[much % len(Failure)])


def goes_on(world: World, much: int) -> None:
    world.gated.go_on()
    if world.gated.turns:
        world.gated.turn()


def passes(world: World, much: int) -> None:
    world.gated.wait(much % 13)


def of(world: World, much: int) -> Staged | None:
    return world.streams[much % len(world.streams)] if world.streams else None


def takes(world: World, much: int) -> None:
    staged = of(world, much)
    if staged is not None:
        staged.browser.take(much * 997)


def leaves(world: World, much: int) -> None:
    staged = of(world, much)
    if staged is not None and much % 4 == 0:
        staged.browser.leave()


def cuts(world: World, much: int) -> None:
    staged = of(world, much)
    if staged is not None and much % 4 == 0 and not staged.browser.gone:
        staged.exchange.cut(list(Cause)[much % len(Cause)])


def crowds(world: World, much: int) -> None:
    world.gated.crowd(much % 3)
    world.gated.fill(1 + (POOL - world.gated.pool.reserved - 1) * (much % 5) // 4)


def uncrowds(world: World, much: int) -> None:
    world.gated.leave()


ACTS: tuple[Act, ...] = (
    *(opens, opens, finds, finds, answers, answers, answers, sends, sends, sends, goes_on, goes_on),
    *(passes, takes, takes, crowds, uncrowds, uncrowds, finds_none, ends, fails, leaves, cuts),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 500)), max_size=80)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, at_once=st.booleans(), streaming=st.booleans(), reads=st.integers(1, 3))
def test_whatever_happens_everything_is_given_back(
    steps: list[tuple[Act, int]], at_once: bool, streaming: bool, reads: int
) -> None:
    world = World(Gated(at_once=at_once, reads=reads, slots=2, pool=POOL))
    gated = world.gated
    if not streaming:
        gated.without_streaming.add(("demo", "", "v1"))
    for act, much in steps:
        act(world, much)
        world.look()
    for staged in world.streams:
        staged.browser.take(1 << 40)
        client = Client()
        if staged.browser.head is not None and staged.browser.head.status == 200:
            content = bytes(staged.browser.taken)
            client.take(events(content[: content.rfind(b"\n\n") + 2] if b"\n\n" in content else b""))
            whole = staged.browser.told is Told.FINISHED and not staged.browser.gone
            assert client.ended or not whole
        staged.browser.leave()
    gated.leave()
    gated.crowd(1)
    assert gated.limit.admitted == 1  # whoever comes next is let in
    gated.leave()
    while gated.turns:
        gated.turn()
    for staged in world.streams:
        staged.assert_nothing_is_left()

"""Shared streams, and whatever people, browsers, reviews and an API server may do to them, in any order.

The same behind a target's gates, which others crowd and fill.

Whatever happened: what reached a browser is the protocol, to a strict client; nobody is shown anything after
their right was known to be gone; and once everything goes well again each stream that is open shows exactly
what there is, there is one watch for each scope in use, and behind the last one nothing is left.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.exchange.endings import Cause
from foyer.protocol.events import Failure, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams.reflector import STALL
from tests.streams.following import COMPLETE, SECRETS, added, deleted, error, modified, page, secret, status
from tests.streams.gated import Gated
from tests.streams.projected import projected
from tests.streams.sharing import MAY, WHO, Stage, Visitor, refused
from tests.streams.staged import JSON, Place
from tests.streams.wires import Client
from tests.support.jsontext_twin import decode

PEOPLE = ("ada", "bob", "eve")
SCOPES = (SECRETS, SECRETS + b"&labelSelector=a%3Db")
PROJECTIONS = ("krm-full/v1", "krm-raw/v1", "krm-spec/v1")
TTL, RECHECK = 4.0, 8.0

POOL = 400_000
"""Bytes of memory, where there are gates: room for one scope at its largest, not for two."""


class World:
    """The stage, what is in the API server, and how far it has told each watch of it."""

    def __init__(self, *, at_once: bool, streaming: bool, gated: bool) -> None:
        self.gated = Gated(at_once=at_once, reads=1, pool=POOL) if gated else None
        self.stage = Stage(at_once=at_once, ttl=TTL, recheck=RECHECK, clocked=self.gated)
        if not streaming:
            self.stage.clocked.without_streaming.add(("demo", "", "v1"))
        self.version = 10
        self.objects: dict[str, bytes] = {}
        self.looking: dict[Visitor, str] = {}
        self._told: dict[Place, list[bytes]] = {}  # on their way to an open watch
        for much in range(5):
            self.put(much)
        for much in range(3):
            joins(self, much)
        settles(self, 1)

    def put(self, much: int) -> None:
        """An object comes, or is another: in its data, its status, or nothing that is shown."""
        self.version += 1
        uid = f"s{much % 5}"
        value = b"MQ==" if much % 3 else b"Mg=="
        size = 12_000 if much % 3 == 0 else 4
        data = b'{"a":"%b","b":"%b"}' % (value, b"A" * size)
        more = b',"status":{"n":%d}' % (much % 2) if much % 4 else b""
        body = secret(uid, str(self.version), data, more)
        kind = modified if uid in self.objects else added
        self.objects[uid] = body
        self._tell(kind(body))

    def remove(self, much: int) -> None:
        uid = f"s{much % 5}"
        if self.objects.pop(uid, None) is not None:
            self.version += 1
            self._tell(deleted(secret(uid, str(self.version))))

    def _tell(self, line: bytes) -> None:
        for lines in self._told.values():
            lines.append(line + b"\n")
        self.flush()

    def flush(self) -> None:
        """What is on its way comes, as far as windows let it."""
        for place, lines in list(self._told.items()):
            side = place.side
            assert side is not None
            while lines and not side.over and side.window >= len(lines[0]):
                side.content(lines.pop(0))
            if side.over:
                self._told.pop(place, None)

    # The API server answers.

    @property
    def open_places(self) -> list[Place]:
        return [place for place in self.stage.places if place.side is not None and not place.side.over]

    @property
    def waiting(self) -> list[Place]:
        return [place for place in self.stage.places if place.waits]

    def answer(self, place: Place) -> None:
        """All that is there, and a watch of what comes."""
        side = place.side
        assert side is not None and side.head is not None and not side.answered
        if b"limit=" in side.head.target:
            side.answer(ResponseHead(200, JSON))
            side.content(page(self.objects.values(), str(self.version), kind="SecretList"))
            if not side.over:
                side.end()
            return
        if b"sendInitialEvents" in side.head.target:
            lines = [*(added(body) + b"\n" for body in self.objects.values()), COMPLETE + b"\n"]
        else:
            lines = []
            version = int(side.head.target.partition(b"resourceVersion=")[2].partition(b"&")[0])
            if version != self.version:
                lines = [error(410) + b"\n"]
        self._told[place] = lines
        side.answer(ResponseHead(200, JSON))
        self.flush()

    def breaks(self, place: Place, much: int) -> None:
        side = place.side
        assert side is not None
        if not side.answered:
            code = (403, 401, 422, 404, 500, 429)[much % 6]
            side.answer(ResponseHead(code, JSON))
            side.content(status(code, "sendInitialEvents" if code == 422 else "own words"))
            if not side.over:
                side.end()
        elif much % 3 == 0:
            side.end()
        elif much % 3 == 1:
            side.fail(Failure.RESET)
        elif side.window > 1000:
            lines = (error(410), error(500), added(b"{}"), error(403))
            side.content(lines[much % 4] + b"\n")

    def look(self) -> None:
        """Every client takes what has come, and finds nothing wrong."""
        for visitor in self.stage.visitors:
            assert visitor.services.faults == []
            client = Client()
            client.take(visitor.events)


Act = Callable[[World, int], None]


def joins(world: World, much: int) -> None:
    projection = PROJECTIONS[much % 3]
    query = SCOPES[much % 7 == 0] + b"&projection=" + projection.encode()
    if len([visitor for visitor in world.stage.visitors if not visitor.over]) < 12:
        visitor = Visitor(world.stage, query, world_token(much))
        visitor.fast = much % 4 != 0
        world.stage.visitors.append(visitor)
        world.looking[visitor] = projection


def world_token(much: int) -> IdToken:
    return IdToken(PEOPLE[much % len(PEOPLE)].encode())


def leaves(world: World, much: int) -> None:
    if world.stage.visitors:
        visitor = world.stage.visitors[much % len(world.stage.visitors)]
        if much % 2 and not visitor.browser.gone:
            visitor.exchange.cut(Cause.SESSION_ENDED)
        else:
            visitor.browser.leave()


def changes(world: World, much: int) -> None:
    for _ in range(1 + much % 12):
        world.put(much)
        much = much * 7 + 1


def removes(world: World, much: int) -> None:
    world.remove(much)


def finds(world: World, much: int) -> None:
    if world.waiting:
        world.waiting[much % len(world.waiting)].find()


def finds_none(world: World, much: int) -> None:
    if world.waiting:
        world.waiting[much % len(world.waiting)].fail()


def answers(world: World, much: int) -> None:
    for place in world.open_places:
        if place.side is not None and not place.side.answered:
            world.answer(place)


def breaks(world: World, much: int) -> None:
    if world.open_places:
        world.breaks(world.open_places[much % len(world.open_places)], much)


def turns(world: World, much: int) -> None:
    for _ in range(much % 4):
        world.stage.run()
        world.stage.turn()
    world.flush()


def settles(world: World, much: int) -> None:
    world.stage.settle()
    if much % 4:
        for place in world.waiting:
            place.find()
        answers(world, much)
    world.flush()
    world.stage.settle()
    world.look()


def passes(world: World, much: int) -> None:
    world.stage.wait(much % 6)
    world.flush()


def holds(world: World, much: int) -> None:
    world.stage.reviewer.held = not world.stage.reviewer.held


def releases(world: World, much: int) -> None:
    world.stage.reviewer.release(1 + much % 4)


def revokes(world: World, much: int) -> None:
    denied, name = world.stage.reviewer.denied, PEOPLE[much % len(PEOPLE)]
    if denied.pop(name, None) is None:
        denied[name] = "revoked"


def reviews_fail(world: World, much: int) -> None:
    answers, kind = world.stage.reviewer.answers, (WHO, MAY)[much % 2]
    if answers.pop(kind, None) is None and much % 3 == 0:
        answers[kind] = (Failure.TIMEOUT, refused(500), refused(401))[much % 5 % 3]


def slows(world: World, much: int) -> None:
    if world.stage.visitors:
        visitor = world.stage.visitors[much % len(world.stage.visitors)]
        visitor.fast = not visitor.fast
        visitor.browser.take(much * 97)


def crowds(world: World, much: int) -> None:
    """Others read, and take memory."""
    if world.gated is not None:
        world.gated.crowd(much % 3)
        world.gated.fill(1 + (POOL - world.gated.pool.reserved - 1) * (much % 5) // 4)


def uncrowds(world: World, much: int) -> None:
    if world.gated is not None:
        world.gated.leave()


def _seldom(act: Act) -> Act:
    """What ends most of what goes on must not be most of what happens."""

    def seldom(world: World, much: int) -> None:
        if much % 5 == 0:
            act(world, much // 5)

    return seldom


ACTS: tuple[Act, ...] = (
    *(joins, joins, changes, changes, changes, removes, finds, answers, turns, turns, turns),
    *(settles, settles, passes, slows, slows, leaves, releases, uncrowds, uncrowds),
    *map(_seldom, (crowds, breaks, holds, revokes, reviews_fail, finds_none)),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 500)), min_size=20, max_size=80)


@contextmanager
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Queues and slices so small that they are met all the time."""
    with monkeypatch.context() as patched:
        for module in ("showing", "subscriber"):
            patched.setattr(f"foyer.streams.{module}.QUEUE_MOST", 4)
        patched.setattr("foyer.streams.cache.LOG_MOST", 8)
        patched.setattr("foyer.streams.fanout.WORK", 5)
        yield


def heal(world: World) -> None:
    """From now on everything goes well, for those who may."""
    stage = world.stage
    uncrowds(world, 0)
    stage.reviewer.held = False
    stage.reviewer.answers.clear()
    stage.reviewer.release()
    for visitor in stage.visitors:
        visitor.fast = True
    for _ in range(int(STALL + RECHECK + TTL)):
        for place in world.waiting:
            place.find()
        answers(world, 0)
        world.flush()
        stage.settle()
        stage.wait(1)
        world.flush()


def expected(world: World, projection: str) -> dict[str, Any]:
    return {uid: _content(projected(decode(body), projection)[0]) for uid, body in world.objects.items()}


def _content(shown: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: part for name, part in shown["metadata"].items() if name != "resourceVersion"}
    return shown | {"metadata": metadata}


@pytest.mark.parametrize("gated", [False, True], ids=["alone", "gated"])
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "listing"])
def test_whatever_happens_each_stream_ends_with_what_it_may_see(
    streaming: bool, gated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    @settings(max_examples=120, deadline=None)
    @given(steps=STEPS, at_once=st.booleans())
    def holds(steps: list[tuple[Act, int]], at_once: bool) -> None:
        world = World(at_once=at_once, streaming=streaming, gated=gated)
        stage = world.stage
        try:
            for act, much in steps:
                act(world, much)
                assert world.gated is None or world.gated.pool.reserved <= POOL
            heal(world)
            world.look()
            going = [visitor for visitor in stage.visitors if not visitor.over]
            scopes = {visitor.subscriber._opening.scope for visitor in going}
            assert stage.measures.watches_open == {"user": 0, "shared": len(scopes)}
            assert stage.measures.shared_subscriptions_open == len(going)
            assert len(stage.shared) == len(scopes)
            for visitor in going:
                client = Client()
                client.take(visitor.events)
                assert client.synced
                shown = {uid: _content(each) for uid, each in client.objects.items()}
                assert shown == expected(world, world.looking[visitor])
            for name in stage.reviewer.denied:
                assert not [each for each in going if each.subscriber._grant.question.subject.count(name)]  # type: ignore[union-attr]
            for visitor in going:
                visitor.browser.leave()
            stage.assert_nothing_is_left()
        finally:
            stage.close()

    with small(monkeypatch):
        holds()

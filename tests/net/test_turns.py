"""What one turn of the loop frames is bounded, so that bombs take turns and nobody waits behind them (A17).

Counted in bytes a turn, over browsers that take whatever they are given at once: such a peer never holds a
connection up, and 64 KiB of gzip expand to 64 MiB.
"""

import gzip

import pytest

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer, BrowserReceiver, BrowserSide, ResponseBounds
from foyer.net.browser import BrowserConnection
from foyer.net.connection import QUANTUM, TURN_SENT
from foyer.net.turn import PATIENCE, SHARE
from foyer.net.wire import Wire
from foyer.protocol.events import RequestHead, ResponseHead
from foyer_native.inflate import Inflater
from tests.exchange.sides import WINDOW, Pool, Services
from tests.net.offline import Offline, Transport
from tests.support.raw_frames import GET, PREFACE, Kind, frames, headers, settings, window_update

ONE = b"GET /a HTTP/1.1\r\nHost: foyer.test\r\n\r\n"
WIDE = settings({0x4: (1 << 31) - 1}) + window_update(0, (1 << 31) - 65_536)

SIZE = 16_000_000
BOMB = gzip.compress(bytes(SIZE), 9)
assert len(BOMB) <= WINDOW, "it comes in one go"

FRAMES = 1.01
"""What is framed around content, and a head."""

VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])


class Greedy(Transport):
    """A browser that takes everything at once."""

    def __init__(self, world: "World", wire: Wire) -> None:
        self.world = world
        self.taken = bytearray()
        super().__init__(world.offline.loop, wire)

    def write(self, data: bytes) -> None:
        assert not self.ended, "a write after our end"
        assert not self.closing, "a write after the close"
        self.world.written.append((self, len(data)))
        self.taken += data


class World:
    """Connections on one loop, whose turns a test counts."""

    def __init__(self) -> None:
        self.offline = Offline()
        self.services = Services()
        self.written: list[tuple[Greedy, int]] = []
        self.pools: list[Pool] = []
        self.sides: list[BrowserSide] = []

    def connect(self, version: str, requests: int = 1) -> Greedy:
        """A browser with so many requests under way: over HTTP/1.1 one at a time."""
        connection = BrowserConnection(self, self.offline.turn, self.offline.wheel, lambda _: None)
        transport = Greedy(self, connection.attach(Wire(connection)))
        if version == "h1":
            transport.bring(ONE)
        else:
            transport.bring(PREFACE + WIDE)
            for number in range(requests):
                self.offline.run()
                transport.bring(headers(2 * number + 1, GET))
        self.offline.run()
        return transport

    def explode(self, number: int) -> None:
        """The API server answers that request with a bomb, which is whole by then."""
        upstream = self.pools[number].side
        assert upstream is not None
        upstream.answer(ResponseHead(200, [(b"content-encoding", b"gzip")]))
        upstream.content(BOMB)
        if not upstream.over:
            upstream.end()

    def turn(self) -> list[tuple[Greedy, int]]:
        """One turn of the loop, and what was written in it."""
        self.written.clear()
        soon, self.offline.loop._soon = self.offline.loop._soon, []
        for call in soon:
            call()
        assert self.offline.loop.faults == []
        return list(self.written)

    def turns(self) -> list[list[tuple[Greedy, int]]]:
        """All that are left."""
        found = []
        while self.offline.loop._soon:
            found.append(self.turn())
        return found

    # The application.

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        self.sides.append(side)
        exchange = Exchange(self.services, side, head)
        if dict(head.fields).get(b"x-own"):
            exchange.answer(Answer(200, [], b"ok"))
            return exchange
        pool = Pool()
        exchange.forward(head, pool.open, ResponseBounds(1 << 40, None))
        self.pools.append(pool)
        return exchange

    def unreadable(self, reason: str) -> None:
        raise AssertionError(reason)

    def flood(self, kind: str) -> None:
        raise AssertionError(kind)


class Decoded(Inflater):
    """The decoder, and what has been decoded in this turn."""

    in_turn = 0

    def step(self, limit: int) -> bytes:
        piece = super().step(limit)
        Decoded.in_turn += len(piece)
        return piece


@VERSIONS
def test_a_turn_frames_a_quarter_of_a_mebibyte_of_one_connection_and_no_more(version: str) -> None:
    world = World()
    browser = world.connect(version)
    world.explode(0)
    sizes = [sum(size for _, size in turn) for turn in (list(world.written), *world.turns())]
    assert max(sizes) <= (TURN_SENT + QUANTUM) * FRAMES
    assert len(browser.taken) >= SIZE
    assert len(sizes) <= SIZE / TURN_SENT * 2 + 5, "turns in which nothing moves"


@VERSIONS
def test_nor_does_it_decode_more(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foyer.exchange.exchange.Inflater", Decoded)
    world = World()
    world.connect(version)
    Decoded.in_turn = 0
    world.explode(0)
    assert Decoded.in_turn <= TURN_SENT + 4 * QUANTUM
    Decoded.in_turn = 0
    while world.offline.loop._soon:
        world.turn()
        assert Decoded.in_turn <= TURN_SENT + 4 * QUANTUM
        Decoded.in_turn = 0


@VERSIONS
def test_six_bombs_take_turns(version: str) -> None:
    """However many there are, a turn has one's worth of work; and none is served twice before another is."""
    world = World()
    browsers = [world.connect(version) for _ in range(6)]
    for number in range(6):
        world.explode(number)
    order = []
    for turn in world.turns():
        assert sum(size for _, size in turn) <= (TURN_SENT + QUANTUM) * FRAMES
        order += list(dict.fromkeys(who for who, _ in turn))
    assert len(order) > 300
    for at in range(0, 300, 6):
        assert len(set(order[at : at + 6])) == 6
    assert all(len(browser.taken) >= SIZE for browser in browsers)


@pytest.mark.parametrize("bombs", [1, 6])
@VERSIONS
def test_somebody_else_is_answered_in_the_turn_after_their_request(version: str, bombs: int) -> None:
    world = World()
    for _ in range(bombs):
        world.connect(version)
    other = world.connect("h1")
    for number in range(bombs):
        world.explode(number)
    for _ in range(5):
        world.turn()
    upstream = world.pools[bombs].side
    assert upstream is not None
    upstream.answer(ResponseHead(200, []))
    upstream.content(b"hello")
    upstream.end()
    world.turn()
    assert b"hello" in other.taken
    other.bring(ONE[:-2] + b"X-Own: 1\r\n\r\n")
    world.turn()
    world.turn()
    assert other.taken.endswith(b"ok")


def test_six_bombs_on_one_connection_share_its_turn_stream_by_stream() -> None:
    world = World()
    browser = world.connect("h2", requests=6)
    for number in range(6):
        world.explode(number)
    for turn in world.turns():
        assert sum(size for _, size in turn) <= (TURN_SENT + 6 * QUANTUM) * FRAMES
    sent = dict.fromkeys(range(1, 12, 2), 0)
    for frame in frames(bytes(browser.taken)):
        if frame.kind == Kind.DATA:
            sent[frame.stream] += len(frame.payload)
            assert max(sent.values()) - min(sent.values()) <= TURN_SENT + 2 * QUANTUM
    assert set(sent.values()) == {SIZE}


def test_sides_are_neighbours_on_one_connection_and_what_they_are_sent_in_a_turn_is_one_write() -> None:
    world = World()
    nine, one = world.connect("h2", 9), world.connect("h1")
    for side in world.sides:
        side.send_head(ResponseHead(200, []))
    world.turns()
    for side in world.sides:
        side.send(b"a change")
    [turn] = world.turns()
    assert [transport for transport, _ in turn] == [nine, one]
    *first, last = [side.neighbourhood for side in world.sides]
    assert len(set(first)) == 1 and last not in first


# What waits for company.


class Queued:
    """Somebody with bytes to send."""

    def __init__(self) -> None:
        self.flushed = 0

    def flush(self) -> None:
        self.flushed += 1

    def failed(self) -> None:
        raise AssertionError


def test_what_nobody_waits_for_leaves_within_a_few_turns_with_all_that_came_meanwhile() -> None:
    offline = Offline()
    early, late, urgent = Queued(), Queued(), Queued()
    offline.turn.touch_patiently(early)
    turns = 0
    while not early.flushed:
        turns += 1
        if turns == 3:
            offline.turn.touch_patiently(late)
            offline.turn.touch(urgent)
        if turns == 5:
            assert (urgent.flushed, late.flushed) == (1, 0)
        soon, offline.loop._soon = offline.loop._soon, []
        for call in soon:
            call()
    assert turns <= PATIENCE + 1
    assert (early.flushed, late.flushed, urgent.flushed) == (1, 1, 1)
    assert not offline.loop._soon


# A line and the others.

STEP, OTHERS = 0.001, 0.1
"""Seconds that a step takes, and what the others have to do in a turn."""


class Worker:
    """Somebody in a line who is never done."""

    def __init__(self, offline: Offline) -> None:
        self._offline = offline
        self.steps = 0

    def go_on(self) -> None:
        self.steps += 1
        self._offline.loop.within += STEP
        self._offline.turn.later(self)

    def failed(self) -> None:
        raise AssertionError


def steps_a_turn(others: float, workers: int) -> list[int]:
    """How much those in a line do in each turn, in all."""
    offline = Offline()
    line = [Worker(offline) for _ in range(workers)]
    for worker in line:
        offline.turn.later(worker)
    found = []
    for _ in range(5):
        before = sum(worker.steps for worker in line)
        offline.loop.within += others
        soon, offline.loop._soon = offline.loop._soon, []
        for call in soon:
            call()
        found.append(sum(worker.steps for worker in line) - before)
    assert max(worker.steps for worker in line) - min(worker.steps for worker in line) <= 1, "in turn"
    return found


def test_a_line_takes_one_step_a_turn_while_the_others_have_little_to_do() -> None:
    assert steps_a_turn(0.0, 200) == [1] * 5
    assert steps_a_turn(STEP, 200) == [1] * 5


def test_and_a_share_of_a_turn_that_they_make_long() -> None:
    """Of a full replica's turns of 0.1 s, a newcomer behind 500 others would wait for 500."""
    assert steps_a_turn(OTHERS, 200) == [pytest.approx(SHARE * OTHERS / STEP, abs=1)] * 5


def test_but_each_that_waits_goes_on_once_a_turn_at_most() -> None:
    assert steps_a_turn(OTHERS, 3) == [3] * 5

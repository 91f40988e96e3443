"""What is beyond a browser's work for a turn gives way to others, who are so served beside a flood (A15)."""

from itertools import pairwise

import pytest

from foyer.net.turn import GIVES_WAY, QUIET, SHARE
from foyer.protocol.events import ResponseHead
from tests.net.offline import Offline
from tests.net.test_browser import Connected

STEP = 0.0003
"""Seconds that one step of a flood takes."""

ONE = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"
ANSWERED = ResponseHead(200, [(b"content-length", b"0")], ended=True)


class Flood:
    """Somebody who is never done, and to whom each step gives something to send."""

    def __init__(self, offline: Offline) -> None:
        self._offline = offline
        self.steps: list[float] = []  # when each began
        self.sent = 0

    def go_on(self) -> None:
        self.steps.append(self._offline.loop.within)
        self._offline.loop.within += STEP
        self._offline.turn.give_way(self)
        self._offline.turn.touch(self)

    def flush(self) -> None:
        self.sent += 1

    def failed(self) -> None:
        raise AssertionError


class Other:
    """Somebody who is served."""

    def __init__(self) -> None:
        self.sent = 0

    def flush(self) -> None:
        self.sent += 1

    def failed(self) -> None:
        raise AssertionError


class Carrier:
    """Somebody with more content than fits into a turn."""

    def __init__(self, offline: Offline, *, upstream: bool) -> None:
        self._turn, self._upstream = offline.turn, upstream
        self.steps = 0

    def go_on(self) -> None:
        self.steps += 1
        self._turn.later(self, upstream=self._upstream)

    def failed(self) -> None:
        raise AssertionError


def flooded() -> tuple[Offline, Flood]:
    offline = Offline(quiet=QUIET)
    flood = Flood(offline)
    offline.turn.give_way(flood)
    return offline, flood


def turn(offline: Offline, seconds: float = 0.0) -> None:
    """One turn of the loop, so long after the one before."""
    offline.loop.within += seconds
    soon, offline.loop._soon = offline.loop._soon, []
    for call in soon:
        call()
    assert not offline.loop.faults


def test_a_flood_has_a_step_a_turn_while_nobody_else_has_work() -> None:
    """What it is given to send itself is nobody else's work."""
    offline, flood = flooded()
    for number in range(1, 20):
        turn(offline)
        assert (len(flood.steps), flood.sent) == (number, number)


def test_it_waits_until_nobody_else_has_had_work_for_a_while() -> None:
    offline, flood = flooded()
    other = Other()
    offline.turn.touch(other)
    turn(offline)
    assert (other.sent, flood.steps) == (1, [])
    turn(offline, QUIET * 0.9)
    assert flood.steps == [], "an answer may be about to come"
    offline.turn.touch(other)
    turn(offline, QUIET * 0.05)
    turn(offline, QUIET * 0.9)
    assert (other.sent, flood.steps) == (2, []), "from the last of their work on"
    turn(offline, QUIET * 0.2)
    assert len(flood.steps) == 1


@pytest.mark.parametrize("floods", [1, 3])
def test_but_it_waits_for_so_long_only(floods: int) -> None:
    """Nobody can keep newcomers out by asking for one thing after the other."""
    offline, flood = flooded()
    line = [flood, *(Flood(offline) for _ in range(floods - 1))]
    for each in line[1:]:
        offline.turn.give_way(each)
    other, busy = Other(), QUIET / 2
    for _ in range(400):
        offline.turn.touch(other)
        turn(offline, busy)
    assert other.sent == 400
    steps = sorted(step for each in line for step in each.steps)
    between = [later - step for step, later in pairwise(steps)]
    assert len(steps) > 30
    assert max(between) <= STEP + GIVES_WAY + 2 * busy
    assert max(map(len, (each.steps for each in line))) - min(len(each.steps) for each in line) <= 1
    # Nor does it have more for having waited: what it takes is a step at a time, and its share.
    assert min(between) >= STEP
    assert len(steps) * STEP <= (0.5 + SHARE) * offline.loop.within


@pytest.mark.parametrize("upstream", [True, False], ids=["a server's", "a browser's"])
def test_content_on_its_way_gives_way_to_nobody(upstream: bool) -> None:
    offline, flood = flooded()
    carrier, other = Carrier(offline, upstream=upstream), Other()
    offline.turn.later(carrier, upstream=upstream)
    for number in range(1, 10):
        offline.turn.touch(other)
        turn(offline)
        assert (carrier.steps, flood.steps) == (number, [])


def test_a_pipelined_request_gives_way_however_many_answers_its_connection_has_had() -> None:
    """It once began as the answer before it left, in nobody's turn: a GET beside it took twice as long."""
    connected = Connected()
    offline, other = connected.offline, Other()
    for number in range(100):
        connected.bring(ONE % number)
        connected.application.upstream.answer(ANSWERED)
        offline.run()
    offline.turn.quiet = QUIET
    asked = b"".join(ONE % number for number in range(100, 104))
    connected.transport.bring(asked)
    turn(offline)
    for number in range(100, 104):
        heads = connected.application.heads
        assert heads[-1].target == b"/%d" % number
        connected.application.upstream.answer(ANSWERED)
        turn(offline)
        assert connected.transport.take().startswith(b"HTTP/1.1 200 OK\r\n")
        for _ in range(3):
            offline.turn.touch(other)
            turn(offline, QUIET / 10)
            assert len(heads) == number + 1, "somebody else has work"
        turn(offline, QUIET * 2)
        turn(offline)
    assert len(connected.application.heads) == 104
    assert connected.transport.reads


def test_a_pipeline_that_filled_its_room_is_read_on_as_it_is_answered() -> None:
    connected = Connected()
    asked = (ONE % 0).replace(b"\r\n\r\n", b"\r\nX: " + b"x" * 8000 + b"\r\n\r\n") * 60
    brought, stood = b"", 0
    for number in range(60):
        while connected.transport.reads and len(brought) < len(asked):
            rest = asked[len(brought) :]
            brought += rest[: connected.transport.bring(rest)]
            connected.offline.run()
        stood += not connected.transport.reads
        assert len(connected.application.heads) == number + 1
        connected.application.upstream.answer(ANSWERED)
        connected.offline.run()
    assert brought == asked
    assert stood > 30, "it filled its room again and again"
    assert connected.transport.reads


@pytest.mark.parametrize("before", [1, 40], ids=["a newcomer's", "who is known"])
def test_a_drain_ends_no_connection_whose_request_gives_way(before: int) -> None:
    """Between an answer that did not say so and the request behind it: what has been read is answered."""
    connected = Connected()
    offline, application = connected.offline, connected.application
    for number in range(before):
        connected.bring(ONE % number)
        application.upstream.answer(ANSWERED)
        offline.run()
    connected.take()
    connected.bring(ONE % 100 + ONE % 101 + ONE % 102)
    application.upstream.answer(ANSWERED)
    offline.turn.quiet = QUIET
    offline.turn.touch(Other())
    turn(offline)
    assert connected.transport.take() == b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
    assert application.heads[-1].target == b"/100", "the next gives way"
    connected.connection.go_away()
    turn(offline)
    assert (connected.transport.ended, connected.transport.closing) == (False, False)
    turn(offline, QUIET * 2)
    assert application.heads[-1].target == b"/101"
    application.upstream.answer(ANSWERED)
    offline.run()
    assert b"\r\nconnection: close\r\n" in connected.transport.take()
    assert connected.transport.ended
    assert application.heads[-1].target == b"/101", "of a third nothing was begun"


def test_but_who_reads_no_answers_holds_up_no_drain() -> None:
    connected = Connected()
    offline, application = connected.offline, connected.application
    connected.bring(ONE % 100 + ONE % 101)
    application.upstream.answer(ANSWERED)
    offline.turn.quiet = QUIET
    offline.turn.touch(Other())
    turn(offline)
    connected.connection.wire.choked = True
    connected.connection.go_away()
    turn(offline)
    assert connected.transport.ended
    assert application.heads[-1].target == b"/100"

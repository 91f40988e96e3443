"""The lines in which browsers' connections wait: what is asked is in one, what is on its way in another."""

import pytest

from foyer.protocol.events import ResponseHead
from tests.net.offline import Offline
from tests.net.test_browser import Connected

ONE = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"
ANSWERED = ResponseHead(200, [(b"content-length", b"0")], ended=True)


class Flood:
    """Somebody who is never done."""

    def __init__(self, offline: Offline) -> None:
        self._turn = offline.turn
        self.steps = 0

    def go_on(self) -> None:
        self.steps += 1
        self._turn.line_up(self)

    def failed(self) -> None:
        raise AssertionError


class Carrier:
    """Somebody with more content than fits into any turn."""

    def __init__(self, offline: Offline, *, upstream: bool) -> None:
        self._turn, self._upstream = offline.turn, upstream
        self.steps = 0

    def go_on(self) -> None:
        self.steps += 1
        self._turn.later(self, upstream=self._upstream)

    def failed(self) -> None:
        raise AssertionError


def turn(offline: Offline) -> None:
    """One turn of the loop."""
    soon, offline.loop._soon = offline.loop._soon, []
    for call in soon:
        call()
    assert not offline.loop.faults


def test_content_on_its_way_does_not_stand_behind_floods_nor_a_servers_behind_a_browsers() -> None:
    offline = Offline()
    floods = [Flood(offline) for _ in range(10)]
    for flood in floods:
        offline.turn.line_up(flood)
    browser, server = Carrier(offline, upstream=False), Carrier(offline, upstream=True)
    offline.turn.later(browser)
    offline.turn.later(server, upstream=True)
    for number in range(1, 31):
        turn(offline)
        assert (browser.steps, server.steps) == (number, number)
        assert sum(flood.steps for flood in floods) == number
    assert {flood.steps for flood in floods} == {3}


def test_a_pipelined_request_waits_for_its_turn_however_many_answers_its_connection_has_had() -> None:
    """It once began as the answer before it left, in nobody's turn: a GET beside it took twice as long."""
    connected = Connected()
    offline, application = connected.offline, connected.application
    for number in range(100):
        connected.bring(ONE % number)
        application.upstream.answer(ANSWERED)
        offline.run()
    floods = [Flood(offline) for _ in range(5)]
    connected.transport.bring(b"".join(ONE % number for number in range(100, 104)))
    turn(offline)
    for flood in floods:
        offline.turn.line_up(flood)
    for number in range(100, 104):
        assert application.heads[-1].target == b"/%d" % number
        before = sum(flood.steps for flood in floods)
        application.upstream.answer(ANSWERED)
        turn(offline)
        assert connected.transport.take().startswith(b"HTTP/1.1 200 OK\r\n")
        while number < 103 and application.heads[-1].target == b"/%d" % number:
            turn(offline)
        assert number == 103 or sum(flood.steps for flood in floods) >= before + len(floods)
    turn(offline)
    assert len(application.heads) == 104
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


def pipelined(before: int) -> Connected:
    """A connection that has had so many answers, and now the first of three: the next has yet to begin."""
    connected = Connected()
    offline, application = connected.offline, connected.application
    for number in range(before):
        connected.bring(ONE % number)
        application.upstream.answer(ANSWERED)
        offline.run()
    connected.take()
    connected.bring(ONE % 100 + ONE % 101 + ONE % 102)
    offline.turn.line_up(Flood(offline))
    application.upstream.answer(ANSWERED)
    turn(offline)
    assert connected.transport.take() == b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
    assert application.heads[-1].target == b"/100"
    return connected


@pytest.mark.parametrize("before", [1, 40], ids=["a newcomer's", "who is known"])
def test_a_drain_ends_no_connection_whose_request_waits_for_its_turn(before: int) -> None:
    """Between an answer that did not say so and the request behind it: what has been read is answered."""
    connected = pipelined(before)
    offline, application = connected.offline, connected.application
    connected.connection.go_away()
    while application.heads[-1].target == b"/100":
        assert (connected.transport.ended, connected.transport.closing) == (False, False)
        turn(offline)
    assert application.heads[-1].target == b"/101"
    application.upstream.answer(ANSWERED)
    turn(offline)
    assert b"\r\nconnection: close\r\n" in connected.transport.take()
    assert connected.transport.ended
    turn(offline)
    assert application.heads[-1].target == b"/101", "of a third nothing was begun"


def test_but_who_reads_no_answers_holds_up_no_drain() -> None:
    connected = pipelined(1)
    connected.connection.wire.choked = True
    connected.connection.go_away()
    turn(connected.offline)
    assert connected.transport.ended
    assert connected.application.heads[-1].target == b"/100"

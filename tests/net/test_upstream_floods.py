"""A server is worked on in turns, and a flood of it ends its own connection alone (spec 03, Transport)."""

import pytest

from foyer.net.turn import Turn
from foyer.net.upstream import LINGER_TIME, PING_TIME, QUIET_TIME
from foyer.net.wire import CHOKED
from foyer.protocol.events import Failure
from foyer.protocol.floods import MAX_INFORMATIONAL, SERVER_TURN_WORK
from tests.net.offline import Loop
from tests.net.pools import Asker, Served, Server
from tests.support.raw_frames import OK, Kind, data, frame, frames, headers

PING = frame(Kind.PING, 0, bytes(8))
HEAD = {"h2": headers(1, OK, end=False), "http/1.1": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}
PIECE = {"h2": data(1, b"x"), "http/1.1": b"1\r\nx\r\n"}
END = {"h2": data(1, b"", end=True), "http/1.1": b"0\r\n\r\n"}
PIECES = 900

versions = pytest.mark.parametrize("version", ["h2", "http/1.1"])


class Floods:
    """A server of one version that has been asked, and what the pool was told of floods."""

    def __init__(self, version: str = "h2") -> None:
        self.server = Server()
        self.told: list[str] = []
        self.server.pool.flood = self.told.append
        self.asker = self.server.ask()
        self.served = self.server.served[0]
        self.served.establish(version, 100)

    def bring(self, data: bytes) -> None:
        """One read, on which nothing is done but what its own turn lets."""
        assert self.served.transport is not None
        assert self.served.transport.bring(data) == len(data)

    def turn(self) -> None:
        """One turn of the loop."""
        loop = self.server.offline.loop
        soon, loop._soon = loop._soon, []
        for call in soon:
            call()
        assert loop.faults == []

    def reads(self) -> bool:
        assert self.served.transport is not None
        return self.served.transport.reads


def held(served: Served) -> int:
    """Bytes that were read and wait for a turn."""
    codec = served.connection.codec
    return len(codec._held) if codec is not None else 0


@versions
def test_a_servers_small_pieces_are_a_turns_work_at_a_time_and_all_arrive(version: str) -> None:
    floods = Floods(version)
    floods.bring(HEAD[version] + PIECE[version] * PIECES)
    assert not floods.reads()
    while held(floods.served):
        before = len(floods.asker.content)
        floods.turn()
        assert len(floods.asker.content) - before <= SERVER_TURN_WORK
    floods.server.move()
    assert floods.reads()
    floods.bring(END[version])
    floods.server.move()
    assert (floods.asker.whole, len(floods.asker.content)) == (True, PIECES)
    assert floods.told == []


def test_in_how_many_reads_they_come_makes_no_difference() -> None:
    floods = Floods()
    floods.bring(HEAD["h2"])
    floods.server.move()
    for _ in range(6):  # as a read of TLS brings it, a record at a time
        floods.served.connection.received(PIECE["h2"] * (SERVER_TURN_WORK - 5))
    assert len(floods.asker.content) == SERVER_TURN_WORK
    floods.server.move()
    assert len(floods.asker.content) == 6 * (SERVER_TURN_WORK - 5)


def test_one_server_of_many_goes_on_in_a_turn() -> None:
    floods = Floods()
    others = [floods.server.ask() for _ in range(400)]
    for served in floods.server.dialled:
        served.establish("h2", 100)
    for served in floods.server.served:
        assert served.transport is not None
        served.transport.bring(HEAD["h2"] + PIECE["h2"] * PIECES)
    waiting = sum(map(held, floods.server.served))
    while waiting:
        floods.turn()
        left = sum(map(held, floods.server.served))
        assert waiting - left <= SERVER_TURN_WORK * len(PIECE["h2"])
        waiting = left
    assert sum(len(asker.content) for asker in [floods.asker, *others]) == 5 * PIECES


class Unfinished:
    """Somebody who has work for ever."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.turns = 0

    def go_on(self) -> None:
        self.turns += 1
        self._turn.later(self)

    def failed(self) -> None: ...


def test_however_many_browsers_flood_a_server_has_its_turn() -> None:
    """What a hundred people wait for does not stand behind what a thousand connections do for nothing."""
    floods = Floods()
    turn: Turn = floods.served.connection.turn
    browsers = [Unfinished(turn) for _ in range(1_000)]
    for browser in browsers:
        turn.later(browser)
    floods.bring(HEAD["h2"] + PIECE["h2"] * PIECES)
    for _ in range(2 * PIECES // SERVER_TURN_WORK + 4):  # a turn's work, and a turn to flush what came of it
        floods.turn()
    assert len(floods.asker.content) == PIECES
    assert max(browser.turns for browser in browsers) <= 1


def test_a_line_goes_on_behind_one_whose_work_fails() -> None:
    loop = Loop()
    turn = Turn(loop, lambda: 0.0)  # type: ignore[arg-type]

    class Broken(Unfinished):
        aborted = False

        def go_on(self) -> None:
            raise ZeroDivisionError

        def failed(self) -> None:
            self.aborted = True

    broken, next_one = Broken(turn), Unfinished(turn)
    turn.later(broken)
    turn.later(next_one)
    for _ in range(2):
        soon, loop._soon = loop._soon, []
        for call in soon:
            call()
    assert broken.aborted and next_one.turns == 1
    assert len(loop.faults) == 1


# An end behind work that waits.


@versions
@pytest.mark.parametrize("how", ["closed", "reset", "closed, then reset"])
def test_a_whole_response_is_whole_though_its_connection_ended_before_its_turn(
    version: str, how: str
) -> None:
    floods = Floods(version)
    floods.bring(HEAD[version] + PIECE[version] * PIECES + END[version])
    assert floods.served.transport is not None
    if how != "reset":
        floods.served.transport.end()
    if how != "closed":
        floods.served.transport.drop()
    floods.server.move()
    assert (floods.asker.whole, len(floods.asker.content)) == (True, PIECES)
    assert floods.asker.failures == []
    assert floods.served.is_lost() and floods.server.pool.connections == 0
    assert len(floods.server.offline.wheel) == 0


@versions
@pytest.mark.parametrize("how", ["closed", "reset"])
def test_a_part_arrives_before_the_failure_that_ended_it(version: str, how: str) -> None:
    floods = Floods(version)
    floods.bring(HEAD[version] + PIECE[version] * PIECES)
    assert floods.served.transport is not None
    floods.served.transport.end() if how == "closed" else floods.served.transport.drop()
    assert floods.asker.failures == []
    floods.server.move()
    assert len(floods.asker.content) == PIECES
    truncated = version == "http/1.1" and how == "closed"
    assert floods.asker.failures == [Failure.TRUNCATED if truncated else Failure.CONNECTION]
    assert floods.server.pool.connections == 0


def test_content_that_only_the_close_ends_is_whole_though_its_close_came_before_its_turn() -> None:
    floods = Floods("http/1.1")
    informing = b"HTTP/1.1 102 Processing\r\n\r\n" * 20
    floods.bring(informing + b"HTTP/1.1 200 OK\r\n\r\nall of it")
    assert floods.served.transport is not None
    floods.served.transport.end()
    assert not floods.asker.whole
    floods.server.move()
    assert (floods.asker.whole, bytes(floods.asker.content)) == (True, b"all of it")


@versions
def test_one_that_leaves_while_its_response_waits_is_told_nothing_more(version: str) -> None:
    floods = Floods(version)
    floods.bring(HEAD[version] + PIECE[version] * PIECES + END[version])
    floods.asker.left = True
    assert floods.asker.side is not None
    floods.asker.side.cancel()
    floods.server.move()
    assert floods.served.is_lost() is (version == "http/1.1")
    assert len(floods.asker.content) <= SERVER_TURN_WORK


# Floods.


def test_a_flood_ends_its_connection_and_is_told_once() -> None:
    floods = Floods()
    floods.bring(HEAD["h2"] + PIECE["h2"])
    floods.server.move()
    assert floods.served.transport is not None
    floods.bring(PING * 1_000)
    floods.server.offline.run()
    assert floods.told == ["ping"]
    assert floods.asker.failures == [Failure.PROTOCOL]
    last = list(frames(floods.served.transport.take()))[-1]
    assert str(last) == "GOAWAY 0 0 ENHANCE_YOUR_CALM"
    another = floods.server.ask()
    assert not another.has_place() and len(floods.server.dialled) == 1
    assert another.failures == []


def test_a_server_that_broke_the_protocol_can_read_why_and_what_it_sends_is_dropped() -> None:
    """To close at once would have TCP answer what it has sent by a reset, and that takes the GOAWAY along."""
    floods = Floods()
    transport = floods.served.transport
    assert transport is not None
    floods.bring(PING * 1_000)
    floods.server.offline.run()
    assert transport.ended and not transport.closing
    floods.bring(PING * 1_000)
    floods.server.offline.run()
    assert floods.told == ["ping"]
    transport.take()
    transport.end()
    floods.server.offline.run()
    assert transport.lost and not transport.aborted


def test_a_server_that_goes_on_has_so_long_to_read_why() -> None:
    floods = Floods()
    transport = floods.served.transport
    assert transport is not None
    floods.bring(PING * 1_000)
    floods.server.offline.run()
    floods.server.offline.pass_time(LINGER_TIME + 1)
    assert transport.lost and transport.aborted
    assert floods.asker.failures == [Failure.PROTOCOL]
    assert len(floods.server.offline.wheel) == 0


@versions
def test_1xx_heads_without_end_fail_their_response_as_a_breach(version: str) -> None:
    floods = Floods(version)
    informing = (
        headers(1, [(b":status", b"102")], end=False)
        if version == "h2"
        else b"HTTP/1.1 102 Processing\r\n\r\n"
    )
    floods.bring(informing * 3 * MAX_INFORMATIONAL)
    floods.server.move()
    assert floods.asker.failures == [Failure.PROTOCOL]
    assert floods.told == []
    after = floods.server.ask()
    assert after.has_place() is (version == "h2"), "HTTP/1.1 is out of step"


# One that is slow to have its turn, and one that takes nothing.


def test_a_server_whose_words_wait_for_their_turn_is_not_taken_for_dead() -> None:
    floods = Floods()
    offline = floods.server.offline
    floods.bring(HEAD["h2"] + PIECE["h2"] * PIECES)
    assert floods.served.transport is not None
    floods.served.transport.take()
    for _ in range(5):
        offline.loop.now += QUIET_TIME + PING_TIME
        offline.wheel.turn(offline.loop.now)
    assert not floods.served.transport.closing
    floods.server.move()
    assert len(floods.asker.content) == PIECES and floods.asker.failures == []


def choked(then: bytes) -> Floods:
    """A server that takes nothing of what it has made us write, and what it says in the same read."""
    floods = Floods()
    floods.bring(HEAD["h2"])
    floods.server.move()
    floods.served.wire.write(bytes(CHOKED + 1))
    assert not floods.reads()
    floods.served.connection.received(then)
    floods.server.offline.run()
    return floods


def test_what_was_read_of_a_server_that_takes_nothing_waits_as_well() -> None:
    floods = choked(PIECE["h2"] * PIECES)
    assert len(floods.asker.content) == SERVER_TURN_WORK
    assert floods.served.transport is not None
    floods.served.transport.take()
    floods.server.offline.run()
    assert len(floods.asker.content) == PIECES and floods.reads()


def test_a_server_that_takes_nothing_is_dead_before_long() -> None:
    floods = choked(PIECE["h2"] * PIECES)
    floods.server.offline.pass_time(QUIET_TIME + PING_TIME + 2)
    assert floods.served.is_lost()
    assert floods.asker.failures == [Failure.TIMEOUT]
    assert len(floods.asker.content) == PIECES, "which had arrived"
    assert len(floods.server.offline.wheel) == 0


def test_a_server_that_took_nothing_and_closes_has_said_what_it_said() -> None:
    floods = choked(PIECE["h2"] * PIECES + END["h2"])
    floods.served.connection.ended(True)  # a close_notify, behind it in the same read
    floods.server.offline.run()
    assert floods.asker.whole and len(floods.asker.content) == PIECES


def test_who_waits_for_a_connection_is_told_when_what_it_says_at_first_is_a_flood() -> None:
    server = Server()
    told: list[str] = []
    server.pool.flood = told.append
    asker: Asker = server.ask()
    server.served[0].establish("h2")
    server.served[0].bring(PING * 1_000)
    assert told == ["ping"]
    assert asker.failures == [Failure.CONNECTION]
    assert server.served[0].is_lost()

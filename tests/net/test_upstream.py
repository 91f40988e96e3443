"""The pool: a place for each, on as few connections as the server's limit asks for; nothing sent twice."""

import gc

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from foyer.net.upstream import CONNECT_TIME, PING_TIME, POOLED_TIME, QUIET_TIME, UpstreamConnection
from foyer.protocol.events import Failure
from tests.net.pools import Asker, Held, Served, Server
from tests.support.raw_frames import OK, data, headers, reset


@pytest.fixture
def server() -> Server:
    return Server()


def places(server: Server) -> list[int]:
    """How many requests each connection carries."""
    return [len(served.open) for served in server.served]


# How many connections, and which.


def test_450_at_once_need_one_connection_until_the_limit_is_known_and_5_in_all(server: Server) -> None:
    askers = [server.ask() for _ in range(450)]
    assert len(server.served) == 1
    server.served[0].establish("h2")
    assert (len(server.served), places(server)) == (1, [0])
    server.served[0].settle(100)
    assert (len(server.served), places(server)) == (5, [100, 0, 0, 0, 0])
    for served in server.dialled:
        served.establish("h2", 100)
    assert places(server) == [100, 100, 100, 100, 50]
    assert all(asker.side for asker in askers)
    assert len(server.served) == 5


def test_once_the_limit_is_known_as_many_connections_open_at_once_as_it_takes(server: Server) -> None:
    server.ask()
    server.served[0].establish("h2", 100)
    for _ in range(99 + 250):
        server.ask()
    assert len(server.dialled) == 3


def test_a_new_request_goes_where_there_is_most_room(server: Server) -> None:
    for _ in range(20):
        server.ask()
    server.served[0].establish("h2", 10)
    server.dialled[0].establish("h2", 10)
    first, second = server.served
    for path in [*first.open][:3] + [*second.open][:6]:
        (first if path in first.open else second).answer(path)
    assert places(server) == [7, 4]
    for _ in range(6):
        server.ask()
    assert sorted(places(server)) == [8, 9]


def test_over_http1_each_has_a_connection_and_the_next_one_reuses_it(server: Server) -> None:
    server.ask()
    server.served[0].establish("http/1.1")
    askers = [server.ask() for _ in range(3)]
    assert len(server.dialled) == 3
    for served in server.dialled:
        served.establish("http/1.1")
    assert places(server) == [1, 1, 1, 1]
    server.served[2].answer(*server.served[2].open)
    server.ask()
    assert places(server) == [1, 1, 1, 1]
    assert len(server.served) == 4
    assert sum(asker.whole for asker in askers) == 1


def test_whoever_waited_longest_goes_first(server: Server) -> None:
    askers = [server.ask() for _ in range(5)]
    server.served[0].establish("h2", 2)
    assert [asker.side is not None for asker in askers] == [True, True, False, False, False]
    server.served[0].answer(askers[0].path)
    assert [asker.side is not None for asker in askers] == [True, True, True, False, False]


def test_a_higher_limit_lets_in_who_waits(server: Server) -> None:
    askers = [server.ask() for _ in range(5)]
    server.served[0].establish("h2", 2)
    server.served[0].settle(5)
    assert all(asker.side for asker in askers)


def test_a_server_may_speak_h2_on_one_connection_and_http1_on_the_next(server: Server) -> None:
    askers = [server.ask() for _ in range(4)]
    server.served[0].establish("h2", 2)
    server.served[1].establish("http/1.1")
    assert places(server) == [2, 1, 0]
    server.served[2].establish("http/1.1")
    assert places(server) == [2, 1, 1]
    for served in server.served:
        for path in [*served.open]:
            served.answer(path)
    assert all(asker.whole for asker in askers)
    askers = [server.ask() for _ in range(4)]
    assert places(server) == [2, 1, 1]


# A server that takes none.


def test_a_server_that_takes_no_streams_is_asked_once_and_has_its_time(server: Server) -> None:
    askers = [server.ask() for _ in range(3)]
    server.served[0].establish("h2", 0)
    server.offline.pass_time(CONNECT_TIME - 1)
    assert (len(server.served), places(server)) == (1, [0])
    server.offline.pass_time(3)
    assert [asker.failures for asker in askers] == [[Failure.TIMEOUT]] * 3
    assert len(server.served) == 1


def test_a_server_that_takes_streams_after_a_while_gets_them(server: Server) -> None:
    asker = server.ask()
    server.served[0].establish("h2", 0)
    server.offline.pass_time(5)
    server.served[0].settle(10)
    assert asker.has_place()


def test_a_limit_lowered_to_nothing_lets_go_on_what_is_open_and_takes_no_more(server: Server) -> None:
    first = server.ask()
    server.served[0].establish("h2", 100)
    server.served[0].settle(0)
    second = server.ask()
    assert not second.has_place()
    server.dialled[0].establish("h2", 100)
    assert second.has_place()
    server.served[0].answer(first.path)
    assert first.whole


# Who leaves.


def test_nothing_is_opened_for_who_no_longer_waits(server: Server) -> None:
    server.ask()
    server.served[0].establish("h2", 1)
    for _ in range(1000):
        asker = Asker()
        server.pool.open(asker).cancel()
    assert len(server.served) <= 2
    assert server.pool.waiting == 0
    for served in server.dialled:
        served.establish("h2", 1)
    assert places(server) == [1, 0]


def test_one_that_leaves_while_waiting_is_told_nothing(server: Server) -> None:
    left, stayed = Asker(), Asker()
    waiting = server.pool.open(left)
    server.pool.open(stayed)
    waiting.cancel()
    waiting.cancel()
    server.served[0].establish("h2", 1)
    assert not left.has_place() and not left.failures
    assert stayed.has_place()


def test_a_cancelled_exchange_gives_its_place_to_the_next(server: Server) -> None:
    first, second = server.ask(), server.ask()
    server.served[0].establish("h2", 1)
    first.left = True
    assert first.side is not None
    first.side.cancel()
    server.move()
    assert second.has_place()
    assert places(server)[0] == 1


def test_resets_of_exchanges_that_end_one_after_the_other_leave_in_one_write(server: Server) -> None:
    """A session's end gives up each of its streams, and hundreds of sessions may end at once."""
    askers = [server.ask() for _ in range(6)]
    served = server.served[0]
    served.establish("h2", 10)
    written = served.wire.written
    written_by_turn = []
    for asker in askers[:4]:
        assert asker.side is not None
        asker.side.cancel()
        soon, server.offline.loop._soon = server.offline.loop._soon, []
        for call in soon:
            call()
        written_by_turn.append(served.wire.written - written)
    assert written_by_turn == [0] * 4
    server.offline.run()
    assert served.wire.written - written == 4 * len(reset(1))


def test_a_cancelled_http1_exchange_ends_its_connection(server: Server) -> None:
    asker = server.ask()
    server.served[0].establish("http/1.1")
    asker.left = True
    assert asker.side is not None
    asker.side.cancel()
    server.move()
    assert server.served[0].is_lost()
    assert server.pool.connections == 0


# What HTTP/1.1 may be used for again.


@pytest.mark.parametrize(
    "how", ["asked to close", "more than was asked for", "answered before the upload's end"]
)
def test_only_a_clean_end_leaves_an_http1_connection_to_the_next(server: Server, how: str) -> None:
    asker = server.ask(uploads=how.startswith("answered"))
    server.served[0].establish("http/1.1")
    match how:
        case "more than was asked for":
            del server.served[0].open[asker.path]
            server.served[0].bring(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n")
        case _:
            server.served[0].answer(asker.path, close=how == "asked to close")
    assert asker.whole
    assert server.served[0].is_lost()
    after = server.ask()
    assert len(server.dialled) == 1 and not after.has_place()


def test_a_connection_reads_on_after_an_answer_that_ended_while_it_was_paused(server: Server) -> None:
    first = Asker()
    first.pauses = True
    server.pool.open(first)
    server.served[0].establish("http/1.1")
    server.served[0].answer(first.path, bytes(50_000))
    assert first.whole
    second = server.ask()
    server.served[0].answer(second.path)
    assert second.whole


def test_a_pooled_connection_that_the_server_closes_fails_nobody(server: Server) -> None:
    first = server.ask()
    server.served[0].establish("http/1.1")
    server.served[0].answer(first.path)
    server.served[0].close()
    assert server.pool.connections == 0
    second = server.ask()
    server.dialled[0].establish("http/1.1")
    server.served[1].answer(second.path)
    assert second.whole and not second.failures


# How connections fail.


def test_nobody_who_listens_fails_everyone_who_waits(server: Server) -> None:
    askers = [server.ask() for _ in range(50)]
    server.refuse(server.served[0])
    assert [asker.failures for asker in askers] == [[Failure.CONNECTION]] * 50
    assert server.served == []


def test_one_connection_of_several_that_fails_fails_only_those_it_was_for(server: Server) -> None:
    server.ask()
    server.served[0].establish("h2", 10)
    askers = [server.ask() for _ in range(9 + 30)][9:]
    assert len(server.dialled) == 3
    server.refuse(server.dialled[0])
    assert [len(asker.failures) for asker in askers] == [1] * 10 + [0] * 20
    for served in server.dialled:
        served.establish("h2", 10)
    assert all(asker.side for asker in askers[10:])


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_a_connection_that_dies_fails_what_it_carries_and_nothing_is_sent_again(
    server: Server, protocol: str
) -> None:
    askers = [server.ask() for _ in range(3)]
    server.served[0].establish(protocol, 100)
    carried = [asker for asker in askers if asker.side]
    server.served[0].drop()
    assert all(asker.failures == [Failure.CONNECTION] for asker in carried)
    for served in server.dialled:
        served.establish(protocol, 100)
    assert all(asker.side and not asker.failures for asker in askers if asker not in carried)


@pytest.mark.parametrize("began", [False, True], ids=["before its head", "after its head"])
def test_a_server_stopped_in_its_tracks_is_dead_after_25_seconds_and_nothing_is_sent_twice(
    server: Server, began: bool
) -> None:
    """It accepts, takes bytes for as long as there is room for them, and says nothing ever again."""
    askers = [server.ask(uploads=number % 2 == 1) for number in range(6)]
    stopped = server.served[0]
    stopped.establish("h2", 100)
    if began:
        for stream in stopped.open.values():
            stopped.bring(headers(stream, OK, end=False) + data(stream, b"part"))
    stopped.take = lambda: False  # type: ignore[method-assign]
    server.pass_time(int(QUIET_TIME + PING_TIME) - 1)
    assert [asker.failures for asker in askers] == [[]] * 6
    server.pass_time(3)
    assert [asker.failures for asker in askers] == [[Failure.TIMEOUT]] * 6
    assert [bytes(asker.content) for asker in askers] == [b"part" if began else b""] * 6
    assert stopped.is_lost() and server.dialled == []
    after = server.ask()
    server.dialled[0].establish("h2", 100)
    server.served[1].answer(after.path)
    assert after.whole
    assert len(server.seen) == 7, "each once"


def test_goaway_sends_the_next_to_another_connection_and_closes_after_the_last(server: Server) -> None:
    first = server.ask()
    server.served[0].establish("h2", 100)
    server.served[0].go_away()
    second = server.ask()
    server.dialled[0].establish("h2", 100)
    assert second.has_place()
    assert not server.served[0].is_lost()
    server.served[0].answer(first.path)
    assert first.whole and server.served[0].is_lost()
    assert server.pool.connections == 1


def test_a_goaway_before_the_first_settings_fails_who_waits(server: Server) -> None:
    asker = server.ask()
    server.served[0].establish("h2")
    server.served[0].bring(b"\0\0\x08\x07\0\0\0\0\0" + bytes(8))
    assert asker.failures == [Failure.CONNECTION]
    assert len(server.served) == 1


# The end of it.


def test_a_closed_pool_fails_who_waits_and_takes_nobody(server: Server) -> None:
    server.ask()
    server.served[0].establish("h2", 1)
    waiting = server.ask()
    server.pool.close()
    server.move()
    assert waiting.failures == [Failure.CONNECTION]
    assert server.ask().failures == [Failure.CONNECTION]
    assert server.served[0].is_lost()
    assert len(server.pool.coming) == 0
    assert len(server.offline.wheel) == 0


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_a_lost_connection_is_freed_without_a_collection(protocol: str) -> None:
    server = Server()
    gc.collect()
    gc.disable()
    try:
        before = _alive()
        for _ in range(10):
            asker = server.ask()
            server.served[0].establish(protocol, 100)
            server.served[0].answer(asker.path)
            server.served[0].drop()
            server.served.clear()
            asker.side = None
        assert _alive() == before
    finally:
        gc.enable()


def _alive() -> int:
    return sum(type(each) is UpstreamConnection for each in gc.get_objects())


# Everything at any time.


class PoolLife(RuleBasedStateMachine):
    """Requests come and go, and a server does whatever it likes with its connections."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.askers: list[Asker] = []
        self.waiting: dict[Asker, object] = {}

    def pick(self, which: int, candidates: list[Served]) -> Served | None:
        return candidates[which % len(candidates)] if candidates else None

    def alive(self) -> list[Served]:
        return [served for served in self.server.served if served.established and not served.is_lost()]

    @rule(number=st.integers(1, 5))
    def ask(self, number: int) -> None:
        for _ in range(number):
            asker = Asker()
            self.askers.append(asker)
            asker.place = Held(until_head=len(self.askers) % 2 == 0)
            self.waiting[asker] = self.server.pool.open(asker, asker.place)
        self.server.move()

    @rule(which=st.integers(0, 20))
    def leave(self, which: int) -> None:
        present = [asker for asker in self.askers if not asker.over]
        if not present:
            return
        asker = present[which % len(present)]
        asker.left = True
        if asker.side is not None:
            asker.side.cancel()
        else:
            self.waiting[asker].cancel()  # type: ignore[attr-defined]
        self.server.move()

    @precondition(lambda self: self.server.dialled)
    @rule(
        which=st.integers(0, 5),
        protocol=st.sampled_from(["h2", "h2", "http/1.1"]),
        limit=st.sampled_from([0, 1, 2, 3, 100]),
    )
    def establish(self, which: int, protocol: str, limit: int) -> None:
        self.server.dialled[which % len(self.server.dialled)].establish(protocol, limit)

    @precondition(lambda self: self.server.dialled)
    @rule(which=st.integers(0, 5))
    def refuse(self, which: int) -> None:
        self.server.refuse(self.server.dialled[which % len(self.server.dialled)])

    @rule(which=st.integers(0, 5), limit=st.sampled_from([0, 1, 5]))
    def change_the_limit(self, which: int, limit: int) -> None:
        served = self.pick(which, [served for served in self.alive() if served.wire.protocol == "h2"])
        if served is not None:
            served.settle(limit)

    @rule(which=st.integers(0, 5), request=st.integers(0, 5))
    def answer(self, which: int, request: int) -> None:
        served = self.pick(which, [served for served in self.alive() if served.open])
        if served is not None:
            served.answer([*served.open][request % len(served.open)])

    @rule(which=st.integers(0, 5))
    def go_away(self, which: int) -> None:
        served = self.pick(which, [served for served in self.alive() if served.wire.protocol == "h2"])
        if served is not None:
            served.go_away()

    @rule(which=st.integers(0, 5), properly=st.booleans())
    def end(self, which: int, properly: bool) -> None:
        served = self.pick(which, self.alive())
        if served is not None:
            served.close() if properly else served.drop()

    @rule(seconds=st.sampled_from([1, 12, 50]))
    def pass_time(self, seconds: int) -> None:
        self.server.pass_time(seconds)

    @invariant()
    def somebody_is_on_the_way_for_whoever_waits(self) -> None:
        pool = self.server.pool
        assert bool(pool.coming) or not pool.waiting

    @invariant()
    def no_more_connections_come_than_were_ever_needed(self) -> None:
        assert len(self.server.pool.coming) <= max(1, len(self.askers))

    @invariant()
    def nobody_waits_who_has_left(self) -> None:
        waits = sum(asker.side is None and not asker.over for asker in self.askers)
        assert self.server.pool.waiting == waits

    @invariant()
    def each_holds_its_place_from_the_beginning_to_its_head_or_its_end(self) -> None:
        for asker in self.askers:
            heard = asker.place.heard
            assert ("opened" in heard) == (asker.side is not None)
            assert asker.place.is_held == (not asker.over and (asker.status == 0 or heard[-1:] == ["opened"]))

    def teardown(self) -> None:
        """With a server that serves, everybody comes to an end, and then every connection does."""
        for _ in range(1000):
            for served in self.server.dialled:
                served.establish("h2", 100)
            for served in self.alive():
                for path in [*served.open]:
                    served.answer(path)
            if all(asker.over for asker in self.askers):
                break
            self.server.pass_time(1)
        assert all(asker.over for asker in self.askers)
        self.server.pass_time(int(POOLED_TIME) + 20)
        assert self.server.pool.connections == 0
        assert len(self.server.offline.wheel) == 0


PoolLife.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestPoolLife = PoolLife.TestCase

"""What a request holds is told of its way, and given back once, whatever becomes of it (spec 06, the cap)."""

from collections.abc import Callable

import pytest

from foyer.net.health import Health
from foyer.protocol.events import Failure
from tests.net.pools import Asker, Held, Served, Server
from tests.support.raw_frames import OK, data, headers

OPENED = ["opened"]
WHOLE = ["opened", "answered", "closed"]
WITHOUT_ANSWER = ["opened", "closed"]


@pytest.fixture(params=["h2", "http/1.1"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def carried(protocol: str) -> tuple[Server, Served, Asker]:
    """One request on one connection."""
    server = Server()
    asker = server.ask()
    server.served[0].establish(protocol, 100)
    assert asker.place.heard == OPENED
    return server, server.served[0], asker


def begin(served: Served, asker: Asker) -> None:
    """The head of its answer, and a part of the content."""
    if served.wire.protocol == "h2":
        stream = served.open[asker.path]
        served.bring(headers(stream, OK, end=False) + data(stream, b"part"))
    else:
        served.bring(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
    assert asker.status == 200


def test_an_answer_opens_it_answers_it_and_gives_it_back(protocol: str) -> None:
    server, served, asker = carried(protocol)
    server.pass_time(3)
    served.answer(asker.path)
    assert asker.whole
    assert asker.place.heard == WHOLE


def test_it_is_told_when_a_place_was_found(protocol: str) -> None:
    server = Server()
    asker = server.ask()
    server.pass_time(3)
    server.served[0].establish(protocol, 100)
    assert asker.place.opened_at == server.offline.loop.now


def test_a_head_that_is_all_of_it_gives_it_back(protocol: str) -> None:
    _, served, asker = carried(protocol)
    if protocol == "h2":
        served.bring(headers(served.open[asker.path], OK, end=True))
    else:
        served.bring(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert asker.whole
    assert asker.place.heard == WITHOUT_ANSWER


def test_one_that_is_held_until_the_head_hears_of_nothing_behind_it(protocol: str) -> None:
    server = Server()
    asker = Asker()
    asker.place = Held(until_head=True)
    server.pool.open(asker, asker.place)
    server.served[0].establish(protocol, 100)
    begin(server.served[0], asker)
    assert asker.side is not None
    asker.side.cancel()
    server.move()
    assert asker.place.heard == ["opened", "answered"]


def give_up(served: Served, asker: Asker) -> None:
    assert asker.side is not None
    asker.left = True
    asker.side.cancel()
    served.server.move()


def drop(served: Served, asker: Asker) -> None:
    served.drop()


def close(served: Served, asker: Asker) -> None:
    served.close()


@pytest.mark.parametrize("began", [False, True], ids=["before its head", "after its head"])
@pytest.mark.parametrize("end", [drop, close, give_up])
def test_every_other_end_gives_it_back(
    protocol: str, began: bool, end: Callable[[Served, Asker], None]
) -> None:
    _, served, asker = carried(protocol)
    if began:
        begin(served, asker)
    end(served, asker)
    assert asker.over and not asker.whole
    assert asker.place.heard == [*OPENED, *(["answered"] if began else []), "closed"]


def test_an_answer_that_cannot_be_read_gives_it_back(protocol: str) -> None:
    _, served, asker = carried(protocol)
    served.bring(b"\xff" * 64 + b"\r\n\r\n")
    assert asker.failures == [Failure.PROTOCOL]
    assert asker.place.heard == WITHOUT_ANSWER


@pytest.mark.parametrize("began", [False, True], ids=["before its head", "after its head"])
def test_a_reset_gives_it_back(began: bool) -> None:
    _, served, asker = carried("h2")
    if began:
        begin(served, asker)
    served.bring(b"\0\0\x04\x03\0" + served.open[asker.path].to_bytes(4, "big") + bytes(4))
    assert asker.failures == [Failure.RESET]
    assert asker.place.heard[-1] == "closed"


def test_a_goaway_that_has_not_seen_it_gives_it_back() -> None:
    _, served, asker = carried("h2")
    served.bring(b"\0\0\x08\x07\0\0\0\0\0" + bytes(8))
    assert asker.failures == [Failure.GOAWAY]
    assert asker.place.heard == WITHOUT_ANSWER


def test_waiting_for_a_connection_it_is_given_back_by_whoever_leaves_and_once() -> None:
    server = Server()
    asker = Asker()
    waiting = server.pool.open(asker, asker.place)
    waiting.cancel()
    waiting.cancel()
    assert asker.place.heard == ["closed"]
    server.served[0].establish("h2", 100)
    assert asker.side is None


def test_a_wait_that_is_over_gives_nothing_back_a_second_time(protocol: str) -> None:
    server = Server()
    asker = Asker()
    waiting = server.pool.open(asker, asker.place)
    server.served[0].establish(protocol, 100)
    server.served[0].answer(asker.path)
    waiting.cancel()
    assert asker.place.heard == WHOLE


def test_where_no_connection_comes_to_be_all_are_given_back() -> None:
    server = Server()
    askers = [server.ask() for _ in range(3)]
    server.refuse(server.served[0])
    assert [asker.place.heard for asker in askers] == [["closed"]] * 3


def test_a_pool_that_closes_gives_back_what_it_carries_and_what_waits_and_takes_nothing(
    protocol: str,
) -> None:
    server, _, asker = carried(protocol)
    waiting = [server.ask() for _ in range(2)] if protocol == "http/1.1" else []
    server.pool.close()
    server.move()
    late = server.ask()
    assert asker.place.heard == WITHOUT_ANSWER
    assert [each.place.heard for each in [*waiting, late]] == [["closed"]] * (len(waiting) + 1)
    assert late.failures == [Failure.CONNECTION]


# A pool that is left


def test_a_pool_that_is_left_closes_each_connection_as_its_last_exchange_leaves(protocol: str) -> None:
    server, served, asker = carried(protocol)
    begin(served, asker)
    idle = server.ask() if protocol == "http/1.1" else None
    if idle is not None:
        server.dialled[0].establish(protocol, 100)
        server.served[1].answer(idle.path)
    server.pool.leave()
    server.move()
    assert server.ask().failures == [Failure.CONNECTION]
    assert not served.is_lost() and server.pool.connections == 1
    assert asker.side is not None
    asker.left = True
    asker.side.cancel()
    server.move()
    assert served.is_lost() and server.pool.connections == 0
    assert len(server.offline.wheel) == 0


def test_a_pool_that_is_left_while_it_connects_gives_that_up() -> None:
    server = Server()
    asker = server.ask()
    server.pool.leave()
    server.move()
    assert asker.failures == [Failure.CONNECTION]
    assert server.pool.coming == {} and len(server.offline.wheel) == 0


# What is known of the server by it


def test_an_answer_says_that_the_server_is_there_and_what_fails_says_why_it_is_not(protocol: str) -> None:
    server, served, asker = carried(protocol)
    health = server.pool.health
    assert (health.up, health.succeeded_at, health.failed_at) == (None, None, None)
    server.pass_time(2)
    served.answer(asker.path)
    answered_at = server.offline.loop.now
    assert (health.up, health.succeeded_at, health.failed_at) == (True, answered_at, None)
    server.ask()
    server.pass_time(2)
    served.drop()
    assert (health.up, health.failure, health.failed_at) == (False, "connection", answered_at + 2)
    assert health.succeeded_at == answered_at


def test_a_connection_that_cannot_be_had_says_so_and_who_leaves_says_nothing() -> None:
    server = Server()
    asker = Asker()
    server.pool.open(asker, asker.place).cancel()
    assert (server.pool.health.up, server.pool.health.failure) == (None, "")
    server.refuse(server.served[0], Failure.TLS)
    assert (server.pool.health.up, server.pool.health.failure) == (False, "tls")


@pytest.mark.parametrize("failure", [Failure.RESET, Failure.GOAWAY, Failure.TRUNCATED])
def test_what_a_server_says_for_itself_does_not_mark_it_down(failure: Failure) -> None:
    health = Health()
    health.answered(200, 1.0)
    health.failed(failure, 2.0)
    assert (health.up, health.failure, health.failed_at) == (True, failure.value, 2.0)


@pytest.mark.parametrize(("status", "kind"), [(500, "status_500"), (599, "status_599"), (999, "protocol")])
def test_an_answer_from_500_is_no_success_and_its_server_is_up(status: int, kind: str) -> None:
    health = Health()
    health.failed(Failure.CONNECTION, 1.0)
    health.answered(status, 2.0)
    assert (health.up, health.succeeded_at, health.failure, health.failed_at) == (True, None, kind, 2.0)
    health.answered(499, 3.0)
    assert (health.up, health.succeeded_at, health.failed_at) == (True, 3.0, 2.0)

"""What foyer itself cuts short: the responses of a session that ended, and those open at shutdown.

Spec 04, Abort: never a clean end, and upstream is cancelled in the same turn (A3 for native watches).
"""

import pytest

from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Pairing, SignedIn
from tests.support.script import Aborted
from tests.support.upstreams import Request

WATCH = "/k8s/api/v1/namespaces/n/pods?watch=1"


def watching(pairing: Pairing, person: SignedIn) -> tuple[Exchange, Request]:
    """A watch that has brought an event, on a connection of its own."""
    exchange = pairing.connect().request("GET", WATCH, person.fields)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    request.send(b"event\n")
    assert exchange.read_exactly(6) == b"event\n"
    return exchange, request


def assert_cut(exchange: Exchange, request: Request, content: bytes = b"event\n") -> None:
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert (outcome.content, outcome.cut_short) == (content, True)
    request.expect_cancelled()


def log_out(pairing: Pairing, person: SignedIn) -> None:
    exchange = pairing.connect().request("POST", "/auth/logout", person.change)
    assert exchange.read_head()[0] == 204


def test_a_logout_cuts_what_the_session_has_open_and_nothing_of_anybody_elses(pairing: Pairing) -> None:
    someone = pairing.signed_in()
    mine = [watching(pairing, pairing.me) for _ in range(3)]
    theirs = [watching(pairing, someone) for _ in range(3)]
    log_out(pairing, pairing.me)
    for exchange, request in mine:
        assert_cut(exchange, request)
    for exchange, request in theirs:
        request.send(b"more\n")
        assert exchange.read_exactly(5) == b"more\n"
        request.end()
        assert exchange.read_until_end().content == b"event\nmore\n"
    lines = pairing.logged("response cut short")
    assert [line["cause"] for line in lines] == ["session_ended"] * 3


def test_a_logout_cuts_a_response_that_the_browser_does_not_read(pairing: Pairing) -> None:
    exchange, request = watching(pairing, pairing.me)
    exchange.browser.stop_reading()
    request.send(bytes(10_000_000))
    pairing.script.until_still()
    log_out(pairing, pairing.me)
    request.expect_cancelled()
    exchange.browser.go_on_reading()
    assert isinstance(exchange.read_until_end(), Aborted)


def test_a_logout_cuts_a_request_that_has_no_answer_yet(pairing: Pairing) -> None:
    exchange = pairing.get(WATCH)
    request = pairing.upstream.expect()
    log_out(pairing, pairing.me)
    assert isinstance(exchange.read_until_end(), Aborted)
    assert exchange.status == 0
    request.expect_cancelled()


def test_a_copied_cookie_opens_responses_after_the_logout(pairing: Pairing) -> None:
    log_out(pairing, pairing.me)
    exchange, request = watching(pairing, pairing.me)
    request.end()
    assert exchange.read_until_end().content == b"event\n"


def test_a_shutdown_aborts_what_is_still_open(own_pairing: Pairing) -> None:
    pairing = own_pairing
    exchange, request = watching(pairing, pairing.me)
    unanswered = pairing.connect().request("GET", WATCH, pairing.me.fields)
    unanswered_request = pairing.upstream.expect()
    stopped = pairing.product.stop_serving()
    assert_cut(exchange, request)
    assert isinstance(unanswered.read_until_end(), Aborted)
    unanswered_request.expect_cancelled()
    pairing.product.pass_time(2)  # for connections that linger
    pairing.script.until(stopped.done, "foyer to stop")
    stopped.result()


def test_a_shutdown_lets_what_ends_in_time_end(own_pairing: Pairing) -> None:
    pairing = own_pairing
    exchange, request = watching(pairing, pairing.me)
    stopped = pairing.product.stop_serving(drain=60.0)
    pairing.logged("draining")
    request.send(b"last\n")
    request.end()
    assert exchange.read_until_end().content == b"event\nlast\n"
    pairing.product.pass_time(2)  # for connections that linger
    pairing.script.until(stopped.done, "foyer to stop")
    stopped.result()


# foyer's own faults


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_fault_while_a_request_is_judged_is_an_abort_and_leaves_nothing_open(
    pairing: Pairing, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    pairing.fault_expected = True
    with monkeypatch.context() as broken:
        broken.setattr("foyer.front.front.request_head", _fault)
        exchange = pairing.connect().request(method, WATCH, pairing.me.change, b"{}")
        assert isinstance(exchange.read_until_end(), Aborted)
    assert pairing.logged("internal error")[0]["error"] == "ZeroDivisionError"
    assert [line["cause"] for line in pairing.logged("response cut short")] == ["internal"]
    pairing.script.until(lambda: pairing.product.open_exchanges == 0, "the exchange to be closed")


def test_a_fault_with_a_response_ends_it_and_none_of_its_neighbours(
    pairing: Pairing, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairing.fault_expected = True
    neighbour, neighbours_request = watching(pairing, pairing.me)
    exchange = pairing.connect().request("GET", WATCH, pairing.me.fields)
    request = pairing.upstream.expect()
    with monkeypatch.context() as broken:
        broken.setattr("foyer.front.door.incoming", _fault)
        request.respond(200, JSON)
        assert isinstance(exchange.read_until_end(), Aborted)
    request.expect_cancelled()
    neighbours_request.send(b"more\n")
    assert neighbour.read_exactly(5) == b"more\n"


def _fault(*arguments: object) -> None:
    raise ZeroDivisionError

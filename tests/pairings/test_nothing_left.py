"""What is over is freed as it is over, not when Python next collects garbage (spec 04, The rehearsal).

A connection is 18 KiB of TLS, and over HTTP/2 its tables beside that: after a mass of endings all of it would
wait for a collection, which nothing hastens.
"""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from foyer.exchange.exchange import Exchange
from foyer.gate.admission import Admission
from foyer.net.browser import BrowserConnection
from foyer.net.side import BrowserSide, UpstreamSide
from foyer.net.whole import _Call
from foyer.protocol.machine import Machine
from tests.pairings.test_cuts import assert_cut, log_out, watching
from tests.pairings.test_whoami import answered, review
from tests.support.pairings import JSON, Pairing

KINDS = (Admission, BrowserConnection, BrowserSide, Exchange, Machine, UpstreamSide, _Call)


def alive() -> Counter[str]:
    """What there is of which an exchange is made."""
    return Counter(type(each).__name__ for each in gc.get_objects() if type(each) in KINDS)


@contextmanager
def nothing_left(pairing: Pairing) -> Iterator[None]:
    """Once everybody has left there is no more than before, without a collection."""
    gc.collect()
    gc.disable()
    try:
        before = alive()
        yield
        pairing.leave()
        pairing.script.until(lambda: not alive() - before, "everything to be freed")
    finally:
        gc.enable()


def test_nothing_is_left_of_whole_answers(pairing: Pairing) -> None:
    with nothing_left(pairing):
        for _ in range(3):
            exchange = pairing.get("/k8s/api")
            request = pairing.upstream.expect()
            request.respond(200, JSON)
            request.send(b"{}")
            request.end()
            assert exchange.read_until_end().content == b"{}"


def test_nothing_is_left_of_responses_that_a_logout_cut(pairing: Pairing) -> None:
    with nothing_left(pairing):
        cut = [watching(pairing, pairing.me) for _ in range(3)]
        log_out(pairing, pairing.me)
        for exchange, request in cut:
            assert_cut(exchange, request)


def test_nothing_is_left_of_responses_that_their_browser_left(pairing: Pairing) -> None:
    with nothing_left(pairing):
        left = [watching(pairing, pairing.me) for _ in range(3)]
        for exchange, request in left:
            exchange.browser.close()
            request.expect_cancelled()


def test_nothing_is_left_of_a_refusal(pairing: Pairing) -> None:
    with nothing_left(pairing):
        assert pairing.get("/k8s/api/../secret").read_head()[0] == 400
        assert pairing.connect().request("GET", "/k8s/api").read_head()[0] == 401


def test_nothing_is_left_of_what_foyer_asked_for_itself(pairing: Pairing) -> None:
    with nothing_left(pairing):
        for _ in range(3):
            assert answered(pairing, 201, review({"username": "ada"})).read_head()[0] == 200

"""How much a session, and all of them, may ask for (spec 04, Rate, Concurrency): what passes, what is
refused before anything is sent, and that every ending makes room.
"""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.pairings.counts import Counted
from tests.support.browsers import SMALL, Exchange
from tests.support.leaks import Leaks
from tests.support.pairings import JSON, TEXT, Pairing, Products, SignedIn
from tests.support.script import Aborted, Fields, Whole
from tests.support.upstreams import Request

PODS = "/k8s/api/v1/pods"
LOG = "/k8s/api/v1/namespaces/n/pods/p/log?follow=true"
DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document")]

BYTES = 16 * 1024 * 1024
"""More than loopback's sockets hold of a stalled response."""

FEW: dict[str, str] = {
    "max-session-concurrent-requests": "2",
    "max-concurrent-requests": "3",
    "max-response-duration": "10s",
    "max-response-bytes": str(BYTES),
    "response-write-timeout": "5s",
}

SLOW: dict[str, str] = {"session-request-rate": "0.5", "session-request-burst": "3"}

few = pytest.mark.parametrize("flags", [FEW], ids=["few at once"])
slow = pytest.mark.parametrize("flags", [SLOW], ids=["few a second"])


def ask(
    pairing: Pairing,
    person: SignedIn | None = None,
    target: str = LOG,
    *,
    receive_buffer: int | None = None,
) -> Exchange:
    """A request on a connection of its own."""
    browser = pairing.connect(receive_buffer=receive_buffer)
    return browser.request("GET", target, (person or pairing.me).fields)


def opened(
    pairing: Pairing, person: SignedIn | None = None, *, receive_buffer: int | None = None
) -> tuple[Exchange, Request]:
    """One that has a slot, and reached the upstream."""
    exchange = ask(pairing, person, receive_buffer=receive_buffer)
    return exchange, pairing.upstream.expect()


def assert_refused(pairing: Pairing, exchange: Exchange, reason: str, bound: str, limit: str) -> None:
    """Before anything was sent, with the bound's name in the Status and in the log."""
    content = exchange.read_until_end().content
    assert exchange.status == 429
    assert exchange.all("krm-foyer-interruption") == [reason.encode()]
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("x-content-type-options") == [b"nosniff"]
    status = json.loads(content)
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 429, reason)
    assert status["details"]["causes"] == [{"reason": "BoundReached", "field": bound, "message": limit}]
    pairing.upstream.expect_nothing()


# Concurrency


@few
def test_a_sessions_limit_th_passes_and_the_next_is_refused_before_anything_is_sent(pairing: Pairing) -> None:
    counted = Counted(pairing)
    held = [opened(pairing) for _ in range(2)]
    refused = ask(pairing)
    assert_refused(pairing, refused, "TooManyConcurrentRequests", "session_concurrent_requests", "2")
    assert refused.all("retry-after") == [], "nobody knows when one will end"
    [line] = pairing.logged("refused")
    told = [line[name] for name in ("by", "user", "route", "method", "path", "reason")]
    assert told == [
        "foyer",
        "ada@example.test",
        "/k8s",
        "GET",
        LOG.partition("?")[0],
        "TooManyConcurrentRequests",
    ]
    assert counted.in_flight == 2
    for exchange, request in held:
        request.answer(200, TEXT, b"line")
        assert exchange.read_until_end() == Whole(b"line")
    counted.expect(
        {("reached", "session_concurrent_requests"): 1, ("interrupted", "TooManyConcurrentRequests"): 1}
    )
    assert counted.moved("used") == {
        ("used", "session_request_burst"): 2,
        ("used", "session_concurrent_requests"): 2,
        ("used", "concurrent_requests"): 2,
        ("used", "response_duration"): 2,
        ("used", "response_bytes"): 2,
    }


@few
def test_the_replicas_limit_is_everybodys(pairing: Pairing) -> None:
    counted = Counted(pairing)
    someone, someone_else = pairing.signed_in(), pairing.signed_in()
    held = [opened(pairing), opened(pairing), opened(pairing, someone)]
    assert_refused(
        pairing, ask(pairing, someone_else), "TooManyConcurrentRequests", "concurrent_requests", "3"
    )
    held[0][1].answer(200, TEXT, b"line")
    assert held[0][0].read_until_end() == Whole(b"line")
    pairing.script.until(lambda: counted.in_flight == 2, "the slot to be free")
    held.append(opened(pairing, someone_else))
    for _, request in held[1:]:
        request.answer(200, TEXT, b"line")
    counted.expect({("reached", "concurrent_requests"): 1, ("interrupted", "TooManyConcurrentRequests"): 1})


@few
def test_a_person_who_navigates_gets_the_refusal_as_a_page(pairing: Pairing) -> None:
    held = [opened(pairing) for _ in range(2)]
    exchange = pairing.connect().request("GET", PODS, [*pairing.me.fields, *DOCUMENT])
    page = exchange.read_until_end().content
    assert (exchange.status, exchange.all("krm-foyer-interruption")) == (429, [b"TooManyConcurrentRequests"])
    assert page.lower().startswith(b"<!doctype html>")
    assert b"session_concurrent_requests" in page
    for _, request in held:
        request.answer(200, TEXT, b"")


@few
@pytest.mark.parametrize("target", ["/auth/whoami", "/auth/check?identity=true", "/_foyer/access"])
def test_whatever_asks_the_api_server_as_somebody_needs_a_slot(pairing: Pairing, target: str) -> None:
    held = [opened(pairing) for _ in range(2)]
    refused = ask(pairing, target=target)
    assert_refused(pairing, refused, "TooManyConcurrentRequests", "session_concurrent_requests", "2")
    for _, request in held:
        request.answer(200, TEXT, b"")


@few
def test_what_asks_the_api_server_nothing_needs_none(pairing: Pairing) -> None:
    held = [opened(pairing) for _ in range(2)]
    for target, status in (("/auth/session", 200), ("/auth/check", 204), ("/healthz", 200)):
        assert ask(pairing, target=target).read_head()[0] == status
    assert pairing.connect().request("POST", "/auth/logout", pairing.me.change).read_head()[0] == 204
    for exchange, request in held:
        request.expect_cancelled()
        assert isinstance(exchange.read_until_end(), Aborted)


# Every ending makes room

Ending = Callable[[Pairing, Exchange, Request], None]


def completes(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    request.answer(200, TEXT, b"line")
    assert exchange.read_until_end() == Whole(b"line")


def is_refused_by_kubernetes(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    request.answer(403, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def loses_its_browser(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    exchange.reset()
    request.expect_cancelled()


def loses_its_browser_in_the_answer(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    begins(exchange, request)
    loses_its_browser(pairing, exchange, request)


def outlives_its_session(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    assert pairing.connect().request("POST", "/auth/logout", pairing.me.change).read_head()[0] == 204
    is_cut(exchange, request)


def lasts_too_long(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    begins(exchange, request)
    pairing.product.pass_time(11)
    is_cut(exchange, request)


def is_too_large(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    request.respond(200, TEXT)
    request.send(bytes(BYTES + 1))
    is_cut(exchange, request)


def is_known_to_be_too_large(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    request.respond(200, [*TEXT, (b"content-length", b"%d" % (BYTES + 1))])
    exchange.read_until_end()
    assert exchange.status == 502
    request.expect_cancelled()


def is_held_back(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    request.respond(200, [(b"content-type", b"text/html")])
    exchange.read_until_end()
    assert exchange.status == 502


def gets_no_answer(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    request.reset()
    exchange.read_until_end()
    assert exchange.status == 502


def loses_its_upstream(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    begins(exchange, request)
    request.reset()
    assert isinstance(exchange.read_until_end(), Aborted)


def is_not_read(pairing: Pairing, exchange: Exchange, request: Request) -> None:
    begins(exchange, request)
    exchange.browser.stop_reading()
    request.send(bytes(BYTES - 100))
    pairing.script.until_still()
    pairing.product.pass_time(8)
    request.expect_cancelled()


def begins(exchange: Exchange, request: Request) -> None:
    request.respond(200, TEXT)
    request.send(b"line\n")
    assert exchange.read_exactly(5) == b"line\n"


def is_cut(exchange: Exchange, request: Request) -> None:
    assert isinstance(exchange.read_until_end(), Aborted)
    request.expect_cancelled()


ENDINGS: list[Ending] = [
    completes,
    is_refused_by_kubernetes,
    loses_its_browser,
    loses_its_browser_in_the_answer,
    outlives_its_session,
    lasts_too_long,
    is_too_large,
    is_known_to_be_too_large,
    is_held_back,
    gets_no_answer,
    loses_its_upstream,
    is_not_read,
]


@few
@pytest.mark.parametrize("ending", ENDINGS)
def test_its_slot_is_free_once_a_response(pairing: Pairing, ending: Ending) -> None:
    counted = Counted(pairing)
    exchange, request = opened(pairing, receive_buffer=SMALL)
    other, other_request = opened(pairing)
    assert ask(pairing).read_head()[0] == 429
    ending(pairing, exchange, request)
    pairing.script.until(lambda: counted.in_flight < 2, "the slot to be free")
    third, third_request = opened(pairing)
    third_request.answer(200, TEXT, b"line")
    assert third.read_until_end() == Whole(b"line")
    if not other.outcome and other_request.cancelled is None:
        other_request.answer(200, TEXT, b"line")
        assert other.read_until_end() == Whole(b"line")
    pairing.script.until(lambda: counted.in_flight == 0, "the others' slots to be free")


@pytest.fixture
def own_pairing(
    browser_version: str, upstream_version: str, tls: bool, products: Products
) -> Iterator[Pairing]:
    """A pairing whose foyer the test stops."""
    product = products.start(upstream_version, tls, FEW)
    pairing = Pairing(browser_version, products.upstream(upstream_version), product, Leaks(), tls=tls)
    yield pairing
    pairing.leave()
    pairing.check_leaks()
    product.close()


def test_a_shutdown_frees_every_slot(own_pairing: Pairing) -> None:
    pairing = own_pairing
    counted = Counted(pairing)
    held = [opened(pairing), opened(pairing)]
    begins(*held[0])
    stopped = pairing.product.stop_serving()
    for exchange, request in held:
        is_cut(exchange, request)
    pairing.product.pass_time(2)  # for connections that linger
    pairing.script.until(stopped.done, "foyer to stop")
    assert counted.in_flight == 0
    assert counted.moved("cut short", "interrupted", "reached") == {("cut short", "shutdown"): 2}


# The rate


def answered(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@slow
def test_past_its_burst_a_session_is_told_when_to_come_back_and_then_passes(pairing: Pairing) -> None:
    counted = Counted(pairing)
    for _ in range(3):
        answered(pairing)
    refused = pairing.get(PODS)
    assert_refused(pairing, refused, "RequestRateExceeded", "session_request_burst", "3")
    [wait] = refused.all("retry-after")
    assert wait in (b"1", b"2")
    [line] = pairing.logged("refused")
    assert (line["by"], line["reason"]) == ("foyer", "RequestRateExceeded")
    counted.expect({("reached", "session_request_burst"): 1, ("interrupted", "RequestRateExceeded"): 1})
    assert counted.moved("used")["used", "session_request_burst"] == 3
    pairing.product.pass_time(int(wait))
    answered(pairing)


@slow
def test_a_change_is_refused_unsent_and_can_be_sent_again(pairing: Pairing) -> None:
    for _ in range(3):
        answered(pairing)
    refused = pairing.post(PODS, JSON, b"{}")
    assert_refused(pairing, refused, "RequestRateExceeded", "session_request_burst", "3")
    pairing.product.pass_time(2)
    exchange = pairing.connect().request("POST", PODS, [*pairing.me.change, *JSON], b"{}")
    request = pairing.upstream.expect()
    assert request.read_until_end() == b"{}"
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@slow
def test_anothers_requests_and_those_that_are_nobodys_are_not_counted(pairing: Pairing) -> None:
    """What costs nothing but an answer does not spend what somebody has, so nobody can spend another's."""
    for _ in range(10):
        assert pairing.browser.request("GET", PODS, []).read_head()[0] == 401
        assert pairing.browser.request("DELETE", PODS, pairing.me.fields).read_head()[0] == 403
        assert pairing.get("/k8s//api").read_head()[0] == 400
        assert pairing.get("/auth/session").read_head()[0] == 200
    for _ in range(3):
        answered(pairing)
    someone = pairing.signed_in()
    exchange = pairing.browser.request("GET", PODS, someone.fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@slow
def test_a_copy_of_the_cookie_draws_on_the_same_rate(pairing: Pairing) -> None:
    for _ in range(3):
        answered(pairing)
    assert ask(pairing, target=PODS).read_head()[0] == 429


@slow
@pytest.mark.parametrize("target", ["/auth/whoami", "/auth/check?identity=true", "/_foyer/access"])
def test_all_that_asks_the_api_server_draws_on_it(pairing: Pairing, target: str) -> None:
    for _ in range(3):
        answered(pairing)
    refused = pairing.get(target)
    assert_refused(pairing, refused, "RequestRateExceeded", "session_request_burst", "3")
    assert len(refused.all("retry-after")) == 1


@slow
def test_a_navigation_past_the_rate_gets_a_page_that_says_when(pairing: Pairing) -> None:
    for _ in range(3):
        answered(pairing)
    exchange = pairing.get(PODS, DOCUMENT)
    page = exchange.read_until_end().content
    assert (exchange.status, len(exchange.all("retry-after"))) == (429, 1)
    assert page.lower().startswith(b"<!doctype html>")

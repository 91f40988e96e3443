"""The two limits that come before anything is asked, over sockets (spec 06, Overload; the seed's first two).

How many requests a replica serves at once, and how fast one person may ask.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Pairing, Products, SignedIn
from tests.support.script import Aborted, Fields, Whole
from tests.support.upstreams import Request

PODS = "/k8s/api/v1/pods"
WATCH = "/k8s/api/v1/pods?watch=true"
STREAM = "/stream/v1?version=v1&resource=configmaps&namespace=n"
DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document")]

FULL: dict[str, str] = {"max-server-requests": "2", "overload-retry-after": "2500ms"}
SLOW: dict[str, str] = {"user-request-rate": "0.5", "user-request-burst": "3"}

two_at_once = pytest.mark.parametrize("flags", [FULL], ids=["two at once"])
slow = pytest.mark.parametrize("flags", [SLOW], ids=["few a second"])


def ask(
    pairing: Pairing, target: str = PODS, person: SignedIn | None = None, method: str = "GET"
) -> Exchange:
    """A request on a connection of its own; without a `person`, nobody's."""
    return pairing.connect().request(method, target, person.fields if person else [])


def watching(pairing: Pairing) -> tuple[Exchange, Request]:
    """A response that has begun and goes on."""
    exchange = ask(pairing, WATCH, pairing.me)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    request.send(b"{}\n")
    assert exchange.read_exactly(3) == b"{}\n"
    return exchange, request


@contextmanager
def served(pairing: Pairing) -> Iterator[None]:
    """As many at once as may be: an open response, and a stream."""
    watch, request = watching(pairing)
    stream = ask(pairing, STREAM, pairing.me)
    listing = pairing.upstream.expect()
    assert stream.read_head()[0] == 200
    yield
    for exchange, upstream in ((watch, request), (stream, listing)):
        exchange.reset()
        upstream.expect_cancelled()


def refusals(pairing: Pairing) -> dict[str, int]:
    return pairing.product.ask(lambda: dict(pairing.product.measures.overload_refusals))


def assert_turned_away(pairing: Pairing, exchange: Exchange, reason: str, limit: str, value: str) -> None:
    content = exchange.read_until_end().content
    status = json.loads(content)
    assert (exchange.status, status["reason"]) == (status["code"], reason)
    assert exchange.all("krm-foyer-interruption") == [reason.encode()]
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("x-content-type-options") == [b"nosniff"]
    assert exchange.all("retry-after") == [b"%d" % status["details"]["retryAfterSeconds"]]
    assert status["details"]["causes"] == [{"reason": "LimitReached", "field": limit, "message": value}]
    pairing.upstream.expect_nothing()


def assert_logged(pairing: Pairing, reason: str, limit: str, times: int) -> None:
    """At WARN with its limit, and nothing of the request."""
    lines = pairing.logged("limit reached")
    for line in lines:
        del line["time"]
    assert lines == times * [{"level": "warn", "msg": "limit reached", "reason": reason, "limit": limit}]


# Server-wide concurrency


@two_at_once
def test_one_more_than_may_be_open_at_once_is_refused_whoever_asks_for_whatever(pairing: Pairing) -> None:
    before = refusals(pairing)["concurrency"]
    with served(pairing):
        others = [
            ask(pairing, PODS, pairing.me),
            ask(pairing, STREAM, pairing.signed_in()),
            ask(pairing, PODS),
            ask(pairing, "/"),
            ask(pairing, "/auth/login"),
            ask(pairing, "/_foyer/dependencies"),
            ask(pairing, "/nothing/here"),
            ask(pairing, "/k8s//api", method="DELETE"),
        ]
        for exchange in others:
            assert_turned_away(pairing, exchange, "Overloaded", "concurrency", "2")
            assert exchange.all("retry-after") == [b"3"], "whole seconds, rounded up"
        assert refusals(pairing)["concurrency"] - before == len(others)
        assert_logged(pairing, "Overloaded", "concurrency", len(others))


@two_at_once
def test_a_probe_is_answered_however_full_it_is(pairing: Pairing) -> None:
    with served(pairing):
        for _ in range(3):
            assert ask(pairing, "/healthz").read_head()[0] == 200
            assert ask(pairing, "/readyz?verbose").read_head()[0] == 503, "its issuer was never discovered"
            assert ask(pairing, "/readyz").all("krm-foyer-interruption") == []
    assert "limit reached" not in [line["msg"] for line in pairing.log]


@two_at_once
def test_a_connection_goes_on_after_a_refusal_and_is_served_when_there_is_room(pairing: Pairing) -> None:
    browser = pairing.connect()
    with served(pairing):
        for _ in range(3):
            exchange = browser.request("GET", PODS, pairing.me.fields)
            assert_turned_away(pairing, exchange, "Overloaded", "concurrency", "2")
    pairing.script.until(lambda: pairing.product.open_exchanges == 0, "room")
    exchange = browser.request("GET", PODS, pairing.me.fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@two_at_once
def test_a_change_too_many_is_refused_before_its_content_and_can_be_sent_again(pairing: Pairing) -> None:
    with served(pairing):
        exchange = pairing.connect().request("POST", PODS, [*pairing.me.change, *JSON], b"{}", end=False)
        assert_turned_away(pairing, exchange, "Overloaded", "concurrency", "2")
    pairing.script.until(lambda: pairing.product.open_exchanges == 0, "room")
    exchange = pairing.connect().request("POST", PODS, [*pairing.me.change, *JSON], b"{}")
    request = pairing.upstream.expect()
    assert request.read_until_end() == b"{}"
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@two_at_once
def test_a_head_too_many_has_the_refusals_fields_and_no_content(pairing: Pairing) -> None:
    with served(pairing):
        exchange = ask(pairing, PODS, pairing.me, method="HEAD")
        assert exchange.read_until_end() == Whole(b"")
        assert (exchange.status, exchange.all("krm-foyer-interruption")) == (503, [b"Overloaded"])
        assert exchange.all("retry-after") == [b"3"]


@two_at_once
def test_a_person_who_navigates_is_told_as_code_is_for_nothing_of_theirs_is_read(pairing: Pairing) -> None:
    with served(pairing):
        exchange = pairing.connect().request("GET", PODS, [*pairing.me.fields, *DOCUMENT])
        assert_turned_away(pairing, exchange, "Overloaded", "concurrency", "2")


@two_at_once
def test_a_session_that_nobody_could_open_is_not_looked_at(pairing: Pairing) -> None:
    with served(pairing):
        exchange = pairing.connect().request("GET", PODS, [(b"Cookie", pairing.me.cookie + b"broken")])
        assert_turned_away(pairing, exchange, "Overloaded", "concurrency", "2")


@two_at_once
def test_each_way_to_end_makes_room(pairing: Pairing) -> None:
    watch, request = watching(pairing)
    _, other_request = watching(pairing)
    assert ask(pairing, PODS, pairing.me).read_head()[0] == 503
    request.end()
    assert isinstance(watch.read_until_end(), Whole)
    watch, request = watching(pairing)
    assert ask(pairing, PODS, pairing.me).read_head()[0] == 503
    request.reset()
    assert isinstance(watch.read_until_end(), Aborted)
    watch, request = watching(pairing)
    assert ask(pairing, PODS, pairing.me).read_head()[0] == 503
    watch.reset()
    request.expect_cancelled()
    pairing.script.until(lambda: pairing.product.open_exchanges == 1, "room")
    watching(pairing)[1].end()
    other_request.end()


LIMITS = {"max-server-requests": "3", "overload-retry-after": "9s", "user-request-rate": "5"}


def test_a_reload_refuses_a_zero_by_name_and_leaves_a_change_for_a_restart(
    browser_version: str, products: Products
) -> None:
    product = products.start("h2", True, dict(FULL))
    pairing = products.pairing(browser_version, "h2", product)
    for name, value in LIMITS.items():
        before = product.flags.get(name)
        product.flags[name] = "0"
        product.reload()
        line = pairing.logged("configuration refused")[-1]
        assert line["flag"] == f"-{name}"
        product.flags[name] = value
        product.reload()
        line = pairing.logged("restart needed")[-1]
        assert line["flag"] == f"-{name}"
        product.flags[name] = before or value
    with served(pairing):
        exchange = ask(pairing, PODS, pairing.me)
        assert_turned_away(pairing, exchange, "Overloaded", "concurrency", "2")
    pairing.leave()
    product.stop()


# The rate of one person


def answered(pairing: Pairing, person: SignedIn) -> None:
    exchange = ask(pairing, PODS, person)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def spend(pairing: Pairing, subject: str) -> SignedIn:
    """A person whose bucket is empty, which each of these tests has one of its own for."""
    person = pairing.signed_in(subject=subject)
    for _ in range(3):
        answered(pairing, person)
    return person


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    """Nobody that another test knows: one foyer serves them all, and buckets refill slowly."""
    return str(request.node.nodeid)


@slow
def test_a_person_past_their_rate_is_told_when_to_come_back_in_each_of_their_sessions(
    pairing: Pairing, subject: str
) -> None:
    before = refusals(pairing)["caller-rate"]
    person = spend(pairing, subject)
    for session in (person, pairing.signed_in(subject=subject)):
        refused = ask(pairing, PODS, session)
        assert_turned_away(pairing, refused, "UserRateExceeded", "caller-rate", "0.5")
        assert refused.all("retry-after")[0] in (b"1", b"2")
    assert refusals(pairing)["caller-rate"] - before == 2
    assert_logged(pairing, "UserRateExceeded", "caller-rate", 2)
    pairing.product.pass_time(2)
    answered(pairing, pairing.signed_in(subject=subject))


@slow
def test_the_person_is_who_the_session_says_and_never_an_address(pairing: Pairing, subject: str) -> None:
    person = spend(pairing, subject)
    for name in (b"X-Forwarded-For", b"Forwarded", b"X-Real-IP"):
        fields = [*person.fields, (name, b"192.0.2.7")]
        refused = pairing.connect().request("GET", PODS, fields)
        assert_turned_away(pairing, refused, "UserRateExceeded", "caller-rate", "0.5")
    answered(pairing, pairing.signed_in(subject=subject + "'s neighbour"))
    answered(pairing, pairing.signed_in(subject=subject, issuer="https://another.test"))


@slow
@pytest.mark.parametrize(
    "target", [STREAM, "/auth/whoami", "/auth/check?identity=true", "/_foyer/access", PODS]
)
def test_whatever_holds_a_place_at_the_gate_is_charged(pairing: Pairing, subject: str, target: str) -> None:
    person = spend(pairing, subject)
    refused = ask(pairing, target, person)
    assert_turned_away(pairing, refused, "UserRateExceeded", "caller-rate", "0.5")


@slow
def test_what_has_no_session_or_holds_no_place_is_never_charged(pairing: Pairing, subject: str) -> None:
    person = spend(pairing, subject)
    for _ in range(5):
        assert ask(pairing, PODS).read_head()[0] == 401
        assert ask(pairing, "/healthz").read_head()[0] == 200
        assert ask(pairing, "/").read_head()[0] == 200
        assert ask(pairing, "/auth/session", person).read_head()[0] == 200
        assert ask(pairing, "/auth/check", person).read_head()[0] == 204
    assert "limit reached" not in [line["msg"] for line in pairing.log]
    assert pairing.connect().request("POST", "/auth/logout", person.change).read_head()[0] == 204


@slow
def test_a_person_who_navigates_past_their_rate_gets_a_page_that_says_when(
    pairing: Pairing, subject: str
) -> None:
    person = spend(pairing, subject)
    exchange = pairing.connect().request("GET", PODS, [*person.fields, *DOCUMENT])
    page = exchange.read_until_end().content
    assert (exchange.status, len(exchange.all("retry-after"))) == (429, 1)
    assert page.lower().startswith(b"<!doctype html>")
    assert b"caller-rate" in page


def test_without_a_rate_nobody_is_held_to_one(pairing: Pairing, subject: str) -> None:
    person = pairing.signed_in(subject=subject)
    for _ in range(30):
        answered(pairing, person)

"""How much is at one target at once, over sockets (spec 06, Overload, Per-target cap)."""

import json

import pytest

from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Entries, Pairing
from tests.support.remains import OF_EXCHANGES, left
from tests.support.script import Fields, Whole
from tests.support.streams import STREAM, SYNCED, Page, line, unheard_of
from tests.support.upstreams import H1Upstream, H2Upstream, Request

PODS = "/k8s/api/v1/pods"
AT_US = "/targets/us/k8s/api/v1/pods"
SLOTS = 2
TIMEOUT = 8
"""Seconds, below what a review may take."""


@pytest.fixture
def targets() -> Entries:
    return {"eu": {}, "us": {}}


@pytest.fixture
def flags() -> dict[str, str]:
    # The gate of reads would hold what comes before the cap, which is what is looked at here.
    return {
        "max-target-in-flight": str(SLOTS),
        "target-timeout": f"{TIMEOUT}s",
        "admission-wait": "7s",
        "max-target-answer-bytes": "100KiB",
    }


def asked(pairing: Pairing, target: str = PODS, fields: Fields | None = None) -> Exchange:
    """A change, which passes no gate of reads, on a connection of its own."""
    return pairing.connect().request("DELETE", target, [*pairing.me.change, *(fields or [])])


def filled(
    pairing: Pairing, upstream: H1Upstream | H2Upstream | None = None, target: str = PODS
) -> list[tuple[Exchange, Request]]:
    """As many requests as there are slots, none of them answered."""
    upstream = upstream or pairing.upstream
    return [(asked(pairing, target), upstream.expect()) for _ in range(SLOTS)]


def waiting(pairing: Pairing, count: int, name: str = "eu") -> None:
    cap = pairing.product.target(name)._cap
    pairing.script.until(lambda: pairing.product.ask(lambda: cap.waiting) == count, f"{count} to wait")


def assert_full(exchange: Exchange) -> None:
    exchange.read_until_end()
    assert exchange.status == 504
    assert exchange.all("krm-foyer-interruption") == [b"TargetTimeout"]
    assert json.loads(exchange.content)["reason"] == "TargetTimeout"


def refused(pairing: Pairing, name: str = "eu") -> int:
    return pairing.product.measures.targets[name].refused


def finish(pairing: Pairing, requests: list[tuple[Exchange, Request]]) -> None:
    for exchange, request in requests:
        request.answer(200, JSON, b"{}")
        assert exchange.read_until_end() == Whole(b"{}")
    pairing.script.until(
        lambda: pairing.product.ask(lambda: left(pairing.product._foyer, OF_EXCHANGES)) == {}, "a rest"
    )


def test_one_more_waits_until_a_head_has_come_and_is_sent_then(pairing: Pairing) -> None:
    first, second = filled(pairing)
    more = asked(pairing)
    waiting(pairing, 1)
    pairing.upstream.expect_nothing()
    measures = pairing.product.measures.targets["eu"]
    assert pairing.product.ask(measures.in_flight) == SLOTS
    first[1].respond(200, JSON)
    request = pairing.upstream.expect()
    first[1].send(b"{}")
    first[1].end()
    assert first[0].read_until_end() == Whole(b"{}")
    finish(pairing, [second, (more, request)])
    assert pairing.product.ask(measures.in_flight) == 0


def test_they_go_in_the_order_they_came(pairing: Pairing) -> None:
    requests = filled(pairing)
    later = []
    for number in range(4):
        later.append(asked(pairing, f"{PODS}?number={number}"))
        waiting(pairing, number + 1)
    for number, exchange in enumerate(later):
        holder, request = requests.pop(0)
        finish_one(holder, request)
        request = pairing.upstream.expect()
        assert request.target.endswith(b"=%d" % number)
        requests.append((exchange, request))
    finish(pairing, requests)


def finish_one(exchange: Exchange, request: Request) -> None:
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_a_read_that_waited_too_long_for_its_slot_halves_how_many_there_may_be_and_others_raise_it(
    pairing: Pairing,
) -> None:
    measures, ask = pairing.product.measures.targets["eu"], pairing.product.ask
    before, observed = ask(measures.read_limit), measures.wait.count
    assert before <= 4 * SLOTS
    requests = filled(pairing)  # changes are no reads
    assert (ask(measures.read_limit), ask(measures.reads_admitted), measures.wait.count) == (
        before,
        0,
        observed,
    )
    slow = pairing.connect().request("GET", PODS, pairing.me.fields)
    waiting(pairing, 1)
    assert ask(measures.reads_admitted) == 1
    pairing.product.pass_time(2)  # the threshold is a second
    finish_one(*requests[0])
    request = pairing.upstream.expect()
    halved = max(1, before // 2)
    assert (ask(measures.read_limit), measures.wait.count) == (halved, observed + 1)
    assert measures.wait.sum >= 2
    finish_one(slow, request)
    quick = pairing.connect().request("GET", PODS, pairing.me.fields)
    request = pairing.upstream.expect()
    assert (ask(measures.read_limit), ask(measures.reads_admitted)) == (halved + 1, 1)
    finish(pairing, [requests[1], (quick, request)])
    assert ask(measures.reads_admitted) == 0


def test_a_slow_target_holds_its_own_slots_and_nobody_elses(pairing: Pairing) -> None:
    slow = filled(pairing)
    more = asked(pairing)
    waiting(pairing, 1)
    upstream = pairing.others["us"]
    at_us = filled(pairing, upstream, AT_US)
    finish_one(*at_us[0])
    finish_one(*at_us[1])
    finish_one(*slow[0])
    finish(pairing, [slow[1], (more, pairing.upstream.expect())])


def test_one_that_finds_none_in_its_time_is_told_so_and_was_never_sent(pairing: Pairing) -> None:
    before = refused(pairing), refused(pairing, "us")
    requests = filled(pairing)
    more = asked(pairing)
    waiting(pairing, 1)
    pairing.product.pass_time(TIMEOUT - 1)
    waiting(pairing, 1)
    pairing.product.pass_time(2)
    assert_full(more)
    pairing.upstream.expect_nothing()
    assert (refused(pairing), refused(pairing, "us")) == (before[0] + 1, before[1])
    [logged] = pairing.logged("interruption")
    assert (logged["reason"], logged["target"], logged["failure"]) == ("TargetTimeout", "eu", "target_full")
    health = pairing.product.target("eu").health
    assert health.failure != "target_full" and health.up is not False
    finish(pairing, requests)


@pytest.mark.parametrize("prefer", [b"wait=2", b"respond-async, wait=2", b"wait=2; foo=bar"])
def test_a_preference_makes_its_time_shorter(pairing: Pairing, prefer: bytes) -> None:
    requests = filled(pairing)
    more = asked(pairing, PODS, [(b"Prefer", prefer)])
    waiting(pairing, 1)
    pairing.product.pass_time(1)
    waiting(pairing, 1)
    pairing.product.pass_time(2)
    assert_full(more)
    finish(pairing, requests)


@pytest.mark.parametrize("prefer", [b"wait=1000", b"wait=x", b"wait=-1", b"wait", b"await=1"])
def test_and_never_longer(pairing: Pairing, prefer: bytes) -> None:
    requests = filled(pairing)
    more = asked(pairing, PODS, [(b"Prefer", prefer)])
    waiting(pairing, 1)
    pairing.product.pass_time(TIMEOUT - 1)
    waiting(pairing, 1)
    pairing.product.pass_time(2)
    assert_full(more)
    finish(pairing, requests)


def test_a_preference_says_nothing_of_the_answer(pairing: Pairing) -> None:
    exchange = asked(pairing, PODS, [(b"Prefer", b"wait=1")])
    request = pairing.upstream.expect()
    assert request.all("prefer") == []
    pairing.product.pass_time(5)
    finish(pairing, [(exchange, request)])


def test_who_leaves_the_line_takes_nothing_from_it(pairing: Pairing) -> None:
    requests = filled(pairing)
    left_, stays = asked(pairing), asked(pairing)
    waiting(pairing, 2)
    left_.browser.close()
    waiting(pairing, 1)
    finish_one(*requests[0])
    finish(pairing, [requests[1], (stays, pairing.upstream.expect())])


def test_who_leaves_before_the_head_gives_the_slot_to_the_next(pairing: Pairing) -> None:
    requests = filled(pairing)
    more = asked(pairing)
    waiting(pairing, 1)
    requests[0][0].browser.close()
    request = pairing.upstream.expect()
    requests[0][1].expect_cancelled()
    finish(pairing, [requests[1], (more, request)])


def test_an_answer_that_is_read_whole_holds_its_slot_to_its_end(pairing: Pairing) -> None:
    who = pairing.connect().request("GET", "/auth/whoami", pairing.me.fields)
    review = pairing.upstream.expect()
    other, request = asked(pairing), pairing.upstream.expect()
    more = asked(pairing)
    waiting(pairing, 1)
    review.respond(201, JSON)
    review.send(b'{"status":{"userInfo":')
    pairing.script.until_still()
    waiting(pairing, 1)
    review.send(b'{"username":"ada"}}}')
    review.end()
    assert who.read_head()[0] == 200
    finish(pairing, [(other, request), (more, pairing.upstream.expect())])


def test_a_review_that_finds_no_slot_is_unavailable_and_one_of_the_page_a_504(pairing: Pairing) -> None:
    requests = filled(pairing)
    who = pairing.connect().request("GET", "/auth/whoami", pairing.me.fields)
    page = pairing.connect().request(
        "GET", "/_foyer/access", [*pairing.me.fields, (b"Sec-Fetch-Dest", b"document")]
    )
    waiting(pairing, 2)
    before = refused(pairing)
    pairing.product.pass_time(TIMEOUT + 1)  # of the slot; a review may take ten
    assert pairing.product.ask(lambda: pairing.product.target("eu")._cap.waiting) == 0
    assert who.read_head()[0] == 503
    assert page.read_head()[0] == 504
    assert [each["failure"] for each in pairing.logged("interruption")] == ["target_full"] * 2
    assert refused(pairing) == before + 2
    pairing.upstream.expect_nothing()
    finish(pairing, requests)


def test_a_watch_holds_a_slot_until_its_head_and_a_page_until_it_is_whole(pairing: Pairing) -> None:
    stream = Page(pairing.connect().request("GET", unheard_of(), pairing.me.fields))
    watch = pairing.upstream.expect()
    in_flight = pairing.product.measures.targets["eu"].in_flight
    assert pairing.product.ask(in_flight) == 1
    watch.answer(422, JSON, b'{"kind":"Status","message":"sendInitialEvents is not here","code":422}')
    page = pairing.upstream.expect()
    page.respond(200, JSON)
    page.send(b'{"kind":"NoteList","apiVersion":"v1","metadata":{"resourceVersion":"7"},')
    pairing.script.until_still()
    assert pairing.product.ask(in_flight) == 1
    page.send(b'"items":[]}')
    page.end()
    watch = pairing.upstream.expect()
    stream.expect("reset", "synced")
    assert pairing.product.ask(in_flight) == 1
    watch.respond(200, JSON)
    pairing.script.until(lambda: pairing.product.ask(in_flight) == 0, "the head to arrive")
    stream.exchange.browser.close()
    watch.expect_cancelled()


def test_a_stream_that_finds_no_slot_is_unavailable_and_may_be_tried_again(pairing: Pairing) -> None:
    requests = filled(pairing)
    stream = Page(pairing.connect().request("GET", STREAM, pairing.me.fields))
    waiting(pairing, 1)
    pairing.product.pass_time(2 * TIMEOUT)  # for the look before it too, which waits for a slot by itself
    [error] = stream.expect("UPSTREAM_UNAVAILABLE")
    assert str(error["retryAfterMs"]) == "5000"
    assert isinstance(stream.end(), Whole)
    finish(pairing, requests)


def test_open_watches_take_no_slots_however_many_there_are(pairing: Pairing) -> None:
    streams = []
    for _ in range(3 * SLOTS):
        stream = Page(pairing.connect().request("GET", STREAM, pairing.me.fields))
        request = pairing.upstream.expect()
        request.respond(200, JSON)
        request.send(line("ADDED") + SYNCED)
        stream.expect("reset", "added", "synced")
        streams.append((stream, request))
    requests = filled(pairing)
    for exchange, request in requests:
        finish_one(exchange, request)
    for stream, request in streams:
        stream.exchange.browser.close()
        request.expect_cancelled()


@pytest.mark.parametrize("declared", [True, False], ids=["with its length", "without"])
def test_a_review_longer_than_the_bound_is_dropped(pairing: Pairing, declared: bool) -> None:
    who = pairing.connect().request("GET", "/auth/whoami", pairing.me.fields)
    review = pairing.upstream.expect()
    too_long = b" " * (100 * 1024 + 1)
    review.respond(201, [*JSON, (b"content-length", b"%d" % len(too_long))] if declared else JSON)
    if not declared:
        review.send(too_long)
    review.expect_cancelled()
    assert who.read_head()[0] == 503
    assert pairing.logged("interruption")[0]["failure"] == "too_large"

"""Streams before the gates of read admission, over sockets (spec 06, Read admission)."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from foyer.admission.limit import ReadLimit
from foyer.streams.gates import PASSED_ON
from tests.pairings.test_cuts import log_out
from tests.streams.following import config_map, page
from tests.support.pairings import JSON, Pairing
from tests.support.remains import OF_EXCHANGES, left
from tests.support.script import Aborted, Whole
from tests.support.shared_streams import Reviews
from tests.support.streams import STREAM, SYNCED, Page, line, live, opened, unheard_of
from tests.support.upstreams import Request

PODS = "/k8s/api/v1/pods"
WAIT = 5
POOL = 1024 * 1024
TOKEN = b"the.shared-watch.token"


@pytest.fixture
def flags(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {
        "max-target-in-flight": "9",
        "admission-wait": f"{WAIT}s",
        "target-timeout": "30s",
        "overload-retry-after": "3s",
        "memory-pool": f"{POOL}",
        "shared-watch-resources": "secrets",
        "shared-watch-token-file": str(_token_file(tmp_path_factory)),
    }


_written: list[Path] = []


def _token_file(factory: pytest.TempPathFactory) -> Path:
    if not _written:  # the same for all, which then share their foyers
        _written.append(factory.mktemp("admission") / "token")
        _written[0].write_bytes(TOKEN + b"\n")
    return _written[0]


@pytest.fixture(autouse=True)
def _one_at_once(pairing: Pairing, monkeypatch: pytest.MonkeyPatch) -> None:
    """One read at once, whatever the limit would learn: how it does is tested by itself."""

    def stays(self: ReadLimit, *args: object, **kwargs: object) -> None:
        self._line.capacity = 1

    def begin() -> None:
        pairing.product.target().reads.limit._line.capacity = 1

    monkeypatch.setattr(ReadLimit, "adapt", stays)
    pairing.product.ask(begin)


def reading(pairing: Pairing) -> Request:
    """Somebody else reads, and is not answered: the first gate is full."""
    pairing.connect().request("GET", PODS, pairing.signed_in().fields)
    return pairing.upstream.expect()


def until(pairing: Pairing, condition: Callable[[], bool], what: str) -> None:
    pairing.script.until(lambda: pairing.product.ask(condition), what)


def waiting(pairing: Pairing, count: int = 1) -> None:
    """So many wait at the first gate."""
    gate = pairing.product.target().reads.limit
    until(pairing, lambda: gate.waiting == count, f"{count} to wait")


def asked(pairing: Pairing, target: str = STREAM) -> Page:
    return Page(pairing.connect().request("GET", target, pairing.me.fields))


def rest(pairing: Pairing) -> None:
    """Everything that was held has been given back."""
    until(pairing, lambda: left(pairing.product._foyer, OF_EXCHANGES) == {}, "a rest")


def assert_refused(pairing: Pairing, stream: Page, reason: str, code: int) -> dict[str, object]:
    """The stream was answered as any other request would be."""
    exchange = stream.exchange
    assert isinstance(exchange.read_until_end(), Whole)
    assert exchange.status == code
    assert exchange.all("content-type") == [b"application/json"]
    assert exchange.all("krm-foyer-interruption") == [reason.encode()]
    assert exchange.all("x-krm-stream-protocol") == []
    assert exchange.all("retry-after") == ([b"3"] if code == 503 else [])
    found: dict[str, object] = json.loads(exchange.content)
    assert found["reason"] == reason
    return found


# A stream of one's own.


def test_one_that_is_not_let_in_in_time_is_an_answer_and_asks_nothing(pairing: Pairing) -> None:
    before = dict(pairing.product.measures.admission_refusals)
    other = reading(pairing)
    stream = asked(pairing)
    waiting(pairing)
    pairing.product.pass_time(WAIT - 1)
    waiting(pairing)
    pairing.product.pass_time(2)
    assert_refused(pairing, stream, "AdmissionTimedOut", 503)
    pairing.upstream.expect_nothing()
    measures = pairing.product.measures
    assert measures.admission_refusals == before | {"concurrency": before["concurrency"] + 1}
    [logged] = pairing.logged("limit reached")
    assert {key: logged[key] for key in logged if key != "time"} == {
        "level": "warn",
        "msg": "limit reached",
        "reason": "AdmissionTimedOut",
        "limit": "concurrency",
    }
    other.answer(200, JSON, b"{}")
    rest(pairing)


def test_one_that_waits_is_a_stream_as_soon_as_it_is_let_in(pairing: Pairing) -> None:
    other = reading(pairing)
    stream = asked(pairing)
    waiting(pairing)
    pairing.upstream.expect_nothing()
    other.answer(200, JSON, b"{}")
    request = pairing.upstream.expect()
    assert stream.exchange.read_head()[0] == 200
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    stream.expect("reset", "added", "synced")
    until(pairing, lambda: pairing.product.measures.memory_reserved() == 0, "memory to be given back")
    reading(pairing).answer(200, JSON, b"{}")  # another is let in, for this one is a read no more


def test_one_that_needs_more_than_all_there_is_is_told_so(pairing: Pairing) -> None:
    pairing.upstream.expects_looks = True
    target = unheard_of()
    stream = asked(pairing, target)
    look = pairing.upstream.expect()
    assert re.fullmatch(rb"/apis/g\d+\.example\.com/v1/notes\?limit=1", look.target)
    assert look.all("authorization") == [b"Bearer " + pairing.me.token]
    listed = page([config_map()], token="more")
    listed = listed.replace(b'"metadata":{', b'"metadata":{"remainingItemCount":9999,', 1)
    look.answer(200, JSON, listed)
    second = pairing.upstream.expect()
    assert second.target == look.target + b"&continue=more"
    second.answer(200, JSON, listed)
    found = assert_refused(pairing, stream, "ReadTooLarge", 422)
    assert "Narrow the scope" in str(found["message"])
    pairing.upstream.expect_nothing()
    rest(pairing)


def test_the_second_gate_refuses_as_the_first_does(pairing: Pairing) -> None:
    pairing.upstream.expects_looks = True
    slow, request = opened_by_look(pairing, 0.5)
    request.respond(200, JSON)
    pairing.product.ask(lambda: widen(pairing))
    stream = asked(pairing, unheard_of())
    look(pairing.upstream.expect(), 0.6)
    pool = pairing.product.target()._replica.memory.pool
    until(pairing, lambda: pool.waiting == 1, "it to wait for memory")
    pairing.product.pass_time(WAIT + 1)
    assert_refused(pairing, stream, "AdmissionTimedOut", 503)
    [logged] = pairing.logged("limit reached")
    assert logged["limit"] == "memory"
    slow.exchange.reset()
    request.expect_cancelled()
    rest(pairing)


def widen(pairing: Pairing) -> None:
    pairing.product.target().reads.limit._line.capacity = 2


def look(request: Request, share: float) -> None:
    """There is as much as takes this part of the memory."""
    assert request.target.endswith(b"limit=1")
    listed = page([config_map()], token="more")
    count = int(POOL * share / PASSED_ON / len(config_map()))
    remaining = b'"metadata":{"remainingItemCount":%d,' % (count - 1)
    request.answer(200, JSON, listed.replace(b'"metadata":{', remaining, 1))


def opened_by_look(pairing: Pairing, share: float) -> tuple[Page, Request]:
    """A stream that has reserved this part of the memory, and its snapshot's request."""
    stream = asked(pairing, unheard_of())
    look(pairing.upstream.expect(), share)
    return stream, pairing.upstream.expect()


@pytest.mark.parametrize("how", ["leaves", "logs out", "is looking"])
def test_whoever_leaves_while_it_waits_leaves_the_gates(pairing: Pairing, how: str) -> None:
    pairing.upstream.expects_looks = True
    other = None if how == "is looking" else reading(pairing)
    person = pairing.signed_in()
    exchange = pairing.connect().request("GET", unheard_of(), person.fields)
    if how == "is looking":
        request = pairing.upstream.expect()
        exchange.reset()
        request.expect_cancelled()
    else:
        waiting(pairing)
        if how == "leaves":
            exchange.reset()
        else:
            log_out(pairing, person)
            assert isinstance(exchange.read_until_end(), Aborted)
        waiting(pairing, 0)
    if other is not None:
        other.answer(200, JSON, b"{}")
    pairing.upstream.expect_nothing()
    rest(pairing)


def test_what_outgrows_all_there_is_ends_and_is_refused_from_then_on(pairing: Pairing) -> None:
    target = unheard_of()
    stream, request = opened(pairing, target)
    request.respond(200, JSON)
    for number in range(12):
        request.send(line("ADDED", f"u{number}", data=b'{"a":"%b"}' % (b"x" * 60_000)))
    while stream.next()["type"] != "error":
        pass
    last = stream.events[-1]
    assert (last["code"], last["terminal"], str(last["retryAfterMs"])) == (
        "UPSTREAM_UNAVAILABLE",
        False,
        "3000",
    )
    assert isinstance(stream.end(), Whole)
    request.expect_cancelled()
    rest(pairing)
    assert_refused(pairing, asked(pairing, target), "ReadTooLarge", 422)
    pairing.upstream.expect_nothing()


def test_a_later_cycle_that_is_not_let_in_is_an_event(pairing: Pairing) -> None:
    stream, request = live(pairing)
    pairing.product.pass_time(2)
    other = reading(pairing)
    request.end()
    stream.expect("RESYNC_REQUIRED")
    waiting(pairing)
    pairing.product.pass_time(WAIT + 1)
    [event] = stream.expect("UPSTREAM_UNAVAILABLE")
    assert str(event["retryAfterMs"]) == "3000"
    assert isinstance(stream.end(), Whole)
    other.answer(200, JSON, b"{}")
    rest(pairing)


def test_a_later_cycle_that_is_let_in_goes_on_on_the_same_connection(pairing: Pairing) -> None:
    stream, request = live(pairing)
    pairing.product.pass_time(2)
    other = reading(pairing)
    request.end()
    stream.expect("RESYNC_REQUIRED")
    waiting(pairing)
    other.answer(200, JSON, b"{}")
    again = pairing.upstream.expect()
    again.respond(200, JSON)
    again.send(line("ADDED") + SYNCED)
    stream.expect("reset", "added", "synced")


def test_what_asks_for_no_scope_passes_no_gate(pairing: Pairing) -> None:
    reading(pairing)
    stream = asked(pairing, "/stream/v1?version=v1")
    stream.expect("SCOPE_INVALID")
    assert isinstance(stream.end(), Whole)


# A shared one.

SHARED = "/stream/v1?version=v1&resource=secrets&namespace=app"


@pytest.fixture
def reviews(pairing: Pairing) -> Reviews:
    pairing.leaks.secret(TOKEN, "the shared watch token")
    return Reviews(pairing, TOKEN)


def test_who_joins_a_warm_cache_passes_no_gate(pairing: Pairing, reviews: Reviews) -> None:
    reviews.first(SHARED)
    pairing.connect().request("GET", PODS, pairing.me.fields)
    other = reviews.until_watched()
    assert pairing.product.measures.memory_reserved() > 0
    reviews.joins(SHARED, pairing.signed_in())
    other.answer(200, JSON, b"{}")


def test_a_cold_one_that_is_not_let_in_is_an_answer_to_each_who_waits_for_it(
    pairing: Pairing, reviews: Reviews
) -> None:
    before = pairing.product.measures.admission_refusals["concurrency"]
    other = reading(pairing)
    streams = [reviews.open(SHARED, person) for person in (pairing.me, pairing.signed_in())]
    shared = pairing.product.target().shared

    def joined() -> bool:
        reviews.answer()
        return pairing.product.ask(lambda: sum(watch._readers for watch in shared._watches.values())) == 2

    pairing.script.until(joined, "both to wait for one watch")
    waiting(pairing, 1)
    pairing.product.pass_time(WAIT + 1)
    for stream in streams:
        assert_refused(pairing, stream, "AdmissionTimedOut", 503)
    assert pairing.product.measures.admission_refusals["concurrency"] == before + 1
    other.answer(200, JSON, b"{}")
    rest(pairing)


def test_who_may_not_is_told_so_though_the_gates_are_full(pairing: Pairing, reviews: Reviews) -> None:
    other = reading(pairing)
    reviews.denied[reviews.person(0)] = "not you"
    stream = reviews.open(SHARED)
    reviews.until_shown(stream, "FORBIDDEN")
    assert isinstance(stream.end(), Whole)
    other.answer(200, JSON, b"{}")
    rest(pairing)

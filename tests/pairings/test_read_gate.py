"""How many reads are at one target at once, over sockets (spec 06, Read admission; seed, Concurrency)."""

import json

import pytest

from foyer.admission.limit import ReadLimit
from foyer.exchange.endings import Cause
from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Entries, Pairing
from tests.support.remains import OF_EXCHANGES, left
from tests.support.script import Aborted, Whole
from tests.support.upstreams import Request

PODS = "/k8s/api/v1/pods"
AT_US = "/targets/us/k8s/api/v1/pods"
SLOTS = 4
WAIT, TIMEOUT = 5, 9


@pytest.fixture
def targets() -> Entries:
    return {"eu": {}, "us": {}}


@pytest.fixture
def flags() -> dict[str, str]:
    return {
        "max-target-in-flight": str(SLOTS),
        "admission-wait": f"{WAIT}s",
        "target-timeout": f"{TIMEOUT}s",
        "overload-retry-after": "3s",
    }


@pytest.fixture(autouse=True)
def _one_at_once(pairing: Pairing, monkeypatch: pytest.MonkeyPatch) -> None:
    """One read at each target, whatever the limit would learn: how it does is tested by itself."""

    def stays(self: ReadLimit, *, coped: bool) -> None:
        self._line.capacity = 1

    def begin() -> None:
        for name in ("eu", "us"):
            pairing.product.target(name).reads.limit._line.capacity = 1

    monkeypatch.setattr(ReadLimit, "adapt", stays)
    pairing.product.ask(begin)


def admitted(pairing: Pairing, target: str = PODS, name: str = "eu") -> tuple[Exchange, Request]:
    """A read that the target has not answered."""
    exchange = pairing.connect().request("GET", target, pairing.me.fields)
    return exchange, (pairing.upstream if name == "eu" else pairing.others[name]).expect()


def asked(
    pairing: Pairing, method: str = "GET", *fields: tuple[bytes, bytes], target: str = PODS
) -> Exchange:
    return pairing.connect().request(method, target, [*pairing.me.change, *fields])


def waiting(pairing: Pairing, count: int) -> None:
    gate = pairing.product.target("eu").reads.limit
    pairing.script.until(lambda: pairing.product.ask(lambda: gate.waiting) == count, f"{count} to wait")


def finish(pairing: Pairing, *requests: tuple[Exchange, Request]) -> None:
    for exchange, request in requests:
        request.answer(200, JSON, b"{}")
        assert exchange.read_until_end() == Whole(b"{}")
    pairing.script.until(
        lambda: pairing.product.ask(lambda: left(pairing.product._foyer, OF_EXCHANGES)) == {}, "a rest"
    )


def assert_turned_away(pairing: Pairing, exchange: Exchange) -> None:
    exchange.read_until_end()
    assert exchange.status == 503
    assert exchange.all("retry-after") == [b"3"]
    assert exchange.all("krm-foyer-interruption") == [b"AdmissionTimedOut"]
    assert json.loads(exchange.content)["reason"] == "AdmissionTimedOut"


@pytest.mark.parametrize("fields", [[], [(b"Prefer", b"wait=1000")]], ids=["", "who would wait longer"])
def test_a_read_that_is_not_let_in_in_time_is_told_when_to_come_back_and_was_never_sent(
    pairing: Pairing, fields: list[tuple[bytes, bytes]]
) -> None:
    measures = pairing.product.measures
    before = dict(measures.admission_refusals)
    first = admitted(pairing)
    more = asked(pairing, "GET", *fields)
    waiting(pairing, 1)
    pairing.product.pass_time(WAIT - 1)
    waiting(pairing, 1)
    pairing.product.pass_time(2)
    assert_turned_away(pairing, more)
    pairing.upstream.expect_nothing()
    assert measures.admission_refusals == before | {"concurrency": before["concurrency"] + 1}
    [line] = pairing.logged("limit reached")
    assert {key: line[key] for key in line if key != "time"} == {
        "level": "warn",
        "msg": "limit reached",
        "reason": "AdmissionTimedOut",
        "limit": "concurrency",
    }
    assert not [line for line in pairing.log if "path" in line or "subject" in line]
    finish(pairing, first)


def test_a_preference_makes_its_time_at_the_gate_shorter(pairing: Pairing) -> None:
    first = admitted(pairing)
    more = asked(pairing, "GET", (b"Prefer", b"wait=2"))
    waiting(pairing, 1)
    pairing.product.pass_time(3)
    assert_turned_away(pairing, more)
    finish(pairing, first)


def test_a_head_waits_as_a_get_does_and_a_change_does_not(pairing: Pairing) -> None:
    first = admitted(pairing)
    head = asked(pairing, "HEAD")
    waiting(pairing, 1)
    change = asked(pairing, "DELETE")
    finish_one(change, pairing.upstream.expect())
    first[1].answer(200, JSON, b"{}")
    assert first[0].read_until_end() == Whole(b"{}")
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert head.read_head()[0] == 200


def finish_one(exchange: Exchange, request: Request) -> None:
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_they_go_in_the_order_they_came_each_as_the_one_before_is_answered(pairing: Pairing) -> None:
    exchange, request = admitted(pairing)
    later = []
    for number in range(3):
        later.append(asked(pairing, target=f"{PODS}?number={number}"))
        waiting(pairing, number + 1)
    for number, following in enumerate(later):
        pairing.upstream.expect_nothing()
        request.respond(200, JSON)  # its head is all that is waited for
        going = pairing.upstream.expect()
        assert going.target.endswith(b"=%d" % number)
        request.send(b"{}")
        request.end()
        assert exchange.read_until_end() == Whole(b"{}")
        exchange, request = following, going
    finish(pairing, (exchange, request))


def test_a_full_gate_is_its_own_targets_and_nobody_elses(pairing: Pairing) -> None:
    first = admitted(pairing)
    more = asked(pairing)
    waiting(pairing, 1)
    at_us = admitted(pairing, AT_US, "us")
    finish_one(*at_us)
    finish_one(*first)
    finish(pairing, (more, pairing.upstream.expect()))


@pytest.mark.parametrize("end", ["gone", "reset", "logout", "duration", "shutdown"])
def test_who_leaves_takes_nothing_from_those_behind(pairing: Pairing, end: str) -> None:
    someone = pairing.signed_in()
    first = admitted(pairing)
    leaves = pairing.connect().request("GET", PODS, someone.fields)
    waiting(pairing, 1)
    stays = asked(pairing)
    waiting(pairing, 2)
    match end:
        case "gone":
            leaves.browser.close()
        case "reset":
            leaves.reset()
        case "logout":
            pairing.connect().request("POST", "/auth/logout", someone.change).read_until_end()
        case _:
            cut(pairing, leaves, Cause.RESPONSE_DURATION if end == "duration" else Cause.SHUTDOWN)
    waiting(pairing, 1)
    if end not in ("gone", "reset"):
        assert isinstance(leaves.read_until_end(), Aborted)
    finish_one(*first)
    finish(pairing, (stays, pairing.upstream.expect()))


def cut(pairing: Pairing, exchange: Exchange, cause: Cause) -> None:
    """Cuts the first that waits at the gate."""
    line = pairing.product.target("eu").reads.limit._line

    def cut() -> None:
        share = next(iter(line._waiting))
        for opened in pairing.product._foyer.front.open_exchanges:
            if opened._pending is not None and opened._pending._place is share:  # type: ignore[attr-defined]
                opened.cut(cause)

    pairing.product.ask(cut)


@pytest.mark.parametrize("end", ["answered", "reset", "cancelled"])
def test_a_read_gives_its_place_back_whichever_way_it_ends(pairing: Pairing, end: str) -> None:
    exchange, request = admitted(pairing)
    more = asked(pairing)
    waiting(pairing, 1)
    match end:
        case "answered":
            request.answer(404, JSON, b"{}")
            exchange.read_until_end()
        case "reset":
            request.reset()
            exchange.read_until_end()
            assert exchange.status == 502
        case _:
            exchange.browser.close()
            request.expect_cancelled()
    finish(pairing, (more, pairing.upstream.expect()))


def test_what_it_waited_at_the_gate_is_a_part_of_its_time_for_a_slot(pairing: Pairing) -> None:
    """Whoever waits for nine seconds at most has not thirteen where there are two things to wait for."""
    changes = [(asked(pairing, "DELETE"), pairing.upstream.expect()) for _ in range(SLOTS)]
    first = asked(pairing)  # let in, and there is no slot
    cap = pairing.product.target("eu")._cap
    pairing.script.until(lambda: pairing.product.ask(lambda: cap.waiting) == 1, "it to wait for a slot")
    more = asked(pairing)
    waiting(pairing, 1)
    pairing.product.pass_time(WAIT - 1)
    first.browser.close()
    waiting(pairing, 0)
    pairing.script.until(lambda: pairing.product.ask(lambda: cap.waiting) == 1, "the other one to be let in")
    pairing.product.pass_time(TIMEOUT - WAIT + 2)
    assert pairing.product.ask(lambda: cap.waiting) == 0
    more.read_until_end()
    assert (more.status, more.all("krm-foyer-interruption")) == (504, [b"TargetTimeout"])
    finish(pairing, *changes)

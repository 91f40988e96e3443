"""One target of a fleet that fails, in each way there is, beside one that does not (spec 06)."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.fleet.conftest import FLEET, PAGE_BYTES, SECONDS, SLOTS, outcomes
from tests.e2e.fleet.standins import StandIn
from tests.e2e.harness.answers import assert_interrupted, assert_passed
from tests.e2e.harness.browser import SESSION, Browser, OpenBrowser, Web
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.serving import Foyer
from tests.e2e.harness.waiting import wait_for

WAIT = 2
"""Seconds in `Prefer: wait`: less than foyer's own, and a while for a real API server."""

LATE = f"there was no whole answer within {WAIT} s"
TOO_LONG = f"a page of its list has more bytes than -max-target-answer-bytes, {PAGE_BYTES}"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/demo/rolebindings"


@pytest.fixture(params=["HTTP/2"])
def http_version(request: pytest.FixtureRequest) -> str:
    """One is enough: what is told is the same, and each of these takes its seconds."""
    return str(request.param)


def assert_fails(
    browser: Browser, failed: str, outcome: str, error: str, *, status: int | None = None, ok: str = "eu"
) -> None:
    """All or nothing, it is refused for that one; in part, it is the other's list and says so."""
    asked = f"{FLEET}?targets={ok},{failed}"
    late = outcome == "time-out"
    refused = browser.get(asked, prefer=f"wait={WAIT}")
    body = assert_interrupted(refused, 504 if late else 424, "TargetTimeout" if late else "TargetError")
    [cause] = body["details"]["causes"]
    assert (cause["reason"], cause["field"]) == (outcome, failed)
    assert error in cause["message"]

    part = browser.get(f"{asked}&partial=true", prefer=f"wait={WAIT}")
    assert part.status_code == 200
    assert "krm-foyer-truncated" not in part.headers
    found = part.json()
    assert found["complete"] is False
    assert outcomes(found) == {ok: ("ok", 200), failed: (outcome, status)}
    [said] = [target for target in found["targets"] if target["name"] == failed]
    assert (said["items"], error in said["error"]) == (0, True)
    alone = browser.get(f"{FLEET}?targets={ok}").json()
    assert (alone["complete"], found["items"]) == (True, alone["items"])
    assert len(found["items"]) >= 5


# Servers that do what no real one does


@pytest.mark.parametrize(
    ("name", "outcome", "error"),
    [
        ("silent", "time-out", LATE),
        ("dripping", "time-out", LATE),
        ("endless", "node-error", TOO_LONG),
        ("huge", "node-error", TOO_LONG),
    ],
)
def test_one_that_never_answers_or_never_ends(
    name: str, outcome: str, error: str, alice: Browser, stand_ins: dict[str, StandIn]
) -> None:
    stand_in = stand_ins[name]
    asked, sent = stand_in.asked, stand_in.sent
    assert_fails(alice, name, outcome, error)
    assert stand_in.asked > asked
    wait_for("foyer to leave it", lambda: stand_in.left == stand_in.asked)
    # The bound, and what the kernel's buffers of both ends hold.
    assert stand_in.sent - sent < (stand_in.asked - asked) * (PAGE_BYTES + 8 * 1024 * 1024)


def test_without_a_shorter_wait_the_time_is_foyers_own(alice: Browser) -> None:
    asked = f"{FLEET}?targets=eu,silent"
    body = assert_interrupted(alice.get(asked, prefer="wait=60"), 504, "TargetTimeout")
    [cause] = body["details"]["causes"]
    assert cause["message"] == f"there was no whole answer within {SECONDS} s"


def test_of_several_that_fail_each_is_a_cause_in_the_files_order(alice: Browser, fleet: Foyer) -> None:
    lines = len(fleet.log)
    answer = alice.get(f"{FLEET}?targets=huge,silent,eu,endless", prefer="wait=1")
    causes = assert_interrupted(answer, 504, "TargetTimeout")["details"]["causes"]
    assert [(cause["field"], cause["reason"]) for cause in causes] == [
        ("silent", "time-out"),
        ("endless", "node-error"),
        ("huge", "node-error"),
    ]
    line = fleet.logged("of it", lambda line: line["msg"] == "interruption", lines)
    assert (line["reason"], line["failure"]) == ("TargetTimeout", "timeout")


# The real one


def test_one_that_is_stopped_and_goes_on(alice: Browser, breakable: Cluster) -> None:
    breakable.signal_apiserver(signal.SIGSTOP)
    assert_fails(alice, "us", "time-out", LATE)
    assert_passed(alice.get(f"/k8s{CORE}/configmaps"))
    breakable.signal_apiserver(signal.SIGCONT)
    whole = lambda: alice.get(f"{FLEET}?targets=eu,us").status_code == 200  # noqa: E731
    wait_for("the fleet to be whole again", whole)


def test_one_that_is_killed_and_comes_back(alice: Browser, breakable: Cluster, fleet: Foyer) -> None:
    """And what is said of it meanwhile, from traffic alone."""

    def reported() -> dict[str, object]:
        shown = alice.get("/_foyer/dependencies").json()
        [us] = [target for target in shown["targets"] if target["name"] == "us"]
        assert [target["name"] for target in shown["targets"]][:2] == ["eu", "us"]
        return dict(us)

    assert alice.get(f"{FLEET}?targets=us").status_code == 200
    before = reported()
    assert (before["state"], before["slots"]) == ("up", {"inUse": 0, "limit": SLOTS})
    breakable.signal_apiserver(signal.SIGKILL)
    # The first may find that its connection is gone, and the others that there are none.
    assert alice.get(f"{FLEET}?targets=us").status_code == 424
    assert_fails(alice, "us", "node-error", "it gave no answer (connection)")
    assert_interrupted(alice.get(f"/targets/us/k8s{CORE}/configmaps"), 502, "UpstreamUnavailable")
    down = reported()
    assert (down["state"], down["lastSuccess"]) == ("down", before["lastSuccess"])
    assert isinstance(down["lastFailure"], dict)
    assert down["lastFailure"]["kind"] == "connection"

    breakable.up()
    wait_for(
        "the fleet to be whole again", lambda: alice.get(f"{FLEET}?targets=eu,us").status_code == 200, 30
    )
    after = reported()
    assert (after["state"], after["lastFailure"]) == ("up", down["lastFailure"])


@pytest.fixture
def carol_reads_there(other: Cluster) -> Iterator[None]:
    """She may nothing, but for reading in the second cluster."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "demo-reader"}
    carol = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "carol@example.com"}
    binding = {"metadata": {"name": "carol"}, "roleRef": role, "subjects": [carol]}
    other.admin.post(RBAC, json=binding).raise_for_status()
    yield
    other.admin.delete(f"{RBAC}/carol").raise_for_status()


@pytest.mark.usefixtures("carol_reads_there")
def test_one_that_forbids_it_to_this_person(visitor: Callable[[str], Browser]) -> None:
    carol = visitor("carol@example.com")
    reads = lambda: carol.get(f"{FLEET}?targets=us").status_code == 200  # noqa: E731
    wait_for("her role to hold", reads)
    error = 'it answered 403: configmaps is forbidden: User "carol@example.com" cannot list'
    assert_fails(carol, "eu", "node-error", error, status=403, ok="us")


def test_one_that_does_not_take_this_login(
    other: Cluster, web: Web, open_browser: OpenBrowser, fleet: Foyer
) -> None:
    """The second trusts the first one's issuers and its own, and the first its own alone."""
    token = other.mint("dora@example.com", groups="demo-editors")
    cookie = web.sealing.seal(token, time.time() + 600)
    dora = open_browser("HTTP/2", {SESSION: cookie}, fleet.origin)
    assert_fails(dora, "eu", "node-error", "it answered 401: Unauthorized", status=401, ok="us")


# A full one


def test_one_whose_slots_are_all_taken_is_sent_nothing_more_and_takes_nothing_from_others(
    alice: Browser, stand_ins: dict[str, StandIn], fleet: Foyer, visitor: Callable[[str], Browser]
) -> None:
    silent, path = stand_ins["silent"], f"/targets/silent/k8s{CORE}/configmaps"
    asked = silent.asked
    alice.proof()
    with ExitStack() as leaving:
        holder = visitor("bob@example.com")
        leaving.callback(holder.close)
        holding = [holder.upload("POST", path) for _ in range(SLOTS)]
        wait_for("every slot to be taken", lambda: silent.asked == asked + SLOTS)
        lines = len(fleet.log)
        change = alice.change("POST", path, json.dumps({}).encode(), prefer="wait=1")
        assert_interrupted(change, 504, "TargetTimeout")
        fleet.logged("of the cap", lambda line: line.get("failure") == "target_full", lines)
        answer = alice.get(f"{FLEET}?targets=eu,silent&partial=true", prefer="wait=1")
        found = answer.json()
        assert outcomes(found) == {"eu": ("ok", 200), "silent": ("time-out", None)}
        [said] = [target for target in found["targets"] if target["name"] == "silent"]
        assert "cap on what is under way to it was full" in said["error"]
        assert "nothing was sent" in said["error"]
        assert silent.asked == asked + SLOTS
        shown = alice.get("/_foyer/dependencies").json()["targets"]
        slots = {target["name"]: target["slots"] for target in shown}
        assert slots["silent"] == {"inUse": SLOTS, "limit": SLOTS}
        assert slots["eu"] == {"inUse": 0, "limit": SLOTS}
        assert not any(each.answer.done() for each in holding)

    def given_back() -> bool:
        shown = alice.get("/_foyer/dependencies").json()["targets"]
        return all(target["slots"]["inUse"] == 0 for target in shown)

    wait_for("the slots to be given back", given_back)

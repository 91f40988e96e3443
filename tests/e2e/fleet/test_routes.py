"""One target of several by its name: requests, watches, changes, streams and whoami (spec 06, Targets)."""

import json
import uuid

from tests.e2e.harness.answers import assert_interrupted, assert_passed
from tests.e2e.harness.browser import Browser, Ending
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.stream import stream
from tests.e2e.harness.waiting import wait_for

MERGE = "application/merge-patch+json"
SETTINGS = f"{CORE}/configmaps/settings-3"
US = "/targets/us/k8s"


def test_a_change_goes_to_the_target_that_is_named_and_its_watch_tells_of_it(
    alice: Browser, cluster: Cluster, other: Cluster
) -> None:
    version = other.get(f"{CORE}/configmaps")["metadata"]["resourceVersion"]
    watch = alice.watch(
        f"{US}{CORE}/configmaps?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3Dsettings-3"
    )
    before, said = cluster.get(SETTINGS), uuid.uuid4().hex
    change = json.dumps({"data": {"said": said}}).encode()
    assert_passed(alice.change("PATCH", f"{US}{SETTINGS}", change, content_type=MERGE))
    assert watch.change()["object"]["data"]["said"] == said
    assert other.get(SETTINGS)["data"]["said"] == said
    assert cluster.get(SETTINGS) == before
    assert "said" not in alice.get(f"/k8s{SETTINGS}").json()["data"], "the first, where none is named"
    assert alice.get(f"/targets/eu/k8s{SETTINGS}").json() == before


def test_a_stream_shows_the_target_that_is_named(alice: Browser, cluster: Cluster, other: Cluster) -> None:
    scope = {"namespace": "demo", "name": "settings-4"}
    theirs, first = stream(alice, "configmaps", target="us", **scope), stream(alice, "configmaps", **scope)
    [there], [here] = theirs.cycle(), first.cycle()
    assert there["metadata"]["uid"] == other.get(f"{CORE}/configmaps/settings-4")["metadata"]["uid"]
    assert here["metadata"]["uid"] == cluster.get(f"{CORE}/configmaps/settings-4")["metadata"]["uid"]
    tick = other.tick("settings-4")
    assert theirs.event()["object"]["data"]["tick"] == tick
    tick = cluster.tick("settings-4")
    assert first.event()["object"]["data"]["tick"] == tick


def test_watches_are_shared_by_the_targets_own_token_or_not_at_all(
    alice: Browser, cluster: Cluster, other: Cluster
) -> None:
    scope = {"group": "examples.foyer.dev", "namespace": "demo", "name": "submission-2"}
    found = []
    for target, asked in (("eu", cluster), ("us", other)):
        audit = asked.audit()
        opened = stream(alice, "quizsubmissions", target=target, **scope)
        assert len(opened.cycle()) == 1
        watches = lambda: [e for e in audit.events("ResponseStarted") if "submission-2" in e["requestURI"]]  # noqa: B023, E731
        [event] = wait_for("the watch in the audit log", watches)
        found.append(event["user"]["username"])
    assert found == ["alice@example.com", "system:serviceaccount:foyer-system:watcher"]


def test_whoami_is_who_one_is_to_the_target_that_is_named(alice: Browser, other: Cluster) -> None:
    audit = other.audit()
    shown = alice.get("/auth/whoami?target=us").json()
    assert shown["userInfo"]["username"] == "alice@example.com"
    reviews = lambda: [e for e in audit.events() if "selfsubjectreviews" in e["requestURI"]]  # noqa: E731
    [review] = wait_for("the review in the audit log", reviews)
    assert review["user"]["username"] == "alice@example.com"


def test_a_name_that_no_target_has_is_not_found(alice: Browser) -> None:
    assert_interrupted(alice.get(f"/targets/asia/k8s{CORE}/configmaps"), 404, "NotFound")
    assert_interrupted(alice.get("/auth/whoami?target=asia"), 404, "NotFound")
    opened = stream(alice, "configmaps", namespace="demo", target="asia")
    error = opened.error()
    assert (error["code"], error["terminal"]) == ("SCOPE_INVALID", True)
    assert opened.ending() is Ending.CLEAN

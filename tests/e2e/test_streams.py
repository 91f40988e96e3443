"""`/stream/v1` against a real API server (spec 05): snapshots, changes, redaction, refusals, and its ends."""

import base64
import json
import signal
import uuid
from collections.abc import Callable

from tests.e2e.harness.browser import Browser, Ending
from tests.e2e.harness.cluster import CORE, QUIZ, Cluster
from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.serving import Foyer
from tests.e2e.harness.stream import stream
from tests.e2e.harness.waiting import wait_for

PROMPT = 1.0
"""Seconds: far above what an event takes on one machine, far below any timer that would hold it back."""

NOTES = {"group": "examples.foyer.dev", "namespace": "demo"}


def test_a_stream_is_the_scopes_snapshot_and_then_each_change_at_once(bob: Browser, cluster: Cluster) -> None:
    opened = stream(bob, "configmaps", namespace="demo")
    assert opened.headers["content-type"] == "text/event-stream"
    assert opened.headers["x-krm-stream-protocol"] == "1"
    assert opened.headers["cache-control"] == "no-store, no-transform"
    assert "content-encoding" not in opened.headers
    items = cluster.get(f"{CORE}/configmaps")["items"]
    shown = {each["metadata"]["name"]: each for each in opened.cycle()}
    assert shown.keys() == {each["metadata"]["name"] for each in items}
    for item in items:
        item["metadata"].pop("managedFields", None)
        assert shown[item["metadata"]["name"]]["metadata"] == item["metadata"]
    for _ in range(5):
        tick = cluster.tick("settings-2")
        event = opened.event()
        assert opened.watch.seconds_waited < PROMPT
        assert (event["type"], event["object"]["data"]["tick"]) == ("modified", tick)


def test_a_large_namespace_is_shown_whole(bob: Browser) -> None:
    objects = stream(bob, "configmaps", namespace="large").cycle()
    assert {each["metadata"]["name"] for each in objects} == {f"large-{i:03}" for i in range(300)}


def test_a_name_and_a_selector_narrow_it(bob: Browser) -> None:
    [one] = stream(bob, "configmaps", namespace="demo", name="settings-3").cycle()
    assert one["metadata"]["name"] == "settings-3"
    assert stream(bob, "configmaps", namespace="demo", name="no-such").cycle() == []
    assert stream(bob, "configmaps", namespace="demo", labelSelector="no-such+in+(a,b)").cycle() == []


def test_what_comes_and_goes_is_added_and_deleted(alice: Browser) -> None:
    opened = stream(alice, "quizsubmissions", **NOTES)
    opened.cycle()
    document = (
        b'{"apiVersion":"examples.foyer.dev/v1","kind":"QuizSubmission","metadata":{"generateName":"e2e-"},'
    )
    made = alice.change("POST", f"/k8s{QUIZ}", document + b'"spec":{"quiz":"q"}}').json()["metadata"]
    event = opened.event()
    assert (event["type"], event["object"]["metadata"]["uid"]) == ("added", made["uid"])
    alice.change("DELETE", f"/k8s{QUIZ}/{made['name']}")
    while (event := opened.event())["type"] == "modified":
        pass
    assert (event["type"], event["identity"]["uid"]) == ("deleted", made["uid"])


def test_the_largest_object_is_shown_however_the_api_server_spells_it(bob: Browser, cluster: Cluster) -> None:
    """Go's JSON has six octets for a `<`: a ConfigMap of a mebibyte comes as an event of 6 MB."""
    name, filler = f"e2e-{uuid.uuid4().hex[:12]}", "<" * 1_000_000
    opened = stream(bob, "configmaps", namespace="demo", name=name)
    assert opened.cycle() == []
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"filler": filler},
    }
    assert cluster.admin.post(f"{CORE}/configmaps", json=document).status_code == 201
    event = opened.event()
    assert (event["type"], event["object"]["data"]["filler"]) == ("added", filler)
    again = stream(bob, "configmaps", namespace="demo", name=name)
    [one] = again.cycle()
    assert one["data"]["filler"] == filler
    assert cluster.admin.delete(f"{CORE}/configmaps/{name}").status_code == 200
    assert opened.event()["type"] == again.event()["type"] == "deleted"


def test_only_its_status_changed_is_nothing_to_a_view_without_status(alice: Browser) -> None:
    full = stream(alice, "quizsubmissions", **NOTES)
    spec = stream(alice, "quizsubmissions", **NOTES, projection="krm-spec/v1")
    assert {each["metadata"]["name"] for each in full.cycle()} >= {"submission-1"}
    assert not any("status" in each for each in spec.cycle())
    merge = "application/merge-patch+json"
    path = f"/k8s{QUIZ}/submission-1"
    phase, label = uuid.uuid4().hex, uuid.uuid4().hex
    change = json.dumps({"status": {"phase": phase}}).encode()
    assert alice.change("PATCH", f"{path}/status", change, content_type=merge).status_code == 200
    assert full.event()["object"]["status"]["phase"] == phase
    labelled = json.dumps({"metadata": {"labels": {"e2e": label}}}).encode()
    assert alice.change("PATCH", path, labelled, content_type=merge).status_code == 200
    event = spec.event()
    assert event["object"]["metadata"]["labels"]["e2e"] == label


def test_a_secrets_values_are_told_by_their_revisions_alone(
    alice: Browser, cluster: Cluster, leaks: Leaks
) -> None:
    opened = stream(alice, "secrets", namespace="demo", name="demo-secret")
    for value in cluster.get(f"{CORE}/secrets/demo-secret")["data"].values():
        if len(value) >= 8:
            leaks.learn("a Secret's value", value, "GET /k8s")
    assert opened.event()["type"] == "reset"
    event = opened.event()
    assert "data" not in event["object"]
    assert event["redacted"]
    assert all(record["rev"] == 1 for record in event["redacted"])
    assert opened.event()["type"] == "synced"
    key = uuid.uuid4().hex
    headers = {"Content-Type": "application/merge-patch+json"}
    for rev in (1, 2, 3):
        value = base64.b64encode(uuid.uuid4().bytes).decode()
        leaks.learn("a Secret's new value", value)
        patch = json.dumps({"data": {key: value}})
        cluster.admin.patch(f"{CORE}/secrets/demo-secret", content=patch, headers=headers).raise_for_status()
        event = opened.event()
        assert {record["path"]: record["rev"] for record in event["redacted"]}[f"/data/{key}"] == rev


def test_whom_rbac_denies_is_told_so_in_the_api_servers_words(
    carol: Browser, bob: Browser, foyer: Foyer
) -> None:
    lines = len(foyer.log)
    refused = stream(carol, "configmaps", namespace="demo")
    error = refused.error()
    assert (error["code"], error["terminal"]) == ("FORBIDDEN", True)
    assert 'User "carol@example.com" cannot' in error["message"]
    assert refused.ending() is Ending.CLEAN
    # The line of who was refused before may be on its way still.
    line = foyer.logged("the refusal", lambda line: "carol" in (line.get("user") or ""), lines)
    assert {name: line[name] for name in ("by", "user", "route", "reason", "scope")} == {
        "by": "kubernetes",
        "user": "carol@example.com",
        "route": "/stream/v1",
        "reason": "FORBIDDEN",
        "scope": "target=default&version=v1&resource=configmaps&namespace=demo",
    }
    assert stream(bob, "secrets", namespace="demo").error()["code"] == "FORBIDDEN"


def test_what_the_api_server_does_not_have_or_cannot_watch_is_no_scope(bob: Browser, alice: Browser) -> None:
    for browser, resource, more in (
        (bob, "nothings", {}),
        (bob, "configmaps", {"group": "no.such.group"}),
        (alice, "quizsubmissions", {"group": "examples.foyer.dev", "version": "v9"}),
    ):
        opened = stream(browser, resource, namespace="demo", **more)
        assert opened.error()["code"] in ("SCOPE_INVALID", "FORBIDDEN")
        assert opened.ending() is Ending.CLEAN


def test_a_token_that_the_api_server_refuses_is_unauthenticated(
    open_sealed: Callable[[str, float], Browser], cluster: Cluster
) -> None:
    expired = cluster.mint("bob@example.com", groups="team-b", ttl=-60)
    opened = stream(open_sealed(expired, 2**31 - 1), "configmaps", namespace="demo")
    assert opened.error()["code"] == "UNAUTHENTICATED"
    assert opened.ending() is Ending.CLEAN


def test_it_asks_once_as_the_person_and_says_that_it_is_foyer(bob: Browser, cluster: Cluster) -> None:
    audit = cluster.audit()
    opened = stream(bob, "configmaps", namespace="demo", name="settings-4")
    opened.cycle()
    mine = lambda: [e for e in audit.events("ResponseStarted") if "settings-4" in e["requestURI"]]  # noqa: E731
    [event] = wait_for("the watch in the audit log", mine)
    assert event["user"]["username"] == "bob@example.com"
    assert event["userAgent"] == "foyer"
    assert "sendInitialEvents=true" in event["requestURI"]
    bob.close()
    done = wait_for("its end", lambda: [e for e in audit.events() if e["auditID"] == event["auditID"]])
    assert len(done) == 1


def test_a_logout_cuts_it_and_the_api_server_is_left(
    browser: Browser, bob: Browser, cluster: Cluster
) -> None:
    audit = cluster.audit()
    browser.sign_in("bob@example.com")
    mine = stream(browser, "configmaps", namespace="demo", name="settings-5")
    theirs = stream(bob, "configmaps", namespace="demo", name="settings-5")
    mine.cycle(), theirs.cycle()
    assert browser.change("POST", "/auth/logout").status_code == 204
    assert mine.ending() is Ending.ABORTED
    wait_for("the watch's end", lambda: [e for e in audit.events() if "settings-5" in e["requestURI"]])
    tick = cluster.tick("settings-5")
    assert theirs.event()["object"]["data"]["tick"] == tick


def let_in(browser: Browser) -> None:
    """Waits for an API server that has just started to know its people and their roles."""
    path = f"/k8s{CORE}/configmaps"
    wait_for("a reader to be let in", lambda: browser.get(path).status_code == 200, 30)


def test_where_there_are_no_streaming_lists_it_lists_and_watches(
    bob: Browser, cluster: Cluster, foyer: Foyer
) -> None:
    with cluster.without_streaming_lists():
        let_in(bob)
        opened = stream(bob, "configmaps", namespace="large")
        assert len(opened.cycle()) == 300
        audit = cluster.audit()
        second = stream(bob, "configmaps", namespace="demo")
        second.cycle()
        tick = cluster.tick("settings-1")
        assert second.event()["object"]["data"]["tick"] == tick
        asked = wait_for("the list", lambda: [uri for uri in audit.uris() if "limit=500" in uri])
        assert not any("sendInitialEvents" in uri for uri in audit.uris()), "known by now"
        assert len(asked) == 1
    foyer.restart()  # an API server is not switched back under one


def test_an_api_server_that_dies_is_a_resync_and_then_unavailable(bob: Browser, cluster: Cluster) -> None:
    opened = stream(bob, "configmaps", namespace="demo")
    opened.cycle()
    cluster.signal_apiserver(signal.SIGKILL)
    assert opened.error()["code"] == "RESYNC_REQUIRED"
    error = opened.error()
    assert (error["code"], error["terminal"]) == ("UPSTREAM_UNAVAILABLE", False)
    assert error["retryAfterMs"] > 0
    assert opened.ending() is Ending.CLEAN
    refused = stream(bob, "configmaps", namespace="demo")
    assert refused.error()["code"] == "UPSTREAM_UNAVAILABLE"
    cluster.up()
    let_in(bob)
    assert stream(bob, "configmaps", namespace="demo").cycle()

"""Watches through `/k8s`: each event at once, decoded, and an end that tells how it ended (spec 03)."""

from collections.abc import Callable

from tests.e2e.harness.answers import assert_hardened, assert_refused_by_kubernetes
from tests.e2e.harness.browser import Browser, Ending, OpenBrowser, Watch
from tests.e2e.harness.cluster import CORE, QUIZ, Cluster

CONFIGMAPS = f"/k8s{CORE}/configmaps"
STREAMING_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
PROMPT = 1.0
"""Seconds: far above what an event takes on one machine, far below any timer that would hold it back."""


def plain_watch(browser: Browser, name: str) -> Watch:
    """From the version of the list on: a watch that the API server does not compress."""
    version = browser.get(CONFIGMAPS).json()["metadata"]["resourceVersion"]
    return browser.watch(
        f"{CONFIGMAPS}?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3D{name}"
    )


def streaming_list(browser: Browser, name: str) -> Watch:
    """With initial events: a watch that comes as one gzip member an event."""
    return browser.watch(f"{CONFIGMAPS}?{STREAMING_LIST}&fieldSelector=metadata.name%3D{name}")


def assert_sees_each_change_at_once(watch: Watch, cluster: Cluster, name: str, changes: int = 5) -> None:
    for _ in range(changes):
        tick = cluster.tick(name)
        event = watch.change()
        assert watch.seconds_waited < PROMPT
        assert (event["type"], event["object"]["data"]["tick"]) == ("MODIFIED", tick)


def test_a_watch_from_a_version_sees_each_change_at_once(bob: Browser, cluster: Cluster) -> None:
    watch = plain_watch(bob, "settings-2")
    assert_hardened_watch(watch)
    assert_sees_each_change_at_once(watch, cluster, "settings-2")
    assert watch.is_open()


def test_the_api_server_compresses_a_streaming_list_so_that_the_next_test_shows_something(
    cluster: Cluster,
) -> None:
    headers = {"accept-encoding": "gzip"}
    with cluster.admin.stream("GET", f"{CORE}/configmaps?{STREAMING_LIST}", headers=headers) as answer:
        assert answer.headers["content-encoding"] == "gzip"


def test_a_compressed_watch_arrives_decoded_event_by_event(bob: Browser, cluster: Cluster) -> None:
    watch = streaming_list(bob, "settings-3")
    assert_hardened_watch(watch)
    initial = watch.events_to("BOOKMARK")
    assert [event["type"] for event in initial] == ["ADDED", "BOOKMARK"]
    assert initial[-1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"
    assert_sees_each_change_at_once(watch, cluster, "settings-3")
    assert watch.is_open()


def test_a_compressed_watch_of_a_large_namespace_loses_nothing(bob: Browser) -> None:
    watch = bob.watch(f"/k8s/api/v1/namespaces/large/configmaps?{STREAMING_LIST}")
    events = watch.events_to("BOOKMARK", within=15)
    assert [event["object"]["metadata"]["name"] for event in events[:-1]] == [
        f"large-{i:03}" for i in range(300)
    ]


def test_the_head_of_a_quiet_watch_does_not_wait_for_its_first_event(bob: Browser) -> None:
    version = bob.get(CONFIGMAPS).json()["metadata"]["resourceVersion"]
    answer = bob.head_of(f"{CONFIGMAPS}?watch=1&resourceVersion={version}&fieldSelector=metadata.name%3Dnone")
    assert answer.status_code == 200


def test_creation_and_deletion_are_seen_by_a_watch_on_the_same_connection(alice: Browser) -> None:
    version = alice.get(f"/k8s{QUIZ}").json()["metadata"]["resourceVersion"]
    watch = alice.watch(f"/k8s{QUIZ}?watch=1&resourceVersion={version}")
    document = (
        b'{"apiVersion":"examples.foyer.dev/v1","kind":"QuizSubmission","metadata":{"generateName":"e2e-"},'
    )
    name = alice.change("POST", f"/k8s{QUIZ}", document + b'"spec":{"quiz":"q"}}').json()["metadata"]["name"]
    alice.change("DELETE", f"/k8s{QUIZ}/{name}")
    events = [watch.event(), watch.event()]
    assert [event["type"] for event in events] == ["ADDED", "DELETED"]
    assert {event["object"]["metadata"]["name"] for event in events} == {name}


def test_a_watch_that_reaches_its_own_timeout_ends_cleanly(bob: Browser) -> None:
    watch = bob.watch(f"{CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion=0")
    assert watch.ending(within=5) is Ending.CLEAN
    compressed = bob.watch(f"{CONFIGMAPS}?{STREAMING_LIST}&timeoutSeconds=1")
    assert compressed.ending(within=5) is Ending.CLEAN


def test_a_watch_from_a_version_long_gone_is_told_410_by_an_event(bob: Browser) -> None:
    watch = bob.watch(f"{CONFIGMAPS}?watch=1&resourceVersion=1")
    event = watch.event()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_table_can_be_watched(bob: Browser, cluster: Cluster) -> None:
    watch = bob.watch(
        f"{CONFIGMAPS}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dsettings-4",
        accept="application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    assert watch.event()["object"]["kind"] == "Table"
    cluster.tick("settings-4")
    assert watch.event()["type"] == "MODIFIED"


def test_a_watch_that_rbac_denies_is_a_refusal_and_not_an_empty_stream(carol: Browser) -> None:
    answer = carol.get(f"{CONFIGMAPS}?watch=1")
    assert_refused_by_kubernetes(answer, 403, "Forbidden")


def test_a_browser_that_leaves_takes_its_watch_from_the_api_server(
    signed_in: Callable[[str], Browser], cluster: Cluster
) -> None:
    audit = cluster.audit()
    leaving = signed_in("bob@example.com")
    watch = streaming_list(leaving, "settings-1")
    audit_id = watch.headers["audit-id"]
    audit.of(audit_id, "ResponseStarted")
    leaving.close()
    assert audit.of(audit_id, "ResponseComplete", within=2)["verb"] == "watch"


def assert_hardened_watch(watch: Watch) -> None:
    assert watch.headers["content-type"] == "application/json"
    assert "content-encoding" not in watch.headers
    assert "content-length" not in watch.headers
    assert_hardened(watch.response)


def test_more_watches_than_one_connection_upstream_may_carry_all_see_a_change(
    open_browser: OpenBrowser, http_version: str, cluster: Cluster
) -> None:
    """kube-apiserver allows 100 streams a connection, and a browser over HTTP/1.1 opens one for each."""
    browsers = [open_browser(http_version) for _ in range(8)]
    for browser in browsers:  # a session each, within which 64 requests may be open, and 100 come at once
        browser.sign_in("bob@example.com")
    watches = [plain_watch(browser, "settings-5") for browser in browsers for _ in range(45)]
    tick = cluster.tick("settings-5")
    assert {watch.change(within=10)["object"]["data"]["tick"] for watch in watches} == {tick}

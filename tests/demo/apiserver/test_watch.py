"""Watches: what they begin with, what they tell, and how they end."""

import gzip
import json

import pytest

from foyer.demo.apiserver.watch import BACKLOG_BYTES, BOOKMARK_INTERVAL, INITIAL_EVENTS_END
from foyer.demo.handler import Ending
from tests.demo.fakes import CONFIG_MAPS, NOTES, Cluster

STREAMING = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.fixture
def two(cluster: Cluster) -> Cluster:
    """The ConfigMaps `a`, labelled, and `b`."""
    cluster.config_map("a", labels={"app": "x"})
    cluster.config_map("b")
    return cluster


@pytest.mark.parametrize("query", ["", "&resourceVersion=0"])
def test_without_a_version_a_watch_begins_with_what_there_is(two: Cluster, query: str) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1{query}")
    assert watch.names() == [("ADDED", "a"), ("ADDED", "b")]
    two.config_map("c")
    assert watch.woken == 1
    assert watch.names() == [("ADDED", "c")]


def test_from_a_version_it_tells_every_change_since(two: Cluster) -> None:
    version = two.store.version
    two.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})
    two.ask("DELETE", f"{CONFIG_MAPS}/b")
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={version}")
    two.config_map("c")
    assert watch.names() == [("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "c")]


def test_a_deleted_object_is_told_with_the_version_of_its_deletion(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={two.store.version}")
    two.ask("DELETE", f"{CONFIG_MAPS}/a")
    ((kind, target),) = watch.events()
    assert (kind, target["metadata"]["resourceVersion"]) == ("DELETED", str(two.store.version))


def test_leaving_a_selection_is_deletion_and_entering_it_is_addition(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&labelSelector=app%3Dx")
    assert watch.names() == [("ADDED", "a")]
    two.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"app": "y"}}})
    two.merge(f"{CONFIG_MAPS}/b", {"metadata": {"labels": {"app": "x"}}})
    two.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "unseen"}})
    left, entered = watch.events()
    assert (left[0], left[1]["metadata"]["labels"]) == ("DELETED", {"app": "x"})
    assert int(left[1]["metadata"]["resourceVersion"]) == two.store.version - 2
    assert (entered[0], entered[1]["metadata"]["name"]) == ("ADDED", "b")


def test_a_field_selector_follows_one_object(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Db")
    two.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})
    two.merge(f"{CONFIG_MAPS}/b", {"data": {"k": "1"}})
    assert watch.names() == [("ADDED", "b"), ("MODIFIED", "b")]


def test_what_has_passed_is_selected_as_what_comes(two: Cluster) -> None:
    version = two.store.version
    two.merge(f"{CONFIG_MAPS}/b", {"data": {"k": "unseen"}})
    two.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": None}})
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&labelSelector=app&resourceVersion={version}")
    assert watch.names() == [("DELETED", "a")]


def test_time_that_passes_after_the_end_changes_nothing(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion=1&allowWatchBookmarks=1")
    watch.outflow.tick(two.clock.advance(10_000))
    assert [kind for kind, _ in watch.events()] == ["ERROR"]


def test_the_deprecated_path_is_a_watch_of_one_object(two: Cluster) -> None:
    watch = two.watch("/api/v1/watch/namespaces/demo/configmaps/a")
    assert watch.names() == [("ADDED", "a")]


def test_a_namespace_is_followed_alone_and_all_of_them_together(two: Cluster) -> None:
    one = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={two.store.version}")
    every = two.watch(f"/api/v1/configmaps?watch=1&resourceVersion={two.store.version}", as_="admin")
    two.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
    assert one.names() == []
    assert every.names() == [("ADDED", "c")]


def test_a_streaming_list_ends_with_the_annotated_bookmark(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&{STREAMING}")
    *added, (kind, target) = watch.events()
    assert [event[1]["metadata"]["name"] for event in added] == ["a", "b"]
    assert (kind, target["kind"], target["apiVersion"]) == ("BOOKMARK", "ConfigMap", "v1")
    assert target["metadata"] == {
        "resourceVersion": str(two.store.version),
        "annotations": {INITIAL_EVENTS_END: "true"},
    }


def test_an_empty_streaming_list_is_its_bookmark(cluster: Cluster) -> None:
    ((kind, target),) = cluster.watch(f"{NOTES}?watch=1&{STREAMING}").events()
    assert (kind, target["kind"]) == ("BOOKMARK", "Note")


def test_without_bookmarks_a_streaming_list_has_no_end(two: Cluster) -> None:
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    assert len(two.watch(f"{CONFIG_MAPS}?watch=1&{query}").events()) == 2


def test_without_initial_events_only_changes_are_told(two: Cluster) -> None:
    query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&{query}")
    two.config_map("c")
    assert watch.names() == [("ADDED", "c")]


def test_a_watch_that_takes_bookmarks_and_names_no_version_is_a_streaming_list_too(two: Cluster) -> None:
    kinds = [kind for kind, _ in two.watch(f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true").events()]
    assert kinds == ["ADDED", "ADDED", "BOOKMARK"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("sendInitialEvents=true", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ("resourceVersionMatch=NotOlderThan", "resourceVersionMatch is forbidden for watch unless"),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", 'Unsupported value: "Exact"'),
        ("continue=abc", "resourceVersionMatch is forbidden when continue is provided"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_the_watch(
    cluster: Cluster, query: str, message: str
) -> None:
    reply = cluster.ask("GET", f"{CONFIG_MAPS}?watch=1&{query}")
    assert (reply.status, reply.json["reason"]) == (422, "Invalid")
    assert message in reply.message


def test_a_server_without_the_feature_refuses_streaming_lists(cluster: Cluster) -> None:
    cluster.api = cluster.server(watch_list=False)
    reply = cluster.ask("GET", f"{CONFIG_MAPS}?watch=1&{STREAMING}")
    assert reply.status == 422
    assert "sendInitialEvents is forbidden for watch unless the WatchList feature gate" in reply.message


def test_a_compacted_version_is_an_error_event_on_a_200_and_the_end(two: Cluster) -> None:
    version = two.store.version
    two.config_map("c")
    two.store.compact()
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={version}")
    ((kind, status),) = watch.events()
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"] == f"too old resource version: {version} ({version + 1})"
    assert watch.outflow.ending is Ending.COMPLETE


def test_a_streaming_list_from_the_future_is_an_error_event(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&{STREAMING}&resourceVersion={two.store.version + 5}")
    ((kind, status),) = watch.events()
    assert (kind, status["code"], status["reason"]) == ("ERROR", 504, "Timeout")


def test_a_watch_from_the_future_waits_for_it(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={two.store.version + 1}")
    two.config_map("c")
    two.config_map("d")
    assert watch.names() == [("ADDED", "d")]


def test_bookmarks_come_about_every_minute_and_shortly_before_the_end(two: Cluster) -> None:
    begun = two.clock()
    version = two.store.version
    watch = two.watch(
        f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=1&resourceVersion={version}&timeoutSeconds=150"
    )
    told = []
    for second in range(1, 200):
        watch.outflow.tick(begun + second)
        told += [second for kind, _ in watch.events() if kind == "BOOKMARK"]
        if watch.outflow.ending:
            break
    assert told == [BOOKMARK_INTERVAL, 2 * BOOKMARK_INTERVAL, 148]
    assert (second, watch.outflow.ending) == (150, Ending.COMPLETE)


def test_a_bookmark_is_the_newest_version_and_no_change_after_it_is_older(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=1&resourceVersion={two.store.version}")
    two.note("elsewhere")
    watch.outflow.tick(two.clock.advance(61))
    two.config_map("c")
    (bookmark, added) = watch.events()
    assert bookmark[1]["metadata"] == {"resourceVersion": str(two.store.version - 1)}
    assert added[1]["metadata"]["resourceVersion"] == str(two.store.version)


def test_without_asking_there_are_no_bookmarks_and_a_watch_ends_within_an_hour(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={two.store.version}")
    watch.outflow.tick(two.clock.advance(1799))
    assert (watch.pieces(), watch.outflow.ending) == ([], None)
    watch.outflow.tick(two.clock.advance(1801))
    assert (watch.pieces(), watch.outflow.ending) == ([], Ending.COMPLETE)
    assert two.store.subscribers() == 0


def test_a_watcher_that_does_not_take_its_events_is_cut_off_and_forgotten(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={two.store.version}")
    for number in range(BACKLOG_BYTES // 100_000 + 1):
        assert watch.outflow.ending is None
        two.config_map(f"big-{number}", k="x" * 100_000)
    assert watch.outflow.ending is Ending.ABORTED
    assert two.store.subscribers() == 0


def test_neither_a_large_snapshot_nor_a_long_past_counts_as_falling_behind(two: Cluster) -> None:
    version = two.store.version
    for number in range(20):
        two.config_map(f"big-{number}", k="x" * 100_000)
    snapshot = two.watch(f"{CONFIG_MAPS}?watch=1")
    past = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={version}")
    assert len(snapshot.events()) == 22
    assert len(past.events()) == 20


def test_one_event_may_be_larger_than_the_backlog(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={two.store.version}")
    annotated = {
        "metadata": {"name": "c", "annotations": {"a": "x" * 200_000}},
        "data": {"k": "y" * 1_000_000},
    }
    two.create(CONFIG_MAPS, annotated)
    assert watch.names() == [("ADDED", "c")]


def test_a_closed_watch_is_told_of_nothing(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1")
    watch.outflow.close()
    two.config_map("c")
    assert (watch.woken, watch.outflow.take(), two.store.subscribers()) == (0, None, 0)


@pytest.mark.parametrize(
    ("query", "compressed"),
    [
        (STREAMING, True),
        ("allowWatchBookmarks=true", True),
        ("allowWatchBookmarks=true&resourceVersion=0", True),
        ("", False),
        ("resourceVersion=0", False),
        ("allowWatchBookmarks=true&resourceVersion=1003", False),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", False),
    ],
)
def test_only_a_watch_with_an_end_to_its_initial_events_is_compressed(
    two: Cluster, query: str, compressed: bool
) -> None:
    answer = two.stream(f"{CONFIG_MAPS}?watch=1&{query}", gzip=True)
    assert ((b"content-encoding", b"gzip") in answer.fields) is compressed
    assert (b"content-encoding", b"gzip") not in two.stream(f"{CONFIG_MAPS}?watch=1&{query}").fields


def test_a_compressed_watch_is_one_gzip_member_an_event(two: Cluster) -> None:
    watch = two.watch(f"{CONFIG_MAPS}?watch=1&{STREAMING}", gzip=True)
    two.config_map("c")
    kinds = [json.loads(gzip.decompress(piece))["type"] for piece in watch.pieces()]
    assert kinds == ["ADDED", "ADDED", "BOOKMARK", "ADDED"]


def test_a_change_is_encoded_once_for_all_who_see_it_alike(two: Cluster) -> None:
    watches = [two.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={two.store.version}") for _ in range(3)]
    two.config_map("c")
    ((first,), (second,), (third,)) = [watch.pieces() for watch in watches]
    assert first is second is third

"""Following one scope at the API server, as scripts (spec 05, Upstream and Wire).

Among them what clients are known to get wrong: 410 for ever (minikube #2585), an end that lists for ever
(rancher/dashboard #5997).
"""

import pytest

from foyer.streams import reflector, watch
from foyer.streams.errors import Code
from foyer.streams.reflector import GONE_MOST, REOPENED_RETRY_AFTER, SLICE_ITEMS, Step
from foyer.streams.resource import SLICE_BYTES
from tests.streams.following import (
    COMPLETE,
    CONFIGMAPS,
    SECRETS,
    Following,
    added,
    bookmark,
    change,
    config_map,
    deleted,
    error,
    modified,
    page,
    secret,
    status,
)

RESYNC = "RESYNC_REQUIRED"
UNAVAILABLE = "UPSTREAM_UNAVAILABLE"

TOMBSTONE = deleted(config_map().replace(b'"uid":"u1",', b""))
HUSK = modified(
    config_map().replace(b"ConfigMap", b"PartialObjectMetadata").replace(b'"v1"', b'"meta.k8s.io/v1"')
)


def live(*objects: bytes, query: bytes = CONFIGMAPS, lenient: bool = False) -> Following:
    """A stream whose first snapshot is complete, over a streaming list."""
    following = Following(query, lenient=lenient)
    assert following.receive(*map(added, objects), COMPLETE) is Step.READ
    return following


def watching(*objects: bytes) -> Following:
    """The same over a list and a watch."""
    following = Following(streaming=False)
    assert following.answer(200, page(objects)) is Step.REQUEST
    return following


# The usual way.


def test_a_streaming_list_is_asked_for_first() -> None:
    following = Following()
    assert b"sendInitialEvents=true" in following.reflector.target
    assert following.reflector.in_snapshot
    assert not following.reflector.whole


def test_a_snapshot_and_then_what_changes() -> None:
    following = live(config_map("u1"), config_map("u2"))
    assert not following.reflector.in_snapshot
    following.receive(
        modified(config_map("u1", "11", b"{}")),
        added(config_map("u3")),
        bookmark("99"),
        deleted(config_map("u2", "12")),
    )
    assert following.types == ["reset", "added", "added", "synced", "modified", "added", "deleted"]


def test_a_scope_of_nothing_is_framed_as_well() -> None:
    assert live().types == ["reset", "synced"]
    assert watching().types == ["reset", "synced"]


def test_nothing_is_on_the_wire_before_upstream_said_anything() -> None:
    following = Following()
    following.receive(bookmark())
    assert following.wire == b""


def test_an_early_bookmark_is_no_boundary_and_a_second_end_is_none_either() -> None:
    following = Following()
    following.receive(
        added(config_map("u1")), bookmark(), added(config_map("u2")), COMPLETE, COMPLETE, bookmark()
    )
    assert following.types == ["reset", "added", "added", "synced"]


def test_what_changes_during_the_snapshot_is_in_it() -> None:
    following = Following()
    following.receive(
        added(config_map("u1")),
        added(config_map("u2")),
        modified(config_map("u1", "11", b"{}")),
        deleted(config_map("u2", "12")),
        COMPLETE,
    )
    assert following.types == ["reset", "added", "added", "added", "deleted", "synced"]


# Lists.


def test_without_streaming_lists_pages_are_listed_and_watched_from_the_first_ones_version() -> None:
    following = Following(streaming=False)

    def asked() -> tuple[bool, bool]:
        return following.reflector.whole, following.reflector.in_snapshot

    assert asked() == (True, True)
    assert following.reflector.target == b"/api/v1/namespaces/app/configmaps?limit=500"
    assert following.answer(200, page([config_map("u1")], "70", "t1")) is Step.REQUEST
    assert following.reflector.target.endswith(b"?limit=500&continue=t1")
    assert following.types == ["reset", "added"]
    assert asked() == (True, True)
    assert following.answer(200, page([config_map("u2")], "71")) is Step.REQUEST
    # Where they differ: what happened between the two is told, of what is on either.
    assert b"resourceVersion=70&" in following.reflector.target
    assert asked() == (False, False)
    following.receive(COMPLETE, modified(config_map("u1", "72", b"{}")))
    assert following.types == ["reset", "added", "added", "synced", "modified"]
    following.wait(5)
    following.end()
    following.answer(200, page([], "90"))
    assert b"resourceVersion=90&" in following.reflector.target, "a new cycle's own"


def test_a_large_page_is_shown_in_slices_so_that_others_have_their_turn() -> None:
    following = Following(streaming=False)
    objects = [config_map(f"u{number}") for number in range(2 * SLICE_ITEMS + 1)]
    content = page(objects, "70", "more")
    assert following.reflector.answered(200, content, None, following.now) is Step.MORE
    assert following.types.count("added") == SLICE_ITEMS
    assert following.reflector.go_on(following.now) is Step.MORE
    assert following.reflector.go_on(following.now) is Step.REQUEST
    assert following.types == ["reset"] + ["added"] * len(objects)
    assert following.answer(200, page(objects[:SLICE_ITEMS], "70")) is Step.REQUEST
    assert following.types[-1] == "synced"


@pytest.mark.parametrize(("size", "slices"), [(SLICE_BYTES, 4), (SLICE_BYTES // 2, 2), (SLICE_BYTES // 4, 1)])
def test_large_objects_are_shown_in_slices_of_fewer(size: int, slices: int) -> None:
    following = Following(streaming=False)
    objects = [config_map(f"u{number}", data=b'{"a":"%b"}' % (b"x" * size)) for number in range(4)]
    assert following.reflector.answered(200, page(objects, "70"), None, following.now) is Step.MORE
    for each in range(1, slices):
        assert following.types.count("added") == each * 4 // slices
        assert following.reflector.go_on(following.now) is Step.MORE
    assert following.types.count("added") == 4
    assert following.reflector.go_on(following.now) is Step.REQUEST
    assert following.types[-1] == "synced"


@pytest.mark.parametrize("code", [400, 403, 422])
def test_where_the_option_is_refused_it_falls_back_at_once_and_says_so(code: int) -> None:
    following = Following()
    assert following.answer(code, status(code, "sendInitialEvents: Forbidden: no")) is Step.REQUEST
    assert following.reflector.streaming_refused
    assert following.reflector.target.endswith(b"?limit=500")
    following.answer(200, page([config_map()]))
    assert following.types == ["reset", "added", "synced"]
    following.wait(60)
    assert following.end() is Step.CYCLE
    assert following.reflector.target.endswith(b"?limit=500")


def test_a_refusal_of_anything_else_is_the_only_event() -> None:
    following = Following()
    assert following.answer(403, status(403, "configmaps is forbidden")) is Step.END
    assert not following.reflector.streaming_refused
    (event,) = following.events
    assert (event["code"], event["terminal"], event["message"]) == (
        "FORBIDDEN",
        True,
        "configmaps is forbidden",
    )


# The table, wherever it applies.

TABLE = [
    (403, "FORBIDDEN"),
    (401, "UNAUTHENTICATED"),
    (404, "SCOPE_INVALID"),
    (400, "SCOPE_INVALID"),
    (422, "SCOPE_INVALID"),
    (302, "INTERNAL"),
    (429, UNAVAILABLE),
    (500, UNAVAILABLE),
    (503, UNAVAILABLE),
]


@pytest.mark.parametrize(("code", "word"), TABLE)
def test_an_answer_instead_of_a_stream_ends_it_wherever_it_comes(code: int, word: str) -> None:
    opening = Following()
    assert opening.answer(code, status(code, "m"), 3.0) is Step.END
    assert opening.types == [word]

    listing = Following(streaming=False)
    assert listing.answer(code, status(code, "m"), 3.0) is Step.END
    assert listing.types == [word]

    paging = Following(streaming=False)
    paging.answer(200, page([config_map()], "1", "more"))
    assert paging.answer(code, status(code, "m"), 3.0) is Step.END
    assert paging.types == ["reset", "added", word]

    behind = watching()
    assert behind.answer(code, status(code, "m"), 3.0) is Step.END
    assert behind.types == ["reset", "synced", word]

    hints = {
        str(event.get("retryAfterMs")) for following in (opening, behind) for event in following.events[-1:]
    }
    assert hints == ({"3000"} if word == UNAVAILABLE else {"None"})


@pytest.mark.parametrize(("code", "word"), [row for row in TABLE if row[0] != 302])
def test_an_error_on_the_open_watch_means_the_same(code: int, word: str) -> None:
    for following, before in (
        (Following(), []),
        (live(), ["reset", "synced"]),
        (watching(), ["reset", "synced"]),
    ):
        assert following.receive(error(code, "m"), added(config_map())) is Step.END
        assert following.types == [*before, word]


def test_no_answer_is_unavailable() -> None:
    for following, before in ((Following(), []), (watching(), ["reset", "synced"])):
        assert following.reflector.unanswered() is Step.END
        assert following.types == [*before, UNAVAILABLE]
        assert "retryAfterMs" in following.events[-1]


# Continuity.

LOSSES = {
    "410": error(410, "too old resource version", "Expired"),
    "gone without a code": change("ERROR", b'{"kind":"Status","reason":"Expired"}'),
    "a tombstone": TOMBSTONE,
    "a husk": HUSK,
    "nothing": added(b"{}"),
    "the end": b"",
}


def lose(following: Following, line: bytes) -> Step:
    return following.receive(line) if line else following.end()


@pytest.mark.parametrize("line", LOSSES.values(), ids=LOSSES.keys())
def test_lost_continuity_is_a_fresh_cycle_on_the_same_connection(line: bytes) -> None:
    following = live(config_map("u1"), config_map("u2"))
    following.wait(60)
    assert lose(following, line) is Step.CYCLE
    assert b"sendInitialEvents=true" in following.reflector.target
    assert following.receive(added(config_map("u1")), COMPLETE) is Step.READ
    assert following.types == ["reset", "added", "added", "synced", RESYNC, "reset", "added", "synced"]


@pytest.mark.parametrize("line", LOSSES.values(), ids=LOSSES.keys())
def test_lost_in_the_middle_of_a_snapshot_it_is_begun_again(line: bytes) -> None:
    following = Following()
    following.receive(added(config_map("u1")))
    assert lose(following, line) is Step.CYCLE
    following.receive(added(config_map("u1")), COMPLETE)
    assert following.types == ["reset", "added", RESYNC, "reset", "added", "synced"]


@pytest.mark.parametrize("line", LOSSES.values(), ids=LOSSES.keys())
def test_lost_behind_a_list_it_is_listed_again(line: bytes) -> None:
    following = watching(config_map("u1"))
    following.wait(60)
    assert lose(following, line) is Step.CYCLE
    assert following.reflector.target.endswith(b"?limit=500")
    following.answer(200, page([]))
    assert following.types == ["reset", "added", "synced", RESYNC, "reset", "synced"]


@pytest.mark.parametrize("first", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("second", LOSSES.values(), ids=LOSSES.keys())
def test_lost_at_once_twice_in_a_row_it_is_unavailable_whatever_lost_it(first: bytes, second: bytes) -> None:
    following = Following()
    assert lose(following, first) is Step.CYCLE
    assert lose(following, second) is Step.END
    assert following.types.count(RESYNC) == 1
    assert following.types[-1] == UNAVAILABLE
    assert str(following.events[-1]["retryAfterMs"]) == str(round(REOPENED_RETRY_AFTER * 1000))


def test_410_on_the_very_first_answer_is_one_resync_and_no_loop() -> None:
    following = Following()
    assert following.answer(410, status(410, "", "Expired")) is Step.CYCLE
    assert following.answer(410) is Step.END
    assert following.types == [RESYNC, UNAVAILABLE]


def test_pages_that_go_on_with_themselves_are_the_end_and_not_read_for_ever() -> None:
    following = Following(streaming=False)
    assert following.answer(200, page([config_map("u1")], "1", "again")) is Step.REQUEST
    assert following.answer(200, page([config_map("u2")], "1", "again")) is Step.END
    assert following.types == ["reset", "added", UNAVAILABLE]


def test_410_for_a_pages_token_lists_anew() -> None:
    following = Following(streaming=False)
    following.answer(200, page([config_map("u1")], "1", "old"))
    assert following.answer(410, status(410, "", "Expired")) is Step.CYCLE
    assert following.reflector.target.endswith(b"?limit=500")
    following.answer(200, page([config_map("u1")]))
    assert following.types == ["reset", "added", RESYNC, "reset", "added", "synced"]


def test_410_on_the_first_watch_behind_a_list_lists_anew_once() -> None:
    following = watching(config_map("u1"))
    assert following.answer(410) is Step.CYCLE
    assert following.answer(200, page([config_map("u1")])) is Step.REQUEST
    assert following.answer(410) is Step.END
    assert following.types == ["reset", "added", "synced", RESYNC, "reset", "added", "synced", UNAVAILABLE]


def test_an_end_within_a_second_of_synced_counts_as_at_once_and_a_later_one_does_not() -> None:
    for seconds, step in ((0.999, Step.END), (1.0, Step.CYCLE)):
        following = Following()
        assert following.end() is Step.CYCLE
        following.receive(COMPLETE)
        following.wait(seconds)
        assert following.end() is step


def test_an_end_that_came_in_good_time_is_none_in_the_row() -> None:
    following = Following()
    for _ in range(5):
        assert following.end() is Step.CYCLE
        following.receive(COMPLETE)
        following.wait(2)
        assert following.end() is Step.CYCLE
        following.receive(COMPLETE)
        following.wait(2)
    assert following.types.count(RESYNC) == 10


def test_a_half_event_at_the_end_of_a_watch_is_nothing() -> None:
    following = live()
    following.reflector.received(added(config_map())[:50], following.now)
    following.end()
    following.receive(COMPLETE)
    assert following.types == ["reset", "synced", RESYNC, "reset", "synced"]


# Stalls.


def test_a_snapshot_that_stalls_falls_back_to_a_list_once() -> None:
    following = Following()
    assert following.reflector.stalled() is Step.CYCLE
    assert following.reflector.target.endswith(b"?limit=500")
    assert not following.reflector.streaming_refused
    assert following.wire == b""
    assert following.reflector.stalled() is Step.END
    assert following.types == [UNAVAILABLE]


def test_a_snapshot_that_stalls_half_way_is_begun_again_and_never_left() -> None:
    following = Following()
    following.receive(added(config_map("u1")))
    assert following.reflector.stalled() is Step.CYCLE
    following.answer(200, page([config_map("u2")], "1", "more"))
    assert following.reflector.stalled() is Step.END
    assert following.types == ["reset", "added", RESYNC, "reset", "added", UNAVAILABLE]


# Order.


def test_an_older_version_of_a_uid_is_dropped_whatever_happened_to_it() -> None:
    following = live(config_map("u1", "100"))
    following.receive(
        modified(config_map("u1", "99", b"{}")),
        deleted(config_map("u1", "99")),
        added(config_map("u1", "9", b"{}")),
        modified(config_map("u1", "101", b"{}")),
        modified(config_map("u1", "1000", b"[]")),
        modified(config_map("u1", "999", b"{}")),
    )
    assert following.types == ["reset", "added", "synced", "modified", "modified"]


def test_what_is_gone_does_not_come_back_from_before() -> None:
    following = live(config_map("u1", "10"))
    following.receive(
        deleted(config_map("u1", "12")),
        modified(config_map("u1", "11", b"{}")),
        modified(config_map("u1", "12", b"{}")),
        deleted(config_map("u1", "12")),
        deleted(config_map("u1", "11")),
        added(config_map("u1", "13")),
    )
    assert following.types == ["reset", "added", "synced", "deleted", "added"]


def test_a_deletion_at_the_version_that_was_last_seen_is_one() -> None:
    following = live(config_map("u1", "10"))
    following.receive(deleted(config_map("u1", "10")), modified(config_map("u1", "10", b"{}")))
    assert following.types == ["reset", "added", "synced", "deleted"]


def test_a_deletion_of_what_was_never_seen_is_passed_on() -> None:
    following = live()
    following.receive(deleted(config_map("u1", "10")))
    assert following.types == ["reset", "synced", "deleted"]


def test_a_new_cycle_orders_anew() -> None:
    following = live(config_map("u1", "100"), config_map("u2", "100"))
    following.receive(deleted(config_map("u2", "100")))
    following.wait(60)
    following.end()
    following.receive(added(config_map("u1", "50")), added(config_map("u2", "50")), COMPLETE)
    assert following.types[-4:] == ["reset", "added", "added", "synced"]


def test_within_a_snapshot_the_order_holds_as_well() -> None:
    following = Following(streaming=False)
    following.answer(200, page([config_map("u1", "20")], "30", "more"))
    following.answer(200, page([config_map("u1", "10", b"{}"), config_map("u1", "21", b"{}")], "30"))
    assert following.types == ["reset", "added", "added", "synced"]


def test_of_what_is_gone_a_thousand_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "GONE_MOST", 3)
    assert GONE_MOST == 1000
    following = live()
    following.receive(*(deleted(config_map(f"u{number}", "10")) for number in range(4)))
    before = len(following.types)
    following.receive(*(added(config_map(f"u{number}", "9")) for number in range(4)))
    assert following.types[before:] == ["added"]


OPAQUE = "opaque-alpha"


@pytest.mark.parametrize("version", [OPAQUE, "", "0", "010", "1.5"])
def test_a_version_without_an_order_ends_a_strict_stream_and_says_what_lets_it_pass(version: str) -> None:
    snapshot = Following()
    assert snapshot.receive(added(config_map("u1", version)), COMPLETE) is Step.END
    assert snapshot.types == ["reset", "INTERNAL"]
    assert "-stream-lenient-ordering=configmaps" in snapshot.events[-1]["message"]
    assert snapshot.events[-1]["terminal"] is True
    for kind in (added, modified, deleted):
        later = live(config_map("u1"))
        assert later.receive(kind(config_map("u1", version))) is Step.END
        assert later.types == ["reset", "added", "synced", "INTERNAL"]
    listed = Following(streaming=False)
    assert listed.answer(200, page([config_map("u1", version)])) is Step.END
    assert listed.types == ["reset", "INTERNAL"]


def test_a_lenient_stream_passes_what_has_no_order_and_orders_what_has_one() -> None:
    following = live(config_map("u1", OPAQUE), lenient=True)
    following.receive(
        modified(config_map("u1", "aardvark", b"{}")),
        modified(config_map("u1", "5", b"[]")),
        modified(config_map("u1", "4", b"{}")),
        modified(config_map("u1", OPAQUE, b"{}")),
        deleted(config_map("u1", "b")),
        added(config_map("u1", "b")),
    )
    assert following.types == [
        "reset",
        "added",
        "synced",
        "modified",
        "modified",
        "modified",
        "deleted",
        "added",
    ]


def test_a_bookmarks_and_a_lists_versions_need_no_order() -> None:
    following = Following(streaming=False)
    following.answer(200, page([config_map()], "opaque/1"))
    assert b"resourceVersion=opaque%2F1&" in following.reflector.target
    following.receive(bookmark(OPAQUE))
    assert following.types == ["reset", "added", "synced"]


# What is unchanged.


def test_an_update_that_a_page_would_find_unchanged_is_not_sent_and_its_version_counts() -> None:
    following = live(config_map("u1", "10"))
    following.receive(
        modified(config_map("u1", "20", more=b',"managedFields":[1]')),
        modified(config_map("u1", "15", b"{}")),
        modified(config_map("u1", "21", b"{}")),
        modified(config_map("u1", "22")),
    )
    assert following.types == ["reset", "added", "synced", "modified", "modified"]


def test_a_fresh_cycle_sends_what_is_unchanged() -> None:
    following = live(config_map("u1", "10"))
    following.wait(60)
    following.end()
    following.receive(added(config_map("u1", "10")), COMPLETE)
    assert following.types[-3:] == ["reset", "added", "synced"]


def test_what_comes_back_is_sent_though_it_is_what_it_was() -> None:
    following = live(config_map("u1", "10"))
    following.receive(deleted(config_map("u1", "11")), added(config_map("u1", "12")))
    assert following.types == ["reset", "added", "synced", "deleted", "added"]


def test_a_change_of_status_alone_is_not_sent_to_the_spec() -> None:
    def with_status(version: str, ready: int) -> bytes:
        return config_map("u1", version)[:-1] + b',"status":{"ready":%d}}' % ready

    full = live(with_status("1", 1))
    full.receive(modified(with_status("2", 2)))
    assert full.types == ["reset", "added", "synced", "modified"]
    spec = live(with_status("1", 1), query=b"version=v1&resource=configmaps&projection=krm-spec/v1")
    spec.receive(modified(with_status("2", 2)))
    assert spec.types == ["reset", "added", "synced"]


def test_a_redacted_value_that_changes_is_a_change() -> None:
    following = live(secret("s1", "1", b'{"token":"hunter1","user":"bob"}'), query=SECRETS)
    following.receive(
        modified(secret("s1", "2", b'{"token":"hunter2","user":"bob"}')),
        modified(secret("s1", "3", b'{"token":"hunter2","user":"bob"}')),
        modified(secret("s1", "4", b'{"token":"hunter2"}')),
    )
    following.wait(60)
    following.end()
    following.receive(added(secret("s1", "5", b'{"token":"hunter3"}')), COMPLETE)
    shown = [
        {record["path"]: str(record["rev"]) for record in event["redacted"]}
        for event in following.events
        if "redacted" in event
    ]
    assert shown == [
        {"/data/token": "1", "/data/user": "1"},
        {"/data/token": "2", "/data/user": "1"},
        {"/data/token": "2"},
        {"/data/token": "3"},
    ]
    assert b"hunter" not in following.wire


# Upstream's faults.


def test_what_cannot_be_read_ends_the_stream_for_now() -> None:
    following = live()
    assert following.receive(b"{nonsense", added(config_map())) is Step.END
    assert following.types == ["reset", "synced", UNAVAILABLE]
    listed = Following(streaming=False)
    assert listed.answer(200, b"<html>") is Step.END
    assert listed.types == [UNAVAILABLE]


def test_an_event_that_outgrows_its_room_waits_for_more_and_is_shown_once_it_is_whole() -> None:
    following = live()
    reflector = following.reflector
    line = added(config_map(data=b'{"a":"%b"}' % (b"x" * 3 * watch.FREE_BYTES))) + b"\n"
    first, second, third, rest = (
        line[:9],
        line[9 : watch.FREE_BYTES + 9],
        line[watch.FREE_BYTES + 9 : -9],
        line[-9:],
    )
    assert reflector.received(first, following.now) is Step.READ
    assert reflector.received(second, following.now) is Step.HOLD
    assert reflector.waiting == len(first + second)
    reflector.may_hold(reflector.waiting + len(third))
    assert reflector.received(third, following.now) is Step.READ
    assert following.types == ["reset", "synced"]
    assert reflector.received(rest, following.now) is Step.READ
    assert following.types == ["reset", "synced", "added"]
    assert reflector.waiting == 0


def test_what_is_too_large_ends_it_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_EVENT_BYTES", 1000)
    following = live()
    assert following.reflector.received(b"x" * 1001, following.now) is Step.END
    assert following.types == ["reset", "synced", "INTERNAL"]
    listed = Following(streaming=False)
    assert listed.reflector.too_large() is Step.END
    assert [event["code"] for event in listed.events] == [Code.INTERNAL.value]


def test_an_item_that_is_not_whole_lists_anew_once() -> None:
    following = Following(streaming=False)
    assert following.answer(200, page([config_map("u1"), b"{}", config_map("u2")])) is Step.CYCLE
    assert following.answer(200, page([b"{}"])) is Step.END
    assert following.types == ["reset", "added", RESYNC, UNAVAILABLE]


def test_a_watch_is_never_fed_in_whole() -> None:
    with pytest.raises(AssertionError, match="as it comes"):
        Following().answer(200, b"")


# What passes.

ODD = (
    b'{"n":[9007199254740993,12345678901234567890,1e400,-0,1.0,0.10,-1E-9],'
    b'"s":"\\ud800 \\u2028 \xe2\x80\xa8 \xf0\x9f\x98\x80 \\/ \\u0041 \\"","":{},"d":[[],{}]}'
)


@pytest.mark.parametrize("data", [ODD, b'{"a":"%b"}' % (b"x" * (2 * 1024 * 1024))], ids=["odd", "large"])
def test_what_an_object_holds_passes_byte_for_byte(data: bytes) -> None:
    for following in (live(config_map(data=data)), watching(config_map(data=data))):
        assert b'"data":' + data + b"}" in following.wire
        assert following.types == ["reset", "added", "synced"]


def test_uids_that_many_streams_know_are_one_string() -> None:
    one, other = live(config_map("a" * 36)), live(config_map("a" * 36))
    (first,), (second,) = one.reflector._versions, other.reflector._versions
    assert first is second

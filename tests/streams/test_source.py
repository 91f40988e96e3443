"""A scope followed at the API server: what is asked, what becomes of answers, stalls, pauses, and leaving."""

from dataclasses import replace

import pytest

from foyer.exchange.endings import Cause, Complete, CutShort
from foyer.exchange.ports import HIGH_WATER
from foyer.interruption import Interruption, Reason
from foyer.protocol.events import Failure, Fields, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams import errors
from foyer.streams.errors import StreamError
from foyer.streams.reflector import SLICE_ITEMS, STALL
from foyer.streams.resource import Resource
from foyer.streams.scope import Scope
from foyer.streams.snapshot import Entrant, Keeper, Refusal
from foyer.streams.source import MAX_REFUSAL_BYTES, SNAPSHOT_MOST, WHOLE, Source, State
from foyer.streams.watch import FREE_BYTES, Change
from tests.exchange.sides import Told
from tests.streams.following import (
    COMPLETE,
    CONFIGMAPS,
    added,
    bookmark,
    config_map,
    error,
    modified,
    opening,
    page,
    status,
)
from tests.streams.gating import Nothing, Roomy
from tests.streams.staged import JSON, Clocked, Staged

SNAPSHOT = added(config_map()) + b"\n" + COMPLETE + b"\n"
LISTING = b"/api/v1/namespaces/app/configmaps?limit=500"
WATCHING = b"/api/v1/namespaces/app/configmaps?watch=1&resourceVersion=100&allowWatchBookmarks=true"
UNSUPPORTED = status(422, "sendInitialEvents is forbidden for watch", "Invalid")


def live() -> Staged:
    """Behind a snapshot of one object."""
    staged = Staged()
    staged.respond(SNAPSHOT)
    assert staged.types == ["reset", "added", "synced"]
    return staged


def listing(*, items: int = 1, token: str = "", clocked: Clocked | None = None) -> Staged:
    """Where the server has no streaming lists, behind its first page."""
    clocked = clocked or Clocked()
    clocked.without_streaming.add(("demo", "", "v1"))
    staged = Staged(clocked=clocked)
    assert staged.target == LISTING
    staged.answer(page([config_map(f"u{number}") for number in range(items)], token=token))
    return staged


# What is asked.


def test_a_request_has_the_token_and_asks_for_plain_json() -> None:
    staged = Staged()
    head = staged.side.head
    assert head is not None
    assert (head.method, head.authority, head.ended) == (b"GET", b"api.test", True)
    assert head.target == (
        b"/api/v1/namespaces/app/configmaps"
        b"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    assert head.fields == [
        (b"authorization", b"Bearer the-token"),
        (b"accept", b"application/json"),
        (b"accept-encoding", b"identity"),
        (b"user-agent", b"foyer"),
    ]


def test_a_token_that_changed_goes_with_the_next_request() -> None:
    staged = live()
    staged.source.token = IdToken(b"another")
    staged.side.end()
    assert staged.side.head is not None
    assert staged.side.head.fields[0] == (b"authorization", b"Bearer another")


def test_nothing_is_ever_asked_without_a_token() -> None:
    staged = live()
    staged.source.token = IdToken(b"")
    staged.side.end()
    assert [type(fault) for fault in staged.services.faults] == [AssertionError]
    assert len(staged.clocked.places) == 1
    staged.assert_nothing_is_left()


def test_a_server_without_streaming_lists_is_asked_for_one_once_in_a_group_and_version() -> None:
    clocked = Clocked()
    first = Staged(clocked=clocked)
    first.answer(UNSUPPORTED, status=422)
    assert first.target == LISTING
    assert Staged(clocked=clocked).target == LISTING
    assert (
        b"sendInitialEvents" in Staged(b"group=apps&version=v1&resource=deployments", clocked=clocked).target
    )
    assert b"sendInitialEvents" in Staged(CONFIGMAPS + b"&target=prod", clocked=clocked).target


def test_what_is_remembered_of_servers_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foyer.streams.server.GROUP_VERSIONS_MOST", 2)
    clocked = Clocked()
    for group in ("a", "b", "c"):
        staged = Staged(f"group={group}&version=v1&resource=things".encode(), clocked=clocked)
        staged.answer(UNSUPPORTED, status=422)
    assert clocked.without_streaming == {("demo", "c", "v1")}


def test_pages_are_asked_for_one_after_the_other_and_then_the_watch() -> None:
    staged = listing(token="more")
    assert staged.target == LISTING + b"&continue=more"
    staged.answer(page([config_map("u9")]))
    assert staged.target == WATCHING
    assert staged.types == ["reset", "added", "added", "synced"]
    staged.respond(modified(config_map(version="101", data=b"{}")) + b"\n")
    assert staged.types[-1] == "modified"


# What becomes of answers.

REFUSED = [
    (403, "FORBIDDEN"),
    (401, "UNAUTHENTICATED"),
    (404, "SCOPE_INVALID"),
    (400, "SCOPE_INVALID"),
    (422, "SCOPE_INVALID"),
    (302, "INTERNAL"),
    (204, "INTERNAL"),
    (429, "UPSTREAM_UNAVAILABLE"),
    (500, "UPSTREAM_UNAVAILABLE"),
]


@pytest.mark.parametrize(("code", "word"), REFUSED)
def test_a_refusal_is_the_only_event_and_a_clean_end(code: int, word: str) -> None:
    staged = Staged()
    staged.answer(status(code, "the server's own words"), status=code)
    assert staged.types == [word]
    assert staged.services.endings == [Complete(200)]
    staged.assert_nothing_is_left()


@pytest.mark.parametrize(("code", "word"), REFUSED)
def test_so_it_is_when_it_has_no_content_or_is_broken_off(code: int, word: str) -> None:
    bare = Staged()
    bare.side.answer(ResponseHead(code, [], ended=True))
    assert bare.types == [word]
    bare.assert_nothing_is_left()
    broken = Staged()
    broken.respond(b'{"kind":"Sta', status=code)
    broken.side.fail(Failure.RESET)
    assert broken.types == [word]
    broken.assert_nothing_is_left()


def test_a_refusal_is_read_up_to_a_bound_and_then_its_status_counts_alone() -> None:
    staged = Staged()
    staged.respond(status(403, "no" * MAX_REFUSAL_BYTES)[: MAX_REFUSAL_BYTES + 1], status=403)
    assert staged.side.cancelled
    assert staged.types == ["FORBIDDEN"]
    staged.assert_nothing_is_left()


@pytest.mark.parametrize(("code", "word"), REFUSED)
def test_one_whose_content_has_no_end_counts_by_its_status_in_time(code: int, word: str) -> None:
    for opened in (Staged(), listing()):
        before = opened.types
        opened.respond(b'{"kind":"Sta', status=code)
        for _ in range(int(STALL) + 2):
            opened.clocked.wait(1.0)
            if not opened.side.over:
                opened.side.content(b" ")  # never silent, and of no use
        assert opened.types == [*before, word]
        opened.assert_nothing_is_left()


def test_so_does_one_on_the_watch_behind_a_list_that_says_its_version_is_gone() -> None:
    staged = listing()
    staged.respond(status=410)
    staged.clocked.wait(STALL + 2)
    assert staged.types == ["reset", "added", "synced", "RESYNC_REQUIRED"]
    assert staged.target == LISTING


@pytest.mark.parametrize(
    ("fields", "milliseconds"),
    [
        ([], "5000"),
        ([(b"retry-after", b"7")], "7000"),
        ([(b"retry-after", b"7"), (b"retry-after", b"8")], "5000"),
        ([(b"retry-after", b"Fri, 31 Dec 1999 23:59:59 GMT")], "5000"),
        ([(b"retry-after", b"-1")], "5000"),
        ([(b"retry-after", "\u0667".encode())], "5000"),
        ([(b"retry-after", b"9" * 400)], "5000"),
        ([(b"retry-after", b"999999999")], "3600000"),
    ],
)
def test_the_hint_is_the_answers_own_where_it_is_seconds(fields: Fields, milliseconds: str) -> None:
    staged = Staged()
    staged.answer(b"too many", 429, [(b"content-type", b"text/plain"), *fields])
    [event] = staged.events
    assert str(event["retryAfterMs"]) == milliseconds
    staged.assert_nothing_is_left()


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [(b"content-type", b"text/html")],
        [(b"content-type", b"application/vnd.kubernetes.protobuf")],
        [(b"content-type", b"application/jsonx")],
        [*JSON, *JSON],
        [*JSON, (b"content-encoding", b"gzip")],
        [*JSON, (b"content-encoding", b"")],
        [*JSON, (b"content-encoding", b"identity"), (b"content-encoding", b"gzip")],
    ],
)
def test_another_type_or_a_coding_is_no_answer(fields: Fields) -> None:
    staged = Staged()
    staged.respond(fields=fields)
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    assert staged.side.cancelled
    staged.assert_nothing_is_left()


@pytest.mark.parametrize(
    "kind", [b"application/json; charset=utf-8", b"Application/JSON", b"application/json;stream=watch"]
)
def test_json_is_json_whatever_its_parameters(kind: bytes) -> None:
    staged = Staged()
    staged.respond(SNAPSHOT, fields=[(b"content-type", kind), (b"content-encoding", b"Identity")])
    assert staged.types == ["reset", "added", "synced"]


def test_no_connection_is_no_answer() -> None:
    clocked = Clocked(at_once=False)
    staged = Staged(clocked=clocked)
    clocked.places[0].fail()
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_neither_is_a_page_that_is_not_whole() -> None:
    clocked = Clocked()
    clocked.without_streaming.add(("demo", "", "v1"))
    staged = Staged(clocked=clocked)
    staged.respond(page([config_map()])[:-5])
    staged.side.fail(Failure.TRUNCATED)
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_nor_is_an_answer_that_breaks_off_before_its_head() -> None:
    staged = Staged()
    staged.side.fail(Failure.RESET)
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def bounded(page: int) -> Clocked:
    """An API server without streaming lists, of whose pages so many bytes are taken."""
    clocked = Clocked()
    clocked.server = replace(clocked.server, max_page_bytes=page)
    clocked.without_streaming.add(("demo", "", "v1"))
    return clocked


@pytest.mark.parametrize("length", [b"1001", b"9" * 16, b"9" * 5000, b"-1", b"1e3", b""])
def test_a_page_whose_length_is_above_its_bound_is_given_up_unread(length: bytes) -> None:
    staged = Staged(clocked=bounded(1000))
    staged.side.answer(ResponseHead(200, [*JSON, (b"content-length", length)]))
    assert staged.types == ["INTERNAL"]
    assert staged.side.cancelled
    staged.assert_nothing_is_left()


def test_a_page_above_its_bound_is_given_up_where_it_is() -> None:
    staged = Staged(clocked=bounded(1000))
    staged.respond(b" " * 1000)
    assert staged.types == []
    staged.side.content(b" ")
    assert staged.types == ["INTERNAL"]
    assert staged.side.cancelled
    staged.assert_nothing_is_left()


@pytest.mark.parametrize("how", ["ended", "with its head", *Failure])
def test_a_watch_that_ends_is_begun_anew_at_once_and_the_second_in_a_row_is_the_end(how: object) -> None:
    def end() -> None:
        if isinstance(how, Failure):
            staged.side.fail(how)
        else:
            staged.side.end()

    staged = live()
    staged.clocked.wait(10)
    end()
    assert staged.clocked.watches == {"user": 0}
    if how == "with its head":
        staged.side.answer(ResponseHead(200, JSON, ended=True))
    else:
        staged.respond(SNAPSHOT)
        end()
    assert staged.types.count("RESYNC_REQUIRED") == 2
    staged.respond(SNAPSHOT)
    end()
    assert staged.types[-1] == "UPSTREAM_UNAVAILABLE"
    assert len(staged.clocked.places) == 3
    staged.assert_nothing_is_left()


# A page in slices.


def test_a_large_page_is_shown_a_slice_a_turn() -> None:
    staged = listing(items=3 * SLICE_ITEMS + 1)
    clocked = staged.clocked
    for shown in (1, 2, 3):
        assert staged.types.count("added") == shown * SLICE_ITEMS
        assert len(clocked.places) == 1
        clocked.turn()
    assert staged.types[-2:] == ["added", "synced"]
    assert staged.target == WATCHING
    assert clocked.turns == []


def test_a_page_waits_while_the_browser_is_slow_and_has_one_turn_at_a_time() -> None:
    staged = listing(items=3 * SLICE_ITEMS)
    clocked = staged.clocked
    staged.source.pause()
    clocked.turn()
    assert (staged.types.count("added"), clocked.turns) == (SLICE_ITEMS, [])
    clocked.wait(10 * STALL)
    staged.source.resume()
    staged.source.pause()
    staged.source.resume()
    assert clocked.turns == [staged.source]
    clocked.turn()
    assert staged.types.count("added") == 2 * SLICE_ITEMS


def test_a_page_whose_browser_left_is_shown_no_further() -> None:
    staged = listing(items=3 * SLICE_ITEMS)
    staged.browser.leave()
    staged.clocked.turn()
    assert staged.clocked.turns == []
    staged.assert_nothing_is_left()


# The clock.


def test_a_snapshot_that_says_nothing_falls_back_once_and_is_then_the_end() -> None:
    staged = Staged()
    staged.respond(added(config_map()) + b"\n")
    first = staged.side
    staged.clocked.wait(STALL - 1)
    assert len(staged.clocked.places) == 1
    staged.clocked.wait(3)
    assert first.cancelled
    assert staged.types == ["reset", "added", "RESYNC_REQUIRED"]
    assert staged.target == LISTING
    staged.clocked.wait(STALL + 2)
    assert staged.types[-1] == "UPSTREAM_UNAVAILABLE"
    staged.assert_nothing_is_left()


def test_so_does_one_whose_answer_does_not_come_and_no_wait_for_a_place_counts() -> None:
    clocked = Clocked(at_once=False)
    staged = Staged(clocked=clocked)
    clocked.wait(10 * STALL)
    assert [place.waits for place in clocked.places] == [True]
    clocked.places[0].find()
    clocked.wait(STALL - 2)
    assert len(clocked.places) == 1
    clocked.wait(4)
    clocked.wait(10 * STALL)
    assert [place.waits for place in clocked.places] == [False, True]
    clocked.places[1].find()
    assert staged.target == LISTING
    clocked.wait(STALL + 2)
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_where_no_place_is_found_it_is_unavailable() -> None:
    clocked = Clocked(at_once=False)
    staged = Staged(clocked=clocked)
    clocked.places[0].fail(Failure.TIMEOUT)
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_every_byte_of_a_snapshot_gives_it_its_time_again() -> None:
    staged = Staged()
    staged.respond()
    for _ in range(20):
        staged.clocked.wait(STALL - 2)
        staged.side.content(b" ")
    assert len(staged.clocked.places) == 1


def drip(staged: Staged, seconds: float, piece: bytes = b" ") -> None:
    """For so long a piece is sent in time for no stall, and nothing more."""
    until = staged.clocked.now + seconds
    while staged.clocked.now < until and not staged.side.over:
        staged.side.content(piece)
        staged.clocked.wait(min(STALL - 2, until - staged.clocked.now))


def test_a_page_has_its_time_however_steadily_its_bytes_come() -> None:
    staged = listing(token="more")
    staged.respond()
    drip(staged, WHOLE - 2)
    assert not staged.side.over
    drip(staged, 4)
    assert staged.types == ["reset", "added", "UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_each_page_has_a_time_of_its_own_and_all_of_them_have_one_together() -> None:
    staged = listing(token="0")
    began = staged.clocked.now
    for number in range(1, 6):
        staged.respond()
        drip(staged, WHOLE - 5)
        staged.side.content(page([config_map()], token=str(number)))
        staged.side.end()
    staged.respond()
    drip(staged, began + SNAPSHOT_MOST - 2 - staged.clocked.now)
    assert not staged.side.over
    drip(staged, 4)
    assert staged.types == ["reset", "added", "added", "UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_a_large_event_of_a_snapshot_has_its_time_and_many_small_ones_have_one_together() -> None:
    large, small = Staged(), Staged()
    large.respond(b" " * (FREE_BYTES + 1))
    drip(large, WHOLE + 2)
    assert large.target == LISTING
    small.respond()
    drip(small, SNAPSHOT_MOST - 2, added(config_map()) + b"\n")
    assert small.types == ["reset", "added"]
    drip(small, 4)
    assert small.target == LISTING
    assert small.types == ["reset", "added", "RESYNC_REQUIRED"]


def test_a_snapshot_behind_another_has_its_time_from_when_it_is_let_in() -> None:
    staged = live()
    drip(staged, 2 * SNAPSHOT_MOST)
    staged.side.end()
    staged.respond()
    drip(staged, SNAPSHOT_MOST - 2)
    assert staged.types == ["reset", "added", "synced", "RESYNC_REQUIRED"]
    drip(staged, 4)
    assert staged.target == LISTING


def test_what_a_browser_takes_its_time_for_is_of_none_of_them() -> None:
    wide = config_map(data=b'{"a":"%b"}' % (b"x" * HIGH_WATER))
    staged = Staged()
    staged.respond()
    side = staged.side
    side.window = 1 << 20
    side.content(added(wide) + b"\n" + b" " * (FREE_BYTES + 1))
    assert side.paused
    staged.clocked.wait(SNAPSHOT_MOST + WHOLE)
    assert staged.types == ["reset", "added"]
    drip(staged, WHOLE - 4)
    assert staged.side is side
    drip(staged, 6)
    assert staged.target == LISTING


def test_a_server_that_is_slow_to_be_connected_to_has_no_more_time_for_its_pages_together() -> None:
    clocked = Clocked(at_once=False)
    clocked.without_streaming.add(("demo", "", "v1"))
    staged = Staged(clocked=clocked)
    began, number = clocked.now, 0
    while clocked.now < began + SNAPSHOT_MOST + 2:
        clocked.wait(STALL - 2)
        if clocked.places[-1].waits:
            clocked.places[-1].find()
            staged.answer(page([config_map(f"u{number}")], token=str(number)))
            number += 1
            assert clocked.now < began + SNAPSHOT_MOST + 2
    assert staged.types == ["reset", *["added"] * number, "UPSTREAM_UNAVAILABLE"]
    assert number == SNAPSHOT_MOST // (STALL - 2)
    staged.assert_nothing_is_left()


def test_who_waits_at_the_gates_has_no_snapshots_time_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    staged = live()
    entrants: list[Entrant] = []

    def enter(scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Nothing:
        entrants.append(entrant)
        return Nothing()

    monkeypatch.setattr(staged.clocked.gates, "enter", enter)
    staged.clocked.wait(2)
    staged.side.end()
    staged.clocked.wait(2 * SNAPSHOT_MOST)
    assert staged.source.state is State.ENTERING
    assert staged.types == ["reset", "added", "synced", "RESYNC_REQUIRED"]


def test_an_open_watch_may_be_silent_and_its_deadline_is_dropped() -> None:
    staged = live()
    staged.clocked.wait(STALL + 2)
    assert len(staged.clocked.wheel) == 1, "the heartbeat's"
    staged.clocked.wait(1000)
    assert len(staged.clocked.places) == 1


def test_but_a_watch_of_what_came_after_a_list_must_be_answered() -> None:
    staged = listing()
    assert staged.target == WATCHING
    staged.clocked.wait(STALL + 2)
    assert staged.types == ["reset", "added", "synced", "UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_the_snapshot_of_a_later_cycle_has_its_deadline_too() -> None:
    staged = live()
    staged.clocked.wait(100)
    staged.side.end()
    staged.respond()
    staged.clocked.wait(STALL + 2)
    assert staged.target == LISTING


def test_the_time_that_a_slow_browser_takes_is_no_stall() -> None:
    staged = Staged()
    staged.respond(added(config_map(data=b'{"a":"%b"}' % (b"x" * HIGH_WATER))) + b"\n")
    side = staged.side
    assert side.paused
    staged.clocked.wait(10 * STALL)
    assert len(staged.clocked.places) == 1
    assert staged.types == ["reset", "added"]
    assert staged.side is side
    staged.clocked.wait(STALL - 2)
    assert len(staged.clocked.places) == 1
    staged.clocked.wait(4)
    assert staged.target == LISTING


# Pauses.


def test_what_was_on_its_way_is_still_shown_and_nothing_is_asked_behind_it_until_more_is_taken() -> None:
    staged = live()
    large = b'{"a":"%b"}' % (b"x" * HIGH_WATER)
    first = staged.side
    first.content(modified(config_map(version="11", data=large)) + b"\n")
    first.content(modified(config_map(version="12")) + b"\n")
    assert first.paused
    first.fail(Failure.RESET)
    staged.clocked.wait(10 * STALL)
    assert len(staged.clocked.places) == 1
    assert staged.types == ["reset", "added", "synced", "modified", "modified", "RESYNC_REQUIRED"]
    assert len(staged.clocked.places) == 2
    assert not staged.side.paused
    staged.respond(SNAPSHOT)
    assert staged.types[-3:] == ["reset", "added", "synced"]


# Leaving.


def test_whatever_it_is_doing_it_leaves_in_the_same_turn() -> None:
    clocked = Clocked(at_once=False)
    waiting = Staged(clocked=clocked)
    waiting.browser.leave()
    waiting.assert_nothing_is_left()
    asked = Staged()
    reading = Staged()
    reading.respond(b"{", status=403)
    for staged in (asked, reading, live(), listing(items=100)):
        staged.exchange.cut(Cause.SESSION_ENDED)
        assert staged.source.state is State.OVER
        assert staged.browser.told is Told.ABORTED
        assert staged.services.endings == [CutShort(Cause.SESSION_ENDED)]
        staged.assert_nothing_is_left()


class Kept:
    """A view of somebody who leaves the source to itself, as a cache that is read by others would."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.faults: list[Exception] = []

    def reset(self) -> None:
        self.told.append("reset")

    def show(self, change: Change, resource: Resource) -> None:
        self.told.append("show")

    def delete(self, resource: Resource) -> None:
        self.told.append("delete")

    def synced(self) -> None:
        self.told.append("synced")

    def error(self, why: StreamError) -> None:
        self.told.append(why.code.value)

    def admitted(self) -> None:
        self.told.append("admitted")

    def refuse(self, interruption: Interruption) -> None:
        self.told.append("refused")

    def failed(self, error: Exception) -> None:
        self.faults.append(error)


def test_at_its_end_it_leaves_by_itself() -> None:
    clocked, kept = Clocked(), Kept()
    source = Source(clocked.server, opening().scope, kept, kept, IdToken(b"shared"))
    source.start()
    side = clocked.places[0].side
    assert side is not None
    side.answer(ResponseHead(200, JSON))
    side.content(SNAPSHOT + error(403) + b"\n")
    assert kept.told == ["admitted", "reset", "show", "synced", "FORBIDDEN"]
    assert (source.state, side.cancelled, len(clocked.wheel)) == (State.OVER, True, 0)
    assert clocked.watches == {"user": 0}


@pytest.mark.parametrize("let_in", [True, False])
def test_one_that_is_left_as_it_hears_from_the_gates_asks_nothing_and_shows_nothing(let_in: bool) -> None:
    class Leaving(Kept):
        def admitted(self) -> None:
            super().admitted()
            source.cancel()

        def refuse(self, interruption: Interruption) -> None:
            self.told.append("refused")
            source.cancel()

    clocked, leaving = Clocked(), Leaving()
    gates = clocked.gates if let_in else Closed()
    source = Source(
        replace(clocked.server, gates=gates), opening().scope, leaving, leaving, IdToken(b"shared")
    )
    source.start()
    assert leaving.told == ["admitted" if let_in else "refused"]
    assert (source.state, clocked.places, len(clocked.wheel)) == (State.OVER, [], 0)
    clocked.assert_nothing_is_held()


class Closed:
    """Gates that let nobody in."""

    def enter(self, scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Nothing:
        entrant.turned_away(Refusal(Interruption(Reason.READ_TOO_LARGE, "no"), errors.internal("no")))
        return Nothing()

    def room(self) -> Roomy:
        raise AssertionError("nothing comes")


def test_one_that_has_left_tells_nobody_anything() -> None:
    staged = live()
    staged.browser.leave()
    staged.source.cancel()
    staged.source.pause()
    staged.source.resume()
    staged.clocked.wait(100)
    staged.assert_nothing_is_left()


def test_open_watches_are_counted_from_their_answer_to_their_end() -> None:
    clocked = Clocked()
    first, second = Staged(clocked=clocked), Staged(clocked=clocked)
    assert clocked.watches == {"user": 0}
    for place in clocked.places:
        assert place.side is not None
        place.side.answer(ResponseHead(200, JSON))
    assert clocked.watches == {"user": 2}
    first.exchange.cut(Cause.SESSION_ENDED)
    assert clocked.watches == {"user": 1}
    second.browser.leave()
    assert clocked.watches == {"user": 0}
    assert second.services.endings


def test_a_fault_of_foyers_own_cuts_the_stream_and_leaves_the_api_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    staged = live()
    error = RuntimeError("a fault")

    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("foyer.streams.view.project", broken)
    staged.side.content(modified(config_map(version="11")) + b"\n")
    assert staged.services.faults == [error]
    assert staged.services.endings == [CutShort(Cause.INTERNAL)]
    assert staged.side.cancelled
    staged.assert_nothing_is_left()


def test_bookmarks_and_unread_rest_are_nothing_to_a_browser() -> None:
    staged = live()
    staged.side.content(bookmark("200") + b"\n")
    staged.side.content(b'{"type":"MODI')
    assert staged.types == ["reset", "added", "synced"]
    staged.browser.leave()
    staged.assert_nothing_is_left()

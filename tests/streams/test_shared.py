"""Shared watches, sentence by sentence (spec 05): one watch for many, and each stream its own."""

import gc
from collections.abc import Iterator
from dataclasses import replace

import pytest

from foyer.exchange.endings import Cause, Complete, CutShort
from foyer.exchange.ports import HIGH_WATER, UpstreamReceiver
from foyer.protocol.events import Failure
from foyer.session.seal import IdToken
from foyer.streams import cache, projection, resource
from foyer.streams.fanout import WORK
from foyer.streams.projection import Projected, Projection
from foyer.streams.resource import Resource
from foyer.streams.showing import QUEUE_MOST
from foyer.streams.source import State
from tests.exchange.sides import Told
from tests.streams.following import (
    COMPLETE,
    CONFIGMAPS,
    SECRETS,
    added,
    config_map,
    deleted,
    error,
    modified,
    page,
    secret,
    status,
)
from tests.streams.gating import OpenGates
from tests.streams.sharing import MAY, SHARED_TOKEN, WHO, Stage, Visitor
from tests.streams.staged import Place
from tests.streams.wires import Client

SNAPSHOT = added(config_map()) + b"\n" + COMPLETE + b"\n"
FILLING = b"x" * (HIGH_WATER + 1)


def changed(version: int, uid: str = "u1", data: bytes | None = None) -> bytes:
    """A live change's line."""
    return modified(config_map(uid, str(version), data or b'{"a":"%d"}' % version)) + b"\n"


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def live(stage: Stage, *, who: str = "ada", query: bytes = CONFIGMAPS, fast: bool = True) -> Visitor:
    """The first of a scope, behind its snapshot of one object."""
    visitor = stage.open(query, who)
    stage.respond(SNAPSHOT)
    assert visitor.types == ["reset", "added", "synced"]
    visitor.fast = fast
    return visitor


def shown(visitor: Visitor) -> Client:
    """What its page shows, if it is a strict one."""
    client = Client()
    client.take(visitor.events)
    return client


# One watch.


def test_all_streams_of_a_scope_read_one_watch_opened_with_foyers_own_token(stage: Stage) -> None:
    first = live(stage)
    others = [stage.open(who=who) for who in ("bob", "ada", "eve")]
    assert [visitor.types for visitor in others] == [["reset", "added", "synced"]] * 3
    assert len(stage.places) == 1
    assert stage.measures.watches_open == {"user": 0, "shared": 1}
    assert stage.measures.shared_subscriptions_open == 4
    head = stage.side.head
    assert head is not None
    assert head.target == (
        b"/api/v1/namespaces/app/configmaps"
        b"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    assert (b"authorization", b"Bearer " + SHARED_TOKEN) in head.fields
    stage.send(changed(11), deleted(config_map(version="12")) + b"\n")
    for visitor in (first, *others):
        assert visitor.types == ["reset", "added", "synced", "modified", "deleted"]


def test_a_scope_is_its_selector_and_all_its_fields_but_not_its_projection(stage: Stage) -> None:
    for number, query in enumerate(
        (
            CONFIGMAPS,
            CONFIGMAPS + b"&labelSelector=a%3Db",
            CONFIGMAPS + b"&name=one",
            CONFIGMAPS + b"&target=prod",
            b"version=v1&resource=configmaps",
            b"version=v1&resource=configmaps&namespace=other",
            b"group=example.com&version=v1&resource=notes",
            b"group=example.com&version=v2&resource=notes",
        ),
        start=1,
    ):
        stage.open(query)
        assert len(stage.places) == number
    for view in (b"raw", b"full", b"spec"):
        stage.open(CONFIGMAPS + b"&projection=krm-" + view + b"/v1")
    stage.open(CONFIGMAPS + b"&target=demo")  # the default, said
    assert len(stage.places) == 8
    assert len(stage.shared) == 8


def test_the_first_stream_opens_the_watch_and_the_last_one_out_closes_it(stage: Stage) -> None:
    first, second = live(stage), stage.open()
    first.browser.leave()
    stage.send(changed(11))
    assert second.types[-1] == "modified"
    second.browser.leave()
    assert stage.side.cancelled
    stage.assert_nothing_is_left()
    third = stage.open()
    assert len(stage.places) == 2
    stage.respond(SNAPSHOT)
    assert third.types == ["reset", "added", "synced"]


@pytest.mark.parametrize("cause", [Cause.SESSION_ENDED, Cause.RESPONSE_DURATION, Cause.WRITE_TIMEOUT])
def test_whatever_cuts_a_stream_leaves_the_watch_to_the_others(stage: Stage, cause: Cause) -> None:
    first, second = live(stage), stage.open()
    first.exchange.cut(cause)
    assert first.services.endings == [CutShort(cause)]
    stage.send(changed(11))
    assert second.types[-1] == "modified"
    assert first.types[-1] == "synced"
    second.exchange.cut(cause)
    stage.assert_nothing_is_left()


def test_a_scope_that_is_slow_to_open_holds_up_no_other_and_is_given_up_when_nobody_waits() -> None:
    stage = Stage(at_once=False)
    slow, beside = stage.open(), stage.open()
    other = stage.open(CONFIGMAPS + b"&name=one")
    stage.places[1].find()
    stage.respond(SNAPSHOT)
    assert other.types == ["reset", "added", "synced"]
    assert slow.types == beside.types == []
    slow.browser.leave()
    assert len(stage.shared) == 2
    beside.browser.leave()
    assert len(stage.shared) == 1
    other.browser.leave()
    stage.assert_nothing_is_left()
    stage.close()


def test_nobody_is_shown_anything_before_it_is_all_there_and_late_ones_wait_as_well(stage: Stage) -> None:
    first = stage.open()
    stage.respond(added(config_map()) + b"\n")
    late = stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")
    stage.send(added(config_map("u2")) + b"\n", deleted(config_map("u2", "11")) + b"\n")
    assert first.types == late.types == []
    stage.send(COMPLETE + b"\n")
    assert first.types == late.types == ["reset", "added", "synced"]


def test_where_there_are_no_streaming_lists_pages_fill_the_cache(stage: Stage) -> None:
    visitor = stage.open()
    stage.answer(status(422, "sendInitialEvents is forbidden"), 422)
    stage.answer(page([config_map(f"u{number}") for number in range(120)], token="more"))
    stage.answer(page([config_map("last")]))
    stage.respond()
    assert visitor.types == ["reset", *["added"] * 121, "synced"]
    assert stage.side.head is not None
    assert b"watch=1&resourceVersion=100" in stage.side.head.target
    assert stage.clocked.without_streaming == {("demo", "", "v1")}


def test_the_token_is_the_newest_in_every_request(stage: Stage) -> None:
    visitor = live(stage)
    stage.token = IdToken(b"another")
    stage.shared.token_changed()
    stage.clocked.wait(60)
    stage.settle()
    stage.side.end()
    stage.settle()
    assert stage.side.head is not None
    assert (b"authorization", b"Bearer another") in stage.side.head.fields
    assert stage.reviewer.of(MAY)[-1].token == b"another"
    stage.respond(SNAPSHOT)
    assert visitor.types[-3:] == ["reset", "added", "synced"]


# What a stream gets.


def test_each_stream_counts_and_is_asked_for_by_itself(stage: Stage) -> None:
    first = live(stage)
    stage.send(changed(11), changed(12))
    second = stage.open(CONFIGMAPS + b"&target=demo&projection=krm-raw/v1")
    stage.send(changed(13))
    assert first.types == ["reset", "added", "synced", *["modified"] * 3]
    assert second.types == ["reset", "added", "synced", "modified"]
    assert first.events[0]["target"] == ""
    assert (second.events[0]["target"], second.events[0]["projection"]) == ("demo", "krm-raw/v1")
    assert second.events[1]["object"]["metadata"]["resourceVersion"] == "12"


def test_a_change_that_a_projection_does_not_show_is_not_sent_there(stage: Stage) -> None:
    full = stage.open()
    spec = stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")
    stage.respond(SNAPSHOT)
    body = config_map(version="11").removesuffix(b"}") + b',"status":{"phase":"Ready"}}'
    stage.send(modified(body) + b"\n")
    assert (full.types[-1], spec.types[-1]) == ("modified", "synced")
    late = stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")
    assert late.events[1]["object"]["metadata"]["resourceVersion"] == "11", "the newest there is"


def test_a_projection_that_comes_late_is_made_of_what_is_there_in_slices(stage: Stage) -> None:
    live(stage)
    stage.send(*[added(config_map(f"v{number}")) + b"\n" for number in range(3 * WORK)])
    late = Visitor(stage, CONFIGMAPS + b"&projection=krm-spec/v1", IdToken(b"bob"))
    stage.visitors.append(late)
    stage.run()
    stage.turn()
    stage.side.content(changed(11))
    stage.side.content(deleted(config_map("v1", "12")) + b"\n")
    stage.side.content(deleted(config_map("v449", "12")) + b"\n")
    stage.side.content(added(config_map("w")) + b"\n")
    stage.settle()
    assert shown(late).objects.keys() == {"u1", "w", *(f"v{number}" for number in range(3 * WORK))} - {
        "v1",
        "v449",
    }
    assert shown(late).objects["u1"]["data"] == {"a": "11"}
    stage.send(changed(13))
    assert shown(late).objects["u1"]["data"] == {"a": "13"}


def test_one_that_comes_before_the_first_snapshot_is_complete_waits_for_all_of_it(stage: Stage) -> None:
    stage.open()
    stage.respond()
    stage.send(*[added(config_map(f"v{number}")) + b"\n" for number in range(3 * WORK)])
    late = Visitor(stage, CONFIGMAPS + b"&projection=krm-spec/v1", IdToken(b"bob"))
    stage.visitors.append(late)
    stage.run()
    stage.turn()
    stage.side.content(COMPLETE + b"\n")
    stage.settle()
    assert late.types == ["reset", *["added"] * (3 * WORK), "synced"]


def test_an_event_is_read_once_and_projected_once_a_projection_however_many_look(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = [view.value.encode("ascii") for view in Projection]
    visitors = [stage.open(CONFIGMAPS + b"&projection=" + view) for view in views * 5]
    stage.respond(SNAPSHOT)
    work: list[object] = []

    def read(text: bytes) -> Resource | None:
        work.append("read")
        return real_read(text)

    def project(found: Resource, view: Projection, *, secret: bool = False) -> Projected:
        work.append(view)
        return real_project(found, view, secret=secret)

    real_read, real_project = resource.read, projection.project
    monkeypatch.setattr(resource, "read", read)
    monkeypatch.setattr(cache, "project", project)
    stage.send(changed(11), changed(12))
    assert all(visitor.types[3:] == ["modified"] * 2 for visitor in visitors)
    assert sorted(map(str, work)) == sorted(map(str, 2 * ["read", *Projection]))


def test_what_two_projections_show_alike_is_kept_once(stage: Stage) -> None:
    raw = stage.open(CONFIGMAPS + b"&projection=krm-raw/v1")
    full = stage.open()
    spec = stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")
    stage.respond(SNAPSHOT)
    tails = {
        id(row.projected.tail)
        for visitor in (raw, full, spec)
        for row in visitor.subscriber._showing.rows(0, 10)  # type: ignore[union-attr]
        if row.projected is not None
    }
    assert len(tails) == 1


def test_a_secrets_values_are_withheld_from_all_and_its_revisions_are_each_streams_own(stage: Stage) -> None:
    first = stage.open(SECRETS)
    stage.respond(added(secret()) + b"\n" + COMPLETE + b"\n")
    stage.send(modified(secret(version="11", data=b'{"a":"Mg=="}')) + b"\n")
    second = stage.open(SECRETS)
    raw = stage.open(SECRETS + b"&projection=krm-raw/v1")
    stage.send(modified(secret(version="12", data=b'{"a":"Mw=="}')) + b"\n")
    for visitor, revision in ((first, 3), (second, 2)):
        assert "data" not in visitor.events[-1]["object"]
        assert shown(visitor).redacted == {"s1": {"/data/a": revision}}
    assert raw.events[-1]["object"]["data"] == {"a": "Mw=="}
    assert b"Mg==" not in first.browser.taken + second.browser.taken


def test_so_are_those_of_what_a_scope_of_secrets_calls_by_another_name(stage: Stage) -> None:
    """A kind is what the API server writes; that these are Secrets the scope says."""
    other = secret().replace(b'"Secret"', b'"Sealed"')
    full = stage.open(SECRETS)
    stage.respond(added(other) + b"\n" + COMPLETE + b"\n")
    late = stage.open(SECRETS + b"&projection=krm-spec/v1")
    for visitor in (full, late):
        assert shown(visitor).redacted == {"s1": {"/data/a": 1}}
        assert b"MQ==" not in visitor.browser.taken


def test_an_object_that_comes_back_goes_on_with_its_revisions(stage: Stage) -> None:
    visitor = stage.open(SECRETS)
    stage.respond(added(secret()) + b"\n" + COMPLETE + b"\n")
    stage.send(deleted(secret(version="11")) + b"\n")
    stage.send(added(secret(version="12", data=b'{"a":"Mg=="}')) + b"\n")
    assert visitor.types[-2:] == ["deleted", "added"]
    assert shown(visitor).redacted == {"s1": {"/data/a": 2}}


# A snapshot, as its browser takes it.


def many(stage: Stage, count: int) -> Visitor:
    """The first of a scope of so many objects of two kilobytes."""
    visitor = stage.open()
    data = b'{"a":"%b"}' % (b"x" * 2000)
    stage.respond()
    stage.send(*[added(config_map(f"v{number}", data=data)) + b"\n" for number in range(count)])
    stage.send(COMPLETE + b"\n")
    return visitor


def test_a_snapshot_is_written_as_its_browser_takes_it(stage: Stage) -> None:
    many(stage, 300)
    slow = stage.open(fast=False)
    stage.wait(60)
    assert slow.browser.queued < HIGH_WATER + 3000
    assert len(stage.shared.line) == 0
    while slow.types[-1:] != ["synced"]:
        slow.browser.take(20_000)
        stage.settle()
    assert slow.browser.most_queued < HIGH_WATER + 3000
    assert slow.types == ["reset", *["added"] * 300, "synced"]


def test_what_changes_meanwhile_is_never_lost_and_never_shown_twice(stage: Stage) -> None:
    many(stage, 100)
    slow = stage.open(fast=False)
    before = slow.subscriber._cursor
    assert 0 < before < 50
    stage.send(
        changed(11, "v1"),
        changed(12, "v99"),
        deleted(config_map("v2", "13")) + b"\n",
        deleted(config_map("v98", "14")) + b"\n",
        added(config_map("new", "15")) + b"\n",
        deleted(config_map("v3", "16")) + b"\n",
        added(config_map("v3", "17")) + b"\n",
    )
    slow.fast = True
    stage.settle()
    client = shown(slow)
    assert client.synced
    assert client.objects == shown(stage.visitors[0]).objects
    assert slow.types.count("added") == 100 + 1 + 2 - 1, "v1 again, new and v3 again, and v98 never"
    assert slow.types.count("deleted") == 2
    assert stage.measures.shared_overflows == 0


def test_nothing_is_shown_before_what_happened_before_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(stage, 100)
    slow = stage.open(fast=False)
    monkeypatch.setattr("foyer.streams.fanout.WORK", 5)
    stage.send(*[changed(version, f"v{version * 7 % 100}") for version in range(11, 211)])
    slow.fast = True
    stage.settle()
    client = shown(slow)
    assert client.synced
    assert client.objects == shown(stage.visitors[0]).objects


def test_what_comes_with_the_end_of_the_snapshot_comes_behind_it(stage: Stage) -> None:
    visitors = [stage.open(), stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")]
    stage.respond(SNAPSHOT + changed(11) + deleted(config_map(version="12")) + b"\n")
    for visitor in visitors:
        assert visitor.types == ["reset", "added", "synced", "modified", "deleted"]


def test_a_deletion_of_what_was_never_there_is_passed_on_in_a_snapshot_too(stage: Stage) -> None:
    """Of an object that a page may know from before."""
    first = many(stage, 100)
    slow = stage.open(fast=False)
    stage.send(deleted(config_map("unknown", "12")) + b"\n")
    slow.fast = True
    stage.settle()
    assert first.types[-1] == "deleted"
    assert 0 < slow.types.index("deleted") < slow.types.index("synced")


def test_objects_that_come_and_go_leave_nothing_behind(stage: Stage) -> None:
    visitor = live(stage)
    for version in range(11, 11 + 8 * QUEUE_MOST, 2):
        stage.send(added(config_map(f"v{version}", str(version))) + b"\n")
        stage.send(deleted(config_map(f"v{version}", str(version + 1))) + b"\n")
    assert len(visitor.subscriber._showing._order) <= QUEUE_MOST + 3  # type: ignore[union-attr]
    late = stage.open()
    assert late.types == ["reset", "added", "synced"]


def test_a_snapshot_never_counts_against_the_queue(stage: Stage) -> None:
    many(stage, 3 * QUEUE_MOST)
    slow = stage.open(fast=False)
    stage.send(*[changed(version, "v1") for version in range(11, 11 + QUEUE_MOST)])
    slow.fast = True
    stage.settle()
    assert "RESYNC_REQUIRED" not in slow.types
    assert shown(slow).objects == shown(stage.visitors[0]).objects


def test_events_are_passed_on_in_slices_and_in_each_streams_order(stage: Stage) -> None:
    live(stage)
    for _ in range(2 * WORK):
        stage.open()
    stage.side.content(changed(11) + changed(12) + changed(13))
    turns = 0
    while stage.goes_on:
        written = sum(visitor.browser.queued for visitor in stage.visitors)
        stage.turn()
        passed = sum(visitor.browser.queued for visitor in stage.visitors) - written
        assert passed <= (WORK + 3) * 300
        turns += 1
    assert turns > 4
    stage.settle()
    for visitor in stage.visitors:
        versions = [event["object"]["metadata"]["resourceVersion"] for event in visitor.events[3:]]
        assert versions == ["11", "12", "13"]


# Slow browsers.


def stall(visitor: Visitor) -> None:
    """Its browser takes nothing from now on, and what waits for it is enough."""
    visitor.fast = False
    visitor.stream.write(b": ", FILLING + b"\n\n")
    assert visitor.subscriber._slow


def test_as_many_events_as_the_queue_holds_wait_for_a_slow_browser(stage: Stage) -> None:
    visitor = live(stage)
    stall(visitor)
    stage.send(*[changed(version) for version in range(11, 11 + QUEUE_MOST)])
    assert visitor.browser.queued < HIGH_WATER + 100
    visitor.browser.take(1 << 40)
    visitor.fast = True
    stage.settle()
    assert visitor.subscriber.position == visitor.subscriber._showing.behind  # type: ignore[union-attr]
    content = bytes(visitor.browser.taken)
    assert content.count(b'"modified"') == QUEUE_MOST
    assert b"RESYNC_REQUIRED" not in content
    assert stage.measures.shared_overflows == 0


def test_they_wait_though_others_have_read_on(stage: Stage) -> None:
    """What is forgotten of the log is what nobody's queue may reach."""
    reading, slow = live(stage), stage.open()
    stage.send(*[changed(version) for version in range(100, 400)])
    stall(slow)
    for version in range(400, 400 + QUEUE_MOST):
        stage.send(changed(version))
    slow.browser.take(1 << 40)
    slow.fast = True
    stage.settle()
    content = bytes(slow.browser.taken)
    assert content.count(b'"modified"') == 300 + QUEUE_MOST
    assert b"RESYNC_REQUIRED" not in content
    assert shown(reading).objects["u1"]["data"] == {"a": str(399 + QUEUE_MOST)}


def test_one_more_is_an_overflow_and_a_fresh_snapshot_from_the_cache(stage: Stage) -> None:
    visitor = live(stage)
    other = stage.open()
    stall(visitor)
    stage.send(*[changed(version) for version in range(11, 12 + QUEUE_MOST)])
    assert other.types.count("modified") == QUEUE_MOST + 1
    visitor.browser.taken.clear()
    visitor.browser.take(1 << 40)
    visitor.fast = True
    stage.settle()
    content = bytes(visitor.browser.taken)
    behind = content[content.index(b'data: {"seq":4,') :]
    assert [word in behind for word in (b'"RESYNC_REQUIRED"', b'"reset"', b'"synced"')] == [True] * 3
    assert b'"modified"' not in behind
    assert b'"resourceVersion":"%d"' % (11 + QUEUE_MOST) in behind
    assert stage.measures.shared_overflows == 1
    assert len(stage.places) == 1, "the API server knows nothing of it"


def test_one_that_never_reads_slows_nobody_and_holds_nothing_but_its_place(stage: Stage) -> None:
    visitor = live(stage)
    other = stage.open()
    stall(visitor)
    for version in range(11, 11 + 10 * QUEUE_MOST):
        stage.send(changed(version))
        assert len(other.browser.taken) > 0
        assert not stage.side.paused
    assert other.types.count("modified") == 10 * QUEUE_MOST
    assert visitor.browser.queued < HIGH_WATER + 100
    showing = visitor.subscriber._showing
    assert showing is not None
    assert showing.logged <= 3 * QUEUE_MOST
    visitor.exchange.browser_stalled()
    assert visitor.services.endings == [CutShort(Cause.WRITE_TIMEOUT)]
    stage.send(changed(9999))
    assert other.types[-1] == "modified"


def burst(stage: Stage, lines: bytes) -> bool:
    """All of it, as fast as the API server may send it; whether it had to wait."""
    waited = False
    at = 0
    while at < len(lines):
        if stage.side.paused:
            waited = True
            stage.turn()
            for visitor in stage.visitors:
                visitor.take()
        size = min(16 * 1024, stage.side.window)
        stage.side.content(lines[at : at + size])
        at += size
    return waited


def test_a_burst_overflows_nobody_whose_browser_keeps_up(stage: Stage) -> None:
    live(stage)
    for _ in range(20):
        stage.open()
    assert burst(stage, b"".join(changed(version) for version in range(11, 2011)))
    stage.settle()
    assert not stage.side.paused
    assert stage.measures.shared_overflows == 0
    for visitor in stage.visitors:
        assert visitor.types == ["reset", "added", "synced", *["modified"] * 2000]
        assert visitor.subscriber._showing.trim() <= QUEUE_MOST  # type: ignore[union-attr]


def test_when_those_who_kept_up_leave_or_stall_the_api_server_goes_on(stage: Stage) -> None:
    visitors = [live(stage), stage.open()]
    stage.side.content(b"".join(changed(version) for version in range(11, 560)))
    assert stage.side.paused
    visitors[1].browser.leave()
    stall(visitors[0])
    stage.settle()
    assert not stage.side.paused


# Continuity.


@pytest.mark.parametrize("how", ["410", "its end", "a partial object"])
def test_when_continuity_is_lost_all_begin_again_on_the_same_connection(stage: Stage, how: str) -> None:
    visitors = [live(stage), stage.open(), stage.open(who="bob")]
    stage.wait(5)
    match how:
        case "410":
            stage.send(changed(11), error(410) + b"\n")
        case "its end":
            stage.send(changed(11))
            stage.side.end()
        case _:
            stage.send(changed(11), added(b'{"kind":"ConfigMap"}') + b"\n")
    stage.settle()
    assert [visitor.types[-2:] for visitor in visitors] == [["modified", "RESYNC_REQUIRED"]] * 3
    late = stage.open()
    assert late.types == []
    stage.respond(added(config_map("u2", "20")) + b"\n" + COMPLETE + b"\n")
    for visitor in (*visitors, late):
        assert visitor.types[-3:] == ["reset", "added", "synced"]
        assert shown(visitor).objects.keys() == {"u2"}
    assert len(stage.places) == 2


def test_a_projection_that_comes_between_two_cycles_waits_for_the_second(stage: Stage) -> None:
    live(stage)
    stage.clocked.now += 5
    stage.side.end()
    stage.settle()
    raw = stage.open(CONFIGMAPS + b"&projection=krm-raw/v1")
    assert raw.types == []
    stage.respond(added(config_map(version="20")) + b"\n")
    spec = stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")
    assert raw.types == spec.types == []
    stage.send(COMPLETE + b"\n")
    assert raw.types == spec.types == ["reset", "added", "synced"]


def test_a_loss_before_anything_was_shown_is_nobodys_but_the_second_in_a_row_ends_it(stage: Stage) -> None:
    visitors = [stage.open(), stage.open()]
    stage.respond(added(config_map()) + b"\n")
    stage.side.end()
    stage.settle()
    assert [visitor.types for visitor in visitors] == [[], []]
    stage.respond(added(config_map()) + b"\n")
    stage.side.end()
    stage.settle()
    assert [visitor.types for visitor in visitors] == [["UPSTREAM_UNAVAILABLE"]] * 2
    assert all(visitor.whole for visitor in visitors)
    stage.assert_nothing_is_left()


def test_a_loss_in_the_middle_of_a_snapshot_is_told_and_begins_another(stage: Stage) -> None:
    many(stage, 100)
    slow = stage.open(fast=False)
    stage.wait(5)
    stage.send(error(410) + b"\n")
    slow.fast = True
    stage.settle()
    assert slow.types[-1] == "RESYNC_REQUIRED"
    assert "synced" not in slow.types
    stage.respond(SNAPSHOT)
    assert slow.types[-3:] == ["reset", "added", "synced"]
    assert shown(slow).objects.keys() == {"u1"}


def test_whoever_is_slow_to_learn_of_a_loss_finds_the_next_cycle_there(stage: Stage) -> None:
    visitor = live(stage)
    stage.wait(5)
    stall(visitor)
    stage.send(changed(11), error(410) + b"\n")
    stage.respond(added(config_map("u2", "20")) + b"\n" + COMPLETE + b"\n")
    visitor.browser.take(1 << 40)
    visitor.fast = True
    stage.settle()
    content = bytes(visitor.browser.taken)
    assert content.count(b'"RESYNC_REQUIRED"') == 1
    assert content.endswith(b'"type":"synced"}\n\n')
    assert content.index(b'"modified"') < content.index(b'"RESYNC_REQUIRED"') < content.rindex(b'"reset"')


# Ends.

ENDS = [
    (404, "SCOPE_INVALID"),
    (400, "SCOPE_INVALID"),
    (422, "SCOPE_INVALID"),
    (302, "INTERNAL"),
    (429, "UPSTREAM_UNAVAILABLE"),
    (503, "UPSTREAM_UNAVAILABLE"),
    (401, "INTERNAL"),
    (403, "INTERNAL"),
]


@pytest.mark.parametrize(("code", "word"), ENDS)
def test_what_the_api_server_answers_ends_all_of_the_scopes_streams_cleanly(
    stage: Stage, code: int, word: str
) -> None:
    visitors = [stage.open(), stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")]
    other = stage.open(CONFIGMAPS + b"&name=one")
    side = stage.places[0].side
    assert side is not None
    stage.clocked.places.append(stage.places[0])
    stage.answer(status(code, "the server's own words"), code)
    for visitor in visitors:
        assert visitor.types == [word]
        assert visitor.services.endings == [Complete(200)]
        if code in (401, 403):
            assert b"the server's own words" not in visitor.browser.taken
    assert other.types == []
    other.browser.leave()
    stage.clocked.places.pop()
    stage.assert_nothing_is_left()


@pytest.mark.parametrize(("code", "word"), [pair for pair in ENDS if pair[0] != 302])
def test_so_does_an_error_on_the_open_watch_behind_what_came_before_it(
    stage: Stage, code: int, word: str
) -> None:
    visitors = [live(stage), stage.open()]
    stage.wait(5)
    stage.send(changed(11) + error(code, "the server's own words") + b"\n")
    for visitor in visitors:
        assert visitor.types == ["reset", "added", "synced", "modified", word]
        assert visitor.whole
        if code in (401, 403):
            assert b"the server's own words" not in visitor.browser.taken
    stage.assert_nothing_is_left()


def test_a_stream_that_opens_behind_an_end_has_a_watch_of_its_own_again(stage: Stage) -> None:
    slow = live(stage)
    stage.wait(5)
    stall(slow)
    stage.send(changed(11), error(500) + b"\n")
    assert len(stage.shared) == 1
    late = stage.open()
    assert len(stage.places) == 2
    stage.respond(SNAPSHOT)
    assert late.types == ["reset", "added", "synced"]
    slow.browser.take(1 << 40)
    slow.fast = True
    stage.settle()
    assert slow.whole
    assert b'"modified"' in slow.browser.taken
    assert b"UPSTREAM_UNAVAILABLE" in slow.browser.taken
    stage.send(changed(12))
    assert late.types[-1] == "modified"
    late.browser.leave()
    stage.assert_nothing_is_left()


def test_no_connection_is_no_answer() -> None:
    stage = Stage(at_once=False)
    visitors = [stage.open(), stage.open()]
    stage.places[0].fail(Failure.CONNECTION)
    stage.settle()
    assert [visitor.types for visitor in visitors] == [["UPSTREAM_UNAVAILABLE"]] * 2
    stage.assert_nothing_is_left()
    stage.close()


def test_one_that_fails_as_it_is_opened_is_told_to_whoever_opened_it(stage: Stage) -> None:
    def fail(receiver: UpstreamReceiver) -> Place:
        receiver.upstream_gone(Failure.CONNECTION)
        return Place(receiver)

    stage.shared._server = replace(stage.shared._server, gates=OpenGates(fail))
    visitor = stage.open()
    assert visitor.types == ["UPSTREAM_UNAVAILABLE"]
    stage.assert_nothing_is_left()


def test_versions_without_an_order_end_it_or_pass_where_that_is_allowed(stage: Stage) -> None:
    visitor = stage.open()
    stage.respond(added(config_map(version="abc")) + b"\n")
    assert visitor.types == ["INTERNAL"]
    lenient = Stage(lenient=True)
    passed = lenient.open()
    lenient.respond(added(config_map(version="abc")) + b"\n" + COMPLETE + b"\n")
    assert passed.types == ["reset", "added", "synced"]
    lenient.close()


# Faults of foyer's own.


def test_a_fault_in_the_cache_cuts_the_scopes_streams_and_leaves_the_api_server(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitors = [live(stage), stage.open()]
    other = stage.open(CONFIGMAPS + b"&name=one")
    stage.respond(SNAPSHOT)
    side = stage.places[0].side
    assert side is not None
    with monkeypatch.context() as broken:
        broken.setattr("foyer.streams.cache.project", lambda *_, **__: 1 // 0)
        side.content(changed(11))
        stage.settle()
    for visitor in visitors:
        assert visitor.services.endings == [CutShort(Cause.INTERNAL)]
        assert [type(fault) for fault in visitor.services.faults] == [ZeroDivisionError]
    assert side.cancelled
    stage.send(changed(11))
    assert other.types[-1] == "modified"
    other.browser.leave()
    stage.assert_nothing_is_left()


def test_a_fault_as_the_watch_is_opened_cuts_who_opened_it(stage: Stage) -> None:
    stage.token = IdToken(b"")  # with which nothing is ever sent
    visitor = stage.open()
    assert visitor.services.endings == [CutShort(Cause.INTERNAL)]
    assert stage.places == []
    stage.assert_nothing_is_left()


def test_a_fault_in_one_stream_is_its_own(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    failing, going = live(stage), stage.open()
    monkeypatch.setattr(failing.stream.__class__, "write_alone", _failing(failing.stream))
    stage.send(changed(11))
    assert failing.services.endings == [CutShort(Cause.INTERNAL)]
    assert failing.browser.told is Told.ABORTED
    assert going.types[-1] == "modified"
    going.browser.leave()
    stage.assert_nothing_is_left()


def _failing(stream: object) -> object:
    write = stream.__class__.write  # type: ignore[attr-defined]

    def broken(self: object, head: bytes, tail: bytes) -> None:
        if self is stream:
            raise ZeroDivisionError
        write(self, head, tail)

    return broken


def test_a_fault_while_a_projection_is_made_cuts_those_who_wait_for_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = live(stage)
    with monkeypatch.context() as broken:
        broken.setattr("foyer.streams.cache.project", lambda *_, **__: 1 // 0)
        failing = stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")
    assert failing.services.endings == [CutShort(Cause.INTERNAL)]
    stage.send(changed(11))
    assert going.types[-1] == "modified"
    going.browser.leave()
    stage.assert_nothing_is_left()


def test_a_fault_in_a_review_cuts_who_waits_for_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("foyer.k8s.reviews.may_they", lambda *_: 1 // 0)
        unasked = [stage.open(), stage.open()]
    with monkeypatch.context() as broken:
        broken.setattr("foyer.k8s.reviews.who", lambda *_: 1 // 0)
        nameless = stage.open()
    for visitor in (*unasked, nameless):
        assert visitor.services.endings == [CutShort(Cause.INTERNAL)]
        assert visitor.types == []
    stage.assert_nothing_is_left()


# Leaving.


def alive() -> list[str]:
    """The kinds of all objects that a shared stream has to do with."""
    kinds = ("SharedWatch", "Cache", "Source", "Reflector", "Subscriber", "Stream", "Showing", "Row", "Grant")
    return [name for each in gc.get_objects() if (name := type(each).__name__) in kinds]


def test_what_is_left_is_freed_then_and_not_by_a_collection(stage: Stage) -> None:
    gc.collect()
    gc.disable()
    try:
        before = alive()
        live(stage)
        stage.open(CONFIGMAPS + b"&projection=krm-spec/v1")
        stage.open(who="bob", fast=False)
        stage.send(changed(11))
        while stage.visitors:
            stage.visitors.pop().browser.leave()
        stage.settle()
        stage.places.clear()
        assert alive() == before
    finally:
        gc.enable()


def test_so_is_one_stream_of_a_quiet_scope_that_goes_on(stage: Stage) -> None:
    live(stage)
    gc.collect()
    gc.disable()
    try:
        before = alive()
        stage.open(who="bob")
        stage.visitors.pop().browser.leave()
        stage.settle()
        assert alive() == before
    finally:
        gc.enable()


def test_leaving_at_any_time_leaves_the_api_server_in_the_same_turn(stage: Stage) -> None:
    stage.reviewer.held = True
    nameless = stage.open()
    stage.reviewer.release()
    asking = stage.open(who="bob")
    stage.settle()
    assert [each.path for each in stage.reviewer.asked] == [WHO, WHO, MAY, MAY]
    nameless.browser.leave()
    asking.browser.leave()
    assert stage.places == []
    stage.reviewer.held = False
    for state in (State.ASKED, State.WATCHING):
        visitor = stage.open()
        if state is State.WATCHING:
            stage.respond(added(config_map()) + b"\n")
        visitor.browser.leave()
        assert stage.side.cancelled
    stage.assert_nothing_is_left()

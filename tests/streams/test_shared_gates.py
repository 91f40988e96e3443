"""A shared watch as a read: who opens it passes the gates for all, and who joins it passes none (spec 06)."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import pytest

from foyer.admission.estimates import KEEP
from foyer.exchange.endings import Interrupted
from foyer.interruption import Reason
from foyer.protocol.events import ResponseHead
from foyer.streams.budget import OpenSide
from foyer.streams.cache import SMALLEST
from foyer.streams.gates import KEPT, STEP
from foyer.streams.reflector import STALL
from foyer.streams.source import WHOLE
from foyer.streams.watch import FREE_BYTES, MAX_EVENT_BYTES
from tests.exchange.sides import Told, Upstream
from tests.streams.following import (
    COMPLETE,
    CONFIGMAPS,
    added,
    bookmark,
    config_map,
    deleted,
    modified,
    status,
)
from tests.streams.gated import MIB, RETRY_AFTER, WAIT, Gated
from tests.streams.sharing import MAY as REVIEWS
from tests.streams.sharing import SHARED_TOKEN, Stage, Visitor, refused
from tests.streams.staged import JSON

LINE = added(config_map()) + b"\n"
SNAPSHOT = LINE + COMPLETE + b"\n"


class Shared(Stage):
    """Shared watches behind a target's gates."""

    def __init__(self, *, reads: int = 2, pool: int = 10 * MIB, gated: Gated | None = None) -> None:
        self.gated = gated or Gated(reads=reads, pool=pool)
        super().__init__(clocked=self.gated)

    def look(self, *items: bytes, remaining: int | None = 0) -> None:
        """The newest look is answered."""
        self.gated.look(*items, remaining=remaining)
        self.settle()

    @property
    def asked(self) -> Upstream:
        """What the snapshot was asked for by."""
        [side] = [each for each in self.open_sides if each not in self.gated.looks]
        return side

    @property
    def open_sides(self) -> list[Upstream]:
        return [place.side for place in self.places if place.side is not None and not place.side.over]

    def show(self, content: bytes = SNAPSHOT) -> None:
        """The snapshot comes."""
        self.asked.answer(ResponseHead(200, JSON))
        self.send(content)

    def send(self, *contents: bytes) -> None:
        for content in contents:
            side = self.asked
            while content and not side.over:
                piece, content = content[: side.window], content[side.window :]
                side.content(piece)
                self.settle()
        self.settle()

    def live(self, who: str = "ada") -> Visitor:
        """The first stream of a scope, behind its snapshot."""
        visitor = self.open(who=who)
        self.look(config_map())
        self.show()
        assert visitor.types == ["reset", "added", "synced"]
        return visitor

    def lose(self) -> None:
        """Continuity is lost."""
        self.wait(2)
        self.asked.end()
        self.settle()


@pytest.fixture
def shared() -> Iterator[Shared]:
    with_room = Shared()
    yield with_room
    with_room.close()


def answered(visitor: Visitor) -> int | None:
    """The status of its head, once that was sent."""
    head = visitor.browser.head
    return None if head is None else head.status


def interrupted(visitor: Visitor) -> Reason:
    """Why it was answered with something else than a stream."""
    ending = visitor.exchange.ending
    assert isinstance(ending, Interrupted), ending
    assert answered(visitor) == ending.interruption.reason.status
    return ending.interruption.reason


def empty(shared: Shared) -> None:
    """Everybody leaves, and nothing is left."""
    for visitor in shared.visitors:
        visitor.browser.leave()
    shared.gated.leave()
    shared.assert_nothing_is_left()


# The first, and who comes while it is let in.


def test_nothing_is_sent_before_the_watch_is_let_in(shared: Shared) -> None:
    visitor = shared.open()
    assert answered(visitor) is None
    assert len(shared.gated.looks) == 1
    shared.look(config_map())
    assert answered(visitor) == 200
    assert visitor.types == []
    shared.show()
    assert visitor.types == ["reset", "added", "synced"]
    empty(shared)


def test_who_opens_it_looks_as_themselves_and_what_follows_is_asked_with_foyers_own_token(
    shared: Shared,
) -> None:
    shared.open(who="ada")
    [look] = shared.gated.looks
    assert look.head is not None
    assert look.head.target == b"/api/v1/namespaces/app/configmaps?limit=1"
    assert look.head.fields[0] == (b"authorization", b"Bearer ada")
    shared.look(config_map())
    assert shared.asked.head is not None
    assert shared.asked.head.fields[0] == (b"authorization", b"Bearer " + SHARED_TOKEN)


def test_who_comes_meanwhile_waits_for_the_same_and_costs_nothing_more(shared: Shared) -> None:
    visitors = [shared.open(who=who) for who in ("ada", "bob", "eve")]
    assert [answered(visitor) for visitor in visitors] == [None] * 3
    assert shared.gated.limit.admitted == 1
    shared.look(config_map(), remaining=9)
    assert [answered(visitor) for visitor in visitors] == [200] * 3
    assert shared.gated.pool.reserved == ceil(10 * len(config_map()) * KEPT)
    shared.show()
    assert [visitor.types for visitor in visitors] == [["reset", "added", "synced"]] * 3
    assert len(shared.places) == 2
    empty(shared)


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        ("concurrency", Reason.ADMISSION_TIMED_OUT),
        ("memory", Reason.ADMISSION_TIMED_OUT),
        ("too-large", Reason.READ_TOO_LARGE),
    ],
)
def test_if_it_is_refused_each_of_them_is_answered_so(gate: str, reason: Reason) -> None:
    shared = Shared(reads=1 if gate == "concurrency" else 2, pool=MIB)
    if gate == "concurrency":
        shared.gated.crowd(1)
    if gate == "memory":
        shared.gated.fill(MIB)
    visitors = [shared.open(who=who) for who in ("ada", "bob")]
    if gate != "concurrency":
        shared.look(config_map(), remaining=5000 if gate == "too-large" else 0)
    shared.wait(WAIT + 2)
    assert [interrupted(visitor) for visitor in visitors] == [reason] * 2
    assert shared.gated.refused == {gate: 1}
    assert len(shared.gated.looks) == {"concurrency": 0, "memory": 1, "too-large": 2}[gate]
    empty(shared)
    shared.close()


def test_one_that_is_known_to_be_too_large_is_answered_at_once_and_each_time() -> None:
    shared = Shared(pool=MIB)
    first = shared.open()
    shared.look(config_map(), remaining=5000)
    assert interrupted(first) is Reason.READ_TOO_LARGE
    scope = first.subscriber._opening.scope
    shared.gated.estimates.took(shared.gated.real.key(scope), MIB)
    again = [shared.open(who=who) for who in ("ada", "bob")]
    assert [interrupted(visitor) for visitor in again] == [Reason.READ_TOO_LARGE] * 2
    assert len(shared.gated.looks) == 2
    empty(shared)
    shared.close()


# Who joins.


def test_who_joins_a_warm_cache_passes_no_gate_however_full_they_are(shared: Shared) -> None:
    shared.live()
    shared.gated.crowd(shared.gated.limit.limit)
    shared.gated.fill(shared.gated.pool.size - shared.gated.pool.reserved)
    visitor = shared.open(who="bob")
    assert visitor.types == ["reset", "added", "synced"]
    assert len(shared.gated.looks) == 1
    empty(shared)


def test_who_joins_one_that_is_let_in_and_not_complete_waits_for_no_gate(shared: Shared) -> None:
    shared.open()
    shared.look(config_map())
    visitor = shared.open(who="bob")
    assert answered(visitor) == 200
    assert visitor.types == []
    empty(shared)


# Access comes first.


def test_who_may_not_is_told_so_by_an_event_and_comes_to_no_gate() -> None:
    shared = Shared(reads=1)
    shared.gated.crowd(1)
    shared.reviewer.denied["eve"] = "not you"
    visitor = shared.open(who="eve")
    assert (answered(visitor), visitor.types) == (200, ["FORBIDDEN"])
    assert shared.gated.limit.waiting == 0
    assert shared.places == []
    empty(shared)
    shared.close()


def test_a_review_without_an_answer_is_an_event_as_ever(shared: Shared) -> None:
    shared.reviewer.answers[REVIEWS] = refused(500)
    visitor = shared.open()
    assert (answered(visitor), visitor.types) == (200, ["UPSTREAM_UNAVAILABLE"])
    assert shared.places == []
    empty(shared)


def test_what_the_api_server_says_to_who_looks_is_told_to_nobody(shared: Shared) -> None:
    visitors = [shared.open(who=who) for who in ("ada", "bob")]
    look = shared.gated.looks[0]
    look.answer(ResponseHead(403, JSON))
    look.content(status(403, "not you, ada"))
    look.end()
    shared.settle()
    shared.show()
    assert [visitor.types for visitor in visitors] == [["reset", "added", "synced"]] * 2
    assert shared.gated.pool.reserved > 0
    empty(shared)


# Who leaves while it is let in.


def test_behind_the_last_who_waits_the_gates_are_left() -> None:
    for gate in ("concurrency", "look", "memory"):
        shared = Shared(reads=1 if gate == "concurrency" else 2, pool=MIB)
        if gate == "concurrency":
            shared.gated.crowd(1)
        if gate == "memory":
            shared.gated.fill(MIB)
        visitors = [shared.open(who=who) for who in ("ada", "bob")]
        if gate == "memory":
            shared.look(config_map())
        visitors[0].browser.leave()
        visitors[1].exchange.session_ended()
        shared.gated.leave()
        shared.assert_nothing_is_left()
        assert shared.gated.refused == {}
        shared.close()


def test_of_a_session_that_has_ended_nobody_looks_any_more_and_the_others_go_on(shared: Shared) -> None:
    ada, bob = shared.open(who="ada"), shared.open(who="bob")
    ada.exchange.session_ended()
    assert shared.gated.looks[0].cancelled
    shared.settle()
    assert shared.gated.pool.reserved == ceil(MIB * KEPT)  # nobody knows
    shared.show()
    assert bob.types == ["reset", "added", "synced"]
    empty(shared)


def test_whoever_is_there_when_its_turn_has_come_is_who_looks() -> None:
    shared = Shared(reads=1)
    shared.gated.crowd(1)
    ada, _ = shared.open(who="ada"), shared.open(who="bob")
    ada.browser.leave()
    shared.gated.leave()
    [look] = shared.gated.looks
    assert look.head is not None
    assert look.head.fields[0] == (b"authorization", b"Bearer bob")
    empty(shared)
    shared.close()


def test_no_token_is_kept_once_it_is_let_in(shared: Shared) -> None:
    visitor = shared.open()
    tokens = [visitor.subscriber._token]
    shared.look(config_map())
    late = shared.open(who="bob")
    tokens += [visitor.subscriber._token, late.subscriber._token]
    assert tokens == [b"ada", None, None]
    empty(shared)


# What it holds.


def test_its_place_is_held_until_the_cache_is_complete_and_its_memory_until_nobody_reads_it(
    shared: Shared,
) -> None:
    gated = shared.gated
    ada = shared.open(who="ada")
    shared.look(config_map())
    shared.show(LINE)
    assert gated.limit.admitted == 1
    assert gated.pool.passing == gated.pool.size
    shared.send(COMPLETE + b"\n")
    assert gated.limit.admitted == 0
    assert gated.pool.passing == gated.pool.size - gated.pool.reserved < gated.pool.size
    bob = shared.open(who="bob")
    ada.browser.leave()
    assert gated.pool.reserved > 0
    bob.browser.leave()
    assert gated.pool.reserved == 0
    shared.assert_nothing_is_left()


def test_a_browser_that_is_slow_holds_no_place(shared: Shared) -> None:
    shared.open(fast=False)
    shared.look(config_map())
    shared.show(added(config_map(data=b'{"a":"%b"}' % (b"x" * 90_000))) + b"\n" + COMPLETE + b"\n")
    assert shared.gated.limit.admitted == 0
    empty(shared)


def test_it_grows_with_what_is_kept_and_gives_back_what_is_gone(shared: Shared) -> None:
    gated = shared.gated
    shared.live()
    at_first = gated.pool.reserved
    for number in range(8):
        body = config_map(f"u{number}", "20", b'{"a":"%b"}' % (b"x" * 90_000))
        shared.send(added(body) + b"\n")
    assert gated.pool.reserved >= 8 * 90_000 * KEPT
    for number in range(8):
        shared.send(deleted(config_map(f"u{number}", "30")) + b"\n")
    shared.send(bookmark() + b"\n")
    assert gated.pool.reserved <= at_first + 2 * STEP
    empty(shared)


def test_small_objects_are_reserved_for_what_keeping_them_takes_while_they_come(shared: Shared) -> None:
    shared.open()
    shared.look(config_map())
    small = b'{"kind":"C","apiVersion":"v1","metadata":{"uid":"%d","name":"n","resourceVersion":"1"}}'
    for at in range(0, 3000, 100):
        lines = b"".join([added(small % number) + b"\n" for number in range(at, at + 100)])
        shared.show(lines) if at == 0 else shared.send(lines)
    assert len(lines) < 100 * SMALLEST
    assert shared.gated.pool.reserved >= 2900 * SMALLEST * KEPT
    empty(shared)


def test_what_was_reserved_beyond_what_came_is_given_back_when_all_of_it_has(shared: Shared) -> None:
    shared.open()
    shared.look(config_map(), remaining=9000)
    assert shared.gated.pool.reserved > 4 * MIB
    shared.show()
    assert shared.gated.pool.reserved == ceil(len(SNAPSHOT) * KEPT)
    empty(shared)


def test_an_object_that_is_still_to_come_whole_is_counted_as_it_comes() -> None:
    shared = Shared(pool=2 * MIB)
    ada = shared.live()
    for _ in range(12):
        shared.send(b" " * 30_000)
    assert shared.gated.pool.reserved >= 12 * 30_000 * KEPT
    for _ in range(12):
        if not ada.over:
            shared.send(b" " * 30_000)
    assert ada.types[-1] == "UPSTREAM_UNAVAILABLE"
    empty(shared)
    shared.close()


def test_a_large_one_is_counted_once_and_shown_once_it_is_whole(shared: Shared) -> None:
    ada = shared.live()
    line = modified(config_map("u1", "20", b'{"a":"%b"}' % (b"x" * 300_000))) + b"\n"
    most = 0
    for at in range(0, len(line), 30_000):
        shared.send(line[at : at + 30_000])
        most = max(most, shared.gated.pool.reserved)
    assert ada.types[-1] == "modified"
    assert len(line) * KEPT <= most <= (len(SNAPSHOT) + len(line)) * KEPT + 2 * STEP
    empty(shared)


def test_one_that_never_ends_is_too_large_for_all_who_read_there() -> None:
    shared = Shared(pool=64 * MIB)
    ada = shared.live()
    for _ in range(MAX_EVENT_BYTES // 65_536):
        shared.send(b" " * 65_536)
    assert not ada.over
    shared.send(b" ")
    assert ada.types[-1] == "INTERNAL"
    empty(shared)
    shared.close()


def test_one_that_stands_still_or_comes_byte_by_byte_keeps_no_memory_from_others() -> None:
    for pause in (STALL + 2, STALL - 2):
        shared = Shared()
        ada = shared.live()
        shared.wait(STALL + 2)
        shared.send(b" " * (FREE_BYTES + 1))
        began = shared.gated.now
        for _ in range(10):
            shared.wait(pause)
            if not ada.over:
                shared.send(b" ")
        assert ada.types[3:] == ["UPSTREAM_UNAVAILABLE"]
        assert shared.gated.now - began > WHOLE
        empty(shared)
        shared.close()


def test_changes_of_any_size_neither_take_nor_give_back_any_once_the_largest_has_been(shared: Shared) -> None:
    shared.live()
    held = []
    for version in range(20, 40):
        data = b'{"a":"%b"}' % (b"x" * (version // 2 % 2 * 30_000))
        shared.send(modified(config_map("u1", str(version), data)) + b"\n")
        held.append(shared.gated.pool.reserved)
    assert len(set(held[4:])) == 1
    empty(shared)


def test_one_that_nothing_changes_in_is_known_by_what_came(shared: Shared) -> None:
    ada = shared.live()
    scope = ada.subscriber._opening.scope
    ada.browser.leave()
    assert shared.gated.estimates.known(shared.gated.real.key(scope)) == len(SNAPSHOT)
    empty(shared)


def test_who_has_come_and_gone_or_is_let_in_is_waited_for_no_more(shared: Shared) -> None:
    gated = shared.gated
    for _ in range(3):
        gated.crowd(gated.limit.limit)
        ada = shared.open(who="ada")
        bob = shared.open(who="bob")
        ada.browser.leave()
        shared.open(who="eve").exchange.session_ended()
        [watch] = shared.shared._watches.values()
        assert list(watch._waiting) == [bob.subscriber]
        bob.browser.leave()
        gated.leave()
        assert (gated.limit.admitted, gated.limit.waiting) == (0, 0)
    shared.open(who="ada")
    shared.look(config_map())
    [watch] = shared.shared._watches.values()
    assert watch._waiting == {}
    empty(shared)


def test_what_a_list_has_and_nobody_is_shown_is_known_to_the_next_one_and_not_kept(shared: Shared) -> None:
    managed = b',"managedFields":[{"manager":"%b"}]' % (b"m" * 200_000)
    ada = shared.open()
    shared.look(config_map())
    content = added(config_map("u1", more=managed)) + b"\n" + COMPLETE + b"\n"
    shared.show(content)
    scope = ada.subscriber._opening.scope
    shared.send(modified(config_map("u1", "11")) + b"\n")
    assert shared.gated.pool.reserved <= 2 * STEP + 2000 * KEPT
    ada.browser.leave()
    assert shared.gated.pool.reserved == 0
    known = shared.gated.estimates.known(shared.gated.real.key(scope))
    assert known is not None and 200_000 < known < 202_000
    empty(shared)


def test_what_changes_and_stays_as_large_takes_no_more(shared: Shared) -> None:
    shared.live()
    for version in range(20, 60):
        data = b'{"a":"%b"}' % (b"%d" % version * 10_000)
        shared.send(modified(config_map("u1", str(version), data)) + b"\n")
    assert shared.gated.pool.reserved <= 20_500 * KEPT + 2 * STEP
    empty(shared)


@pytest.mark.parametrize("complete", [True, False])
def test_one_that_outgrows_what_there_is_ends_for_all_and_is_known_by_then(complete: bool) -> None:
    shared = Shared(pool=40_000)
    ada = shared.open(who="ada")
    bob = shared.open(who="bob")
    shared.look(config_map())
    shared.show(SNAPSHOT if complete else LINE)
    body = config_map("u2", "20", b'{"a":"%b"}' % (b"x" * 20_000))
    shared.send(added(body) + b"\n")
    for visitor in (ada, bob):
        assert visitor.types[-1] == "UPSTREAM_UNAVAILABLE"
        assert str(visitor.events[-1]["retryAfterMs"]) == str(1000 * RETRY_AFTER)
        assert visitor.whole
    assert shared.gated.refused == {"memory": 1}
    shared.assert_nothing_is_left()
    again = shared.open()
    assert interrupted(again) is Reason.READ_TOO_LARGE
    empty(shared)
    shared.close()


# Later cycles.


def test_a_later_cycle_passes_the_gates_again_and_nobody_looks(shared: Shared) -> None:
    gated = shared.gated
    ada = shared.live()
    shared.wait(KEEP + 60)
    gated.crowd(gated.limit.limit)
    shared.lose()
    assert gated.pool.reserved == 0
    assert ada.types[3:] == ["RESYNC_REQUIRED"]
    gated.leave()
    shared.settle()
    assert len(gated.looks) == 1
    assert gated.pool.reserved < MIB  # what it had is known, and is no guess
    shared.show()
    assert ada.types[4:] == ["reset", "added", "synced"]
    empty(shared)


def test_one_that_was_lost_before_anything_was_known_of_it_is_a_guess(shared: Shared) -> None:
    ada = shared.open()
    shared.look(config_map(), remaining=None)
    shared.show(LINE)
    shared.lose()
    assert len(shared.gated.looks) == 1
    assert shared.gated.pool.reserved == ceil(MIB * KEPT)
    shared.show()
    assert ada.types == ["reset", "added", "synced"]
    empty(shared)


def test_later_it_is_refused_by_an_event_and_who_has_come_since_by_an_answer(shared: Shared) -> None:
    ada = shared.live()
    shared.gated.crowd(shared.gated.limit.limit)
    shared.lose()
    bob = shared.open(who="bob")
    assert answered(bob) is None
    shared.wait(WAIT + 2)
    assert ada.types[3:] == ["RESYNC_REQUIRED", "UPSTREAM_UNAVAILABLE"]
    assert ada.browser.told is Told.FINISHED
    assert interrupted(bob) is Reason.ADMISSION_TIMED_OUT
    assert shared.gated.refused == {"concurrency": 1}
    empty(shared)


def test_later_one_that_has_become_too_large_is_a_terminal_event(shared: Shared) -> None:
    ada = shared.live()
    scope = ada.subscriber._opening.scope
    shared.gated.crowd(shared.gated.limit.limit)
    shared.lose()
    shared.gated.estimates.took(shared.gated.real.key(scope), shared.gated.pool.size)
    shared.gated.leave()
    shared.settle()
    assert ada.types[3:] == ["RESYNC_REQUIRED", "INTERNAL"]
    assert ada.events[-1]["terminal"] is True
    empty(shared)


def test_what_comes_before_a_slot_comes_before_each_request_with_foyers_own_token_and_no_look() -> None:
    gated = Gated()
    drawn: list[str] = []

    def before(way: OpenSide) -> OpenSide:
        drawn.append("drawn")
        return way

    gated.server = replace(gated.server, gates=replace(gated.real, before=before))
    shared = Shared(gated=gated)
    shared.open()
    assert (len(gated.looks), drawn) == (1, [])
    shared.look(config_map())
    assert drawn == ["drawn"]
    empty(shared)
    shared.close()


def test_scopes_have_each_their_own(shared: Shared) -> None:
    shared.live()
    shared.open(CONFIGMAPS + b"&labelSelector=a")
    assert len(shared.gated.looks) == 2
    assert shared.gated.limit.admitted == 1
    empty(shared)

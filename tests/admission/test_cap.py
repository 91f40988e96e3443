"""Spec 06, Per-target cap, and the seed's: so many requests are at one target at once, whatever sent them."""

from __future__ import annotations

import pytest

from foyer.admission.cap import Cap, Until
from foyer.admission.place import Place
from foyer.exchange.ports import UpstreamReceiver
from foyer.measures import TargetMeasures
from foyer.protocol.events import Failure
from tests.admission.worlds import TIMEOUT, Asked, Receiver, Replica, Target, World


def asking(target: Target, *names: str, until: Until = Until.HEAD) -> list[Receiver]:
    receivers = [Receiver(name) for name in names]
    for receiver in receivers:
        target.cap.open(receiver, until=until)
    return receivers


def failures(*receivers: Receiver) -> list[Failure | None]:
    return [receiver.failure for receiver in receivers]


def test_the_limit_th_request_goes_to_the_target_and_the_next_waits() -> None:
    target = Target(Replica(), 2)
    asking(target, "ada", "bob", "eve")
    assert target.connections.names == ["ada", "bob"]
    assert (target.cap.in_flight, target.cap.waiting, target.cap.limit) == (2, 1, 2)


def test_a_slot_is_held_until_the_response_head_has_arrived() -> None:
    target = Target(Replica(), 1)
    asking(target, "ada", "bob")
    ada = target.connections.asked[0]
    ada.open()
    target.replica.world.turn()
    assert target.connections.names == ["ada"]
    ada.head()
    target.replica.world.turn()
    assert target.connections.names == ["ada", "bob"]
    ada.end()
    assert target.cap.in_flight == 1


def test_of_an_answer_that_is_read_whole_it_is_held_until_the_answer_has() -> None:
    target = Target(Replica(), 1)
    asking(target, "ada", "bob", until=Until.WHOLE)
    ada = target.connections.asked[0]
    ada.open()
    ada.head()
    target.replica.world.turn()
    assert target.connections.names == ["ada"]
    ada.end()
    target.replica.world.turn()
    assert target.connections.names == ["ada", "bob"]


def test_a_watch_that_has_been_answered_holds_nothing() -> None:
    """Of its slot there is nothing left, however long it stays open."""
    target = Target(Replica(), 1)
    asking(target, "watch")
    watch = target.connections.asked[0]
    watch.open()
    watch.head()
    assert target.cap.in_flight == 0
    assert watch.place is None


ENDINGS = {
    "answered": "open head end",
    "failed before a connection": "fail",
    "failed before its head": "open fail",
    "failed after it": "open head fail",
    "given up before a connection": "cancel",
    "given up before its head": "open leave",
    "given up after it": "open head leave",
    "given up twice": "cancel leave cancel",
    "over before it was given up": "open end cancel",
}
"""What the pool and, to `cancel`, whoever asked do."""


@pytest.mark.parametrize("until", Until)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_slot_is_given_back_once_whichever_way_a_request_ends(ending: str, until: Until) -> None:
    target = Target(Replica(), 2)
    asking(target, "another", until=Until.WHOLE)
    slot = target.cap.open(Receiver("ada"), until=until)
    asked = target.connections.asked[-1]
    assert target.cap.in_flight == 2
    for step in ENDINGS[ending].split():
        getattr(slot if step == "cancel" else asked, step)()
    asked.leave()
    assert target.cap.in_flight == 1


def test_a_request_that_has_a_connection_is_not_given_up_by_who_no_longer_waits() -> None:
    target = Target(Replica(), 1)
    slot = target.cap.open(Receiver("ada"))
    target.connections.asked[0].open()
    slot.cancel()
    assert target.cap.in_flight == 1
    assert not target.connections.asked[0].over


def test_one_slow_target_holds_only_its_own_slots() -> None:
    replica = Replica()
    slow, quick = Target(replica, 1), Target(replica, 1)
    asking(slow, "one", "two", "three")
    asking(quick, "four")
    assert quick.connections.names == ["four"]


def test_a_request_past_the_cap_waits_until_its_deadline_and_nothing_was_sent() -> None:
    target = Target(Replica(), 1)
    _, waiting = asking(target, "ada", "bob")
    target.replica.world.wait(TIMEOUT - 1)
    assert failures(waiting) == [None]
    target.replica.world.wait(2)
    assert failures(waiting) == [Failure.TARGET_FULL]
    assert target.connections.names == ["ada"]
    assert target.measures.refused == 1


def test_a_shorter_deadline_is_its_own() -> None:
    target = Target(Replica(), 1)
    asking(target, "ada")
    soon = Receiver("bob")
    target.cap.open(soon, deadline=target.replica.world.clock.now + 3)
    target.replica.world.wait(4)
    assert soon.failure is Failure.TARGET_FULL


def test_a_deadline_that_is_over_before_a_slot_is_asked_for_is_met_within_a_tick() -> None:
    target = Target(Replica(), 1)
    asking(target, "ada")
    late = Receiver("bob")
    target.cap.open(late, deadline=target.replica.world.clock.now - 5)
    target.replica.world.wait(1)
    assert late.failure is Failure.TARGET_FULL


def test_a_deadline_holds_for_the_slot_and_not_for_the_answer() -> None:
    target = Target(Replica(), 1)
    [ada] = asking(target, "ada")
    target.replica.world.wait(10 * TIMEOUT)
    assert ada.failure is None
    assert target.cap.in_flight == 1


def test_whoever_gives_up_waiting_is_never_told_anything_and_costs_the_next_nothing() -> None:
    target = Target(Replica(), 1)
    asking(target, "ada")
    gone = Receiver("bob")
    slot = target.cap.open(gone)
    asking(target, "eve")
    slot.cancel()
    target.connections.asked[0].fail()
    target.replica.world.turn()
    assert target.connections.names == ["ada", "eve"]
    target.replica.world.wait(TIMEOUT + 1)
    assert gone.failure is None
    assert target.measures.refused == 0


def test_a_slot_is_not_given_to_the_next_while_a_connection_is_ending() -> None:
    """All on it are told one by one: the next must not be put on it in between."""
    target = Target(Replica(), 2)
    asking(target, "ada", "bob", "eve")
    for asked in [*target.connections.asked]:
        asked.fail(Failure.GOAWAY)
        assert target.connections.names == ["ada", "bob"]
    target.replica.world.turn()
    assert target.connections.names == ["ada", "bob", "eve"]


class Broken:
    """A pool that fails everybody at once, or is broken itself."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked = 0

    def open(self, receiver: UpstreamReceiver, place: Place) -> Asked:
        self.asked += 1
        if self.error is not None:
            raise self.error
        place.close()
        receiver.upstream_gone(Failure.CONNECTION)
        return Asked(World(), receiver, None)


def cap_before(pool: Broken, world: World, limit: int = 1) -> Cap:
    return Cap(
        limit,
        pool.open,
        timeout=TIMEOUT,
        wheel=world.wheel,
        now=world.clock,
        soon=world.soon,
        counts=TargetMeasures(),
    )


def test_requests_that_fail_at_once_leave_their_slots() -> None:
    pool, world = Broken(), World()
    cap = cap_before(pool, world)
    receivers = [Receiver() for _ in range(3)]
    for receiver in receivers:
        cap.open(receiver)
    assert failures(*receivers) == [Failure.CONNECTION] * 3
    assert cap.in_flight == 0


def test_a_fault_of_the_pools_costs_no_slot() -> None:
    pool, world = Broken(ZeroDivisionError()), World()
    cap = cap_before(pool, world)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            cap.open(Receiver())
    assert cap.in_flight == 0


class Outer:
    """What a request holds besides: told what the slot is."""

    def __init__(self, *, stays: bool = False) -> None:
        self.told: list[str] = []
        self.stays = stays

    def opened(self, now: float) -> None:
        self.told.append(f"opened at {now:g}")

    def answered(self) -> Place | None:
        self.told.append("answered")
        return self if self.stays else None

    def close(self) -> None:
        self.told.append("closed")


@pytest.mark.parametrize("until", Until)
@pytest.mark.parametrize("stays", [False, True])
def test_what_a_request_holds_besides_is_told_once_what_its_slot_is_told(until: Until, stays: bool) -> None:
    target, outer = Target(Replica()), Outer(stays=stays)
    target.cap.open(Receiver(), until=until, place=outer)
    asked = target.connections.asked[0]
    target.replica.world.clock.advance(5)
    asked.open()
    asked.head()
    asked.leave()
    asked.leave()
    assert outer.told == ["opened at 1005", "answered", *["closed"] * stays]


def test_what_a_request_holds_besides_is_closed_before_it_is_told_that_there_is_no_slot() -> None:
    target, outer = Target(Replica(), 1), Outer()
    asking(target, "ada")
    waiting = Receiver("bob")
    target.cap.open(waiting, place=outer)
    target.replica.world.wait(TIMEOUT + 1)
    assert outer.told == ["closed"]
    assert waiting.failure is Failure.TARGET_FULL

"""Spec 06, Memory, and the seed's: what a read that is held reserves before it is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from foyer.admission.estimates import GUESS
from foyer.admission.memory import LOOK_TIME, Refused, Want
from foyer.admission.pool import Reservation
from tests.admission.worlds import MIB, WAIT, Replica


class Read:
    """One that wants memory; looks when it is asked to, and a test says what it finds."""

    def __init__(
        self, replica: Replica, scope: str = "pods", *, cut: bool = False, multiple: float = 2.0
    ) -> None:
        self.replica = replica
        self.want = Want(scope, self._look, multiple, cut)
        self.found: Callable[[int | None], None] | None = None
        self.looks = 0
        self.gave_up_looking = 0
        self.held: Reservation | None = None
        self.why: Refused | None = None

    def reserve(self, deadline: float | None = None) -> Read:
        self.waiting = self.replica.memory.reserve(self.want, self._held, self._refused, deadline=deadline)
        return self

    def cancel(self) -> None:
        """Its look is given up."""
        self.gave_up_looking += 1

    def tell(self, size: int | None) -> None:
        assert self.found is not None
        self.found(size)
        self.replica.world.turn()

    @property
    def size(self) -> int:
        assert self.held is not None
        return self.held.size

    def _look(self, found: Callable[[int | None], None]) -> Read:
        self.found = found
        self.looks += 1
        return self

    def _held(self, reservation: Reservation) -> None:
        assert self.held is None
        assert self.why is None
        self.held = reservation

    def _refused(self, why: Refused) -> None:
        assert self.held is None
        assert self.why is None
        self.why = why


def taking(replica: Replica, size: int) -> Reservation:
    """Somebody who holds so much of the pool."""
    reservation = replica.pool.reservation(size, lambda: None, lambda: None)
    assert reservation is not None
    reservation.ask(0)
    return reservation


def test_a_multiple_of_what_the_scope_last_took_is_reserved_and_nobody_looks() -> None:
    replica = Replica()
    replica.estimates.took("pods", 10 * MIB)
    read = Read(replica, multiple=2.5).reserve()
    assert (read.size, read.looks) == (25 * MIB, 0)


def test_of_a_scope_that_was_not_read_of_late_one_item_is_looked_at() -> None:
    replica = Replica()
    replica.estimates.took("pods", 10 * MIB)
    replica.world.clock.advance(601)
    read = Read(replica).reserve()
    assert (read.held, read.looks) == (None, 1)
    read.tell(3 * MIB)
    assert read.size == 6 * MIB


@pytest.mark.parametrize("found", [None, GUESS])
def test_where_the_look_finds_nothing_it_is_a_mebibyte(found: int | None) -> None:
    read = Read(Replica()).reserve()
    read.tell(found)
    assert read.size == 2 * MIB


def test_where_the_look_takes_too_long_it_is_a_mebibyte_and_the_look_is_given_up() -> None:
    replica = Replica()
    read = Read(replica).reserve()
    replica.world.wait(LOOK_TIME + 1)
    assert (read.size, read.gave_up_looking) == (2 * MIB, 1)


def test_what_a_look_finds_after_it_was_given_up_is_nothing_any_more() -> None:
    replica = Replica()
    read = Read(replica).reserve()
    replica.world.wait(LOOK_TIME + 1)
    read.tell(5 * MIB)
    assert read.size == 2 * MIB


def test_one_looks_for_all_who_want_the_same() -> None:
    replica = Replica()
    reads = [Read(replica).reserve() for _ in range(3)]
    reads[0].tell(3 * MIB)
    assert [(read.size, read.looks) for read in reads] == [(6 * MIB, 1), (6 * MIB, 0), (6 * MIB, 0)]


def test_a_look_that_finds_at_once_is_as_good() -> None:
    replica = Replica()
    held: list[Reservation] = []

    def look(found: Callable[[int | None], None]) -> Read:
        found(MIB)
        return Read(replica)

    replica.memory.reserve(Want("pods", look, 1.0), held.append, lambda why: None)
    assert [reservation.size for reservation in held] == [MIB]
    assert len(replica.world.wheel) == 0


def test_memory_is_waited_for_in_arrival_order() -> None:
    replica = Replica()
    first = taking(replica, 99 * MIB)
    for scope, size in (("large", 40 * MIB), ("small", 1)):
        replica.estimates.took(scope, size)
    large, small = Read(replica, "large").reserve(), Read(replica, "small").reserve()
    assert large.held is small.held is None
    first.close()
    replica.world.turn()
    assert (large.size, small.size) == (80 * MIB, 2)


def test_a_read_for_which_there_is_none_in_time_is_refused_and_counted() -> None:
    replica = Replica()
    taking(replica, 100 * MIB)
    replica.estimates.took("pods", 1)
    read = Read(replica).reserve()
    replica.world.wait(WAIT - 1)
    assert replica.refusals["memory"] == 0
    replica.world.wait(2)
    assert read.why is Refused.MEMORY
    assert replica.refusals == {"concurrency": 0, "memory": 1, "too-large": 0}


def test_looking_is_part_of_the_time_that_a_read_waits_here() -> None:
    replica = Replica()
    taking(replica, 100 * MIB)
    read = Read(replica).reserve()
    replica.world.wait(WAIT + 1)
    assert read.why is Refused.MEMORY


def test_a_deadline_that_is_sooner_holds() -> None:
    replica = Replica()
    taking(replica, 100 * MIB)
    read = Read(replica).reserve(deadline=replica.world.clock.now + 2)
    replica.world.wait(4)
    assert read.why is Refused.MEMORY


def test_a_read_that_needs_more_than_the_whole_pool_is_too_large_at_once_and_is_counted() -> None:
    replica = Replica()
    replica.estimates.took("pods", 51 * MIB)
    assert Read(replica).reserve().why is Refused.TOO_LARGE
    read = Read(replica, "nodes").reserve()
    read.tell(51 * MIB)
    assert read.why is Refused.TOO_LARGE
    assert replica.refusals == {"concurrency": 0, "memory": 0, "too-large": 2}
    assert replica.pool.reserved == 0


def test_a_read_that_can_be_cut_is_given_the_whole_pool_at_most_and_is_never_too_large() -> None:
    replica = Replica()
    replica.estimates.took("pods", 51 * MIB)
    assert Read(replica, cut=True).reserve().size == 100 * MIB


@pytest.mark.parametrize("known", [True, False])
def test_what_a_cache_has_is_waited_for_by_nobody_who_can_do_with_less(known: bool) -> None:
    """Else a list that needs the whole pool would be refused for as long as there is a cache, each time after
    all who came behind it had waited for that."""
    replica = Replica()
    cache = taking(replica, 40 * MIB)
    read = taking(replica, 10 * MIB)
    cache.lasts()
    replica.estimates.took("nodes", MIB)
    if known:
        replica.estimates.took("pods", 500 * MIB)
    large = Read(replica, cut=True).reserve()
    if not known:
        large.tell(500 * MIB)
    small = Read(replica, "nodes").reserve()
    assert (large.held, small.held) == (None, None)  # the read will be done
    read.close()
    replica.world.turn()
    assert large.size == 60 * MIB
    large.held.close()  # type: ignore[union-attr]
    replica.world.turn()
    assert small.size == 2 * MIB


def test_a_guess_waits_for_no_more_than_a_cache_leaves() -> None:
    replica = Replica(pool_size=GUESS)
    taking(replica, GUESS - 1000).lasts()
    read = Read(replica).reserve()
    read.tell(None)
    assert read.size == 1000


def test_a_guess_is_never_too_large() -> None:
    replica = Replica(pool_size=MIB // 2)
    read = Read(replica).reserve()
    read.tell(None)
    assert read.size == MIB // 2


def test_an_item_that_is_said_to_be_of_no_size_reserves_some() -> None:
    read = Read(Replica()).reserve()
    read.tell(-5)
    assert read.size == 1


def test_who_leaves_while_it_looks_has_the_next_one_look() -> None:
    replica = Replica()
    first, second = Read(replica).reserve(), Read(replica).reserve()
    first.waiting.cancel()
    replica.world.turn()
    assert (first.gave_up_looking, second.looks) == (1, 1)
    second.tell(MIB)
    assert (first.held, second.size) == (None, 2 * MIB)


def test_who_leaves_in_the_turn_in_which_another_has_found_it_holds_nothing() -> None:
    replica = Replica()
    first, second = Read(replica).reserve(), Read(replica).reserve()
    assert first.found is not None
    first.found(MIB)
    second.waiting.cancel()
    replica.world.turn()
    assert second.held is None
    assert replica.pool.reserved == first.size == 2 * MIB


def test_who_leaves_the_line_lets_the_others_go_on_and_is_told_nothing() -> None:
    replica = Replica()
    taking(replica, 90 * MIB)
    replica.estimates.took("large", 40 * MIB)
    replica.estimates.took("small", MIB)
    large, small = Read(replica, "large").reserve(), Read(replica, "small").reserve()
    large.waiting.cancel()
    replica.world.wait(WAIT + 1)
    assert (large.held, large.why, small.size) == (None, None, 2 * MIB)


def test_who_has_what_it_wanted_is_not_given_up_by_who_no_longer_waits() -> None:
    replica = Replica()
    replica.estimates.took("pods", MIB)
    read = Read(replica).reserve()
    read.waiting.cancel()
    assert replica.pool.reserved == 2 * MIB


class Faulty(Exception):
    """A fault of our own."""


def fault(found: Callable[[int | None], None]) -> Read:
    raise Faulty


def test_a_fault_while_it_looks_leaves_nothing_behind() -> None:
    replica = Replica()
    with pytest.raises(Faulty):
        replica.memory.reserve(Want("pods", fault, 1.0), lambda held: None, lambda why: None)
    assert len(replica.world.wheel) == 0
    assert Read(replica).reserve().looks == 1


def test_one_whose_look_fails_by_a_fault_of_ours_goes_on_by_a_guess() -> None:
    replica = Replica()
    held: list[Reservation] = []
    first = Read(replica).reserve()
    replica.memory.reserve(Want("pods", fault, 1.0), held.append, lambda why: None)
    with pytest.raises(Faulty):
        first.tell(None)
    replica.world.wait(LOOK_TIME + 1)
    assert [reservation.size for reservation in held] == [MIB]

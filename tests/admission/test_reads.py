"""Spec 06, Read admission, and the seed's Two Gates: a read's way through both, and what it holds of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from foyer.admission.cap import Until
from foyer.admission.memory import Refused, Want
from foyer.admission.reads import Read
from foyer.exchange.ports import Cancellable
from foyer.protocol.events import Failure
from tests.admission.worlds import MIB, THRESHOLD, TIMEOUT, WAIT, Asked, Receiver, Replica, Target


class Held:
    """A read that is held, such as a snapshot: notes what becomes of it."""

    def __init__(self, target: Target, scope: str = "pods") -> None:
        self.target = target
        self.scope = scope
        self.read: Read | None = None
        self.why: Refused | None = None
        self.waiting: Cancellable

    def enter(self, deadline: float | None = None) -> Held:
        self.waiting = self.target.reads.enter(self._admitted, self._refused, deadline=deadline)
        return self

    def admit(self, deadline: float | None = None) -> Held:
        self.waiting = self.target.reads.admit(
            self.target.replica.memory, self._want, self._admitted, self._refused, deadline=deadline
        )
        return self

    @property
    def admitted(self) -> Read:
        assert self.read is not None
        return self.read

    def ask(self, until: Until = Until.HEAD) -> tuple[Asked, Cancellable, Receiver]:
        """A request of it, and where it got to."""
        receiver = Receiver()
        waiting = self.admitted.open(receiver, until=until)
        return self.target.connections.asked[-1], waiting, receiver

    def _want(self, read: Read) -> Want:
        return Want(self.scope, self._look, 1.0)

    def _look(self, found: Callable[[int | None], None]) -> Held:
        found(None)
        return self

    def cancel(self) -> None: ...

    def _admitted(self, read: Read) -> None:
        assert self.read is None
        assert self.why is None
        self.read = read

    def _refused(self, why: Refused) -> None:
        assert self.read is None
        assert self.why is None
        self.why = why


def open_some(target: Target, *names: str) -> list[Receiver]:
    receivers = [Receiver(name) for name in names]
    for receiver in receivers:
        target.reads.open(receiver)
    return receivers


def failures(*receivers: Receiver) -> list[Failure | None]:
    return [receiver.failure for receiver in receivers]


# What is passed on: the first gate, and its place until the head.


def test_a_read_that_is_passed_on_reserves_nothing() -> None:
    target = Target(Replica())
    open_some(target, "ada")
    assert target.connections.names == ["ada"]
    assert target.replica.pool.reserved == 0


def test_a_read_that_is_passed_on_holds_its_place_until_the_response_head() -> None:
    target = Target(Replica(), 1)
    open_some(target, "ada", "bob")
    ada = target.connections.asked[0]
    assert (target.limit.admitted, target.limit.waiting) == (1, 1)
    ada.open()
    ada.head()
    assert target.limit.admitted == 0
    target.replica.world.turn()
    assert target.connections.names == ["ada", "bob"]
    assert ada.place is None, "a watch holds on to nothing"


def test_reads_go_to_the_target_in_arrival_order() -> None:
    target = Target(Replica(), 1)
    open_some(target, *"abcdef")
    for number in range(6):
        asked = target.connections.asked[number]
        asked.open()
        asked.head()
        target.replica.world.turn()
    assert target.connections.names == [*"abcdef"]


def test_a_read_that_is_not_let_in_in_time_is_not_admitted_and_nothing_was_sent() -> None:
    target = Target(Replica(), 1)
    _, bob = open_some(target, "ada", "bob")
    target.replica.world.wait(WAIT - 1)
    assert failures(bob) == [None]
    target.replica.world.wait(2)
    assert failures(bob) == [Failure.NOT_ADMITTED]
    assert target.connections.names == ["ada"]
    assert target.replica.refusals == {"concurrency": 1, "memory": 0, "too-large": 0}


def test_a_read_whose_own_deadline_is_sooner_waits_until_that() -> None:
    target = Target(Replica(), 1)
    open_some(target, "ada")
    bob = Receiver("bob")
    target.reads.open(bob, deadline=target.replica.world.clock.now + 2)
    target.replica.world.wait(3)
    assert bob.failure is Failure.NOT_ADMITTED


def test_one_target_that_is_slow_keeps_nobody_from_reading_another() -> None:
    replica = Replica()
    slow, quick = Target(replica, 1), Target(replica, 1)
    open_some(slow, "one", "two", "three")
    open_some(quick, "four")
    assert quick.connections.names == ["four"]


def test_a_read_that_was_let_in_waits_for_a_slot_like_any_request() -> None:
    target = Target(Replica(), 1)
    target.cap.open(Receiver("a change"))
    [ada] = open_some(target, "ada")
    assert (target.limit.admitted, target.connections.names) == (1, ["a change"])
    target.replica.world.wait(TIMEOUT + 1)
    assert ada.failure is Failure.TARGET_FULL
    assert target.limit.admitted == 0


ENDINGS = {
    "answered": "open head end",
    "without a connection": "fail",
    "failed before its head": "open fail",
    "failed after it": "open head fail",
    "given up before a connection": "cancel",
    "given up before its head": "open leave",
    "given up by who waits no longer": "open head cancel leave",
    "given up twice": "cancel cancel",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_read_leaves_both_its_gate_and_its_slot_whichever_way_it_ends(ending: str) -> None:
    target = Target(Replica())
    waiting = target.reads.open(Receiver())
    asked = target.connections.asked[0]
    for step in ENDINGS[ending].split():
        getattr(waiting if step == "cancel" else asked, step)()
    assert (target.limit.admitted, target.cap.in_flight) == (0, 0)


def test_a_read_that_has_a_connection_keeps_its_place_though_nobody_waits_for_one_any_more() -> None:
    target = Target(Replica())
    waiting = target.reads.open(Receiver())
    target.connections.asked[0].open()
    waiting.cancel()
    assert (target.limit.admitted, target.cap.in_flight) == (1, 1)


@pytest.mark.parametrize("held", [False, True])
def test_a_deadline_of_a_reads_own_holds_for_its_slot_too(held: bool) -> None:
    target = Target(Replica(), 1)
    target.cap.open(Receiver("a change"))
    ada, deadline = Receiver("ada"), target.replica.world.clock.now + 3
    if held:
        Held(target).enter().admitted.open(ada, deadline=deadline)
    else:
        target.reads.open(ada, deadline=deadline)
    target.replica.world.wait(4)
    assert ada.failure is Failure.TARGET_FULL


@pytest.mark.parametrize("until", Until)
def test_a_request_of_a_held_read_keeps_its_slot_until_it_says(until: Until) -> None:
    target = Target(Replica(), 1)
    asked, _, _ = Held(target).enter().ask(until)
    asked.open()
    asked.head()
    assert target.cap.in_flight == (until is Until.WHOLE)
    asked.end()
    assert target.cap.in_flight == 0


def test_a_read_that_gives_up_at_the_gate_is_told_nothing_any_more() -> None:
    target = Target(Replica(), 1)
    open_some(target, "ada")
    bob = Receiver("bob")
    target.reads.open(bob).cancel()
    target.replica.world.wait(WAIT + 1)
    assert bob.failure is None
    assert target.replica.refusals["concurrency"] == 0


@pytest.mark.parametrize(
    ("before", "failure"), [("a read", Failure.NOT_ADMITTED), ("a change", Failure.TARGET_FULL)]
)
def test_a_read_whose_time_is_over_says_what_it_waited_for(before: str, failure: Failure) -> None:
    target = Target(Replica(), 1)
    (target.reads if before == "a read" else target.cap).open(Receiver())
    bob = Receiver("bob")
    target.reads.open(bob).expire()
    assert bob.failure is failure
    assert target.limit.waiting == target.cap.waiting == 0


def test_a_read_that_waits_for_a_connection_has_nothing_of_its_own_to_say() -> None:
    target = Target(Replica(), 1)
    ada = Receiver("ada")
    target.reads.open(ada).expire()
    assert ada.failure is None
    assert target.cap.in_flight == 1


# What the limit learns.


def test_opening_a_connection_is_part_of_what_a_read_waits_for_its_slot() -> None:
    target = Target(Replica(), 8)
    open_some(target, "ada", "bob")
    target.replica.world.clock.advance(THRESHOLD)
    target.connections.asked[0].open()
    assert target.limit.limit == 9
    target.replica.world.clock.advance(0.5)
    target.connections.asked[1].open()
    assert target.limit.limit == 4


def test_what_a_read_waited_at_the_gate_is_no_part_of_it() -> None:
    target = Target(Replica(), 1)
    open_some(target, "ada", "bob")
    ada = target.connections.asked[0]
    ada.open()  # raises the limit to 2
    target.replica.world.turn()
    assert target.limit.admitted == 2
    ada.head()
    open_some(target, "eve")
    target.replica.world.clock.advance(5)
    target.replica.world.turn()
    target.connections.asked[1].open()
    assert target.measures.wait.sum == 5.0, "from when it asked for its slot"


@pytest.mark.parametrize("failure", [Failure.CONNECTION, Failure.TLS, Failure.TIMEOUT])
def test_a_read_that_got_no_connection_halves_the_limit(failure: Failure) -> None:
    target = Target(Replica(), 8)
    open_some(target, "ada")
    target.connections.asked[0].fail(failure)
    assert target.limit.limit == 4


def test_a_read_that_got_no_slot_halves_the_limit() -> None:
    target = Target(Replica(), 2)
    for _ in range(2):
        target.cap.open(Receiver("a change"))
    open_some(target, "ada")
    target.replica.world.wait(TIMEOUT + 1)
    assert target.limit.limit == 1


def test_a_read_that_failed_after_it_got_its_slot_does_not() -> None:
    """What the server answers, or that it ends a connection, is no sign that there was none to be had."""
    target = Target(Replica(), 8)
    open_some(target, "ada")
    asked = target.connections.asked[0]
    asked.open()
    asked.fail(Failure.RESET)
    assert target.limit.limit == 9


@pytest.mark.parametrize(("seconds", "limit"), [(THRESHOLD, 8), (THRESHOLD + 0.1, 4)])
def test_a_browser_that_leaves_tells_nothing_unless_it_waited_too_long(seconds: float, limit: int) -> None:
    target = Target(Replica(), 8)
    waiting = target.reads.open(Receiver())
    target.replica.world.clock.advance(seconds)
    waiting.cancel()
    assert target.limit.limit == limit


def test_a_change_tells_the_limit_nothing() -> None:
    target = Target(Replica(), 8)
    target.cap.open(Receiver("a change"))
    target.replica.world.clock.advance(5)
    target.connections.asked[0].open()
    assert target.limit.limit == 8


# What is held: both gates, until it has been delivered.


def test_a_held_read_passes_both_gates_and_holds_both_until_it_is_closed() -> None:
    target = Target(Replica())
    held = Held(target).admit()
    assert held.admitted.memory is not None
    assert (target.limit.admitted, target.replica.pool.reserved) == (1, MIB)
    asked, _, _ = held.ask()
    asked.open()
    asked.head()
    asked.end()
    assert (target.limit.admitted, target.replica.pool.reserved) == (1, MIB)
    held.admitted.close()
    held.admitted.close()
    assert (target.limit.admitted, target.replica.pool.reserved) == (0, 0)


def test_what_has_been_delivered_and_is_still_held_lets_another_read() -> None:
    """A shared cache is held long after its snapshot has been delivered."""
    target = Target(Replica(), 1)
    first, second = Held(target).admit(), Held(target).admit()
    first.admitted.delivered()
    target.replica.world.turn()
    assert second.admitted.memory is not None
    assert target.replica.pool.reserved == 2 * MIB
    assert target.replica.pool.passing == target.replica.pool.size - MIB
    first.admitted.close()
    assert target.replica.pool.passing == target.replica.pool.size
    assert (target.limit.admitted, target.replica.pool.reserved) == (1, MIB)


def test_a_read_waiting_at_the_memory_gate_keeps_its_place_at_the_first() -> None:
    target = Target(Replica(pool_size=MIB))
    Held(target).admit()
    waiting = Held(target).admit()
    assert waiting.read is None
    assert target.limit.admitted == 2


def test_once_the_pool_is_full_later_reads_are_refused_at_the_concurrency_gate() -> None:
    replica = Replica(pool_size=MIB)
    target = Target(replica, 2)
    Held(Target(replica)).admit()  # all of the pool, at another target
    for _ in range(60):
        Held(target).admit()
        replica.world.wait(1)
    replica.world.wait(2 * WAIT + 2)
    # Two at a time wait for memory, for ten seconds and a tick. All sixty are refused, most at the first.
    assert replica.refusals["memory"] <= 2 * 8
    assert replica.refusals["concurrency"] == 60 - replica.refusals["memory"]


@pytest.mark.parametrize("way", ["enter", "admit"])
def test_a_held_read_that_is_not_let_in_in_time_is_refused_and_counted(way: str) -> None:
    target = Target(Replica(), 1)
    Held(target).enter()
    late = getattr(Held(target), way)()
    target.replica.world.wait(WAIT + 1)
    assert late.why is Refused.CONCURRENCY
    assert target.replica.refusals["concurrency"] == 1
    assert target.limit.admitted == 1


def test_each_gate_is_waited_at_for_its_own_time() -> None:
    target = Target(Replica(pool_size=MIB), 1)
    other = Target(target.replica)
    first = Held(target).enter()
    Held(other).admit()  # the pool
    late = Held(target).admit()
    target.replica.world.wait(WAIT - 2)
    first.admitted.close()
    target.replica.world.turn()
    target.replica.world.wait(WAIT - 2)
    assert late.why is None
    target.replica.world.wait(3)
    assert late.why is Refused.MEMORY


def test_a_read_whose_deadline_is_over_waits_at_neither() -> None:
    target = Target(Replica(pool_size=MIB), 2)
    Held(target).admit()
    late = Held(target).admit(target.replica.world.clock.now + 1)
    target.replica.world.wait(3)
    assert late.why is Refused.MEMORY
    assert target.limit.admitted == 1


def test_a_read_that_is_too_large_gives_its_place_back() -> None:
    target = Target(Replica())
    target.replica.estimates.took("pods", 101 * MIB)
    assert Held(target).admit().why is Refused.TOO_LARGE
    assert target.limit.admitted == 0


@pytest.mark.parametrize("at", ["the first gate", "the second gate", "both passed"])
def test_a_read_that_is_given_up_gives_back_what_it_has_come_by(at: str) -> None:
    target = Target(Replica(pool_size=MIB), 1)
    before = [Held(target if at == "the first gate" else Target(target.replica)).admit()]
    if at == "both passed":
        before.pop().admitted.close()
    read = Held(target).admit()
    read.waiting.cancel()
    if at == "both passed":
        assert target.limit.admitted == 1, "who has it closes it"
        read.admitted.close()
    for other in before:
        other.admitted.close()
    target.replica.world.wait(WAIT + 1)
    assert (target.limit.admitted, target.replica.pool.reserved) == (0, 0)
    assert read.why is None


def test_a_look_at_the_scope_is_a_request_of_the_read_that_looks() -> None:
    target = Target(Replica(), 8)
    looks: list[Receiver] = []
    admitted: list[Read] = []

    def want(read: Read) -> Want:
        def look(found: Callable[[int | None], None]) -> Cancellable:
            looks.append(Receiver("look"))
            return read.open(looks[0])

        return Want("pods", look, 1.0)

    target.reads.admit(target.replica.memory, want, admitted.append, lambda why: None)
    assert target.connections.names == ["look"]
    target.replica.world.clock.advance(THRESHOLD + 1)
    target.connections.asked[0].open()
    assert target.limit.limit == 4


class Faulty(Exception):
    """A fault of our own."""


def fault(_: object) -> None:
    raise Faulty


def test_a_fault_of_who_is_let_in_leaves_nothing_taken() -> None:
    target = Target(Replica())
    target.replica.estimates.took("pods", MIB)
    with pytest.raises(Faulty):
        target.reads.admit(
            target.replica.memory, lambda read: Want("pods", fault_look, 1.0), fault, lambda why: None
        )
    assert (target.limit.admitted, target.replica.pool.reserved) == (0, 0)


def test_a_fault_of_who_has_waited_for_memory_leaves_nothing_taken() -> None:
    target = Target(Replica(pool_size=MIB))
    target.replica.estimates.took("pods", MIB)
    before = Held(target).admit()
    target.reads.admit(
        target.replica.memory, lambda read: Want("pods", fault_look, 1.0), fault, lambda why: None
    )
    before.admitted.close()
    with pytest.raises(Faulty):
        target.replica.world.turn()
    assert (target.limit.admitted, target.replica.pool.reserved) == (0, 0)


def fault_look(found: Callable[[int | None], None]) -> Cancellable:
    raise AssertionError("what the scope takes is known")

"""Both gates and the cap together, whatever happens: nothing is lost, nothing is given twice, and in order.

Two targets and one pool of memory; reads that are passed on, reads that are held, and changes; each of them
is opened, answered, failed, given up, grown, delivered or too late in any order. What is taken of each gate
is reckoned here from what its holders were told.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from foyer.admission.cap import Until
from foyer.admission.memory import Refused, Want
from foyer.admission.pool import Reservation
from foyer.admission.reads import Read
from foyer.exchange.ports import Expirable
from foyer.protocol.events import Failure
from tests.admission.worlds import MIB, Asked, Receiver, Replica, Target

WHICH = st.integers(0, 1000)
SIZES = {"small": MIB // 2, "middling": 2 * MIB, "large": 5 * MIB}
"""Scopes that were read of late. The pool is 8 MiB; a read of a scope called otherwise has to look."""


class Request(Receiver):
    """One that came to a target's cap or to its gate, as number so many of its kind."""

    def __init__(self, kind: str, number: int, target: Target, until: Until = Until.HEAD) -> None:
        super().__init__(f"{kind} {number}")
        self.target = target
        self.kind = kind
        self.number = number
        self.until = until
        self.given_up = False
        self.waiting: Expirable

    @property
    def waits(self) -> bool:
        """For a slot or a connection."""
        return self.side is None and self.failure is None and not self.given_up

    def give_up(self) -> None:
        self.given_up = True
        (self.waiting if self.side is None else self.side).cancel()


class Held:
    """A read that is held."""

    def __init__(self, target: Target, scope: str, number: int, order: list[int]) -> None:
        """`order` has the numbers of those that were admitted at this target and had not to look."""
        self.target = target
        self.scope = scope
        self.number = number
        self.order = order
        self.at_memory = False
        self.read: Read | None = None
        self.why: Refused | None = None
        self.looks: list[Callable[[int | None], None]] = []
        self.given_up = self.delivered = self.closed = False
        self.waiting = target.reads.admit(target.replica.memory, self._want, self._admitted, self._refused)

    def _want(self, read: Read) -> Want:
        self.at_memory = True
        return Want(self.scope, self._look, 1.0)

    def _look(self, found: Callable[[int | None], None]) -> Held:
        self.looks.append(found)
        return self

    def cancel(self) -> None:
        self.looks.clear()

    def _admitted(self, read: Read) -> None:
        assert not (self.read or self.why or self.given_up)
        self.read = read
        if self.scope in SIZES:
            self.order.append(self.number)

    def _refused(self, why: Refused) -> None:
        assert not (self.read or self.why or self.given_up)
        self.why = why

    def give_up(self) -> None:
        self.given_up = True
        self.waiting.cancel()
        if self.read is not None:
            self.close()

    @property
    def has_place(self) -> bool:
        """At the first gate."""
        if self.read is None:
            return self.at_memory and self.why is None and not self.given_up
        return not (self.delivered or self.closed)

    @property
    def bytes(self) -> int:
        """Of the pool."""
        if self.read is None or self.closed:
            return 0
        assert self.read.memory is not None
        return self.read.memory.size

    def close(self) -> None:
        self.closed = True
        if self.read is not None:
            self.read.close()


class Gates(RuleBasedStateMachine):
    """Whatever may happen to them."""

    def __init__(self) -> None:
        super().__init__()
        self.replica = Replica(pool_size=8 * MIB)
        self.world = self.replica.world
        self.targets = [Target(self.replica, 2), Target(self.replica, 3)]
        for scope, size in SIZES.items():
            self.replica.estimates.took(scope, size)
        self.number = 0
        self.orders: list[list[int]] = [[], []]
        self.requests: list[Request] = []
        self.held: list[Held] = []
        self.taken: list[Reservation] = []  # of what can wait in no line

    def next(self) -> int:
        self.number += 1
        return self.number

    # What comes.

    @rule(at=st.sampled_from([0, 1]))
    def passed_on(self, at: int) -> None:
        request = Request("read", self.next(), self.targets[at])
        self.requests.append(request)
        request.waiting = self.targets[at].reads.open(request)

    @rule(at=st.sampled_from([0, 1]), until=st.sampled_from(Until))
    def change(self, at: int, until: Until) -> None:
        request = Request("change", self.next(), self.targets[at], until)
        self.requests.append(request)
        request.waiting = self.targets[at].cap.open(request, until=until)

    @rule(at=st.sampled_from([0, 1]), scope=st.sampled_from([*SIZES, "new", "other"]))
    def held_read(self, at: int, scope: str) -> None:
        self.held.append(Held(self.targets[at], scope, self.next(), self.orders[at]))

    @rule(which=WHICH, until=st.sampled_from(Until))
    def request_of_a_held_read(self, which: int, until: Until) -> None:
        some = [held for held in self.held if held.read is not None and not (held.delivered or held.closed)]
        if some:
            held = some[which % len(some)]
            request = Request("part", self.next(), held.target, until)
            self.requests.append(request)
            assert held.read is not None
            request.waiting = held.read.open(request, until=until)

    @rule(size=st.integers(1, 4 * MIB))
    def taken_at_once(self, size: int) -> None:
        free = self.replica.pool.size - self.replica.pool.reserved
        taken = self.replica.pool.take(size)
        assert (taken is not None) is (size <= free)
        if taken is not None:
            self.taken.append(taken)

    # What becomes of it.

    def asked(self, which: int, *, opened: bool) -> Asked | None:
        """A request that is at the pool, and whether it has a connection."""
        some = [
            asked
            for target in self.targets
            for asked in target.connections.asked
            if asked.opened is opened and not asked.over
        ]
        return some[which % len(some)] if some else None

    @rule(which=WHICH)
    def open(self, which: int) -> None:
        asked = self.asked(which, opened=False)
        if asked is not None:
            asked.open()

    @rule(which=WHICH)
    def head(self, which: int) -> None:
        asked = self.asked(which, opened=True)
        if asked is not None and not asked.answered:
            asked.head()

    @rule(which=WHICH)
    def end(self, which: int) -> None:
        asked = self.asked(which, opened=True)
        if asked is not None:
            asked.end()

    @rule(which=WHICH, opened=st.booleans(), failure=st.sampled_from([Failure.CONNECTION, Failure.RESET]))
    def fail(self, which: int, opened: bool, failure: Failure) -> None:
        asked = self.asked(which, opened=opened)
        if asked is not None:
            asked.fail(failure)

    @rule(which=WHICH, twice=st.booleans())
    def give_up(self, which: int, twice: bool) -> None:
        some: list[Request | Held] = [*self.requests, *self.held]
        if some:
            for _ in range(1 + twice):
                some[which % len(some)].give_up()

    @rule(which=WHICH)
    def expire(self, which: int) -> None:
        if self.requests:
            self.requests[which % len(self.requests)].waiting.expire()

    @rule(which=WHICH, size=st.sampled_from([None, 1, MIB, 9 * MIB]))
    def look_finds(self, which: int, size: int | None) -> None:
        some = [held for held in self.held if held.looks]
        if some:
            some[which % len(some)].looks.pop()(size)

    @rule(which=WHICH, size=st.integers(0, 3 * MIB), shrink=st.booleans())
    def resize(self, which: int, size: int, shrink: bool) -> None:
        some = [*self.taken, *(held.read.memory for held in self.held if held.read is not None)]
        if some:
            memory = some[which % len(some)]
            assert memory is not None
            if shrink:
                memory.shrink_to(size)
            else:
                memory.grow(size)

    @rule(which=WHICH, delivered_only=st.booleans())
    def done(self, which: int, delivered_only: bool) -> None:
        some = [held for held in self.held if held.read is not None]
        if some:
            held = some[which % len(some)]
            held.delivered = True
            if delivered_only and held.read is not None:
                held.read.delivered()
            else:
                held.close()

    @rule(which=WHICH)
    def given_back(self, which: int) -> None:
        if self.taken:
            self.taken.pop(which % len(self.taken)).close()

    @rule(seconds=st.integers(1, 15))
    def wait(self, seconds: int) -> None:
        self.world.wait(seconds)

    @rule()
    def turn(self) -> None:
        self.world.turn()

    # What holds all the time.

    @invariant()
    def slots_are_those_of_requests_that_are_there(self) -> None:
        for target in self.targets:
            there = [
                asked
                for asked in target.connections.asked
                if not asked.over and not (asked.answered and _request(asked).until is Until.HEAD)
            ]
            assert target.cap.in_flight == len(there) <= target.cap.limit

    @invariant()
    def places_are_those_of_reads_that_were_let_in(self) -> None:
        for target in self.targets:
            held = [held for held in self.held if held.target is target and held.has_place]
            asked = target.connections.asked
            passing = [
                one for one in asked if _request(one).kind == "read" and not (one.answered or one.over)
            ]
            at_the_pool = {_request(one) for one in asked}
            # Who waits at the cap and is no such read has come there by itself.
            others = [
                request
                for request in self.requests
                if request.target is target and request.kind != "read" and request.waits
            ]
            before_the_cap = target.cap.waiting - len([*filter(lambda one: one not in at_the_pool, others)])
            assert target.limit.admitted == len(held) + len(passing) + before_the_cap
            assert 1 <= target.limit.limit <= 4 * target.cap.limit

    @invariant()
    def memory_is_what_those_who_were_let_in_hold(self) -> None:
        held = sum(held.bytes for held in self.held) + sum(taken.size for taken in self.taken)
        assert self.replica.pool.reserved == held <= self.replica.pool.size

    @invariant()
    def whoever_came_first_goes_first(self) -> None:
        for target in self.targets:
            for kind in ("read", "change"):
                came = [_request(asked) for asked in target.connections.asked]
                numbers = [request.number for request in came if request.kind == kind]
                assert all(before < after for before, after in pairwise(numbers))
        for order in self.orders:
            assert all(before < after for before, after in pairwise(order))

    def teardown(self) -> None:
        """All leave; and nobody would wait any longer if they did not."""
        for held in self.held:
            held.give_up()
        for taken in self.taken:
            taken.close()
        for target in self.targets:
            for asked in [*target.connections.asked]:
                if not asked.over:
                    asked.fail()
        self.world.wait(60)
        for target in self.targets:
            for asked in target.connections.asked:
                if not asked.over:
                    asked.end()
        self.world.turn()
        for target in self.targets:
            assert target.cap.in_flight == target.cap.waiting == 0
            assert target.limit.admitted == target.limit.waiting == target.limit._asking == 0
        assert self.replica.pool.reserved == self.replica.pool.waiting == 0
        assert len(self.world.wheel) == 0
        for request in self.requests:
            assert request.given_up or request.failure or request.ended, request.name


def _request(asked: Asked) -> Request:
    assert isinstance(asked.receiver, Request)
    return asked.receiver


Gates.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestGates = Gates.TestCase

"""The wheel, held to a plain list of deadlines."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.gate.wheel import TICK, Wheel


class Entry:
    """Something with a deadline, that notes when it is asked."""

    def __init__(self, wheel: Wheel, due: Callable[[float], float | None] | None = None) -> None:
        self.slot = -1
        self.wheel = wheel
        self.asked: list[float] = []
        self.answer = due or (lambda now: None)

    def due(self, now: float) -> float | None:
        assert self.slot == -1, "it is in nobody's slot while it is asked"
        self.asked.append(now)
        return self.answer(now)


def turns(wheel: Wheel, start: float, end: float, step: float = TICK) -> None:
    now = start
    while now <= end:
        wheel.turn(now)
        now += step


def test_an_entry_is_asked_once_within_a_tick_after_its_time() -> None:
    wheel = Wheel(100.0)
    entry = Entry(wheel)
    wheel.add(entry, 103.25)
    turns(wheel, 100.0, 103.0)
    assert entry.asked == []
    turns(wheel, 104.0, 110.0)
    assert entry.asked == [104.0]
    assert len(wheel) == 0


@pytest.mark.parametrize("when", [-5.0, 99.0, 100.0, 100.999])
def test_a_time_that_has_passed_is_the_next_tick(when: float) -> None:
    wheel = Wheel(100.5)
    entry = Entry(wheel)
    wheel.add(entry, when)
    wheel.turn(100.9)
    assert entry.asked == []
    wheel.turn(101.0)
    assert entry.asked == [101.0]


def test_an_entry_that_is_added_again_is_asked_at_the_later_time_alone() -> None:
    wheel = Wheel(0.0)
    entry = Entry(wheel)
    for when in (2.0, 7.0, 4.0):
        wheel.add(entry, when)
    assert len(wheel) == 1
    turns(wheel, 0.0, 20.0)
    assert entry.asked == [5.0]


def test_an_entry_that_is_removed_is_not_asked() -> None:
    wheel = Wheel(0.0)
    entry = Entry(wheel)
    wheel.remove(entry)
    wheel.add(entry, 2.0)
    wheel.remove(entry)
    wheel.remove(entry)
    turns(wheel, 0.0, 5.0)
    assert entry.asked == []
    assert entry.slot == -1


def test_an_entry_says_when_it_is_to_be_asked_again() -> None:
    wheel = Wheel(0.0)
    entry = Entry(wheel, lambda now: now + 3.0 if now < 8.0 else None)
    wheel.add(entry, 1.0)
    turns(wheel, 0.0, 30.0)
    assert entry.asked == [2.0, 6.0, 10.0]


def test_an_entry_that_is_always_due_is_asked_once_a_turn() -> None:
    wheel = Wheel(0.0)
    entry = Entry(wheel, lambda now: now - 100.0)
    wheel.add(entry, 1.0)
    turns(wheel, 0.0, 6.0)
    assert entry.asked == [2.0, 3.0, 4.0, 5.0, 6.0]


def test_an_entry_that_removes_another_of_its_tick_has_its_way() -> None:
    wheel = Wheel(0.0)
    entries: list[Entry] = []

    def remove_all(now: float) -> None:
        for entry in entries:
            wheel.remove(entry)

    entries += [Entry(wheel, remove_all) for _ in range(5)]
    for entry in entries:
        wheel.add(entry, 1.0)
    turns(wheel, 0.0, 5.0)
    assert sum(len(entry.asked) for entry in entries) == 1


def test_an_entry_that_moves_another_of_its_tick_has_its_way() -> None:
    wheel = Wheel(0.0)
    entries: list[Entry] = []

    def move_the_others(now: float) -> None:
        for entry in entries:
            if entry.slot >= 0 or not entry.asked:
                wheel.add(entry, now + 2.0)

    entries += [Entry(wheel, move_the_others) for _ in range(2)]
    for entry in entries:
        wheel.add(entry, 1.0)
    wheel.turn(2.0)
    assert sorted(len(entry.asked) for entry in entries) == [0, 1]
    turns(wheel, 3.0, 9.0)
    assert sorted(len(entry.asked) for entry in entries) == [1, 1]


def test_an_entry_that_adds_itself_may_still_answer() -> None:
    """A connection that closes within `due` is put down for the end of that, and then answers too."""
    wheel = Wheel(0.0)
    entry = Entry(wheel)

    def close(now: float) -> float | None:
        wheel.add(entry, now + 10.0)
        return now + 3.0 if len(entry.asked) == 1 else None

    entry.answer = close
    wheel.add(entry, 1.0)
    turns(wheel, 0.0, 7.0)
    assert entry.asked == [2.0, 6.0]
    assert len(wheel) == 1


def test_a_turn_that_is_late_asks_everything_that_was_due() -> None:
    wheel = Wheel(0.0)
    entries = [Entry(wheel) for _ in range(10)]
    for number, entry in enumerate(entries):
        wheel.add(entry, float(number))
    wheel.turn(1000.0)
    assert all(entry.asked == [1000.0] for entry in entries)
    wheel.add(entries[0], 5.0)
    wheel.turn(1001.0)
    assert entries[0].asked == [1000.0, 1001.0]


def test_an_entry_that_fails_takes_no_others_deadline_with_it() -> None:
    wheel = Wheel(0.0)

    def fail(now: float) -> None:
        raise RuntimeError("a fault of ours")

    entries = [Entry(wheel, fail if number % 2 else None) for number in range(8)]
    for number, entry in enumerate(entries):
        wheel.add(entry, 1.0 + number // 4)
    with pytest.raises(ExceptionGroup) as raised:
        wheel.turn(10.0)
    assert len(raised.value.exceptions) == 4
    assert all(entry.asked == [10.0] for entry in entries)
    assert len(wheel) == 0


# Against a plain list.

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 5), st.floats(-5.0, 30.0)),
        st.tuples(st.just("remove"), st.integers(0, 5), st.just(0.0)),
        st.tuples(st.just("turn"), st.integers(1, 3), st.floats(0.0, 0.99)),
    ),
    max_size=60,
)
AGAIN = st.lists(st.one_of(st.none(), st.floats(-2.0, 9.0)), min_size=1, max_size=10)


class Scripted(Entry):
    """One that answers as it was told, removes a neighbour now and then, and keeps its deadline beside."""

    def __init__(self, wheel: Wheel, again: list[float | None]) -> None:
        super().__init__(wheel)
        self.again = again
        self.wanted: float | None = None
        self.neighbour: Scripted | None = None

    def want(self, when: float, now: float) -> None:
        self.wheel.add(self, when)
        self.wanted = max(when, now)

    def leave(self) -> None:
        self.wheel.remove(self)
        self.wanted = None

    def due(self, now: float) -> float | None:
        assert self.wanted is not None, "asked without having asked for it"
        assert now >= self.wanted, "asked before its time"
        super().due(now)
        self.wanted = None
        if self.neighbour is not None and len(self.asked) % 3 == 0:
            self.neighbour.leave()
        after = self.again[len(self.asked) % len(self.again)]
        if after is None:
            return None
        self.wanted = max(now, now + after)
        return now + after


@settings(max_examples=200)
@given(steps=STEPS, again=AGAIN, start=st.floats(0.0, 50.0))
def test_every_entry_is_asked_within_a_tick_after_its_time_and_never_before(
    steps: list[tuple[str, int, float]], again: list[float | None], start: float
) -> None:
    wheel, now = Wheel(start), start
    entries = [Scripted(wheel, again[number:] + again[:number]) for number in range(6)]
    for one, next_one in pairwise(entries):
        one.neighbour = next_one
    for step, number, value in steps:
        match step:
            case "add":
                entries[number].want(now + value, now)
            case "remove":
                entries[number].leave()
            case _:
                now += number - 1 + value
                wheel.turn(now)
                late = [e.wanted for e in entries if e.wanted is not None and e.wanted <= now - TICK]
                assert not late, "not asked within a tick"
        assert len(wheel) == sum(entry.wanted is not None for entry in entries)

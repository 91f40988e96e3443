"""The line of those who have something to write: slices, and fair ones."""

from collections.abc import Callable

import pytest

from foyer.streams.fanout import SHARE, WORK, Line


class Turns:
    """A loop's turns."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.line = Line(self.soon.append)

    def turn(self) -> None:
        [call] = self.soon
        self.soon.clear()
        call()


class Writer:
    """Somebody with so much to write."""

    def __init__(self, turns: Turns, much: int, served: list[tuple[str, int]], name: str = "") -> None:
        self.name = name
        self.much = much
        self._turns = turns
        self._served = served

    def deliver(self, most: int) -> int:
        work = min(most, self.much)
        self.much -= work
        self._served.append((self.name, work))
        if self.much:
            self._turns.line.join(self)
        return work


def test_a_turn_writes_a_slice_and_the_next_goes_on() -> None:
    turns, served = Turns(), list[tuple[str, int]]()
    turns.line.extend([Writer(turns, 1, served) for _ in range(2 * WORK)])
    while turns.soon:
        before = len(served)
        turns.turn()
        assert sum(work for _, work in served[before:]) <= WORK
    assert sum(work for _, work in served) == 2 * WORK
    assert len(turns.line) == 0


def test_one_with_a_great_deal_stands_behind_the_others_again() -> None:
    turns, served = Turns(), list[tuple[str, int]]()
    turns.line.join(Writer(turns, 3 * WORK, served, "snapshot"))
    turns.line.join(Writer(turns, 1, served, "event"))
    while turns.soon:
        turns.turn()
    assert served[:3] == [("snapshot", SHARE), ("event", 1), ("snapshot", SHARE)]


def test_even_those_who_write_nothing_have_an_end_of_their_turn() -> None:
    turns, served = Turns(), list[tuple[str, int]]()
    turns.line.extend([Writer(turns, 0, served) for _ in range(10 * WORK)])
    turns.turn()
    assert len(served) == WORK
    assert turns.soon


def test_who_joins_while_the_line_is_served_is_served_and_once() -> None:
    turns, served = Turns(), list[tuple[str, int]]()

    class Joins(Writer):
        def deliver(self, most: int) -> int:
            turns.line.join(Writer(turns, 1, served, "joined"))
            return super().deliver(most)

    turns.line.join(Joins(turns, 1, served, "joins"))
    while turns.soon:
        turns.turn()
    assert served == [("joins", 1), ("joined", 1)]
    turns.line.join(Writer(turns, 1, served, "later"))
    assert len(turns.soon) == 1


def test_one_that_breaks_its_word_does_not_stop_the_others() -> None:
    turns, served = Turns(), list[tuple[str, int]]()

    class Breaks(Writer):
        def deliver(self, most: int) -> int:
            raise ZeroDivisionError

    turns.line.extend((Breaks(turns, 1, served), Writer(turns, 1, served, "other")))
    with pytest.raises(ZeroDivisionError):
        turns.turn()
    turns.turn()
    assert served == [("other", 1)]

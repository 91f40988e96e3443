"""The oldest items that fit, kept while every target's list goes by (spec 06, Truncation).

Whatever the lists hold, no more than fits is ever kept: so many items, and so many bytes as the memory pool
has left. What is dropped is always the end of what there is, and behind the first that was dropped nothing
is taken any more. So what is left has no gap, and a list that goes on behind it misses nothing.
"""

from __future__ import annotations

from bisect import bisect_left

from foyer.fleet.objects import Entry
from foyer.fleet.ports import Reservation
from foyer.fleet.position import Position

MULTIPLE = 2
"""Bytes of memory for a byte of an item. Measured at its most, 2.03 for objects of 20 KB: a list of one page
is there twice, as what came and as what is made of it. Of a longer one only the items stay, 1.2 of 2 KB."""

ENTRY_BYTES = 640
"""Beside its text, an item's position, its place in the list and its part of a page's: 380 to 630 with
CPython 3.11."""


def cost(item_bytes: int, items: int = 1) -> int:
    """Bytes of memory that `items` items of so many bytes each need."""
    return items * (MULTIPLE * item_bytes + ENTRY_BYTES)


class Oldest:
    """Of the items that are added, the oldest. `most` of them at most, and as `memory` grants."""

    __slots__ = ("_memory", "_most", "dropped", "dropped_cost", "entries", "held")

    def __init__(self, most: int, memory: Reservation) -> None:
        self._most = most
        self._memory = memory
        self.entries: list[Entry] = []
        """In order."""
        self.held = 0
        """Bytes that they need."""
        self.dropped: Position | None = None
        """The first in order of those that were dropped."""
        self.dropped_cost = 0
        """Bytes that it needs."""

    def add(self, entry: Entry) -> None:
        """One more item, in any order."""
        if self.dropped is not None and entry.position >= self.dropped:
            return
        at = bisect_left(self.entries, (entry.position,))
        if at < len(self.entries) and self.entries[at].position == entry.position:
            return  # a list that says one object twice is still given once
        self.entries.insert(at, entry)
        self.held += cost(len(entry.text))
        while self.entries and not self._fit():
            self._drop_last()

    def _fit(self) -> bool:
        if len(self.entries) > self._most:
            return False
        lacking = self.held - self._memory.size
        return lacking <= 0 or self._memory.grow(lacking)

    def _drop_last(self) -> None:
        entry = self.entries.pop()
        self.dropped, self.dropped_cost = entry.position, cost(len(entry.text))
        self.held -= self.dropped_cost

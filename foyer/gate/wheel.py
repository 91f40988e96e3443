"""One timer wheel for everything that waits for a deadline: connections, exchanges, bounds.

Thousands of open responses share one timer. A deadline that moves at every byte is not moved
here: the entry says at its turn when it is really due, and is put back. Pure: `now` is given.
"""

from typing import Protocol

TICK = 1.0
"""Seconds a slot of the wheel covers: every deadline is met within one tick after it."""


class Timed(Protocol):
    """Something with a deadline. `slot` belongs to the wheel: -1 when it is not in it."""

    slot: int

    def due(self, now: float) -> float | None:
        """Acts on what is due at `now`; the next time to be asked, or None to be left alone."""


class Wheel:
    """Entries by the tick in which they are to be asked."""

    __slots__ = ("_done", "_slots")

    def __init__(self, now: float) -> None:
        self._slots: dict[int, set[Timed]] = {}
        self._done = int(now / TICK)

    def add(self, entry: Timed, when: float) -> None:
        """Asks `entry` at `when` (seconds, the clock of `turn`), instead of any earlier arrangement."""
        self.remove(entry)
        slot = max(int(when / TICK) + 1, self._done + 1)
        entry.slot = slot
        self._slots.setdefault(slot, set()).add(entry)

    def remove(self, entry: Timed) -> None:
        """Forgets `entry`; nothing happens if it is not in the wheel."""
        if entry.slot < 0:
            return
        entries = self._slots.get(entry.slot)
        entry.slot = -1
        if entries is not None:
            entries.discard(entry)

    def turn(self, now: float) -> None:
        """Asks every entry whose tick has come.

        One that fails must not take the others' deadlines with it: all are asked before its exception is
        raised.
        """
        faults: list[Exception] = []
        until = int(now / TICK)
        for slot in sorted(s for s in self._slots if s <= until):
            self._done = max(self._done, slot)
            for entry in self._slots.pop(slot):
                if entry.slot != slot:
                    continue  # removed, or moved, by one before it
                entry.slot = -1
                try:
                    again = entry.due(now)
                except Exception as fault:  # whatever it is, it is raised below
                    faults.append(fault)
                    continue
                if again is not None:
                    self.add(entry, again)
        self._done = max(self._done, until)
        if faults:
            raise ExceptionGroup("deadlines that could not be acted on", faults)

    def __len__(self) -> int:
        return sum(len(entries) for entries in self._slots.values())

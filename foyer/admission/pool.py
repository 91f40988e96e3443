"""Memory for what foyer holds of reads: one pool a replica, reserved from in order (spec 06, Memory)."""

from __future__ import annotations

from collections.abc import Callable

from foyer.admission.line import Line, Soon, State, Told
from foyer.gate.wheel import Wheel


class MemoryPool:
    """So many bytes. Nothing is allocated: what is reserved is what its holders promise to keep to."""

    __slots__ = ("_line", "size")

    def __init__(self, size: int, *, wheel: Wheel, soon: Soon) -> None:
        """`size` in bytes. `soon` calls its argument in a turn of the loop to come (`loop.call_soon`)."""
        self._line = Line(size, wheel, soon)
        self.size = size

    @property
    def reserved(self) -> int:
        """Bytes of it."""
        return self._line.taken

    @property
    def waiting(self) -> int:
        """Reservations that are waited for."""
        return len(self._line)

    def reservation(
        self, size: int, granted: Callable[[], None], expired: Callable[[], None]
    ) -> Reservation | None:
        """Of `size` bytes, to be asked for. None where that is more than there is: it would wait for ever."""
        if size > self.size:
            return None
        return Reservation(self._line, size, granted, expired)


class Reservation(Told):
    """Bytes of the pool: `size` of them, once it is held."""

    __slots__ = ()

    def grow(self, by: int) -> bool:
        """Takes `by` bytes more, at once or not at all.

        It goes before those who wait: whoever holds some will be done, and who waits holds nothing.
        """
        if self.state is not State.HELD or not self.line.fits(by):
            return False
        self.line.taken += by
        self.size += by
        return True

    def shrink_to(self, size: int) -> None:
        """Gives back what is held above `size` bytes."""
        spare = self.size - size
        if self.state is State.HELD and spare > 0:
            self.size = size
            self.line.give_back(spare)

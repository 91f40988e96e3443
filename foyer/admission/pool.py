"""Memory for what foyer holds of reads: one pool a replica, reserved from in order (spec 06, Memory).

What lasts (a shared cache) is held for as long as somebody likes, so that whoever needs some of that as well
waits for something that others need not wait for, and does so beside the line: two streams of one scope that
is too large beside a cache, each refused in time and opened again, would have had everybody else refused.
"""

from __future__ import annotations

from collections.abc import Callable

from foyer.admission.line import Line, Share, Soon, State, Told
from foyer.gate.wheel import Wheel


class _Bytes(Line):
    """Those of a pool."""

    __slots__ = ("lasting",)

    def __init__(self, size: int, wheel: Wheel, soon: Soon) -> None:
        super().__init__(size, wheel, soon)
        self.lasting = 0
        """How many are held for as long as somebody likes."""

    @property
    def passing(self) -> int:
        """How many are not."""
        return self.capacity - self.lasting

    def _first(self) -> Share | None:
        """The first who needs no more than that."""
        return next((share for share in self._waiting if share.size <= self.passing), None)

    def lasts(self, size: int) -> None:
        """So many more are, or fewer. Whoever was first may be so no longer."""
        self.lasting += size
        self.wake()


class MemoryPool:
    """So many bytes. Nothing is allocated: what is reserved is what its holders promise to keep to."""

    __slots__ = ("_line", "size")

    def __init__(self, size: int, *, wheel: Wheel, soon: Soon) -> None:
        """`size` in bytes. `soon` calls its argument in a turn of the loop to come (`loop.call_soon`)."""
        self._line = _Bytes(size, wheel, soon)
        self.size = size

    @property
    def reserved(self) -> int:
        """Bytes of it."""
        return self._line.taken

    @property
    def passing(self) -> int:
        """Bytes that are free or will be when those are done who hold them: all but what lasts."""
        return self._line.passing

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

    def take(self, size: int) -> Reservation | None:
        """`size` bytes, at once or not at all, for what has come already and can wait in no line.

        It goes before those who wait, as what grows does and for the same reason: it will be done.
        """
        reservation = Reservation(self._line, size, _untold, _untold)
        return reservation if self._line.take(reservation) else None


class Reservation(Told):
    """Bytes of the pool: `size` of them, once it is held."""

    __slots__ = ("_bytes", "_lasts")

    def __init__(
        self, line: _Bytes, size: int, granted: Callable[[], None], expired: Callable[[], None]
    ) -> None:
        super().__init__(line, size, granted, expired)
        self._bytes = line
        self._lasts = False

    def lasts(self) -> None:
        """What it is for has been read, and stays: nobody should wait for its end."""
        if self.state is State.HELD and not self._lasts:
            self._lasts = True
            self._bytes.lasts(self.size)

    def grow(self, by: int) -> bool:
        """Takes `by` bytes more, at once or not at all.

        It goes before those who wait: whoever holds some will be done, and who waits holds nothing.
        """
        if self.state is not State.HELD or not self.line.fits(by):
            return False
        self.line.taken += by
        self._resize(self.size + by)
        return True

    def shrink_to(self, size: int) -> None:
        """Gives back what is held above `size` bytes."""
        spare = self.size - size
        if self.state is State.HELD and spare > 0:
            self._resize(size)
            self.line.give_back(spare)

    def _resize(self, size: int) -> None:
        if self._lasts:
            self._bytes.lasts(size - self.size)
        self.size = size

    def leave(self) -> None:
        """As `close`, for the line alone."""
        if self._lasts:
            self._lasts = False
            self._bytes.lasts(-self.size)
        super().leave()


def _untold() -> None:
    """Whoever takes some at once sees it."""

"""A line for shares of something of which there is only so much: slots, reads at once, bytes.

Strictly in the order they came: whoever is first goes first, and one who would fit does not pass one who does
not yet. A share is waited for until its deadline, then it is held, and it is given back once, whichever way
it is left:

    WAITING → HELD → OVER, and WAITING → OVER by its deadline, or by whoever has asked for it

What is given back goes to the next in a later turn (`soon`), never within the call that gave it back: that
comes from the middle of a connection's end, and the next one might be put on that very connection. It also
keeps a row of requests that fail at once from standing on each other's stack.

Pure: deadlines are entries of the wheel, and so up to a tick late.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto

from foyer.gate.wheel import Wheel

Soon = Callable[[Callable[[], None]], object]
"""Calls its argument in a turn of the loop to come (`loop.call_soon`)."""


class State(Enum):
    """Of a share; the transitions are at the top of this file."""

    WAITING = auto()
    HELD = auto()
    OVER = auto()


class Line:
    """So much of something, and who waits for some of it."""

    __slots__ = ("_capacity", "_soon", "_waiting", "_woken", "taken", "wheel")

    def __init__(self, capacity: int, wheel: Wheel, soon: Soon) -> None:
        self.wheel = wheel
        self.taken = 0
        """How much is held. More than `capacity` only where that has shrunk."""
        self._capacity = capacity
        self._soon = soon
        # Ordered, and not a deque: whoever leaves does so in constant time, and so does the first.
        self._waiting: OrderedDict[Share, None] = OrderedDict()
        self._woken = False

    @property
    def capacity(self) -> int:
        """How much there is. It may change while some is held: none of that is taken away."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: int) -> None:
        self._capacity = capacity
        self.wake()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def fits(self, size: int) -> bool:
        """Whether so much is free."""
        return self.taken + size <= self._capacity

    def join(self, share: Share, until: float) -> None:
        """Grants `share`, now or when it is its turn."""
        if self._first() is None and self.fits(share.size):
            self._grant(share)
        else:
            self._waiting[share] = None
            self.wheel.add(share, until)

    def take(self, share: Share) -> bool:
        """Grants `share` now or not at all, whoever waits: they stay in their order, for what is left."""
        if not self.fits(share.size):
            return False
        self._grant(share)
        return True

    def leave(self, share: Share) -> None:
        """`share` waits no longer. It may have been what the others waited for."""
        if self._waiting.pop(share, self) is None:
            self.wheel.remove(share)
            self.wake()

    def give_back(self, size: int) -> None:
        """So much of what was taken is free again."""
        self.taken -= size
        self.wake()

    def wake(self) -> None:
        """Has whoever is first try again, in a turn to come."""
        if self._waiting and not self._woken:
            self._woken = True
            self._soon(self._go_on)

    def _go_on(self) -> None:
        self._woken = False
        while (share := self._first()) is not None and self.fits(share.size):
            del self._waiting[share]
            self.wheel.remove(share)
            self._grant(share)

    def _first(self) -> Share | None:
        """Whose turn it is: everybody else waits for that one."""
        return next(iter(self._waiting), None)

    def _grant(self, share: Share) -> None:
        self.taken += share.size
        share.state = State.HELD
        try:
            share.granted()
        except BaseException:
            share.close()  # nobody knows of it; and the others go on in another turn
            raise


class Share(ABC):
    """A part of what a line is for. In the wheel while it waits."""

    __slots__ = ("line", "size", "slot", "state")

    def __init__(self, line: Line, size: int = 1) -> None:
        self.line = line
        self.size = size
        self.slot = -1
        self.state = State.WAITING

    def ask(self, until: float) -> None:
        """Waits for it, until that time on the wheel's clock: `granted` (maybe now) or `expired`. Once."""
        self.line.join(self, until)

    @abstractmethod
    def granted(self) -> None:
        """It is held from now on."""

    @abstractmethod
    def expired(self) -> None:
        """It was too late. Nothing is held, and nobody waits."""

    def due(self, now: float) -> None:
        """The deadline has come (`foyer.gate.wheel.Timed`)."""
        self.expire()

    def expire(self) -> None:
        """Its time is over, if it still waits: by the wheel, or by the finer clock of whoever asks."""
        if self.state is State.WAITING:
            self.leave()
            self.expired()

    def close(self) -> None:
        """Waits no longer, or gives it back. More than once is once."""
        self.leave()

    def leave(self) -> None:
        """As `close`, for the line alone."""
        state, self.state = self.state, State.OVER
        if state is State.HELD:
            self.line.give_back(self.size)
        elif state is State.WAITING:
            self.line.leave(self)


class Told(Share):
    """One whose holder is told by a call: `granted` or `expired`, whichever it is, once."""

    __slots__ = ("_expired", "_granted")

    def __init__(
        self, line: Line, size: int, granted: Callable[[], None], expired: Callable[[], None]
    ) -> None:
        super().__init__(line, size)
        self._granted: Callable[[], None] | None = granted
        self._expired: Callable[[], None] | None = expired

    def granted(self) -> None:
        """Tells that it is held."""
        tell = self._granted
        self._forget()
        assert tell is not None
        tell()

    def expired(self) -> None:
        """Tells that it was too late."""
        tell = self._expired
        self._forget()
        assert tell is not None
        tell()

    def close(self) -> None:
        """Waits no longer, or gives it back; its holder is told nothing any more."""
        self._forget()
        super().close()

    def _forget(self) -> None:
        # The holder has this as well: without their cycle both are freed at once, not at a collection.
        self._granted = self._expired = None

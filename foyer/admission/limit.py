"""How many reads are at one target at once, as it copes (spec 06, Read admission; seed, Concurrency).

What tells is how long a read waited for its slot at the target, opening a connection included: a server that
is slow keeps its slots, and one that is gone gives no connection. Halved by one that waited too long and
raised by one that did not, the limit follows what the server can take within a few of its answers.

A read that was not let in is one that did not, as well, where nobody waits for a slot. Else a few that their
server never answers would be all that is read there, once the limit has fallen below their number: nobody
could come in and show that the others are answered.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from foyer.admission.line import Line, Soon, Told
from foyer.gate.gate import Observed
from foyer.gate.wheel import Wheel

MOST = 4
"""Times the start, up to which the limit rises."""


class ReadLimit:
    """One target's."""

    __slots__ = ("_asking", "_line", "_start", "_wait", "threshold")

    def __init__(self, start: int, threshold: float, *, wheel: Wheel, soon: Soon, wait: Observed) -> None:
        """`threshold` in seconds; `wait` observes how many each request of a read waited for its slot.

        `soon` calls its argument in a turn of the loop to come (`loop.call_soon`).
        """
        self._line = Line(start, wheel, soon)
        self._start = start
        self._asking = 0  # requests of reads that wait for a slot
        self.threshold = threshold
        self._wait = wait

    @property
    def limit(self) -> int:
        """Reads that may be admitted at once, as of now."""
        return self._line.capacity

    @property
    def admitted(self) -> int:
        """Reads that are: more than `limit` where that has just been halved."""
        return self._line.taken

    @property
    def waiting(self) -> int:
        """Reads that wait to be."""
        return len(self._line)

    def place(self, granted: Callable[[], None], expired: Callable[[], None]) -> ReadPlace:
        """One read's, to be asked for: one of the two is called then, at once or later."""
        return ReadPlace(self, self._line, granted, expired)

    def adapt(self, *, coped: bool) -> None:
        """The target has coped with one more read, or it has not."""
        limit = self._line.capacity
        self._line.capacity = min(MOST * self._start, limit + 1) if coped else max(1, limit // 2)

    def turned_away(self) -> None:
        """A read was not let in in time. Up to where it began, the limit is not held down by that alone."""
        if not self._asking and self._line.capacity < self._start:
            self.adapt(coped=True)

    def asks(self) -> None:
        """A request of a read waits for a slot from now on."""
        self._asking += 1

    def asked(self, seconds: float) -> None:
        """It does no longer, and has for so long."""
        self._asking -= 1
        self._wait.observe(seconds)


class _Told(Enum):
    """What a read has told the limit so far."""

    NOTHING = auto()
    COPED = auto()
    OVERLOADED = auto()


class ReadPlace(Told):
    """One read's place among those of its target.

    A read may take several requests, and the limit learns from it once: from its first request, and from a
    later one only that the target copes no more.
    """

    __slots__ = ("_limit", "_said")

    def __init__(
        self, limit: ReadLimit, line: Line, granted: Callable[[], None], expired: Callable[[], None]
    ) -> None:
        super().__init__(line, 1, granted, expired)
        self._limit = limit
        self._said = _Told.NOTHING

    def asks(self) -> None:
        """A request of this read comes to the cap. One of the three below is what becomes of it, once."""
        self._limit.asks()

    def waited(self, seconds: float) -> None:
        """It got its slot, and a connection, after so long."""
        self._limit.asked(seconds)
        if seconds > self._limit.threshold:
            self._overloaded()
        elif self._said is _Told.NOTHING:
            self._said = _Told.COPED
            self._limit.adapt(coped=True)

    def got_none(self, seconds: float) -> None:
        """It got none, for all that it waited so long."""
        self._limit.asked(seconds)
        self._overloaded()

    def left(self, seconds: float) -> None:
        """It was given up by who asked. That tells something only if it had waited for too long by then."""
        self._limit.asked(seconds)
        if seconds > self._limit.threshold:
            self._overloaded()

    def _overloaded(self) -> None:
        if self._said is not _Told.OVERLOADED:
            self._said = _Told.OVERLOADED
            self._limit.adapt(coped=False)

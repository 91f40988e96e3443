"""Whose turn it is to be written to: a slice of all shared streams a turn of the loop.

One event to 1,800 streams is 15 to 40 ms of work. In slices nobody else's request waits behind all of it, and
nobody's snapshot of thousands of objects behind another's. What is in the line is served first come, first
served; whoever is not done stands behind the others again.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

WORK = 150
"""Frames written in one turn: 3 ms over HTTP/1.1, half of that over HTTP/2."""

SHARE = 30
"""Of these, what one may write before the others have their turn: an event does not wait behind 200 people's
snapshots for much longer than behind one's."""

FRAME_BYTES = 4096
"""Bytes of a frame that count as another frame: encrypting them takes as long as the rest."""


class Due(Protocol):
    """Something with frames to write."""

    def deliver(self, most: int) -> int:
        """Writes up to `most` frames' worth; how much it was. It joins the line again for more.

        Contains its own faults.
        """


class Line:
    """Those who have something to write, over all shared watches."""

    __slots__ = ("_called", "_serving", "_soon", "_waiting")

    def __init__(self, soon: Callable[[Callable[[], None]], object]) -> None:
        """`soon` calls in the next turn of the loop."""
        self._soon = soon
        self._waiting: deque[Due] = deque()
        self._serving = False
        self._called = False  # a turn has been asked for

    def join(self, due: Due) -> None:
        """`due` is served behind those who wait. Called for each once at a time."""
        self.extend((due,))

    def extend(self, dues: Iterable[Due]) -> None:
        """The same for many, in their order."""
        self._waiting.extend(dues)
        self._call()

    def serve(self) -> None:
        """One turn's slice at once, unless this is one: for what should not wait until more has come."""
        if not self._serving:
            self._slice()

    def _call(self) -> None:
        if self._waiting and not self._called:
            self._called = True
            self._soon(self._go_on)

    def _go_on(self) -> None:
        try:
            self._slice()
        finally:
            self._called = False
            self._call()

    def _slice(self) -> None:
        left = WORK
        self._serving = True
        try:
            while self._waiting and left > 0:
                left -= self._waiting.popleft().deliver(min(left, SHARE)) or 1
        finally:
            self._serving = False

    def __len__(self) -> int:
        return len(self._waiting)

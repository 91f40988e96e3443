"""How much of all fleet reads is done in one turn of the loop.

One session may read a hundred targets 64 times at once, and each of them is a request to be let in, sent and
judged. All that begins in the same turn would hold the loop for a quarter of a second; so the steps wait in a
line, whosever they are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

STEPS = 16
"""Steps of a turn: one asks one target, which is 0.1 to 0.2 ms."""

WHOLE = STEPS
"""What it counts to make an answer of what was read: 0.5 ms for a hundred targets, 3 ms for 5,000 items."""


class Pace:
    """The line."""

    def __init__(self, soon: Callable[[Callable[[], None]], object]) -> None:
        """`soon` calls in the next turn of the loop."""
        self._soon = soon
        self._left = STEPS
        self._called = False  # the next turn has been asked for
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    async def step(self, count: int = 1) -> None:
        """Returns when it is the turn of a step, which counts as so many: at once, if none waits."""
        if self._left > 0 and not self._waiting:
            self._take(count)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, count))
        await turn

    def _take(self, count: int) -> None:
        self._left -= count
        if not self._called:
            self._called = True
            self._soon(self._next)

    def _next(self) -> None:
        self._called = False
        self._left = STEPS
        while self._waiting and self._left > 0:
            turn, count = self._waiting.popleft()
            if not turn.done():  # nobody has been cancelled who waited for it
                self._take(count)
                turn.set_result(None)

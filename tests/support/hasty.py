"""A loop that never waits for a timer: with nothing else to do, its clock is at the next one at once."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Hasty(asyncio.SelectorEventLoop):
    """Deadlines come in their order, and nobody sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0

    def time(self) -> float:
        return super().time() + self._ahead

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._ahead += max(0.0, self._scheduled[0].when() - self.time())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def hasten(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, however long it would wait."""
    with asyncio.Runner(loop_factory=Hasty) as runner:
        return runner.run(coroutine)

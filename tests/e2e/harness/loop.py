"""An event loop in a thread of its own, so that tests read top to bottom while watches flow.

One loop for all browsers lets a watch and other requests share one HTTP/2 connection without
waiting for each other, which blocking clients cannot do.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines for callers in other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="browsers", daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Begin, and hand back the future."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, Result], within: float = 60.0) -> Result:
        """Wait for the result, at most `within` seconds."""
        return self.start(coroutine).result(within)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

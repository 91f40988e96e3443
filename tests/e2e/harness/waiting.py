"""Waiting for what other processes do: by asking again until a deadline, never by a fixed sleep."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def wait_for(what: str, ask: Callable[[], Found | None], within: float = 10.0) -> Found:
    """What `ask` returns once it is neither None nor false; AssertionError after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        found = ask()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what}: not within {within:g} s"
        time.sleep(0.02)

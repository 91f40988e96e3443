"""Memory where nothing else reads: each read may take the whole pool (`foyer.fleet.ports.Memory`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

FIRST = 1024 * 1024
"""Bytes that a read begins with."""


class Alone:
    """The gate of it, open."""

    def __init__(self, pool: int) -> None:
        """`pool` in bytes."""
        self.pool = pool

    async def reserve(self, scope: str, measure: Callable[[], Awaitable[int | None]], until: float) -> Share:
        """What a read begins with: nobody need wait for it, so nothing is measured."""
        return Share(min(FIRST, self.pool), self.pool)

    def took(self, scope: str, size: int) -> None:
        """Nothing is remembered."""


class Share:
    """What a read holds."""

    def __init__(self, size: int, pool: int) -> None:
        self.size = size
        self._pool = pool

    def grow(self, by: int) -> bool:
        """More, as long as it is not more than there is."""
        if self.size + by > self._pool:
            return False
        self.size += by
        return True

    def close(self) -> None:
        """Nobody waits for it."""
        self.size = 0

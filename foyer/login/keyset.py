"""The issuer's keys as last read, and when they are read again (spec 02, Login).

On a token whose key is not among them, at most once in ten seconds: an issuer that rotates its
keys breaks no login, and a flood of tokens with made-up keys does not reach the issuer. Callbacks
that need it at the same time share one fetch, which no single one of them can cancel.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from foyer.login.idtoken import TokenFault, TokenHeader, read_header, signed_payload
from foyer.login.jwks import VerificationKey

REFETCH_INTERVAL = 10.0
"""Seconds. Shorter than a person takes to try again, and nothing to an issuer."""

Load: TypeAlias = Callable[[], Awaitable[tuple[VerificationKey, ...] | None]]


class KeySet:
    """The cache. `load` reads the published keys, or gives None; `clock` is monotonic, in seconds."""

    def __init__(self, load: Load, clock: Callable[[], float]) -> None:
        self._load = load
        self._clock = clock
        self._keys: tuple[VerificationKey, ...] = ()
        self._loaded = False
        self._refetched_at: float | None = None
        self._refetch: asyncio.Task[None] | None = None

    async def read(self) -> None:
        """Read the keys, as at start. Keys that cannot be read leave the old ones."""
        keys = await self._load()
        self._loaded = keys is not None
        if keys is not None:
            self._keys = keys

    async def payload(self, token: bytes) -> bytes | TokenFault:
        """The payload of a token that a published key has signed."""
        header = read_header(token)
        if isinstance(header, TokenFault):
            return header
        fitting = self._fitting(header)
        payload = signed_payload(token, header, fitting)
        # A key that the token names and the issuer publishes does not become another by asking again.
        if payload is None and (header.kid is None or not fitting):
            if not await self._current():
                return TokenFault.KEYS_UNAVAILABLE
            payload = signed_payload(token, header, self._fitting(header))
        return TokenFault.SIGNATURE if payload is None else payload

    def _fitting(self, header: TokenHeader) -> list[VerificationKey]:
        return [key for key in self._keys if header.fits(key)]

    async def _current(self) -> bool:
        """Read the keys again unless that was just done. Whether the last reading succeeded."""
        if self._refetch is None:
            now = self._clock()
            if self._refetched_at is not None and now - self._refetched_at < REFETCH_INTERVAL:
                return self._loaded
            self._refetched_at = now
            self._refetch = asyncio.create_task(self.read())
            self._refetch.add_done_callback(self._refetch_done)
        await asyncio.shield(self._refetch)
        return self._loaded

    def _refetch_done(self, task: asyncio.Task[None]) -> None:
        self._refetch = None

"""Who a token's owner is, asked once for many checks (spec 02, The check).

An ingress checks every request of a page, so the API server's answer is used again for a while: 30
seconds a token, at most 10,000 of them and 32 MiB, under a hash of the token and never the token
itself. Those who ask the same at once share one call. Only an answer that names somebody is kept: a
refusal or a failure is the next question's to find out again.

That a session has ended is no concern of this file: whoever asks has one that is live, and sees
that it still is when the answer is there.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any, NamedTuple

from foyer.k8s.reviews import Refused, Unusable, UserInfo
from foyer.session.seal import IdToken

REUSE = 30.0
"""Seconds from the question to the last use of its answer: how long a change of somebody's groups may
go unseen behind an ingress."""

MAX_KEPT = 10_000
"""Tokens whose answer is kept."""

MAX_KEPT_BYTES = 32 * 1024 * 1024
"""Of all that is kept, as JSON; three times what 10,000 answers of a kilobyte have. How long one is an API
server decides, up to megabytes."""


class _Kept(NamedTuple):
    """An answer, and when it was asked for (seconds, the wall clock)."""

    user_info: UserInfo
    asked_at: float
    size: int


class _Call:
    """A question on its way, and how many wait for it."""

    __slots__ = ("task", "waiting")

    def __init__(self, task: "asyncio.Task[UserInfo | Refused | Unusable]") -> None:
        self.task = task
        self.waiting = 0


class Recent:
    """The answers of the last half minute."""

    def __init__(
        self,
        ask: Callable[[IdToken], Coroutine[Any, Any, UserInfo | Refused | Unusable]],
        clock: Callable[[], float],
    ) -> None:
        """`ask` asks the API server; `clock` is wall-clock time in seconds."""
        self._ask = ask
        self._clock = clock
        self._kept: dict[bytes, _Kept] = {}  # nearly in the order they were asked for
        self._size = 0  # of them
        self._calls: dict[bytes, _Call] = {}

    async def who(self, token: IdToken) -> UserInfo | Refused | Unusable:
        """The answer for `token`, at most 30 s old. Cancelled, it leaves a shared call to the others."""
        key = sha256(token).digest()
        kept = self._kept.get(key)
        # Not older, and not from the future either: a clock that was set back would keep it for as long.
        if kept is not None and 0 <= self._clock() - kept.asked_at < REUSE:
            return kept.user_info
        call = self._calls.get(key)
        if call is None:
            task = asyncio.get_running_loop().create_task(self._call(key, token))
            call = self._calls[key] = _Call(task)
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if not call.waiting:
                self._over(key, call)

    async def _call(self, key: bytes, token: IdToken) -> UserInfo | Refused | Unusable:
        asked_at = self._clock()
        answer = await self._ask(token)
        if isinstance(answer, dict):
            self._keep(key, _Kept(answer, asked_at, len(json.dumps(answer))))
        return answer

    def _over(self, key: bytes, call: _Call) -> None:
        """Nobody waits for the call any more: it is answered, or everybody has left."""
        call.task.cancel()
        if self._calls.get(key) is call:
            del self._calls[key]

    def _keep(self, key: bytes, kept: _Kept) -> None:
        self._drop(key)
        while self._kept:
            oldest = next(iter(self._kept))
            full = len(self._kept) >= MAX_KEPT or self._size + kept.size > MAX_KEPT_BYTES
            if not full and 0 <= self._clock() - self._kept[oldest].asked_at < REUSE:
                break
            self._drop(oldest)
        self._kept[key] = kept
        self._size += kept.size

    def _drop(self, key: bytes) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._size -= kept.size

    def __len__(self) -> int:
        """Answers kept now."""
        return len(self._kept)

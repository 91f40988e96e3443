"""What finishing logins may cost the issuer (spec 04, Beyond the seed).

Anybody can begin logins, and that costs nobody anything. Each that comes back with a code is a request of
foyer's to the issuer: so many a second, and so many at once, in this replica.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from foyer.bound import Bound
from foyer.gate.limits import Limits
from foyer.gate.rate import Rate, Refused
from foyer.login.flow import CallbackOutcome, CodeReceived, Login
from foyer.login.refusal import LoginReason
from foyer.protocol.events import RequestHead

WAIT = 10.0
"""Seconds that a login may wait for its turn: a person is waiting."""


class Redemptions:
    """One replica's codes on their way to the issuer."""

    def __init__(
        self, login: Login, limits: Limits, now: Callable[[], float], clock: Callable[[], float]
    ) -> None:
        """`now` never goes back, `clock` is wall-clock time; both in seconds."""
        self._login = login
        self._now = now
        self._clock = clock
        self._rate = Rate[None](limits.auth_request_rate, limits.auth_request_burst)
        self._turns = asyncio.Semaphore(limits.max_token_requests)
        self.limit = limits.max_token_requests
        """Codes that may be at the issuer at once."""
        self.in_flight = 0
        """Those that are."""

    async def callback(self, head: RequestHead) -> CallbackOutcome:
        """What comes of a browser that the issuer sent back."""
        received = self._login.received(head, self._clock())
        # Only what opened a login in progress is counted: nothing that others send can lock anybody out.
        return received if isinstance(received, CallbackOutcome) else await self._redeem(received)

    async def _redeem(self, received: CodeReceived) -> CallbackOutcome:
        passed = self._rate.take(None, self._now())
        if isinstance(passed, Refused):
            return received.held_off(
                LoginReason.LOGIN_RATE_EXCEEDED, Bound.AUTH_REQUEST_BURST, passed.retry_after
            )
        try:
            async with asyncio.timeout(WAIT):
                await self._turns.acquire()
        except TimeoutError:
            return received.held_off(LoginReason.ISSUER_UNAVAILABLE, Bound.TOKEN_REQUESTS)
        self.in_flight += 1
        try:
            return await self._login.redeem(received, self._clock)
        finally:
            self.in_flight -= 1
            self._turns.release()

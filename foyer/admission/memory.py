"""The second gate: memory for a read that foyer holds, as much as it is expected to take (spec 06, Memory).

    MEASURING   how much that is, somebody looks
    WAITING     for that much of the pool, in line
    OVER        granted, refused, or left

What has not been found out in time is guessed, and what is then too little is to be grown into.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from enum import Enum
from math import ceil

from foyer.admission.estimates import GUESS, Estimates
from foyer.admission.pool import MemoryPool, Reservation
from foyer.exchange.ports import Cancellable
from foyer.gate.wheel import Wheel

LOOK_TIME = 3.0
"""Seconds for a look at one item. A server that takes longer has more to do than to be looked at."""

Look = Callable[[Callable[[int | None], None]], Cancellable]
"""Asks for one item as the reader, and tells its bytes times all there are, or None if that is not known.

Cancelled, it may tell at once what it knows by then."""


class Refused(Enum):
    """Which gate did not let a read in; its value is the label it is counted under."""

    CONCURRENCY = "concurrency"
    """The first one, in time."""
    MEMORY = "memory"
    """The second one, in time."""
    TOO_LARGE = "too-large"
    """The second one, ever: it needs more than there is."""

    # Members are told apart by identity; Enum's own hash is a call of Python for every look-up.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Want:
    """Memory for one read.

    `scope` is what is read, in words that are the same for whoever reads the same. `multiple` is how many
    bytes of memory a byte of the list takes. Where the answer may be `cut` it is given the whole pool at
    most, but for what caches have of it, and is never too large.
    """

    scope: str
    look: Look
    multiple: float
    cut: bool = False


class Memory:
    """One replica's."""

    __slots__ = ("_now", "_refusals", "_wait", "_wheel", "estimates", "pool")

    def __init__(
        self,
        pool: MemoryPool,
        estimates: Estimates,
        *,
        wait: float,
        wheel: Wheel,
        now: Callable[[], float],
        refusals: MutableMapping[str, int],
    ) -> None:
        """`wait` is `-admission-wait` in seconds; `refusals` counts by the values of `Refused`."""
        self.pool = pool
        self.estimates = estimates
        self._wait = wait
        self._wheel = wheel
        self._now = now
        self._refusals = refusals

    def reserve(
        self,
        want: Want,
        granted: Callable[[Reservation], None],
        refused: Callable[[Refused], None],
        *,
        deadline: float | None = None,
    ) -> Cancellable:
        """One of the two is called, once, at once or later, unless it is cancelled before.

        It waits until `-admission-wait` from now or, where that is sooner, until `deadline`.
        """
        now = self._now()
        until = now + self._wait if deadline is None else min(now + self._wait, deadline)
        claim = _Claim(self, want, until, granted, refused)
        known = self.estimates.known(want.scope)
        try:
            if known is None:
                self._wheel.add(claim, min(now + LOOK_TIME, until))
                self.estimates.ask(want.scope, claim)
            else:
                claim.reserve(known)
        except BaseException:
            claim.cancel()  # nobody knows of it
            raise
        return claim

    def forget(self, claim: _Claim) -> None:
        """Nobody looks for `claim`."""
        self._wheel.remove(claim)
        self.estimates.leave(claim.want.scope, claim)

    def refuse(self, why: Refused) -> None:
        """Counts it."""
        self._refusals[why.value] += 1


class _Step(Enum):
    MEASURING = "how much it is"
    WAITING = "for that much"
    OVER = "over"


class _Claim:
    """One read's way through. In the wheel while it measures."""

    __slots__ = (
        "_granted",
        "_looking",
        "_memory",
        "_refused",
        "_reservation",
        "_step",
        "_until",
        "slot",
        "want",
    )

    def __init__(
        self,
        memory: Memory,
        want: Want,
        until: float,
        granted: Callable[[Reservation], None],
        refused: Callable[[Refused], None],
    ) -> None:
        self.want = want
        self.slot = -1
        self._memory = memory
        self._until = until
        self._granted = granted
        self._refused = refused
        self._step = _Step.MEASURING
        self._looking: Cancellable | None = None
        self._reservation: Reservation | None = None

    # How much it is.

    def look(self) -> None:
        """Its turn to look at one item."""
        looking = self.want.look(self._looked)
        if self._step is _Step.MEASURING:
            self._looking = looking

    def _looked(self, size: int | None) -> None:
        self._memory.estimates.looked(self.want.scope, self, size)

    def estimated(self, size: int | None) -> None:
        """What was found."""
        if self._step is _Step.MEASURING:
            self._measured(size)

    def due(self, now: float) -> None:
        """What was not found by now is not waited for."""
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()  # which may tell something
        if self._step is _Step.MEASURING:
            self._measured(None)

    def _measured(self, size: int | None) -> None:
        self._leave_look()
        self.reserve(size)

    def _leave_look(self) -> None:
        self._memory.forget(self)
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()

    # For that much.

    def reserve(self, size: int | None) -> None:
        """It is about `size` bytes of a list; None: nobody knows, and so nobody says that it is too large."""
        pool = self._memory.pool
        need = max(1, ceil((GUESS if size is None else size) * self.want.multiple))
        if self.want.cut or size is None:
            # Whoever waited for what a cache has would wait in vain, and everybody behind them as well.
            need = max(1, min(need, pool.passing))
        reservation = pool.reservation(need, self._held, self._expired)
        if reservation is None:
            self._refuse(Refused.TOO_LARGE)
            return
        self._step = _Step.WAITING
        self._reservation = reservation
        reservation.ask(self._until)

    def _held(self) -> None:
        reservation, self._reservation = self._reservation, None
        assert reservation is not None
        granted = self._granted
        self._over()
        granted(reservation)

    def _expired(self) -> None:
        self._refuse(Refused.MEMORY)

    def _refuse(self, why: Refused) -> None:
        refused = self._refused
        self._over()
        self._memory.refuse(why)
        refused(why)

    def _over(self) -> None:
        self._step = _Step.OVER
        self._reservation = None
        # Whoever asked has this as well: without their cycle both are freed at once.
        del self._granted, self._refused

    def cancel(self) -> None:
        """Waits no longer. Harmless later: who has the reservation gives that back."""
        if self._step is _Step.OVER:
            return
        reservation = self._reservation
        if self._step is _Step.MEASURING:
            self._leave_look()
        self._over()
        if reservation is not None:
            reservation.close()

"""How many requests are at one target at once, whatever sent them (spec 06, Overload, Per-target cap).

It stands before the pool of connections, so that whoever waits for a slot has sent nothing. A cap is one
target's and never shared: a target that is slow holds its own slots and nobody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from foyer.admission.line import Line, Share, Soon
from foyer.admission.place import Place
from foyer.exchange.ports import Cancellable, Expirable, UpstreamReceiver
from foyer.gate.wheel import Wheel
from foyer.protocol.events import Failure

PoolOpen = Callable[[UpstreamReceiver, Place], Cancellable]
"""Finds a place on a connection (`foyer.net.upstream.Upstream.open`)."""


class Until(Enum):
    """How long a request keeps its slot."""

    HEAD = "until the head of the response"
    WHOLE = "until the exchange has left: of an answer that foyer reads whole"


class Counts(Protocol):
    """What is counted of a cap (`foyer.measures.TargetMeasures`)."""

    refused: int
    """Requests that found it full until their deadline."""


class Cap:
    """One target's slots."""

    __slots__ = ("_counts", "_line", "_now", "_pool_open", "_timeout")

    def __init__(
        self,
        limit: int,
        pool_open: PoolOpen,
        *,
        timeout: float,
        wheel: Wheel,
        now: Callable[[], float],
        soon: Soon,
        counts: Counts,
    ) -> None:
        """`timeout` is how many seconds a request without a deadline waits; `now` is the wheel's clock.

        `soon` calls its argument in a turn of the loop to come (`loop.call_soon`).
        """
        self._line = Line(limit, wheel, soon)
        self._pool_open = pool_open
        self._timeout = timeout
        self._now = now
        self._counts = counts

    @property
    def limit(self) -> int:
        """Slots there are."""
        return self._line.capacity

    @property
    def in_flight(self) -> int:
        """Slots that are taken."""
        return self._line.taken

    @property
    def waiting(self) -> int:
        """Requests that wait for one."""
        return len(self._line)

    def open(
        self,
        receiver: UpstreamReceiver,
        *,
        until: Until = Until.HEAD,
        deadline: float | None = None,
        place: Place | None = None,
    ) -> Expirable:
        """A slot for `receiver`, then a place on a connection: `upstream_open` or `upstream_gone`.

        `deadline` is on `now`'s clock and holds for the slot alone; without one, the timeout from now. Past
        it the failure is `Failure.TARGET_FULL`, and nothing was sent. `place` is what the request holds
        besides, and is told what the slot is told. To be cancelled until `upstream_open`; harmless later.
        """
        slot = _Slot(self._line, receiver, self._pool_open, self._counts, until, place)
        slot.ask(self._now() + self._timeout if deadline is None else deadline)
        return slot


class _Slot(Share):
    """One request's: waited for, held while its connection is, given back at the head or when it has left."""

    __slots__ = ("_counts", "_opened", "_pending", "_place", "_pool_open", "_receiver", "_until")

    def __init__(
        self,
        line: Line,
        receiver: UpstreamReceiver,
        pool_open: PoolOpen,
        counts: Counts,
        until: Until,
        place: Place | None,
    ) -> None:
        super().__init__(line)
        self._receiver: UpstreamReceiver | None = receiver
        self._pool_open = pool_open
        self._counts = counts
        self._until = until
        self._place = place
        self._pending: Cancellable | None = None
        self._opened = False

    # Of the line.

    def granted(self) -> None:
        """A slot: now for a connection."""
        receiver, self._receiver = self._receiver, None
        assert receiver is not None
        self._pending = self._pool_open(receiver, self)
        if self._opened:
            self._pending = None

    def expired(self) -> None:
        """None was free for as long as the request could wait."""
        self.close()
        self._counts.refused += 1
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.upstream_gone(Failure.TARGET_FULL)

    # Of the receiver.

    def cancel(self) -> None:
        """Waits no longer, for a slot or for a connection. Whoever has a side cancels that."""
        if self._opened:
            return
        self._receiver = None
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
        self.close()

    # Of the pool: what `Place` says.

    def opened(self, now: float) -> None:
        """The request goes up."""
        self._opened = True
        self._pending = None
        if self._place is not None:
            self._place.opened(now)

    def answered(self) -> Place | None:
        """The head is there."""
        if self._place is not None:
            self._place = self._place.answered()
        if self._until is Until.WHOLE:
            return self
        self.leave()
        return self._place

    def close(self) -> None:
        """It has left, or was never there."""
        super().close()
        place, self._place = self._place, None
        if place is not None:
            place.close()

"""How fast the shared identity may ask the API server: one budget for all of it, in order (spec 05).

Watches, lists and reviews alike: each asks for a place on a connection, and finds this before the pool. One
that waits and is given up costs nothing.
"""

from collections import deque
from collections.abc import Callable
from functools import partial

from foyer.exchange.ports import Cancellable, Expirable, UpstreamReceiver
from foyer.gate.rate import Rate, Refused

OpenSide = Callable[[UpstreamReceiver], Cancellable]
"""Finds a place on a connection (`foyer.net.upstream.Upstream.open`)."""


class Budget:
    """One identity's. `open` is an `OpenSide`."""

    __slots__ = ("_later", "_now", "_open_side", "_rate", "_timer", "_waiting")

    def __init__(
        self,
        open_side: OpenSide,
        qps: float,
        now: Callable[[], float],
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """`qps` requests a second and twice that at once, but at least one. `later` calls after seconds."""
        self._open_side = open_side
        self._rate = Rate[None](qps, max(1, int(2 * qps)))
        self._now = now
        self._later = later
        self._waiting: deque[_Ticket] = deque()
        self._timer = False

    def open(self, receiver: UpstreamReceiver) -> Cancellable:
        """A place for `receiver` when it is its turn."""
        return self._wait(self._open_side, receiver)

    def before(self, open_side: OpenSide) -> OpenSide:
        """What draws on this budget as `open` does, and then finds its place by `open_side`."""
        return partial(self._wait, open_side)

    def _wait(self, open_side: OpenSide, receiver: UpstreamReceiver) -> Cancellable:
        ticket = _Ticket(receiver, open_side)
        self._waiting.append(ticket)
        if not self._timer:
            self._go_on()
        return ticket

    def _woken(self) -> None:
        self._timer = False
        self._go_on()

    def _go_on(self) -> None:
        """Lets in whoever may be."""
        while self._waiting and not self._timer:
            if self._waiting[0].cancelled:
                self._waiting.popleft()
                continue
            taken = self._rate.take(None, self._now())
            if isinstance(taken, Refused):
                self._timer = True
                self._later(taken.wait, self._woken)
                return
            self._waiting.popleft().use()

    def __len__(self) -> int:
        """Requests that wait."""
        return sum(not ticket.cancelled for ticket in self._waiting)


class _Ticket:
    """One request's place: in the line, and then in the pool's."""

    __slots__ = ("_open_side", "_pending", "_receiver", "cancelled")

    def __init__(self, receiver: UpstreamReceiver, open_side: OpenSide) -> None:
        self._receiver: UpstreamReceiver | None = receiver
        self._open_side = open_side
        self._pending: Cancellable | None = None
        self.cancelled = False

    def use(self) -> None:
        receiver, self._receiver = self._receiver, None
        assert receiver is not None
        pending = self._open_side(receiver)
        if self.cancelled:
            pending.cancel()  # given up while the place was looked for
        else:
            self._pending = pending

    def expire(self) -> None:
        """Its time is over: behind this line, what it waits for there may be to blame."""
        pending = self._pending
        if isinstance(pending, Expirable):
            pending.expire()

    def cancel(self) -> None:
        """Wait no longer."""
        self.cancelled = True
        self._receiver = None
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()

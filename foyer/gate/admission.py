"""What an admitted request holds while it is open, and the clock on it (spec 04, Duration, Session check).

Given back exactly once, by whichever way the request ends.
"""

from __future__ import annotations

from typing import Protocol

from foyer.gate.limits import Limits
from foyer.gate.slots import Slots
from foyer.gate.wheel import TICK, Wheel
from foyer.session.live import is_live
from foyer.session.registry import Registry
from foyer.session.seal import Session


class Admitted(Protocol):
    """An open exchange, as far as what it holds is concerned. Compared by identity."""

    def session_ended(self) -> None:
        """Its session is over: cut it now."""

    def duration_reached(self) -> None:
        """It has been open for as long as it may: cut it now."""


class Replica(Protocol):
    """What all admissions share: the gate's. `clock` is wall-clock time in seconds."""

    limits: Limits
    wheel: Wheel
    registry: Registry
    absolute_timeout: float

    def clock(self) -> float: ...


class Admission:
    """An admitted request's places: in its session, among the slots and in the wheel."""

    __slots__ = ("_exchange", "_gate", "_session_id", "_slots", "ends_at", "issued_at", "opened", "slot")

    def __init__(self, gate: Replica, slots: Slots, session: Session, exchange: Admitted, now: float) -> None:
        """A place in `slots` has been taken. `now` is on the wheel's clock, in seconds."""
        # Not the session itself: its token would stay in memory as long as a watch does.
        self._session_id = session.session_id
        self.issued_at = session.issued_at
        self.ends_at = session.ends_at
        self._gate: Replica | None = gate
        self._slots = slots
        self._exchange = exchange
        self.opened = now
        self.slot = -1
        gate.registry.add(session.session_id, exchange)
        gate.wheel.add(self, self._next(gate, now, gate.clock()))

    def due(self, now: float) -> float | None:
        """Cuts a response that has been open for too long, or whose session is over."""
        gate = self._gate
        if gate is None:
            return None
        wall = gate.clock()
        if now >= self.opened + gate.limits.max_response_duration:
            self._exchange.duration_reached()
        elif not is_live(self, wall, gate.absolute_timeout):
            self._exchange.session_ended()
        else:
            return self._next(gate, now, wall)
        return None

    def _next(self, gate: Replica, now: float, wall: float) -> float:
        """When to look again: the end is known, but a timeout can be lowered and a clock be set."""
        limits = gate.limits
        # The wheel may be a tick late, and the interval is a promise.
        check = now + limits.session_check_interval - TICK
        return min(check, now + self.ends_at - wall, self.opened + limits.max_response_duration)

    def close(self) -> None:
        """Gives everything back; harmless a second time."""
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.wheel.remove(self)
            gate.registry.remove(self._session_id, self._exchange)
            self._slots.give_back(self._session_id)
            # Each holds the other: without this both, and the connection with its 18 KiB of TLS, would wait
            # for a collection. Of 1,800 watches that ended at once nothing was freed within eight seconds.
            del self._exchange

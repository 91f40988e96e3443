"""The ordered checks of a request that acts as somebody (spec 04, Order of checks, 3 to 6).

Each check passes, or answers and gives back what the checks before it took. What a passed request
holds is an `Admission`.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol

from foyer.bound import Bound
from foyer.gate.admission import Admission, Admitted
from foyer.gate.callers import Callers
from foyer.gate.limits import Limits
from foyer.gate.rate import Rate, Refused
from foyer.gate.slots import Slots
from foyer.gate.wheel import Wheel
from foyer.interruption import Interruption, Reason, bound_reached
from foyer.protocol.events import RequestHead
from foyer.session.csrf import check_change
from foyer.session.keys import Keyring
from foyer.session.live import signed_in
from foyer.session.registry import Registry
from foyer.session.seal import Session, SessionID

NO_SESSION = Interruption(Reason.UNAUTHORIZED, "You are not signed in, or your session has ended.")


class Kind(Enum):
    """What is admitted; each has slots of its own, and both draw on one rate."""

    REQUEST = "request"
    STREAM = "stream"


class Observed(Protocol):
    """A series of values, such as the shares of a bound that were used."""

    def observe(self, value: float) -> None:
        """One more."""


class Gate:
    """The checks, in the spec's order, over one replica's sessions."""

    def __init__(
        self,
        keyring: Callable[[], Keyring],
        origin: str,
        absolute_timeout: float,
        *,
        limits: Limits,
        wheel: Wheel,
        now: Callable[[], float],
        clock: Callable[[], float],
        usage: Mapping[Bound, Observed],
        callers: Callers | None = None,
    ) -> None:
        """`keyring` gives the keys in force; `origin` is the configured one; the timeout is in seconds.

        `absolute_timeout` may be changed at any time: the sessions that are out there are judged by it.
        `now` is the wheel's clock and `clock` wall-clock time, in seconds. `usage` takes what share of each
        bound was used. Without `callers` people are held to no rate, only their sessions.
        """
        self.registry = Registry()
        self.limits = limits
        self.wheel = wheel
        self.now = now
        self.clock = clock
        self.absolute_timeout = absolute_timeout
        self.requests = Slots(
            (Bound.SESSION_CONCURRENT_REQUESTS, limits.max_session_concurrent_requests),
            (Bound.CONCURRENT_REQUESTS, limits.max_concurrent_requests),
        )
        self.streams = Slots(
            (Bound.SESSION_STREAMS, limits.max_session_streams), (Bound.STREAMS, limits.max_streams)
        )
        self._keyring = keyring
        self._origin = origin.encode("ascii")
        self._rate = Rate[SessionID](limits.session_request_rate, limits.session_request_burst)
        self._usage = usage
        self._callers = callers

    def session(self, head: RequestHead) -> Session | None:
        """The live session of a request, or None."""
        return signed_in(head.fields, self._keyring(), self.clock(), self.absolute_timeout)

    def proofs(self, head: RequestHead, session: Session) -> Interruption | None:
        """The refusal of a changing request that lacks its CSRF proof or its origin."""
        return check_change(head.method, head, session, self._origin)

    def admit(
        self, session: Session, exchange: Admitted, kind: Kind = Kind.REQUEST
    ) -> Admission | Interruption:
        """Takes what a checked request holds while it is open."""
        now = self.now()
        passed = self._rate.take(session.session_id, now)
        if isinstance(passed, Refused):
            return _too_fast(self.limits, passed)
        too_many = None if self._callers is None else self._callers.refusal(session, now)
        if too_many is not None:
            return too_many
        slots = self.requests if kind is Kind.REQUEST else self.streams
        taken = slots.take(session.session_id)
        if isinstance(taken, Bound):
            return _too_many(kind, taken, slots.limit(taken))
        usage = self._usage
        usage[Bound.SESSION_REQUEST_BURST].observe(passed.spent)
        usage[slots.session_bound].observe(taken.in_session / slots.session_limit)
        usage[slots.replica_bound].observe(taken.in_replica / slots.replica_limit)
        return Admission(self, slots, session, exchange, now)

    def observe_end(self, admission: Admission, content: int | None) -> None:
        """A response that was let through has ended. `content` is its decoded bytes, where those count."""
        limits, usage = self.limits, self._usage
        open_for = (self.now() - admission.opened) / limits.max_response_duration
        usage[Bound.RESPONSE_DURATION].observe(min(1.0, open_for))
        if content is not None:
            usage[Bound.RESPONSE_BYTES].observe(content / limits.max_response_bytes)


def _too_fast(limits: Limits, refused: Refused) -> Interruption:
    # Named for what was spent; the rate is what it refills at.
    return bound_reached(
        Reason.REQUEST_RATE_EXCEEDED,
        Bound.SESSION_REQUEST_BURST,
        limits.session_request_burst,
        "This session sends requests faster than foyer lets it. It may go on in a moment.",
        refused.retry_after,
    )


def _too_many(kind: Kind, bound: Bound, limit: int) -> Interruption:
    whose = "this session" if bound in (Bound.SESSION_CONCURRENT_REQUESTS, Bound.SESSION_STREAMS) else "foyer"
    if kind is Kind.STREAM:
        return bound_reached(
            Reason.TOO_MANY_STREAMS, bound, limit, f"As many streams are open in {whose} as may be at once."
        )
    return bound_reached(
        Reason.TOO_MANY_CONCURRENT_REQUESTS,
        bound,
        limit,
        f"As many requests are open in {whose} as may be at once.",
    )

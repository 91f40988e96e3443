"""How fast one person may ask, in all of their sessions together (spec 06, Per-user rate).

Who that is, the sealed session says: the issuer and the subject of its ID token. Never an address, which
whoever sends it can make up, and behind which a whole office may be.
"""

from collections.abc import MutableMapping

from foyer.gate.rate import Refused
from foyer.gate.users import UserRate
from foyer.interruption import Interruption, user_rate_exceeded
from foyer.session.seal import Session


class Callers:
    """The people who ask."""

    def __init__(self, rate: UserRate, refusals: MutableMapping[str, int]) -> None:
        """Who is refused is counted in `refusals` under `caller-rate`."""
        self._rate = rate
        self._refusals = refusals

    def refusal(self, session: Session, now: float) -> Interruption | None:
        """Charges the person of `session` for one request; the refusal where their bucket is empty."""
        taken = self._rate.take((session.issuer, session.subject), now)
        if not isinstance(taken, Refused):
            return None
        self._refusals["caller-rate"] += 1
        return user_rate_exceeded(self._rate.rate, taken.retry_after)

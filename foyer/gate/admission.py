"""The ordered checks of a request that acts as somebody (spec 04, Order of checks, 3 to 6).

Each check passes, or answers and gives back what the checks before it took. What a passed request
holds is an `Admission`, given back exactly once by whichever way the request ends.
"""

from collections.abc import Callable

from foyer.interruption import Interruption, Reason
from foyer.protocol.events import RequestHead
from foyer.session.csrf import check_change
from foyer.session.keys import Keyring
from foyer.session.live import signed_in
from foyer.session.registry import Cuttable, Registry
from foyer.session.seal import Session, SessionID

NO_SESSION = Interruption(Reason.UNAUTHORIZED, "You are not signed in, or your session has ended.")


class Admission:
    """What an admitted request holds: its place in its session's open exchanges."""

    __slots__ = ("_exchange", "_registry", "_session_id")

    def __init__(self, session: Session, registry: Registry, exchange: Cuttable) -> None:
        self._session_id: SessionID | None = session.session_id
        self._registry = registry
        self._exchange = exchange
        registry.add(session.session_id, exchange)

    def close(self) -> None:
        """Gives everything back; harmless a second time."""
        session_id, self._session_id = self._session_id, None
        if session_id is not None:
            self._registry.remove(session_id, self._exchange)


class Named:
    """Who somebody is, for a log line."""

    __slots__ = ("email", "subject")

    def __init__(self, email: str, subject: str) -> None:
        self.email = email
        self.subject = subject


class Gate:
    """The checks, in the spec's order, over one replica's sessions."""

    def __init__(self, keyring: Callable[[], Keyring], origin: str, absolute_timeout: float) -> None:
        """`keyring` gives the keys in force; `origin` is the configured one; the timeout is in seconds.

        `absolute_timeout` may be changed at any time: the sessions that are out there are judged by it.
        """
        self.registry = Registry()
        self._keyring = keyring
        self._origin = origin.encode("ascii")
        self.absolute_timeout = absolute_timeout

    def session(self, head: RequestHead, now: float) -> Session | None:
        """The live session of a request, or None. `now` is wall-clock time in seconds."""
        return signed_in(head.fields, self._keyring(), now, self.absolute_timeout)

    def proofs(self, head: RequestHead, session: Session) -> Interruption | None:
        """The refusal of a changing request that lacks its CSRF proof or its origin."""
        return check_change(head.method, head, session, self._origin)

    def admit(self, session: Session, exchange: Cuttable) -> Admission:
        """Takes what a checked request holds while it is open."""
        return Admission(session, self.registry, exchange)

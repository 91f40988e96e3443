"""When a session ends, and which session a request has (spec 02, The session).

By foyer's clock, in whole seconds, on every request; nothing renews it.
"""

from typing import Protocol

from foyer.protocol.events import Fields
from foyer.session import cookies
from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, Session, open_session

_NAME = COOKIE.encode("ascii")


class Ends(Protocol):
    """Whatever ends with a session: the session itself, and what is open in it. Whole seconds."""

    @property
    def issued_at(self) -> int: ...
    @property
    def ends_at(self) -> int: ...


def end(session: Ends, absolute_timeout: float) -> int:
    """The second from which `session` is over.

    `ends_at` was the earlier of the timeout and the ID token's expiry at login. The timeout is
    asked again because a lowered one shortens sessions already issued.
    """
    return min(session.ends_at, session.issued_at + int(absolute_timeout))


def is_live(session: Ends, now: float, absolute_timeout: float) -> bool:
    """Whether `session` has not ended at `now`. All in seconds."""
    return now < end(session, absolute_timeout)


def presented(fields: Fields, keyring: Keyring) -> Session | None:
    """The session a request's one session cookie seals, ended or not."""
    value = cookies.sole(fields, _NAME)
    return None if value is None else open_session(value, keyring)


def signed_in(fields: Fields, keyring: Keyring, now: float, absolute_timeout: float) -> Session | None:
    """The live session of a request, or None: the one question the gate asks."""
    session = presented(fields, keyring)
    return session if session is not None and is_live(session, now, absolute_timeout) else None

"""What only the holder of the session keys can do: look into a session cookie, and make one.

Looking in is how the search for secrets knows the ID token and the session ID of each sign-in.
Making one is how a token that no sign-in gives (another group, an end long past) gets to foyer.
"""

import base64
import json
import secrets
import time
from pathlib import Path

from foyer.session.keys import Keyring
from foyer.session.seal import IdToken, Session, SessionID, open_session, seal
from tests.e2e.harness.leaks import Leaks

_PREFIX = 12
"""Characters that all values sealed under one key begin with: version and key ID, nine bytes."""


class Sealing:
    """The keys of one keys file, as foyer reads them."""

    def __init__(self, keys_file: Path, leaks: Leaks) -> None:
        self._keyring = Keyring.parse(keys_file.read_bytes())
        self._leaks = leaks

    def open(self, value: str) -> Session:
        """The session in a cookie value, whose secrets the search knows from now on."""
        session = open_session(value.encode(), self._keyring)
        assert session is not None, "foyer set a session cookie that its own keys do not open"
        self._learn(value, session)
        return session

    def seal(self, token: str, ends_at: float) -> str:
        """The cookie value of a session with this ID token, until `ends_at` (seconds since 1970)."""
        session = Session(
            issuer=_claims(token)["iss"],
            subject=_claims(token)["sub"],
            email=_claims(token)["email"],
            display_name="",
            groups=(),
            connector=None,
            id_token=IdToken(token.encode()),
            session_id=SessionID(secrets.token_urlsafe(24)),
            csrf_token=secrets.token_urlsafe(24),
            issued_at=int(time.time()),
            ends_at=int(ends_at),
        )
        value = seal(session, self._keyring)
        self._learn(value, session)
        return value

    def _learn(self, value: str, session: Session) -> None:
        self._leaks.learn("an ID token", session.id_token.decode())
        self._leaks.learn("a session ID", session.session_id)
        self._leaks.learn("a CSRF token", session.csrf_token, allowed_in="GET /auth/session")
        self._leaks.learn("a sealed session", value[:_PREFIX])


def expiry(session: Session) -> int:
    """When the session's ID token expires (`exp`, seconds since 1970)."""
    return int(_claims(session.id_token.decode())["exp"])


def _claims(token: str) -> dict[str, str]:
    part = token.split(".")[1]
    claims: dict[str, str] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims

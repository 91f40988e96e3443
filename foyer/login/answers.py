"""The answers of the `/auth` routes that say or change who is signed in (spec 01, Routes).

None is kept anywhere, and none tells its URL: a callback's holds a code.
"""

import json
from datetime import UTC, datetime

from foyer.exchange.ports import Answer
from foyer.protocol.events import Fields
from foyer.session import live
from foyer.session.cookies import clear_cookie
from foyer.session.csrf import CSRF_HEADER
from foyer.session.seal import COOKIE, Session

_AUTH_FIELDS: Fields = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


def redirect(status: int, location: str, cookies: Fields) -> Answer:
    """Send the browser to an absolute URL, with these `Set-Cookie`s. Raises nothing for printable ASCII."""
    return Answer(status, [(b"location", location.encode("ascii")), *_AUTH_FIELDS, *cookies])


def session_answer(session: Session | None, absolute_timeout: float) -> Answer:
    """`/auth/session` for a live session or none. Never its token, nor its ID."""
    if session is None:
        return _json(401, {"authenticated": False})
    connector = {} if session.connector is None else {"connector": session.connector}
    shown = {
        "authenticated": True,
        "issuer": session.issuer,
        "subject": session.subject,
        "email": session.email,
        "displayName": session.display_name,
        "groups": session.groups,
        **connector,
        "expiresAt": expires_at(session, absolute_timeout),
        "csrfToken": session.csrf_token,
        "csrfHeader": CSRF_HEADER,
    }
    return _json(200, shown)


def logout_answer() -> Answer:
    """`/auth/logout`, once the session's open exchanges have been ended. Revokes nothing."""
    return Answer(204, [*_AUTH_FIELDS, clear_cookie(COOKIE)])


def expires_at(session: Session, absolute_timeout: float) -> str:
    """When `session` ends, as Kubernetes writes times: RFC 3339, UTC, whole seconds."""
    end = datetime.fromtimestamp(live.end(session, absolute_timeout), UTC)
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(status: int, content: dict[str, object]) -> Answer:
    text = json.dumps(content, separators=(",", ":"))
    return Answer(status, [(b"content-type", b"application/json"), *_AUTH_FIELDS], text.encode("ascii"))

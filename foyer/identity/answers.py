"""What whoami and the check answer (spec 01, Routes; spec 02, The check). Never a token in any of it."""

import json

from foyer.exchange.ports import Answer
from foyer.interruption import Interruption, Reason
from foyer.k8s.incoming import SECURITY_FIELDS
from foyer.k8s.reviews import UserInfo
from foyer.login.answers import expires_at
from foyer.session import spelling
from foyer.session.seal import Session

IDENTITY_HEADER = b"krm-foyer-identity"

MAX_IDENTITY_BYTES = 16 * 1024
"""Of the header's value: as much as an ingress can be set to take of a head (nginx's largest usual
`proxy_buffer_size`). The groups of a session that fits into its cookie take a quarter of it."""


def whoami(user_info: UserInfo, session: Session, absolute_timeout: float) -> Answer:
    """Who the API server says the session is of. `absolute_timeout` is in seconds."""
    shown = {
        "userInfo": user_info,
        "issuer": session.issuer,
        "expiresAt": expires_at(session, absolute_timeout),
    }
    fields = [(b"content-type", b"application/json"), *SECURITY_FIELDS]
    return Answer(200, fields, json.dumps(shown).encode("ascii"))


def passed() -> Answer:
    """The check's yes."""
    return Answer(204, list(SECURITY_FIELDS))


def identified(user_info: UserInfo, session: Session, absolute_timeout: float) -> Answer | None:
    """The check's yes, with who it is for the application behind the ingress; None if no header holds that.

    Unpadded base64url of JSON: whatever a name or a group is made of, it is one field value, and one
    reading of it.
    """
    shown: dict[str, object] = {"userInfo": user_info, "displayName": session.display_name}
    if session.connector is not None:
        shown["connector"] = session.connector
    shown |= {"issuer": session.issuer, "expiresAt": expires_at(session, absolute_timeout)}
    value = spelling.encode(json.dumps(shown, separators=(",", ":")).encode("ascii")).encode("ascii")
    if len(value) > MAX_IDENTITY_BYTES:
        return None
    return Answer(204, [*SECURITY_FIELDS, (IDENTITY_HEADER, value)])


def unavailable(failure: str) -> Interruption:
    """No usable answer came; `failure` is a kind for the log."""
    return Interruption(Reason.IDENTITY_UNAVAILABLE, _UNAVAILABLE, failure=failure)


_UNAVAILABLE = "The API server did not say who you are. It may do so in a moment."

"""The session and its sealed cookie value (spec 02, The session).

    value = base64url( version (1) | key ID (8) | nonce (12) | AES-256-GCM of the parts, and tag )

The cookie's name, the version and the key ID are authenticated with the parts. Opening happens
on every request: it keeps nothing between two calls, and `bench/sessions.py` says what it costs:
about 10 µs, nearly half of them for base64 in the standard library.

The parts are joined by the byte 0xFF, which UTF-8 never contains (RFC 3629 section 1): no claim,
whatever the issuer put in it, can be taken for two. One C call takes them apart, in two thirds of
the time that JSON takes.
"""

import os
from typing import NamedTuple, NewType

from cryptography.exceptions import InvalidTag

from foyer.session import spelling
from foyer.session.keys import KEY_ID_BYTES, Keyring

COOKIE = "__Host-krm-foyer-session"

MAX_VALUE_BYTES = 3800
"""Of cookie value. Browsers drop a cookie silently past 4,096 bytes of name and value."""

SessionID = NewType("SessionID", str)


class IdToken(bytes):
    """An ID token, as the bytes of a header field. Shown nowhere."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "IdToken(hidden)"


class Session(NamedTuple):
    """One browser's sign-in.

    A tuple and not a dataclass: a frozen one takes 1.1 µs to make, this 0.3, on every request.
    `issued_at` and `ends_at` are whole seconds of foyer's clock. `connector` is None or not empty.
    """

    issuer: str
    subject: str
    email: str
    display_name: str
    groups: tuple[str, ...]
    connector: str | None
    id_token: IdToken
    session_id: SessionID
    csrf_token: str
    issued_at: int
    ends_at: int

    def __repr__(self) -> str:
        # Who it is stays out of logs and tracebacks too.
        return "Session(hidden)"


_VERSION = b"\x01"
_NONCE_BYTES = 12
_NAME = COOKIE.encode("ascii")
_HEAD_END = len(_VERSION) + KEY_ID_BYTES
_NONCE_END = _HEAD_END + _NONCE_BYTES
_BETWEEN = b"\xff"


def seal(session: Session, keyring: Keyring) -> str:
    """The cookie value of `session`, of any length. Raises UnicodeEncodeError for a lone surrogate."""
    head = _VERSION + keyring.first.key_id
    # Random nonces are safe for 2^32 values under one key (NIST SP 800-38D, 8.3): logins, here.
    nonce = os.urandom(_NONCE_BYTES)
    sealed = keyring.first.encryption.encrypt(nonce, _join(session), _NAME + head)
    return spelling.encode(head + nonce + sealed)


def open_session(value: bytes, keyring: Keyring) -> Session | None:
    """The session that `value` seals, whether or not it has ended. None for anything else; never raises."""
    if len(value) > MAX_VALUE_BYTES:
        return None
    sealed = spelling.decode(value)
    if sealed is None:
        return None
    head = sealed[:_HEAD_END]
    encryption = keyring.encryption(head[1:])
    if encryption is None or head[:1] != _VERSION:
        return None
    try:
        return _split(encryption.decrypt(sealed[_HEAD_END:_NONCE_END], sealed[_NONCE_END:], _NAME + head))
    except (InvalidTag, ValueError):  # ValueError: a nonce cut short, or not the parts of a session
        return None


def _join(session: Session) -> bytes:
    texts = (
        session.issuer,
        session.subject,
        session.email,
        session.display_name,
        session.connector or "",
        session.session_id,
        session.csrf_token,
        *session.groups,
    )
    numbers = b"%d" % session.issued_at, b"%d" % session.ends_at, session.id_token
    return _BETWEEN.join((*numbers, *[text.encode() for text in texts]))


def _split(parts: bytes) -> Session:
    issued_at, ends_at, id_token, issuer, subject, email, name, connector, session_id, csrf_token, *groups = (
        parts.split(_BETWEEN)
    )
    return Session(
        issuer.decode(),
        subject.decode(),
        email.decode(),
        name.decode(),
        tuple([group.decode() for group in groups]),
        connector.decode() or None,
        IdToken(id_token),
        SessionID(session_id.decode()),
        csrf_token.decode(),
        int(issued_at),
        int(ends_at),
    )

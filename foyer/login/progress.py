"""A login in progress, which lives in the browser that started it (spec 02, Login).

Sealed with a key that exists only in this process's memory, in a cookie named by a hash of its
`state`: tabs do not disturb each other, foyer keeps nothing per login, and a restart ends every
login in progress. The name is authenticated, so one login's cookie does not open as another's.
"""

import hashlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from foyer.protocol.events import Fields
from foyer.session import cookies, spelling

COOKIE_PREFIX = "__Host-krm-foyer-login-"

LIFETIME = 600
"""Seconds to sign in at the issuer: a password, a second factor and a coffee."""

MAX_IN_PROGRESS = 3
"""A browser. Each may be 3 KiB of every request's header, with a return path of its full length."""

_MAX_CLEARED = 16
"""Cookies cleared by one answer: a request full of forged ones gets no answer full of fields."""

_MAX_SEALED = 2260
"""Bytes sealed: what a login with the longest return path needs, and no login's cookie is larger."""

_NONCE_BYTES = 12

_NAME_HASH_BYTES = 16
"""Of the state's hash: only a name, and what it names seals the whole state."""


@dataclass(frozen=True, slots=True)
class LoginInProgress:
    """What a callback is judged by. `expires_at` in seconds; the verifier is PKCE's (RFC 7636).

    `listed` are the login parameters that a link to try again repeats, by name.
    """

    state: str
    nonce: str
    verifier: str
    return_path: bytes
    expires_at: float
    listed: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "LoginInProgress(hidden)"


def begun(return_path: bytes, now: float, listed: Mapping[str, str] | None = None) -> LoginInProgress:
    """A new login: 256 random bits each, which is also the 43 characters PKCE asks for at least."""
    return LoginInProgress(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(32),
        return_path=return_path,
        expires_at=now + LIFETIME,
        listed=listed or {},
    )


def cookie_name(state: bytes) -> str:
    """The cookie of the login with this `state`."""
    return COOKIE_PREFIX + spelling.encode(hashlib.sha256(state).digest()[:_NAME_HASH_BYTES])


class LoginSeal:
    """Seals logins in progress with a key of its own, made when it is."""

    __slots__ = ("_encryption",)

    def __init__(self) -> None:
        self._encryption = AESGCM(AESGCM.generate_key(256))

    def seal(self, login: LoginInProgress) -> tuple[str, str]:
        """The name and the value of the login's cookie, under 3,100 bytes together."""
        name = cookie_name(login.state.encode("ascii"))
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._encryption.encrypt(nonce, _written(login), name.encode("ascii"))
        return name, spelling.encode(nonce + sealed)

    def open(self, name: bytes, value: bytes) -> LoginInProgress | None:
        """The login that `value` seals for the cookie `name`, expired or not. None for anything else."""
        sealed = spelling.decode(value)
        if sealed is None:
            return None
        try:
            parts = self._encryption.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name)
        except (InvalidTag, ValueError):  # ValueError: shorter than a nonce
            return None
        return _read(parts)

    def make_room(self, fields: Fields) -> Fields:
        """The `Set-Cookie`s that leave the browser room for one more login: the oldest end.

        A cookie that does not open (another replica's, or from before a restart) is older than
        any that does: it can be of use to nobody here.
        """
        # By name: two cookies of one name are cleared as one.
        held = dict(_ours(fields))
        surplus = len(held) - (MAX_IN_PROGRESS - 1)
        oldest_first = sorted(held, key=lambda name: self._expiry(name, held[name]))
        oldest = oldest_first[: max(0, min(surplus, _MAX_CLEARED))]
        return [cookies.clear_cookie(name.decode("ascii")) for name in oldest]

    def _expiry(self, name: bytes, value: bytes) -> float:
        login = self.open(name, value)
        return -1.0 if login is None else login.expires_at


def _written(login: LoginInProgress) -> bytes:
    """A login as lines. None contains another: base64url, a number, and what is printable."""
    texts = (login.state, login.nonce, login.verifier, repr(login.expires_at))
    least = b"\n".join((*[text.encode("ascii") for text in texts], login.return_path))
    whole = b"\n".join((least, *[f"{name}={value}".encode() for name, value in login.listed.items()]))
    # A return path and parameters that are both very long: the login matters more than its retry link.
    return whole if len(whole) <= _MAX_SEALED else least


def _read(lines: bytes) -> LoginInProgress:
    state, nonce, verifier, expires_at, return_path, *listed = lines.decode().split("\n")
    parameters = dict(line.split("=", 1) for line in listed)
    return LoginInProgress(state, nonce, verifier, return_path.encode("ascii"), float(expires_at), parameters)


def _ours(fields: Fields) -> list[tuple[bytes, bytes]]:
    """The cookies whose names are ones foyer gives: any other could not be repeated safely."""
    prefix = COOKIE_PREFIX.encode("ascii")
    named = cookies.with_prefix(fields, prefix)
    return [
        (name, value)
        for name, value in named
        if len(spelling.decode(name[len(prefix) :]) or b"") == _NAME_HASH_BYTES
    ]

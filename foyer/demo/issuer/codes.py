"""Authorization codes (RFC 6749 section 4.1.2): short-lived, good once, bound to one request."""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256

from foyer.demo.people import Person

CODE_LIFETIME = 60.0
"""Seconds: a browser needs one redirect."""

MAX_CODES = 1000
"""Unredeemed codes kept; the oldest goes first. Nobody signs in to a demo that often."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """What a client asked to have authorized. `challenge` is PKCE's, method S256."""

    client_id: str
    redirect_uri: str
    state: str
    nonce: str
    challenge: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """What a code stands for. `ends` is in seconds since the epoch."""

    authorization: Authorization
    person: Person
    ends: float = field(repr=False)


class Codes:
    """The codes that have been given and not yet redeemed."""

    def __init__(self) -> None:
        self._grants: OrderedDict[str, Grant] = OrderedDict()

    def issue(self, authorization: Authorization, person: Person, now: float) -> str:
        """A new code."""
        code = secrets.token_urlsafe(24)
        self._grants[code] = Grant(authorization, person, now + CODE_LIFETIME)
        if len(self._grants) > MAX_CODES:
            self._grants.popitem(last=False)
        return code

    def redeem(self, code: str, client_id: str, redirect_uri: str, verifier: str, now: float) -> Grant | None:
        """The code's grant, which is then gone, whether the rest fits it or not."""
        grant = self._grants.pop(code, None)
        if grant is None or now >= grant.ends:
            return None
        asked = grant.authorization
        fits = (client_id, redirect_uri) == (asked.client_id, asked.redirect_uri)
        return grant if fits and _proves(verifier, asked.challenge) else None


def _proves(verifier: str, challenge: str) -> bool:
    """PKCE S256 (RFC 7636 section 4.6)."""
    digest = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=")
    return hmac.compare_digest(digest, challenge.encode())

"""Who sent a request: bearer tokens (kube-apiserver's OIDC and static token authenticators).

A token is an issuer's ID token, verified against the keys that the issuer publishes, or one of
a static table. The username is the claim `email`, the groups are `groups`, the uid is `sub`.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import jwt
from jwt.types import Options

from foyer.demo.apiserver.rbac import AUTHENTICATED, User

Keys: TypeAlias = Mapping[str, jwt.PyJWK]
"""An issuer's public keys by `kid`."""

ALGORITHMS = ("ES256", "RS256")
"""What issuers for Kubernetes sign with; none of them is symmetric."""

REMEMBERED = 10_000
"""Verified tokens kept, so that a busy client costs one verification: more than a benchmark has users."""


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """Whose ID tokens count, and for which audience. `keys` is asked for each new token."""

    issuer: str
    audience: str
    keys: Callable[[], Keys]


class Authenticator:
    """From an `Authorization` value to a user."""

    def __init__(
        self,
        issuers: tuple[TrustedIssuer, ...] = (),
        tokens: Mapping[str, User] | None = None,
        *,
        remembered: int = REMEMBERED,
    ) -> None:
        self._issuers = issuers
        self._tokens = dict(tokens or {})
        self._limit = remembered
        self._verified: OrderedDict[str, tuple[User, float, float]] = OrderedDict()

    def __call__(self, authorization: str, now: float) -> User | None:
        """None for anything but one good bearer token (RFC 6750 section 2.1)."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token or " " in token or "," in token:
            return None
        return self._tokens.get(token) or self._remembered(token, now)

    def _remembered(self, token: str, now: float) -> User | None:
        known = self._verified.get(token) or self._verify(token)
        if known is None:
            return None
        user, begins, ends = known
        if not begins <= now < ends:
            self._verified.pop(token, None)
            return None
        self._verified[token] = known
        self._verified.move_to_end(token)
        if len(self._verified) > self._limit:
            self._verified.popitem(last=False)
        return user

    def _verify(self, token: str) -> tuple[User, float, float] | None:
        """The user, and from when until when the token is good; None when it never is."""
        for trusted in self._issuers:
            claims = _claims(token, trusted)
            user = _user(claims) if claims is not None else None
            if claims is not None and user is not None:
                return user, claims.get("nbf", 0), claims["exp"]
        return None


def _claims(token: str, trusted: TrustedIssuer) -> dict[str, Any] | None:
    """The claims of a token that this issuer signed for this audience. Times are not judged here."""
    try:
        key = trusted.keys()[jwt.get_unverified_header(token)["kid"]]
        # The times are the caller's, who has the clock.
        options: Options = {
            "require": ["exp", "sub"],
            "verify_exp": False,
            "verify_nbf": False,
            "verify_iat": False,
        }
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name] if key.algorithm_name in ALGORITHMS else [],
            audience=trusted.audience,
            issuer=trusted.issuer,
            options=options,
        )
    except (jwt.PyJWTError, KeyError, TypeError, ValueError):
        # Whatever is wrong with a stranger's token, it is not a good one.
        return None
    times = (claims["exp"], claims.get("nbf", 0))
    return claims if all(isinstance(time, int | float) for time in times) else None


def _user(claims: Mapping[str, Any]) -> User | None:
    name, groups = claims.get("email"), claims.get("groups", [])
    # As kube-apiserver: an address that the issuer calls unverified is nobody's name.
    if not isinstance(name, str) or not name or claims.get("email_verified", True) is not True:
        return None
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        return None
    token_id = claims.get("jti")
    extra = (
        {"authentication.kubernetes.io/credential-id": [f"JTI={token_id}"]}
        if isinstance(token_id, str)
        else {}
    )
    return User(name, (*groups, AUTHENTICATED), str(claims["sub"]), extra)

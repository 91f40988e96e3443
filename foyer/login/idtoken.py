"""What makes an ID token this login's (spec 02, Login; OpenID Connect Core section 3.1.3.7).

Signature first: nothing else in the token is looked at before a published key has signed it. The
clock is the caller's, never the library's. The nonce is the login's to compare.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import jwt

from foyer.login import document
from foyer.login.document import Document
from foyer.login.jwks import ALGORITHMS, VerificationKey
from foyer.session import spelling

NOT_BEFORE_LEEWAY = 300
"""Seconds on `nbf`: clocks differ. None on `exp`: the API server will give none either."""

# Three parts of base64url: the token becomes a header field upstream, so no other byte may be in it.
_COMPACT = re.compile(rb"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)

_JWS = jwt.PyJWS(algorithms=sorted(ALGORITHMS))


class TokenFault(Enum):
    """Why an ID token was refused, as the log says it."""

    EXPIRED = "expired"
    AUDIENCE_MISMATCH = "audience-mismatch"
    ISSUER_MISMATCH = "issuer-mismatch"
    NOT_YET_VALID = "not-yet-valid"
    SIGNATURE = "signature"
    KEYS_UNAVAILABLE = "keys-unavailable"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class TokenHeader:
    """Which key the token says signed it, and how (RFC 7515 section 4.1). Not believed, only tried."""

    algorithm: str
    kid: str | None

    def fits(self, key: VerificationKey) -> bool:
        """Whether `key` may have made such a signature. A token that names no key may be any's."""
        return self.algorithm in key.algorithms and self.kid in (None, key.kid)


def read_header(token: bytes) -> TokenHeader | TokenFault:
    """The header of a token in compact serialization, still unverified."""
    if _COMPACT.fullmatch(token) is None:
        return TokenFault.INVALID
    header = document.parse(spelling.decode(token.partition(b".")[0]) or b"")
    if header is None or not (header.get("kid") is None or isinstance(header["kid"], str)):
        return TokenFault.INVALID
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        return TokenFault.SIGNATURE
    return TokenHeader(algorithm, header.get("kid"))


def signed_payload(token: bytes, header: TokenHeader, keys: Iterable[VerificationKey]) -> bytes | None:
    """The payload, if one of `keys`, which all fit `header`, signed it."""
    for key in keys:
        try:
            payload: bytes = _JWS.decode(token, key.key, algorithms=[header.algorithm])
        except jwt.PyJWTError:
            continue
        return payload
    return None


def check(payload: bytes, issuer: str, client_id: str, now: float) -> Document | TokenFault:
    """The claims of a signed payload, if they are from `issuer`, for `client_id`, and hold at `now`."""
    claims = document.parse(payload)
    if claims is None or not (document.is_text(claims.get("sub")) and claims["sub"]):
        return TokenFault.INVALID
    if claims.get("iss") != issuer:
        return TokenFault.ISSUER_MISMATCH
    if not _is_for(claims, client_id):
        return TokenFault.AUDIENCE_MISMATCH
    return _check_times(claims, now) or claims


def expiry(claims: Document) -> int:
    """The whole second from which checked claims no longer hold."""
    expires: int | float = claims["exp"]
    return math.floor(expires)


def _is_for(claims: Document, client_id: str) -> bool:
    audience = claims.get("aud")
    if not isinstance(audience, list):
        return bool(audience == client_id)
    # With several audiences, `azp` says to which of them the token was given.
    return client_id in audience and (len(audience) == 1 or claims.get("azp", client_id) == client_id)


def _check_times(claims: Document, now: float) -> TokenFault | None:
    not_before = claims.get("nbf", now)
    if not _is_time(claims.get("exp")) or not _is_time(not_before):
        return TokenFault.INVALID
    # In whole seconds, as the session will end: never a session that is over when it begins.
    if now >= expiry(claims):
        return TokenFault.EXPIRED
    # `iat` is not judged: it says nothing that `exp` and `nbf` do not, and clocks differ.
    return TokenFault.NOT_YET_VALID if not_before > now + NOT_BEFORE_LEEWAY else None


def _is_time(value: object) -> bool:
    """A NumericDate (RFC 7519 section 2). Python would take true for 1, and 1e999 for infinity."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)

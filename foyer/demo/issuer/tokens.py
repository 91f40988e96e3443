"""ID tokens (OpenID Connect Core 1.0 section 2) and the key that signs them."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from foyer.demo.people import Person

ALGORITHM = "ES256"
"""Every client for OIDC that is worth its salt verifies it, and a key is made in a moment."""

TOKEN_LIFETIME = 3600
"""Seconds an ID token, and so a session, lasts: an hour, the default of many issuers."""


class Signer:
    """One signing key, made at start and never written anywhere."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.kid = secrets.token_hex(8)

    def jwk(self) -> dict[str, Any]:
        """The public key (RFC 7517)."""
        public: dict[str, Any] = json.loads(ECAlgorithm.to_jwk(self._key.public_key()))
        return {"kty": "EC", "use": "sig", "alg": ALGORITHM, "kid": self.kid} | public

    def keys(self) -> Mapping[str, jwt.PyJWK]:
        """The public keys by `kid`, for whoever verifies in the same process."""
        return {self.kid: jwt.PyJWK(self.jwk())}

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A JWT of these claims."""
        return jwt.encode(dict(claims), self._key, algorithm=ALGORITHM, headers={"kid": self.kid})


def id_token_claims(
    issuer: str, audience: str, person: Person, nonce: str, now: float, lifetime: int = TOKEN_LIFETIME
) -> dict[str, Any]:
    """The claims about a person who signed in at `now` (seconds). `lifetime` is in seconds."""
    claims: dict[str, Any] = {
        "iss": issuer,
        "sub": person.subject,
        "aud": audience,
        "iat": int(now),
        "exp": int(now) + lifetime,
        "jti": secrets.token_hex(16),
        "email": person.email,
        "email_verified": True,
        "name": person.name,
        "groups": list(person.groups),
    }
    return claims | ({"nonce": nonce} if nonce else {})

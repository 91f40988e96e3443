"""The issuer's published keys (RFC 7517), and what each may verify (RFC 7518, RFC 8037).

A key verifies only the algorithms of its own type, size and curve, fewer where it says so itself.
So no token can choose how its key is used: HMAC and `none` are not in the table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from foyer.login import document
from foyer.login.document import Document

PublicKey: TypeAlias = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey | Ed448PublicKey

_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_BY_CURVE = {
    "P-256": frozenset({"ES256"}),
    "P-384": frozenset({"ES384"}),
    "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA"}),
    "Ed448": frozenset({"EdDSA"}),
}

ALGORITHMS = _RSA.union(*_BY_CURVE.values())
"""Every algorithm an ID token may be signed with."""

_RSA_BITS = range(2048, 8193)
"""RFC 7518 section 3.3 asks for 2,048 at least. Above 8,192 each check would cost milliseconds."""

_MAX_KEYS = 64
"""More than any issuer publishes: a token that names none is tried against each that fits."""

_READERS: dict[str, Callable[[Document], object]] = {
    "RSA": RSAAlgorithm.from_jwk,
    "EC": ECAlgorithm.from_jwk,
    "OKP": OKPAlgorithm.from_jwk,
}


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A published key: its ID, if it has one, and the algorithms it may verify."""

    kid: str | None
    algorithms: frozenset[str]
    key: PublicKey


def parse(content: bytes) -> tuple[VerificationKey, ...] | None:
    """The usable keys of a JWK Set, or None when it is not one. A key that cannot be used is skipped."""
    found = document.parse(content)
    jwks = None if found is None else found.get("keys")
    if not isinstance(jwks, list):
        return None
    keys = [_verification_key(jwk) for jwk in jwks[:_MAX_KEYS]]
    return tuple(key for key in keys if key is not None)


def _verification_key(jwk: Any) -> VerificationKey | None:
    if not isinstance(jwk, dict) or not _may_verify(jwk):
        return None
    kid = jwk.get("kid")
    key = _public_key(jwk)
    if key is None or not (kid is None or isinstance(kid, str)):
        return None
    algorithms = _algorithms(jwk, key)
    return VerificationKey(kid, algorithms, key) if algorithms else None


def _may_verify(jwk: Document) -> bool:
    operations = jwk.get("key_ops", ["verify"])
    meant_to = isinstance(operations, list) and "verify" in operations and jwk.get("use", "sig") == "sig"
    # A key published with its private half has nothing left to prove.
    return meant_to and "d" not in jwk


def _public_key(jwk: Document) -> PublicKey | None:
    kty = jwk.get("kty")
    reader = _READERS.get(kty) if isinstance(kty, str) else None
    if reader is None or not all(isinstance(jwk.get(name, ""), str) for name in ("n", "e", "x", "y", "crv")):
        return None
    try:
        key = reader(jwk)
    except (jwt.PyJWTError, ValueError):  # ValueError: numbers that are no key
        return None
    return key if isinstance(key, PublicKey) else None


def _algorithms(jwk: Document, key: PublicKey) -> frozenset[str]:
    if isinstance(key, RSAPublicKey):
        fitting = _RSA if key.key_size in _RSA_BITS else frozenset()
    else:
        fitting = _BY_CURVE.get(jwk["crv"], frozenset())
    own = jwk.get("alg")
    return fitting if own is None else frozenset(name for name in fitting if name == own)

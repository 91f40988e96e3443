"""Which published keys may verify what."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from hypothesis import given
from hypothesis import strategies as st

from foyer.login.jwks import VerificationKey, parse
from tests.login.issuers import Signer, ec_key, rsa_key

RSA = Signer(rsa_key()).jwk()
EC = Signer(ec_key(ec.SECP256R1)).jwk()
OKP = Signer(ed25519.Ed25519PrivateKey.generate()).jwk()


def keys(*published: object) -> tuple[VerificationKey, ...]:
    found = parse(json.dumps({"keys": published}).encode())
    assert found is not None
    return found


@pytest.mark.parametrize("jwk", [RSA, EC, OKP], ids=["RSA", "EC", "OKP"])
@pytest.mark.parametrize(
    "members", [{}, {"use": "sig"}, {"key_ops": ["verify"]}, {"x5c": ["x"]}, {"key_ops": ["sign", "verify"]}]
)
def test_a_key_meant_for_signatures_is_usable(jwk: dict[str, Any], members: dict[str, object]) -> None:
    assert len(keys({**jwk, **members})) == 1


@pytest.mark.parametrize("jwk", [RSA, EC, OKP], ids=["RSA", "EC", "OKP"])
@pytest.mark.parametrize(
    "members",
    [
        {"use": "enc"},
        {"use": 5},
        {"key_ops": ["encrypt"]},
        {"key_ops": []},
        {"key_ops": "verify"},
        {"kid": 5},
        {"kty": "oct"},
        {"kty": ["RSA"]},
        {"kty": None},
        {"d": "AAAA"},
        {"alg": "HS256"},
        {"alg": "none"},
        {"alg": ["RS256", "ES256", "EdDSA"]},
        {"alg": "RSA-OAEP"},
        {"n": 5, "x": 5},
        {"n": "", "x": ""},
        {"e": "", "x": "AAAA"},
        {"n": "\u00e9", "x": "\u00e9"},
    ],
)
def test_a_key_meant_for_anything_else_is_not(jwk: dict[str, Any], members: dict[str, object]) -> None:
    assert keys({**jwk, **members}) == ()


def test_a_keys_own_algorithm_is_the_only_one_it_verifies() -> None:
    assert keys({**RSA, "alg": "PS384"})[0].algorithms == {"PS384"}
    assert keys({**RSA, "alg": "ES256"}) == ()
    assert keys(RSA)[0].algorithms == {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}


@pytest.mark.parametrize(("bits", "usable"), [(1024, 0), (2048, 1), (3072, 1)])
def test_rsa_keys_below_2048_bits_are_not_used(bits: int, usable: int) -> None:
    assert len(keys(Signer(rsa_key(bits)).jwk())) == usable


def test_rsa_keys_that_would_take_milliseconds_are_not_used() -> None:
    assert keys({**RSA, "n": "_" * 1400}) == ()


def test_a_curve_that_no_id_token_uses_is_not_used() -> None:
    assert keys(Signer(ec_key(ec.SECP256K1)).jwk()) == ()
    assert keys({**EC, "crv": "P-384"}) == ()
    assert keys({**OKP, "crv": "X25519"}) == ()


def test_a_point_off_the_curve_is_no_key() -> None:
    assert keys({**EC, "x": EC["y"]}) == ()


def test_a_key_that_cannot_be_used_does_not_take_the_others_with_it() -> None:
    assert [key.kid for key in keys(None, "key", {}, {"kty": "RSA"}, EC)] == ["first"]


def test_only_so_many_keys_are_read() -> None:
    assert len(keys(*[EC] * 100)) == 64


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": null}', b"{" * 10_000])
def test_what_is_no_key_set_is_none(content: bytes) -> None:
    assert parse(content) is None


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["AQAB", "RSA", "EC", "OKP", "P-256"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["kty", "n", "e", "x", "y", "crv", "kid", "alg", "use", "key_ops"]), ANYTHING
    )
)
def test_hostile_keys_never_raise(members: dict[str, object]) -> None:
    keys(members, {**RSA, **members}, {**EC, **members}, {**OKP, **members})

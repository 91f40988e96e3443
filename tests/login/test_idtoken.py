"""What makes an ID token this login's."""

import base64
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from foyer.login import jwks
from foyer.login.idtoken import TokenFault, TokenHeader, check, expiry, read_header, signed_payload
from foyer.login.jwks import ALGORITHMS, VerificationKey
from tests.login.issuers import CLIENT_ID, ISSUER, Signer, ec_key, rsa_key
from tests.login.issuers import jwks as published

NOW = 1_800_000_000.25

ED25519 = ed25519.Ed25519PrivateKey.generate()
ED448 = ed448.Ed448PrivateKey.generate()

SIGNERS = [
    *[Signer(rsa_key(), "rsa", f"{kind}{bits}") for kind in ("RS", "PS") for bits in (256, 384, 512)],
    Signer(ec_key(ec.SECP256R1), "p256", "ES256"),
    Signer(ec_key(ec.SECP384R1), "p384", "ES384"),
    Signer(ec_key(ec.SECP521R1), "p521", "ES512"),
    Signer(ED25519, "ed25519", "EdDSA"),
    Signer(ED448, "ed448", "EdDSA"),
]


def keys_of(*signers: Signer) -> tuple[VerificationKey, ...]:
    keys = jwks.parse(published(*signers))
    assert keys is not None
    return keys


def verified(token: bytes, keys: tuple[VerificationKey, ...]) -> bytes | TokenFault | None:
    header = read_header(token)
    if isinstance(header, TokenFault):
        return header
    return signed_payload(token, header, [key for key in keys if header.fits(key)])


def segment(content: object) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=")


# The signature


def test_every_asymmetric_algorithm_is_tried_here() -> None:
    assert {signer.algorithm for signer in SIGNERS} == ALGORITHMS


@pytest.mark.parametrize("signer", SIGNERS, ids=lambda signer: f"{signer.kid}-{signer.algorithm}")
def test_a_token_signed_by_a_published_key_is_read(signer: Signer) -> None:
    payload = verified(signer.token({"sub": "alice"}), keys_of(*SIGNERS))
    assert payload is not None
    assert not isinstance(payload, TokenFault)
    assert json.loads(payload) == {"sub": "alice"}


@pytest.mark.parametrize("signer", SIGNERS, ids=lambda signer: f"{signer.kid}-{signer.algorithm}")
def test_any_change_of_a_token_takes_its_signature(signer: Signer) -> None:
    token = signer.token({"sub": "alice"})
    head, payload, signature = token.split(b".")
    changed = [
        b".".join((head, segment({"sub": "root"}), signature)),
        b".".join((head, payload, signature[:-4] + (b"AAAA" if signature[-4:] != b"AAAA" else b"BBBB"))),
        b".".join((head, payload, segment({}))),
    ]
    for other in changed:
        assert verified(other, keys_of(*SIGNERS)) is None


@pytest.mark.parametrize("signer", SIGNERS, ids=lambda signer: f"{signer.kid}-{signer.algorithm}")
def test_another_key_of_the_same_id_does_not_verify(signer: Signer) -> None:
    stranger = Signer(rsa_key(number=1), signer.kid, "RS256")
    assert verified(stranger.token({}), keys_of(signer)) is None


def test_two_keys_of_one_id_are_both_tried() -> None:
    one, other = Signer(rsa_key(number=1), "same"), Signer(rsa_key(), "same")
    assert isinstance(verified(other.token({}), keys_of(one, other)), bytes)


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "HS256", "HS384", "HS512", "ES256K", "RS1", "", None, 5, ["RS256"]]
)
def test_no_other_algorithm_is_a_signature(algorithm: object) -> None:
    token = segment({"alg": algorithm, "kid": "rsa"}) + b"." + segment({"sub": "root"}) + b".AAAA"
    assert read_header(token) is TokenFault.SIGNATURE


def test_a_public_key_is_never_an_hmac_secret() -> None:
    # The oldest trick: a token "signed" with the text of a key that everybody has.
    public = rsa_key().public_key()
    for encoding, layout in (
        (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        (Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        (Encoding.PEM, PublicFormat.PKCS1),
    ):
        signing_input = segment({"alg": "HS256", "kid": "rsa"}) + b"." + segment({"sub": "root"})
        signature = hmac.digest(public.public_bytes(encoding, layout), signing_input, "sha256")
        token = signing_input + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")
        assert verified(token, keys_of(*SIGNERS)) is TokenFault.SIGNATURE


def test_a_key_does_not_verify_algorithms_of_another_type_curve_or_size() -> None:
    for key in keys_of(*SIGNERS):
        for signer in SIGNERS:
            header = TokenHeader(signer.algorithm, None)
            assert header.fits(key) == (signer.algorithm in key.algorithms)
    by_kid = {key.kid: key.algorithms for key in keys_of(*SIGNERS)}
    assert by_kid["p256"] == {"ES256"}
    assert by_kid["p384"] == {"ES384"}
    assert by_kid["p521"] == {"ES512"}
    assert by_kid["ed25519"] == by_kid["ed448"] == {"EdDSA"}


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"..",
        b"a.b",
        b"a.b.c.d",
        b"e30.e30.",
        b"!.e30.e30",
        b"[]" * 3,
        b"W10.e30.AAAA",
        b"e30\n.e30.AAAA",
        b"e30.e30.AA==",
        b" e30.e30.AAAA",
        b"e30.e30.AAAA\r\nx: y",
        b"e31.e30.AAAA",
        b"\xff.\xff.\xff",
        "é.é.é".encode(),
        segment({"alg": "RS256", "kid": 5}) + b".e30.AAAA",
        segment([[[]]]) + b".e30.AAAA",
        base64.urlsafe_b64encode(b'{"alg":"RS256","alg":"none"}').rstrip(b"=") + b".e30.AAAA",
        base64.urlsafe_b64encode(b'{"a":' * 50_000).rstrip(b"=") + b".e30.AAAA",
    ],
)
def test_what_is_no_token_is_invalid(token: bytes) -> None:
    assert read_header(token) is TokenFault.INVALID


@given(
    st.dictionaries(
        st.sampled_from(["alg", "kid", "crit", "b64", "typ", "zip", "jwk", "jku", "x5u", "cty"]),
        st.sampled_from(["RS256", "rsa", "", None, True, False, 0, 1.5, [], ["b64"], ["exp", 5], {}, [[]]]),
    ),
    st.binary(max_size=8),
    st.binary(max_size=300),
)
def test_hostile_tokens_never_raise_and_never_verify(
    header: dict[str, Any], payload: bytes, signature: bytes
) -> None:
    parts = [json.dumps({"alg": "RS256", **header}).encode(), payload, signature]
    token = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    assert not isinstance(verified(token, keys_of(*SIGNERS)), bytes)


def test_an_unknown_critical_header_is_not_passed_over() -> None:
    signer = SIGNERS[0]
    token = signer.token({"sub": "alice"}, crit=["made-up"])
    assert verified(token, keys_of(signer)) is None


# The claims


def claims(**changes: object) -> bytes:
    found: dict[str, object] = {"iss": ISSUER, "aud": CLIENT_ID, "sub": "alice", "exp": NOW + 60, **changes}
    return json.dumps({name: value for name, value in found.items() if value is not ...}).encode()


def outcome(payload: bytes) -> TokenFault | None:
    found = check(payload, ISSUER, CLIENT_ID, NOW)
    return found if isinstance(found, TokenFault) else None


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, None),
        ({"aud": [CLIENT_ID]}, None),
        ({"aud": ["other", CLIENT_ID]}, None),
        ({"aud": ["other", CLIENT_ID], "azp": CLIENT_ID}, None),
        ({"aud": [CLIENT_ID], "azp": "other"}, None),
        ({"aud": ["other", CLIENT_ID], "azp": "other"}, TokenFault.AUDIENCE_MISMATCH),
        ({"aud": "other"}, TokenFault.AUDIENCE_MISMATCH),
        ({"aud": [CLIENT_ID.upper()]}, TokenFault.AUDIENCE_MISMATCH),
        ({"aud": []}, TokenFault.AUDIENCE_MISMATCH),
        ({"aud": [[CLIENT_ID]]}, TokenFault.AUDIENCE_MISMATCH),
        ({"aud": {CLIENT_ID: 1}}, TokenFault.AUDIENCE_MISMATCH),
        ({"aud": ...}, TokenFault.AUDIENCE_MISMATCH),
        ({"iss": ISSUER + "/"}, TokenFault.ISSUER_MISMATCH),
        ({"iss": [ISSUER]}, TokenFault.ISSUER_MISMATCH),
        ({"iss": ...}, TokenFault.ISSUER_MISMATCH),
        ({"sub": ...}, TokenFault.INVALID),
        ({"sub": ""}, TokenFault.INVALID),
        ({"sub": 5}, TokenFault.INVALID),
        ({"sub": "\ud800"}, TokenFault.INVALID),
        ({"exp": ...}, TokenFault.INVALID),
        ({"exp": None}, TokenFault.INVALID),
        ({"exp": str(NOW + 60)}, TokenFault.INVALID),
        ({"exp": True}, TokenFault.INVALID),
        ({"exp": int(NOW)}, TokenFault.EXPIRED),
        ({"exp": int(NOW) + 0.9}, TokenFault.EXPIRED),
        ({"exp": int(NOW) + 1}, None),
        ({"exp": -1}, TokenFault.EXPIRED),
        ({"exp": 10**400}, None),
        ({"nbf": NOW + 300}, None),
        ({"nbf": NOW + 300.5}, TokenFault.NOT_YET_VALID),
        ({"nbf": "now"}, TokenFault.INVALID),
        ({"nbf": None}, TokenFault.INVALID),
        ({"iat": NOW + 2}, None),
        ({"iat": "yesterday"}, None),
    ],
)
def test_a_token_must_be_this_issuers_for_this_client_and_hold_now(
    changes: dict[str, object], fault: TokenFault | None
) -> None:
    assert outcome(claims(**changes)) is fault


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        b'{"sub":"a","sub":"b"}',
        b'{"exp":NaN}',
        b"{" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_claims_that_are_no_object_are_invalid(payload: bytes) -> None:
    assert outcome(payload) is TokenFault.INVALID


def test_an_infinite_expiry_is_none() -> None:
    assert outcome(claims().replace(b'"exp": 1800000060.25', b'"exp": 1e999')) is TokenFault.INVALID


def test_a_token_holds_until_the_whole_second_before_its_expiry() -> None:
    found = check(claims(exp=NOW + 60.5), ISSUER, CLIENT_ID, NOW)
    assert not isinstance(found, TokenFault)
    assert expiry(found) == int(NOW) + 60

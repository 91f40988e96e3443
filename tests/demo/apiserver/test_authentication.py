"""Whose token it is."""

from typing import Any

import jwt
import pytest

from foyer.demo.apiserver.authentication import Authenticator, Keys, TrustedIssuer
from foyer.demo.apiserver.rbac import User
from foyer.demo.issuer.tokens import Signer, id_token_claims
from foyer.demo.people import ADA, BOB

ISSUER, AUDIENCE, NOW = "https://issuer.example.com", "foyer", 1_800_000_000.0


class Issuing:
    """An issuer's key, and an authenticator that trusts it."""

    def __init__(self, remembered: int = 10) -> None:
        self.signer = Signer()
        self.asked = 0
        self.authenticate = Authenticator(
            (TrustedIssuer(ISSUER, AUDIENCE, self._keys),), remembered=remembered
        )

    def _keys(self) -> Keys:
        self.asked += 1
        return self.signer.keys()

    def token(self, **changes: Any) -> str:
        claims = id_token_claims(ISSUER, AUDIENCE, ADA, "nonce", NOW) | changes
        return self.signer.sign({name: value for name, value in claims.items() if value is not None})

    def name(self, token: str, now: float = NOW) -> str | None:
        user = self.authenticate(f"Bearer {token}", now)
        return user.name if user else None


@pytest.fixture
def issuing() -> Issuing:
    return Issuing()


def test_an_id_token_is_its_persons(issuing: Issuing) -> None:
    user = issuing.authenticate(f"bearer {issuing.token(jti='abc')}", NOW)
    assert user is not None
    assert (user.name, user.uid) == ("ada@example.com", "id-ada")
    assert user.groups == ("demo-editors", "system:authenticated")
    assert user.extra == {"authentication.kubernetes.io/credential-id": ["JTI=abc"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.example.com"},
        {"aud": "other"},
        {"aud": None},
        {"exp": None},
        {"exp": "soon"},
        {"sub": None},
        {"email": None},
        {"email": 5},
        {"email": ""},
        {"email_verified": False},
        {"groups": "demo-editors"},
        {"groups": [5]},
        {"nbf": "x"},
    ],
)
def test_a_token_with_another_claim_is_nobodys(issuing: Issuing, changes: dict[str, Any]) -> None:
    assert issuing.name(issuing.token(**changes)) is None


def test_a_token_holds_from_its_begin_to_its_end(issuing: Issuing) -> None:
    token = issuing.token(nbf=NOW + 10, exp=NOW + 20)
    assert [issuing.name(token, NOW + second) for second in (9, 10, 19, 20)] == [
        None,
        "ada@example.com",
        "ada@example.com",
        None,
    ]


def test_another_key_algorithm_or_text_is_nobodys(issuing: Issuing) -> None:
    claims = id_token_claims(ISSUER, AUDIENCE, ADA, "", NOW)
    kid = issuing.signer.kid
    forged = [
        Signer().sign(claims),
        jwt.encode(claims, "", algorithm="none", headers={"kid": kid}),
        jwt.encode(claims, "k" * 32, algorithm="HS256", headers={"kid": kid}),
        jwt.encode(claims, "k" * 32, algorithm="HS256"),
        issuing.token()[:-4] + "AAAA",
        "a.b.c",
        "é",
        "",
    ]
    assert [issuing.name(token) for token in forged] == [None] * len(forged)


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer ", "Basic a", "Bearer a a", "Bearer a, Bearer a"]
)
def test_what_is_no_single_bearer_token_is_nobodys(authorization: str) -> None:
    someone = User("someone")
    assert Authenticator(tokens={"a": someone, "": someone})(authorization, NOW) is None
    assert Authenticator(tokens={"a": someone})("Bearer a", NOW) is someone


def test_a_verified_token_is_not_verified_again_until_it_ends(issuing: Issuing) -> None:
    token = issuing.token()
    assert [issuing.name(token), issuing.name(token)] == ["ada@example.com"] * 2
    assert issuing.asked == 1
    assert issuing.name(token, NOW + 3600) is None


def test_what_is_remembered_is_bounded() -> None:
    issuing = Issuing(remembered=2)
    first, second, third = (issuing.token(jti=str(number)) for number in range(3))
    for token in (first, second, first, third, first, second):
        assert issuing.name(token)
    assert issuing.asked == 4


def test_two_issuers_have_their_own_keys() -> None:
    one, two = Signer(), Signer()
    authenticate = Authenticator(
        (TrustedIssuer("https://one", AUDIENCE, one.keys), TrustedIssuer("https://two", AUDIENCE, two.keys))
    )

    def name(signer: Signer, issuer: str) -> str | None:
        token = signer.sign(id_token_claims(issuer, AUDIENCE, BOB, "", NOW))
        user = authenticate(f"Bearer {token}", NOW)
        return user.name if user else None

    assert name(one, "https://one") == name(two, "https://two") == "bob@example.com"
    assert name(one, "https://two") is None

"""The search for secrets finds what it is there to find."""

import base64
import hashlib
import secrets

import pytest

from tests.e2e.harness.leaks import Leaks

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"


def test_it_finds_a_known_secret_but_where_it_belongs() -> None:
    leaks = Leaks()
    leaks.learn("a CSRF token", "token-of-the-session", allowed_in="GET /auth/session")
    leaks.saw("GET /auth/session", b'{"csrfToken":"token-of-the-session"}')
    leaks.saw("foyer's log", b'{"msg":"refused","token":"token-of-the-session"}')
    assert leaks.found() == ["a CSRF token in foyer's log"]


def test_it_finds_in_what_was_seen_before_a_secret_learned_later() -> None:
    leaks = Leaks()
    leaks.saw("a page", b"<p>code-from-the-issuer</p>")
    assert leaks.found_since_last_time() == []
    leaks.learn("an authorization code", "code-from-the-issuer")
    assert leaks.found_since_last_time() == []
    assert leaks.found() == ["an authorization code in a page"]


@pytest.mark.parametrize("place", ["%s", "Bearer %s", '{"token":"%s"}', "https://e/?id_token=%s&x"])
def test_it_finds_whatever_looks_like_a_jwt(place: str) -> None:
    leaks = Leaks()
    leaks.saw("a header", (place % JWT).encode())
    assert leaks.found() == ["something like a JWT in a header"]


@pytest.mark.parametrize("place", ["%s", '"%s"', "verifier=%s&", "/%s/"])
def test_it_proves_a_pkce_verifier_by_its_challenge(place: str) -> None:
    leaks = Leaks()
    verifier = secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    leaks.learn_challenge(challenge)
    leaks.saw("the issuer's URL", f"?code_challenge={challenge}".encode())
    assert leaks.found() == []
    leaks.saw("a page", (place % verifier).encode())
    assert leaks.found() == ["a PKCE verifier in a page"]

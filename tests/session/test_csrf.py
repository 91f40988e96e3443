"""The proofs of a changing request."""

import pytest

from foyer.interruption import Reason
from foyer.protocol.events import Field, RequestHead
from foyer.session.csrf import check_change
from tests.session.sessions import ALICE

ORIGIN = b"https://app.example.test"
TOKEN: Field = (b"x-csrf-token", ALICE.csrf_token.encode())
SAME: Field = (b"origin", ORIGIN)
SITE: Field = (b"sec-fetch-site", b"same-origin")


def refusal(method: bytes, *fields: Field) -> Reason | None:
    head = RequestHead(method, b"/k8s/api/v1/namespaces", [(b"accept", b"*/*"), *fields])
    found = check_change(method, head, ALICE, ORIGIN)
    return None if found is None else found.reason


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_reading_needs_no_proof(method: bytes) -> None:
    assert refusal(method, (b"origin", b"https://evil.test")) is None


@pytest.mark.parametrize(
    "method", [b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"get", b"Head", b"QUERY", b""]
)
def test_every_other_method_is_a_change(method: bytes) -> None:
    assert refusal(method) is Reason.CSRF_PROOF_REQUIRED
    assert refusal(method, TOKEN) is Reason.CROSS_ORIGIN_REQUEST
    assert refusal(method, TOKEN, SAME) is None


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [(b"x-csrf-token", b"")],
        [(b"x-csrf-token", ALICE.csrf_token.encode()[:-1])],
        [(b"x-csrf-token", ALICE.csrf_token.upper().encode())],
        [(b"x-csrf-token", b"\xff\x00")],
        [TOKEN, TOKEN],
        [TOKEN, (b"x-csrf-token", b"")],
        [(b"x_csrf_token", TOKEN[1])],
        [(b"x-csrf_token", TOKEN[1])],
        [(b"csrf-token", TOKEN[1])],
    ],
)
def test_a_change_without_exactly_the_sessions_token_once_is_refused(fields: list[Field]) -> None:
    assert refusal(b"POST", SAME, *fields) is Reason.CSRF_PROOF_REQUIRED


def test_an_underscore_spelling_beside_the_real_field_is_another_field() -> None:
    assert refusal(b"POST", TOKEN, SAME, (b"x_csrf_token", b"other"), (b"Origin_", b"x")) is None


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [(b"origin", b"https://evil.test")],
        [(b"origin", b"null")],
        [(b"origin", b"")],
        [(b"origin", ORIGIN + b"/")],
        [(b"origin", ORIGIN.upper())],
        [(b"origin", b"http://app.example.test")],
        [(b"origin", ORIGIN + b":444")],
        [(b"origin", ORIGIN + b".evil.test")],
        [SAME, SAME],
        [SAME, (b"origin", b"https://evil.test")],
        [(b"origin", ORIGIN + b", " + ORIGIN)],
        [(b"sec-fetch-site", b"same-site")],
        [(b"sec-fetch-site", b"cross-site")],
        [(b"sec-fetch-site", b"none")],
        [SITE, SITE],
        [SITE, (b"sec-fetch-site", b"cross-site")],
        [(b"sec_fetch_site", b"same-origin")],
        [(b"referer", ORIGIN + b"/")],
    ],
)
def test_a_change_from_elsewhere_is_refused(fields: list[Field]) -> None:
    assert refusal(b"DELETE", TOKEN, *fields) is Reason.CROSS_ORIGIN_REQUEST


def test_without_an_origin_the_browsers_own_word_is_enough() -> None:
    assert refusal(b"POST", TOKEN, SITE) is None


def test_an_origin_decides_when_it_is_there() -> None:
    assert refusal(b"POST", TOKEN, SAME, (b"sec-fetch-site", b"cross-site")) is None
    assert refusal(b"POST", TOKEN, SITE, (b"origin", b"https://evil.test")) is Reason.CROSS_ORIGIN_REQUEST


def test_the_method_judged_is_the_one_asked_about() -> None:
    head = RequestHead(b"GET", b"/auth/check", [])
    found = check_change(b"POST", head, ALICE, ORIGIN)
    assert found is not None
    assert found.reason is Reason.CSRF_PROOF_REQUIRED


def test_no_refusal_shows_the_token() -> None:
    found = check_change(b"POST", RequestHead(b"POST", b"/", [(b"x-csrf-token", b"sent")]), ALICE, ORIGIN)
    assert found is not None
    assert "sent" not in found.message
    assert ALICE.csrf_token not in found.message

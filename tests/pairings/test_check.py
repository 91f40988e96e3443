"""Spec 02, The check: what an ingress is told of the request it is about to forward."""

import base64
import json
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from foyer.session.seal import IdToken
from tests.support.browsers import Exchange
from tests.support.pairings import ISSUER, JSON, ORIGIN, Pairing
from tests.support.script import Aborted, Fields, Whole

CHECK = "/auth/check"
IDENTITY = CHECK + "?identity=true"
REDIRECT = CHECK + "?redirect=true"
ADA = {"username": "oidc:ada", "groups": ["editors", "ä"]}
DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document"), (b"Sec-Fetch-Mode", b"navigate")]


def review(user_info: object) -> bytes:
    return json.dumps({"status": {"userInfo": user_info}}).encode()


def checked(pairing: Pairing, target: str, fields: Fields, *, method: str = "GET") -> Exchange:
    """A check by somebody of whom `fields` say everything."""
    exchange = pairing.browser.request(method, target, fields)
    exchange.read_until_end()
    return exchange


def signed_in(pairing: Pairing, fields: Fields, target: str = CHECK) -> Exchange:
    return checked(pairing, target, [*pairing.me.fields, *fields])


def forwarded(method: str) -> Fields:
    return [(b"X-Forwarded-Method", method.encode())]


def identify(pairing: Pairing, user_info: object = ADA) -> dict[str, object]:
    """A check that the API server is asked for, and what it told."""
    exchange = pairing.get(IDENTITY)
    pairing.upstream.expect().answer(201, JSON, review(user_info))
    return told(exchange)


def told(exchange: Exchange) -> dict[str, object]:
    assert exchange.read_until_end() == Whole(b"")
    assert exchange.status == 204
    [value] = exchange.all("krm-foyer-identity")
    assert b"=" not in value
    identity: dict[str, object] = json.loads(base64.urlsafe_b64decode(value + b"=" * (-len(value) % 4)))
    return identity


def reason(exchange: Exchange) -> tuple[int, list[bytes]]:
    return exchange.status, exchange.all("krm-foyer-interruption")


# -- yes or no


def test_a_signed_in_read_may_pass(pairing: Pairing) -> None:
    exchange = signed_in(pairing, [])
    assert (exchange.status, bytes(exchange.content)) == (204, b"")
    assert exchange.all("krm-foyer-identity") == []
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("set-cookie") == []
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_check_itself_may_be_a_head(pairing: Pairing, method: str) -> None:
    assert checked(pairing, CHECK, [*pairing.me.fields, *forwarded("GET")], method=method).status == 204
    refused = checked(pairing, CHECK, forwarded("GET"), method=method)
    assert refused.status == 401
    assert (refused.content == b"") is (method == "HEAD")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_the_check_itself_is_no_change(pairing: Pairing, method: str) -> None:
    exchange = checked(pairing, CHECK, pairing.me.change, method=method)
    assert reason(exchange) == (405, [b"MethodNotAllowed"])
    assert exchange.all("allow") == [b"GET, HEAD"]


@pytest.mark.parametrize("target", [CHECK, IDENTITY, CHECK + "?"])
def test_nobody_is_a_401(pairing: Pairing, target: str) -> None:
    exchange = checked(pairing, target, [])
    assert reason(exchange) == (401, [b"Unauthorized"])
    assert json.loads(exchange.content)["reason"] == "Unauthorized"
    pairing.upstream.expect_nothing()
    [line] = pairing.logged("refused")
    told = [line[name] for name in ("by", "user", "route", "method", "path", "reason")]
    assert told == ["foyer", None, CHECK, "GET", CHECK, "Unauthorized"]


def test_an_ended_session_is_nobodys(pairing: Pairing) -> None:
    ended = pairing.signed_in(ends_at=1)
    assert checked(pairing, IDENTITY, ended.fields).status == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", "Head", "QUERY"])
def test_a_change_needs_its_proofs(pairing: Pairing, method: str) -> None:
    assert signed_in(pairing, forwarded(method) + pairing.me.change[1:]).status == 204
    bare = signed_in(pairing, forwarded(method))
    assert reason(bare) == (403, [b"CSRFProofRequired"])
    foreign = [(b"X-CSRF-Token", pairing.me.csrf), (b"Origin", b"https://evil.test")]
    assert reason(signed_in(pairing, forwarded(method) + foreign)) == (403, [b"CrossOriginRequest"])
    lines = pairing.logged("refused")
    assert [(line["reason"], line["user"], line["route"]) for line in lines] == [
        ("CSRFProofRequired", "ada@example.test", CHECK),
        ("CrossOriginRequest", "ada@example.test", CHECK),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        [(b"x_csrf_token", b"?"), (b"Origin", ORIGIN.encode())],
        [(b"X-CSRF_Token", b"?"), (b"Origin", ORIGIN.encode())],
        [(b"X-CSRF-Token", b"?"), (b"X-CSRF-Token", b"?"), (b"Origin", ORIGIN.encode())],
    ],
    ids=str,
)
def test_a_proof_by_another_name_or_given_twice_is_none(pairing: Pairing, fields: Fields) -> None:
    fields = [(name, pairing.me.csrf if value == b"?" else value) for name, value in fields]
    assert reason(signed_in(pairing, forwarded("POST") + fields)) == (403, [b"CSRFProofRequired"])


def test_what_connection_names_is_judged_as_it_was_received(pairing: Pairing) -> None:
    if pairing.browser_version == "h2":
        pytest.skip("RFC 9113 section 8.2.2: HTTP/2 has no Connection field")
    named = [(b"Connection", b"x-csrf-token, x-forwarded-method, cookie")]
    assert signed_in(pairing, forwarded("POST") + pairing.me.change[1:] + named).status == 204
    assert reason(signed_in(pairing, forwarded("POST") + named)) == (403, [b"CSRFProofRequired"])


# -- what has no say


@pytest.mark.parametrize(
    "fields",
    [
        [(b"X_Forwarded_Method", b"GET")],
        [(b"X-Forwarded_Method", b"GET")],
        [(b"X-HTTP-Method-Override", b"GET")],
        [(b"X-Original-Method", b"GET")],
        [(b"X-Forwarded-Uri", b"/healthz")],
        [(b"X-Original-Url", b"/healthz")],
        [(b"X-Rewrite-Url", b"/healthz")],
        [(b"Forwarded", b"for=127.0.0.1;host=evil.test;proto=https")],
        [(b"X-Forwarded-Host", b"evil.test"), (b"X-Forwarded-Proto", b"http")],
        [(b"Krm-Foyer-Identity", b"e30"), (b"Krm_Foyer_Identity", b"e30")],
        [(b"Authorization", b"Bearer eyJ")],
        [(b"X-Remote-User", b"root"), (b"Impersonate-User", b"root")],
    ],
    ids=str,
)
def test_no_other_field_changes_the_judgement(pairing: Pairing, fields: Fields) -> None:
    assert checked(pairing, CHECK, fields).status == 401
    assert reason(signed_in(pairing, forwarded("POST") + fields)) == (403, [b"CSRFProofRequired"])
    exchange = signed_in(pairing, fields)
    assert (exchange.status, exchange.all("krm-foyer-identity")) == (204, [])
    redirected = checked(pairing, REDIRECT, fields)
    assert redirected.status == 302
    assert redirected.all("location")[0].startswith(ORIGIN.encode() + b"/auth/login?return_to=/")


@pytest.mark.parametrize(
    "target",
    [
        CHECK + "?redirect=false",
        CHECK + "?redirect",
        CHECK + "?redirect=",
        CHECK + "?redirect=true&redirect=true",
        CHECK + "?identity=1",
        CHECK + "?identity=True",
        CHECK + "?identity=%74rue",
        CHECK + "?identity=true&identity=true",
        CHECK + "?identity=true&",
        CHECK + "?&identity=true",
        CHECK + "?identity=true;redirect=true",
        CHECK + "?Identity=true",
        CHECK + "?target=eu",
        CHECK + "?a",
    ],
)
@pytest.mark.parametrize("signed", [True, False])
def test_any_other_option_is_a_400(pairing: Pairing, target: str, signed: bool) -> None:
    exchange = checked(pairing, target, pairing.me.fields if signed else [])
    assert reason(exchange) == (400, [b"BadRequest"])
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize(
    "methods", [[b"GET", b"GET"], [b"GET", b"POST"], [b""], [b"GET POST"], [b"G\xc3\xa9T"], [b"GET,POST"]]
)
def test_a_repeated_or_malformed_method_is_a_400(pairing: Pairing, methods: list[bytes]) -> None:
    fields = [(b"X-Forwarded-Method", method) for method in methods]
    assert reason(signed_in(pairing, fields)) == (400, [b"BadRequest"])
    assert reason(checked(pairing, REDIRECT, fields)) == (400, [b"BadRequest"])


# -- to the login


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ([], "/"),
        ([(b"X-Forwarded-Uri", b"/app/?a=1&b=%2F%7E")], "/app/?a=1&b=%2F%7E"),
        ([(b"X-Original-Uri", b"/app")], "/app"),
        ([(b"X-Original-Uri", b"/original"), (b"X-Forwarded-Uri", b"/forwarded")], "/forwarded"),
        ([(b"X-Original-Uri", b"/original"), (b"X-Forwarded-Uri", b"//evil.test")], "/"),
        ([(b"X-Forwarded-Uri", b"/one"), (b"X-Forwarded-Uri", b"/two")], "/"),
        ([(b"X-Forwarded-Uri", b"//evil.test/")], "/"),
        ([(b"X-Forwarded-Uri", b"/\\evil.test")], "/"),
        ([(b"X-Forwarded-Uri", b"https://evil.test/")], "/"),
        ([(b"X-Forwarded-Uri", b"")], "/"),
        ([(b"X-Forwarded-Uri", b"/a b")], "/"),
        ([(b"X-Forwarded-Uri", b"/\xc3\xa9")], "/"),
        ([(b"X-Forwarded-Uri", b"/" + b"a" * 2047)], "/" + "a" * 2047),
        ([(b"X-Forwarded-Uri", b"/" + b"a" * 2048)], "/"),
        ([(b"X_Forwarded_Uri", b"/app"), (b"X-Forwarded-Path", b"/app")], "/"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_page_load_of_nobodys_goes_to_the_login_and_comes_back(
    pairing: Pairing, fields: Fields, path: str
) -> None:
    exchange = checked(pairing, REDIRECT, fields)
    assert (exchange.status, bytes(exchange.content)) == (302, b"")
    [location] = exchange.all("location")
    parts = urlsplit(location.decode())
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == ORIGIN + "/auth/login"
    assert parse_qs(parts.query, strict_parsing=True) == {"return_to": [path]}
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("krm-foyer-interruption") == []
    # The login takes it for what it is: without an issuer it can only say that there is none.
    login = checked(pairing, location.decode().removeprefix(ORIGIN), [])
    assert json.loads(login.content)["reason"] == "issuer-unavailable"


@pytest.mark.parametrize(
    ("fields", "redirected"),
    [
        ([], True),
        ([(b"Sec-Fetch-Mode", b"navigate")], True),
        (forwarded("HEAD"), True),
        (forwarded("GET"), True),
        (forwarded("POST"), False),
        (forwarded("get"), False),
        ([(b"Sec-Fetch-Mode", b"cors")], False),
        ([(b"Sec-Fetch-Mode", b"same-origin")], False),
        ([(b"Sec-Fetch-Mode", b"no-cors")], False),
        ([(b"Sec-Fetch-Mode", b"")], False),
        ([(b"Sec-Fetch-Mode", b"navigate"), (b"Sec-Fetch-Mode", b"navigate")], False),
        ([(b"Sec-Fetch-Mode", b"navigate, cors")], False),
        ([(b"Sec_Fetch_Mode", b"cors")], True),
    ],
    ids=str,
)
def test_only_a_page_load_is_sent_to_the_login(pairing: Pairing, fields: Fields, redirected: bool) -> None:
    for target in (REDIRECT, REDIRECT + "&identity=true", IDENTITY + "&redirect=true"):
        exchange = checked(pairing, target, fields)
        assert exchange.status == (302 if redirected else 401)
    assert checked(pairing, CHECK, fields).status == 401


def test_who_is_signed_in_is_not_redirected(pairing: Pairing) -> None:
    assert signed_in(pairing, [], REDIRECT).status == 204
    assert reason(signed_in(pairing, forwarded("POST"), REDIRECT)) == (403, [b"CSRFProofRequired"])


def test_a_page_in_the_checks_place_leads_back_to_the_page_behind_it(pairing: Pairing) -> None:
    uri = [(b"X-Forwarded-Uri", b"/app?a=1&b=2")]
    exchange = checked(pairing, CHECK, DOCUMENT + uri)
    assert (exchange.status, exchange.all("content-type")) == (401, [b"text/html; charset=utf-8"])
    assert b"/auth/login?return_to=/app%3Fa%3D1%26b%3D2" in exchange.content
    # Of a form that was posted, no page could be shown again.
    posted = signed_in(pairing, DOCUMENT + uri + forwarded("POST"))
    assert (posted.status, posted.all("content-type")) == (403, [b"application/json"])


# -- who it is


def test_identity_says_who_it_is_and_until_when(pairing: Pairing) -> None:
    identity = identify(pairing)
    assert set(identity) == {"userInfo", "displayName", "issuer", "expiresAt"}
    assert (identity["userInfo"], identity["displayName"], identity["issuer"]) == (ADA, "Ada", ISSUER)
    assert datetime.fromisoformat(str(identity["expiresAt"])).utcoffset() is not None


def test_a_session_with_a_connector_says_that_too(pairing: Pairing) -> None:
    pairing.me = pairing.signed_in(connector="staff", display_name="")
    identity = identify(pairing)
    assert (identity["connector"], identity["displayName"]) == ("staff", "")


def test_the_question_goes_up_as_whoamis_does(pairing: Pairing) -> None:
    exchange = pairing.get(IDENTITY, [(b"Impersonate-User", b"root")])
    request = pairing.upstream.expect()
    assert request.target == b"/apis/authentication.k8s.io/v1/selfsubjectreviews"
    assert request.all("authorization") == [b"Bearer " + pairing.me.token]
    assert request.all("impersonate-user") == []
    request.answer(201, JSON, review(ADA))
    assert told(exchange)["userInfo"] == ADA


def test_the_answer_is_used_again_for_the_same_token_only(pairing: Pairing) -> None:
    identify(pairing)
    for _ in range(3):
        assert told(pairing.get(IDENTITY))["userInfo"] == ADA
    pairing.upstream.expect_nothing()
    pairing.me = pairing.signed_in()
    assert identify(pairing, {"username": "another"})["userInfo"] == {"username": "another"}


def test_the_answer_is_used_again_but_never_past_the_sessions_end(pairing: Pairing) -> None:
    """The same token in a session that has ended is nobody's, whatever is known of it."""
    identify(pairing)
    ended = pairing.signed_in(id_token=IdToken(pairing.me.token), ends_at=1)
    assert checked(pairing, IDENTITY, ended.fields).status == 401


def test_who_asks_the_same_at_once_shares_one_call(pairing: Pairing) -> None:
    first = pairing.get(IDENTITY)
    request = pairing.upstream.expect()
    others: list[Exchange] = [pairing.connect().request("GET", IDENTITY, pairing.me.fields) for _ in range(3)]
    gone = others.pop()
    pairing.script.until(lambda: pairing.product.open_exchanges == 4, "all of them to have asked")
    gone.reset()
    pairing.script.until(lambda: pairing.product.open_exchanges == 3, "one to have left")
    request.answer(201, JSON, review(ADA))
    assert [told(exchange)["userInfo"] for exchange in (first, *others)] == [ADA] * 3
    pairing.upstream.expect_nothing()


def test_the_call_ends_with_the_last_who_waits_for_it(pairing: Pairing) -> None:
    assert pairing.browser.closed is None, "it stays for the question after those that are given up"
    first, other = (pairing.connect().request("GET", IDENTITY, pairing.me.fields) for _ in range(2))
    request = pairing.upstream.expect()
    pairing.script.until(lambda: pairing.product.open_exchanges == 2, "both to have asked")
    first.reset()
    other.reset()
    request.expect_cancelled()
    assert identify(pairing)["userInfo"] == ADA


@pytest.mark.parametrize("status", [401, 403, 429])
def test_a_refusal_of_the_api_servers_passes_and_is_not_kept(pairing: Pairing, status: int) -> None:
    exchange = pairing.get(IDENTITY)
    pairing.upstream.expect().answer(status, JSON, b'{"kind":"Status"}')
    assert exchange.read_until_end() == Whole(b'{"kind":"Status"}')
    assert (exchange.status, exchange.all("krm-foyer-identity")) == (status, [])
    assert identify(pairing)["userInfo"] == ADA


@pytest.mark.parametrize(
    ("status", "content", "failure"),
    [
        (500, b"{}", "status_500"),
        (201, b"{}", "document"),
        (201, review({"username": ""}), "nobody"),
        (201, review({"username": "a" * 13_000}), "too_large"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_failure_is_a_503_and_is_not_kept(
    pairing: Pairing, status: int, content: bytes, failure: str
) -> None:
    exchange = pairing.get(IDENTITY)
    pairing.upstream.expect().answer(status, JSON, content)
    exchange.read_until_end()
    assert reason(exchange) == (503, [b"IdentityUnavailable"])
    assert exchange.all("krm-foyer-identity") == []
    [line] = pairing.logged("interruption")
    assert (line["reason"], line["route"], line["failure"]) == ("IdentityUnavailable", CHECK, failure)
    if failure != "too_large":
        assert identify(pairing)["userInfo"] == ADA


def test_a_change_is_judged_before_anybody_is_asked(pairing: Pairing) -> None:
    exchange = signed_in(pairing, forwarded("POST"), IDENTITY)
    assert reason(exchange) == (403, [b"CSRFProofRequired"])
    pairing.upstream.expect_nothing()


def test_a_logout_ends_a_check_that_waits(pairing: Pairing) -> None:
    exchange = pairing.get(IDENTITY)
    request = pairing.upstream.expect()
    pairing.connect().request("POST", "/auth/logout", pairing.me.change).read_until_end()
    assert isinstance(exchange.read_until_end(), Aborted)
    request.expect_cancelled()

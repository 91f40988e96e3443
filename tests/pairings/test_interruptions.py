"""Spec 03, Interruptions: each row of the table in both forms, and the order in which checks are made."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.browsers import Exchange
from tests.support.pairings import JSON, ORIGIN, Pairing
from tests.support.script import Fields, Whole
from tests.support.upstreams import Request

PODS = "/k8s/api/v1/namespaces/n/pods"
DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document")]

Asking = Callable[[Pairing, Fields], Exchange]


@dataclass(frozen=True)
class Row:
    """A way to meet a row of the table. `ask` sends the request with these fields beside its own."""

    status: int
    reason: str
    ask: Asking
    reached: bool = False


def _answered(answer: Callable[[Request], None]) -> Asking:
    def ask(pairing: Pairing, fields: Fields) -> Exchange:
        exchange = pairing.get(PODS, fields)
        answer(pairing.upstream.expect())
        return exchange

    return ask


ROWS: dict[str, Row] = {
    "no session": Row(401, "Unauthorized", lambda p, f: p.browser.request("GET", PODS, f)),
    "a path not canonical": Row(400, "NonCanonicalPath", lambda p, f: p.get(PODS + "//x", f)),
    "not a route": Row(404, "NotFound", lambda p, f: p.get("/nowhere", f)),
    "exec": Row(501, "UnsupportedSubresource", lambda p, f: p.get(PODS + "/p/exec", f)),
    "proxy": Row(501, "UnsupportedSubresource", lambda p, f: p.get(PODS + "/p/proxy", f)),
    "a redirect": Row(
        502,
        "UpstreamRedirect",
        _answered(lambda request: request.answer(302, [(b"location", b"https://elsewhere.test/")])),
        reached=True,
    ),
    "content held back": Row(
        502,
        "UpstreamContentHeldBack",
        _answered(lambda request: request.answer(200, [(b"content-type", b"text/html")], b"<p>")),
        reached=True,
    ),
    "no answer": Row(502, "UpstreamUnavailable", _answered(lambda request: request.close()), reached=True),
}

rows = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)


@rows
def test_code_gets_a_status_of_the_same_reason(pairing: Pairing, row: Row) -> None:
    exchange = row.ask(pairing, [(b"Accept", b"text/html")])
    assert exchange.read_head()[0] == row.status
    assert exchange.all("krm-foyer-interruption") == [row.reason.encode()]
    assert exchange.all("content-type") == [b"application/json"]
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Whole)
    status = json.loads(outcome.content)
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
    assert (status["code"], status["reason"]) == (row.status, row.reason)
    assert status["message"]
    if not row.reached:
        pairing.upstream.expect_nothing()


@rows
def test_a_status_carries_the_fields_of_a_proxied_answer(pairing: Pairing, row: Row) -> None:
    exchange = row.ask(pairing, [])
    exchange.read_until_end()
    assert exchange.all("x-content-type-options") == [b"nosniff"]
    assert exchange.all("content-security-policy") == [b"default-src 'none'; sandbox"]
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("referrer-policy") == [b"no-referrer"]
    assert exchange.all("x-accel-buffering") == [b"no"]


@rows
def test_a_navigation_gets_a_page_with_the_same_status(pairing: Pairing, row: Row) -> None:
    exchange = row.ask(pairing, DOCUMENT)
    assert exchange.read_head()[0] == row.status
    assert exchange.all("krm-foyer-interruption") == [row.reason.encode()]
    assert exchange.all("content-type") == [b"text/html; charset=utf-8"]
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("x-content-type-options") == [b"nosniff"]
    [policy] = exchange.all("content-security-policy")
    assert b"default-src 'none'" in policy
    assert b"frame-ancestors 'none'" in policy
    page = exchange.read_until_end().content
    assert page.lower().startswith(b"<!doctype html>")
    assert b"<script" not in page
    assert row.reason.encode() in page


@rows
def test_each_is_one_log_line(pairing: Pairing, row: Row) -> None:
    row.ask(pairing, []).read_until_end()
    message = "refused" if row.status < 500 else "interruption"
    [line] = pairing.logged(message)
    assert line["reason"] == row.reason
    assert line["method"] == "GET"
    assert "?" not in str(line["path"])
    if row.status < 500:
        assert line["by"] == "foyer"


@pytest.mark.parametrize(
    "fields",
    [
        [(b"Sec-Fetch-Dest", b"iframe")],
        [(b"Sec-Fetch-Dest", b"document"), (b"Sec-Fetch-Dest", b"document")],
        [(b"Sec-Fetch-Dest", b"Document")],
        [(b"Sec-Fetch-Dest", b"document, document")],
        [(b"Sec-Fetch-Mode", b"navigate"), (b"Accept", b"text/html")],
        [(b"Sec-Fetch_Dest", b"document")],
    ],
    ids=str,
)
def test_anything_but_one_clear_navigation_gets_a_status(pairing: Pairing, fields: Fields) -> None:
    exchange = pairing.browser.request("GET", PODS, fields)
    assert exchange.read_head()[0] == 401
    assert exchange.all("content-type") == [b"application/json"]
    exchange.read_until_end()


def test_a_navigation_by_another_method_gets_a_status(pairing: Pairing) -> None:
    exchange = pairing.browser.request("POST", PODS, DOCUMENT)
    assert exchange.read_head()[0] == 401
    assert exchange.all("content-type") == [b"application/json"]
    exchange.read_until_end()


def test_a_401_page_links_to_sign_in_and_back_to_the_same_url(pairing: Pairing) -> None:
    target = PODS + "?limit=5&labelSelector=a%3Db%26c"
    exchange = pairing.browser.request("GET", target, DOCUMENT)
    page = exchange.read_until_end().content.decode()
    links = [urlsplit(html.unescape(link)) for link in re.findall('href="([^"]*)"', page)]
    [login] = [link for link in links if link.path == "/auth/login"]
    assert parse_qs(login.query, strict_parsing=True) == {"return_to": [target]}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_answer_to_a_head_has_no_content(pairing: Pairing, method: str) -> None:
    exchange = pairing.browser.request(method, PODS)
    assert exchange.read_head()[0] == 401
    assert (exchange.read_until_end() == Whole(b"")) is (method == "HEAD")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/auth/session", b"GET, HEAD"),
        ("DELETE", "/", b"GET, HEAD"),
        ("PUT", "/healthz", b"GET, HEAD"),
        ("GET", "/auth/logout", b"POST"),
        ("get", "/auth/session", b"GET, HEAD"),
    ],
)
def test_a_method_that_is_not_the_routes_is_told_which_are(
    pairing: Pairing, method: str, path: str, allow: bytes
) -> None:
    exchange = pairing.browser.request(method, path, pairing.me.change)
    assert exchange.read_head()[0] == 405
    assert exchange.all("krm-foyer-interruption") == [b"MethodNotAllowed"]
    assert exchange.all("allow") == [allow]
    exchange.read_until_end()


# -- changes

WRONG_PROOFS: dict[str, Fields] = {
    "none": [],
    "an empty one": [(b"X-CSRF-Token", b"")],
    "another": [(b"X-CSRF-Token", b"0" * 32)],
    "by an underscore": [(b"x_csrf_token", b"")],
}


@pytest.mark.parametrize("proof", WRONG_PROOFS.values(), ids=WRONG_PROOFS)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"])
def test_a_change_without_its_proof_is_refused(pairing: Pairing, method: str, proof: Fields) -> None:
    fields = [*pairing.me.fields, (b"Origin", ORIGIN.encode()), *proof]
    exchange = pairing.browser.request(method, PODS, fields, b"{}")
    assert exchange.read_head()[0] == 403
    assert exchange.all("krm-foyer-interruption") == [b"CSRFProofRequired"]
    exchange.read_until_end()
    pairing.upstream.expect_nothing()


def test_a_proof_given_twice_is_none(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"X-CSRF-Token", pairing.me.csrf)], b"{}")
    assert exchange.read_head()[0] == 403
    assert exchange.all("krm-foyer-interruption") == [b"CSRFProofRequired"]
    pairing.upstream.expect_nothing()


def test_another_sessions_proof_is_none(pairing: Pairing) -> None:
    other = pairing.signed_in()
    fields = [*pairing.me.fields, (b"X-CSRF-Token", other.csrf), (b"Origin", ORIGIN.encode())]
    exchange = pairing.browser.request("POST", PODS, fields, b"{}")
    assert exchange.read_head()[0] == 403
    pairing.upstream.expect_nothing()


ORIGINS: dict[str, tuple[Fields, bool]] = {
    "ours": ([(b"Origin", ORIGIN.encode())], True),
    "same-origin by fetch metadata": ([(b"Sec-Fetch-Site", b"same-origin")], True),
    "ours, whatever the metadata": ([(b"Origin", ORIGIN.encode()), (b"Sec-Fetch-Site", b"cross-site")], True),
    "none": ([], False),
    "another": ([(b"Origin", b"https://evil.test")], False),
    "another scheme": ([(b"Origin", b"http://foyer.test")], False),
    "another port": ([(b"Origin", b"https://foyer.test:8443")], False),
    "another case": ([(b"Origin", b"https://FOYER.test")], False),
    "null": ([(b"Origin", b"null")], False),
    "ours twice": ([(b"Origin", ORIGIN.encode())] * 2, False),
    "another, whatever the metadata": (
        [(b"Origin", b"https://evil.test"), (b"Sec-Fetch-Site", b"same-origin")],
        False,
    ),
    "same-site": ([(b"Sec-Fetch-Site", b"same-site")], False),
    "cross-site": ([(b"Sec-Fetch-Site", b"cross-site")], False),
    "the metadata twice": ([(b"Sec-Fetch-Site", b"same-origin")] * 2, False),
}


@pytest.mark.parametrize(("fields", "accepted"), ORIGINS.values(), ids=ORIGINS)
def test_a_change_comes_from_the_configured_origin_or_is_refused(
    pairing: Pairing, fields: Fields, accepted: bool
) -> None:
    fields = [*pairing.me.fields, (b"X-CSRF-Token", pairing.me.csrf), *fields]
    exchange = pairing.browser.request("POST", PODS, fields, b"{}")
    if accepted:
        pairing.upstream.expect().answer(201, JSON, b"{}")
        assert exchange.read_head()[0] == 201
    else:
        assert exchange.read_head()[0] == 403
        assert exchange.all("krm-foyer-interruption") == [b"CrossOriginRequest"]
        pairing.upstream.expect_nothing()
    exchange.read_until_end()


# -- the order of checks (spec 04)


@pytest.mark.parametrize(
    ("method", "path", "fields", "reason"),
    [
        # The request line is judged before the session: protocol, path, route, method, subresource.
        ("CONNECT", "/k8s//nowhere", [], b"UnsupportedProtocol"),
        ("POST", "/k8s//nowhere", [], b"NonCanonicalPath"),
        ("POST", "/k8s/nowhere", [], b"NotFound"),
        ("POST", "/healthz", [], b"MethodNotAllowed"),
        ("POST", "/k8s/api/v1/namespaces/n/pods/p/exec", [], b"UnsupportedSubresource"),
        # The session before the proofs, the token before the origin.
        ("POST", "/k8s/api/v1/pods", [(b"Origin", b"https://evil.test")], b"Unauthorized"),
    ],
)
def test_the_first_check_that_fails_answers(
    pairing: Pairing, method: str, path: str, fields: Fields, reason: bytes
) -> None:
    if method == "CONNECT" and pairing.browser_version == "h2":
        pytest.skip("RFC 9113 section 8.5: CONNECT has no path on HTTP/2")
    exchange = pairing.browser.request(method, path, fields)
    exchange.read_head()
    assert exchange.all("krm-foyer-interruption") == [reason]
    exchange.read_until_end()
    pairing.upstream.expect_nothing()


def test_an_upgrade_is_judged_before_everything(pairing: Pairing) -> None:
    if pairing.browser_version == "h2":
        pytest.skip("RFC 9113 section 8.6: HTTP/2 has no Upgrade")
    exchange = pairing.browser.request("POST", "/k8s//nowhere", [(b"Upgrade", b"x")])
    assert exchange.read_head()[0] == 501
    assert exchange.all("krm-foyer-interruption") == [b"UnsupportedProtocol"]
    exchange.read_until_end()


def test_the_token_is_asked_for_before_the_origin(pairing: Pairing) -> None:
    fields = [*pairing.me.fields, (b"Origin", b"https://evil.test")]
    exchange = pairing.browser.request("POST", PODS, fields)
    exchange.read_head()
    assert exchange.all("krm-foyer-interruption") == [b"CSRFProofRequired"]
    exchange.read_until_end()


# -- log lines


def test_a_refusal_is_logged_with_who_asked_for_what(pairing: Pairing) -> None:
    fields = [*pairing.me.fields, (b"X-CSRF-Token", pairing.me.csrf), (b"Origin", b"https://evil.test")]
    pairing.browser.request("POST", PODS + "?secret=1", fields).read_until_end()
    [line] = pairing.logged("refused")
    told = {name: line[name] for name in ("by", "user", "route", "method", "path", "reason")}
    assert told == {
        "by": "foyer",
        "user": "ada@example.test",
        "route": "/k8s",
        "method": "POST",
        "path": PODS,
        "reason": "CrossOriginRequest",
    }


@pytest.mark.parametrize("status", [401, 403, 409, 422])
def test_a_refusal_of_the_api_servers_is_logged_as_its_own(pairing: Pairing, status: int) -> None:
    exchange = pairing.get(PODS + "?x=y")
    content = b'{"kind":"Status","reason":"Whatever","message":"what upstream wrote"}'
    pairing.upstream.expect().answer(status, JSON, content)
    assert exchange.read_until_end() == Whole(content)
    [line] = pairing.logged("refused")
    assert (line["by"], line["user"], line["path"]) == ("kubernetes", "ada@example.test", PODS)
    assert "upstream wrote" not in json.dumps(pairing.log)


@pytest.mark.parametrize("status", [200, 404, 429, 500, 503])
def test_any_other_answer_is_no_refusal(pairing: Pairing, status: int) -> None:
    exchange = pairing.get(PODS)
    pairing.upstream.expect().answer(status, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    marker = pairing.get("/k8s/nothing")
    marker.read_until_end()
    assert [line["path"] for line in pairing.logged("refused")] == ["/k8s/nothing"]


def test_upstreams_words_are_never_logged(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    location = b"https://what-upstream-wrote.test/"
    pairing.upstream.expect().answer(302, [(b"location", location), (b"x-what-upstream-wrote", b"1")])
    exchange.read_until_end()
    pairing.logged("interruption")
    assert "upstream-wrote" not in json.dumps(pairing.log)

"""Spec 01, `/_foyer/access`: what the signed-in person may do, as the API server says it."""

import html
import json
import re
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Pairing
from tests.support.script import Aborted, Fields, Whole
from tests.support.upstreams import Request

ACCESS = "/_foyer/access"
DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document")]

RULES_PATH = b"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
MAY_PATH = b"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

RULES: dict[str, object] = {
    "resourceRules": [
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"]},
        {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["deployments"]},
    ],
    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/version"]}],
    "incomplete": False,
}
QUESTION = "?namespace=demo&verb=create&resource=pods%2Flog&group=apps&name=one"


def status(value: object) -> bytes:
    return json.dumps({"status": value}).encode()


def reviews(pairing: Pairing, count: int) -> dict[bytes, Request]:
    """The reviews that came, by their paths."""
    requests = [pairing.upstream.expect() for _ in range(count)]
    return {request.target: request for request in requests}


def opened(pairing: Pairing, query: str, answers: Mapping[bytes, tuple[int, object]]) -> Exchange:
    """The page for `query`, the reviews behind it answered so."""
    exchange = pairing.get(ACCESS + query, DOCUMENT)
    for target, request in reviews(pairing, len(answers)).items():
        code, value = answers[target]
        content = status(value) if code == 201 else json.dumps(value).encode()
        request.answer(code, JSON, content)
    exchange.read_until_end()
    return exchange


def text(exchange: Exchange) -> str:
    """What a person reads."""
    tags_out = re.sub(r"<[^>]*>", "", exchange.content.decode())
    return " ".join(html.unescape(tags_out).split())


def test_it_opens_with_the_rules_in_the_default_namespace(pairing: Pairing) -> None:
    exchange = pairing.get(ACCESS, DOCUMENT)
    request = pairing.upstream.expect()
    assert (request.method, request.target) == (b"POST", RULES_PATH)
    assert request.all("authorization") == [b"Bearer " + pairing.me.token]
    assert json.loads(request.read_until_end()) == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    request.answer(201, JSON, status(RULES))
    page = exchange.read_until_end()
    assert isinstance(page, Whole)
    assert exchange.status == 200
    assert "Your rules in default" in text(exchange)
    assert "signed in as ada@example.test" in text(exchange)
    for shown in ("get, list", "configmaps", "only mine", "* deployments of apps", "/healthz, /version"):
        assert shown in text(exchange)
    assert "incomplete" not in text(exchange)


def test_it_is_a_page_like_every_other(pairing: Pairing) -> None:
    exchange = opened(pairing, "", {RULES_PATH: (201, RULES)})
    assert exchange.all("content-type") == [b"text/html; charset=utf-8"]
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("x-content-type-options") == [b"nosniff"]
    assert exchange.all("referrer-policy") == [b"no-referrer"]
    [policy] = exchange.all("content-security-policy")
    assert b"default-src 'none'" in policy
    assert b"form-action 'self'" in policy
    assert b"<script" not in exchange.content
    assert b"style=" not in exchange.content


def test_a_list_that_is_incomplete_says_so(pairing: Pairing) -> None:
    incomplete = {**RULES, "incomplete": True, "evaluationError": "webhook: <b>no rules</b>"}
    exchange = opened(pairing, "?namespace=demo", {RULES_PATH: (201, incomplete)})
    assert "This list is incomplete." in text(exchange)
    assert "webhook: <b>no rules</b>" in text(exchange)
    assert b"<b>" not in exchange.content


@pytest.mark.parametrize(("allowed", "word"), [(True, "Yes, you may"), (False, "No, you may not")])
def test_a_question_is_put_and_answered(pairing: Pairing, allowed: bool, word: str) -> None:
    exchange = pairing.get(ACCESS + QUESTION, DOCUMENT)
    found = reviews(pairing, 2)
    assert json.loads(found[RULES_PATH].read_until_end())["spec"] == {"namespace": "demo"}
    assert json.loads(found[MAY_PATH].read_until_end()) == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {
                "namespace": "demo",
                "verb": "create",
                "group": "apps",
                "resource": "pods",
                "subresource": "log",
                "name": "one",
            }
        },
    }
    found[MAY_PATH].answer(201, JSON, status({"allowed": allowed, "reason": "RBAC: <i>says</i> so"}))
    found[RULES_PATH].answer(201, JSON, status(RULES))
    exchange.read_until_end()
    assert f"{word} create pods/log of apps named one in demo." in text(exchange)
    assert "RBAC: <i>says</i> so" in text(exchange)
    assert b"<i>" not in exchange.content
    assert 'value="pods/log"' in exchange.content.decode()


def test_without_a_namespace_the_question_is_about_all_and_no_rules_are_listed(pairing: Pairing) -> None:
    allowed = {"allowed": True}
    exchange = opened(pairing, "?namespace=&verb=list&resource=nodes", {MAY_PATH: (201, allowed)})
    assert "Yes, you may list nodes across all namespaces." in text(exchange)
    assert "name one" in text(exchange)


def test_a_url_path_can_be_asked_about(pairing: Pairing) -> None:
    exchange = pairing.get(ACCESS + "?namespace=&verb=get&resource=/version&name=x", DOCUMENT)
    request = pairing.upstream.expect()
    spec = json.loads(request.read_until_end())["spec"]
    assert spec == {"nonResourceAttributes": {"verb": "get", "path": "/version"}}
    request.answer(201, JSON, status({"allowed": True}))
    exchange.read_until_end()
    assert "Yes, you may get /version." in text(exchange)


def test_half_a_question_is_only_kept_in_the_form(pairing: Pairing) -> None:
    exchange = opened(pairing, "?verb=get", {RULES_PATH: (201, RULES)})
    assert "you may not" not in text(exchange)
    assert 'value="get"' in exchange.content.decode()


def test_the_form_cannot_be_broken_out_of(pairing: Pairing) -> None:
    query = "?namespace=%22%3E%3Cscript%3E&verb=%22&resource=%3C%2Finput%3E"
    exchange = opened(pairing, query, {RULES_PATH: (201, RULES), MAY_PATH: (201, {"allowed": False})})
    assert exchange.status == 200
    assert b"<script" not in exchange.content
    assert exchange.content.count(b"</input>") == 0


@pytest.mark.parametrize(
    "query",
    [
        "?namespace=a&namespace=b",
        "?verb=get&verb=get",
        "?namespace=%zz",
        "?namespace=%FF",
        "?namespace=a%00b",
        "?namespace=a%0Ab",
        "?resource=%E2%80%AEsdop",
        "?name=" + "a" * 254,
    ],
)
def test_a_malformed_form_is_a_400(pairing: Pairing, query: str) -> None:
    exchange = pairing.get(ACCESS + query, DOCUMENT)
    exchange.read_until_end()
    assert (exchange.status, exchange.all("krm-foyer-interruption")) == (400, [b"BadRequest"])
    pairing.upstream.expect_nothing()


def test_nobody_gets_a_page_that_leads_to_the_login_and_back(pairing: Pairing) -> None:
    exchange = pairing.browser.request("GET", ACCESS + QUESTION, DOCUMENT)
    page = exchange.read_until_end().content.decode()
    assert (exchange.status, exchange.all("content-type")) == (401, [b"text/html; charset=utf-8"])
    links = [urlsplit(html.unescape(link)) for link in re.findall('href="([^"]*)"', page)]
    [login] = [link for link in links if link.path == "/auth/login"]
    assert parse_qs(login.query) == {"return_to": [ACCESS + QUESTION]}
    pairing.upstream.expect_nothing()


def test_a_script_of_nobodys_gets_a_status(pairing: Pairing) -> None:
    exchange = pairing.browser.request("GET", ACCESS)
    content = exchange.read_until_end().content
    assert (exchange.status, exchange.all("krm-foyer-interruption")) == (401, [b"Unauthorized"])
    assert json.loads(content)["reason"] == "Unauthorized"


def test_a_refusal_of_the_api_servers_is_shown_and_logged(pairing: Pairing) -> None:
    refused = {"kind": "Status", "message": 'User "<ada>" cannot create resource'}
    exchange = opened(
        pairing, QUESTION, {RULES_PATH: (403, refused), MAY_PATH: (201, {"allowed": True, "reason": ""})}
    )
    assert exchange.status == 200
    assert 'refused to say (403). User "<ada>" cannot create resource' in text(exchange)
    assert "Yes, you may create" in text(exchange)
    [line] = pairing.logged("refused")
    assert (line["by"], line["status"], line["route"]) == ("kubernetes", 403, ACCESS)
    assert "?" not in str(line["path"])


@pytest.mark.parametrize(
    ("answers", "failure"),
    [
        ({RULES_PATH: (500, {}), MAY_PATH: (201, {"allowed": True})}, "status_500"),
        ({RULES_PATH: (201, RULES), MAY_PATH: (503, {})}, "status_503"),
        ({RULES_PATH: (201, RULES), MAY_PATH: (201, {"allowed": "yes"})}, "document"),
        (
            {RULES_PATH: (201, {"resourceRules": [{"verbs": "get"}]}), MAY_PATH: (201, {"allowed": True})},
            "document",
        ),
    ],
    ids=str,
)
def test_no_usable_answer_is_an_interruption(
    pairing: Pairing, answers: Mapping[bytes, tuple[int, object]], failure: str
) -> None:
    exchange = opened(pairing, QUESTION, answers)
    assert (exchange.status, exchange.all("krm-foyer-interruption")) == (502, [b"UpstreamUnavailable"])
    [line] = pairing.logged("interruption")
    assert (line["failure"], line["route"]) == (failure, ACCESS)


def test_a_logout_ends_a_page_that_waits(pairing: Pairing) -> None:
    exchange = pairing.get(ACCESS + QUESTION, DOCUMENT)
    found = reviews(pairing, 2)
    pairing.connect().request("POST", "/auth/logout", pairing.me.change).read_until_end()
    assert isinstance(exchange.read_until_end(), Aborted)
    for request in found.values():
        request.expect_cancelled()


def test_it_is_read_only(pairing: Pairing) -> None:
    exchange = pairing.post(ACCESS, body=b"")
    exchange.read_until_end()
    assert exchange.status == 405
    assert exchange.all("allow") == [b"GET, HEAD"]

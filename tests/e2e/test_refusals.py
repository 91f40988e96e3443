"""What foyer refuses by itself, none of which reaches Kubernetes (spec 02, 03)."""

import html
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.harness.answers import INTERRUPTION, assert_interrupted, assert_passed
from tests.e2e.harness.browser import JSON, Browser, OpenBrowser
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.serving import Foyer

CONFIGMAPS = f"/k8s{CORE}/configmaps"
DOCUMENT = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"never"}}'


class Unreached:
    """Shows that requests did not reach the API server: a later one did, and they are not before it."""

    def __init__(self, cluster: Cluster, witness: Browser) -> None:
        self._audit = cluster.audit()
        self._witness = witness

    def prove(self) -> None:
        answer = self._witness.get(f"{CONFIGMAPS}/settings-1?witness")
        assert_passed(answer)
        self._audit.of(answer.headers["audit-id"])
        of_foyer = [uri for uri in self._audit.uris() if uri.startswith(CORE)]
        assert of_foyer == [f"{CORE}/configmaps/settings-1?witness"]


@pytest.fixture
def unreached(cluster: Cluster, alice: Browser) -> Unreached:
    alice.proof()
    return Unreached(cluster, alice)


def test_no_session_is_a_401_and_never_an_anonymous_request(browser: Browser, unreached: Unreached) -> None:
    assert_interrupted(browser.get(CONFIGMAPS), 401, "Unauthorized")
    fields = {**JSON, "x-csrf-token": "any", "origin": browser.origin}
    assert_interrupted(browser.request("POST", CONFIGMAPS, fields, DOCUMENT), 401, "Unauthorized")
    assert_interrupted(browser.get(CONFIGMAPS, authorization="Bearer mine"), 401, "Unauthorized")
    unreached.prove()


def test_a_page_load_without_a_session_is_a_page_that_links_to_the_login_and_back(browser: Browser) -> None:
    answer = browser.get(f"{CONFIGMAPS}?limit=1&a=b", sec_fetch_dest="document")
    assert (answer.status_code, answer.headers[INTERRUPTION]) == (401, "Unauthorized")
    assert answer.headers["content-type"].startswith("text/html")
    links = [urlsplit(html.unescape(link)) for link in re.findall(r'href="([^"]*)"', answer.text)]
    (login,) = [link for link in links if link.path == "/auth/login"]
    assert parse_qs(login.query) == {"return_to": [f"{CONFIGMAPS}?limit=1&a=b"]}
    assert "<script" not in answer.text


def test_a_changed_cookie_is_no_session(alice: Browser, unreached: Unreached, browser: Browser) -> None:
    for name, sealed in alice.jar.cookies.items():
        middle = len(sealed) // 2
        flipped = "A" if sealed[middle] != "A" else "B"
        browser.jar.cookies[name] = sealed[:middle] + flipped + sealed[middle + 1 :]
        assert_interrupted(browser.get(CONFIGMAPS), 401, "Unauthorized")
        assert_interrupted(
            browser.get(CONFIGMAPS, cookie=f"{name}={sealed}; {name}={sealed}"), 401, "Unauthorized"
        )
    unreached.prove()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"x-csrf-token": None}, "CSRFProofRequired"),
        ({"x-csrf-token": "not-the-token"}, "CSRFProofRequired"),
        ({"origin": None}, "CrossOriginRequest"),
        ({"origin": "https://evil.example"}, "CrossOriginRequest"),
        ({"origin": "null"}, "CrossOriginRequest"),
        ({"origin": None, "sec-fetch-site": "same-site"}, "CrossOriginRequest"),
        ({"origin": "https://evil.example", "sec-fetch-site": "same-origin"}, "CrossOriginRequest"),
    ],
)
def test_a_change_without_its_proofs_never_reaches_kubernetes(
    alice: Browser, unreached: Unreached, foyer: Foyer, changed: dict[str, str | None], reason: str
) -> None:
    lines = len(foyer.log)
    fields = {"content-type": "application/json", **alice.proof(), **changed}
    sent = {name: value for name, value in fields.items() if value is not None}
    assert_interrupted(alice.request("POST", CONFIGMAPS, sent, DOCUMENT), 403, reason)
    unreached.prove()
    line = foyer.logged(reason, lambda line: line["msg"] == "refused" and line.get("reason") == reason, lines)
    assert (line["by"], line["user"], line["method"], line["path"]) == (
        "foyer",
        "alice@example.com",
        "POST",
        CONFIGMAPS,
    )


def test_a_method_in_lower_case_is_a_change_and_needs_proof(alice: Browser, unreached: Unreached) -> None:
    assert_interrupted(alice.request("get", CONFIGMAPS), 403, "CSRFProofRequired")
    unreached.prove()


@pytest.mark.parametrize(
    "path",
    [
        "/k8s/api/v1/namespaces/demo/../large/configmaps",
        "/k8s/api/v1/namespaces/demo/./configmaps",
        "/k8s/api/v1//namespaces/demo/configmaps",
        "/k8s/api/v1/namespaces/demo/configmaps/",
        "/k8s/api/v1/namespaces/demo%2Fconfigmaps",
        "/k8s/api/v1/namespaces/demo/configmaps/%2e%2e",
        "/k8s/api/v1/namespaces/demo/configmaps/%41",
        "/k8s/api/v1/namespaces/demo/configmaps/a%c3%a4",
        "/k8s/api/v1/namespaces/demo/configmaps/%zz",
        '/k8s/api/v1/namespaces/demo/configmaps/"',
    ],
)
def test_a_path_that_is_not_canonical_is_refused_and_never_mended(
    alice: Browser, unreached: Unreached, path: str
) -> None:
    assert_interrupted(alice.get(path), 400, "NonCanonicalPath")
    unreached.prove()


@pytest.mark.parametrize(
    "path", ["/k8s", "/k8s/healthz", "/k8s/metrics", "/k8s/version/x", "/k8s/logs", "/nowhere"]
)
def test_what_is_no_route_is_a_404_of_foyers(alice: Browser, unreached: Unreached, path: str) -> None:
    assert_interrupted(alice.get(path), 404, "NotFound")
    unreached.prove()


@pytest.mark.parametrize(
    "path",
    [
        f"/k8s{CORE}/pods/p/exec?command=id",
        f"/k8s{CORE}/pods/p/attach",
        f"/k8s{CORE}/pods/p/portforward",
        f"/k8s{CORE}/pods/p/proxy/",
        f"/k8s{CORE}/pods/p/proxy/x",
        f"/k8s{CORE}/services/s/proxy",
        "/k8s/api/v1/nodes/n/proxy/metrics",
        "/k8s/api/v1/watch/namespaces/demo/pods/p/exec",
        "/k8s/api/v1/proxy/nodes/n",
    ],
)
def test_a_subresource_that_opens_a_tunnel_is_refused(
    alice: Browser, unreached: Unreached, path: str
) -> None:
    answer = alice.get(path)
    if path.endswith("/"):
        assert_interrupted(answer, 400, "NonCanonicalPath")
    else:
        assert_interrupted(answer, 501, "UnsupportedSubresource")
    unreached.prove()


def test_an_upgrade_is_refused_and_the_connection_stays_an_ordinary_one(
    open_browser: OpenBrowser, alice: Browser, unreached: Unreached
) -> None:
    browser = open_browser("HTTP/1.1", dict(alice.jar.cookies))
    for protocol in ("websocket", "SPDY/3.1", "h2c"):
        answer = browser.get(f"{CONFIGMAPS}", upgrade=protocol, connection="Upgrade")
        assert_interrupted(answer, 501, "UnsupportedProtocol")
    unreached.prove()
    assert_passed(browser.get(f"{CONFIGMAPS}/settings-1"))


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/auth/login", {"GET", "HEAD"}),
        ("POST", "/auth/session", {"GET", "HEAD"}),
        ("GET", "/auth/logout", {"POST"}),
        ("DELETE", "/healthz", {"GET", "HEAD"}),
    ],
)
def test_another_method_than_the_routes_is_a_405_that_says_which(
    alice: Browser, method: str, path: str, allow: set[str]
) -> None:
    answer = alice.change(method, path)
    assert (answer.status_code, answer.headers[INTERRUPTION]) == (405, "MethodNotAllowed")
    assert {word.strip() for word in answer.headers["allow"].split(",")} == allow


def test_what_kubernetes_refuses_is_logged_as_kubernetes_refusal(bob: Browser, foyer: Foyer) -> None:
    lines = len(foyer.log)
    assert bob.get(f"/k8s{CORE}/secrets?limit=7").status_code == 403
    line = foyer.logged(
        "of a refusal by Kubernetes",
        lambda line: line["msg"] == "refused" and line.get("by") == "kubernetes",
        lines,
    )
    assert (line["user"], line["path"], line["reason"]) == (
        "bob@example.com",
        f"/k8s{CORE}/secrets",
        "Forbidden",
    )
    assert "limit=7" not in json.dumps(line)


def test_the_probes_and_the_start_page_need_no_session(browser: Browser) -> None:
    for path in ("/healthz", "/readyz"):
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/plain")
    assert browser.get("/", sec_fetch_dest="document").headers["content-type"].startswith("text/html")

"""Who somebody is to the real API server, for themselves, for a page and for a real nginx (spec 01, 02)."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.harness.answers import INTERRUPTION, assert_refused_by_kubernetes
from tests.e2e.harness.browser import SESSION, Browser, OpenBrowser, Web
from tests.e2e.harness.chromium import chromium, visitor
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.ingress import Application, Nginx, Received
from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.serving import Foyer, free_port
from tests.e2e.harness.waiting import wait_for

ALICE, BOB = "alice@example.com", "bob@example.com"
WHOAMI = "/auth/whoami"
ACCESS = "/_foyer/access"
PAGE = "/app/notes?a=1&b=%2F%7E"


# whoami


def test_whoami_is_what_the_api_server_makes_of_the_token(alice: Browser, cluster: Cluster) -> None:
    answer = alice.get(WHOAMI)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    shown = answer.json()
    info = shown["userInfo"]
    assert info["username"] == ALICE
    assert {"demo-editors", "team-a", "system:authenticated"} == set(info["groups"])
    assert info["extra"]["foyer.dev/issuer"] == [cluster.env["OIDC_ISSUER"]]
    session = alice.session()
    assert info["uid"] == session["subject"]
    assert (shown["issuer"], shown["expiresAt"]) == (session["issuer"], session["expiresAt"])


def test_a_token_that_the_api_server_no_longer_takes_is_its_401(
    cluster: Cluster, open_sealed: Callable[[str, float], Browser], foyer: Foyer
) -> None:
    token = cluster.mint("late@example.com", groups="demo-editors", ttl=-60)
    browser = open_sealed(token, time.time() + 600)
    lines = len(foyer.log)
    assert_refused_by_kubernetes(browser.get(WHOAMI), 401, "Unauthorized")
    line = foyer.logged("of the refusal", lambda line: line["msg"] == "refused", lines)
    assert (line["by"], line["user"], line["route"]) == ("kubernetes", "late@example.com", WHOAMI)


def test_priority_and_fairness_has_its_say(eve: Browser) -> None:
    """Nothing else of hers is under way, so she is answered."""
    assert eve.get(WHOAMI).json()["userInfo"]["username"] == "eve@example.com"


# The access page


@pytest.fixture
def page(http_version: str, tmp_path: Path) -> Iterator[Page]:
    arguments = ["--disable-http2"] if http_version == "HTTP/1.1" else []
    with chromium(*arguments) as browser, visitor(browser, tmp_path, "last") as page:
        yield page


def sign_in_at_dex(page: Page, email: str) -> None:
    page.locator("input[name=login]").fill(email)
    page.locator("input[name=password]").fill("password")
    page.locator("button[type=submit]").click()


def learn_session(page: Page, web: Web) -> None:
    """The search for secrets knows from now on what the browser keeps."""
    (value,) = [kept["value"] for kept in page.context.cookies() if kept["name"] == SESSION]
    web.sealing.open(value)


def test_a_reader_sees_on_the_access_page_what_they_may_do(page: Page, foyer: Foyer, web: Web) -> None:
    answer = page.goto(f"{foyer.origin}{ACCESS}?namespace=demo")
    assert answer is not None
    assert answer.status == 401
    page.get_by_role("link", name="Sign in").click()
    sign_in_at_dex(page, BOB)
    page.wait_for_url(f"{foyer.origin}{ACCESS}?namespace=demo")
    learn_session(page, web)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))

    expect(page.get_by_role("heading", name="Your rules in demo")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="configmaps").first).to_contain_text("watch")
    for verb, resource, word in (
        ("list", "configmaps", "Yes, you may"),
        ("get", "secrets", "No, you may not"),
    ):
        page.get_by_label("Verb").fill(verb)
        page.get_by_label("Resource").fill(resource)
        page.get_by_role("button", name="Ask").click()
        expect(page.get_by_text(f"{word} {verb} {resource} in demo.")).to_be_visible()
        web.leaks.saw("the access page", page.content().encode())
    page.locator("#rules-namespace").fill("large")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Your rules in large")).to_be_visible()
    assert said == [], "no script, and nothing that the policy had to stop"


# The check, behind a real nginx


@dataclass(frozen=True)
class Ingress:
    """nginx, the foyer it asks, and the application behind them."""

    nginx: Nginx
    foyer: Foyer
    application: Application

    @property
    def origin(self) -> str:
        return self.nginx.origin

    def received(self, target: str) -> list[Received]:
        """What of `target` reached the application."""
        return [received for received in self.application.received if received.target == target]


@contextmanager
def running_ingress(
    cluster: Cluster, flags: dict[str, str], leaks: Leaks, folder: Path, origin: str
) -> Iterator[Ingress]:
    port = free_port()
    plain = {name: value for name, value in flags.items() if not name.startswith("-tls-")}
    there = plain | {"-listen": f"127.0.0.1:{port}", "-public-url": origin}
    # The probes are not the ingress's to pass on.
    foyer = Foyer(there, f"http://127.0.0.1:{port}", cluster.env["CA_FILE"], leaks)
    foyer.wait_until(200)
    with closing(Application()) as application:
        nginx = Nginx(
            folder,
            origin=origin,
            certificate=cluster.env["SERVER_CERT_FILE"],
            key=cluster.env["SERVER_KEY_FILE"],
            foyer=port,
            application=application.port,
        )
        with closing(nginx):
            yield Ingress(nginx, foyer, application)
    assert foyer.stop() == 0


@pytest.fixture(scope="module")
def ingress(
    cluster: Cluster, flags: dict[str, str], leaks: Leaks, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ingress]:
    folder = tmp_path_factory.mktemp("nginx")
    with running_ingress(cluster, flags, leaks, folder, cluster.ingress_url) as ingress:
        yield ingress


@pytest.fixture
def visiting(ingress: Ingress, open_browser: OpenBrowser, http_version: str) -> Browser:
    """A browser at the ingress, nobody signed in."""
    return open_browser(http_version, origin=ingress.origin)


@pytest.fixture(scope="module")
def cookies_there() -> dict[str, str]:
    """Alice's session at the ingress: signed in once."""
    return {}


@pytest.fixture
def alice_there(visiting: Browser, cookies_there: dict[str, str]) -> Browser:
    if not cookies_there:
        visiting.sign_in(ALICE)
        cookies_there.update(visiting.jar.cookies)
    visiting.jar.cookies.update(cookies_there)
    return visiting


def identity(received: Received) -> dict[str, Any]:
    """What the one identity field of a request says."""
    [value] = received.all("krm-foyer-identity")
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    return decoded


def assert_refused(answer: httpx.Response, status: int, reason: str) -> None:
    """foyer's interruption, as nginx passes it on: the field that tells nginx how to, it keeps."""
    assert (answer.status_code, answer.headers.get_list(INTERRUPTION)) == (status, [reason])
    assert answer.json()["reason"] == reason
    assert answer.headers.get_list("cache-control") == ["no-store"]
    assert "x-accel-buffering" not in answer.headers


def test_a_page_load_of_somebodys_reaches_the_application_with_who_it_is(
    alice_there: Browser, ingress: Ingress, http_version: str
) -> None:
    target = f"/app/{http_version[5:]}?x=%2F&y"
    forged = {
        "krm-foyer-identity": "e30",
        "krm_foyer_identity": "e30",
        "x-forwarded-method": "GET",
        "x-forwarded-uri": "/healthz",
        "cookie": f"own=1; {SESSION}={alice_there.jar.cookies[SESSION]}; other=2",
    }
    answer = alice_there.request("GET", target, forged | {"sec-fetch-mode": "navigate"})
    assert (answer.status_code, answer.json()) == (200, {"hello": target})
    assert "krm-foyer-identity" not in answer.headers
    [received] = ingress.received(target)
    told = identity(received)
    assert told["userInfo"]["username"] == ALICE
    assert "demo-editors" in told["userInfo"]["groups"]
    assert told["displayName"] == "alice"
    session = alice_there.session()
    assert (told["issuer"], told["expiresAt"]) == (session["issuer"], session["expiresAt"])
    assert received.all("krm_foyer_identity") == []
    assert received.all("cookie") == ["own=1; other=2"], "the session is foyer's alone"


def test_a_burst_of_a_page_costs_one_review(
    ingress: Ingress, cluster: Cluster, open_browser: OpenBrowser, web: Web, http_version: str
) -> None:
    token = cluster.mint(f"burst-{http_version[5]}@example.com", groups="demo-editors")
    sealed = web.sealing.seal(token, time.time() + 600)
    burst = open_browser(http_version, {SESSION: sealed}, ingress.origin)
    audit = cluster.audit()
    targets = [f"/app/burst/{http_version[5]}/{number}" for number in range(20)]
    assert {answer.status_code for answer in burst.all_at_once(targets)} == {200}
    assert burst.get(WHOAMI).status_code == 200

    def reviews() -> list[str]:
        return [uri for uri in audit.uris() if uri.endswith("/selfsubjectreviews")]

    # The audit log's line comes with the answer's end, perhaps after it was read here.
    wait_for("whoami's own review", lambda: len(reviews()) >= 2)
    assert len(reviews()) == 2, "one for all twenty, and whoami's own"


def test_a_signed_out_page_load_signs_in_and_comes_back(visiting: Browser, ingress: Ingress) -> None:
    before = len(ingress.application.received)
    answer = visiting.get(PAGE, sec_fetch_mode="navigate", sec_fetch_dest="document")
    assert answer.status_code == 302
    parts = urlsplit(answer.headers["location"])
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{ingress.origin}/auth/login"
    assert parse_qs(parts.query) == {"return_to": [PAGE]}
    started = visiting.get(answer.headers["location"].removeprefix(ingress.origin))
    callback = visiting.at_issuer(started.headers["location"], BOB)
    assert callback is not None
    returned = visiting.call_back(callback)
    assert (returned.status_code, returned.headers["location"]) == (303, f"{ingress.origin}{PAGE}")
    assert len(ingress.application.received) == before, "nothing reached the application until now"
    assert visiting.get(PAGE, sec_fetch_mode="navigate").status_code == 200
    assert identity(ingress.application.received[-1])["userInfo"]["username"] == BOB


def test_a_signed_out_script_gets_foyers_401_and_no_redirect(visiting: Browser) -> None:
    answer = visiting.get("/app/data", sec_fetch_mode="cors", sec_fetch_dest="empty")
    assert_refused(answer, 401, "Unauthorized")
    answer = visiting.request("POST", "/app/data", {"content-type": "text/plain"}, b"content")
    assert_refused(answer, 401, "Unauthorized")


def test_somebody_whom_the_api_server_refuses_reads_its_refusal(
    ingress: Ingress, cluster: Cluster, open_browser: OpenBrowser, web: Web, http_version: str
) -> None:
    token = cluster.mint("late@example.com", groups="demo-editors", ttl=-60)
    late = open_browser(http_version, {SESSION: web.sealing.seal(token, time.time() + 600)}, ingress.origin)
    answer = late.get("/app/late", sec_fetch_mode="navigate")
    assert (answer.status_code, INTERRUPTION in answer.headers) == (401, False)
    assert (answer.json()["kind"], answer.json()["reason"]) == ("Status", "Unauthorized")
    assert ingress.received("/app/late") == []


def test_cookies_of_many_kilobytes_pass_nginx_and_the_check(
    alice_there: Browser, ingress: Ingress, http_version: str
) -> None:
    own = "own=" + "1" * 12_000
    target = f"/app/cookies/{http_version[5]}"
    cookies = {"cookie": f"{SESSION}={alice_there.jar.cookies[SESSION]}; {own}"}
    assert alice_there.request("GET", target, cookies).status_code == 200
    [received] = ingress.received(target)
    assert received.all("cookie") == [own]


@pytest.fixture(scope="module")
def cut_off(
    cluster: Cluster, flags: dict[str, str], leaks: Leaks, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ingress]:
    """An ingress whose foyer has an API server that nobody is at home at."""
    there = flags | {"-kubernetes-server": f"https://127.0.0.1:{free_port()}"}
    origin, folder = f"https://127.0.0.1:{free_port()}", tmp_path_factory.mktemp("cut-off")
    with running_ingress(cluster, there, leaks, folder, origin) as ingress:
        yield ingress


def test_without_an_api_server_it_is_foyers_503_and_no_page_of_nginxs(
    cut_off: Ingress, cluster: Cluster, open_browser: OpenBrowser, web: Web, http_version: str
) -> None:
    token = cluster.mint("alone@example.com", groups="demo-editors")
    alone = open_browser(http_version, {SESSION: web.sealing.seal(token, time.time() + 600)}, cut_off.origin)
    assert_refused(alone.get("/app/alone"), 503, "IdentityUnavailable")
    page = alone.get("/app/alone", sec_fetch_mode="navigate", sec_fetch_dest="document", accept="text/html")
    assert (page.status_code, page.headers[INTERRUPTION]) == (503, "IdentityUnavailable")
    assert page.headers["content-type"].startswith("text/html")
    assert cut_off.received("/app/alone") == []


@pytest.mark.parametrize(
    ("path", "whose"),
    [("/auth", "foyer"), ("/k8s/none", "foyer"), ("/_foyer/none", "foyer"), ("/authors", "application")],
)
def test_prefixes_are_whole_segments(
    alice_there: Browser, ingress: Ingress, path: str, whose: str, http_version: str
) -> None:
    target = f"{path}?{http_version[5]}"
    answer = alice_there.get(target)
    assert answer.status_code == (404 if whose == "foyer" else 200)
    assert (INTERRUPTION in answer.headers) is (whose == "foyer")
    assert len(ingress.received(target)) == (whose == "application")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "CSRFProofRequired"),
        ({"x-csrf-token": "other"}, "CSRFProofRequired"),
        ({"x-csrf-token": "the session's", "origin": "https://evil.example"}, "CrossOriginRequest"),
        ({"x-forwarded-method": "GET", "x-http-method-override": "GET"}, "CSRFProofRequired"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_change_without_its_proofs_never_reaches_the_application(
    alice_there: Browser, ingress: Ingress, method: str, fields: dict[str, str], reason: str
) -> None:
    target = f"/app/refused/{method}/{reason}"
    proof = alice_there.proof()
    sent = {name: proof[name] if value == "the session's" else value for name, value in fields.items()}
    assert_refused(alice_there.request(method, target, sent, b"content"), 403, reason)
    assert ingress.received(target) == []


def test_a_change_with_its_proofs_reaches_it_whole(alice_there: Browser, ingress: Ingress) -> None:
    target = f"/app/changed/{alice_there.http_version[5]}"
    content = b"content " * 10_000
    answer = alice_there.request("POST", target, alice_there.proof(), content)
    assert answer.status_code == 200
    assert INTERRUPTION not in answer.headers
    [received] = ingress.received(target)
    assert (received.method, received.content) == ("POST", content)
    assert identity(received)["userInfo"]["username"] == ALICE


def test_a_person_in_chromium_opens_the_application_signs_in_and_is_there(
    page: Page, ingress: Ingress, web: Web
) -> None:
    page.goto(f"{ingress.origin}{PAGE}")
    sign_in_at_dex(page, ALICE)
    page.wait_for_url(f"{ingress.origin}{PAGE}")
    learn_session(page, web)
    assert json.loads(page.locator("body").inner_text()) == {"hello": PAGE}
    assert identity(ingress.received(PAGE)[-1])["userInfo"]["username"] == ALICE

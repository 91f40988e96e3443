"""foyer.js in Chromium, before Dex and the real API server, in both HTTP versions."""

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.e2e.harness.browser import SESSION, Browser, Web
from tests.e2e.harness.chromium import chromium, visitor
from tests.e2e.harness.cluster import CORE, QUIZ, Cluster
from tests.e2e.harness.helper import Sent, call, outcome
from tests.e2e.harness.serving import Foyer
from tests.e2e.harness.waiting import wait_for

CONFIGMAPS = f"{CORE}/configmaps"
CONFIGMAPS_OF_FOYER = f"/k8s{CONFIGMAPS}"

SignIn = Callable[[str], None]


@pytest.fixture
def page(foyer: Foyer, http_version: str, tmp_path: Path) -> Iterator[Page]:
    arguments = ["--disable-http2"] if http_version == "HTTP/1.1" else []
    with chromium(*arguments) as browser, visitor(browser, tmp_path, "last", scripted=True) as page:
        page.goto(f"{foyer.origin}/")
        yield page


def fill_in_dexs_form(page: Page, name: str) -> None:
    page.locator("input[name=login]").fill(f"{name}@example.com")
    page.locator("input[name=password]").fill("password")
    page.locator("button[type=submit]").click()


@pytest.fixture
def sign_in(page: Page, foyer: Foyer, web: Web) -> SignIn:
    """Goes to sign in with the helper, fills in Dex's form and is back."""

    def sign_in(name: str) -> None:
        call(page, "void requireSession()")
        fill_in_dexs_form(page, name)
        page.wait_for_url(f"{foyer.origin}/")
        (value,) = [kept["value"] for kept in page.context.cookies() if kept["name"] == SESSION]
        web.sealing.open(value)  # its secrets are searched for from now on

    return sign_in


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_an_editor_reads_creates_changes_and_deletes(page: Page, sign_in: SignIn, http_version: str) -> None:
    sign_in("alice")
    assert call(page, "requireSession()")["email"] == "alice@example.com"
    name = f"helper-{http_version[-1]}"
    path = f"{CONFIGMAPS}/{name}"
    assert outcome(page, CONFIGMAPS, method="POST", body=configmap(name, a="1")) == ("ok", 201, "")
    assert outcome(page, CONFIGMAPS, method="POST", body=configmap(name)) == (
        "conflict",
        409,
        "AlreadyExists",
    )
    seen = call(page, "k8s(it)", path)["content"]
    assert outcome(page, path, method="PATCH", body={"data": {"b": "2"}})[0] == "ok"
    assert outcome(page, path, method="PUT", body=seen) == ("conflict", 409, "Conflict")
    operations = [{"op": "remove", "path": "/data/a"}]
    assert call(page, "k8s(...it)", [path, {"method": "PATCH", "body": operations}])["content"]["data"] == {
        "b": "2"
    }
    assert outcome(page, path, method="DELETE")[0] == "ok"
    assert outcome(page, path) == ("missing", 404, "NotFound")


def test_what_breaks_the_rules_is_invalid_with_its_causes(page: Page, sign_in: SignIn) -> None:
    sign_in("alice")
    answer = call(page, "k8s(...it)", [CONFIGMAPS, {"method": "POST", "body": configmap("Not a name")}])
    assert (answer["outcome"], answer["reason"]) == ("invalid", "Invalid")
    assert answer["content"]["details"]["causes"][0]["field"] == "metadata.name"
    assert answer["interruption"] is None


def test_readers_and_strangers_are_refused_in_the_api_servers_words(page: Page, sign_in: SignIn) -> None:
    sign_in("bob")
    assert outcome(page, QUIZ)[0] == "ok"
    answer = call(page, "k8s(...it)", [CONFIGMAPS, {"method": "POST", "body": configmap("bobs")}])
    assert (answer["outcome"], answer["reason"], answer["interruption"]) == ("refused", "Forbidden", None)
    assert 'User "bob@example.com" cannot create resource "configmaps"' in answer["message"]
    assert outcome(page, f"{CORE}/secrets?watch=1") == ("refused", 403, "Forbidden")
    call(page, "void logout('/')")
    page.wait_for_function("async () => (await fetch('/auth/session')).status === 401")
    assert outcome(page, QUIZ) == ("signed-out", 401, "Unauthorized")


def test_a_watch_brings_what_others_change_until_the_session_ends(
    page: Page, sign_in: SignIn, cluster: Cluster
) -> None:
    sign_in("bob")
    call(
        page,
        """k8s(it).then(({ response }) => {
            window.events = [];
            window.ended = null;
            (async () => {
                const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
                for (let rest = "";;) {
                    const { value, done } = await reader.read();
                    if (done) return "clean";
                    const lines = (rest + value).split("\\n");
                    rest = lines.pop();
                    window.events.push(...lines.map((line) => JSON.parse(line)));
                }
            })().catch((error) => error.name).then((ending) => { window.ended = ending; });
        })""",
        f"{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Dsettings-2",
    )
    tick = cluster.tick("settings-2")
    page.wait_for_function("(tick) => window.events.at(-1)?.object.data.tick === tick", arg=tick)
    other = page.context.new_page()
    other.goto(page.url)
    call(other, "void logout('/')")
    page.wait_for_function("window.ended === 'TypeError'")


def test_a_refusal_of_priority_and_fairness_is_its_message_and_says_when_to_try_again(
    page: Page, foyer: Foyer, eve: Browser
) -> None:
    """She has one place, and an upload holds it. In her browser the helper asks for a second."""
    name = f"eves-{uuid.uuid4().hex}"
    upload = eve.upload("POST", CONFIGMAPS_OF_FOYER)
    page.context.add_cookies(
        [{"name": SESSION, "value": eve.jar.cookies[SESSION], "url": foyer.origin, "secure": True}]
    )

    def refused() -> Any:
        answer = call(page, "k8s(it)", CONFIGMAPS)
        return answer if answer["outcome"] == "error" else None

    answer = wait_for("a refusal", refused)
    upload.send(json.dumps(configmap(name)).encode())
    assert upload.finish().status_code == 201
    assert (answer["status"], answer["reason"], answer["interruption"]) == (429, "", None)
    assert answer["message"].startswith("Too many requests")
    assert answer["retryAfter"] == 1


def test_a_change_with_an_old_proof_reaches_the_api_server_once(
    page: Page, sign_in: SignIn, foyer: Foyer, cluster: Cluster
) -> None:
    sign_in("alice")
    old = call(page, "session()")["csrfToken"]
    other = page.context.new_page()
    other.goto(f"{foyer.origin}/auth/login")
    fill_in_dexs_form(other, "alice")
    other.wait_for_url(f"{foyer.origin}/")
    assert call(other, "session()")["csrfToken"] != old
    sent, audit = Sent(page), cluster.audit()
    answer = call(
        page,
        "k8s(...it).then(({ outcome, response }) => [outcome, response.headers.get('Audit-Id')])",
        [f"{CONFIGMAPS}?dryRun=All", {"method": "POST", "body": configmap("once")}],
    )
    assert answer[0] == "ok"
    assert [line.split()[0] for line in sent.lines()] == ["POST", "GET", "POST"]
    audit.of(answer[1])
    assert audit.uris().count(f"{CONFIGMAPS}?dryRun=All") == 1

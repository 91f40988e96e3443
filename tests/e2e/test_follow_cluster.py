"""A page that follows ConfigMaps with foyer.js, before Dex and the real API server, in both HTTP versions."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.e2e.harness.browser import SESSION, Web
from tests.e2e.harness.chromium import chromium, visitor
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.followed import SCOPE, Followed
from tests.e2e.harness.helper import call, outcome
from tests.e2e.harness.serving import Foyer
from tests.e2e.harness.waiting import wait_for

CONFIGMAPS = f"{CORE}/configmaps"
SECRETS = SCOPE | {"resource": "secrets"}

SignIn = Callable[[str], None]


@pytest.fixture
def page(foyer: Foyer, http_version: str, tmp_path: Path) -> Iterator[Page]:
    arguments = ["--disable-http2"] if http_version == "HTTP/1.1" else []
    errors: list[str] = []
    with chromium(*arguments) as browser, visitor(browser, tmp_path, "last", scripted=True) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.clock.install()
        page.goto(f"{foyer.origin}/")
        yield page
    assert errors == []


@pytest.fixture
def sign_in(page: Page, foyer: Foyer, web: Web) -> SignIn:
    """Through Dex's form, and back."""

    def sign_in(name: str) -> None:
        page.goto(f"{foyer.origin}/auth/login?return_to=/")
        page.locator("input[name=login]").fill(f"{name}@example.com")
        page.locator("input[name=password]").fill("password")
        page.locator("button[type=submit]").click()
        page.wait_for_url(f"{foyer.origin}/")
        (value,) = [kept["value"] for kept in page.context.cookies() if kept["name"] == SESSION]
        web.sealing.open(value)  # its secrets are searched for from now on

    return sign_in


def shows(page: Page, name: str, tick: str) -> None:
    """Waits until the page shows this of a ConfigMap."""
    page.wait_for_function(
        """([name, tick]) => Object.values(followed.calls.at(-1).objects)
            .some(({ metadata, data }) => metadata.name === name && data?.tick === tick)""",
        arg=[name, tick],
    )


def names(told: dict[str, Any]) -> list[str]:
    return sorted(shown["metadata"]["name"] for shown in told["objects"].values())


def test_a_page_shows_what_there_is_and_what_others_change(
    page: Page, sign_in: SignIn, cluster: Cluster
) -> None:
    sign_in("bob")
    followed = Followed(page)
    told = followed.until("live")
    there = cluster.get(CONFIGMAPS)["items"]
    assert names(told) == sorted(item["metadata"]["name"] for item in there)
    assert all("managedFields" not in shown["metadata"] for shown in told["objects"].values())
    for name in ("settings-1", "settings-2"):
        shows(page, name, cluster.tick(name))
    assert followed.states() == ["connecting", "live"]


def test_a_page_shows_its_own_changes_and_a_conflict_is_one(
    page: Page, sign_in: SignIn, cluster: Cluster
) -> None:
    sign_in("alice")
    followed = Followed(page, SCOPE | {"name": "settings-3"})
    (shown,) = followed.until("live")["objects"].values()
    path = f"{CONFIGMAPS}/settings-3"
    change = {"metadata": {"resourceVersion": shown["metadata"]["resourceVersion"]}, "data": {"tick": "mine"}}
    assert outcome(page, path, method="PATCH", body=change)[0] == "ok"
    shows(page, "settings-3", "mine")
    assert outcome(page, path, method="PATCH", body=change) == ("conflict", 409, "Conflict")
    (shown,) = followed.calls()[-1]["objects"].values()
    change["metadata"]["resourceVersion"] = shown["metadata"]["resourceVersion"]
    assert outcome(page, path, method="PATCH", body=change | {"data": {"tick": "again"}})[0] == "ok"
    shows(page, "settings-3", "again")


def test_who_may_not_is_told_so_in_the_api_servers_words(page: Page, sign_in: SignIn) -> None:
    sign_in("bob")
    told = Followed(page, SECRETS, name="refused").until("refused")
    assert told["reason"] == "FORBIDDEN"
    assert 'User "bob@example.com" cannot' in told["message"]
    invalid = Followed(page, SCOPE | {"projection": "no-such/v1"}, name="invalid").until("invalid")
    assert invalid["reason"] == "SCOPE_INVALID"


def test_secrets_come_without_their_values_and_say_so(page: Page, sign_in: SignIn) -> None:
    sign_in("alice")
    told = Followed(page, SECRETS | {"name": "demo-secret"}).until("live")
    ((uid, secret),) = told["objects"].items()
    assert "data" not in secret
    assert told["redacted"][uid]
    assert all(redaction["path"].startswith("/data/") for redaction in told["redacted"][uid])


def test_a_page_outlives_a_foyer_that_is_killed_and_shows_what_was_missed(
    page: Page, sign_in: SignIn, foyer: Foyer, cluster: Cluster
) -> None:
    sign_in("bob")
    followed = Followed(page)
    before = followed.until("live")
    foyer.signal(signal.SIGKILL)
    waiting = followed.until("waiting")
    assert names(waiting) == names(before), "what was shown stays"
    tick = cluster.tick("settings-4")
    foyer.restart()
    shows(page, "settings-4", tick)
    assert followed.states()[-1] == "live"
    shows(page, "settings-4", cluster.tick("settings-4"))


def test_a_page_outlives_an_api_server_that_is_restarted(
    page: Page, sign_in: SignIn, cluster: Cluster
) -> None:
    sign_in("bob")
    followed = Followed(page)
    before = followed.until("live")
    cluster.down("apiserver")
    try:
        followed.until("waiting")
        assert names(followed.calls()[-1]) == names(before)
        # For a moment after its start the API server knows no roles and forbids everybody everything, which
        # would be final: a cluster sends nobody to one that is not ready, and nor does this page's clock.
        page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    finally:
        cluster.up()
    wait_for("his role", lambda: outcome(page, CONFIGMAPS)[0] == "ok")
    tick = cluster.tick("settings-5")

    def shown() -> bool:
        if followed.now()["state"] == "waiting":
            page.clock.run_for(46_000)  # foyer's hint may be half a minute
        told = followed.calls()[-1]["objects"].values()
        return any(shown.get("data", {}).get("tick") == tick for shown in told)

    wait_for("what was changed meanwhile", shown, within=60)
    assert followed.states()[-1] == "live"


def test_a_sign_out_in_one_tab_ends_the_streams_of_another_which_says_so(
    page: Page, sign_in: SignIn, foyer: Foyer
) -> None:
    sign_in("bob")
    followed = Followed(page)
    followed.until("live")
    other = page.context.new_page()
    other.goto(f"{foyer.origin}/")
    call(other, "void logout('/')")
    followed.until("signed-out")
    assert followed.now()["state"] == "signed-out"

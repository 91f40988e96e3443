"""Signing in through Dex's own form, and out again (spec 02)."""

from datetime import datetime
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.e2e.harness.answers import assert_interrupted, assert_passed
from tests.e2e.harness.browser import SESSION, Browser, Ending, OpenBrowser, Web
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.sealing import expiry
from tests.e2e.harness.serving import Foyer

ALICE, BOB = "alice@example.com", "bob@example.com"
CONFIGMAPS = f"/k8s{CORE}/configmaps"


def test_a_person_signs_in_through_dexs_own_form_and_lands_on_exactly_the_return_path(
    browser: Browser,
) -> None:
    answer = browser.sign_in(ALICE, return_to="/notes?a=1&b=%2F%7E#top")
    assert answer.status_code == 303
    assert answer.headers["location"].removeprefix(browser.origin) == "/notes?a=1&b=%2F%7E#top"
    assert answer.headers["cache-control"] == "no-store"
    assert_passed(browser.get(CONFIGMAPS))


def test_the_session_cookie_is_for_this_origin_alone_and_lives_as_long_as_the_session(
    browser: Browser,
) -> None:
    lines = browser.sign_in(ALICE).headers.get_list("set-cookie")
    (line,) = [line for line in lines if line.startswith(f"{SESSION}=")]
    attributes = {
        part.strip().lower().partition("=")[0]: part.strip().partition("=")[2] for part in line.split(";")
    }
    assert {"secure", "httponly", "path", "samesite", "max-age"} <= attributes.keys()
    assert (attributes["path"], attributes["samesite"].lower()) == ("/", "lax")
    assert "domain" not in attributes
    assert 3500 < int(attributes["max-age"]) <= 3600, "Dex's ID tokens live for an hour"


def test_the_login_asks_for_a_code_with_pkce_state_and_nonce(browser: Browser) -> None:
    query = parse_qs(urlsplit(browser.start_login()).query)
    assert query["response_type"] == ["code"]
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [f"{browser.origin}/auth/callback"]
    assert query["scope"][0].split() == ["openid", "email", "profile", "groups"]
    assert len({*query["state"], *query["nonce"], *query["code_challenge"]}) == 3


def test_the_session_says_who_is_signed_in_by_the_claims_of_dex(alice: Browser, cluster: Cluster) -> None:
    session = alice.session()
    assert session["authenticated"] is True
    assert session["issuer"] == cluster.env["OIDC_ISSUER"]
    assert (session["email"], session["displayName"]) == (ALICE, "alice")
    assert session["groups"] == ["demo-editors", "team-a"]
    assert session["csrfHeader"].lower() == "x-csrf-token"
    assert alice.get("/auth/session").headers["cache-control"] == "no-store"


def test_the_session_ends_when_its_id_token_does(alice: Browser, web: Web) -> None:
    """Dex's tokens live for an hour, foyer's sessions for eight at most."""
    sealed = web.sealing.open(alice.jar.cookies[SESSION])
    assert sealed.ends_at == expiry(sealed)
    assert datetime.fromisoformat(alice.session()["expiresAt"]).timestamp() == sealed.ends_at


def test_without_a_session_nobody_is_authenticated(browser: Browser) -> None:
    answer = browser.get("/auth/session")
    assert (answer.status_code, answer.json()) == (401, {"authenticated": False})


def test_a_wrong_password_is_dexs_to_refuse_and_leaves_no_session(browser: Browser) -> None:
    assert browser.at_issuer(browser.start_login(), ALICE, "not-the-password") is None
    assert SESSION not in browser.jar.cookies
    assert browser.get("/auth/session").status_code == 401


def test_a_callback_counts_once(browser: Browser) -> None:
    callback = browser.at_issuer(browser.start_login(), ALICE)
    assert callback is not None
    assert browser.call_back(callback).status_code == 303
    session = browser.jar.cookies[SESSION]
    again = browser.get(callback)
    assert (again.status_code, again.json()["reason"]) == (400, "login-not-in-progress")
    assert browser.jar.cookies[SESSION] == session


def test_a_callback_in_a_browser_that_did_not_start_the_login_is_refused(
    open_browser: OpenBrowser, http_version: str
) -> None:
    victim, attacker = open_browser(http_version), open_browser(http_version)
    callback = attacker.at_issuer(attacker.start_login(), BOB)
    assert callback is not None
    victim.start_login()
    answer = victim.get(callback)
    assert (answer.status_code, answer.json()["reason"]) == (400, "login-not-in-progress")
    assert SESSION not in victim.jar.cookies


def test_an_error_from_the_issuer_is_told_without_its_words(browser: Browser, foyer: Foyer) -> None:
    lines = len(foyer.log)
    state = parse_qs(urlsplit(browser.start_login()).query)["state"][0]
    words = "error=access_denied&error_description=Call+0800-EVIL&error_uri=https%3A%2F%2Fevil.example%2F"
    answer = browser.get(f"/auth/callback?{words}&state={quote(state)}")
    assert (answer.status_code, answer.json()["reason"]) == (400, "issuer-refused")
    assert "EVIL" not in answer.text
    assert "evil.example" not in answer.text
    line = foyer.logged("login refused", lambda line: line["msg"] == "login refused", lines)
    assert "EVIL" not in str(line)
    assert "evil.example" not in str(line)


def test_three_tabs_sign_in_in_any_order(browser: Browser) -> None:
    tabs = [browser.at_issuer(browser.start_login(f"/tab-{i}"), ALICE) for i in (1, 2, 3)]
    for i in (2, 1, 3):
        callback = tabs[i - 1]
        assert callback is not None
        answer = browser.call_back(callback)
        assert answer.status_code == 303
        assert answer.headers["location"].removeprefix(browser.origin) == f"/tab-{i}"
    assert list(browser.jar.cookies) == [SESSION], "no login is left in progress"


@pytest.mark.parametrize(
    "return_to", ["//evil.example", "/\\evil.example", "https://evil.example/", "", "/" + "a" * 2048, "/\t/e"]
)
def test_a_return_path_elsewhere_is_refused_before_dex_is_asked(browser: Browser, return_to: str) -> None:
    answer = browser.get(f"/auth/login?return_to={quote(return_to, safe='')}")
    assert (answer.status_code, answer.json()["reason"]) == (400, "return-path-not-local")
    assert "location" not in answer.headers
    assert browser.jar.cookies == {}


def test_logout_ends_the_open_watch_at_once_and_the_session_in_this_browser(
    browser: Browser, cluster: Cluster
) -> None:
    browser.sign_in(ALICE)
    audit = cluster.audit()
    watch = browser.watch(f"{CONFIGMAPS}?watch=1")
    answer = browser.change("POST", "/auth/logout")
    assert answer.status_code == 204
    assert watch.ending(within=1) is Ending.ABORTED
    assert SESSION not in browser.jar.cookies
    audit.of(watch.headers["audit-id"], within=2)
    assert_interrupted(browser.get(CONFIGMAPS), 401, "Unauthorized")


def test_logout_leaves_other_sessions_and_copies_of_the_cookie_alone(
    open_browser: OpenBrowser, http_version: str, bob: Browser, cluster: Cluster
) -> None:
    one = open_browser(http_version)
    one.sign_in(ALICE)
    copied = open_browser(http_version, dict(one.jar.cookies))
    other = bob.watch(f"{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Dsettings-1")
    one.change("POST", "/auth/logout")
    assert_passed(copied.get(CONFIGMAPS))
    late = copied.watch(f"{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Dsettings-1")
    tick = cluster.tick("settings-1")
    for watch in (other, late):
        while watch.event()["object"]["data"].get("tick") != tick:
            pass
        assert watch.is_open()


def test_logout_without_its_csrf_proof_ends_nothing(browser: Browser) -> None:
    browser.sign_in(ALICE)
    watch = browser.watch(f"{CONFIGMAPS}?watch=1")
    answer = browser.request("POST", "/auth/logout", {"origin": browser.origin})
    assert_interrupted(answer, 403, "CSRFProofRequired")
    assert browser.get("/auth/session").status_code == 200
    assert watch.is_open()


def test_a_new_login_has_a_new_csrf_token_and_ends_what_the_old_session_had_open(browser: Browser) -> None:
    browser.sign_in(ALICE)
    before = browser.session()
    watch = browser.watch(f"{CONFIGMAPS}?watch=1")
    browser.sign_in(BOB)
    assert watch.ending(within=1) is Ending.ABORTED
    after = browser.session()
    assert after["email"] == BOB
    assert after["csrfToken"] != before["csrfToken"]


def test_a_session_survives_a_restart_of_foyer_and_a_login_in_progress_does_not(
    browser: Browser, foyer: Foyer
) -> None:
    browser.sign_in(ALICE)
    callback = browser.at_issuer(browser.start_login(), ALICE)
    assert callback is not None
    browser.close()
    foyer.restart()
    assert_passed(browser.get(CONFIGMAPS))
    answer = browser.get(callback)
    assert (answer.status_code, answer.json()["reason"]) == (400, "login-not-in-progress")
    assert browser.sign_in(ALICE).status_code == 303

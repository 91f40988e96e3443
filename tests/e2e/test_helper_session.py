"""foyer.js in Chromium, before the demo: who is signed in, signing in and out."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Error, Page

from tests.e2e.harness.demo import ADA, BOB, NOTES, choose
from tests.e2e.harness.helper import Instead, Script, Scripted, Sent, Visit, call, outcome

LOGIN = "**/auth/login**"
SIGNED_OUT = Scripted(401, '{"authenticated": false}')
NO_CONTENT = Scripted(204)
"""What a browser that navigates takes as: stay where you are."""


def session_of(subject: str, token: str = "a-proof") -> Scripted:
    found = {"authenticated": True, "issuer": "https://issuer.test", "subject": subject}
    return Scripted(200, json.dumps(found | {"csrfHeader": "X-CSRF-Token", "csrfToken": token}))


# session()


def test_session_says_that_nobody_is_signed_in(visit: Visit) -> None:
    assert call(visit(), "session()") == {"authenticated": False}


def test_session_says_who_it_is_and_holds_no_token(visit: Visit) -> None:
    found = call(visit(ADA), "session()")
    assert (found["authenticated"], found["email"], found["displayName"]) == (True, ADA, "Ada Editor")
    assert found["csrfHeader"] == "X-CSRF-Token"
    assert not re.search(r"eyJ", json.dumps(found))


def test_those_who_ask_at_once_share_a_request_and_who_asks_later_has_another(visit: Visit) -> None:
    page = visit(ADA)
    sent = Sent(page)
    assert call(page, "Promise.all([session(), session(), session()]).then((all) => new Set(all).size)") == 1
    assert sent.lines("/auth") == ["GET /auth/session"]
    call(page, "session()")
    assert sent.lines("/auth") == ["GET /auth/session"] * 2


@pytest.mark.parametrize(
    ("answer", "status", "reason", "retry_after"),
    [
        (Instead.NOBODY, 0, "Unreachable", None),
        (
            Scripted(
                503,
                '{"kind": "Status", "reason": "Overloaded", "message": "Too much."}',
                fields={"Krm-Foyer-Interruption": "Overloaded", "Retry-After": "2"},
            ),
            503,
            "Overloaded",
            2,
        ),
        (Scripted(200, "<!doctype html>", "text/html"), 200, "Unreadable", None),
        (Scripted(401, "<h1>Who?</h1>", "text/html; charset=utf-8"), 401, "Unreadable", None),
        (Scripted(200, '{"authenticated": "yes"}'), 200, "Unreadable", None),
        (Scripted(200, "null"), 200, "Unreadable", None),
        (Scripted(200, "{"), 200, "Unreadable", None),
    ],
)
def test_session_rejects_with_the_answer_where_there_is_no_usable_one(
    visit: Visit, answer: Scripted | Instead, status: int, reason: str, retry_after: int | None
) -> None:
    page = visit()
    Script(page, "**/auth/session", answer, SIGNED_OUT)
    rejected = call(
        page,
        "session().catch((e) => [e.name, e instanceof FoyerError, e.message, {...e.answer, response: 0}])",
    )
    assert rejected[:2] == ["FoyerError", True]
    assert rejected[2] == rejected[3]["message"] != ""
    assert rejected[3]["outcome"] == "error"
    assert [rejected[3][name] for name in ("status", "reason", "retryAfter")] == [status, reason, retry_after]
    assert call(page, "session()") == {"authenticated": False}, "and asks anew the next time"


def test_a_base_of_the_page_leads_nothing_elsewhere(visit: Visit) -> None:
    page = visit(ADA)
    page.evaluate("document.head.innerHTML = '<base href=https://elsewhere.test/>'")
    sent = Sent(page)
    call(page, "k8s('/version')")
    assert sent.lines("/k8s") == ["GET /k8s/version"]
    assert {urlsplit(request.url).hostname for request in sent.requests} == {"127.0.0.1"}


# login()


def test_login_comes_back_to_the_address_with_its_query_and_fragment(demo: str, visit: Visit) -> None:
    page = visit()
    address = f"{demo}/blank?list=a%20b&next=https://e.test/#part/2"
    page.goto(address)
    call(page, "login()")
    choose(page, ADA)
    page.wait_for_url(address)
    assert call(page, "session()")["email"] == ADA


@pytest.mark.parametrize(
    ("return_to", "path"),
    [
        ("/", "/"),
        ("/list?a=b#c", "/list?a=b#c"),
        ("other", "/other"),
        ("?page=2", "/blank?page=2"),
        ("/a\\b?c=\\d#\\e", "/a/b?c=%5Cd#%5Ce"),
        ("/ü ?ü#ü", "/%C3%BC%20?%C3%BC#%C3%BC"),
        ("/./\t/e", "/"),
        ("/" + "a" * 2047, "/" + "a" * 2047),
        ("/" + "a" * 2048, "/"),
    ],
)
def test_login_takes_any_address_of_the_origin_and_puts_it_as_foyer_takes_it(
    visit: Visit, return_to: str, path: str
) -> None:
    page = visit()
    Script(page, LOGIN, NO_CONTENT)
    with page.expect_request(LOGIN) as asked:
        call(page, "login(it)", return_to)
    assert parse_qs(urlsplit(asked.value.url).query) == {"return_to": [path]}


@pytest.mark.parametrize("return_to", ["https://elsewhere.test/", "//elsewhere.test", "javascript:alert(1)"])
def test_login_returns_nowhere_else(visit: Visit, return_to: str) -> None:
    page = visit()
    with pytest.raises(Error, match="TypeError: login returns to an address of this origin"):
        call(page, "login(it)", return_to)


# requireSession()


def test_a_signed_out_page_goes_to_sign_in_and_back_and_is_not_there_twice(demo: str, visit: Visit) -> None:
    page = visit()
    page.goto(f"{demo}/notes.svg")
    address = f"{demo}/blank?a=b#c"
    page.goto(address)
    call(page, "void requireSession()")
    page.wait_for_url("**/issuer/**")
    page.go_back()
    assert page.url == f"{demo}/notes.svg", "not to the page that would go to sign in again"
    page.go_forward()
    choose(page, BOB)
    page.wait_for_url(address)
    assert call(page, "requireSession()")["email"] == BOB


def test_what_the_page_does_after_requiring_a_session_waits_for_one(visit: Visit) -> None:
    page = visit()
    Script(page, LOGIN, NO_CONTENT)
    with page.expect_request(LOGIN):
        call(page, "void requireSession().finally(() => (window.went = 'on'))")
    assert page.evaluate("window.went") is None


def test_a_browser_that_stays_signed_out_does_not_go_round_for_ever(demo: str, visit: Visit) -> None:
    page = visit()
    Script(page, LOGIN, NO_CONTENT)
    sent = Sent(page)
    for times in range(1, 4):
        page.goto(f"{demo}/blank?{times}")
        with page.expect_request(LOGIN):
            call(page, "void [requireSession(), requireSession()]")
        assert len(sent.lines("/auth/login")) == times, "two parts of a page that ask go once"
    page.goto(f"{demo}/blank?4")
    told = call(page, "requireSession().catch((e) => [e.answer.outcome, e.answer.reason])")
    assert told == ["error", "SignInLoop"]
    assert len(sent.lines("/auth/login")) == 3


def test_signing_in_ends_the_count(demo: str, visit: Visit) -> None:
    page = visit(ADA)
    Script(page, LOGIN, NO_CONTENT)
    sent = Sent(page)
    Script(page, "**/auth/session", *(SIGNED_OUT, Instead.SERVER) * 4)
    for times in range(4):
        page.goto(f"{demo}/blank?signed-out-{times}")
        with page.expect_request(LOGIN):
            call(page, "void requireSession()")
        page.goto(f"{demo}/blank?signed-in-{times}")
        assert call(page, "requireSession()")["email"] == ADA
    assert len(sent.lines("/auth/login")) == 4


COME_BACK = "window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"


@pytest.mark.parametrize("now", [SIGNED_OUT, session_of("somebody else")])
def test_a_page_brought_back_to_another_person_loads_again(visit: Visit, now: Scripted) -> None:
    """Chromium under Playwright puts no page away: the event is the browser's, told by hand."""
    page = visit()
    Script(page, "**/auth/session", session_of("ada"), now)
    call(page, "requireSession()")
    with page.expect_navigation():
        page.evaluate(COME_BACK)


@pytest.mark.parametrize("now", [session_of("ada", "a-newer-proof"), Instead.NOBODY])
def test_a_page_brought_back_to_the_same_person_stays(visit: Visit, now: Scripted | Instead) -> None:
    page = visit()
    session = Script(page, "**/auth/session", session_of("ada"), now)
    call(page, "requireSession()")
    page.evaluate("window.mine = 'still here'")
    with page.expect_event("requestfinished" if isinstance(now, Scripted) else "requestfailed"):
        page.evaluate(COME_BACK)
    assert call(page, "window.mine") == "still here"
    assert len(session.requests) == 2


def test_a_page_that_requires_no_session_does_not_ask_when_it_is_brought_back(visit: Visit) -> None:
    page = visit()
    call(page, "session()")
    sent = Sent(page)
    page.evaluate(COME_BACK)
    call(page, "k8s('/version')")
    assert sent.lines() == ["GET /k8s/version"]


# logout()


def signed_in_by_hand(page: Page, demo: str, person: str) -> None:
    page.goto(f"{demo}/auth/login?return_to=/blank")
    choose(page, person)
    page.wait_for_url(f"{demo}/blank")


def test_logout_ends_the_session_and_leaves_for_the_confirmation(demo: str, visit: Visit) -> None:
    page = visit()
    signed_in_by_hand(page, demo, ADA)
    other = page.context.new_page()
    other.goto(f"{demo}/blank")
    with other.expect_request("**/notes?watch=1"):
        other.evaluate("window.watch = import('/_foyer/foyer.js')")
        watching = f"k8s('{NOTES}?watch=1', {{ stream: false }}).then((answer) => (window.ended = answer))"
        call(other, f"void ({watching})")
    call(page, "void logout()")
    page.wait_for_url(f"{demo}/auth/logged-out")
    other.wait_for_function("window.ended")
    assert other.evaluate("[ended.outcome, ended.reason]") == ["error", "CutShort"]
    assert outcome(other, NOTES) == ("signed-out", 401, "Unauthorized")
    assert call(other, "session()") == {"authenticated": False}


def test_logout_takes_the_place_of_the_page_that_showed_something(demo: str, visit: Visit) -> None:
    page = visit()
    signed_in_by_hand(page, demo, ADA)
    before = page.evaluate("history.length")
    call(page, "void logout('/blank?bye')")
    page.wait_for_url(f"{demo}/blank?bye")
    assert page.evaluate("history.length") == before


def test_logout_goes_to_an_address_elsewhere_too(visit: Visit) -> None:
    """An issuer's end-session endpoint, say."""
    page = visit()
    Script(page, "https://issuer.test/**", Scripted(200, "Bye.", "text/plain"))
    call(page, "void logout('https://issuer.test/end?client_id=foyer')")
    page.wait_for_url("https://issuer.test/end?client_id=foyer")


@pytest.mark.parametrize("next_", ["javascript:alert(1)", "data:text/html,hello", "blob:https://e/1"])
def test_logout_goes_to_nothing_that_would_run_here(visit: Visit, next_: str) -> None:
    page = visit(ADA)
    sent = Sent(page)
    with pytest.raises(Error, match=r"TypeError: logout goes to an http\(s\) address"):
        call(page, "logout(it)", next_)
    assert "POST /auth/logout" not in sent.lines("/auth")


def test_logout_that_does_not_reach_foyer_says_so_and_stays(demo: str, visit: Visit) -> None:
    page = visit(ADA)
    Script(page, "**/auth/logout", Instead.NOBODY)
    answer = call(page, "logout()")
    assert (answer["outcome"], answer["reason"]) == ("error", "Unreachable")
    assert page.url == f"{demo}/blank"
    assert call(page, "session()")["email"] == ADA


def test_logout_needs_nobody_to_be_signed_in(demo: str, visit: Visit) -> None:
    page = visit()
    sent = Sent(page)
    call(page, "void logout()")
    page.wait_for_url(f"{demo}/auth/logged-out")
    assert "POST /auth/logout" not in sent.lines("/auth")


def test_logout_signs_out_whoever_has_signed_in_since(demo: str, visit: Visit) -> None:
    page = visit()
    signed_in_by_hand(page, demo, ADA)
    call(page, "session()")
    other = page.context.new_page()
    signed_in_by_hand(other, demo, BOB)
    call(page, "void logout()")
    page.wait_for_url(f"{demo}/auth/logged-out")
    assert call(other, "session()") == {"authenticated": False}

"""`foyer demo` in a real browser, in both HTTP versions. It needs no cluster."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.harness.chromium import chromium, visitor
from tests.e2e.harness.demo import ADA, BOB, choose

Open = Callable[[str], Page]


@pytest.fixture
def open_page(demo: str, http_version: str, tmp_path: Path) -> Iterator[Open]:
    """Opens the demo in a window of its own, and lets no page of it fail or ask elsewhere unseen."""
    arguments = ["--disable-http2"] if http_version == "HTTP/1.1" else []
    errors: list[str] = []
    hosts: set[str] = set()
    with ExitStack() as windows:
        browser = windows.enter_context(chromium(*arguments))

        def open_page(name: str) -> Page:
            page = windows.enter_context(visitor(browser, tmp_path, name))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda request: hosts.add(request.url.split("/")[2].partition(":")[0]))
            page.goto(demo)
            return page

        yield open_page
    assert errors == []
    assert hosts == {"127.0.0.1"}


def sign_in(page: Page, person: str) -> None:
    page.get_by_role("link", name="Sign in").click()
    choose(page, person)
    expect(page.get_by_text(person)).to_be_visible()


def add_note(page: Page, text: str) -> None:
    page.get_by_label("New note").fill(text)
    page.get_by_role("button", name="Add").click()


def note(page: Page, text: str) -> Locator:
    return page.get_by_role("listitem").filter(has_text=text)


def test_a_change_made_in_one_window_appears_in_another_until_its_owner_signs_out(
    demo: str, open_page: Open, http_version: str
) -> None:
    ada, bob = open_page("ada"), open_page("bob")
    for page, person in ((ada, ADA), (bob, BOB)):
        expect(page.get_by_text("Nobody is signed in")).to_be_visible()
        sign_in(page, person)
        expect(page.get_by_role("status")).to_contain_text("Live")
        assert page.get_by_role("listitem").count() > 0, "the demo comes with notes"

    text = f"Water the plants over {http_version}"
    add_note(ada, text)
    expect(note(bob, text)).to_be_visible()
    note(ada, text).get_by_role("checkbox").check()
    expect(note(bob, text).get_by_role("checkbox")).to_be_checked()
    note(ada, text).get_by_role("button", name="Delete").click()
    expect(note(bob, text)).to_have_count(0)

    ada.get_by_role("button", name="Sign out").click()
    ada.wait_for_url(f"{demo}/auth/logged-out")
    ada.goto(demo)
    expect(ada.get_by_text("Nobody is signed in")).to_be_visible()
    expect(bob.get_by_role("status")).to_contain_text("Live")


def test_a_reader_sees_the_refusal_of_kubernetes_as_it_is(open_page: Open, http_version: str) -> None:
    bob = open_page("bob")
    sign_in(bob, BOB)
    add_note(bob, f"Not mine to write over {http_version}")
    expect(bob.get_by_role("alert")).to_contain_text("403 Forbidden")
    expect(bob.get_by_role("alert")).to_contain_text('User "bob@example.com" cannot create resource "notes"')


def test_who_edits_what_somebody_else_has_changed_is_told_409(open_page: Open, http_version: str) -> None:
    one, other = open_page("one"), open_page("other")
    sign_in(one, ADA)
    sign_in(other, ADA)
    text = f"Written twice over {http_version}"
    add_note(one, text)
    note(one, text).get_by_role("button", name="Edit").click()
    expect(note(other, text)).to_be_visible()
    note(other, text).get_by_role("checkbox").check()
    expect(note(one, text).get_by_role("checkbox")).to_be_checked()
    expect(note(one, text).get_by_role("status")).to_contain_text("Somebody has changed this note")
    mine = f"Too late over {http_version}"
    note(one, text).get_by_role("textbox").fill(mine)
    note(one, text).get_by_role("button", name="Save").click()
    expect(one.get_by_role("alert")).to_contain_text("409 Conflict")
    expect(note(one, text).get_by_role("textbox")).to_have_value(mine)
    note(one, text).get_by_role("button", name="Save").click()
    expect(note(other, mine).get_by_role("checkbox")).to_be_checked()
    expect(one.get_by_role("alert")).to_be_hidden()
    note(other, mine).get_by_role("button", name="Delete").click()
    expect(note(one, mine)).to_have_count(0)


def test_a_sign_out_in_one_tab_ends_the_stream_of_another_which_says_so(demo: str, open_page: Open) -> None:
    page = open_page("ada")
    sign_in(page, ADA)
    expect(page.get_by_role("status")).to_contain_text("Live")
    tab = page.context.new_page()
    tab.goto(demo)
    tab.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Nobody is signed in")).to_be_visible()
    expect(page.get_by_role("listitem")).to_have_count(0)


def test_who_signs_in_in_another_tab_has_the_page_and_nothing_of_who_had_it_before(
    demo: str, open_page: Open
) -> None:
    page = open_page("ada")
    sign_in(page, ADA)
    tab = page.context.new_page()
    tab.goto(f"{demo}/auth/login?return_to=/blank")
    choose(tab, BOB)
    expect(page.get_by_text(BOB)).to_be_visible()
    expect(page.get_by_text(ADA)).to_have_count(0)
    expect(page.get_by_role("status")).to_contain_text("Live")


def test_a_lost_connection_is_told_with_the_time_of_the_next_try_and_what_was_shown_stays(
    open_page: Open, http_version: str
) -> None:
    page = open_page("ada")
    page.clock.install()
    sign_in(page, ADA)
    text = f"Still here over {http_version}"
    add_note(page, text)
    expect(note(page, text)).to_be_visible()
    page.context.set_offline(True)
    page.clock.fast_forward("01:05")  # Chromium's emulation leaves open what is open: silence must tell
    expect(page.get_by_text("Trying again in")).to_be_visible()
    expect(note(page, text)).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("status")).to_contain_text("Live")
    expect(page.get_by_text("Trying again in")).to_be_hidden()
    note(page, text).get_by_role("button", name="Delete").click()
    expect(note(page, text)).to_have_count(0)


def test_who_declines_to_sign_in_is_told_so_and_can_try_again(open_page: Open) -> None:
    page = open_page("nobody")
    page.get_by_role("link", name="Sign in").click()
    page.get_by_role("button", name="Do not sign in").click()
    expect(page.get_by_role("heading", name="Sign-in did not succeed")).to_be_visible()
    expect(page.get_by_text("access_denied")).to_be_visible()
    page.get_by_role("link", name="Try again").click()
    choose(page, ADA)
    expect(page.get_by_text(ADA)).to_be_visible()

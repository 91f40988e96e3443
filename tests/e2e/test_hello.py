"""examples/hello in Chromium, before the demo: what its people see and do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.harness.chromium import visitor
from tests.e2e.harness.demo import ADA, BOB, choose
from tests.e2e.harness.helper import call
from tests.e2e.harness.looks import Axe

HELLO = Path(__file__).parents[2] / "examples" / "hello"


@pytest.fixture
def windows(demo: str, visits: Browser, tmp_path: Path) -> Iterator[list[Page]]:
    """Two windows at the example, in profiles of their own; nothing on either page fails."""
    errors: list[str] = []
    with visitor(visits, tmp_path, "one") as one, visitor(visits, tmp_path, "other") as other:
        for page in (one, other):
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(f"{demo}/hello/")
        yield [one, other]
        call(
            one,
            """k8s("/api/v1/namespaces/demo/configmaps?labelSelector=app%3Dhello", { method: "DELETE" })""",
        )
    assert errors == []


def sign_in(page: Page, person: str, name: str) -> None:
    choose(page, person)
    page.wait_for_url("**/hello/")
    expect(page.get_by_text(f"Hello, {name}")).to_be_visible()
    expect(page.get_by_text("Live: changes appear as they happen.")).to_be_visible()


def create(page: Page, text: str) -> None:
    page.get_by_label("New greeting").fill(text)
    page.get_by_role("button", name="Create").click()


def test_it_is_one_page_and_one_script_with_nothing_inline() -> None:
    assert sorted(file.name for file in HELLO.iterdir()) == ["README.md", "hello.js", "index.html"]
    page = (HELLO / "index.html").read_text()
    assert page.count("<script") == page.count('<script type="module" src="hello.js"></script>') == 1
    assert "style=" not in page
    assert "<style" not in page


def test_a_greeting_created_and_edited_in_one_window_appears_in_the_other(windows: list[Page]) -> None:
    ada, bob = windows
    sign_in(ada, ADA, "Ada Editor")
    sign_in(bob, BOB, "Bob Reader")
    create(ada, "Good morning")
    greeting = bob.get_by_role("textbox", name="Greeting", exact=True)
    expect(greeting).to_have_value("Good morning")
    ada.get_by_role("textbox", name="Greeting", exact=True).fill("Good evening")
    ada.get_by_role("button", name="Save").click()
    expect(greeting).to_have_value("Good evening")
    call(ada, "k8s('/api/v1/namespaces/demo/configmaps?labelSelector=app%3Dhello', { method: 'DELETE' })")
    expect(greeting).to_have_count(0)


def test_refusals_and_conflicts_are_shown_as_they_are_and_saving_again_is_possible(
    windows: list[Page],
) -> None:
    ada, bob = windows
    sign_in(ada, ADA, "Ada Editor")
    sign_in(bob, BOB, "Bob Reader")
    create(bob, "Not mine to create")
    expect(bob.get_by_role("alert")).to_contain_text("403 Forbidden")
    expect(bob.get_by_role("alert")).to_contain_text('User "bob@example.com" cannot create')

    create(ada, "Mine")
    greeting = ada.get_by_role("textbox", name="Greeting", exact=True)
    expect(greeting).to_have_value("Mine")
    greeting.fill("Too late")
    call(
        ada,
        """(async () => {
            const all = "/api/v1/namespaces/demo/configmaps";
            const { content } = await k8s(`${all}?labelSelector=app%3Dhello`);
            const path = `${all}/${content.items[0].metadata.name}`;
            await k8s(path, { method: "PATCH", body: { data: { text: "Faster" } } });
        })()""",
    )
    expect(bob.get_by_role("textbox", name="Greeting", exact=True)).to_have_value("Faster")
    expect(ada.get_by_text("Somebody has made it: Faster")).to_be_visible()
    expect(greeting).to_have_value("Too late")
    ada.get_by_role("button", name="Save").click()
    expect(ada.get_by_role("alert")).to_contain_text("409 Conflict")
    expect(greeting).to_have_value("Too late")
    ada.get_by_role("button", name="Save").click()
    expect(bob.get_by_role("textbox", name="Greeting", exact=True)).to_have_value("Too late")
    expect(ada.get_by_role("alert")).to_be_hidden()
    expect(ada.get_by_text("Somebody has made it")).to_be_hidden()


def test_it_notices_a_sign_out_in_another_tab_and_signs_out_itself(demo: str, windows: list[Page]) -> None:
    ada, bob = windows
    sign_in(ada, ADA, "Ada Editor")
    tab = ada.context.new_page()
    tab.goto(f"{demo}/blank")
    call(tab, "void logout()")
    expect(ada.get_by_text("Not live. You are not signed in, or your session has ended.")).to_be_visible()
    ada.get_by_role("button", name="Sign in").click()
    sign_in(ada, ADA, "Ada Editor")
    sign_in(bob, BOB, "Bob Reader")
    bob.get_by_role("button", name="Sign out").click()
    bob.wait_for_url(f"{demo}/auth/logged-out")


def test_it_is_accessible(windows: list[Page]) -> None:
    page, _ = windows
    sign_in(page, ADA, "Ada Editor")
    create(page, "Good morning")
    expect(page.get_by_role("textbox", name="Greeting", exact=True)).to_be_visible()
    assert Axe().faults(page) == []

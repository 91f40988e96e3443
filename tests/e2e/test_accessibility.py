"""axe-core over every page that foyer serves for itself, and over the demo's, in each of their looks."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from foyer.exchange.ports import Answer
from foyer.pages.render import Pages
from tests.e2e.harness.chromium import visitor
from tests.e2e.harness.demo import ADA, BOB, choose
from tests.e2e.harness.looks import Axe
from tests.pages.every import Page as OwnPage
from tests.pages.every import every_page

ORIGIN = "https://foyer.test"
"""Nobody is asked: each request is answered with what foyer would answer."""

OWN_PAGES = {page.name: page for page in every_page()}


@pytest.fixture(scope="module")
def axe() -> Axe:
    return Axe()


@pytest.fixture(scope="module")
def objections() -> list[str]:
    """What the browser said on its console: what a policy forbids, for one."""
    return []


@pytest.fixture(scope="module")
def own_page(
    visits: Browser, objections: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    """A window in which `/<name>` is one of foyer's own pages, with its policy and its assets."""
    pages = Pages()

    def fulfil(route: Route) -> None:
        path = urlsplit(route.request.url).path
        own = OWN_PAGES.get(path.removeprefix("/"))
        answer = own.answer if own else pages.asset(path.encode())
        assert isinstance(answer, Answer), path
        headers = {name.decode(): value.decode() for name, value in answer.fields}
        route.fulfill(status=answer.status, headers=headers, body=answer.content)

    with visitor(visits, tmp_path_factory.mktemp("own"), "last") as page:
        page.route("**/*", fulfil)
        page.on("console", lambda message: objections.append(message.text))
        yield page


def test_the_check_finds_what_it_is_there_to_find(own_page: Page, axe: Axe, objections: list[str]) -> None:
    own_page.goto(f"{ORIGIN}/start")
    own_page.evaluate(
        """document.querySelector('main').innerHTML =
            '<h1>Pale</h1><p style="width: 500px">and wide</p><img src="/_foyer/mark.svg">'"""
    )
    assert any("style" in said for said in objections), "the policy forbids it"
    own_page.evaluate("document.querySelector('p').style.cssText = 'width: 500px; color: #888'")
    faults = "\n".join(axe.faults(own_page))
    for fault in (
        "phone, dark: wider than the screen",
        "phone, light: color-contrast: ",
        "desk, dark: image-alt: ",
    ):
        assert fault in faults


@pytest.mark.parametrize("own", OWN_PAGES.values(), ids=lambda own: own.name)
def test_foyers_own_pages_are_accessible_and_need_nothing_that_their_policy_forbids(
    own_page: Page, objections: list[str], axe: Axe, own: OwnPage
) -> None:
    objections.clear()
    own_page.goto(f"{ORIGIN}/{own.name}")
    assert axe.faults(own_page) == []
    assert [said for said in objections if "responded with a status of" not in said] == []


@pytest.fixture
def demo_page(demo: str, visits: Browser, tmp_path: Path) -> Iterator[Page]:
    with visitor(visits, tmp_path, "last") as page:
        page.goto(demo)
        yield page


def sign_in(page: Page, person: str) -> None:
    page.get_by_role("link", name="Sign in").click()
    choose(page, person)
    expect(page.get_by_role("status")).to_contain_text("Live")


def test_the_demo_signed_out_and_its_issuer_are_accessible(demo_page: Page, axe: Axe) -> None:
    expect(demo_page.get_by_text("Nobody is signed in")).to_be_visible()
    assert axe.faults(demo_page) == []
    demo_page.get_by_role("link", name="Sign in").click()
    demo_page.wait_for_url("**/issuer/**")
    assert axe.faults(demo_page) == []


def test_the_demo_signed_in_is_accessible_while_a_note_is_edited_too(demo_page: Page, axe: Axe) -> None:
    sign_in(demo_page, ADA)
    assert axe.faults(demo_page) == []
    demo_page.get_by_role("button", name="Edit").first.click()
    assert axe.faults(demo_page) == []


def test_a_refusal_in_the_demo_is_accessible(demo_page: Page, axe: Axe) -> None:
    sign_in(demo_page, BOB)
    demo_page.get_by_role("checkbox").first.click()
    expect(demo_page.get_by_role("alert")).to_contain_text("403 Forbidden")
    assert axe.faults(demo_page) == []

"""What holds for every page that foyer serves for itself (spec 01, Pages)."""

from importlib.resources import files

import pytest

from tests.pages.documents import assert_is_page
from tests.pages.every import Page, every_page

PAGES = list(every_page())


def test_each_template_has_a_page_here() -> None:
    templates = {entry.name for entry in files("foyer.pages").joinpath("templates").iterdir()}
    assert {page.template for page in PAGES} == templates - {"base.html"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_a_script_or_an_inline_style_or_anything_from_elsewhere(page: Page) -> None:
    chooses = page.name == "access-of-several"
    document = assert_is_page(page.answer, forms=2 + chooses if page.template == "access.html" else 0)
    for _, attributes in document.elements:
        for name in ("href", "action", "formaction"):
            assert not (attributes.get(name) or "").lower().startswith(("javascript:", "data:"))

"""How people look at a page: on a phone or at a desk, light or dark; and axe-core looking at it so."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

WIDTHS = {"phone": 390, "desk": 1280}
"""CSS pixels: a common phone held upright, a small laptop."""

SCHEMES: tuple[Any, ...] = ("light", "dark")


def npm_package(name: str) -> Path:
    """The folder of an npm package that `run` has installed; the test is skipped without."""
    modules = os.environ.get("FOYER_NPM")
    if not modules:
        pytest.skip(f"no {name}: FOYER_NPM names no folder that npm installed it in")
    return Path(modules, name)


def looks(page: Page) -> Iterator[str]:
    """Each look at a page that stays as it is, by its name."""
    for device, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            yield f"{device}, {scheme}"


class Axe:
    """axe-core, all its rules."""

    def __init__(self) -> None:
        self._source = (npm_package("axe-core") / "axe.min.js").read_text()

    def faults(self, page: Page) -> list[str]:
        """What is wrong with a page, in each of its looks; wider than the screen is wrong too."""
        if not page.evaluate("'axe' in window"):
            # Not a script of the page's: its policy stays in force.
            page.evaluate(self._source)
        return [f"{look}: {fault}" for look in looks(page) for fault in self._faults(page)]

    def _faults(self, page: Page) -> Iterator[str]:
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
        for violation in found["violations"]:
            for node in violation["nodes"]:
                yield f"{violation['id']}: {node['html']} {node['failureSummary']}"
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            yield "wider than the screen"

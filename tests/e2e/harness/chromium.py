"""Chromium, headless, as Debian packages it: a fresh profile for each visitor."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright

PATIENCE = 15_000
"""Milliseconds for anything in a page: two shared cores start a browser in one to three seconds."""

expect.set_options(timeout=PATIENCE)


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """A running Chromium; the test is skipped where there is none."""
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("no Chromium: its command is not there")
    # It needs /dev/shm and its own sandbox nowhere in a test: containers have little of either.
    harmless = ["--disable-dev-shm-usage", "--no-sandbox", "--no-proxy-server", *arguments]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=harmless)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visitor(
    browser: Browser,
    screenshots: Path,
    name: str,
    *,
    scripted: bool = False,
    cookies: StorageState | None = None,
) -> Iterator[Page]:
    """A page of somebody, with no cookies unless given, which leaves a screenshot of its last state.

    `scripted`: the test puts scripts into foyer's own pages, whose policy allows none.
    """
    # The certificates are the run's own, and no authority of the browser's vouches for them.
    context = browser.new_context(ignore_https_errors=True, bypass_csp=scripted, storage_state=cookies)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    try:
        yield page
    finally:
        page.screenshot(path=str(screenshots / f"{name}.png"), full_page=True)
        context.close()

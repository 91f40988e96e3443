"""`foyer demo` as a process, and its people in a browser."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.serving import ENVIRONMENT, FOYER

ADA, BOB = "ada@example.com", "bob@example.com"
"""She edits, he reads."""

NOTES = "/apis/example.com/v1/namespaces/demo/notes"


@contextmanager
def running_demo(log: Path, leaks: Leaks) -> Iterator[str]:
    """The demo on a port of its own: the address that it prints."""
    with log.open("wb") as stderr:
        command = [FOYER, "demo", "-listen", "127.0.0.1:0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=ENVIRONMENT)
    with process:
        assert process.stdout is not None
        address = None
        while address is None and (line := process.stdout.readline()):
            address = re.search(r"https://127\.0\.0\.1:\d+", line)
        assert address is not None, log.read_text()
        try:
            yield address[0]
        finally:
            process.terminate()
        assert process.wait(10) == 0
    leaks.saw("the demo's log", log.read_bytes())


def choose(page: Page, person: str) -> None:
    """On the stand-in issuer's page: be this person."""
    page.get_by_role("button", name=person).click()

"""One API server and issuer for the processes of this room."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.processes import Cluster, Connect, Served, Setting
from tests.support.browsers import BROWSERS, H1Browser, H2Browser
from tests.support.script import Script


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Shared by a module's foyers, which keep nothing in it that another one counts."""
    cluster = Cluster()
    yield cluster
    cluster.stop()


@pytest.fixture
def setting(cluster: Cluster, tmp_path: Path) -> Setting:
    """Files and flags of one's own."""
    return Setting(tmp_path, cluster)


@pytest.fixture
def script() -> Script:
    """What moves the sockets of a test's browsers."""
    return Script()


@pytest.fixture
def connect(script: Script) -> Iterator[Connect]:
    """A browser's connection to a foyer, in an HTTP version."""
    browsers: list[H1Browser | H2Browser] = []

    def connected(foyer: Served, version: str) -> H1Browser | H2Browser:
        browsers.append(BROWSERS[version](script, foyer.port))
        return browsers[-1]

    yield connected
    for browser in browsers:
        browser.close()

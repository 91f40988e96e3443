"""The smuggling differential with real proxies: nginx and HAProxy before foyer, and as its API server.

Before it, what they repair or pass on is what foyer gets; behind it, they read what foyer writes. Nobody's
sequence of requests is another than anybody else's: by their logs, by foyer's answers, by the record.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.smuggling.proxies import HAProxy, Nginx
from tests.smuggling.chain import Chain, Day, foyer_before, fuzzed_bytes, fuzzed_streams
from tests.smuggling.recorder import Recorder
from tests.smuggling.streams import streams
from tests.smuggling.tricks import tricks

PROXIES = {"nginx": Nginx, "haproxy": HAProxy}


@dataclass(frozen=True)
class Topology:
    """Who stands before foyer, and who behind it and in which version; `None` is nobody."""

    before: str | None
    behind: tuple[str, str] | None = None

    def __str__(self) -> str:
        behind = "-".join(self.behind) if self.behind else ""
        return "-".join(filter(None, [self.before, "foyer", behind]))


TOPOLOGIES = [
    Topology("nginx"),
    Topology("haproxy"),
    Topology(None, ("nginx", "h1")),
    Topology(None, ("nginx", "h2")),
    Topology(None, ("haproxy", "h1")),
    Topology(None, ("haproxy", "h2")),
    Topology("nginx", ("haproxy", "h2")),
    Topology("haproxy", ("nginx", "h1")),
]


@pytest.fixture(scope="module")
def day() -> Iterator[Day]:
    day = Day()
    yield day
    day.close()


@pytest.fixture(scope="module", params=TOPOLOGIES, ids=str)
def chain(
    request: pytest.FixtureRequest, day: Day, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Chain]:
    folder = tmp_path_factory.mktemp("smuggling")
    with ExitStack() as ends:
        yield _built(request.param, day, folder, ends.callback)


def _built(topology: Topology, day: Day, folder: Path, at_end: Callable[..., object]) -> Chain:
    """From its far end to the browsers' one."""
    recorder = Recorder("h1")
    day.run(recorder.start())
    at_end(_stop, day, recorder)
    upstream, behind = recorder.port, None
    if topology.behind is not None:
        name, version = topology.behind
        (folder / "behind").mkdir()
        proxy = PROXIES[name](folder / "behind", foyer=recorder.port, recorder=recorder.port)
        at_end(proxy.close)
        upstream, behind = proxy.ports[f"behind_{version}"], proxy.behind
    product = foyer_before(folder / "foyer", upstream)
    at_end(product.stop)
    ports, before = {"h1": product.port, "h2": product.port}, None
    if topology.before is not None:
        (folder / "before").mkdir()
        proxy = PROXIES[topology.before](folder / "before", foyer=product.port, recorder=recorder.port)
        at_end(proxy.close)
        ports, before = {version: proxy.ports[f"before_{version}"] for version in ports}, proxy.before
    return Chain(day, product, recorder, ports, before, behind)


def _stop(day: Day, recorder: Recorder) -> None:
    day.run(recorder.stop())


def test_every_public_trick_is_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_bytes(tricks()) == []


def test_every_trick_with_streams_is_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_streams(streams()) == []


def test_near_misses_are_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_bytes(fuzzed_bytes(800)) == []


def test_near_misses_of_streams_are_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_streams(fuzzed_streams(400)) == []

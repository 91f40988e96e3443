"""A foyer before two real API servers of one login, and before stand-ins that do what real ones do not.

The first is the control plane of all end-to-end tests, and stays as it is. The second is the fleet's own, for
tests to break.
"""

import os
import signal
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fleet.standins import Answers, StandIn, dripping, endless, huge, silent
from tests.e2e.harness.browser import SESSION, Browser, OpenBrowser, Web
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.serving import Foyer, free_port
from tests.e2e.harness.waiting import wait_for

PAGE_BYTES = 2 * 1024 * 1024
"""`-max-target-answer-bytes`: more than a list of a real one here."""

SECONDS = 3
"""`-target-timeout`: no answer takes as long, unless it never ends."""

ITEMS = 600
"""`-max-fleet-items`: all that both clusters have in the namespace with the most."""

SLOTS = 4
"""`-max-target-in-flight`."""

FLAGS = {
    "-target-timeout": f"{SECONDS}s",
    "-admission-wait": "2s",
    "-max-target-answer-bytes": "2MiB",
    "-max-fleet-items": str(ITEMS),
    "-max-target-in-flight": str(SLOTS),
    "-shared-watch-resources": "quizsubmissions.examples.foyer.dev",
}

STAND_INS: dict[str, Answers] = {"silent": silent, "endless": endless, "huge": huge, "dripping": dripping}


@pytest.fixture(scope="session")
def other(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The second cluster, which takes the sign-ins of the first."""
    other = Cluster(Path(os.environ["FOYER_CLUSTER"]), tmp_path_factory.mktemp("other"), trusts=cluster)
    yield other
    other.close()


@pytest.fixture(scope="session")
def stand_ins(cluster: Cluster, web: Web) -> Iterator[dict[str, StandIn]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cluster.env["SERVER_CERT_FILE"], cluster.env["SERVER_KEY_FILE"])
    stand_ins = {name: StandIn(web.loop, context, answers) for name, answers in STAND_INS.items()}
    yield stand_ins
    for stand_in in stand_ins.values():
        stand_in.close()


@dataclass(frozen=True, slots=True)
class TargetsFile:
    """What foyer reads at its start and on SIGHUP."""

    path: Path
    entries: dict[str, str]

    def write(self, names: Sequence[str]) -> None:
        """These targets, in this order."""
        self.path.write_text("targets:\n" + "".join(self.entries[name] for name in names))


@pytest.fixture(scope="session")
def targets_file(
    cluster: Cluster, other: Cluster, stand_ins: dict[str, StandIn], tmp_path_factory: pytest.TempPathFactory
) -> TargetsFile:
    """The two real ones first. The second shares watches, by a token of its own."""
    shares = f"    sharedWatchTokenFile: {other.env['WATCH_TOKEN_FILE']}\n"
    entries = {
        "eu": _entry("eu", cluster.env["KUBE_URL"], cluster.env["CA_FILE"]),
        "us": _entry("us", other.env["KUBE_URL"], other.env["CA_FILE"]) + shares,
    }
    for name, stand_in in stand_ins.items():
        entries[name] = _entry(name, f"https://127.0.0.1:{stand_in.port}", cluster.env["CA_FILE"])
    file = TargetsFile(tmp_path_factory.mktemp("targets") / "targets.yaml", entries)
    file.write(list(entries))
    return file


def _entry(name: str, server: str, ca_file: str) -> str:
    return f"  - name: {name}\n    server: {server}\n    caFile: {ca_file}\n"


@pytest.fixture(scope="session")
def fleet(
    flags: dict[str, str], cluster: Cluster, targets_file: TargetsFile, leaks: Leaks
) -> Iterator[Foyer]:
    """A foyer of the same keys, so that whoever has signed in at the other is signed in here."""
    port = free_port()
    single = ("-kubernetes-server", "-kubernetes-ca-file")
    given = {name: value for name, value in flags.items() if name not in single}
    given |= {"-listen": f"127.0.0.1:{port}", "-public-url": f"https://127.0.0.1:{port}"}
    given |= FLAGS | {"-targets-file": str(targets_file.path)}
    foyer = Foyer(given, given["-public-url"], cluster.env["CA_FILE"], leaks)
    foyer.wait_until(200)
    yield foyer
    assert foyer.stop() == 0
    assert [line for line in foyer.log if line["msg"] == "not JSON"] == []


@pytest.fixture
def visitor(
    fleet: Foyer, signed_in: Callable[[str], Browser], open_browser: OpenBrowser, http_version: str
) -> Callable[[str], Browser]:
    """Opens the browser of somebody who has signed in through Dex, at the fleet's foyer."""

    def visitor(email: str) -> Browser:
        cookie = signed_in(email).jar.cookies[SESSION]
        return open_browser(http_version, {SESSION: cookie}, fleet.origin)

    return visitor


@pytest.fixture
def alice(visitor: Callable[[str], Browser]) -> Browser:
    """She edits, in both clusters."""
    return visitor("alice@example.com")


@pytest.fixture
def breakable(other: Cluster, alice: Browser) -> Iterator[Cluster]:
    """The second cluster: whatever a test breaks, the next one finds whole."""
    yield other
    other.signal_apiserver(signal.SIGCONT)
    other.up()
    back = lambda: alice.get(f"/targets/us/k8s{CORE}/configmaps").status_code == 200  # noqa: E731
    wait_for("the second API server to let people in again", back, 30)


FLEET = f"/fleet/v1{CORE}/configmaps"


def outcomes(answer: dict[str, Any]) -> dict[str, tuple[str, int | None]]:
    """Of each target in a fleet list, its outcome and its status."""
    return {target["name"]: (target["outcome"], target.get("status")) for target in answer["targets"]}

"""The targets file is read again under open traffic: nothing that is open is lost (spec 06, Targets)."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from tests.e2e.fleet.conftest import FLEET, TargetsFile, outcomes
from tests.e2e.fleet.standins import StandIn
from tests.e2e.harness.answers import assert_interrupted, assert_passed
from tests.e2e.harness.browser import Browser
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.serving import Foyer
from tests.e2e.harness.stream import stream
from tests.e2e.harness.waiting import wait_for

CONFIGMAPS = f"{CORE}/configmaps"
ONE = "fieldSelector=metadata.name%3Dsettings-5"


@pytest.fixture
def reload(fleet: Foyer, targets_file: TargetsFile) -> Iterator["Reload"]:
    yield Reload(fleet, targets_file)
    Reload(fleet, targets_file)(*targets_file.entries)


class Reload:
    """SIGHUP, with these targets in the file."""

    def __init__(self, fleet: Foyer, targets_file: TargetsFile) -> None:
        self._fleet = fleet
        self._file = targets_file

    def __call__(self, *names: str) -> None:
        lines = len(self._fleet.log)
        self._file.write(names)
        self._fleet.signal(signal.SIGHUP)
        self._fleet.logged("of the reload", lambda line: line["msg"] == "configuration reloaded", lines)


@contextmanager
def traffic(browser: Browser) -> Iterator[list[httpx.Response]]:
    """One small request after the other, until the block ends."""
    answers: list[httpx.Response] = []
    over, begun = threading.Event(), threading.Event()

    def ask() -> None:
        while not over.is_set():
            answers.append(browser.get(f"/targets/eu/k8s{CONFIGMAPS}/settings-5"))
            begun.set()
            over.wait(0.1)  # within the session's rate

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        assert begun.wait(10)
        yield answers
    finally:
        over.set()
        thread.join(30)


def test_nothing_that_is_open_is_lost(
    alice: Browser, reload: Reload, cluster: Cluster, other: Cluster, stand_ins: dict[str, StandIn]
) -> None:
    clusters = {"eu": cluster, "us": other}
    watches = {}
    for name, each in clusters.items():
        version = each.get(CONFIGMAPS)["metadata"]["resourceVersion"]
        watches[name] = alice.watch(
            f"/targets/{name}/k8s{CONFIGMAPS}?watch=1&resourceVersion={version}&{ONE}"
        )
    scope = {"namespace": "demo", "name": "settings-5"}
    streams = {name: stream(alice, "configmaps", target=name, **scope) for name in clusters}
    for opened in streams.values():
        assert len(opened.cycle()) == 1

    def assert_told() -> None:
        """Of a change in each cluster, on both of what is open there."""
        for name, each in clusters.items():
            tick = each.tick("settings-5")
            assert watches[name].change()["object"]["data"]["tick"] == tick
            assert streams[name].event()["object"]["data"]["tick"] == tick

    assert_told()
    dripping = stand_ins["dripping"]
    with traffic(alice) as answers, ThreadPoolExecutor(1) as aside:
        asked = dripping.asked
        slow = aside.submit(alice.get, f"{FLEET}?targets=eu,us,dripping&partial=true")
        wait_for("a fleet read to be under way", lambda: dripping.asked > asked)
        reload("eu")
        assert_interrupted(alice.get(f"/targets/us/k8s{CONFIGMAPS}"), 404, "NotFound")
        assert outcomes(alice.get(FLEET).json()) == {"eu": ("ok", 200)}
        assert_told()
        found = slow.result(15).json()
        assert outcomes(found) == {"eu": ("ok", 200), "us": ("ok", 200), "dripping": ("time-out", None)}
        reload("us", "eu")
        assert_passed(alice.get(f"/targets/us/k8s{CONFIGMAPS}"))
        assert list(outcomes(alice.get(FLEET).json())) == ["us", "eu"]
        assert alice.get(f"/k8s{CONFIGMAPS}").json()["items"] == other.get(CONFIGMAPS)["items"], "the first"
        assert_told()
    assert len(answers) >= 2
    for answer in answers:
        assert_passed(answer)


def test_a_file_that_is_wrong_changes_nothing(
    alice: Browser, fleet: Foyer, targets_file: TargetsFile
) -> None:
    lines = len(fleet.log)
    before = targets_file.path.read_text()
    targets_file.path.write_text(before + targets_file.entries["us"])
    try:
        fleet.signal(signal.SIGHUP)
        line = fleet.logged("of the refusal", lambda line: line["msg"] == "configuration refused", lines)
        assert line["flag"] == "-targets-file"
        assert_passed(alice.get(f"/targets/us/k8s{CONFIGMAPS}"))
    finally:
        targets_file.path.write_text(before)

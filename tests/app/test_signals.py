"""SIGTERM, SIGINT and a second one of either, to a process with connections open (spec 01, Process)."""

import json
import signal
import socket
from signal import SIGINT, SIGTERM

import pytest

from tests.app.processes import CONFIG_MAPS, Cluster, Connect, Setting
from tests.support.browsers import Exchange, H1Browser, H2Browser
from tests.support.script import Aborted, How, Script, Whole

JSON = [(b"Content-Type", b"application/json")]

versions = pytest.mark.parametrize("version", ["h1", "h2"])


def refused(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) != 0


def config_map(name: str) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).encode()


def watching(browser: H1Browser | H2Browser, setting: Setting) -> Exchange:
    """A watch that has brought its first event."""
    watch = browser.request("GET", f"/k8s{CONFIG_MAPS}?watch=1&resourceVersion=0", setting.session())
    assert watch.read_head()[0] == 200
    assert watch.read_some()
    return watch


@versions
def test_after_sigterm_nothing_new_is_taken_and_what_ends_in_time_ends_cleanly(
    version: str, setting: Setting, script: Script, connect: Connect
) -> None:
    with setting.serve() as foyer:
        foyer.logged("ready")
        browser = connect(foyer, version)
        assert browser.request("GET", "/readyz").read_until_end() == Whole(b"ready\n")
        content = config_map(f"drained-{version}")
        fields = [*setting.session(), *JSON, (b"Content-Length", b"%d" % len(content))]
        fields.append((b"Expect", b"100-continue"))
        change = browser.request("POST", f"/k8s{CONFIG_MAPS}", fields, end=False)
        script.until(lambda: change.informational == [100], "100 (Continue)")
        watch = watching(connect(foyer, version), setting)

        foyer.signal(SIGTERM)
        assert foyer.logged("draining")["open"] == 2
        assert refused(foyer.port), "still accepting"
        if isinstance(browser, H2Browser):
            probe = browser.request("GET", "/readyz").read_until_end()
            assert isinstance(probe, Aborted), "ready on a connection that was open"
        change.send_body(content)
        change.end()
        assert change.read_head()[0] == 201
        assert isinstance(change.read_until_end(), Whole)
        if version == "h1":
            assert change.all("connection") == [b"close"]
        browser.read_connection_end()

        watch.reset()
        assert foyer.exit_code() == 0
        assert foyer.said("listening", "ready", "draining", "stopped", "response cut short") == [
            "listening",
            "ready",
            "draining",
            "stopped",
        ]


@pytest.mark.parametrize(
    ("version", "first", "second"),
    [("h1", SIGTERM, SIGTERM), ("h2", SIGINT, SIGINT), ("h2", SIGTERM, SIGINT)],
)
def test_a_second_signal_aborts_at_once_what_the_first_let_go_on(
    version: str,
    first: signal.Signals,
    second: signal.Signals,
    cluster: Cluster,
    setting: Setting,
    script: Script,
    connect: Connect,
) -> None:
    with setting.serve() as foyer:
        foyer.logged("ready")
        watch = watching(connect(foyer, version), setting)
        foyer.signal(first)
        assert foyer.logged("draining")["open"] == 1
        name = f"during-{version}-{first}-{second}"
        cluster.create(name)
        script.until(lambda: name.encode() in bytes(watch.content), "an event after the signal")
        assert watch.outcome is None

        foyer.signal(second)
        outcome = watch.read_until_end()
        assert isinstance(outcome, Aborted) and outcome.cut_short, outcome
        assert outcome.how is (How.BEFORE_LAST_CHUNK if version == "h1" else How.RST_STREAM)
        assert foyer.exit_code() == 0
        cut = [line for line in foyer.log if line["msg"] == "response cut short"]
        assert [(line["cause"], line["method"]) for line in cut] == [("shutdown", "GET")]
        assert foyer.log[-1]["msg"] == "stopped"


@pytest.mark.parametrize("number", [SIGTERM, SIGINT])
def test_with_nothing_open_one_signal_ends_it(number: signal.Signals, setting: Setting) -> None:
    with setting.serve() as foyer:
        foyer.logged("ready")
        with socket.create_connection(("127.0.0.1", foyer.port)) as silent:
            foyer.signal(number)
            assert foyer.exit_code() == 0
            silent.settimeout(5)
            assert silent.recv(1) == b""
        assert foyer.said("draining", "stopped") == ["draining", "stopped"]

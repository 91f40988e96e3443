"""The queries of the rules and of the dashboard, asked of a Prometheus, and the rules by promtool.

It has scraped a foyer under a load that meets its limits, before three API servers: one that copes, one that
takes requests and answers none, and one that is not there.
"""

import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml

from tests.app.processes import Cluster, Served, Setting
from tests.deploy.files import RULE_TESTS, RULES, VARIABLES, Alert, alerts, panel_queries, variable_queries
from tests.deploy.promql import filled_in, named, without_thresholds
from tests.e2e.harness.prometheus import Prometheus, program
from tests.e2e.harness.serving import free_port
from tests.e2e.harness.waiting import wait_for
from tests.support.certs import UPSTREAM_HOST, server_context, write_authority

LIST = "/api/v1/namespaces/demo/configmaps"
SMALL = f"{LIST}/filler-000000"
WATCH = f"/k8s{LIST}?watch=1&fieldSelector=metadata.name%3Dnobodys"
SHARED = "/stream/v1?version=v1&resource=configmaps&namespace=default"
LARGE = "large"

SLOTS, AT_ONCE = 4, 16
LIMITS = {
    "session_request_rate": "0.01",  # nothing is refilled meanwhile
    "session_request_burst": "30",
    "user_request_rate": "0.01",
    "user_request_burst": "150",
    "max_server_requests": str(AT_ONCE),
    "max_target_in_flight": str(SLOTS),
    "target_timeout": "3s",
    "target_wait_threshold": "500ms",
    "admission_wait": "500ms",
    "max_response_duration": "8s",
    "max_response_bytes": "1000000",
    "memory_pool": "1MiB",
    "max_fleet_items": "100",
    "shared_watch_resources": "configmaps",
}

TOLD = {
    "FoyerTurnsRequestsAway",
    "FoyerUserRateReached",
    "FoyerTargetFull",
    "FoyerTargetDown",
    "FoyerUpstreamUnavailable",
    "FoyerReadsNotAdmitted",
    "FoyerReadMemoryUsedUp",
    "FoyerReadTooLarge",
    "FoyerFleetListsTruncated",
}
"""The alerts that this load sets off, or would if it lasted. Others may be among them: it is a bad day."""


class Silent:
    """An API server that takes every connection, and says nothing there after TLS's first words."""

    def __init__(self) -> None:
        self._context = server_context("http/1.1")
        self._listener = socket.create_server((UPSTREAM_HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                with suppress(OSError):
                    self._open.append(self._context.wrap_socket(taken, server_side=True))

    def close(self) -> None:
        # A blocked accept ends with a shutdown, and not with a close.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for taken in (self._listener, *self._open):
            taken.close()


class Load:
    """Pages that do what pages should not, all of them one person's."""

    def __init__(self, origin: str, metrics: str, setting: Setting, stack: ExitStack) -> None:
        self._origin = origin
        self._metrics = metrics
        self._setting = setting
        self._stack = stack
        self._threads = stack.enter_context(ThreadPoolExecutor(max_workers=2 * AT_ONCE))

    def page(self) -> httpx.Client:
        """One in a session of its own."""
        headers = {name.decode(): value.decode() for name, value in self._setting.session()}
        return self._stack.enter_context(
            httpx.Client(base_url=self._origin, headers=headers, trust_env=False, timeout=30)
        )

    def told(self, page: httpx.Client, target: str, method: str = "GET") -> str:
        """The status; the reason, where foyer answered by itself; or that there was no whole answer."""
        try:
            answer = page.request(method, target)
        except httpx.RemoteProtocolError:
            return "cut short"
        return str(answer.headers.get("krm-foyer-interruption", answer.status_code))

    def at_once(self, page: httpx.Client, target: str, times: int, method: str = "GET") -> list[Future[str]]:
        return [self._threads.submit(self.told, page, target, method) for _ in range(times)]

    def open(self, page: httpx.Client, target: str) -> httpx.Response:
        return self._stack.enter_context(page.stream("GET", target))

    # One of each.

    def well(self) -> None:
        """An API server that copes, streams that share its watch, and what is no server's fault."""
        page = self.page()
        assert [self.told(page, f"/k8s{SMALL}") for _ in range(5)] == ["200"] * 5
        streams = [self.open(self.page(), SHARED) for _ in range(2)]
        assert all(any('"synced"' in line for line in stream.iter_lines()) for stream in streams)
        assert self.told(page, f"/k8s{LIST}") == "cut short"
        forged = self.page()
        del forged.headers["X-CSRF-Token"]
        assert self.told(forged, f"/k8s{SMALL}", "DELETE") == "CSRFProofRequired"
        leaving = self.page()
        watch = self.open(leaving, WATCH)
        assert leaving.post("/auth/logout").status_code == 204
        with pytest.raises(httpx.RemoteProtocolError):
            watch.read()
        for stream in streams:
            stream.close()

    def fleet(self) -> None:
        """Lists that are cut, one object that does not fit at all, and a pool that somebody keeps full."""
        page = self.page()
        answer = page.get(f"/fleet/v1{LIST}?targets=good")
        assert (answer.status_code, answer.headers["krm-foyer-truncated"]) == (200, "true")
        large = f"/fleet/v1{LIST}?targets=good&fieldSelector=metadata.name%3D{LARGE}"
        assert self.told(page, large) == "ReadTooLarge"
        # What a silent server's list needs nobody knows, and what is guessed is all there is.
        [keeping] = self.at_once(page, f"/fleet/v1{LIST}?targets=good,silent", 1)
        pool = self._measured('memory_pool_bytes{kind="size"}')
        reserved = 'memory_pool_bytes{kind="reserved"}'
        wait_for("the pool to be full", lambda: self._measured(reserved) == pool)
        assert self.told(page, f"/fleet/v1{LIST}?targets=good") == "AdmissionTimedOut"
        assert keeping.result() == "TargetTimeout"

    def gone(self) -> None:
        """An API server that nobody reaches."""
        for page in (self.page(), self.page()):
            told = [self.told(page, f"/targets/gone/k8s{SMALL}") for _ in range(20)]
            assert told == ["UpstreamUnavailable"] * 20

    def silent(self) -> None:
        """Changes take every slot, and reads every place before the slots."""
        page = self.page()
        taking = self.at_once(page, f"/targets/silent/k8s{SMALL}", SLOTS, "DELETE")
        path = f"/targets/silent/k8s{SMALL}"
        slots = 'target_in_flight{target="silent"}'
        wait_for("every slot to be taken", lambda: self._measured(slots) == SLOTS)
        # One read has been let in there before, and has raised the limit by one.
        asking = self.at_once(page, path, SLOTS + 4) + self.at_once(page, path, 2, "DELETE")
        told = {asked.result() for asked in asking}
        assert told == {"AdmissionTimedOut", "TargetTimeout"}
        assert {taken.result() for taken in taking} == {"cut short"}

    def full(self) -> None:
        """More at once than there may be."""
        page = self.page()
        watches = [self.open(page, WATCH) for _ in range(AT_ONCE)]
        assert self.told(page, f"/k8s{SMALL}") == "Overloaded"
        for watch in watches:
            watch.close()
        wait_for("the watches to be over", lambda: self._measured("requests_in_flight") == 0)

    def hasty(self) -> None:
        """One person, in as many sessions as it takes."""
        for _ in range(10):
            page = self.page()
            told = self.told(page, f"/k8s{SMALL}")
            while told == "200":
                told = self.told(page, f"/k8s{SMALL}")
            if told == "UserRateExceeded":
                return
            assert told == "RequestRateExceeded"
        raise AssertionError("nobody was held to a rate")

    def _measured(self, gauge: str) -> float:
        text = httpx.get(f"http://{self._metrics}/metrics", trust_env=False).text
        (found,) = re.findall(rf"^krm_foyer_{re.escape(gauge)} (.*)$", text, re.MULTILINE)
        return float(found)


@dataclass(frozen=True)
class Observed:
    """A Prometheus with the shipped rules, and what the load has left in it."""

    prometheus: Prometheus
    foyer: Served

    def said(self, expression: str) -> dict[str, float]:
        """What a query finds. A busy machine is late for a scrape, which leaves a gap until the next."""
        return wait_for(expression, lambda: self.prometheus.query(expression))


def targets(folder: Path, cluster: Cluster, silent: Silent) -> Path:
    """The targets file."""
    token = folder / "shared-watch-token"
    token.write_text(cluster.token)
    authority = str(write_authority(folder))
    good = {
        "name": "good",
        "server": cluster.url,
        "caFile": cluster.ca_file,
        "sharedWatchTokenFile": str(token),
    }
    bad = [
        {"name": name, "server": f"https://{UPSTREAM_HOST}:{port}", "caFile": authority}
        for name, port in (("silent", silent.port), ("gone", free_port()))
    ]
    file = folder / "targets.yaml"
    file.write_text(yaml.safe_dump({"targets": [good, *bad]}))
    return file


def create_large(cluster: Cluster) -> None:
    """An object that alone is larger than the pool."""
    content = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": LARGE},
        "data": {"a": "x" * 700_000},
    }
    answer = httpx.post(
        cluster.url + LIST,
        json=content,
        headers={"Authorization": f"Bearer {cluster.token}"},
        verify=ssl.create_default_context(cafile=cluster.ca_file),
        trust_env=False,
    )
    assert answer.status_code == 201


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    program("prometheus")
    folder = tmp_path_factory.mktemp("alerts")
    with ExitStack() as stack:
        cluster = Cluster("--seed", "300", "--seed-bytes", "10000")
        stack.callback(cluster.stop)
        create_large(cluster)
        silent = Silent()
        stack.callback(silent.close)
        setting = Setting(folder, cluster)
        for flag in ("-tls-cert-file", "-tls-key-file", "-kubernetes-server", "-kubernetes-ca-file"):
            del setting.flags[flag]
        setting.flags["-targets-file"] = str(targets(folder, cluster, silent))
        foyer = stack.enter_context(setting.serve(metrics_listen="127.0.0.1:0", **LIMITS))
        metrics = str(foyer.logged("metrics listening")["address"])
        prometheus = Prometheus(folder, metrics, [RULES], every="500ms")
        stack.callback(prometheus.close)
        # All series have to be there at zero, or their first increase would be no increase.
        wait_for("a first scrape", lambda: prometheus.query("krm_foyer_bound_reached_total"))
        with ExitStack() as pages:
            load = Load(f"http://127.0.0.1:{foyer.port}", metrics, setting, pages)
            for part in (load.well, load.fleet, load.gone, load.silent, load.full, load.hasty):
                part()
        last = 'krm_foyer_overload_refusals_total{limit="caller-rate"} > 0'
        wait_for("the last", lambda: prometheus.query(last))
        yield Observed(prometheus, foyer)
        assert prometheus.last_error() == ""
        assert foyer.stop() == 0
        assert foyer.said("internal error") == []


def promtool(*arguments: str) -> None:
    """promtool has nothing to say against it."""
    command = [program("promtool"), *arguments]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_promtool_takes_the_rules() -> None:
    promtool("check", "rules", str(RULES))


def test_each_rule_fires_when_it_should_and_not_when_it_should_not() -> None:
    promtool("test", "rules", str(RULE_TESTS))


def test_the_load_sets_off_what_it_should_and_prometheus_evaluates_every_rule(observed: Observed) -> None:
    def active() -> bool:
        rules = observed.prometheus.rules()
        return {rule["name"] for rule in rules if rule["alerts"]} >= TOLD

    wait_for("the alerts", active)
    rules = observed.prometheus.rules()
    assert {rule["name"] for rule in rules} == {alert.name for alert in alerts()}
    assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}


def test_what_an_alert_says_is_written_out(observed: Observed) -> None:
    for rule in observed.prometheus.rules():
        for alert in rule["alerts"]:
            for text in alert["annotations"].values():
                assert not re.search(r"{{|}}|<no value>|<error|NaN|%!", text), text


def test_which_target_is_meant_is_said(observed: Observed) -> None:
    named_targets = {
        rule["name"]: {alert["labels"]["target"] for alert in rule["alerts"]}
        for rule in observed.prometheus.rules()
        if rule["name"] in ("FoyerTargetDown", "FoyerTargetFull")
    }
    assert named_targets == {"FoyerTargetDown": {"silent", "gone"}, "FoyerTargetFull": {"silent"}}


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_every_rule_has_something_to_compare(observed: Observed, alert: Alert) -> None:
    if alert.name == "FoyerAbsent":
        assert observed.said("krm_foyer_requests_in_flight")
        assert observed.said(f"absent({alert.expr})"), "which did not happen"
    else:
        assert observed.said(without_thresholds(alert.expr))


@pytest.mark.parametrize(("title", "query"), list(panel_queries()))
def test_every_panel_shows_something(observed: Observed, title: str, query: str) -> None:
    asked = filled_in(query, VARIABLES)
    assert wait_for(title, lambda: observed.prometheus.numbers(asked))


def test_every_variable_has_values_to_choose_from(observed: Observed) -> None:
    found = {
        name: observed.said(f"count by ({name}) ({filled_in(query, VARIABLES)})")
        for name, query in variable_queries().items()
    }
    assert found["target"].keys() == {"good", "silent", "gone"}
    assert len(found["instance"]) == 1


def test_every_series_of_the_queries_is_there(observed: Observed) -> None:
    """Each by itself: an `or` or a sum would hide one that is not."""
    queries = [*(alert.expr for alert in alerts()), *(query for _, query in panel_queries())]
    for series in set().union(*(named(query).series for query in queries)):
        assert observed.said(f"count({series})"), series

"""A real Prometheus scrapes a foyer whose bounds are low, and is asked what docs/metrics.md says to ask."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from foyer.bound import MEASURED, Bound
from foyer.exchange.endings import Cause
from tests.app.processes import Cluster, Setting
from tests.e2e.harness.prometheus import Prometheus, program
from tests.e2e.harness.waiting import wait_for

OBJECTS = "/k8s/api/v1/namespaces/demo/configmaps"
SMALL = f"{OBJECTS}/filler-000000"
WATCH = f"{OBJECTS}?watch=1&fieldSelector=metadata.name%3Dnobodys"

BURST, CONCURRENT = 10, 3
LIMITS = {
    "session_request_rate": "0.01",  # so slow that nothing is refilled meanwhile
    "session_request_burst": str(BURST),
    "max_session_concurrent_requests": str(CONCURRENT),
    "max_response_bytes": "20000",
    "max_response_duration": "3s",
}

TOO_FAST, TOO_MANY, TOO_LARGE = 5, 2, 2
"""So many requests of each kind are refused, or their responses cut."""

REACHED = {
    Bound.SESSION_REQUEST_BURST: TOO_FAST,
    Bound.SESSION_CONCURRENT_REQUESTS: TOO_MANY,
    Bound.RESPONSE_BYTES: TOO_LARGE,
    Bound.RESPONSE_DURATION: CONCURRENT,
}
CUT = {Cause.RESPONSE_BYTES: TOO_LARGE, Cause.RESPONSE_DURATION: CONCURRENT, Cause.SESSION_ENDED: 1}

# The four queries of spec 04's seed, under Reading them.
BOUNDS_REACHED = "sum by (bound) (increase(krm_foyer_bound_reached_total[1d]))"
CONCURRENCY_USED = (
    "histogram_quantile(0.99, sum by (le)"
    ' (rate(krm_foyer_bound_usage_ratio_bucket{bound="session_concurrent_requests"}[1d])))'
)
LARGE_RESPONSES = (
    '1 - sum(rate(krm_foyer_bound_usage_ratio_bucket{bound="response_bytes", le="0.9"}[1d]))'
    ' / sum(rate(krm_foyer_bound_usage_ratio_count{bound="response_bytes"}[1d]))'
)
CAUSES = "sum by (cause) (rate(krm_foyer_responses_cut_short_total[1h]))"

DOCUMENT = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
QUERIES = [" ".join(query.split()) for query in re.findall(r"^```promql\n(.*?)^```$", DOCUMENT, re.M | re.S)]


class Page(httpx.Client):
    """Somebody's page, in a session of its own, with what proves a change."""

    def __init__(self, origin: str, setting: Setting) -> None:
        headers = {name.decode(): value.decode() for name, value in setting.session()}
        super().__init__(base_url=origin, headers=headers, trust_env=False, timeout=30)

    def told(self, target: str) -> str:
        """The status; the reason, where foyer answered by itself; or that the response was cut short."""
        try:
            answer = self.get(target)
        except httpx.RemoteProtocolError:
            return "cut short"
        return str(answer.headers.get("krm-foyer-interruption", answer.status_code))


def traffic(origin: str, setting: Setting) -> None:
    """People within their bounds, and pages that are not, each in its own way."""
    with ExitStack() as pages:

        def page() -> Page:
            return pages.enter_context(Page(origin, setting))

        for _ in range(5):
            assert page().told(SMALL) == "200"

        hasty = page()
        told = [hasty.told(SMALL) for _ in range(BURST + TOO_FAST)]
        assert told == ["200"] * BURST + ["RequestRateExceeded"] * TOO_FAST

        assert [page().told(OBJECTS) for _ in range(TOO_LARGE)] == ["cut short"] * TOO_LARGE

        leaking = page()
        watches = [pages.enter_context(leaking.stream("GET", WATCH)) for _ in range(CONCURRENT)]
        told = [leaking.told(SMALL) for _ in range(TOO_MANY)]
        assert told == ["TooManyConcurrentRequests"] * TOO_MANY

        leaving = page()
        watches.append(pages.enter_context(leaving.stream("GET", WATCH)))
        assert leaving.post("/auth/logout").status_code == 204

        for watch in watches:
            with pytest.raises(httpx.RemoteProtocolError):
                watch.read()


@dataclass(frozen=True)
class Observed:
    """A foyer after that traffic, and a Prometheus that has scraped it all along."""

    metrics: str
    prometheus: Prometheus

    def scrape(self) -> str:
        answer = httpx.get(f"http://{self.metrics}/metrics", trust_env=False)
        assert answer.status_code == 200
        return answer.text


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    program("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    with ExitStack() as stack:
        cluster = Cluster("--seed", "300", "--seed-bytes", "10000")
        stack.callback(cluster.stop)
        setting = Setting(folder, cluster)
        del setting.flags["-tls-cert-file"], setting.flags["-tls-key-file"]
        foyer = stack.enter_context(setting.serve(metrics_listen="127.0.0.1:0", **LIMITS))
        metrics = str(foyer.logged("metrics listening")["address"])
        prometheus = Prometheus(folder, metrics)
        stack.callback(prometheus.close)
        # All series have to be there at zero, or their first increase would be no increase.
        wait_for("a first scrape", lambda: prometheus.query("krm_foyer_bound_reached_total"))
        traffic(f"http://127.0.0.1:{foyer.port}", setting)
        total = "sum(krm_foyer_bound_reached_total)"
        wait_for("the last", lambda: prometheus.query(total).get("") == sum(REACHED.values()))
        yield Observed(metrics, prometheus)
        assert prometheus.last_error() == ""
        assert foyer.stop() == 0
        assert foyer.said("internal error") == []


def test_what_was_reached_is_what_was_driven_to_its_limit(observed: Observed) -> None:
    reached = observed.prometheus.query("krm_foyer_bound_reached_total")
    counts = {series.split(",")[1]: count for series, count in reached.items()}
    assert counts == {bound.value: REACHED.get(bound, 0) for bound in Bound}
    increase = observed.prometheus.numbers(BOUNDS_REACHED)
    assert increase.keys() == counts.keys()
    # Prometheus extrapolates an increase to the ends of its window, where it has no samples.
    assert {bound for bound, count in increase.items() if count > 0} == {bound.value for bound in REACHED}
    assert all(increase[bound] >= count for bound, count in counts.items())


def test_what_was_cut_short_is_there_by_its_cause(observed: Observed) -> None:
    counts = observed.prometheus.query("sum by (cause) (krm_foyer_responses_cut_short_total)")
    assert counts == {cause.label: CUT.get(cause, 0) for cause in Cause}
    rates = observed.prometheus.numbers(CAUSES)
    assert {cause for cause, rate in rates.items() if rate > 0} == {cause.label for cause in CUT}


def test_the_use_of_a_bound_is_a_part_of_it(observed: Observed) -> None:
    (used,) = observed.prometheus.numbers(CONCURRENCY_USED).values()
    assert 0.9 < used <= 1, "of some twenty requests, one took the last slot"
    (large,) = observed.prometheus.numbers(LARGE_RESPONSES).values()
    assert 0 < large < 0.5


def test_every_bound_has_its_limit_and_what_is_measured_was(observed: Observed) -> None:
    limits = observed.prometheus.query("max by (bound) (krm_foyer_bound_limit)")
    assert limits.keys() == {bound.value for bound in Bound}
    assert limits["session_request_burst"] == BURST and limits["response_duration"] == 3
    counts = observed.prometheus.query("sum by (bound) (krm_foyer_bound_usage_ratio_count)")
    streams = {"session_streams", "streams"}
    assert {bound for bound, count in counts.items() if count == 0} <= streams
    assert counts.keys() == {bound.value for bound in MEASURED}
    over = observed.prometheus.query(
        "krm_foyer_bound_usage_ratio_count - ignoring (le) krm_foyer_bound_usage_ratio_bucket{le='1.0'}"
    )
    assert set(over.values()) == {0}, "no use is above the whole"


def test_nothing_is_open_any_more(observed: Observed) -> None:
    for gauge in ("krm_foyer_requests_in_flight", "krm_foyer_streams_open"):
        assert list(observed.prometheus.query(gauge).values()) == [0]


def test_the_documents_queries_have_the_seeds_among_them() -> None:
    for query in (BOUNDS_REACHED, CONCURRENCY_USED, LARGE_RESPONSES, CAUSES):
        assert query in QUERIES


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_of_the_document_says_something(observed: Observed, query: str) -> None:
    found = observed.prometheus.numbers(query)
    assert found
    assert all(0 <= value < 1e9 for value in found.values())


def test_prometheus_understands_every_type(observed: Observed) -> None:
    types = re.findall(r"^# TYPE (krm_foyer_\w+) (\w+)$", observed.scrape(), re.MULTILINE)
    known = observed.prometheus.types()
    # It asks for OpenMetrics, where a counter is named without what its series end in.
    assert {name: known.get(name.removesuffix("_total")) for name, _ in types} == dict(types)


def test_promtool_has_nothing_to_say_against_the_scrape(observed: Observed) -> None:
    command = [program("promtool"), "check", "metrics"]
    checked = subprocess.run(
        command, input=observed.scrape(), capture_output=True, text=True, check=False, timeout=60
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")

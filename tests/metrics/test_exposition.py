"""The scrape, to the letter: `golden.prom` is what people's alerts are built on.

Where a change is meant, `python -m tests.metrics.test_exposition` writes the file anew; the changelog says
that it is breaking.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from foyer.bound import MEASURED, Bound
from foyer.exchange.endings import Cause
from foyer.interruption import Reason
from foyer.measures import Histogram, Measures, TargetMeasures
from foyer.metrics.exposition import PLAIN, Exposition, negotiate

Key = TypeVar("Key")

GOLDEN = Path(__file__).with_name("golden.prom")

PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
"""What Prometheus 2.42 asks for."""


def number(*words: object, below: int = 99_991) -> int:
    """Another for each series, and the same whichever series are there beside it."""
    return crc32(" ".join(map(str, words)).encode()) % below


def fill(name: str, counters: dict[Key, int]) -> None:
    for key in counters:
        counters[key] = number(name, key)


def observe(name: str, histogram: Histogram) -> None:
    histogram.observe(0.75)
    for _ in range(number(name, below=97)):
        histogram.observe(0.25)


def counted() -> Measures:
    """Measures in which there is something of everything."""
    measures = Measures()
    for bound in Bound:
        measures.limits[bound] = number("limit", bound)
    for bound in MEASURED:
        observe(f"usage {bound}", measures.usage[bound])
    fill("reached", measures.reached)
    fill("cut short", measures.cut_short)
    fill("interruptions", measures.interruptions)
    measures.requests_in_flight = lambda: number("requests")
    measures.streams_open = lambda: number("streams")
    fill("watches", measures.watches_open)
    measures.shared_subscriptions_open = number("subscriptions")
    measures.shared_overflows = number("overflows")
    fill("access checks", measures.access_checks)
    observe("access checks", measures.access_check_duration)
    fill("subject reviews", measures.subject_reviews)
    fill("overload", measures.overload_refusals)
    fill("admission", measures.admission_refusals)
    measures.fleet_truncated = number("truncated")
    measures.memory_pool = number("pool", "size")
    measures.memory_reserved = lambda: number("pool", "reserved")
    measures.targets = {name: target(name) for name in ("eu", "us")}
    return measures


def target(name: str) -> TargetMeasures:
    measures = TargetMeasures()
    measures.in_flight = lambda: number(name, "in flight")
    measures.read_limit = lambda: number(name, "limit")
    measures.reads_admitted = lambda: number(name, "admitted")
    measures.refused = number(name, "refused")
    observe(name, measures.wait)
    return measures


def scraped(measures: Measures) -> str:
    return Exposition(measures).render(PLAIN).decode()


def foyers(text: str) -> str:
    """foyer's own part: what the process and Python are like is another every time."""
    return "".join(re.findall(r"^(?:# (?:HELP|TYPE) )?krm_foyer_.*\n", text, re.MULTILINE))


def families(metrics: Iterable[Metric]) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


def test_the_scrape_is_the_golden_one() -> None:
    assert foyers(scraped(counted())) == GOLDEN.read_text()


def test_every_metric_of_the_seed_has_its_type_and_its_labels() -> None:
    found = {
        metric.name: (metric.type, {name for sample in metric.samples for name in sample.labels} - {"le"})
        for metric in parse_text(foyers(scraped(counted())))
    }
    # A counter's family is named without the _total that its series have.
    assert found == {
        "krm_foyer_bound_limit": ("gauge", {"bound"}),
        "krm_foyer_bound_usage_ratio": ("histogram", {"bound"}),
        "krm_foyer_bound_reached": ("counter", {"bound"}),
        "krm_foyer_requests_in_flight": ("gauge", set()),
        "krm_foyer_streams_open": ("gauge", set()),
        "krm_foyer_upstream_watches_open": ("gauge", {"identity"}),
        "krm_foyer_shared_subscriptions_open": ("gauge", set()),
        "krm_foyer_shared_overflows": ("counter", set()),
        "krm_foyer_access_checks": ("counter", {"source", "result"}),
        "krm_foyer_access_check_duration_seconds": ("histogram", set()),
        "krm_foyer_subject_reviews": ("counter", {"result"}),
        "krm_foyer_responses_cut_short": ("counter", {"cause"}),
        "krm_foyer_interruptions": ("counter", {"reason"}),
        "krm_foyer_overload_refusals": ("counter", {"limit", "target"}),
        "krm_foyer_admission_refusals": ("counter", {"gate"}),
        "krm_foyer_fleet_truncated": ("counter", set()),
        "krm_foyer_memory_pool_bytes": ("gauge", {"kind"}),
        "krm_foyer_target_in_flight": ("gauge", {"target"}),
        "krm_foyer_read_limit": ("gauge", {"target"}),
        "krm_foyer_reads_admitted": ("gauge", {"target"}),
        "krm_foyer_target_wait_seconds": ("histogram", {"target"}),
    }


def test_every_series_of_a_fixed_set_is_scraped_at_zero_before_anything_happened() -> None:
    found = families(parse_text(foyers(scraped(Measures()))))

    def labelled(family: str, label: str, series: str) -> set[str]:
        return {sample.labels[label] for sample in found[family].samples if sample.name == series}

    bounds = {bound.value for bound in Bound}
    usage, measured = "krm_foyer_bound_usage_ratio", {bound.value for bound in MEASURED}
    causes, reasons = {cause.label for cause in Cause}, {reason.word for reason in Reason}
    assert labelled("krm_foyer_bound_reached", "bound", "krm_foyer_bound_reached_total") == bounds
    assert labelled(usage, "bound", f"{usage}_count") == measured
    assert labelled("krm_foyer_responses_cut_short", "cause", "krm_foyer_responses_cut_short_total") == causes
    assert labelled("krm_foyer_interruptions", "reason", "krm_foyer_interruptions_total") == reasons
    assert {sample.value for family in found.values() for sample in family.samples} == {0}
    # Those alone wait for the composition: limits for their values, and targets for their names.
    assert {name for name, family in found.items() if not family.samples} == {
        "krm_foyer_bound_limit",
        "krm_foyer_target_in_flight",
        "krm_foyer_read_limit",
        "krm_foyer_reads_admitted",
        "krm_foyer_target_wait_seconds",
    }


def test_a_scrape_is_what_was_counted_until_then() -> None:
    measures = Measures()
    exposition = Exposition(measures)
    series = 'krm_foyer_interruptions_total{reason="NotFound"} '
    assert f"{series}0.0\n" in exposition.render(PLAIN).decode()
    measures.interruptions[Reason.NOT_FOUND] += 1
    assert f"{series}1.0\n" in exposition.render(PLAIN).decode()


def test_the_process_and_python_are_in_it() -> None:
    found = families(parse_text(scraped(Measures()))).keys()
    assert {"process_resident_memory_bytes", "process_cpu_seconds", "process_open_fds"} <= found
    assert {"python_info", "python_gc_collections"} <= found


def test_prometheus_gets_open_metrics_with_the_same_series() -> None:
    form = negotiate(PROMETHEUS)
    assert form.content_type.startswith("application/openmetrics-text; version=1.0.0; charset=utf-8")
    text = Exposition(counted()).render(form).decode()
    assert text.endswith("# EOF\n")
    found: Iterable[Metric] = parse_openmetrics(text)  # type: ignore[no-untyped-call]
    own = families(metric for metric in found if metric.name.startswith("krm_foyer_"))
    assert own == families(parse_text(GOLDEN.read_text()))


@pytest.mark.parametrize("accept", ["", "*/*", "text/html", "text/plain;version=0.0.4"])
def test_whoever_names_no_format_gets_the_one_that_everybody_reads(accept: str) -> None:
    assert negotiate(accept).content_type == "text/plain; version=0.0.4; charset=utf-8"


VERSIONS = st.text(st.characters(codec="ascii"), max_size=12) | st.sampled_from(
    ["x", "1", "1.0.0", "1.0.0.x", "1.1.1; charset=x", "99.0.0", "1.\x01", "\r\nx: y"]
)


@given(st.sampled_from(["text/plain", "application/openmetrics-text"]), VERSIONS, VERSIONS)
def test_no_word_of_a_scraper_comes_back_in_a_content_type(media: str, version: str, escaping: str) -> None:
    form = negotiate(f"{media};version={version};escaping={escaping}")
    assert re.fullmatch(
        r"(text/plain; version=(0\.0\.4|1\.0\.0)|application/openmetrics-text; version=1\.0\.0)"
        r"; charset=utf-8(; escaping=(underscores|dots|values|allow-utf-8))?",
        form.content_type,
    )


@given(st.text(st.characters(codec="ascii")))
def test_any_accept_has_a_format(accept: str) -> None:
    assert negotiate(accept).content_type


if __name__ == "__main__":
    GOLDEN.write_text(foyers(scraped(counted())))

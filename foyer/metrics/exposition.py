"""The series, as they are scraped: names, types, labels and what each says (spec 04, Metrics; spec 06).

People build alerts on these, so a change of any is a breaking one: `tests/metrics/golden.prom` has them all.
Labels have fixed sets of values; the target's is the configuration's. What the client says of the process
and of Python comes after foyer's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest
from prometheus_client.registry import Collector

from foyer.measures import Histogram, Measures

Labels = TypeVar("Labels", bound=tuple[str, ...])

# Ten in all. The client would take any higher version for one it knows, and name it in the content type.
_FORMATS = re.compile(
    r"text/plain; version=(0\.0\.4|1\.0\.0); charset=utf-8(; escaping=[a-z0-9-]+)?"
    r"|application/openmetrics-text; version=1\.0\.0; charset=utf-8(; escaping=[a-z0-9-]+)?"
)


class Format(NamedTuple):
    """How the series are written, and the content type that says so."""

    encode: Callable[[Collector], bytes]
    content_type: str


PLAIN = Format(generate_latest, CONTENT_TYPE_PLAIN_0_0_4)
"""What every scraper reads."""


class Exposition:
    """Everything there is to scrape, as text."""

    def __init__(self, measures: Measures) -> None:
        self._registry = registry = CollectorRegistry()
        registry.register(FoyerCollector(measures))
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def render(self, form: Format) -> bytes:
        """The text."""
        return form.encode(self._registry)


def negotiate(accept: str) -> Format:
    """The client's choice for a scraper's `Accept`, where it is one of those above."""
    try:
        form = Format(*choose_encoder(accept))
    except TypeError:
        return PLAIN  # a word for a version, which it compares with numbers
    return form if _FORMATS.fullmatch(form.content_type) else PLAIN


class FoyerCollector(Collector):
    """foyer's own series, read from its measures whenever they are collected."""

    def __init__(self, measures: Measures) -> None:
        self._measures = measures

    def collect(self) -> Iterator[Metric]:
        """Every family, in the order of the documents."""
        yield from self._bounds()
        yield from self._streams()
        yield from self._endings()
        yield from self._overload()
        yield from self._targets()

    def _bounds(self) -> Iterator[Metric]:
        measures = self._measures
        yield _gauges(
            "krm_foyer_bound_limit",
            "The configured limit of a bound, in its own unit.",
            ("bound",),
            {(bound.value,): limit for bound, limit in measures.limits.items()},
        )
        yield _histograms(
            "krm_foyer_bound_usage_ratio",
            "How much of its bound each request, stream or response that was let through has used: 0 to 1.",
            ("bound",),
            {(bound.value,): histogram for bound, histogram in measures.usage.items()},
        )
        yield _counters(
            "krm_foyer_bound_reached",
            "Requests refused, and responses cut short, because a bound was reached.",
            ("bound",),
            {(bound.value,): count for bound, count in measures.reached.items()},
        )
        yield _gauge(
            "krm_foyer_requests_in_flight",
            "Requests that are open now, watches through /k8s among them.",
            measures.requests_in_flight(),
        )

    def _streams(self) -> Iterator[Metric]:
        measures = self._measures
        yield _gauge("krm_foyer_streams_open", "Streams that are open now.", measures.streams_open())
        yield _gauges(
            "krm_foyer_upstream_watches_open",
            "Watches open at the API server now: user, one for each per-user stream; shared, one for each"
            " scope that shared streams read.",
            ("identity",),
            {(identity,): count for identity, count in measures.watches_open.items()},
        )
        yield _gauge(
            "krm_foyer_shared_subscriptions_open",
            "Streams that read from a shared watch now.",
            measures.shared_subscriptions_open,
        )
        yield _counter(
            "krm_foyer_shared_overflows",
            "Streams that fell behind their shared watch and got a new snapshot from its cache.",
            measures.shared_overflows,
        )
        yield _counters(
            "krm_foyer_access_checks",
            "Decisions whether somebody may read a shared stream, by who made them.",
            ("source", "result"),
            measures.access_checks,
        )
        yield _histograms(
            "krm_foyer_access_check_duration_seconds",
            "How long such a decision took where the API server was asked.",
            (),
            {(): measures.access_check_duration},
        )
        yield _counters(
            "krm_foyer_subject_reviews",
            "SelfSubjectReviews before a shared stream.",
            ("result",),
            {(result,): count for result, count in measures.subject_reviews.items()},
        )

    def _endings(self) -> Iterator[Metric]:
        measures = self._measures
        yield _counters(
            "krm_foyer_responses_cut_short",
            "Responses that were aborted after they had begun, by why.",
            ("cause",),
            {(cause.label,): count for cause, count in measures.cut_short.items()},
        )
        yield _counters(
            "krm_foyer_interruptions",
            "Answers that foyer gave in the API server's place, by the reason in Krm-Foyer-Interruption.",
            ("reason",),
            {(reason.word,): count for reason, count in measures.interruptions.items()},
        )

    def _overload(self) -> Iterator[Metric]:
        measures = self._measures
        refusals = {(limit, ""): count for limit, count in measures.overload_refusals.items()}
        for name, target in measures.targets.items():
            refusals["target-in-flight", name] = target.refused
        yield _counters(
            "krm_foyer_overload_refusals",
            "Requests refused to keep foyer, or the API server that target names, from overload.",
            ("limit", "target"),
            refusals,
        )
        yield _counters(
            "krm_foyer_admission_refusals",
            "Reads that were not admitted, by the gate that they did not pass.",
            ("gate",),
            {(gate,): count for gate, count in measures.admission_refusals.items()},
        )
        yield _counter(
            "krm_foyer_fleet_truncated",
            "Fleet reads whose answer was cut to the oldest items.",
            measures.fleet_truncated,
        )
        yield _gauges(
            "krm_foyer_memory_pool_bytes",
            "The memory that fleet reads and snapshots share: its size, and what of it is reserved now.",
            ("kind",),
            {("size",): measures.memory_pool, ("reserved",): measures.memory_reserved()},
        )

    def _targets(self) -> Iterator[Metric]:
        targets = {(name,): target for name, target in self._measures.targets.items()}
        yield _gauges(
            "krm_foyer_target_in_flight",
            "Slots under an API server's cap that are taken now.",
            ("target",),
            {name: target.in_flight() for name, target in targets.items()},
        )
        yield _gauges(
            "krm_foyer_read_limit",
            "Reads of an API server that may be admitted at once now.",
            ("target",),
            {name: target.read_limit() for name, target in targets.items()},
        )
        yield _gauges(
            "krm_foyer_reads_admitted",
            "Reads of an API server that are admitted now.",
            ("target",),
            {name: target.reads_admitted() for name, target in targets.items()},
        )
        yield _histograms(
            "krm_foyer_target_wait_seconds",
            "How long a read waited for a slot under an API server's cap.",
            ("target",),
            {name: target.wait for name, target in targets.items()},
        )


def _gauge(name: str, says: str, value: float) -> Metric:
    return GaugeMetricFamily(name, says, value)


def _gauges(name: str, says: str, labels: tuple[str, ...], values: Mapping[Labels, float]) -> Metric:
    family = GaugeMetricFamily(name, says, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _counter(name: str, says: str, value: int) -> Metric:
    return CounterMetricFamily(name, says, value)


def _counters(name: str, says: str, labels: tuple[str, ...], values: Mapping[Labels, int]) -> Metric:
    """`name` is without the `_total` that each of its series ends in."""
    family = CounterMetricFamily(name, says, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _histograms(name: str, says: str, labels: tuple[str, ...], values: Mapping[Labels, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, says, labels=labels)
    for key, histogram in values.items():
        buckets = [("+Inf" if end == inf else repr(end), count) for end, count in histogram.cumulative()]
        family.add_metric(key, buckets, histogram.sum)
    return family

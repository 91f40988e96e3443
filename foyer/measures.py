"""What foyer counts of itself, as plain values (spec 04, Metrics; spec 06, Answers, counts, alerts).

Counting stands on the path of every request, so it is an addition here and nothing more; `foyer.metrics`
reads it all at a scrape. A label's values are the keys, from fixed sets, and every one is there from the
start: an alert on a series that appears with its first increase misses that increase. The targets are the
one set that configuration names. No key is ever a user, a session, a path or a scope.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate, product

from foyer.bound import MEASURED, Bound
from foyer.exchange.endings import Cause
from foyer.interruption import Reason

RATIOS = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Upper ends of the buckets of a use, as a part of its limit."""

DURATIONS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the buckets of everything that is in seconds."""

SOURCES = ("api_server", "cache")
"""Who decided whether somebody may watch a shared scope: the API server now, or its answer of before."""

DECISIONS = ("allowed", "denied", "error")
"""What was decided."""


class Histogram:
    """Observations by size.

    An observation costs 0.11 µs (CPython 3.11), prometheus-client's own 0.56 to 0.7 on the same machine:
    that one takes a lock and walks the buckets, and one event loop needs neither.
    """

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """`bounds` are the buckets' upper ends, rising; each belongs to its bucket, as Prometheus's `le`."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Takes one value in."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        """Observations so far."""
        return sum(self._counts)

    def cumulative(self) -> list[tuple[float, int]]:
        """Each bucket's upper end and the observations up to it; the last end is infinity."""
        return list(zip((*self._bounds, float("inf")), accumulate(self._counts), strict=True))


class TargetMeasures:
    """What is counted for one API server (spec 06). Its name is the `target` label."""

    __slots__ = ("in_flight", "read_limit", "reads_admitted", "refused", "wait")

    def __init__(self) -> None:
        self.in_flight: Callable[[], int] = _none
        """Slots under its cap that are taken."""
        self.read_limit: Callable[[], int] = _none
        """Reads that may be admitted at once, as adapted."""
        self.reads_admitted: Callable[[], int] = _none
        """Reads that are admitted."""
        self.refused = 0
        """Requests that found its cap full until their deadline: the limit `target-in-flight`."""
        self.wait = Histogram(DURATIONS)
        """Seconds that reads waited for a slot."""


class Measures:
    """One replica's. Whoever comes to know something counts it here; gauges of what others hold are asked."""

    def __init__(self) -> None:
        # Bounds (spec 04).
        self.limits: dict[Bound, float] = {}
        """The configured limits, each in its own unit: set by whoever composes what keeps them."""
        self.usage = {bound: Histogram(RATIOS) for bound in MEASURED}
        """How much of its bound whatever was let through has used, from 0 to 1."""
        self.reached = dict.fromkeys(Bound, 0)
        """Refusals, and responses cut short, because of a bound."""
        self.cut_short = dict.fromkeys(Cause, 0)
        self.interruptions = dict.fromkeys(Reason, 0)
        self.requests_in_flight: Callable[[], int] = _none
        self.streams_open: Callable[[], int] = _none

        # Streams (spec 05).
        self.watches_open = {"user": 0, "shared": 0}
        """Watches at the API server, by whose identity opened them."""
        self.shared_subscriptions_open = 0
        self.shared_overflows = 0
        self.access_checks = dict.fromkeys(product(SOURCES, DECISIONS), 0)
        """Decisions for shared streams, by source and result."""
        self.access_check_duration = Histogram(DURATIONS)
        """Seconds that a decision took for which the API server was asked."""
        self.subject_reviews = {"resolved": 0, "refused": 0, "error": 0}

        # Overload and read admission (spec 06).
        self.overload_refusals = {"concurrency": 0, "caller-rate": 0}
        """By limit; a target's are in its own measures."""
        self.admission_refusals = {"concurrency": 0, "memory": 0, "too-large": 0}
        """By gate."""
        self.fleet_truncated = 0
        self.memory_pool = 0
        """Bytes that reads share."""
        self.memory_reserved: Callable[[], int] = _none
        """Bytes of them that are reserved."""
        self.targets: dict[str, TargetMeasures] = {}
        """By name. One that a reload takes away stays: a counter never goes."""


def _none() -> int:
    """A gauge's value as long as nobody has put there what it is read from."""
    return 0

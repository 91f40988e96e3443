"""Plain values, at zero from the start, in buckets as Prometheus understands them."""

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.bound import MEASURED, Bound
from foyer.exchange.endings import Cause
from foyer.interruption import Reason
from foyer.measures import DURATIONS, RATIOS, Histogram, Measures, TargetMeasures

VALUES = st.floats(min_value=0, max_value=1e9, allow_subnormal=False)
ENDS = st.sets(VALUES, min_size=1, max_size=12).map(sorted).map(tuple)


def test_the_buckets_are_those_of_the_specification() -> None:
    assert RATIOS == (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
    assert DURATIONS == (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@given(ENDS, st.lists(VALUES))
def test_a_bucket_counts_what_is_at_most_its_end(bounds: tuple[float, ...], values: list[float]) -> None:
    histogram = Histogram(bounds)
    for value in values:
        histogram.observe(value)
    ends = (*bounds, float("inf"))
    assert histogram.cumulative() == [(end, sum(value <= end for value in values)) for end in ends]
    assert histogram.count == len(values)
    assert histogram.sum == pytest.approx(sum(values))


@given(st.integers(1, 10**6), st.data())
def test_a_share_of_a_whole_limit_is_in_the_bucket_that_exact_arithmetic_says(
    limit: int, data: st.DataObject
) -> None:
    used = data.draw(st.integers(0, limit) | st.sampled_from([limit * tenths // 10 for tenths in range(11)]))
    histogram = Histogram(RATIOS)
    histogram.observe(used / limit)
    ends = [Fraction(str(end)) for end in RATIOS]
    exact = bisect_left(ends, Fraction(used, limit))
    assert [count for _, count in histogram.cumulative()] == [0] * exact + [1] * (len(RATIOS) + 1 - exact)


def test_the_whole_of_a_bound_is_in_the_last_bucket_and_not_above_it() -> None:
    histogram = Histogram(RATIOS)
    histogram.observe(64 / 64)
    assert histogram.cumulative()[-3:] == [(0.9, 0), (1, 1), (float("inf"), 1)]


def test_every_series_of_a_fixed_set_is_there_at_zero() -> None:
    measures = Measures()
    assert measures.reached == dict.fromkeys(Bound, 0)
    assert measures.cut_short == dict.fromkeys(Cause, 0)
    assert measures.interruptions == dict.fromkeys(Reason, 0)
    assert measures.usage.keys() == set(MEASURED)
    assert {histogram.count for histogram in measures.usage.values()} == {0}
    assert measures.watches_open == {"user": 0, "shared": 0}
    assert measures.access_checks == {
        (source, result): 0 for source in ("api_server", "cache") for result in ("allowed", "denied", "error")
    }
    assert measures.subject_reviews == {"resolved": 0, "refused": 0, "error": 0}
    assert measures.overload_refusals == {"concurrency": 0, "caller-rate": 0}
    assert measures.admission_refusals == {"concurrency": 0, "memory": 0, "too-large": 0}
    assert (measures.memory_pool, measures.memory_reserved()) == (0, 0)
    assert (measures.requests_in_flight(), measures.streams_open()) == (0, 0)
    target = TargetMeasures()
    assert (target.in_flight(), target.read_limit(), target.reads_admitted(), target.refused) == (0, 0, 0, 0)


def test_measures_share_nothing() -> None:
    one, other = Measures(), Measures()
    one.usage[Bound.STREAMS].observe(0.5)
    one.reached[Bound.STREAMS] += 1
    one.watches_open["user"] += 1
    assert (other.usage[Bound.STREAMS].count, other.reached[Bound.STREAMS]) == (0, 0)
    assert other.watches_open["user"] == 0


def test_the_words_of_every_label_are_distinct() -> None:
    for words in ([b.value for b in Bound], [c.label for c in Cause], [r.word for r in Reason]):
        assert len(set(words)) == len(words)


def test_bounds_rise() -> None:
    assert all(low < high for ends in (RATIOS, DURATIONS) for low, high in pairwise(ends))

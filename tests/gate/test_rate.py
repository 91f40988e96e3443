"""Spec 04, Rate: at most burst + rate × interval in any interval, and nobody within that is refused."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.gate.rate import Passed, Rate, Refused

RATES = st.sampled_from([0.001, 0.3, 1.0, 3.0, 7.5, 20.0, 50.0, 1000.0])
BURSTS = st.integers(1, 120)
STARTS = st.sampled_from([0.0, 0.1, 1e6 / 3, 1e6, 2**31 + 0.7])
"""A loop's clock is the machine's uptime: the larger it is, the coarser a float of it."""

GAPS = st.lists(st.one_of(st.just(0.0), st.floats(0.0, 3.0), st.floats(0.0, 0.01)), max_size=150)
"""Between requests, in intervals of the rate."""

TOLERANCE = 1e-5
"""Of a token: what a float of a time is off by."""


def times(start: float, gaps: list[float], interval: float) -> list[float]:
    """Those of the requests."""
    now, found = start, []
    for gap in gaps:
        now += gap * interval
        found.append(now)
    return found


def most_in_any_interval(passed: list[float], rate: float, burst: int) -> float:
    """By how many tokens the worst interval is over burst + rate × interval; below zero when none is."""
    worst, level, last = -float(burst), 0.0, None
    for now in passed:
        # The highest count less what has come back since: Kadane's sum, over time.
        level = max(0.0, level - (now - last) * rate) + 1 if last is not None else 1.0
        worst, last = max(worst, level - burst), now
    return worst


@given(rate=RATES, burst=BURSTS, start=STARTS, gaps=GAPS)
def test_no_interval_has_more_than_the_burst_and_what_the_rate_brings(
    rate: float, burst: int, start: float, gaps: list[float]
) -> None:
    bucket = Rate[str](rate, burst)
    taken = [now for now in times(start, gaps, 1 / rate) if isinstance(bucket.take("a", now), Passed)]
    assert most_in_any_interval(taken, rate, burst) <= TOLERANCE * max(1.0, rate)


@given(rate=RATES, burst=BURSTS, start=STARTS, gaps=GAPS)
def test_whoever_never_exceeds_it_is_never_refused(
    rate: float, burst: int, start: float, gaps: list[float]
) -> None:
    """Each request goes as early as the rate lets it: the gap on top is the caller's own.

    Reckoned exactly, and a float only where the clock is one: who adds floats up drifts by themselves.
    """
    bucket = Rate[str](rate, burst)
    interval = 1 / Fraction(rate)
    now = full = Fraction(start)
    for gap in gaps:
        now = max(now + Fraction(gap) * interval, full - (burst - 1) * interval)
        full = max(full, now) + interval
        assert isinstance(bucket.take("a", float(now)), Passed)


@pytest.mark.parametrize("start", [0.0, 1e6, 2**31 + 0.7])
@pytest.mark.parametrize(("rate", "burst"), [(20.0, 100), (20.0, 1), (3.0, 7), (0.1, 1)])
def test_the_burst_and_then_exactly_the_rate_is_never_refused_however_long(
    rate: float, burst: int, start: float
) -> None:
    """A sum of floats drifts by half a unit a request: after a thousand of them it would be a refusal."""
    bucket = Rate[str](rate, burst)
    for _ in range(burst):
        assert isinstance(bucket.take("a", start), Passed)
    assert isinstance(bucket.take("a", start), Refused)
    for number in range(1, 5000):
        assert isinstance(bucket.take("a", start + number / rate), Passed), number


@given(rate=RATES, burst=BURSTS, start=STARTS, gaps=GAPS)
def test_a_refusal_says_how_long_and_after_that_the_request_passes_and_not_a_second_before(
    rate: float, burst: int, start: float, gaps: list[float]
) -> None:
    bucket = Rate[str](rate, burst)
    for now in times(start, gaps, 1 / rate):
        outcome = bucket.take("a", now)
        if isinstance(outcome, Passed):
            continue
        assert outcome.retry_after >= 1
        assert outcome.wait - 1e-5 <= outcome.retry_after < max(1.0, outcome.wait) + 1
        early = outcome.retry_after - 1
        if early:
            assert isinstance(bucket.take("a", now + early), Refused)
        assert isinstance(bucket.take("a", now + outcome.retry_after), Passed)
        return


@pytest.mark.parametrize(
    ("rate", "expected"), [(20.0, 1), (1.0, 1), (0.5, 2), (0.4, 3), (1 / 3, 3), (0.1, 10), (0.001, 1000)]
)
def test_the_wait_is_in_whole_seconds_rounded_up(rate: float, expected: int) -> None:
    bucket = Rate[str](rate, 1)
    assert isinstance(bucket.take("a", 1e6), Passed)
    outcome = bucket.take("a", 1e6)
    assert isinstance(outcome, Refused)
    assert outcome.retry_after == expected
    assert outcome.wait == pytest.approx(1 / rate)


def test_a_refused_request_costs_nothing() -> None:
    bucket = Rate[str](1.0, 1)
    assert isinstance(bucket.take("a", 0.0), Passed)
    for number in range(50):
        assert isinstance(bucket.take("a", 0.5 + number / 1000), Refused)
    assert isinstance(bucket.take("a", 1.0), Passed)


def test_the_share_spent_is_of_the_burst_and_counts_this_one() -> None:
    bucket = Rate[str](1.0, 4)
    outcomes = [bucket.take("a", now) for now in (0.0, 0.0, 0.5, 0.5, 1.0, 5.5)]
    assert outcomes == [
        Passed(0.25),
        Passed(0.5),
        Passed(0.625),
        Passed(0.875),
        Passed(1.0),
        Passed(0.25),
    ]


def test_nobody_is_refused_for_another() -> None:
    bucket = Rate[str](1.0, 1)
    for name in "abc":
        assert isinstance(bucket.take(name, 0.0), Passed)
        assert isinstance(bucket.take(name, 0.0), Refused)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0.0, 3.0)), max_size=80))
@example([(0, 0.0), (1, 2.0), (2, 2.0), (3, 2.0)])
def test_forgetting_those_that_are_full_changes_no_answer(steps: list[tuple[int, float]]) -> None:
    """Held to buckets that are each by itself, and so are never forgotten for another's sake."""
    together = Rate[int](2.0, 3)
    apart = [Rate[int](2.0, 3) for _ in range(5)]
    now = 0.0
    for key, gap in steps:
        now += gap
        assert together.take(key, now) == apart[key].take(key, now)


def test_what_is_kept_are_the_buckets_of_two_refills_at_most() -> None:
    """Sessions come and go for months, and none of them may stay in memory."""
    bucket = Rate[int](20.0, 100)
    most = 0
    for number in range(20_000):
        bucket.take(number, number * 0.01)  # a hundred sessions a second, and a refill takes five
        most = max(most, len(bucket))
    assert most <= 2 * 5 * 100 + 1
    bucket.take(0, 1e6)
    assert len(bucket) == 1


def test_a_bucket_that_is_not_full_is_not_forgotten() -> None:
    """A session that spent its burst just before a generation ends has spent it in the next."""
    bucket = Rate[str](1.0, 4)
    bucket.take("other", 0.0)
    for _ in range(4):
        assert isinstance(bucket.take("a", 3.9), Passed)
    bucket.take("other", 4.0)  # a new generation
    assert isinstance(bucket.take("a", 4.0), Refused)
    assert isinstance(bucket.take("a", 4.9), Passed)
    bucket.take("other", 8.0)  # and another
    [first, second] = [bucket.take("a", 8.0) for _ in range(2)]
    assert isinstance(first, Passed) and isinstance(second, Passed)


def test_passed_and_refused_follow_each_other_as_the_tokens_come_back() -> None:
    """At twice the rate every other request passes, once the burst is spent."""
    bucket = Rate[str](10.0, 5)
    outcomes = [isinstance(bucket.take("a", number / 20), Passed) for number in range(60)]
    assert all(outcomes[:9])
    assert all(first is not second for first, second in pairwise(outcomes[10:]))

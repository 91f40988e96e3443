"""Spec 06, Per-user rate, and the seed's per-caller rate: a bucket a person, and at most so many tracked."""

import sys
from itertools import pairwise
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.gate.rate import Passed, Rate, Refused
from foyer.gate.users import MOST, UserRate

TAKES = st.lists(st.tuples(st.integers(0, 9), st.floats(0.0, 2.0)), max_size=120)
"""Who asks, and how many intervals of the rate after the one before."""


def tokens(rate: UserRate, user: str, now: float) -> int:
    """How many `user` gets at once."""
    found = 0
    while isinstance(rate.take(user, now), Passed):
        found += 1
    return found


def test_each_user_has_a_bucket_of_burst_requests_that_refills_at_the_rate() -> None:
    rate = UserRate(10, 20)
    assert tokens(rate, "ada", 100.0) == 20
    assert tokens(rate, "ada", 100.5) == 5
    assert tokens(rate, "ada", 200.0) == 20


def test_one_users_bucket_is_nobody_elses() -> None:
    rate = UserRate(10, 20)
    assert tokens(rate, "ada", 100.0) == tokens(rate, "bob", 100.0) == 20


def test_a_request_past_an_empty_bucket_is_told_the_whole_seconds_until_it_holds_one_again() -> None:
    rate = UserRate(0.3, 1)
    assert rate.take("ada", 100.0) == Passed(1.0)
    refused = rate.take("ada", 100.0)
    assert isinstance(refused, Refused)
    assert refused.retry_after == 4
    assert refused.wait == pytest.approx(1 / 0.3)
    assert isinstance(rate.take("ada", 100.0 + refused.wait), Passed)


@given(TAKES)
def test_where_there_is_room_for_all_each_is_held_to_the_rate_as_if_alone(
    takes: list[tuple[int, float]],
) -> None:
    rate, alone, now = UserRate(4, 5), Rate[int](4, 5), 1000.0
    for user, gap in takes:
        now += gap / 4
        assert rate.take(user, now) == alone.take(user, now)


def test_at_most_ten_thousand_are_tracked_by_default() -> None:
    rate = UserRate(0.001, 2)
    for user in range(MOST + 100):
        rate.take(user, 100.0)
    assert len(rate) == MOST == 10_000


@given(TAKES, st.integers(1, 6))
def test_never_are_more_tracked_than_may_be(takes: list[tuple[int, float]], most: int) -> None:
    rate, now = UserRate(4, 5, most), 1000.0
    for user, gap in takes:
        now += gap / 4
        rate.take(user, now)
        assert len(rate) <= most


@given(TAKES, st.integers(1, 6))
def test_past_the_limit_the_fullest_bucket_is_forgotten(takes: list[tuple[int, float]], most: int) -> None:
    """Against the same by looking through all of them."""
    rate, now = UserRate(4, 5, most), 1000.0
    full_at: dict[int, float] = {}
    for user, gap in takes:
        now += gap / 4
        full_at = {who: at for who, at in full_at.items() if at > now + 1e-7}
        full = max(full_at.get(user, now), now) + 1 / 4
        passes = full - now <= 5 / 4 + 1e-6
        if passes:
            if user not in full_at and len(full_at) == most:
                fullest, second = [*sorted(full_at.values()), float("inf")][:2]
                if second - fullest < 1e-7:
                    return  # two are as full: which of them it is says nobody
                del full_at[min(full_at, key=lambda who: full_at[who])]
            full_at[user] = full
        assert isinstance(rate.take(user, now), Passed) is passes


def test_whoever_has_spent_everything_is_not_forgiven_however_many_come() -> None:
    rate = UserRate(0.001, 5, 10)
    assert tokens(rate, "mallory", 100.0) == 5
    for number in range(1000):
        assert isinstance(rate.take(number, 100.0), Passed)
        assert isinstance(rate.take("mallory", 100.0), Refused)


def test_one_more_than_may_be_tracked_has_a_rate_too() -> None:
    """The others are all shorter of tokens than a new one: was it the one to go, it would have no end."""
    rate = UserRate(0.001, 5, 10)
    for number in range(10):
        assert tokens(rate, str(number), 100.0) == 5
    assert tokens(rate, "new", 100.0) == 5
    assert len(rate) == 10


def test_a_refilled_bucket_is_forgotten() -> None:
    rate = UserRate(10, 20)
    for user in range(100):
        rate.take(user, 100.0)
    assert len(rate) == 100
    left = []
    for _ in range(100):
        rate.take("ada", 101.0)
        left.append(len(rate))
    assert left[-1] == 1, "refilled ones are kept"
    assert all(before - after <= 2 for before, after in pairwise(left)), "all of them in one call"


def test_a_user_who_goes_on_asking_is_tracked_once() -> None:
    rate = UserRate(10, 20)
    for number in range(10_000):
        rate.take("ada", 100.0 + number / 10)
    assert len(rate) == 1


def steps(rate: UserRate, user: str, now: float) -> int:
    """Calls of functions that one request takes: how long it is, without a clock."""
    made = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal made
        made += event == "call" and frame.f_code.co_filename.endswith("users.py")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        rate.take(user, now)
    finally:
        sys.setprofile(before)
    return made


def test_nobody_waits_while_everybodys_entries_are_put_right() -> None:
    """The attack: all who may be tracked are short of tokens and have asked again, and new ones come."""
    rate = UserRate(0.001, 20, 1000)
    for _ in range(15):
        for user in range(1000):
            rate.take(user, 100.0)
    assert max(steps(rate, f"new {number}", 100.0) for number in range(100)) < 20

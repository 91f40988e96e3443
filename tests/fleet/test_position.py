"""A place in the merged list, and the `continue` that says it."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.fleet import position
from foyer.fleet.position import MAX_NAME, MAX_TOKEN, Position, is_name, moment, token
from foyer.session import spelling

MOMENTS = st.datetimes().filter(lambda moment: 1 < moment.year < 9999)
PLAIN = MOMENTS.map(lambda moment: moment.replace(microsecond=0).isoformat())
NAMES = st.text(max_size=MAX_NAME).filter(is_name)
POSITIONS = st.builds(Position, st.one_of(st.just(""), PLAIN), NAMES, NAMES, NAMES)


@given(POSITIONS)
def test_a_continue_says_its_position_and_is_fit_for_a_url_as_it_is(place: Position) -> None:
    said = token(place)
    assert position.read(said.encode()) == place
    assert len(said) <= MAX_TOKEN
    assert said.replace("-", "").replace("_", "").isalnum()


def test_the_longest_continue_is_read() -> None:
    place = Position("2026-01-01T00:00:00", "t" * 63, "\x01" * MAX_NAME, "\x01" * MAX_NAME)
    assert position.read(token(place).encode()) == place


@given(st.binary(max_size=100))
def test_what_was_not_given_is_none_or_spells_a_position_in_the_one_way(given_token: bytes) -> None:
    found = position.read(given_token)
    assert found is None or isinstance(found, Position)


def said(value: object) -> bytes:
    return spelling.encode(json.dumps(value).encode()).encode()


GOOD = [1, "2026-01-01T00:00:00", "eu", "team", "one"]


@pytest.mark.parametrize(
    "given_token",
    [
        said([2, *GOOD[1:]]),
        said([True, *GOOD[1:]]),
        said([1.0, *GOOD[1:]]),
        said(GOOD[:-1]),
        said([*GOOD, "more"]),
        said([1, "2026", "eu", "team", "one"]),
        said([1, "2026-01-01T00:00:00Z", "eu", "team", "one"]),
        said([1, "2026-01-01T00:00:00", "eu", "team", 7]),
        said([1, "2026-01-01T00:00:00", "eu", "team", "\ud800"]),
        said([1, "2026-01-01T00:00:00", "eu", "team", "x" * (MAX_NAME + 1)]),
        said({}),
        said(GOOD) + b"=",
        said("[" * 100_000),
        spelling.encode(b"[" * 10_000).encode(),
        spelling.encode(json.dumps(GOOD).encode("utf-16")).encode(),
        b"eyJ",
        b"%",
    ],
)
def test_a_continue_that_was_made_up_is_none(given_token: bytes) -> None:
    assert position.read(given_token) is None
    assert position.read(said(GOOD)) == Position(*map(str, GOOD[1:]))


@given(MOMENTS, MOMENTS)
def test_moments_compare_as_the_times_they_are(one: datetime, other: datetime) -> None:
    def written(time: datetime) -> str:
        return moment(time.isoformat() + "Z")

    assert (written(one) < written(other)) == (one < other)
    assert (written(one) == written(other)) == (one == other)


@given(MOMENTS, st.integers(-23 * 60, 23 * 60))
def test_spellings_of_one_moment_are_one(time: datetime, offset: int) -> None:
    there = time.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=offset)))
    assert moment(there.isoformat()) == moment(time.isoformat() + "Z")


@pytest.mark.parametrize(
    ("timestamp", "time"),
    [
        ("2026-01-31T23:59:59Z", "2026-01-31T23:59:59"),
        ("2026-01-31T23:59:59.500Z", "2026-01-31T23:59:59.5"),
        ("2026-01-31T23:59:59.000000000z", "2026-01-31T23:59:59"),
        ("2026-01-31t23:59:59+01:30", "2026-01-31T22:29:59"),
        ("", ""),
        ("yesterday", ""),
        ("2026-01-31", ""),
        ("2026-01-31T23:59:59", ""),
        ("2026-02-30T00:00:00+00:00", ""),
        ("0001-01-01T00:00:00+01:00", ""),
        ("2026-01-31T23:59:59+99:00", ""),
        ("2026-01-31T23:59:59.5Z\n", ""),
        ("\uff12026-01-31T23:59:59Z", ""),
    ],
)
def test_a_time_that_is_none_is_the_oldest(timestamp: str, time: str) -> None:
    assert moment(timestamp) == time

"""The order of resource versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.streams.versions import newer_or_unordered, older, orderable

NUMBERS = st.integers(1, 10**60)


@pytest.mark.parametrize("version", ["1", "9", "10", "18446744073709551616", "1" + "0" * 5000])
def test_a_decimal_of_any_size_has_a_place(version: str) -> None:
    assert orderable(version)


@pytest.mark.parametrize(
    "version", ["", "0", "01", "-1", "+1", "1.0", "1e3", " 1", "1\n", "a", "1a", "²", "\u0661", "0x1"]
)
def test_anything_else_has_none_and_is_neither_older_nor_not_newer(version: str) -> None:
    assert not orderable(version)
    for other in ("5", version, "opaque"):
        assert not older(version, other)
        assert not older(other, version)
        assert newer_or_unordered(version, other)
        assert newer_or_unordered(other, version)


@given(NUMBERS, NUMBERS)
def test_the_order_is_that_of_the_numbers(one: int, other: int) -> None:
    assert older(str(one), str(other)) is (one < other)
    assert newer_or_unordered(str(one), str(other)) is (one > other)

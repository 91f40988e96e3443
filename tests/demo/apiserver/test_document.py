"""JSON in and out."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.document import Malformed, go_type, read, write

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(_json)
def test_what_is_written_reads_back(value: Any) -> None:
    assert read(write(value)) == value
    assert b"\n" not in write(value)


@given(st.binary(max_size=20))
def test_whatever_the_bytes_they_are_json_or_malformed(content: bytes) -> None:
    try:
        value = read(content)
    except Malformed:
        return
    assert json.loads(content) == value


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"-1e999",
        b"9" * 5000,
        b"[" * 5000,
        '{"a":1}'.encode("utf-16"),
    ],
)
def test_what_python_would_take_and_json_would_not_is_malformed(content: bytes) -> None:
    with pytest.raises(Malformed):
        read(content)


def test_numbers_are_finite_and_as_large_as_they_are() -> None:
    assert read(b"[123456789012345678901234567890,1.5]") == [123456789012345678901234567890, 1.5]
    with pytest.raises(ValueError, match="JSON"):
        write(math.nan)


def test_a_lone_surrogate_does_not_break_the_encoding() -> None:
    assert write(read(b'"a\\ud800b"')) == b'"a?b"'


def test_keys_are_sorted_for_who_asks() -> None:
    assert write({"b": {"d": 1, "c": 2}, "a": 3}, ordered=True) == b'{"a":3,"b":{"c":2,"d":1}}'


def test_types_are_called_what_go_calls_them() -> None:
    values = [True, "", 1, 1.5, [], {}, None]
    assert [go_type(value) for value in values] == [
        "bool",
        "string",
        "number",
        "number",
        "array",
        "object",
        "null",
    ]

"""Structural schemas: dropping, filling in, checking."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.resources import RESOURCES
from foyer.demo.apiserver.schema import (
    BOOLEAN,
    FREE,
    INTEGER,
    STRING,
    STRING_MAP,
    STRINGS,
    check,
    fields,
    fill,
    prune,
)

SCHEMA = fields(
    {
        "name": STRING | {"maxLength": 3, "pattern": "^[a-z]*$"},
        "size": INTEGER | {"default": 1},
        "on": BOOLEAN,
        "tags": STRINGS,
        "labels": STRING_MAP,
        "ratio": {"type": "number"},
        "parts": {"type": "array", "items": fields({"id": INTEGER | {"default": 0}}, required=("id",))},
        "anything": FREE,
    }
)


def test_unknown_fields_are_dropped_everywhere_and_named() -> None:
    value = {"x": 1, "parts": [{"id": 1, "y": 2}], "anything": {"z": 1}, "labels": {"k": "v"}, "name": "a"}
    pruned, dropped = prune(value, SCHEMA)
    assert pruned == {"name": "a", "labels": {"k": "v"}, "parts": [{"id": 1}], "anything": {"z": 1}}
    assert list(pruned) == ["name", "labels", "parts", "anything"]
    assert dropped == ["x", "parts[0].y"]


def test_defaults_are_filled_in_and_nulls_left_out() -> None:
    assert fill({"name": None, "parts": [{}]}, SCHEMA) == {"size": 1, "parts": [{"id": 0}]}


@pytest.mark.parametrize(
    ("value", "reason", "field"),
    [
        ({"name": 1}, "FieldValueTypeInvalid", "name"),
        ({"name": "abcd"}, "FieldValueTooLong", "name"),
        ({"name": "A"}, "FieldValueInvalid", "name"),
        ({"size": True}, "FieldValueTypeInvalid", "size"),
        ({"size": 1.5}, "FieldValueTypeInvalid", "size"),
        ({"on": "yes"}, "FieldValueTypeInvalid", "on"),
        ({"tags": ["a", 1]}, "FieldValueTypeInvalid", "tags[1]"),
        ({"labels": {"k": []}}, "FieldValueTypeInvalid", "labels.k"),
        ({"parts": [{}]}, "FieldValueRequired", "parts[0].id"),
        ({"ratio": "1"}, "FieldValueTypeInvalid", "ratio"),
    ],
)
def test_what_the_schema_forbids_is_named(value: dict[str, Any], reason: str, field: str) -> None:
    (cause,) = check(value, SCHEMA)
    assert (cause.reason, cause.field) == (reason, field)


def test_an_integer_is_a_number_too() -> None:
    assert list(check({"ratio": 1}, SCHEMA)) == list(check({"ratio": 1.5}, SCHEMA)) == []


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "spec", "name", "labels", "x"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(_json)
def test_no_value_surprises_the_schemas_that_are_served(value: Any) -> None:
    for row in RESOURCES:
        pruned, _ = prune(value, row.whole_schema)
        assert prune(pruned, row.whole_schema) == (pruned, [])
        filled = fill(pruned, row.whole_schema)
        assert fill(filled, row.whole_schema) == filled
        list(check(filled, row.whole_schema))

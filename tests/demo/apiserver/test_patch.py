"""RFC 6902 and RFC 7396, against their own examples and another implementation."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.patch import (
    MAX_OPERATIONS,
    MalformedPatch,
    PatchFailed,
    equal,
    json_patch,
    merge_patch,
)

# RFC 7396, Appendix A: original, patch, result.
MERGES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("original", "patch", "result"), MERGES)
def test_a_merge_patch_does_what_the_rfc_shows(original: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy(original)
    assert merge_patch(original, patch) == result
    assert original == before


# RFC 6902, Appendix A: target, operation, result.
APPLIED: list[tuple[Any, dict[str, Any], Any]] = [
    ({"foo": "bar"}, {"op": "add", "path": "/baz", "value": "qux"}, {"baz": "qux", "foo": "bar"}),
    ({"foo": ["a", "c"]}, {"op": "add", "path": "/foo/1", "value": "b"}, {"foo": ["a", "b", "c"]}),
    ({"baz": "qux", "foo": "bar"}, {"op": "remove", "path": "/baz"}, {"foo": "bar"}),
    ({"foo": ["a", "b", "c"]}, {"op": "remove", "path": "/foo/1"}, {"foo": ["a", "c"]}),
    ({"baz": "qux"}, {"op": "replace", "path": "/baz", "value": "boo"}, {"baz": "boo"}),
    ({"foo": ["a", "b"]}, {"op": "replace", "path": "/foo/1", "value": "c"}, {"foo": ["a", "c"]}),
    ({"a": {"b": 1}, "c": {}}, {"op": "move", "from": "/a/b", "path": "/c/d"}, {"a": {}, "c": {"d": 1}}),
    ({"foo": ["a", "b", "c"]}, {"op": "move", "from": "/foo/0", "path": "/foo/2"}, {"foo": ["b", "c", "a"]}),
    (
        {"baz": "q", "foo": ["a", 2]},
        {"op": "test", "path": "/foo/1", "value": 2.0},
        {"baz": "q", "foo": ["a", 2]},
    ),
    ({"foo": "bar"}, {"op": "add", "path": "/c", "value": {"g": {}}}, {"foo": "bar", "c": {"g": {}}}),
    ({"foo": "bar"}, {"op": "add", "path": "/b", "value": 1, "xyz": 1}, {"foo": "bar", "b": 1}),
    ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": 10}, {"/": 9, "~1": 10}),
    ({"foo": ["bar"]}, {"op": "add", "path": "/foo/-", "value": ["a"]}, {"foo": ["bar", ["a"]]}),
    ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
    ({"a": 1}, {"op": "replace", "path": "", "value": 5}, 5),
    ({"a": 1}, {"op": "add", "path": "", "value": []}, []),
]


@pytest.mark.parametrize(("target", "operation", "result"), APPLIED)
def test_a_json_patch_does_what_the_rfc_shows(target: Any, operation: dict[str, Any], result: Any) -> None:
    before = copy.deepcopy(target)
    assert json_patch(target, [operation]) == result
    assert target == before


FAILURES: list[tuple[Any, list[dict[str, Any]]]] = [
    ({"a": 1}, [{"op": "test", "path": "/a", "value": 2}]),
    ({"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
    ({"a": 1}, [{"op": "remove", "path": "/b"}]),
    ({"a": 1}, [{"op": "replace", "path": "/b", "value": 1}]),
    ({"a": 1}, [{"op": "add", "path": "/b/c", "value": 1}]),
    ({"a": 1}, [{"op": "add", "path": "/a/b", "value": 1}]),
    ({"a": [1]}, [{"op": "add", "path": "/a/2", "value": 1}]),
    ({"a": [1]}, [{"op": "add", "path": "/a/01", "value": 1}]),
    ({"a": [1]}, [{"op": "remove", "path": "/a/-"}]),
    ({"a": [1]}, [{"op": "remove", "path": "/a/-1"}]),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": "/a/b"}]),
    ({"a": 1}, [{"op": "frobnicate", "path": "/a"}]),
    ({"a": 1}, [{"op": "add", "path": "a", "value": 1}]),
    ({"a": 1}, [{"op": "add", "path": "/a"}]),
    ({"a": 1}, [{"op": "copy", "path": "/a"}]),
    ({"a": 1}, [{"op": "remove", "path": ""}]),
    ({"a": 1}, [{"path": "/a"}]),
    ({"a": "²"}, [{"op": "add", "path": "/a/²", "value": 1}]),
]


@pytest.mark.parametrize(("target", "operations"), FAILURES)
def test_an_operation_that_does_not_fit_fails_and_changes_nothing(
    target: Any, operations: list[dict[str, Any]]
) -> None:
    before = copy.deepcopy(target)
    with pytest.raises(PatchFailed):
        json_patch(target, [{"op": "add", "path": "/new", "value": 1}, *operations])
    assert target == before


@pytest.mark.parametrize("patch", [{}, "x", [1], None, [{}] * (MAX_OPERATIONS + 1)])
def test_what_is_no_list_of_a_bounded_number_of_objects_is_no_patch(patch: Any) -> None:
    with pytest.raises(MalformedPatch):
        json_patch({}, patch)


def test_copies_that_double_a_value_again_and_again_are_stopped() -> None:
    doubling = [
        operation
        for _ in range(40)
        for operation in (
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "add", "path": "/c", "value": {}},
            {"op": "move", "from": "/a", "path": "/c/x"},
            {"op": "move", "from": "/b", "path": "/c/y"},
            {"op": "move", "from": "/c", "path": "/a"},
        )
    ]
    with pytest.raises(PatchFailed, match="copied"):
        json_patch({"a": "x" * 1000}, doubling)


_names = st.sampled_from(["a", "b", "c/d", "e~f", ""])
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)
_pointers = st.lists(_names | st.sampled_from(["0", "1", "-"]), max_size=3).map(
    lambda parts: "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
)
_operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy"]),
        "path": _pointers,
        "from": _pointers,
        "value": _values,
    }
)


@given(st.dictionaries(_names, _values, max_size=3), st.lists(_operations, max_size=3))
def test_a_json_patch_that_applies_gives_what_another_implementation_gives(
    target: dict[str, Any], operations: list[dict[str, Any]]
) -> None:
    try:
        result = json_patch(target, operations)
    except PatchFailed:
        return
    # The other one refuses in corners what we allow; what both allow is alike.
    try:
        expected = jsonpatch.apply_patch(target, operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, ValueError):
        return
    assert equal(result, expected)


@given(_values, _values)
def test_equality_is_that_of_json(one: Any, other: Any) -> None:
    assert equal(one, one)
    assert equal(one, other) == equal(other, one)
    if equal(one, other):
        assert one == other

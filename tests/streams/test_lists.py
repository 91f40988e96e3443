"""One page of a list, taken apart: which texts are one, and what each item is completed with."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.streams import lists
from tests.support.allocations import LITTLE, allocations

PODS = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7", "continue": "next"}}


def page(**changes: object) -> bytes:
    return json.dumps({**PODS, "items": [], **changes}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"null",
        page(kind="Table"),
        page(kind="Pod"),
        page(kind=7),
        page(apiVersion=""),
        page(items={}),
        page(items="[]"),
        json.dumps(PODS).encode(),
        json.dumps({"kind": "APIResourceList", "apiVersion": "v1", "resources": []}).encode(),
        page() + page(),
    ],
)
def test_what_is_no_list_is_none(content: bytes) -> None:
    assert lists.read(content) is None


def test_a_list_says_its_version_and_what_its_next_page_continues_with() -> None:
    listed = lists.read(page())
    assert listed is not None
    assert (listed.version, listed.token, list(listed.items())) == ("7", "next", [])
    last = lists.read(page(metadata=None, items=None))
    assert last is not None
    assert (last.version, last.token, list(last.items())) == ("", "", [])


@pytest.mark.parametrize("token", ["\ud800", "a\udfff", 7, ["x"], {}, True])
def test_a_page_whose_next_one_cannot_be_asked_for_is_no_list(token: object) -> None:
    assert lists.read(page(metadata={"resourceVersion": "7", "continue": token})) is None


@pytest.mark.parametrize("token", ["", None])
def test_a_page_that_says_of_no_next_one_is_the_last(token: object) -> None:
    listed = lists.read(page(metadata={"resourceVersion": "7", "continue": token}))
    assert listed is not None
    assert listed.token == ""
    assert listed.goes_on("next")


def test_a_page_goes_on_with_another_than_itself_and_with_a_token_that_has_an_end() -> None:
    listed = lists.read(page())
    assert listed is not None
    assert listed.goes_on("")
    assert listed.goes_on("before")
    assert not listed.goes_on("next")
    long = lists.read(page(metadata={"continue": "x" * (lists.MAX_TOKEN + 1)}))
    assert long is not None
    assert not long.goes_on("")


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["kind", "apiVersion", "metadata", "spec"]), st.text(max_size=5)),
        max_size=5,
    )
)
def test_each_item_has_a_kind_and_a_version_its_own_first(items: list[dict[str, str]]) -> None:
    listed = lists.read(page(items=items))
    assert listed is not None
    completed = [json.loads(text) for text in listed.items()]
    assert completed == [{"kind": "Pod", "apiVersion": "v1", **item} for item in items]


def test_an_item_that_is_no_object_stays_what_it_is() -> None:
    listed = lists.read(page(items=[1, "two", None, [3]]))
    assert listed is not None
    assert list(listed.items()) == [b"1", b'"two"', b"null", b"[3]"]


def test_a_list_says_how_many_items_it_has_and_of_how_many_bytes() -> None:
    listed = lists.read(page(items=[{}, {"a": "]"}, 7]))
    assert listed is not None
    assert listed.measure() == (3, len('{}{"a":"]"}7'))
    none = lists.read(page(items=None))
    assert none is not None
    assert none.measure() == (0, 0)


def test_a_page_of_the_smallest_items_takes_no_more_memory_than_one_of_large_ones() -> None:
    """5.6 million of them are what a server may send, and 700 MiB as places in its text."""
    many = 100_000
    content = b'{"kind":"PodList","apiVersion":"v1","items":[%b]}' % b",".join([b"{}"] * many)
    with allocations() as made:
        listed = lists.read(content)
        assert listed is not None
        assert listed.measure() == (many, 2 * many)
        assert sum(1 for _ in listed.items()) == many
    assert made.most < LITTLE


def test_members_of_a_list_that_nobody_looks_for_take_no_memory() -> None:
    others = b"".join([b'"m%d":%d,' % (number, number) for number in range(50_000)])
    content = (
        b'{%b"kind":"PodList","metadata":{%b"continue":"next"},"apiVersion":"v1","items":[{%b"a":1}]}'
        % ((others,) * 3)
    )
    with allocations() as made:
        listed = lists.read(content)
        assert listed is not None and listed.token == "next"
    assert made.most < LITTLE


@pytest.mark.parametrize(
    ("types", "is_json"),
    [
        ([b"application/json"], True),
        ([b"Application/JSON; charset=utf-8"], True),
        ([b"application/json;stream=watch"], True),
        ([], False),
        ([b"application/yaml"], False),
        ([b"application/json, text/html"], False),
        ([b"application/json", b"application/json"], False),
    ],
)
def test_json_is_what_one_content_type_says(types: list[bytes], is_json: bool) -> None:
    assert lists.is_json([(b"content-type", value) for value in types]) is is_json

"""The query of a request target."""

from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.login.query import given as values_of
from foyer.login.query import read


@given(st.lists(st.tuples(st.binary(max_size=8), st.binary(max_size=8)), max_size=5))
def test_what_was_encoded_is_read(pairs: list[tuple[bytes, bytes]]) -> None:
    text = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in pairs)
    assert read(f"/path?{text}".encode()) == pairs


@pytest.mark.parametrize(
    ("target", "query"),
    [
        (b"/a", []),
        (b"/a?", []),
        (b"/a?&&", []),
        (b"/a?b", [(b"b", b"")]),
        (b"/a?b=c=d?e", [(b"b", b"c=d?e")]),
        (b"/a?b=1&b=2", [(b"b", b"1"), (b"b", b"2")]),
        (b"/a?b=1;c=2", [(b"b", b"1;c=2")]),
        (b"/a?%62=%2f+%2B", [(b"b", b"/ +")]),
        (b"https://a.test/a?b=1", [(b"b", b"1")]),
    ],
)
def test_a_query_is_read_as_forms_are_written(target: bytes, query: object) -> None:
    assert read(target) == query


def test_a_query_has_64_parameters_and_no_more() -> None:
    assert len(read(b"/a?" + b"&".join([b"b=1"] * 64)) or []) == 64
    assert read(b"/a?" + b"&".join([b"b=1"] * 65)) is None
    assert read(b"/a?" + b"&" * 64) is None


@pytest.mark.parametrize("target", [b"/a?b=%", b"/a?b=%2", b"/a?b=%zz", b"/a?%=1", b"/a?b=1&c=%u0041"])
def test_a_query_that_cannot_be_read_whole_is_not_read(target: bytes) -> None:
    assert read(target) is None


def test_the_path_may_be_anything() -> None:
    assert read(b"/%zz?a=1") == [(b"a", b"1")]


def test_every_value_of_a_name_is_given() -> None:
    assert values_of([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], b"a") == [b"1", b"3"]

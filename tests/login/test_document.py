"""JSON from the issuer, read strictly."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.login.document import MAX_BYTES, MAX_VALUES, is_text, parse
from tests.support.allocations import allocations


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_an_object_is_read_as_it_was_written(document: dict[str, object]) -> None:
    assert parse(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'"a"',
        b"5",
        b'{"a":1,"a":1}',
        b'{"b":{"a":1,"a":2}}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1}{"a":1}',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b'{"a":"\xff"}',
        b"[" * 500_000,
        b'{"a":' * 200_000,
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_what_can_be_read_in_two_ways_or_not_at_all_is_none(content: bytes) -> None:
    assert parse(content) is None


def test_what_is_longer_or_has_more_values_than_any_document_is_none() -> None:
    long = b'{"a":"%b"}' % (b"x" * (MAX_BYTES - len(b'{"a":""}')))
    assert parse(long) is not None
    assert parse(long + b" ") is None
    many = b'{"a":[%b]}' % b",".join([b"1"] * (MAX_VALUES - 1))
    assert parse(many) is not None
    assert parse(many.replace(b"1", b"1,1", 1)) is None


@pytest.mark.parametrize("value", [b"{}", b"[]", b'{"":0}', b'"ab"', b"1.5", b"999"])
def test_no_document_takes_much_more_memory_than_the_longest(value: bytes) -> None:
    content = b'{"a":[%b]}' % b",".join([value] * (MAX_BYTES // (len(value) + 1)))
    fewer = b'{"a":[%b]}' % b",".join(
        [value] * (MAX_VALUES // (1 + value.count(b"{") + value.count(b"[")) - 2)
    )
    with allocations() as made:
        assert parse(content[:MAX_BYTES]) is None
        assert parse(fewer) is not None
    assert made.most < 12 * MAX_BYTES


@given(st.binary(max_size=60))
def test_nothing_raises(content: bytes) -> None:
    parse(content)


@pytest.mark.parametrize(
    ("value", "text"), [("", True), ("é😀", True), ("\ud83d", False), (5, False), (None, False)]
)
def test_text_is_what_utf_8_can_say(value: object, text: bool) -> None:
    assert is_text(value) is text

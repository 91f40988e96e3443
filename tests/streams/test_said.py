"""What a `Status` says."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.streams.said import MAX_BYTES, MESSAGE_MOST, NOTHING, said
from tests.streams.following import status


def test_it_is_read_field_by_field() -> None:
    details = (
        b'{"retryAfterSeconds":7,"causes":[{"reason":"x","message":"m","field":"sendInitialEvents"},{},7]}'
    )
    found = said(status(422, "invalid", "Invalid", details))
    assert (found.code, found.message, found.retry_after) == (422, "invalid", 7.0)
    assert found.names == ("sendInitialEvents", "m")
    assert found.about("sendInitialEvents") and found.about("valid") and not found.about("other")


@pytest.mark.parametrize(
    ("reason", "code"), [("Expired", 410), ("Gone", 410), ("Forbidden", 403), ("Whatever", 0), ("", 0)]
)
def test_a_status_without_a_code_has_the_one_of_its_reason(reason: str, code: int) -> None:
    for without in (b"", b',"code":null', b',"code":0', b',"code":"410"', b',"code":4100'):
        assert said(status(1, "", reason).replace(b',"code":1', without)).code == code


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[]", b"{}", b'{"kind":"ConfigMap","code":403}', b"\xff", b"[" * 99999]
)
def test_what_is_no_status_says_nothing(content: bytes) -> None:
    assert said(content) == NOTHING


@pytest.mark.parametrize(
    "seconds", [b"0", b"-1", b"1.5", b'"5"', b"true", b"null", b"1e400", b"86401", b"9" * 400]
)
def test_a_hint_that_is_no_number_of_seconds_is_none(seconds: bytes) -> None:
    assert said(status(429, details=b'{"retryAfterSeconds":%b}' % seconds)).retry_after is None


def test_a_message_is_bounded_and_none_that_is_not_text() -> None:
    assert len(said(status(403, "x" * 60_000)).message) == MESSAGE_MOST
    for message in ('"\\ud800"', "7", "null", "{}"):
        assert said(b'{"kind":"Status","message":%b}' % message.encode()).message == ""


def test_a_status_that_is_longer_than_any_refusal_says_nothing() -> None:
    at_most = status(403, "x" * (MAX_BYTES - len(status(403, ""))))
    assert len(at_most) == MAX_BYTES and said(at_most).code == 403
    assert said(at_most.replace(b"x", b"xx", 1)) == NOTHING


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
NAMES = ("code", "reason", "message", "details")


@given(
    st.dictionaries(
        st.sampled_from(NAMES), JSON | st.fixed_dictionaries({"causes": JSON, "retryAfterSeconds": JSON})
    )
)
def test_whatever_stands_in_a_field_is_read_without_a_fault(fields: dict[str, object]) -> None:
    found = said(json.dumps({"kind": "Status"} | fields).encode())
    assert found.code == 0 or 100 <= found.code <= 599
    assert all(isinstance(text, str) for text in (found.message, *found.names))


def test_its_words_are_in_no_repr() -> None:
    assert "secret words" not in repr(said(status(403, "secret words")))

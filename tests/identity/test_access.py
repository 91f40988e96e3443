"""The access page's form: short, printable, each field once."""

from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.identity.access import Form, read
from foyer.interruption import Interruption, Reason
from foyer.k8s.reviews import Question
from foyer.protocol.events import RequestHead


def filled(query: bytes) -> Form | Interruption:
    return read(RequestHead(b"GET", b"/_foyer/access" + query, []))


def test_the_page_without_a_query_is_about_the_default_namespace() -> None:
    assert filled(b"") == filled(b"?") == Form("default", "", "", "", "")


def test_an_emptied_namespace_is_no_namespace() -> None:
    assert filled(b"?namespace=") == Form("", "", "", "", "")


def test_each_field_is_read_and_others_are_not() -> None:
    query = b"?name=n&group=g&resource=r%2Fs&verb=v&namespace=+demo%20&other=1&other=2"
    form = filled(query)
    assert form == Form("demo", "v", "r/s", "g", "n")
    assert isinstance(form, Form)
    assert form.question == Question("v", "r/s", "g", "demo", "n")


@pytest.mark.parametrize("query", [b"?verb=get", b"?resource=pods", b"?verb=+&resource=pods"])
def test_a_question_needs_a_verb_and_a_resource(query: bytes) -> None:
    form = filled(query)
    assert isinstance(form, Form)
    assert form.question is None
    assert form.half_asked


@pytest.mark.parametrize("query", [b"", b"?namespace=a&group=b&name=c", b"?verb=get&resource=pods"])
def test_a_question_that_is_whole_or_not_there_lacks_nothing(query: bytes) -> None:
    form = filled(query)
    assert isinstance(form, Form)
    assert not form.half_asked


@given(st.sampled_from(Form._fields), st.binary(max_size=6) | st.just(b"a" * 253) | st.just(b"a" * 254))
def test_a_value_is_printable_and_no_longer_than_a_name(name: str, value: bytes) -> None:
    form = filled(b"?" + name.encode() + b"=" + quote_from_bytes(value).encode())
    if isinstance(form, Interruption):
        assert form.reason is Reason.BAD_REQUEST
        text = value.decode("utf-8", "replace").strip()
        assert "\ufffd" in text or not text.isprintable() or len(text) > 253
    else:
        assert getattr(form, name) == value.decode("utf-8").strip()


def test_a_repeated_field_is_malformed() -> None:
    assert isinstance(filled(b"?verb=get&verb=get"), Interruption)

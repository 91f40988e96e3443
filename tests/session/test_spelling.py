"""Base64url in one spelling."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.session.spelling import decode, encode


@given(st.binary(max_size=200))
def test_what_is_encoded_decodes(data: bytes) -> None:
    assert decode(encode(data).encode()) == data


@given(st.one_of(st.binary(max_size=40), st.text("ABab01-_+/= \n\t", max_size=12).map(str.encode)))
@example(b"AAA=")
@example(b"AA==")
@example(b"AA=A")
@example(b"A")
@example(b"AB")
@example(b"AAB")
@example(b"AAA\n")
@example(b"A\xc3\xa9A")
def test_no_text_but_the_encoding_itself_decodes(text: bytes) -> None:
    data = decode(text)
    assert data is None or encode(data).encode() == text


@given(st.binary(min_size=1, max_size=60))
def test_every_other_way_to_write_it_is_refused(data: bytes) -> None:
    text = encode(data).encode()
    others = {base64.b64encode(data), base64.urlsafe_b64encode(data), text + b"\n", b" " + text, text + b"="}
    for other in others - {text}:
        assert decode(other) is None


@pytest.mark.parametrize("text", [b"AB", b"AP", b"AAB", b"AAD", b"A", b"AAAAA"])
def test_bits_past_the_last_byte_are_refused(text: bytes) -> None:
    assert decode(text) is None

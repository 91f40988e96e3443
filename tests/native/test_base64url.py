"""`foyer_native.base64url` against its twin: the standard library's decoder, made strict."""

import base64
import binascii
import string
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer_native.base64url import decode

ALPHABET = (string.ascii_letters + string.digits + "-_").encode()


def twin(text: bytes) -> bytes | None:
    """What a lenient decoder reads, if that is written as `text` and no other way."""
    if set(text) - set(ALPHABET) or len(text) % 4 == 1:
        return None
    data = binascii.a2b_base64(text.translate(bytes.maketrans(b"-_", b"+/")) + b"=" * (-len(text) % 4))
    return data if base64.urlsafe_b64encode(data).rstrip(b"=") == text else None


nearly = st.text("ABQgw019-_+/= \n", max_size=20).map(str.encode)
"""Texts of the alphabet's ends, of the other alphabet, and of what lenient decoders skip."""


@given(st.one_of(st.binary(max_size=80), nearly, st.text(ALPHABET.decode(), max_size=80).map(str.encode)))
@example(b"")
@example(b"\x00")
@example(b"AAA\xff")
@example(b"AA\x80A")
def test_it_reads_what_its_twin_reads(text: bytes) -> None:
    assert decode(text) == twin(text)


@given(st.binary(max_size=3000))
def test_it_reads_the_one_spelling_of_any_bytes(data: bytes) -> None:
    assert decode(base64.urlsafe_b64encode(data).rstrip(b"=")) == data


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8])
def test_no_octet_outside_the_alphabet_is_read_anywhere(size: int) -> None:
    for at, octet in product(range(size), range(256)):
        text = b"A" * at + bytes([octet]) + b"A" * (size - at - 1)
        assert decode(text) == twin(text)


def test_every_last_group_is_read_as_its_twin_reads_it() -> None:
    for first in (b"", b"A", b"_"):
        for group in product(ALPHABET, repeat=2):
            text = first + bytes(group)
            assert decode(text) == twin(text)


@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_text_changed_in_one_octet_is_other_bytes_or_none(data: bytes, draw: st.DataObject) -> None:
    text = base64.urlsafe_b64encode(data).rstrip(b"=")
    at = draw.draw(st.integers(0, len(text) - 1))
    octet = draw.draw(st.integers(0, 255).filter(lambda octet: octet != text[at]))
    assert decode(text[:at] + bytes([octet]) + text[at + 1 :]) != data


@pytest.mark.parametrize("value", ["QQ", bytearray(b"QQ"), memoryview(b"QQ"), None])
def test_only_bytes_are_taken(value: object) -> None:
    with pytest.raises(TypeError):
        decode(value)  # type: ignore[arg-type]

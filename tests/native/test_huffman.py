"""`foyer_native.huffman` against its twin, hpack's own decoder in Python."""

import hpack
import pytest
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hypothesis import example, given
from hypothesis import strategies as st

from foyer_native.huffman import decode

encode = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode


def twin(coded: bytes) -> bytes | None:
    try:
        return decode_huffman(coded)
    except hpack.HPACKDecodingError:
        return None


@given(st.binary(max_size=60))
@example(b"")
@example(b"\xff")  # more than seven bits of padding
@example(b"\x1f")  # padding that is right, 'a' before it
@example(b"\x1e")  # padding that is not all ones
@example(b"\xff\xff\xff\xfc")  # EOS itself
def test_it_reads_what_its_twin_reads(coded: bytes) -> None:
    assert decode(coded) == twin(coded)


@given(st.binary(max_size=300))
def test_it_reads_whatever_was_coded(text: bytes) -> None:
    assert decode(encode(text)) == text


def test_every_octet_is_read_wherever_it_begins() -> None:
    for octet in range(256):
        for before in range(8):
            text = b"0" * before + bytes([octet]) + b"a"  # '0' has five bits: each of the eight offsets
            assert decode(encode(text)) == text


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_text_cut_or_run_on_is_read_as_its_twin_reads_it(text: bytes, data: st.DataObject) -> None:
    coded = encode(text)
    cut = data.draw(st.integers(0, len(coded)))
    assert decode(coded[:cut]) == twin(coded[:cut])
    assert decode(coded + b"\xff") == twin(coded + b"\xff")


def test_the_longest_that_a_header_list_can_hold_is_read_whole() -> None:
    assert decode(encode(b"0" * 32_768)) == b"0" * 32_768


@pytest.mark.parametrize("value", ["QQ", bytearray(b"QQ"), memoryview(b"QQ"), None])
def test_only_bytes_are_taken(value: object) -> None:
    with pytest.raises(TypeError):
        decode(value)  # type: ignore[arg-type]

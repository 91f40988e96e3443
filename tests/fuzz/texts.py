"""The two compiled decoders of texts: base64url and HPACK's Huffman code, each against a twin in Python.

Either reads what its twin reads, and what it reads has one spelling: encoding it again gives the same.
"""

import base64
import binascii

import hpack
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman

from foyer_native import huffman
from foyer_native.base64url import decode
from tests.fuzz.target import Target

_encode = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode


_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_MOSTLY_OF_IT = bytes(_ALPHABET[octet % 64] if octet < 252 else octet + 4 & 0xFF for octet in range(256))


def check_base64url(data: bytes) -> None:
    """Any text, and one that is nearly of the alphabet alone."""
    for text in (data, data.translate(_MOSTLY_OF_IT)):
        found = decode(text)
        assert found == _by_the_library(text)
        if found is not None:
            assert base64.urlsafe_b64encode(found).rstrip(b"=") == text


def _by_the_library(text: bytes) -> bytes | None:
    """What is left of the lenient decoder when every other spelling is taken away."""
    try:
        found = binascii.a2b_base64(text.translate(_TO_STANDARD) + b"=" * (-len(text) % 4), strict_mode=True)
    except binascii.Error:
        return None
    return found if base64.urlsafe_b64encode(found).rstrip(b"=") == text else None


_TO_STANDARD = bytes.maketrans(b"-_+/", b"+/\0\0")


def check_huffman(data: bytes) -> None:
    """`data` is the coding."""
    found = huffman.decode(data)
    assert found == _by_hpack(data)
    if found is not None:
        assert _encode(found) == data, "two codings of one text"
        assert len(found) <= len(data) * 8 // 5


def _by_hpack(coded: bytes) -> bytes | None:
    try:
        return bytes(decode_huffman(coded))
    except hpack.HPACKDecodingError:
        return None


TARGETS = (
    Target(
        "base64url", check_base64url, lambda: [b"", b"AA", b"AAE", b"_-8", b"AB", b"A", b"AA=="], longest=200
    ),
    Target(
        "huffman",
        check_huffman,
        lambda: [
            b"\x1f",
            b"\x1e",
            b"\xff\xff\xff\xfc",
            *[_encode(bytes(range(at, at + 16))) for at in range(0, 256, 16)],
        ],
        longest=200,
    ),
)

"""What is compiled and reads texts: base64url, HPACK's Huffman code and JSON, each against a twin in Python.

Each reads what its twin reads. What the first two read has one spelling: encoding it again gives the same.
JSON is taken apart where its twin takes it apart, and of what is none nothing is read that is outside of it.
"""

import base64
import binascii
from contextlib import suppress

import hpack
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman

from foyer_native import huffman, jsontext
from foyer_native.base64url import decode
from tests.fuzz.target import Target
from tests.support import jsontext_twin

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


_NAMES = ("", "a", "kind", "metadata", '"/\\', "\n")


def check_json(data: bytes) -> None:
    """Any text: compacted, and taken apart if it is JSON; and if it is none."""
    text = jsontext.compact(data)
    assert text == jsontext_twin.compact(data)
    for taken in (data, text or b""):
        _stays_inside(taken)
    if text is None:
        return
    if text.startswith(b"{"):
        end = len(text) - 1
        assert jsontext.members(text, _NAMES) == jsontext_twin.members(text, _NAMES)
        assert jsontext.without(text, _NAMES, 1, end) == jsontext_twin.without(text, _NAMES, 1, end)
        assert list(jsontext.pairs(text)) == jsontext_twin.pairs(text)
    if text.startswith(b"["):
        found = list(jsontext.elements(text))
        assert found == jsontext_twin.elements(text)
        assert jsontext.measure(text) == (len(found), sum(end - begin for begin, end in found))


def _stays_inside(text: bytes) -> None:
    """Of what need not be compact, nor JSON."""
    for at in range(min(len(text), 4)):
        for take in (
            lambda at: jsontext.members(text, _NAMES, at).values(),
            lambda at: jsontext.elements(text, at),
        ):
            with suppress(ValueError):
                assert all(0 <= begin <= end <= len(text) for *_, begin, end in take(at))
        with suppress(ValueError):
            assert all(0 <= begin <= end <= len(text) for _, begin, end in jsontext.pairs(text, at))
        with suppress(ValueError):
            assert len(jsontext.without(text, _NAMES, at, len(text))) <= len(text) - at


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
    Target(
        "json_text",
        check_json,
        lambda: [
            b'{"kind":"List","metadata":{"a":[1,-0.5e+3,true,null]},"":"\\\\\\""}',
            b'[{},[],"",{"\\u0061":"\\ud83d\\/"},"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"]',
            b' { "a" : 1 , "\\u0061" : 2 , "k\\u0069nd" : [ ] } ',
            b'{"\\"\\/\\\\":"abcdefghijklmnopqrstuvwxyz","\\n":"0123456789abcde\\n"}',
            b'{"a":1',
            b"[1,]",
        ],
        words=(
            b'"a":',
            b'"\\u0061":',
            b'"kind":',
            b"\\\\",
            b'\\"',
            b"{}",
            b"[]",
            b",",
            b"1e1",
            b"null",
            b"\xc3\xa4",
        ),
        longest=200,
    ),
)

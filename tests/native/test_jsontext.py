"""`foyer_native.jsontext` against its twin, `json` of the standard library."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer_native.jsontext import compact, elements, members
from tests.support import jsontext_twin as twin

SPACE = st.text(alphabet=" \t\r\n", max_size=3)
NUMBERS = st.from_regex(
    re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?", re.ASCII), fullmatch=True
)


@st.composite
def strings(draw: st.DrawFn) -> str:
    """A JSON string as somebody may spell it: escapes where none are needed, halves of surrogate pairs."""
    spelled = ""
    for character in draw(st.text(max_size=12)):
        spelled += draw(
            st.sampled_from((json.dumps(character)[1:-1], json.dumps(character, ensure_ascii=False)[1:-1]))
        )
        spelled += draw(st.sampled_from(("", "", "", "\\/", "\\ud800", "\\uDC00", "\\u0041")))
    return f'"{spelled}"'


def spaced(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(SPACE, parts, SPACE).map("".join)


def _list(items: list[str]) -> str:
    return f"[{','.join(items)}]" if items else "[ ]"


def _object(items: list[tuple[str, str, str, str]]) -> str:
    return (
        "{"
        + ",".join("".join((before, name, after, ":", value)) for before, name, after, value in items)
        + "}"
    )


TEXTS = spaced(
    st.recursive(
        st.one_of(st.sampled_from(("true", "false", "null")), NUMBERS, strings()),
        lambda inner: st.one_of(
            st.lists(spaced(inner), max_size=4).map(_list),
            st.lists(st.tuples(SPACE, strings(), SPACE, spaced(inner)), max_size=4).map(_object),
        ),
        max_leaves=12,
    )
).map(lambda text: text.encode("utf-8"))


@given(TEXTS)
def test_json_is_compacted_as_its_twin_does_it_and_means_what_it_meant(text: bytes) -> None:
    packed = compact(text)
    assert packed == twin.compact(text)
    assert packed is not None
    assert twin.decode(packed) == twin.decode(text)


@given(TEXTS)
def test_what_is_compact_is_given_back_and_not_copied(text: bytes) -> None:
    packed = compact(text)
    assert packed is not None
    assert compact(packed) is packed


@given(TEXTS, st.data())
def test_json_with_an_octet_changed_lost_or_added_is_judged_as_by_its_twin(
    text: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    octet = bytes([data.draw(st.integers(0, 255))])
    for changed in (
        text[:at] + octet + text[at + 1 :],
        text[:at] + text[at + 1 :],
        text[:at] + octet + text[at:],
        text[:at],
    ):
        assert compact(changed) == twin.compact(changed)


@given(st.binary(max_size=24))
@example(b"")
@example(b" ")
@example(b"\xef\xbb\xbf{}")
@example(b"[1,]")
@example(b'{"a":1,}')
@example(b"01")
@example(b"-")
@example(b"1.")
@example(b"1e")
@example(b"+1")
@example(b"NaN")
@example(b"-Infinity")
@example(b"tru")
@example(b"1 2")
@example(b"{}}")
@example(b"]")
@example(b'{"a"1}')
@example(b"{1:2}")
@example(b'"\x1f"')
@example(b'"\x7f"')
@example(b'"\\x"')
@example(b'"\\u00g0"')
@example(b'"\\u"')
@example(b'"a')
def test_anything_else_is_judged_as_by_its_twin(text: bytes) -> None:
    assert compact(text) == twin.compact(text)


def test_every_sequence_of_utf8_is_judged_as_by_its_twin() -> None:
    ends = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    for first in range(0x80, 0x100):
        for second in ends:
            for rest in (b"", b"\x80", b"\xbf", b"\x80\x80", b"\x80\x7f", b"\xc0\x80"):
                text = b'"%c%c%b"' % (first, second, rest)
                assert compact(text) == twin.compact(text)


@pytest.mark.parametrize(
    "number",
    ["0", "-0", "1.0", "1e400", "-1E-400", "9007199254740993", "1" * 5000, "0.1000", "12345678901234567890"],
)
def test_a_number_keeps_its_spelling_whatever_its_size(number: str) -> None:
    assert compact(f" [ {number} ] ".encode()) == f"[{number}]".encode()


def test_ten_thousand_levels_are_read_and_one_more_is_refused_in_constant_memory() -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        inner = b"1" if opening != b"[" else b""
        assert compact(opening * 10_000 + inner + closing * 10_000) is not None
        assert compact(opening * 10_001 + inner + closing * 10_001) is None
        assert compact(opening * 1_000_000) is None


def _of(kind: type) -> st.SearchStrategy[bytes]:
    return TEXTS.filter(lambda text: isinstance(twin.decode(text), kind)).map(
        lambda text: compact(text) or b""
    )


@given(_of(dict), st.binary(max_size=4))
@example(b'{"a":1,"a":2}', b"")
@example(b'{"d\\u0061ta":1,"data":2}', b"")
@example(b'{"":{},"b":[],"c":"}","d":"\\\\"}', b"")
@example('{"naïve":1,"\U0001f600":2,"\\ud83d":3}'.encode(), b"")
def test_members_are_where_its_twin_finds_them(text: bytes, before: bytes) -> None:
    found = members(before + text, len(before))
    assert found == twin.members(before + text, len(before))
    assert {
        name: twin.decode((before + text)[begin:end]) for name, (_, begin, end) in found.items()
    } == twin.decode(text)


@given(_of(list), st.binary(max_size=4))
@example(b'[[],{},"]",1,"a,b"]', b"")
def test_elements_are_where_its_twin_finds_them(text: bytes, before: bytes) -> None:
    found = elements(before + text, len(before))
    assert found == twin.elements(before + text, len(before))
    assert [twin.decode((before + text)[begin:end]) for begin, end in found] == twin.decode(text)


@given(_of(dict) | _of(list), st.data())
def test_a_text_that_is_cut_is_refused_by_whoever_takes_it_apart(text: bytes, data: st.DataObject) -> None:
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for take in (members, elements):
        with pytest.raises(ValueError, match=r"begins there|compact"):
            take(cut)


@given(st.binary(max_size=30), st.integers(-3, 33))
def test_taking_apart_what_is_no_json_never_leaves_the_text(text: bytes, at: int) -> None:
    for take in (members, elements):
        try:
            found: Any = take(text, at)
        except ValueError:  # of which a name in no UTF-8 is one
            continue
        spans = found.values() if isinstance(found, dict) else found
        assert all(0 <= position <= len(text) for span in spans for position in span)


@pytest.mark.parametrize("value", ["{}", bytearray(b"{}"), None])
def test_only_bytes_are_taken(value: Any) -> None:
    for take in (compact, members, elements):
        with pytest.raises(TypeError):
            take(value)

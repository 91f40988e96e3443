"""`foyer_native.jsontext` against its twin, `json` of the standard library."""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer_native.jsontext import compact, elements, measure, members, pairs, without
from tests.support import jsontext_twin as twin
from tests.support.allocations import LITTLE, allocations

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


def lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(spaced(inner), max_size=4).map(_list)


def objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(SPACE, strings(), SPACE, spaced(inner)), max_size=4).map(_object)


VALUES = st.recursive(
    st.one_of(st.sampled_from(("true", "false", "null")), NUMBERS, strings()),
    lambda inner: st.one_of(lists(inner), objects(inner)),
    max_leaves=12,
)
TEXTS = spaced(VALUES).map(lambda text: text.encode("utf-8"))


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


NEAR = (0x00, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x7F, 0x80, 0xA0, 0xC3, 0xDC, 0xE2, 0xFF)
"""Octets that mean something in a string, and those that one bit or one less makes of them."""


def test_what_is_looked_at_eight_octets_at_once_is_judged_wherever_it_stands() -> None:
    for at in range(20):
        for octet in range(256):
            for behind in (b"", b"aaaaaaaaaa"):
                text = b'["%b%c%b"]' % (b"a" * at, octet, behind)
                assert compact(text) == twin.compact(text)
    for one in NEAR:
        for other in NEAR:
            for at in range(9):
                text = b'["aa%c%b%caaaaaaaaa",1]' % (one, b"a" * at, other)
                packed = compact(text)
                assert packed == twin.compact(text)
                if packed is not None:
                    assert list(elements(packed)) == twin.elements(packed)


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


# Drawn as what they are: of what is drawn as any text, most would be something else and thrown away.
OBJECTS = objects(VALUES).map(lambda text: compact(text.encode()) or b"")
ARRAYS = lists(VALUES).map(lambda text: compact(text.encode()) or b"")


def some_names(text: bytes, data: st.DataObject) -> tuple[str, ...]:
    """Up to eight names that can be asked for, of those that the object has and others."""
    has = [name for name in twin.decode(text) if name.isascii()]
    other = st.text(st.characters(codec="ascii"), max_size=3)
    some = st.one_of(other, st.sampled_from(has)) if has else other
    return tuple(data.draw(st.lists(some, max_size=8, unique=True)))


TWICE = b'{"a":1,"a":2,"\\u0061":3}'
ESCAPED = b'{"d\\u0061ta":1,"data":2,"dat":3,"data\\u0000":4,"d\\u0161ta":5,"\\u0064\\u0061ta":6,"dat\\/":7}'
ODD = b'{"":{},"b":[],"c":"}","d":"\\\\","\\"\\\\\\/\\b\\f\\n\\r\\t":"\\"","e\\u000A":"]"}'
WIDE = '{"naïve":1,"\U0001f600":2,"\\ud83d":3,"na":4}'.encode()


@given(OBJECTS, st.binary(max_size=4), st.data())
def test_members_are_where_its_twin_finds_them(text: bytes, before: bytes, data: st.DataObject) -> None:
    names = some_names(text, data)
    found = members(before + text, names, len(before))
    assert list(found.items()) == list(twin.members(before + text, names, len(before)).items())
    value = twin.decode(text)
    assert {name: twin.decode((before + text)[begin:end]) for name, (_, begin, end) in found.items()} == {
        name: value[name] for name in names if name in value
    }


@pytest.mark.parametrize("text", [TWICE, ESCAPED, ODD, WIDE, b"{}"])
def test_a_name_is_known_however_it_is_spelled_and_no_other_is_taken_for_it(text: bytes) -> None:
    every = ["", "a", "b", "c", "d", "data", "dat", "data\0", "dat/", '"\\/\b\f\n\r\t', "e\n", "na", "nave"]
    for name in every:
        assert members(text, (name,)) == twin.members(text, (name,))
        assert without(text, (name,), 1, len(text) - 1) == twin.without(text, (name,), 1, len(text) - 1)
    assert list(pairs(text)) == twin.pairs(text)


@given(OBJECTS, st.binary(max_size=4), st.data())
def test_without_some_names_what_is_between_two_members_is_what_its_twin_leaves(
    text: bytes, before: bytes, data: st.DataObject
) -> None:
    names = some_names(text, data)
    ends = [1, len(text) - 1]
    for _, _, end in twin.pairs(text):
        ends += [end, min(end + 1, len(text) - 1)]
    begin, end = sorted((data.draw(st.sampled_from(ends)), data.draw(st.sampled_from(ends))))
    kept = without(before + text, names, len(before) + begin, len(before) + end)
    assert kept == twin.without(text, names, begin, end)


@given(OBJECTS, st.binary(max_size=4))
def test_pairs_are_where_its_twin_finds_them_each_as_often_as_it_is_there(text: bytes, before: bytes) -> None:
    found = list(pairs(before + text, len(before)))
    assert found == twin.pairs(before + text, len(before))
    assert {name: twin.decode((before + text)[begin:end]) for name, begin, end in found} == twin.decode(text)


@given(ARRAYS, st.binary(max_size=4))
@example(b'[[],{},"]",1,"a,b"]', b"")
@example(b"[]", b"")
def test_elements_are_where_its_twin_finds_them_and_as_many(text: bytes, before: bytes) -> None:
    found = list(elements(before + text, len(before)))
    assert found == twin.elements(before + text, len(before))
    assert [twin.decode((before + text)[begin:end]) for begin, end in found] == twin.decode(text)
    count, size = measure(before + text, len(before))
    assert (count, size) == (len(found), sum(end - begin for begin, end in found))


def members_of(text: bytes, at: int = 0) -> Any:
    return members(text, ("a", "data"), at).values()


TAKE: list[Callable[..., Any]] = [
    members_of,
    lambda text, at=0: [(begin, end) for _, begin, end in pairs(text, at)],
    lambda text, at=0: list(elements(text, at)),
    lambda text, at=0: [(count, size) for count, size in [measure(text, at)]],
]


@given(OBJECTS | ARRAYS, st.data())
def test_a_text_that_is_cut_is_refused_by_whoever_takes_it_apart(text: bytes, data: st.DataObject) -> None:
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for take in TAKE:
        with pytest.raises(ValueError, match=r"begins there|compact"):
            take(cut)


@given(st.binary(max_size=30), st.integers(-3, 33))
@example(b'{"a":1,', 0)
@example(b"[", 0)
@example(b'{"\\u00":1}', 0)
@example(b'{"dat\\":1}', 0)
def test_taking_apart_what_is_no_json_never_leaves_the_text(text: bytes, at: int) -> None:
    for take in TAKE:
        try:
            found: Any = take(text, at)
        except ValueError:  # of which a name in no UTF-8 is one
            continue
        assert all(0 <= position <= len(text) for span in found for position in span)


@given(st.binary(max_size=30), st.integers(-3, 33), st.integers(-3, 33))
@example(b'"a":[1,2]', 0, 6)
def test_leaving_members_out_of_what_is_no_json_gives_no_more_than_there_was(
    text: bytes, begin: int, end: int
) -> None:
    try:
        kept = without(text, ("a",), begin, end)
    except ValueError:
        return
    assert len(kept) <= end - begin
    assert set(kept) <= {*text, ord(",")}


@pytest.mark.parametrize(("begin", "end"), [(1, 6), (1, 9), (0, 9), (2, 10), (-1, 10), (1, 12), (6, 5)])
def test_where_no_members_begin_and_end_none_are_left_out(begin: int, end: int) -> None:
    with pytest.raises(ValueError, match=r"members are there|compact"):
        without(b'{"b":[1,2]}', ("a",), begin, end)


def test_a_walk_costs_no_more_than_its_place_however_many_parts_there_are() -> None:
    many = 50_000
    array = b"[%b]" % b",".join([b"{}"] * many)
    objects = b"{%b}" % b",".join([b'"a":1,"\\u0062":2'] * many)
    with allocations() as made:
        assert sum(1 for _ in elements(array)) == many
        assert measure(array) == (many, 2 * many)
        assert sum(1 for _ in pairs(objects)) == 2 * many
        assert members(objects, ("a", "b"))["a"][2] < members(objects, ("a", "b"))["b"][0]
    assert made.most < LITTLE
    with allocations() as made:
        assert without(objects, ("a", "b"), 1, len(objects) - 1) == b""
    assert made.most < len(objects) + LITTLE


@pytest.mark.parametrize("names", [("ä",), tuple("abcdefghi")])
def test_names_that_cannot_be_asked_for_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="name"):
        members(b"{}", names)
    with pytest.raises(ValueError, match="name"):
        without(b"{}", names, 1, 1)


@pytest.mark.parametrize("value", ["{}", bytearray(b"{}"), None])
def test_only_bytes_are_taken(value: Any) -> None:
    for take in (
        compact,
        members_of,
        pairs,
        elements,
        measure,
        partial(without, names=("a",), begin=1, end=1),
    ):
        with pytest.raises(TypeError):
            take(value)

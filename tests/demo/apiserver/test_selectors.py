"""Selectors: the grammar, the matching and the words of Kubernetes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.selectors import parse_fields, parse_labels
from foyer.demo.apiserver.status import Refused, bad_request

MATCHES = [
    ("", {}, True),
    ("a=1", {"a": "1"}, True),
    ("a==1", {"a": "2"}, False),
    ("a!=1", {"a": "2"}, True),
    ("a!=1", {}, True),
    ("a in (1,2)", {"a": "2"}, True),
    ("a in (1, 2)", {"a": "3"}, False),
    ("a in (1,2)", {}, False),
    ("a in ()", {"a": ""}, True),
    ("a in (,1)", {"a": ""}, True),
    ("a notin (1,2)", {"a": "3"}, True),
    ("a notin (1,2)", {}, True),
    ("a", {"a": ""}, True),
    ("a", {}, False),
    ("!a", {}, True),
    (" ! a ", {"a": "1"}, False),
    ("a>1", {"a": "2"}, True),
    ("a gt 1", {"a": "1"}, False),
    ("a<10", {"a": "9"}, True),
    ("a lt 10", {"a": "nine"}, False),
    ("a<10", {}, False),
    ("a=", {"a": ""}, True),
    ("a=,b", {"a": "", "b": "1"}, True),
    ("a=1,b!=2,!c,d in (x)", {"a": "1", "b": "3", "d": "x"}, True),
    ("a=1,b!=2", {"a": "1", "b": "2"}, False),
    ("example.com/a=1", {"example.com/a": "1"}, True),
    ("in=in", {"in": "in"}, True),
]


@pytest.mark.parametrize(("text", "labels", "expected"), MATCHES)
def test_a_label_selector_matches_as_in_kubernetes(text: str, labels: dict[str, str], expected: bool) -> None:
    requirements = parse_labels(text)
    assert all(requirement.matches(labels) for requirement in requirements) is expected


REFUSED = [
    (",", "found ',', expected: !, identifier, or 'end of string'"),
    ("a,,b", "found ',', expected: identifier after ','"),
    ("a,", "found '', expected: identifier after ','"),
    ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("a in (1", "unable to parse requirement: found '', expected: ',' or ')'"),
    ("a in 1", "unable to parse requirement: found '1' expected: '('"),
    ("a in (1,b=2)", "unable to parse requirement: found '=', expected: ',' or ')'"),
    ("!", "unable to parse requirement: found '', expected: identifier"),
    ("a=(", "unable to parse requirement: found '(', expected: identifier"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_label_selector_that_is_none_is_refused_in_kubernetes_words(text: str, message: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_labels(text)
    assert (refusal.value.code, refusal.value.message) == (400, message)


@pytest.mark.parametrize(
    "text", ["a>x", "a>1.5", "-a=1", "a=-1", "a=" + "x" * 64, "/a", "A B/c=1", "a in (_)"]
)
def test_keys_and_values_must_be_those_of_labels(text: str) -> None:
    with pytest.raises(Refused, match="unable to parse requirement"):
        parse_labels(text)


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_whatever_the_text_a_selector_parses_or_is_refused(text: str) -> None:
    try:
        requirements = parse_labels(text)
    except Refused:
        return
    assert all(isinstance(requirement.matches({"a": "1"}), bool) for requirement in requirements)


_label = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,10}[A-Za-z0-9])?", fullmatch=True)


@given(_label, st.lists(_label, min_size=1, max_size=4), st.none() | _label)
def test_notin_is_the_opposite_of_in(key: str, values: list[str], value: str | None) -> None:
    labels = {} if value is None else {key: value}
    (chosen,) = parse_labels(f"{key} in ({','.join(values)})")
    (others,) = parse_labels(f"{key} notin ({', '.join(values)})")
    assert chosen.matches(labels) is not others.matches(labels)
    assert chosen.matches(labels) is (value in values)


SELECTABLE = ("metadata.name", "metadata.namespace", "type")
TARGET = {"metadata": {"name": "n", "namespace": "ns"}, "type": "a,b"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        (",", True),
        ("metadata.name=n", True),
        ("metadata.name==n", True),
        ("metadata.name!=n", False),
        ("metadata.name=n,metadata.namespace!=ns", False),
        ("metadata.name=n,metadata.name=m", False),
        ("metadata.name=", False),
        ("metadata.name!=", True),
        (r"type=a\,b", True),
    ],
)
def test_a_field_selector_matches_what_it_names(text: str, expected: bool) -> None:
    terms = parse_fields(text, lambda name: bad_request(name), SELECTABLE)
    assert all(term.matches(TARGET) for term in terms) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (
            "metadata.name in (a)",
            "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'",
        ),
        ("spec.nodeName=a", "no spec.nodeName"),
    ],
)
def test_a_field_selector_on_another_field_or_of_another_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_fields(text, lambda name: bad_request(f"no {name}"), SELECTABLE)
    assert refusal.value.message == message

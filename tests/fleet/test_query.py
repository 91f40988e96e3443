"""What a fleet read asks for, and what is refused as malformed."""

from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.fleet import query
from foyer.fleet.position import Position, token
from foyer.fleet.query import PAGE_ITEMS, Query
from foyer.interruption import Interruption, Reason

KNOWN = ("eu", "us", "asia")
PLACE = Position("2026-01-01T00:00:00", "eu", "team", "one")


def refused(text: str) -> Reason:
    found = query.read(text.encode(), KNOWN)
    assert isinstance(found, Interruption)
    return found.reason


def asked(text: str) -> Query:
    found = query.read(text.encode(), KNOWN)
    assert isinstance(found, Query)
    return found


def test_without_a_query_everything_is_asked_of_every_target() -> None:
    assert asked("") == Query(KNOWN, False, "", "", None, None)


def test_each_parameter_is_read() -> None:
    text = "targets=us,eu&partial=true&labelSelector=a%3Db&fieldSelector=c%21%3Dd&limit=7&continue="
    expected = Query(("eu", "us"), True, "a=b", "c!=d", 7, PLACE)
    assert asked(text + token(PLACE)) == expected


@pytest.mark.parametrize("text", ["continue=", "labelSelector=&fieldSelector=", "partial=false", "&&"])
def test_what_is_empty_asks_for_nothing_else(text: str) -> None:
    assert asked(text) == asked("")


@pytest.mark.parametrize(
    "text",
    [
        *(f"{name}=1&{name}=1" for name in ("labelSelector", "fieldSelector", "limit")),
        "targets=eu&targets=us",
        "partial=true&partial=true",
        f"continue={token(PLACE)}&continue={token(PLACE)}",
        "labelSelector=a&label%53elector=a",
        "targets=",
        "targets=eu,",
        "targets=eu,eu",
        "partial",
        "partial=1",
        "partial=True",
        "limit=",
        "limit=0",
        "limit=-1",
        "limit=+1",
        "limit=1.0",
        "limit=1e3",
        "limit=%C2%B2",
        "limit=1234567890",
        "continue=x",
        "continue=" + "a" * 100_000,
        "labelSelector=%FF",
        "labelSelector=%",
        "labelselector=a",
        "watch=1",
        "resourceVersion=0",
        "target=eu",
        "&".join("limit=1" for _ in range(100)),
    ],
)
def test_what_is_malformed_is_a_bad_request(text: str) -> None:
    assert refused(text) is Reason.BAD_REQUEST


@pytest.mark.parametrize("text", ["targets=mars", "targets=eu,mars", "targets=EU", "targets=%65u%2Cmars"])
def test_an_unknown_target_is_not_found(text: str) -> None:
    assert refused(text) is Reason.NOT_FOUND


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_selectors_and_tokens_go_up_as_they_were_given_and_add_nothing(
    label: str, field: str, page: str
) -> None:
    found = asked(urlencode({"labelSelector": label, "fieldSelector": field}))
    target = found.page(b"/api/v1/pods", page)
    path, _, options = target.partition(b"?")
    assert path == b"/api/v1/pods"
    given_options = {"labelSelector": [label], "fieldSelector": [field], "continue": [page]}
    expected = {name: values for name, values in given_options.items() if values != [""]}
    assert parse_qs(options.decode()) == {"limit": [str(PAGE_ITEMS)], **expected}
    assert all(0x21 <= octet < 0x7F and octet != ord("#") for octet in target)


@given(st.text(alphabet="targetslimicopn=&,%0159", max_size=60))
def test_no_query_raises(text: str) -> None:
    assert isinstance(query.read(text.encode(), KNOWN), Query | Interruption)

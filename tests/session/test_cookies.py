"""Cookies by name, whatever else is in the `Cookie` fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.protocol.events import Fields
from foyer.session.cookies import clear_cookie, set_cookie, sole, values, with_prefix

NAME = b"__Host-session"


def fields(*lines: bytes) -> Fields:
    return [(b"host", b"a.test"), *[(b"cookie", line) for line in lines], (b"accept", b"*/*")]


@pytest.mark.parametrize(
    "lines",
    [
        (b"__Host-session=v",),
        (b"a=1; __Host-session=v; b=2",),
        (b"a=1;__Host-session=v;b=2",),
        (b"a=1;\t __Host-session=v \t; b=2",),
        (b"a=1", b"__Host-session=v", b"b=2"),
        (b"a=1; b", b"__Host-session=v; c=3"),
        (b"x__Host-session=2; __Host-session=v",),
        (b"a=__Host-session=2; __Host-session=v",),
        (b"__Host-session=v; =__Host-session=2",),
        (b"__Host-session=v; __Host-session",),
        (b"__Host-session=v; __host-session=2; __HOST-SESSION=3",),
        (b"__Host-session=v; __Host-session =2",),
        (b"__Host-session=v; __Host-session-two=2",),
        (b'a="; __Host-session=v; b="',),
    ],
)
def test_the_one_cookie_of_a_name_is_found_wherever_it_is(lines: tuple[bytes, ...]) -> None:
    assert sole(fields(*lines), NAME) == b"v"


@pytest.mark.parametrize(
    "lines",
    [
        (b"__Host-session=v; __Host-session=w",),
        (b"__Host-session=v; __Host-session=v",),
        (b"__Host-session=v", b"__Host-session=v"),
        (b"__Host-session=v; a=1", b"b=2; __Host-session="),
        (b"__Host-session=v;__Host-session=w",),
        (b"__Host-session=v; \t __Host-session=w",),
    ],
)
def test_two_cookies_of_a_name_are_none(lines: tuple[bytes, ...]) -> None:
    assert sole(fields(*lines), NAME) is None
    assert len(values(fields(*lines), NAME)) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"a=1",
        b"__Host-session",
        b"\x0b__Host-session=v",
        b"\xc2\xa0__Host-session=v",
        b"\xe2\x80\x80__Host-session=v",
        b"a=1, __Host-session=v",
        b"$Version=1, __Host-session=v",
        b"__Host-session%3Dv",
        b"%5F_Host-session=v",
    ],
)
def test_what_only_looks_like_the_name_is_not_it(line: bytes) -> None:
    # Servers that trim, fold or unquote more accept cookies that any neighbouring host can set.
    assert sole(fields(line), NAME) is None


def test_only_cookie_fields_are_read() -> None:
    head: Fields = [(b"x-cookie", b"__Host-session=v"), (b"cookie2", b"__Host-session=v")]
    assert sole(head, NAME) is None


def test_an_equals_sign_belongs_to_the_value() -> None:
    assert sole(fields(b"__Host-session=v=w=="), NAME) == b"v=w=="


COOKIE = st.sampled_from(
    [b"__Host-session=1", b"__Host-session=2", b"a=__Host-session=3", b"__Host-sessio=4", b"b"]
)


@given(st.lists(st.lists(COOKIE, min_size=1, max_size=6), max_size=4))
def test_the_fields_are_read_as_a_parser_of_every_cookie_would(lines: list[list[bytes]]) -> None:
    pairs = [cookie.partition(b"=") for line in lines for cookie in line]
    expected = [value for name, equals, value in pairs if name == NAME and equals]
    assert values(fields(*[b"; ".join(line) for line in lines]), NAME) == expected


@given(st.lists(st.binary(max_size=60), max_size=3))
def test_hostile_fields_never_raise(lines: list[bytes]) -> None:
    sole(fields(*lines), NAME)
    with_prefix(fields(*lines), NAME)


def test_cookies_with_a_prefix_are_found_with_their_names() -> None:
    head = fields(b"p-a=1; q-a=2; p-b = 3", b"xp-c=4; p-d; p-a=5")
    assert with_prefix(head, b"p-") == [(b"p-a", b"1"), (b"p-b ", b"3"), (b"p-a", b"5")]


def test_a_set_cookie_is_for_this_host_alone_and_no_script() -> None:
    name, value = set_cookie("__Host-session", "v", 60)
    first, *attributes = value.decode().split("; ")
    assert name == b"set-cookie"
    assert first == "__Host-session=v"
    assert set(attributes) == {"Path=/", "Max-Age=60", "Secure", "HttpOnly", "SameSite=Lax"}


def test_a_cleared_cookie_is_empty_and_over() -> None:
    _, value = clear_cookie("__Host-session")
    assert value.startswith(b"__Host-session=; ")
    assert b"Max-Age=0" in value

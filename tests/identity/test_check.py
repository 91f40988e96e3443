"""What a check asks, and where a signed-out page load goes."""

from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.identity.check import Check, login_location, read
from foyer.interruption import Interruption, Reason
from foyer.login.return_path import is_local
from foyer.protocol.events import Field, RequestHead

ORIGIN = "https://foyer.test"


def asked(*fields: Field, query: bytes = b"") -> Check:
    found = read(RequestHead(b"GET", b"/auth/check?" + query, list(fields)), query)
    assert isinstance(found, Check)
    return found


@pytest.mark.parametrize(
    ("query", "redirect", "identity"),
    [
        (b"", False, False),
        (b"redirect=true", True, False),
        (b"identity=true", False, True),
        (b"identity=true&redirect=true", True, True),
        (b"redirect=true&identity=true", True, True),
    ],
)
def test_the_options_are_two(query: bytes, redirect: bool, identity: bool) -> None:
    check = asked(query=query)
    assert (check.redirect, check.identity) == (redirect, identity)


def test_the_request_that_is_judged_has_the_fields_that_were_received() -> None:
    fields = [(b"cookie", b"a=b"), (b"x-forwarded-method", b"PATCH"), (b"x-forwarded-uri", b"/a?b")]
    forwarded = asked(*fields).forwarded
    assert (forwarded.method, forwarded.target, forwarded.fields) == (b"PATCH", b"/a?b", fields)


@given(st.binary(max_size=8))
def test_only_the_two_options_are_taken(query: bytes) -> None:
    for text in (query, b"redirect=true&" + query, query + b"&identity=true"):
        found = read(RequestHead(b"GET", b"/auth/check", []), text)
        if isinstance(found, Check):
            assert sorted(text.split(b"&")) in (
                [b""],
                [b"identity=true"],
                [b"redirect=true"],
                [b"identity=true", b"redirect=true"],
            )
        else:
            assert found.reason is Reason.BAD_REQUEST


@given(st.lists(st.sampled_from([b"GET", b"get", b"M-S", b"", b"G T", b"G\x00", b"G,"]), max_size=2))
def test_the_method_is_one_token(methods: list[bytes]) -> None:
    found = read(RequestHead(b"GET", b"/auth/check", [(b"x-forwarded-method", m) for m in methods]), b"")
    good = methods in ([], [b"GET"], [b"get"], [b"M-S"])
    assert isinstance(found, Check) is good
    if isinstance(found, Interruption):
        assert found.reason is Reason.BAD_REQUEST
    else:
        assert found.forwarded.method == (methods or [b"GET"])[0]


PATH = st.lists(st.sampled_from([b"/", b"a", b"\\", b"?", b"&", b"%2F", b" ", b"\t", b"\xe4", b"#", b"e:"]))


@given(st.lists(PATH.map(b"".join), max_size=2), st.lists(PATH.map(b"".join), max_size=2))
def test_a_login_returns_to_a_local_path_of_the_configured_origin(
    forwarded: list[bytes], original: list[bytes]
) -> None:
    fields = [(b"x-forwarded-uri", path) for path in forwarded]
    fields += [(b"x-original-uri", path) for path in original]
    check = asked(*fields, query=b"redirect=true")
    location = login_location(check, ORIGIN)
    assert location is not None
    parts = urlsplit(location)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "foyer.test", "/auth/login")
    path = unquote_to_bytes(parts.query.removeprefix("return_to="))
    given_paths = forwarded or original
    assert path == (given_paths[0] if len(given_paths) == 1 and is_local(given_paths[0]) else b"/")
    assert is_local(path)
    assert parts.fragment == ""


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ([], b""),
        ([], b"identity=true"),
        ([(b"x-forwarded-method", b"POST")], b"redirect=true"),
        ([(b"sec-fetch-mode", b"cors")], b"redirect=true"),
        ([(b"sec-fetch-mode", b"navigate")] * 2, b"redirect=true"),
    ],
)
def test_nobody_else_is_sent_there(fields: list[Field], query: bytes) -> None:
    assert login_location(asked(*fields, query=query), ORIGIN) is None

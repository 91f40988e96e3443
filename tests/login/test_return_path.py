"""Where a browser may be sent after login."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.login.return_path import is_local, login_link

ORIGIN = "https://app.test"


@pytest.mark.parametrize(
    "path", [b"/", b"/a", b"/a?next=https://e/", b"/%09/e", b"/a//b", b"/@e", b"/:80", b"/./..//e"]
)
def test_a_path_of_this_origin_is_local(path: bytes) -> None:
    assert is_local(path)


@pytest.mark.parametrize(
    "path",
    [
        b"",
        b"a",
        b"//e",
        b"///e",
        b"/\\e",
        b"/./\\e",
        b"\\/e",
        b"/\t/e",
        b"\t/e",
        b"/a\n",
        b"/a\r\nset-cookie: a=b",
        b"/a ",
        b" /a",
        b"/\x00",
        b"/\x7f",
        "/é".encode(),
        b"http:/e",
        b"https://e/",
        b"javascript:alert(1)",
        b"?a",
        b"/" + b"a" * 2048,
    ],
)
def test_anything_else_is_not(path: bytes) -> None:
    assert not is_local(path)


def test_the_limit_is_2048_bytes() -> None:
    assert is_local(b"/" + b"a" * 2047)
    assert not is_local(b"/" + b"a" * 2048)


@given(
    st.one_of(
        st.binary(max_size=40),
        st.text("/\\\t\n .@:?#%ehtps", max_size=20).map(lambda rest: ("/" + rest).encode()),
    )
)
def test_what_is_local_never_leaves_the_origin(path: bytes) -> None:
    if is_local(path):
        parts = urlsplit(ORIGIN + path.decode("ascii"))
        assert (parts.scheme, parts.netloc) == ("https", "app.test")
        # As a reference by itself it has no authority either (RFC 3986 section 4.2).
        assert urlsplit(path.decode("ascii")).netloc == ""


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\\"), max_size=60))
def test_a_login_link_goes_to_its_path_and_nothing_else(rest: str) -> None:
    path = "/" + rest.lstrip("/")
    link = urlsplit(login_link(path.encode()))
    assert (link.path, link.fragment) == ("/auth/login", "")
    assert parse_qs(link.query).get("return_to", ["/"]) == [path]
    assert list(parse_qs(link.query)) in (["return_to"], [])


@given(st.dictionaries(st.from_regex(r"[A-Za-z0-9._-]+", fullmatch=True), st.text("a é&=?#%+/", min_size=1)))
def test_a_login_link_carries_its_parameters_as_they_are(parameters: dict[str, str]) -> None:
    link = login_link(b"/a?b=c&d", parameters)
    assert link.isascii()
    found = parse_qs(urlsplit(link).query, strict_parsing=True)
    assert found == {"return_to": ["/a?b=c&d"], **{f"oidc.{name}": [v] for name, v in parameters.items()}}

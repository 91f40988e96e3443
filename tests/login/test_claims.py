"""Display claims, by JSON Pointer."""

import pytest

from foyer.login.claims import ClaimFault, DisplayClaims, SessionClaims, displayed, pointer

# RFC 6901 section 5, but for the pointers to the whole document and to a name that is empty.
RFC_6901 = {
    "foo": ["bar", "baz"],
    "a/b": "1",
    "c%d": "2",
    "e^f": "3",
    "g|h": "4",
    "i\\j": "5",
    'k"l': "6",
    " ": "7",
    "m~n": "8",
    "": "9",
    "~1": "10",
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("/foo/0", "bar"),
        ("/foo/1", "baz"),
        ("/a~1b", "1"),
        ("/c%d", "2"),
        ("/e^f", "3"),
        ("/g|h", "4"),
        ("/i\\j", "5"),
        ('/k"l', "6"),
        ("/ ", "7"),
        ("/m~0n", "8"),
        ("/", "9"),
        ("/~01", "10"),
        ("/foo/2", ""),
        ("/foo/-", ""),
        ("/foo/01", ""),
        ("/foo/-1", ""),
        ("/foo/\u0661", ""),
        ("/foo/1000000000", ""),
        ("/foo/0/x", ""),
        ("/missing/deeper", ""),
    ],
)
def test_a_pointer_finds_what_rfc_6901_says_and_nothing_is_empty(text: str, value: str) -> None:
    found = displayed(RFC_6901, SessionClaims(display_name=pointer(text)))
    assert found == DisplayClaims("", value, (), None)


@pytest.mark.parametrize("text", ["", "name", "#/name", "/a~", "/a~2", "/~~0", " /a"])
def test_what_is_no_pointer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON Pointer"):
        pointer(text)


def test_the_defaults_are_name_and_groups_and_no_connector() -> None:
    claims = {"email": "a@b", "name": "A", "groups": ["g", "h"], "connector": "c"}
    assert displayed(claims, SessionClaims()) == DisplayClaims("a@b", "A", ("g", "h"), None)


@pytest.mark.parametrize(("value", "connector"), [("ldap", "ldap"), ("", None), (None, None)])
def test_a_connector_that_is_empty_is_left_out(value: object, connector: str | None) -> None:
    found = displayed({"c": value}, SessionClaims(connector=pointer("/c")))
    assert isinstance(found, DisplayClaims)
    assert found.connector == connector


@pytest.mark.parametrize("value", [5, True, [], {}, "\udcff"])
def test_a_connector_of_another_type_is_refused(value: object) -> None:
    assert displayed({"c": value}, SessionClaims(connector=pointer("/c"))) is ClaimFault.CONNECTOR

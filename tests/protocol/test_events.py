"""Heads keep their fields, and show none of them."""

from foyer.protocol.events import Fields, RequestHead, ResponseHead

FIELDS: Fields = [(b"cookie", b"secret"), (b"x-a", b"1"), (b"x-a", b"2")]


def test_a_field_is_every_line_of_its_name_in_order() -> None:
    assert RequestHead(b"GET", b"/", FIELDS).all(b"x-a") == [b"1", b"2"]
    assert ResponseHead(200, FIELDS).all(b"x-a") == [b"1", b"2"]
    assert RequestHead(b"GET", b"/", FIELDS).all(b"x-b") == []


def test_a_head_that_is_shown_hides_its_fields_and_its_target() -> None:
    assert repr(RequestHead(b"GET", b"/callback?code=secret", FIELDS)) == "RequestHead(b'GET', 3 fields)"
    assert repr(ResponseHead(200, FIELDS)) == "ResponseHead(200, 3 fields)"

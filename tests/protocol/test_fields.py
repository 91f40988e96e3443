"""HTTP/2's heads: nothing passes that h2 itself would refuse, nor what HTTP/1.1's guard would."""

import pytest
from h2.exceptions import ProtocolError
from h2.utilities import HeaderValidationFlags, validate_headers
from hypothesis import event, given, settings
from hypothesis import strategies as st

from foyer.protocol.events import Fields, RequestHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.fields import are_trailers, request_head, response_head
from foyer.protocol.framing import request_content

GET: Fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"f"), (b":path", b"/a")]
OK: Fields = [(b":status", b"200")]


def but(fields: Fields, *changed: tuple[bytes, bytes | None]) -> Fields:
    """`fields` with some values changed, or the fields taken away."""
    changes = dict(changed)
    pairs = [(name, changes.get(name, value)) for name, value in fields]
    return [(name, value) for name, value in pairs if value is not None]


# What is malformed.

MALFORMED: dict[str, Fields] = {
    "an empty name": [(b"", b"x")],
    "an upper-case name": [(b"X-A", b"x")],
    "a blank in a name": [(b"x a", b"x")],
    "a colon in a name": [(b"x:a", b"x")],
    "a parenthesis in a name": [(b"x(a", b"x")],
    "a name beyond ASCII": [(b"x\xe9", b"x")],
    "a NUL in a value": [(b"x-a", b"x\0y")],
    "CR LF in a value": [(b"x-a", b"x\r\nimpersonate-user: root")],
    "LF in a value": [(b"x-a", b"x\ny")],
    "a vertical tab in a value": [(b"x-a", b"x\x0by")],
    "DEL in a value": [(b"x-a", b"x\x7f")],
    "a value with a blank before it": [(b"x-a", b" x")],
    "a value with a tab behind it": [(b"x-a", b"x\t")],
    "connection": [(b"connection", b"close")],
    "keep-alive": [(b"keep-alive", b"1")],
    "proxy-connection": [(b"proxy-connection", b"close")],
    "transfer-encoding": [(b"transfer-encoding", b"chunked")],
    "upgrade": [(b"upgrade", b"websocket")],
    "te beyond trailers": [(b"te", b"trailers, gzip")],
    "a pseudo-header field behind others": [(b"x-a", b"x"), (b":path", b"/b")],
    "an unknown pseudo-header field": [(b":x", b"x")],
    "a bare colon": [(b":", b"x")],
    "an LF in a cookie": [(b"cookie", b"x\ny")],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_field_makes_any_of_them_malformed(fields: Fields) -> None:
    assert request_head([*GET, *fields], True) is None
    assert response_head([*OK, *fields], False, b"GET") is None
    assert not are_trailers(fields)


LENGTHS: dict[str, Fields] = {
    "two lengths": [(b"content-length", b"5"), (b"content-length", b"6")],
    "a repeated length": [(b"content-length", b"5"), (b"content-length", b"5")],
    "a list of lengths": [(b"content-length", b"5, 5")],
    "a signed length": [(b"content-length", b"+5")],
    "an empty length": [(b"content-length", b"")],
    "a length beyond any": [(b"content-length", b"9" * 400)],
}


@pytest.mark.parametrize("fields", LENGTHS.values(), ids=LENGTHS)
def test_a_length_is_one_decimal_number(fields: Fields) -> None:
    assert request_head([*GET, *fields], False) is None
    assert response_head([*OK, *fields], False, b"GET") is None


REQUESTS: dict[str, Fields] = {
    "no method": but(GET, (b":method", None)),
    "an empty method": but(GET, (b":method", b"")),
    "a method with a blank": but(GET, (b":method", b"GET /b HTTP/1.1")),
    "a method that is no token": but(GET, (b":method", b"GE(T")),
    "a method beyond any": but(GET, (b":method", b"G" * 65)),
    "no path": but(GET, (b":path", None)),
    "an empty path": but(GET, (b":path", b"")),
    "no scheme": but(GET, (b":scheme", None)),
    "no authority": but(GET, (b":authority", None)),
    "an empty authority": but(GET, (b":authority", b"")),
    "another host than the authority": [*GET, (b"host", b"g")],
    "two hosts": [*but(GET, (b":authority", None)), (b"host", b"f"), (b"host", b"g")],
    "a repeated host": [*GET, (b"host", b"f"), (b"host", b"f")],
    "a repeated path": [*GET, (b":path", b"/a")],
    "a status": [*GET, (b":status", b"200")],
    "a protocol without CONNECT": [*GET, (b":protocol", b"websocket")],
    "a path with CONNECT": but(GET, (b":method", b"CONNECT")),
    "an LF in a path": but(GET, (b":path", b"/a\nb")),
}


@pytest.mark.parametrize("fields", REQUESTS.values(), ids=REQUESTS)
def test_a_malformed_request_is_none(fields: Fields) -> None:
    assert request_head(fields, True) is None


RESPONSES: dict[str, Fields] = {
    "no status": [],
    "a status of two digits": [(b":status", b"20")],
    "a status of four digits": [(b":status", b"2000")],
    "a status of other digits": [(b":status", b"2\xb20")],
    "a signed status": [(b":status", b"+20")],
    "a status below any": [(b":status", b"099")],
    "an interim status as the final one": [(b":status", b"100")],
    "two": [(b":status", b"200"), (b":status", b"200")],
    "a path": [(b":status", b"200"), (b":path", b"/")],
}


@pytest.mark.parametrize("fields", RESPONSES.values(), ids=RESPONSES)
def test_a_malformed_response_is_none(fields: Fields) -> None:
    assert response_head(fields, False, b"GET") is None


def test_a_pseudo_header_field_in_trailers_makes_them_malformed() -> None:
    assert not are_trailers([(b":status", b"200")])
    assert are_trailers([(b"grpc-status", b"0")])
    assert are_trailers([])


def test_an_end_that_comes_before_the_declared_length_is_malformed() -> None:
    five: Fields = [(b"content-length", b"5")]
    assert request_head([*GET, *five], True) is None
    assert request_head([*GET, *five], False) is not None
    assert request_head([*GET, (b"content-length", b"0")], True) is not None
    assert response_head([*OK, *five], True, b"GET") is None
    assert response_head([*OK, *five], True, b"HEAD") is not None
    assert response_head([(b":status", b"304"), *five], True, b"GET") is not None


# What is well-formed.


def test_a_request_is_its_pseudo_header_fields_and_the_others() -> None:
    head = request_head([*GET, (b"x-a", b"b\tc \xe9"), (b"te", b"Trailers"), (b"x-a", b"")], False)
    assert head is not None
    assert (head.method, head.target, head.authority, head.ended) == (b"GET", b"/a", b"f", False)
    assert head.fields == [(b"x-a", b"b\tc \xe9"), (b"te", b"Trailers"), (b"x-a", b"")]


def test_cookies_that_were_split_are_one_again() -> None:
    head = request_head([*GET, (b"cookie", b"a=1"), (b"x-a", b""), (b"cookie", b"b=2")], True)
    assert head is not None
    assert head.all(b"cookie") == [b"a=1; b=2"]


def test_host_stands_for_an_authority_that_is_absent_or_the_same() -> None:
    for fields in (GET, but(GET, (b":authority", None))):
        head = request_head([*fields, (b"host", b"f")], True)
        assert head is not None
        assert head.authority == b"f"


def test_connect_has_an_authority_and_the_extended_one_a_target_too() -> None:
    plain = request_head([(b":method", b"CONNECT"), (b":authority", b"f:443")], False)
    assert plain is not None
    assert (plain.target, plain.protocol) == (b"", b"")
    extended = request_head([*but(GET, (b":method", b"CONNECT")), (b":protocol", b"websocket")], False)
    assert extended is not None
    assert (extended.target, extended.protocol) == (b"/a", b"websocket")


def test_a_response_is_its_status_and_fields() -> None:
    head = response_head([(b":status", b"599"), (b"x-a", b"b")], True, b"GET")
    assert head is not None
    assert (head.status, head.fields, head.ended) == (599, [(b"x-a", b"b")], True)


# Near-misses, held to h2's own rules and to HTTP/1.1's guard.

WORDS = (
    b":method :scheme :authority :path :protocol :status :x : x-a X-A host cookie te connection upgrade "
    b"content-length x:y x\0 x(y \xe9"
)
TEXTS = b"GET CONNECT https f /a 200 5 trailers \xe9 a\tb a\0 a\nb a\rb a\x01b \ta a\t"
NAMES = st.sampled_from([*WORDS.split(b" "), b"", b"x y"])
VALUES = st.sampled_from([*TEXTS.split(b" "), b"", b" a", b"a ", b"a b"])
LIKELY: st.SearchStrategy[tuple[bytes, bytes]] = st.sampled_from(
    [
        (b"x-a", b"a b"),
        (b"host", b"f"),
        (b"cookie", b"a=b"),
        (b"te", b"trailers"),
        (b":protocol", b"websocket"),
    ]
)
LISTS = st.builds(
    lambda front, more, dropped: [*(field for at, field in enumerate(front) if at != dropped), *more],
    st.sampled_from([GET, GET, OK, OK, [], but(GET, (b":method", b"CONNECT"))]),
    st.lists(st.one_of(LIKELY, LIKELY, st.tuples(NAMES, VALUES)), max_size=3),
    st.sampled_from([-1] * 8 + [0, 1, 2, 3]),
)


def h2_takes(fields: Fields, *, response: bool = False, trailers: bool = False) -> bool:
    flags = HeaderValidationFlags(
        is_client=response, is_trailer=trailers, is_response_header=response, is_push_promise=False
    )
    try:
        list(validate_headers(fields, flags))
    except ProtocolError:
        return False
    return True


@settings(max_examples=400)
@given(LISTS)
def test_what_h2_would_refuse_is_refused(fields: Fields) -> None:
    request = request_head(fields, False)
    response = response_head(fields, False, b"GET")
    event("accepted" if request or response else "refused")
    assert request is None or h2_takes(fields)
    assert response is None or h2_takes(fields, response=True)
    assert not are_trailers(fields) or h2_takes(fields, trailers=True)


def over_http1(head: RequestHead) -> bytes:
    lines = [b"%b: %b\r\n" % field for field in head.fields]
    return b"".join([b"%b / HTTP/1.1\r\n" % head.method, *lines, b"\r\n"])


@settings(max_examples=400)
@given(LISTS)
def test_what_passes_would_pass_over_http_1_1(fields: Fields) -> None:
    head = request_head(fields, False)
    if head is not None:
        try:
            request_content(over_http1(head))
        except ProtocolFault as fault:  # pragma: no cover - the failing case
            raise AssertionError(fault.message) from fault

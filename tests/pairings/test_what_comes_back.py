"""Spec 03, What comes back: types and fields on the list, and what every proxied answer carries."""

import json

import pytest

from tests.support.pairings import JSON, TEXT, Pairing
from tests.support.script import Fields, Whole

SECURITY = {
    "x-content-type-options": b"nosniff",
    "content-security-policy": b"default-src 'none'; sandbox",
    "cache-control": b"no-store",
    "referrer-policy": b"no-referrer",
    "x-accel-buffering": b"no",
}

TYPES = [
    b"application/json",
    b"application/yaml",
    b"application/vnd.kubernetes.protobuf",
    b"application/cbor",
    b"application/cbor-seq",
    b"application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    b"application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
    b"text/plain",
    b"text/plain; charset=utf-8",
    b"application/json;stream=watch",
    b"application/json; charset=utf-8",
    b"Application/JSON",
]

HELD_BACK: list[Fields] = [
    [(b"content-type", b"text/html")],
    [(b"content-type", b"image/svg+xml")],
    [(b"content-type", b"application/javascript")],
    [(b"content-type", b"application/json, text/html")],
    [(b"content-type", b"application/json"), (b"content-type", b"application/json")],
    [(b"content-type", b"application/json"), (b"content-type", b"text/html")],
    [(b"content-type", b"application/jsonp")],
    [(b"content-type", b"application/json+x")],
    [(b"content-type", b"")],
    [],
]


def passed(pairing: Pairing, status: int, fields: Fields, content: bytes = b"{}") -> dict[str, bytes]:
    """The fields, by lower-case name, with which an answer reached the browser. None came twice."""
    exchange = pairing.get("/k8s/api/v1/pods")
    pairing.upstream.expect().answer(status, fields, content)
    assert exchange.read_head()[0] == status
    assert exchange.read_until_end() == Whole(content)
    assert len({name.lower() for name, _ in exchange.fields}) == len(exchange.fields)
    return {name.lower().decode(): value for name, value in exchange.fields}


@pytest.mark.parametrize("content_type", TYPES)
def test_a_type_on_the_list_passes_whatever_its_parameters(pairing: Pairing, content_type: bytes) -> None:
    fields = passed(pairing, 200, [(b"content-type", content_type)], b"\x00\xff any content")
    assert fields["content-type"] == content_type


@pytest.mark.parametrize("fields", HELD_BACK, ids=str)
def test_any_other_type_is_held_back(pairing: Pairing, fields: Fields) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    request = pairing.upstream.expect()
    request.answer(200, fields, b"<script>alert(1)</script>")
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamContentHeldBack"]
    content = exchange.read_until_end().content
    assert b"<script>" not in content
    assert exchange.all("content-type") == [b"application/json"]


def test_what_was_held_back_is_named(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    pairing.upstream.expect().answer(200, [(b"content-type", b"text/html; charset=utf-8")], b"<p>")
    assert b"text/html" in exchange.read_until_end().content


def test_an_endless_answer_that_is_held_back_is_cancelled(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    request = pairing.upstream.expect()
    request.respond(200, [(b"content-type", b"text/html")])
    request.send(b"<p>")
    assert exchange.read_head()[0] == 502
    request.expect_cancelled()


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 200)])
def test_an_answer_without_content_needs_no_type(pairing: Pairing, method: str, status: int) -> None:
    exchange = pairing.get("/k8s/api/v1/pods", method=method)
    pairing.upstream.expect().answer(status)
    assert exchange.read_head()[0] == status
    assert exchange.read_until_end() == Whole(b"")


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_a_type_that_is_not_on_the_list_is_held_back_without_content_too(
    pairing: Pairing, method: str
) -> None:
    exchange = pairing.get("/k8s/api/v1/pods", method=method)
    pairing.upstream.expect().answer(200, [(b"content-type", b"text/html")])
    assert exchange.read_head()[0] == 502
    exchange.read_until_end()


def test_the_length_that_a_head_is_told_of_passes(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods", method="HEAD")
    pairing.upstream.expect().answer(200, JSON, b"x" * 1234)
    assert exchange.read_head()[0] == 200
    assert exchange.all("content-length") == [b"1234"]
    assert exchange.read_until_end() == Whole(b"")


def test_of_the_fields_only_the_listed_ones_pass(pairing: Pairing) -> None:
    kept = {
        "audit-id": b"4c7e1b0e",
        "warning": b'299 - "deprecated"',
        "retry-after": b"7",
        "x-kubernetes-pf-flowschema-uid": b"flow",
        "x-kubernetes-pf-prioritylevel-uid": b"level",
    }
    dropped = {
        "set-cookie": b"__Host-krm-foyer-session=x; Path=/; Secure",
        "access-control-allow-origin": b"*",
        "access-control-allow-credentials": b"true",
        "cache-control": b"public, max-age=600",
        "expires": b"Thu, 01 Jan 2099 00:00:00 GMT",
        "etag": b'"e"',
        "last-modified": b"Thu, 01 Jan 2026 00:00:00 GMT",
        "vary": b"*",
        "age": b"3",
        "krm-foyer-interruption": b"Unauthorized",
        "content-security-policy": b"default-src *",
        "x-content-type-options": b"sniff",
        "www-authenticate": b"Basic",
        "strict-transport-security": b"max-age=0",
        "server": b"apiserver",
        "via": b"1.1 x",
        "link": b"<x>; rel=preload",
        "refresh": b"0; url=https://evil",
        "clear-site-data": b'"*"',
        "alt-svc": b'h3=":443"',
        "location": b"https://evil/",
        "content-disposition": b"attachment",
    }
    given = [(name.encode(), value) for name, value in (kept | dropped).items()]
    fields = passed(pairing, 200, [*JSON, *given])
    fields.pop("date", None)
    assert fields == {**kept, **SECURITY, "content-type": b"application/json", "content-length": b"2"}


def test_each_of_several_warnings_passes(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    warnings = [(b"warning", b'299 - "one"'), (b"warning", b'299 - "two"')]
    pairing.upstream.expect().answer(200, [*JSON, *warnings], b"{}")
    exchange.read_head()
    assert exchange.all("warning") == [b'299 - "one"', b'299 - "two"']


@pytest.mark.parametrize("status", [200, 201, 202, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504])
def test_an_answer_of_the_api_servers_is_never_replaced(pairing: Pairing, status: int) -> None:
    content = json.dumps({"kind": "Status", "reason": "AsItWas"}).encode()
    fields = passed(pairing, status, [*JSON, (b"retry-after", b"1")], content)
    assert {name: fields[name] for name in SECURITY} == SECURITY
    assert "krm-foyer-interruption" not in fields


def test_priority_and_fairness_refuses_in_plain_text(pairing: Pairing) -> None:
    fields = passed(pairing, 429, [(b"content-type", b"text/plain; charset=utf-8")], b"Too many requests\n")
    assert fields["content-type"] == b"text/plain; charset=utf-8"


def test_informational_answers_never_pass(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    request = pairing.upstream.expect()
    request.inform(103, [(b"link", b"</x>; rel=preload")])
    request.inform(103)
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    assert exchange.informational == []


def test_trailers_never_pass(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    request = pairing.upstream.expect()
    request.respond(200, [*JSON, (b"Trailer", b"x-trailer")])
    request.send(b"{}")
    request.end([(b"x-trailer", b"1"), (b"set-cookie", b"a=b")])
    assert exchange.read_until_end() == Whole(b"{}")
    assert exchange.trailers == []
    assert exchange.all("trailer") == []


def test_an_answer_delimited_by_the_close_of_the_connection_passes(pairing: Pairing) -> None:
    if pairing.upstream_version == "h2":
        pytest.skip("HTTP/2 content ends with END_STREAM")
    exchange = pairing.get("/k8s/api/v1/pods")
    request = pairing.upstream.expect()
    request.respond(200, TEXT, until_close=True)
    request.send(b"a line\n")
    assert exchange.read_some() == b"a line\n"
    request.end()
    assert exchange.read_until_end() == Whole(b"a line\n")


@pytest.mark.parametrize("size", [1, 16_384, 16_385, 1_000_000])
def test_content_passes_byte_for_byte(pairing: Pairing, size: int) -> None:
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    passed(pairing, 200, TEXT, content)


# A1, A2


def test_a_small_event_arrives_as_soon_as_it_is_sent(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods?watch=1")
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    assert exchange.read_head()[0] == 200
    for number in range(20):
        event = b'{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"%d"}}}\n' % number
        request.send(event)
        assert exchange.read_some() == event
    request.end()
    assert exchange.read_until_end().content.count(b"\n") == 20


def test_a_head_arrives_before_any_content(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods?watch=1")
    request = pairing.upstream.expect()
    request.respond(200, [*JSON, (b"audit-id", b"quiet")])
    assert exchange.read_head()[0] == 200
    assert exchange.all("audit-id") == [b"quiet"]
    assert exchange.outcome is None
    request.end()
    assert exchange.read_until_end() == Whole(b"")

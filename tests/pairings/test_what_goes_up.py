"""Spec 03, What goes up: the path and query byte for byte, and of the fields only what is named."""

import json
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.pairings import JSON, Pairing
from tests.support.script import Fields, Whole

UNRESERVED = string.ascii_letters + string.digits + "-._~"
CONNECTING = {"exec", "attach", "portforward", "proxy"}

# RFC 3986 section 3.3, from its grammar: what a segment may hold unescaped, and what must be escaped
# (a slash, escaped, is refused).
literals = st.sampled_from(UNRESERVED + "!$&'()*+,;=:@")
escapes = st.sampled_from([f"%{octet:02X}" for octet in range(256) if chr(octet) not in UNRESERVED + "/"])
segments = (
    st.lists(literals | escapes, min_size=1, max_size=12)
    .map("".join)
    .filter(lambda segment: segment not in {".", ".."} | CONNECTING)
)
paths = st.builds(
    lambda start, rest: "/".join([start, *rest]),
    st.sampled_from(["/api/v1", "/apis/apps/v1", "/openapi/v3"]),
    st.lists(segments, min_size=0, max_size=6),
) | st.sampled_from(["/api", "/apis", "/version", "/openapi/v2"])
queries = st.text(
    st.sampled_from([chr(octet) for octet in range(0x21, 0x7F) if chr(octet) != "#"]), max_size=40
)

roundtrips = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def sent_up(pairing: Pairing, target: str, fields: Fields | None = None) -> Fields:
    """The fields of a GET as they reached the upstream, by lower-case name."""
    exchange = pairing.get(target, fields)
    request = pairing.upstream.expect()
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    return [(name.lower(), value) for name, value in request.fields]


@roundtrips
@given(path=paths, query=queries | st.none())
def test_an_accepted_target_arrives_byte_for_byte_minus_the_prefix(
    pairing: Pairing, path: str, query: str | None
) -> None:
    target = path if query is None else f"{path}?{query}"
    exchange = pairing.get("/k8s" + target)
    request = pairing.upstream.expect()
    assert request.target == target.encode()
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@pytest.mark.parametrize(
    "path",
    [
        "/k8s/api/v1/namespaces/a%2Fb",
        "/k8s/api/v1/namespaces/a%2fb",
        "/k8s/api/v1/./pods",
        "/k8s/api/v1/../v1/pods",
        "/k8s/api/v1/%2E%2E/pods",
        "/k8s/api/v1/.%2E/pods",
        "/k8s/api//v1/pods",
        "/k8s//api/v1/pods",
        "/k8s/api/v1/pods/",
        "/k8s/api/v1/%70ods",
        "/k8s/api/v1/pods%2D1",
        "/k8s/api/v1/a%3fb",
        "/k8s/api/v1/a%ZZb",
        "/k8s/api/v1/a%2",
        "/k8s/api/v1/a%",
        '/k8s/api/v1/a"b',
        "/k8s/api/v1/a<b",
        "/k8s/api/v1/a\\b",
        "/k8s/api/v1/a[b",
        "/k8s/api/v1/a^b",
        "/k8s/api/v1/a`b",
        "/k8s/api/v1/a{b",
        "/k8s/api/v1/a|b",
    ],
)
def test_a_path_with_a_second_spelling_is_refused_and_never_normalised(pairing: Pairing, path: str) -> None:
    exchange = pairing.get(path)
    status, _ = exchange.read_head()
    assert (status, exchange.all("krm-foyer-interruption")) == (400, [b"NonCanonicalPath"])
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize(
    "path",
    [
        "/k8s",
        "/k8s/healthz",
        "/k8s/version/x",
        "/k8s/openapi",
        "/k8s/metrics",
        "/k8sapi/v1",
        "/K8S/api",
        "/api",
    ],
)
def test_nothing_else_under_the_prefix_is_a_route(pairing: Pairing, path: str) -> None:
    exchange = pairing.get(path)
    assert exchange.read_head()[0] == 404
    assert exchange.all("krm-foyer-interruption") == [b"NotFound"]
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/n/pods/p/exec",
        "/api/v1/namespaces/n/pods/p/attach",
        "/api/v1/namespaces/n/pods/p/portforward",
        "/api/v1/namespaces/n/services/s/proxy",
        "/api/v1/namespaces/n/services/s/proxy/any/path",
        "/api/v1/nodes/n/proxy/logs",
        "/api/v1/proxy/namespaces/n/services/s",
        "/api/v1/watch/namespaces/n/pods/p/exec",
        "/apis/subresources.kubevirt.io/v1/namespaces/n/virtualmachineinstances/v/portforward",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_subresource_that_needs_a_connection_is_refused(pairing: Pairing, path: str, method: str) -> None:
    exchange = pairing.browser.request(method, "/k8s" + path, pairing.me.change)
    assert exchange.read_head()[0] == 501
    assert exchange.all("krm-foyer-interruption") == [b"UnsupportedSubresource"]
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/exec/pods/attach",
        "/api/v1/namespaces/n/configmaps/proxy",
        "/api/v1/namespaces/proxy",
        "/api/v1/namespaces/n/pods/p/log",
        "/apis/proxy/v1/exec",
    ],
)
def test_such_a_word_where_the_api_server_reads_a_name_is_forwarded(pairing: Pairing, path: str) -> None:
    exchange = pairing.get("/k8s" + path)
    request = pairing.upstream.expect()
    assert request.target == path.encode()
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_of_the_fields_only_the_named_ones_go_up(pairing: Pairing) -> None:
    fields = sent_up(
        pairing,
        "/k8s/api/v1/pods",
        [
            (b"Accept", b"application/json;as=Table;v=v1;g=meta.k8s.io"),
            (b"User-Agent", b"browser/1.0"),
            (b"Authorization", b"Bearer stolen"),
            (b"Impersonate-User", b"root"),
            (b"Impersonate-Group", b"system:masters"),
            (b"Impersonate-Extra-Scopes", b"all"),
            (b"X-Remote-User", b"root"),
            (b"X-Remote-Group", b"system:masters"),
            (b"Forwarded", b"host=evil"),
            (b"X-Forwarded-For", b"10.0.0.1"),
            (b"X-Forwarded-Host", b"evil"),
            (b"X-Original-URL", b"/healthz"),
            (b"X-HTTP-Method-Override", b"DELETE"),
            (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            (b"TE", b"trailers"),
            (b"Accept-Encoding", b"br"),
            (b"Accept-Language", b"nl"),
            (b"Range", b"bytes=0-1"),
            (b"If-None-Match", b'"1"'),
            (b"Origin", b"https://foyer.test"),
            (b"Referer", b"https://foyer.test/x"),
            (b"X-CSRF-Token", pairing.me.csrf),
            (b"Krm-Foyer-Identity", b"e30"),
        ],
    )
    assert sorted(field for field in fields if field[0] != b"host") == sorted(
        [
            (b"accept", b"application/json;as=Table;v=v1;g=meta.k8s.io"),
            (b"accept-encoding", b"gzip"),
            (b"authorization", b"Bearer " + pairing.me.token),
            (b"user-agent", b"browser/1.0"),
        ]
    )


def test_the_authority_sent_is_the_api_servers_own(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api")
    request = pairing.upstream.expect()
    assert request.authority == pairing.upstream.url.removeprefix("https://").encode()
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_an_underscore_is_never_taken_for_a_hyphen(pairing: Pairing) -> None:  # A7
    names = [b"Impersonate_User", b"X_Remote_User", b"X-Remote_Group", b"user_agent", b"content_type"]
    fields = sent_up(pairing, "/k8s/api", [(name, b"root") for name in names])
    assert {name for name, _ in fields} <= {b"host", b"accept-encoding", b"authorization"}


@pytest.mark.parametrize(
    "connection",
    [
        [(b"Connection", b""), (b"Connection", b"authorization, accept, cookie")],
        [(b"Connection", b"authorization, accept, accept-encoding, cookie, x-csrf-token")],
    ],
)
def test_connection_cannot_name_a_field_that_foyer_sends(pairing: Pairing, connection: Fields) -> None:  # A6
    if pairing.browser_version == "h2":
        pytest.skip("RFC 9113 section 8.2.2: Connection makes an HTTP/2 request malformed")
    fields = sent_up(pairing, "/k8s/api", [(b"Accept", b"application/json"), *connection])
    assert (b"authorization", b"Bearer " + pairing.me.token) in fields
    assert (b"accept", b"application/json") in fields
    assert not {name for name, _ in fields} & {b"connection", b"cookie", b"keep-alive"}


def test_connection_cannot_take_away_the_proof_of_a_change(pairing: Pairing) -> None:  # A6
    if pairing.browser_version == "h2":
        pytest.skip("RFC 9113 section 8.2.2: Connection makes an HTTP/2 request malformed")
    exchange = pairing.post("/k8s/api/v1/pods", [(b"Connection", b"close, x-csrf-token")], b"{}")
    pairing.upstream.expect().answer(201, JSON, b"{}")
    assert exchange.read_head()[0] == 201


def test_a_connection_field_on_http2_is_refused(pairing: Pairing) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("Connection is a field of HTTP/1.1")
    exchange = pairing.get("/k8s/api", [(b"connection", b"close")])
    assert exchange.read_until_end().content == b""
    assert exchange.status in (0, 400)
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("header", [b"X-Forwarded-Uri", b"X-Original-URL", b"X-Rewrite-URL"])
def test_a_forwarded_path_decides_nothing(pairing: Pairing, header: bytes) -> None:  # A8
    exchange = pairing.browser.request("GET", "/k8s/api/v1/secrets", [(header, b"/healthz")])
    assert exchange.read_head()[0] == 401
    pairing.upstream.expect_nothing()


def test_a_forwarded_method_decides_nothing(pairing: Pairing) -> None:  # A8
    fields = [*pairing.me.fields, (b"X-HTTP-Method-Override", b"GET"), (b"X-Forwarded-Method", b"GET")]
    exchange = pairing.browser.request("POST", "/k8s/api/v1/secrets", fields, b"{}")
    assert exchange.read_head()[0] == 403
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("cookie", [b"", b"__Host-krm-foyer-session=", b"__Host-krm-foyer-session=AQAB"])
def test_a_request_without_a_session_is_never_sent(pairing: Pairing, cookie: bytes) -> None:
    exchange = pairing.browser.request(
        "GET", "/k8s/api", [(b"Cookie", cookie), (b"Authorization", b"Bearer mine")]
    )
    assert exchange.read_head()[0] == 401
    assert exchange.all("krm-foyer-interruption") == [b"Unauthorized"]
    outcome = exchange.read_until_end()
    assert json.loads(outcome.content)["reason"] == "Unauthorized"
    pairing.upstream.expect_nothing()


def test_a_session_cookie_given_twice_is_no_session(pairing: Pairing) -> None:
    other = pairing.signed_in()
    exchange = pairing.browser.request("GET", "/k8s/api", [*pairing.me.fields, *other.fields])
    assert exchange.read_head()[0] == 401
    pairing.upstream.expect_nothing()


def test_an_ended_session_is_no_session(pairing: Pairing) -> None:
    ended = pairing.signed_in(issued_at=1_000, ends_at=2_000)
    exchange = pairing.browser.request("GET", "/k8s/api", ended.fields)
    assert exchange.read_head()[0] == 401
    pairing.upstream.expect_nothing()


def test_each_session_goes_up_with_its_own_token(pairing: Pairing) -> None:
    people = [pairing.signed_in() for _ in range(5)]
    for person in people:
        exchange = pairing.browser.request("GET", "/k8s/api", person.fields)
        request = pairing.upstream.expect()
        assert request.all("authorization") == [b"Bearer " + person.token]
        request.answer(200, JSON, b"{}")
        assert exchange.read_until_end() == Whole(b"{}")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"])
def test_any_method_is_forwarded_as_it_is(pairing: Pairing, method: str) -> None:
    exchange = pairing.browser.request(method, "/k8s/api/v1/pods", pairing.me.change)
    request = pairing.upstream.expect()
    assert request.method == method.encode()
    request.answer(200, JSON, b"" if method == "HEAD" else b"{}")
    assert exchange.read_head()[0] == 200
    exchange.read_until_end()

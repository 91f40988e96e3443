"""Spec 03, Transport: connections that are kept, shared, said goodbye on, and never tunnelled through."""

import pytest

from tests.support.browsers import Exchange, H1Browser, H2Browser
from tests.support.certs import ORIGIN_HOST
from tests.support.messages import head
from tests.support.pairings import JSON, Pairing
from tests.support.script import Aborted, Fields, How, Whole
from tests.support.upstreams import H2Connection, H2Request, Request

PODS = "/k8s/api/v1/namespaces/n/pods"


def test_a_connection_carries_one_exchange_after_another(pairing: Pairing) -> None:
    connections = set()
    for number in range(20):
        exchange = pairing.get(PODS)
        request = pairing.upstream.expect()
        connections.add(id(request.connection))
        request.answer(200, JSON, b'{"n":%d}' % number)
        assert exchange.read_until_end() == Whole(b'{"n":%d}' % number)
    assert len(connections) == 1
    assert pairing.browser.closed is None


def test_pipelined_requests_are_answered_in_order(pairing: Pairing) -> None:
    if pairing.browser_version == "h2":
        pytest.skip("HTTP/2 multiplexes; pipelining is HTTP/1.1's")
    methods = ["GET", "HEAD", "GET", "DELETE", "GET"]
    paths = [f"/k8s/api/v1/namespaces/n{number}" for number in range(5)]
    exchanges = [
        pairing.browser.request(method, path, pairing.me.change)
        for method, path in zip(methods, paths, strict=True)
    ]
    for number in range(5):
        request = pairing.upstream.expect()
        assert request.target == b"/api/v1/namespaces/n%d" % number
        request.answer(200, JSON, b'{"n":%d}' % number)
    for number, exchange in enumerate(exchanges):
        expected = b"" if methods[number] == "HEAD" else b'{"n":%d}' % number
        assert exchange.read_until_end() == Whole(expected)


def test_foyers_own_answers_keep_their_place_in_a_pipeline(pairing: Pairing) -> None:
    if pairing.browser_version == "h2":
        pytest.skip("HTTP/2 multiplexes; pipelining is HTTP/1.1's")
    slow = pairing.get(PODS)
    refused = pairing.get("/k8s/nothing")
    probe = pairing.browser.request("GET", "/healthz")
    request = pairing.upstream.expect()
    assert refused.status == 0
    request.answer(200, JSON, b"{}")
    assert slow.read_until_end() == Whole(b"{}")
    assert refused.read_head()[0] == 404
    assert probe.read_head()[0] == 200
    probe.read_until_end()


def test_a_pipelined_change_is_not_sent_before_its_turn(pairing: Pairing) -> None:
    """If the first response is cut, the connection closes, and what follows must not have happened unseen."""
    if pairing.browser_version == "h2":
        pytest.skip("HTTP/2 multiplexes; pipelining is HTTP/1.1's")
    first = pairing.get(PODS)
    second = pairing.post(PODS, body=b"{}")
    request = pairing.upstream.expect()
    pairing.upstream.expect_nothing()
    request.respond(200, JSON)
    request.send(b"[")
    request.reset()
    assert first.read_until_end().content == b"["
    assert second.read_until_end().content == b""
    pairing.upstream.expect_nothing()


def test_exchanges_of_one_browser_do_not_wait_for_each_other(pairing: Pairing) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("HTTP/1.1 answers in order")
    exchanges = [pairing.get(f"/k8s/api/v1/namespaces/n{number}") for number in range(8)]
    requests = [pairing.upstream.expect() for _ in exchanges]
    by_target = {request.target: request for request in requests}
    for number in reversed(range(8)):
        by_target[b"/api/v1/namespaces/n%d" % number].answer(200, JSON, b'{"n":%d}' % number)
        assert exchanges[number].read_until_end() == Whole(b'{"n":%d}' % number)


def test_a_browser_that_asks_to_close_has_its_answer_first(pairing: Pairing) -> None:
    if pairing.browser_version == "h2":
        pytest.skip("Connection is a field of HTTP/1.1")
    exchange = pairing.get(PODS, [(b"Connection", b"close")])
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    pairing.browser.read_connection_end()


def test_an_upstream_that_asks_to_close_is_not_asked_again(pairing: Pairing) -> None:
    if pairing.upstream_version == "h2":
        pytest.skip("Connection is a field of HTTP/1.1")
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.answer(200, [*JSON, (b"Connection", b"close")], b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    request.connection.expect_closed()
    again = pairing.get(PODS)
    after = pairing.upstream.expect()
    assert after.connection is not request.connection
    after.answer(200, JSON, b"{}")
    assert again.read_until_end() == Whole(b"{}")


def test_many_exchanges_at_once_each_get_their_own_answer(pairing: Pairing) -> None:
    browsers = [pairing.connect() for _ in range(12)]
    people = [pairing.signed_in() for _ in browsers]
    exchanges = [
        browser.request("GET", f"/k8s/api/v1/namespaces/n{number}", person.fields)
        for number, (browser, person) in enumerate(zip(browsers, people, strict=True))
    ]
    requests = {request.target: request for request in (pairing.upstream.expect() for _ in browsers)}
    for number, person in enumerate(people):
        request = requests[b"/api/v1/namespaces/n%d" % number]
        assert request.all("authorization") == [b"Bearer " + person.token]
        request.answer(200, JSON, b'{"n":%d}' % number)
    for number, exchange in enumerate(exchanges):
        assert exchange.read_until_end() == Whole(b'{"n":%d}' % number)


# A22


def test_a_goaway_lets_what_it_covers_finish_and_sends_nothing_twice(pairing: Pairing) -> None:
    if pairing.upstream_version == "h1":
        pytest.skip("GOAWAY is HTTP/2's")
    browsers = [pairing.connect() for _ in range(3)]
    watch = browsers[0].request("GET", PODS + "?watch=1", pairing.me.fields)
    upload = browsers[1].request("POST", PODS, pairing.me.change, end=False)
    first = pairing.upstream.expect()
    second = pairing.upstream.expect()
    third_exchange = browsers[2].request("GET", PODS, pairing.me.fields)
    third = pairing.upstream.expect()
    if first.method == b"POST":
        first, second = second, first
    covered = max((first, second), key=lambda request: _h2(request).stream)
    first.respond(200, JSON)
    first.send(b"event one\n")
    assert watch.read_some() == b"event one\n"

    connection = first.connection
    assert isinstance(connection, H2Connection)
    connection.goaway(_h2(covered))

    assert third_exchange.read_head()[0] == 502
    assert third_exchange.all("krm-foyer-interruption") == [b"UpstreamUnavailable"]
    third_exchange.read_until_end()
    upload.send_body(b"{}")
    upload.end()
    assert second.read_until_end() == b"{}"
    second.answer(201, JSON, b"{}")
    assert upload.read_until_end() == Whole(b"{}")

    newcomer = browsers[2].request("GET", "/k8s/api", pairing.me.fields)
    new_request = pairing.upstream.expect()
    assert new_request.target == b"/api"
    assert new_request.connection is not third.connection
    new_request.answer(200, JSON, b"{}")
    assert newcomer.read_until_end() == Whole(b"{}")

    first.send(b"event two\n")
    assert watch.read_exactly(10) == b"event two\n"
    first.end()
    assert watch.read_until_end() == Whole(b"event one\nevent two\n")
    connection.expect_closed()


def _h2(request: object) -> H2Request:
    assert isinstance(request, H2Request)
    return request


def test_a_goaway_on_an_idle_connection_makes_the_next_request_use_another(pairing: Pairing) -> None:
    if pairing.upstream_version == "h1":
        pytest.skip("GOAWAY is HTTP/2's")
    exchange = pairing.get(PODS)
    request = _h2(pairing.upstream.expect())
    request.answer(200, JSON, b"{}")
    exchange.read_until_end()
    request.connection.goaway(request)
    request.connection.expect_closed()
    again = pairing.get(PODS)
    after = pairing.upstream.expect()
    assert after.connection is not request.connection
    after.answer(200, JSON, b"{}")
    assert again.read_until_end() == Whole(b"{}")


# A23

UPGRADES: list[Fields] = [
    [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket"), (b"Sec-WebSocket-Version", b"13")],
    [(b"Connection", b"Upgrade, HTTP2-Settings"), (b"Upgrade", b"h2c"), (b"HTTP2-Settings", b"AAMAAABk")],
    [(b"Connection", b"Upgrade"), (b"Upgrade", b"SPDY/3.1")],
    [(b"Upgrade", b"anything")],
]


@pytest.mark.parametrize("path", ["/k8s/api/v1/pods", "/healthz", "/nothing"])
@pytest.mark.parametrize("fields", UPGRADES, ids=str)
def test_an_upgrade_is_refused_on_any_path_and_opens_nothing(
    pairing: Pairing, fields: Fields, path: str
) -> None:
    if not isinstance(pairing.browser, H1Browser):
        pytest.skip("RFC 9113 section 8.6: HTTP/2 has no Upgrade")
    exchange = pairing.get(path, fields)
    assert exchange.read_head()[0] == 501
    assert exchange.all("krm-foyer-interruption") == [b"UnsupportedProtocol"]
    exchange.read_until_end()
    pairing.upstream.expect_nothing()
    assert_the_connection_is_no_pipe(pairing, pairing.browser)


@pytest.mark.parametrize("target", [b"example.test:443", b"/k8s/api", b"127.0.0.1:6443"])
def test_connect_is_refused_and_opens_nothing(pairing: Pairing, target: bytes) -> None:
    browser = pairing.browser
    exchange: Exchange
    if isinstance(browser, H2Browser):
        fields = [(b":method", b"CONNECT"), (b":authority", target), *pairing.me.fields]
        exchange = browser.open([(name.lower(), value) for name, value in fields], end=False)
    else:
        exchange = browser.request("CONNECT", target, pairing.me.fields)
    assert exchange.read_head()[0] == 501
    assert exchange.all("krm-foyer-interruption") == [b"UnsupportedProtocol"]
    exchange.read_until_end()
    pairing.upstream.expect_nothing()
    if isinstance(browser, H1Browser):
        assert_the_connection_is_no_pipe(pairing, browser)


def test_an_extended_connect_is_refused_and_opens_nothing(pairing: Pairing) -> None:
    browser = pairing.browser
    if not isinstance(browser, H2Browser):
        pytest.skip("RFC 8441 is HTTP/2's")
    fields: Fields = [
        (b":method", b"CONNECT"),
        (b":protocol", b"websocket"),
        (b":scheme", b"https"),
        (b":authority", ORIGIN_HOST.encode()),
        (b":path", b"/k8s/api/v1/namespaces/n/pods/p/exec"),
        *[(name.lower(), value) for name, value in pairing.me.fields],
    ]
    exchange = browser.open(fields, end=False)
    exchange.read_until_end()
    assert exchange.status in (0, 501)
    pairing.upstream.expect_nothing()


def assert_the_connection_is_no_pipe(pairing: Pairing, browser: H1Browser) -> None:
    """What follows a refusal is an ordinary request, judged like any, or the connection is closed."""
    pairing.script.turn()
    if browser.closed is not None:
        return
    after = browser.expect_answer("GET")
    browser.send_raw(head(b"GET /k8s/api HTTP/1.1", [(b"Host", ORIGIN_HOST.encode())]))
    pairing.script.until(lambda: bool(after.status or browser.closed), "an answer or the close")
    assert after.status in (0, 401)
    pairing.upstream.expect_nothing()


# HTTP/1.0, which has no chunks: content of unknown length ends with the connection.


def asked_by_http_1_0(pairing: Pairing) -> tuple[Exchange, Request]:
    if not isinstance(pairing.browser, H1Browser):
        pytest.skip("HTTP/1.0 is an older HTTP/1.1")
    exchange = pairing.browser.expect_answer()
    fields = [(b"Host", ORIGIN_HOST.encode()), *pairing.me.fields]
    pairing.browser.send_raw(head(b"GET /k8s/api HTTP/1.0", fields))
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    request.send(b"{")
    return exchange, request


def test_a_browser_of_http_1_0_gets_no_chunks(pairing: Pairing) -> None:
    exchange, request = asked_by_http_1_0(pairing)
    request.send(b"}")
    request.end()
    assert exchange.read_until_end() == Whole(b"{}")
    assert exchange.all("transfer-encoding") == []


def test_a_response_cut_for_a_browser_of_http_1_0_has_no_clean_close(pairing: Pairing) -> None:
    exchange, request = asked_by_http_1_0(pairing)
    assert exchange.read_exactly(1) == b"{"
    request.reset()
    assert exchange.read_until_end() == Aborted(b"{", How.WITHOUT_CLOSE_NOTIFY)

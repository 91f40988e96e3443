"""Spec 03, Transport: a part never passes for the whole, and giving up reaches the other side.

A4 and A5 of every proxy's history: an upstream that fails half-way must not become a clean 200
with half a body, and no error text may be glued to what has been delivered.
"""

import json
import socket
from collections.abc import Callable

import pytest

from tests.support.browsers import Exchange
from tests.support.certs import server_context, stranger
from tests.support.pairings import JSON, Pairing
from tests.support.script import Aborted, Fields
from tests.support.upstreams import H1Request, H1Upstream, H2Connection, H2Request, Request

PODS = "/k8s/api/v1/namespaces/n/pods"
LONG: Fields = [*JSON, (b"content-length", b"1000")]

Failing = Callable[[Request], None]


def ended_early(request: Request) -> None:
    """END_STREAM short of the length, which HTTP/1.1 can only say by closing."""
    if isinstance(request, H2Request):
        request.connection.h2.end_stream(request.stream)
        request.connection.flush()
    else:
        request.close()


def sent_bad_chunk(request: Request) -> None:
    """Something that is not the protocol."""
    if isinstance(request, H1Request):
        request.send_raw(b"xyz\r\n\r\n")
    elif isinstance(request.connection, H2Connection):
        # DATA on stream 0 is a connection error (RFC 9113 section 6.1).
        request.connection.send_frames(b"\0\0\x01\0\0\0\0\0\0x")


def timed_out(request: Request) -> None:
    """The connection is gone without a TLS goodbye."""
    request.connection.wire.cut()


FAILURES: dict[str, Failing] = {
    "reset": lambda request: request.reset(),
    "connection reset": lambda request: request.drop(),
    "connection closed": lambda request: request.close(),
    "closed without close_notify": timed_out,
    "protocol error": sent_bad_chunk,
}


def begun(pairing: Pairing, fields: Fields = JSON, content: bytes = b"") -> tuple[Exchange, Request]:
    """A response that has passed as far as `content`."""
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.respond(200, fields)
    assert exchange.read_head()[0] == 200
    if content:
        request.send(content)
        assert exchange.read_exactly(len(content)) == content
    return exchange, request


def assert_cut(exchange: Exchange, content: bytes) -> None:
    """The browser has exactly `content`, then an abort in the form that the spec gives it."""
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted), "a part passed for the whole"
    assert outcome.content == content
    assert outcome.cut_short, str(outcome)


# -- trouble upstream after the head


@pytest.mark.parametrize("fields", [JSON, LONG], ids=["streamed", "of known length"])
@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_a_failure_after_the_head_is_an_abort_after_what_had_arrived(
    pairing: Pairing, fields: Fields, fail: Failing
) -> None:
    if fail is sent_bad_chunk and fields is LONG and pairing.upstream_version == "h1":
        pytest.skip("RFC 9112 section 6.3: within a length any byte is content")
    exchange, request = begun(pairing, fields, b'{"items":[')
    fail(request)
    assert_cut(exchange, b'{"items":[')
    assert [line["cause"] for line in pairing.logged("response cut short")] == ["upstream"]


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_what_came_with_the_failure_is_delivered_before_the_abort(pairing: Pairing, fail: Failing) -> None:
    if fail is FAILURES["connection reset"]:
        pytest.skip("RFC 9293 section 3.10.7: a TCP reset may drop what was sent before it")
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    request.send(b'{"items":[')
    if fail is FAILURES["reset"] and pairing.upstream_version == "h1":
        pytest.skip("RFC 9293 section 3.10.7: a TCP reset may drop what was sent before it")
    fail(request)
    assert exchange.read_head()[0] == 200
    assert_cut(exchange, b'{"items":[')


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_a_failure_right_after_the_head_is_an_abort_after_nothing(pairing: Pairing, fail: Failing) -> None:
    exchange, request = begun(pairing)
    fail(request)
    assert_cut(exchange, b"")


def test_an_end_short_of_the_length_is_an_abort(pairing: Pairing) -> None:
    exchange, request = begun(pairing, LONG, b'{"items":[')
    ended_early(request)
    assert_cut(exchange, b'{"items":[')


def test_content_beyond_the_length_never_passes_for_whole(pairing: Pairing) -> None:
    """RFC 9113 section 8.1.1. Over HTTP/1.1 the length's last octet would be the response's end."""
    if pairing.upstream_version == "h1":
        pytest.skip("what follows the content of HTTP/1.1 is the next response")
    exchange, request = begun(pairing, [*JSON, (b"content-length", b"4")])
    request.send(b"abcd")
    request.send(b"efgh")
    request.end()
    assert_cut(exchange, b"abcd" if pairing.browser_version == "h2" else b"abc")


def test_every_stream_of_a_lost_connection_is_aborted(pairing: Pairing) -> None:
    if pairing.browser_version == "h1" or pairing.upstream_version == "h1":
        pytest.skip("several exchanges share a connection on HTTP/2 alone")
    exchanges = [pairing.get(PODS) for _ in range(5)]
    requests = [pairing.upstream.expect() for _ in range(5)]
    assert len({id(request.connection) for request in requests}) == 1
    for request in requests:
        request.respond(200, JSON)
        request.send(b"[")
    for exchange in exchanges:
        assert exchange.read_exactly(1) == b"["
    requests[0].drop()
    for exchange in exchanges:
        assert_cut(exchange, b"[")


def test_one_reset_stream_leaves_its_neighbours_alone(pairing: Pairing) -> None:
    first, second = pairing.connect(), pairing.connect()
    failing = first.request("GET", PODS, pairing.me.fields)
    failing_request = pairing.upstream.expect()
    going = second.request("GET", PODS, pairing.me.fields)
    going_request = pairing.upstream.expect()
    for exchange, request in ((failing, failing_request), (going, going_request)):
        request.respond(200, JSON)
        request.send(b"[")
        assert exchange.read_exactly(1) == b"["
    failing_request.reset()
    assert_cut(failing, b"[")
    going_request.send(b"]")
    going_request.end()
    assert going.read_until_end().content == b"[]"


# -- trouble upstream before the head


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_a_failure_before_the_head_is_upstream_unavailable_and_nothing_is_sent_twice(
    pairing: Pairing, fail: Failing
) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    fail(request)
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamUnavailable"]
    assert json.loads(exchange.read_until_end().content)["reason"] == "UpstreamUnavailable"
    pairing.upstream.expect_nothing()
    assert pairing.logged("interruption")[0]["reason"] == "UpstreamUnavailable"


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
def test_a_change_that_failed_before_the_head_is_sent_once(pairing: Pairing, fail: Failing) -> None:  # A21
    exchange = pairing.post(PODS, body=b'{"kind":"Pod"}')
    request = pairing.upstream.expect()
    assert request.read_until_end() == b'{"kind":"Pod"}'
    fail(request)
    assert exchange.read_head()[0] == 502
    exchange.read_until_end()
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("order", ["closed before", "closed behind"])
def test_a_pooled_connection_that_dies_as_a_change_goes_out_sends_it_at_most_once(
    pairing: Pairing, order: str
) -> None:  # A21
    for _ in range(20):
        get = pairing.get(PODS)
        request = pairing.upstream.expect()
        request.answer(200, JSON, b"{}")
        get.read_until_end()
        # A browser of its own: an answer before the content was read ends a connection of HTTP/1.1.
        browser = pairing.connect()
        if order == "closed before":
            request.close()
        change = browser.request("POST", PODS, pairing.me.change, b"{}")
        if order == "closed behind":
            request.close()
        assert sent_and_answered(pairing, change) in ((1, 201), (1, 502), (0, 502))
        browser.close()


def sent_and_answered(pairing: Pairing, change: Exchange) -> tuple[int, int]:
    """How often a change reached the upstream, which answers it if it can, and what the browser was told."""
    arrived = pairing.upstream.arrived
    pairing.script.until(lambda: bool(arrived or change.status), "the change to be sent or refused")
    sent = len(arrived)
    while arrived:
        request = arrived.popleft()
        if not request.connection.wire.finishing:
            request.answer(201, JSON, b"{}")
    status, _ = change.read_head()
    change.read_until_end()
    while pairing.script.turn():
        pass
    sent += len(arrived)
    arrived.clear()
    return sent, status


def test_a_reset_of_refused_stream_is_not_sent_again(pairing: Pairing) -> None:
    if pairing.upstream_version == "h1":
        pytest.skip("REFUSED_STREAM is HTTP/2's")
    exchange = pairing.get(PODS)
    pairing.upstream.expect().reset(7)
    assert exchange.read_head()[0] == 502
    exchange.read_until_end()
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n folded: yes\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
        b"\x15\x03\x03\x00\x02\x02\x28\r\n\r\n",
    ],
)
def test_a_head_that_is_not_http_is_upstream_unavailable(pairing: Pairing, answer: bytes) -> None:
    if not isinstance(pairing.upstream, H1Upstream):
        pytest.skip("these are HTTP/1.1's bytes")
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    assert isinstance(request, H1Request)
    request.send_raw(answer)
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamUnavailable"]
    exchange.read_until_end()
    request.connection.expect_closed()


def test_an_answer_nobody_asked_for_is_nobodys(pairing: Pairing) -> None:
    """Bytes behind an answer, on a connection about to be pooled, are not the next person's."""
    if not isinstance(pairing.upstream, H1Upstream):
        pytest.skip("HTTP/2's answers are numbered")
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    assert isinstance(request, H1Request)
    poison = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 6\r\n\r\npoison"
    request.send_raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" + poison
    )
    assert exchange.read_until_end().content == b"{}"
    request.connection.expect_closed()
    again = pairing.get(PODS)
    next_request = pairing.upstream.expect()
    assert next_request.connection is not request.connection
    next_request.answer(200, JSON, b"own")
    assert again.read_until_end().content == b"own"


# -- the browser gives up


def test_a_browser_that_gives_up_is_cancelled_upstream(pairing: Pairing) -> None:
    exchange, request = begun(pairing, JSON, b"[")
    exchange.reset()
    request.expect_cancelled()


def test_a_browser_that_gives_up_before_the_head_is_cancelled_upstream(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    exchange.reset()
    request.expect_cancelled()


def test_a_browser_that_closes_its_connection_is_cancelled_upstream(pairing: Pairing) -> None:
    _, request = begun(pairing, JSON, b"[")
    pairing.browser.wire.finish()
    request.expect_cancelled()


def test_a_browser_that_is_gone_without_reading_is_cancelled_upstream(pairing: Pairing) -> None:
    _, request = begun(pairing)
    pairing.browser.stop_reading()
    request.send(bytes(20_000_000))
    pairing.script.until_still()
    pairing.browser.drop()
    request.expect_cancelled()


def test_giving_one_stream_up_leaves_its_neighbours_alone(pairing: Pairing) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("an HTTP/1.1 browser gives up its whole connection")
    gone, request = begun(pairing, JSON, b"[")
    staying, staying_request = begun(pairing, JSON, b"[")
    gone.reset()
    request.expect_cancelled()
    staying_request.send(b"]")
    staying_request.end()
    assert staying.read_until_end().content == b"[]"


def test_many_given_up_streams_leave_the_upstream_window_whole(pairing: Pairing) -> None:
    """Bytes that arrive on a cancelled stream are acknowledged, or the connection's window leaks."""
    if pairing.browser_version == "h1" or pairing.upstream_version == "h1":
        pytest.skip("one connection for many exchanges is HTTP/2's")
    for _ in range(30):
        exchange, request = begun(pairing)
        request.send(bytes(30_000))
        exchange.read_some()
        exchange.reset()
        request.expect_cancelled()
    exchange, request = begun(pairing)
    request.send(bytes(2_000_000))
    request.end()
    assert len(exchange.read_until_end().content) == 2_000_000


# -- an upstream that cannot be reached


def test_an_upstream_that_does_not_listen_is_unavailable(pairing: Pairing) -> None:
    """Where the pinned port refuses connections, the answer is at once and says so."""
    pairing.upstream.retire()
    with pairing.upstream.not_listening():
        exchange = pairing.get(PODS)
        assert exchange.read_head()[0] == 502
        assert exchange.all("krm-foyer-interruption") == [b"UpstreamUnavailable"]
        exchange.read_until_end()
    assert pairing.logged("interruption")[0]["failure"] == "connection"


def test_an_upstream_of_another_authority_is_never_trusted(pairing: Pairing) -> None:
    pairing.upstream.retire()
    with pairing.upstream.certified(server_context(pairing.upstream.alpn, ca=stranger())):
        exchange = pairing.get(PODS)
        assert exchange.read_head()[0] == 502
        exchange.read_until_end()
        pairing.upstream.expect_nothing()
    assert pairing.logged("interruption")[0]["failure"] == "tls"


def test_an_upstream_of_another_name_is_never_trusted(pairing: Pairing) -> None:
    pairing.upstream.retire()
    with pairing.upstream.certified(server_context(pairing.upstream.alpn, "10.9.8.7")):
        exchange = pairing.get(PODS)
        assert exchange.read_head()[0] == 502
        exchange.read_until_end()
        pairing.upstream.expect_nothing()
    assert pairing.logged("interruption")[0]["failure"] == "tls"


def test_the_environments_proxy_is_not_asked(pairing: Pairing, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, url)
        exchange = pairing.get(PODS)
        pairing.upstream.expect().answer(200, JSON, b"{}")
        assert exchange.read_until_end().content == b"{}"
        with pytest.raises(BlockingIOError):
            proxy.accept()

"""The scripted peers against each other, so that a failing pairing means the product."""

from collections.abc import Iterator

import pytest

from tests.support.browsers import BROWSERS, H1Browser, H2Browser
from tests.support.certs import ORIGIN_HOST, server_context
from tests.support.kernel import in_flight
from tests.support.script import Aborted, How, OverdueError, Script, Whole
from tests.support.upstreams import UPSTREAMS, H1Request, H1Upstream, H2Upstream
from tests.support.wire import End

Peers = tuple[H1Browser | H2Browser, H1Upstream | H2Upstream]


@pytest.fixture(params=["h1", "h2"])
def peers(request: pytest.FixtureRequest) -> Iterator[Peers]:
    script = Script()
    kind = UPSTREAMS[request.param]
    upstream = kind(script, tls=server_context(kind.alpn, ORIGIN_HOST))
    browser = BROWSERS[request.param](script, upstream.port)
    yield browser, upstream
    browser.close()
    upstream.close()


def test_a_request_and_its_answer_arrive_whole(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("POST", "/a?b=%2F", [(b"accept", b"x/y")], b"hello")
    request = upstream.expect()
    assert (request.method, request.target) == (b"POST", b"/a?b=%2F")
    assert request.all("accept") == [b"x/y"]
    assert request.read_until_end() == b"hello"
    request.answer(201, [(b"content-type", b"text/plain")], b"made")
    assert exchange.read_head()[0] == 201
    assert exchange.all("content-type") == [b"text/plain"]
    assert exchange.read_until_end() == Whole(b"made")


def test_content_streams_both_ways(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("POST", "/", end=False)
    request = upstream.expect()
    exchange.send_body(b"one")
    assert request.read_some() == b"one"
    request.respond(200)
    request.send(b"uno")
    assert exchange.read_some() == b"uno"
    exchange.send_body(b"two")
    assert request.read_some() == b"two"
    exchange.end()
    assert request.read_until_end() == b"onetwo"
    request.end()
    assert exchange.read_until_end() == Whole(b"uno")


def test_informational_heads_and_trailers_are_seen(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    request.inform(103)
    request.respond(200)
    request.send(b"x")
    request.end([(b"x-trailer", b"1")])
    assert exchange.read_until_end() == Whole(b"x")
    assert exchange.informational == [103]
    assert exchange.trailers == [(b"x-trailer", b"1")]


def test_a_whole_answer_that_came_with_the_close_is_whole(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    request.answer(200, [], b"all of it")
    request.close()
    assert exchange.read_until_end() == Whole(b"all of it")
    assert browser.read_connection_end() is End.CLOSED


def test_a_close_within_the_answer_is_an_abort_after_what_came(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    request.respond(200)
    request.send(b"part")
    request.close()
    how = How.BEFORE_LAST_CHUNK if browser.version == "h1" else How.CONNECTION_CLOSED
    assert exchange.read_until_end() == Aborted(b"part", how)


def test_an_answer_short_of_its_length_is_an_abort(peers: Peers) -> None:
    browser, upstream = peers
    if isinstance(upstream, H2Upstream):
        pytest.skip("RFC 9113 section 8.1.1: the h2 library refuses to read it at all")
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    request.respond(200, [(b"content-length", b"9")])
    request.send(b"part")
    request.close()
    outcome = exchange.read_until_end()
    assert outcome == Aborted(b"part", How.SHORT_OF_LENGTH)
    assert isinstance(outcome, Aborted)
    assert outcome.cut_short


def test_a_reset_within_the_answer_is_an_abort(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    request.respond(200)
    request.send(b"part")
    assert exchange.read_some() == b"part"
    request.reset()
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert (outcome.cut_short, outcome.content) == (True, b"part")


def test_an_answer_delimited_by_the_close_is_whole_only_with_close_notify(peers: Peers) -> None:
    browser, upstream = peers
    if isinstance(upstream, H2Upstream):
        pytest.skip("HTTP/2 content has END_STREAM")
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    request.respond(200, until_close=True)
    request.send(b"log line")
    assert exchange.read_some() == b"log line"
    request.connection.wire.cut()
    assert exchange.read_until_end() == Aborted(b"log line", How.WITHOUT_CLOSE_NOTIFY)


def test_a_browser_that_gives_up_is_seen_upstream(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    exchange.reset()
    request.expect_cancelled()


def test_a_browser_that_closes_is_seen_upstream(peers: Peers) -> None:
    browser, upstream = peers
    browser.request("GET", "/")
    request = upstream.expect()
    browser.close()
    request.expect_cancelled()


def test_an_unanswered_request_is_overdue() -> None:
    script = Script()
    upstream = H1Upstream(script)
    with pytest.raises(OverdueError):
        upstream.expect(seconds=0.01)
    upstream.close()


def test_a_reader_that_stops_stops_the_writer(peers: Peers) -> None:
    browser, upstream = peers
    exchange = browser.request("GET", "/")
    request = upstream.expect()
    request.respond(200)
    assert exchange.read_head()[0] == 200
    browser.stop_reading()
    request.send(bytes(40_000_000))
    upstream.script.until_still()
    assert request.unsent > 1_000_000
    browser.go_on_reading()
    request.end()
    assert exchange.read_until_end() == Whole(bytes(40_000_000))


def test_what_the_kernel_holds_is_seen(peers: Peers) -> None:
    browser, upstream = peers
    request_bytes = 200_000
    exchange = browser.request("POST", "/", end=False)
    request = upstream.expect()
    request.connection.wire.reading = False
    if isinstance(request, H1Request):
        exchange.send_body(bytes(request_bytes))
        upstream.script.until_still()
        assert in_flight(browser.wire.socket, towards_peer=True) == pytest.approx(request_bytes, rel=0.05)
    request.connection.wire.reading = True
    upstream.script.until_still()
    assert in_flight(browser.wire.socket, towards_peer=True) == 0


def test_pipelined_answers_belong_to_their_requests() -> None:
    script = Script()
    upstream = H1Upstream(script, tls=server_context("http/1.1", ORIGIN_HOST))
    browser = H1Browser(script, upstream.port)
    exchanges = [browser.request(method, b"/%d" % n) for n, method in enumerate(("GET", "HEAD", "GET"))]
    for n in range(3):
        request = upstream.expect()
        assert request.target == b"/%d" % n
        request.answer(200, [], b"answer %d" % n)
    contents = [exchange.read_until_end() for exchange in exchanges]
    assert contents == [Whole(b"answer 0"), Whole(b""), Whole(b"answer 2")]
    browser.close()
    upstream.close()

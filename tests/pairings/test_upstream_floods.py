"""An API server that floods: its own responses abort, and nobody else takes notice (spec 03, Transport)."""

from collections.abc import Callable

import pytest

from foyer.protocol.floods import MAX_INFORMATIONAL, Flood
from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Pairing
from tests.support.raw_frames import Kind, data, frame, headers, reset, settings, window_update
from tests.support.script import Aborted, Whole
from tests.support.upstreams import H1Request, H2Connection, H2Request, Request

PODS = "/k8s/api/v1/pods"
WATCH = PODS + "?watch=1"

FLOODS: dict[str, tuple[Flood, Callable[[int], bytes]]] = {
    "SETTINGS": (Flood.SETTINGS, lambda stream: settings() * 5_000),
    "PING": (Flood.PING, lambda stream: frame(Kind.PING, 0, bytes(8)) * 5_000),
    "PRIORITY": (Flood.PRIORITY, lambda stream: frame(Kind.PRIORITY, stream, bytes(4) + b"\x0f") * 5_000),
    "unknown frames": (Flood.USELESS, lambda stream: frame(0xBE, 0) * 5_000),
    "windows opened by one": (Flood.WINDOWS, lambda stream: window_update(0, 1) * 9_000),
    "empty content": (Flood.EMPTY, lambda stream: data(stream, b"") * 5_000),
    "padding alone": (Flood.EMPTY, lambda stream: data(stream, b"", padding=200) * 2_000),
    "resets again and again": (Flood.LATE, lambda stream: reset(stream) * 5_000),
    "content behind a reset": (Flood.LATE, lambda stream: reset(stream) + data(stream, b"x") * 5_000),
}


def begun(pairing: Pairing, content: bytes = b"[") -> tuple[Exchange, Request]:
    """A watch that has passed as far as `content`."""
    exchange = pairing.get(WATCH)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    request.send(content)
    assert exchange.read_exactly(len(content)) == content
    return exchange, request


def over_http2(request: Request) -> tuple[H2Connection, int]:
    if not isinstance(request, H2Request):
        pytest.skip("RFC 9113: HTTP/1.1 has no frames")
    return request.connection, request.stream


def assert_another_is_served(pairing: Pairing, *, than: Request) -> None:
    exchange = pairing.connect().request("GET", PODS, pairing.me.fields)
    request = pairing.upstream.expect()
    assert request.connection is not than.connection
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_aborts_its_responses_and_another_connection_serves(pairing: Pairing, name: str) -> None:
    flood, wire = FLOODS[name]
    exchange, request = begun(pairing)
    connection, stream = over_http2(request)
    connection.send_frames(wire(stream))
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted) and outcome.cut_short
    assert outcome.content == b"["
    (line,) = pairing.logged("flood")
    assert (line["level"], line["kind"], line["side"]) == ("warn", flood.word, "upstream")
    (cut,) = pairing.logged("response cut short")
    # Who was reset first was so before it was a flood.
    assert (cut["cause"], cut["failure"]) == ("upstream", "reset" if flood is Flood.LATE else "protocol")
    assert_another_is_served(pairing, than=request)


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_before_the_head_is_upstream_unavailable_and_nothing_is_sent_twice(
    pairing: Pairing, name: str
) -> None:
    _, wire = FLOODS[name]
    if "content" in name or "padding" in name:
        pytest.skip("RFC 9113 section 8.1: content before a head is no HTTP/2")
    exchange = pairing.post(PODS, body=b"{}")
    request = pairing.upstream.expect()
    request.read_until_end()
    connection, stream = over_http2(request)
    connection.send_frames(wire(stream))
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamUnavailable"]
    exchange.read_until_end()
    pairing.logged("flood")
    pairing.upstream.expect_nothing()


def test_1xx_heads_without_end_are_upstream_unavailable(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    if isinstance(request, H1Request):
        request.send_raw(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 5_000)
    else:
        connection, stream = over_http2(request)
        connection.send_frames(headers(stream, [(b":status", b"103"), (b"link", b"</a>")], end=False) * 500)
    assert exchange.read_head()[0] == 502
    exchange.read_until_end()
    assert exchange.informational == []
    assert pairing.logged("interruption")[0]["failure"] == "protocol"


def test_1xx_heads_up_to_their_end_are_passed_over(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    for _ in range(MAX_INFORMATIONAL):
        request.inform(102)
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    assert exchange.informational == []


@pytest.mark.parametrize("size", [1, 60])
def test_a_watch_of_many_small_pieces_is_none(pairing: Pairing, size: int) -> None:
    exchange, request = begun(pairing)
    piece = b"x" * size
    if isinstance(request, H2Request):
        for _ in range(20):
            request.connection.send_frames(data(request.stream, piece) * 1_000)
            assert exchange.read_exactly(size * 1_000) == piece * 1_000
        request.connection.send_frames(data(request.stream, b"", end=True))
    elif isinstance(request, H1Request):
        for _ in range(20):
            request.send_raw((b"%x\r\n%b\r\n" % (size, piece)) * 1_000)
            assert exchange.read_exactly(size * 1_000) == piece * 1_000
        request.send_raw(b"0\r\n\r\n")
    assert exchange.read_until_end() == Whole(b"[" + piece * 20_000)


@pytest.mark.parametrize("how", ["closed", "closed without close_notify"])
def test_a_whole_response_of_many_pieces_is_whole_however_soon_its_connection_ends(
    pairing: Pairing, how: str
) -> None:
    """In one write with its end: what comes after the turn's work must not be overtaken by the close."""
    exchange, request = begun(pairing)
    if isinstance(request, H2Request):
        pieces = data(request.stream, b"x") * 3_000 + data(request.stream, b"]", end=True)
        request.connection.send_frames(pieces)
    elif isinstance(request, H1Request):
        request.send_raw(b"1\r\nx\r\n" * 3_000 + b"1\r\n]\r\n0\r\n\r\n")
    request.connection.wire.finish() if how == "closed" else request.connection.wire.cut()
    assert exchange.read_until_end() == Whole(b"[" + b"x" * 3_000 + b"]")


def test_another_connection_serves_while_one_sends_crumbs(pairing: Pairing) -> None:
    """On HTTP/1.1 each has its own; on HTTP/2 the crumbs' has no place left."""
    exchange, request = begun(pairing)
    if isinstance(request, H2Request):
        request.connection.send_frames(settings({3: 1}))
        crumbs = data(request.stream, b"x") * 9_000
        request.connection.send_frames(crumbs)
    elif isinstance(request, H1Request):
        request.send_raw(b"1\r\nx\r\n" * 9_000)
    assert_another_is_served(pairing, than=request)
    assert exchange.read_exactly(9_000) == b"x" * 9_000


def test_what_comes_late_on_a_stream_given_up_leaves_its_neighbours_alone(pairing: Pairing) -> None:
    gone, gone_request = begun(pairing)
    connection, stream = over_http2(gone_request)
    staying = pairing.connect().request("GET", WATCH, pairing.me.fields)
    staying_request = pairing.upstream.expect()
    assert staying_request.connection is connection
    staying_request.respond(200, JSON)
    gone.reset()
    gone_request.expect_cancelled()
    late = headers(stream, [(b":status", b"102")], end=False) + data(stream, b"event\n") * 5_000
    connection.send_frames(late + reset(stream))
    staying_request.send(b"[]")
    staying_request.end()
    assert staying.read_until_end() == Whole(b"[]")
    assert not [line for line in pairing.log if line["msg"] == "flood"]

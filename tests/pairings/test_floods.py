"""Floods over sockets: ended, said once, and nobody else's trouble (A15, A16; spec 03, HTTP/2 defences)."""

import socket
from collections.abc import Iterator

import hpack
import pytest
from h2.errors import ErrorCodes

from foyer.protocol.floods import Flood
from tests.support.browsers import H1Browser
from tests.support.certs import ORIGIN_HOST, browser_context
from tests.support.kernel import in_flight
from tests.support.pairings import JSON, Pairing
from tests.support.raw_frames import (
    END_HEADERS,
    END_STREAM,
    PREFACE,
    Kind,
    block,
    data,
    frame,
    frames,
    headers,
    reset,
    settings,
    window_update,
)
from tests.support.script import Fields, Whole
from tests.support.wire import End, Wire

PODS = b"/k8s/api/v1/pods"

FIELDS: Fields = [
    (b":method", b"GET"),
    (b":scheme", b"https"),
    (b":authority", ORIGIN_HOST.encode()),
    (b":path", PODS),
]

MiB = 1024 * 1024


class Flooding:
    """A connection that says what it is told, and reads frames without a thought."""

    def __init__(self, pairing: Pairing) -> None:
        self.seen: list[bytes] = []
        self._pairing = pairing
        self._open = True
        connection = socket.create_connection(("127.0.0.1", pairing.product.port))
        tls = browser_context("h2")
        self._wire = Wire(
            pairing.script, connection, self.seen.append, self._ended, tls=tls, hostname=ORIGIN_HOST
        )
        self.send(PREFACE + settings())

    def _ended(self, end: End) -> None:
        self._open = False

    def send(self, wire: bytes) -> None:
        self._wire.send(wire)

    def close(self) -> None:
        self._wire.close()

    def assert_ended(self, flood: Flood) -> None:
        """By GOAWAY ENHANCE_YOUR_CALM, and one line that says which it was and nothing else."""
        self._pairing.script.until(lambda: not self._open, "the connection's end")
        last = list(frames(b"".join(self.seen)))[-1]
        assert (last.kind, last.code) == (Kind.GOAWAY, ErrorCodes.ENHANCE_YOUR_CALM)
        (line,) = self._pairing.logged("flood")
        assert {key for key in line if key != "time"} == {"level", "msg", "kind", "side"}
        assert (line["level"], line["kind"], line["side"]) == ("warn", flood.word, "browser")


@pytest.fixture
def flooding(pairing: Pairing) -> Iterator[Flooding]:
    if pairing.browser_version == "h1":
        pytest.skip("RFC 9113: HTTP/1.1 has no frames")
    flooding = Flooding(pairing)
    yield flooding
    flooding.close()
    pairing.leaks.saw("what a flood received", b"".join(flooding.seen))


def assert_another_is_served(pairing: Pairing) -> None:
    """A second browser's request goes up and is answered."""
    other = pairing.connect().request("GET", PODS, pairing.me.fields)
    request = pairing.upstream.expect()
    while request.target != PODS.removeprefix(b"/k8s") or request.ended is False:
        request = pairing.upstream.expect()
    request.answer(200, JSON, b"{}")
    assert other.read_until_end() == Whole(b"{}")


# A15.


@pytest.mark.parametrize("signed_in", [True, False], ids=["a session", "no session"])
def test_rapid_reset_reaches_hardly_anyone(flooding: Flooding, pairing: Pairing, signed_in: bool) -> None:
    """5,000 pairs in one write. Those whose reset came in another TLS record may have gone up."""
    mine = [(name.lower(), value) for name, value in pairing.me.fields] if signed_in else []
    pair_head = block([*FIELDS, *mine])
    flooding.send(
        b"".join(
            frame(Kind.HEADERS, stream, pair_head, flags=END_HEADERS | END_STREAM) + reset(stream)
            for stream in range(1, 10_001, 2)
        )
    )
    flooding.assert_ended(Flood.RESETS)
    pairing.script.until(lambda: pairing.product.open_exchanges == 0, "every exchange to be over")
    pairing.script.until_still()
    assert len(pairing.upstream.arrived) <= 32
    pairing.upstream.arrived.clear()
    assert_another_is_served(pairing)


# A16.


def test_header_bombs_take_no_memory(flooding: Flooding, pairing: Pairing) -> None:
    """One field of 4 KiB, referenced 4,000 times."""
    encoder = hpack.Encoder()
    encoder.encode([(b"x-a", b"b" * 3_900)])
    bomb = block(FIELDS) + encoder.encode([(b"x-a", b"b" * 3_900)]) * 4_000
    literal = block(FIELDS) + hpack.Encoder().encode([(b"x-a", b"b" * 3_900)], huffman=False)
    before = pairing.product.memory()
    flooding.send(
        frame(Kind.HEADERS, 1, literal, flags=END_HEADERS | END_STREAM)
        + frame(Kind.HEADERS, 3, bomb, flags=END_HEADERS | END_STREAM)
    )
    flooding.assert_ended(Flood.HEADERS)
    assert pairing.product.memory() - before < 4 * MiB


def test_continuations_without_end_are_ended(flooding: Flooding) -> None:
    flooding.send(frame(Kind.HEADERS, 1, block(FIELDS)) + frame(Kind.CONTINUATION, 1) * 10_000)
    flooding.assert_ended(Flood.CONTINUATION)


def test_twenty_thousand_empty_fields_are_ended(flooding: Flooding) -> None:
    pieces = [b"\x10\0\0" * 5_000] * 4
    flooding.send(frame(Kind.HEADERS, 1, block(FIELDS), flags=END_STREAM))
    for number, piece in enumerate(pieces, 1):
        flooding.send(frame(Kind.CONTINUATION, 1, piece, flags=END_HEADERS * (number == len(pieces))))
    flooding.assert_ended(Flood.HEADERS)


def test_as_many_empty_fields_as_one_frame_holds_are_ended(flooding: Flooding) -> None:
    flooding.send(frame(Kind.HEADERS, 1, block(FIELDS) + b"\x10\0\0" * 4_000, flags=END_HEADERS | END_STREAM))
    flooding.assert_ended(Flood.HEADERS)


# The others of HTTP/2.

UPLOAD = headers(1, [(b":method", b"POST"), *FIELDS[1:]], end=False)

FLOODS: dict[str, tuple[Flood, bytes]] = {
    "SETTINGS": (Flood.SETTINGS, settings() * 5_000),
    "PING": (Flood.PING, frame(Kind.PING, 0, bytes(8)) * 5_000),
    "PRIORITY": (Flood.PRIORITY, frame(Kind.PRIORITY, 1, bytes(4) + b"\x0f") * 5_000),
    "unknown frames": (Flood.USELESS, frame(0xBE, 0) * 5_000),
    "windows opened by one": (Flood.WINDOWS, window_update(0, 1) * 9_000),
    "made resets": (
        Flood.BREACHES,
        b"".join(headers(stream, [*FIELDS, (b"connection", b"close")]) for stream in range(1, 2_001, 2)),
    ),
    "content on a stream that is over": (Flood.LATE, UPLOAD + reset(1) + data(1, b"x") * 5_000),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_ended_and_another_browser_is_served_meanwhile(
    flooding: Flooding, pairing: Pairing, name: str
) -> None:
    flood, wire = FLOODS[name]
    flooding.send(wire)
    assert_another_is_served(pairing)
    flooding.assert_ended(flood)


# Windows that stay shut.


def test_shut_windows_hold_little_and_nobody_else(pairing: Pairing) -> None:
    """Lists of which nothing may be sent: what foyer holds of each is bounded (spec 03: 256 KiB)."""
    if pairing.browser_version == "h1":
        pytest.skip("RFC 9112: HTTP/1.1 has no windows")
    browser = pairing.connect(window=0)
    for number in range(8):
        browser.request("GET", f"/k8s/api/v1/namespaces/n{number}", pairing.me.fields)
    requests = [pairing.upstream.expect() for _ in range(8)]
    for request in requests:
        request.respond(200, JSON)
        request.send(bytes(10 * MiB))
    pairing.script.until_still()
    sockets = {request.connection.wire.socket for request in requests}
    sent = sum(10 * MiB - request.unsent for request in requests)
    assert sent - sum(in_flight(each, towards_peer=True) for each in sockets) < 8 * 256 * 1024 * 1.01
    assert_another_is_served(pairing)
    browser.close()
    for request in requests:
        request.expect_cancelled()


# HTTP/1.1.


@pytest.fixture
def pipelining(pairing: Pairing) -> H1Browser:
    if not isinstance(pairing.browser, H1Browser):
        pytest.skip("RFC 9113: HTTP/2 has neither pipelines nor chunks")
    return pairing.browser


def test_a_pipeline_without_end_is_ended(pairing: Pairing, pipelining: H1Browser) -> None:
    first = pipelining.expect_answer()
    pipelining.send_raw(b"GET /healthz HTTP/1.1\r\nHost: f\r\n\r\n" * 3_000)
    assert_another_is_served(pairing)
    assert first.read_until_end(20).__class__ is Whole
    pairing.script.until(lambda: pipelining.closed is not None, "the close", 20)
    (line,) = pairing.logged("flood")
    assert line["kind"] == Flood.PIPELINE.word


def test_chunks_of_an_octet_are_ended(pairing: Pairing, pipelining: H1Browser) -> None:
    upload = pipelining.request("POST", PODS, pairing.me.change, end=False)
    request = pairing.upstream.expect()
    pipelining.send_raw(b"1\r\nx\r\n" * 20_000)
    assert pipelining.read_connection_end() in (End.CLOSED, End.RESET, End.RAGGED)
    upload.read_until_end()
    request.expect_cancelled()
    (line,) = pairing.logged("flood")
    assert line["kind"] == Flood.SMALL.word

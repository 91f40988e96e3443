"""Spec 03, Transport: backpressure is end to end, with at most 256 KiB of a response in foyer.

Counted from both kernels: what the upstream has sent, less what sockets hold on either side, less
what the browser has read, is what foyer holds.
"""

import gzip

import pytest

from tests.support.browsers import SMALL, Exchange, H2Browser, H2Exchange
from tests.support.kernel import in_flight
from tests.support.pairings import JSON, TEXT, Pairing
from tests.support.script import Whole
from tests.support.upstreams import Request

LOG = "/k8s/api/v1/namespaces/n/pods/p/log"
BUFFERED = 256 * 1024
RECORDS = 1 + 31 / 16_384
"""TLS and frames around the content: 22 bytes a record of 16 KiB, and 9 a frame."""

SIZE = 40_000_000


def held(pairing: Pairing, request: Request, sent: int, read: int) -> float:
    """Bytes of content that foyer holds, once everything stands still."""
    upstream = in_flight(request.connection.wire.socket, towards_peer=True)
    browser = in_flight(pairing.browser.wire.socket, towards_peer=False) + pairing.browser.wire.undecrypted
    return sent - read - (upstream + browser) / RECORDS


def stalled(pairing: Pairing, size: int = SIZE) -> tuple[Exchange, Request]:
    """A response of `size` bytes that the browser stopped reading after its head."""
    exchange = pairing.get(LOG)
    request = pairing.upstream.expect()
    request.respond(200, TEXT)
    assert exchange.read_head()[0] == 200
    pairing.browser.stop_reading()
    request.send(bytes(size))
    pairing.script.until_still()
    return exchange, request


def test_a_browser_that_stops_reading_stops_the_upstream(pairing: Pairing) -> None:
    pairing.connect(receive_buffer=SMALL)
    exchange, request = stalled(pairing)
    sent = SIZE - request.unsent
    in_foyer = held(pairing, request, sent, len(exchange.content))
    assert in_foyer <= BUFFERED, f"foyer holds {in_foyer:.0f} bytes"
    assert request.unsent > 0
    pairing.browser.go_on_reading()
    request.end()
    assert exchange.read_until_end(seconds=30) == Whole(bytes(SIZE))


def test_a_browser_whose_machine_hangs_stops_the_upstream(pairing: Pairing) -> None:
    """Not even window updates or acknowledgements are read any more."""
    pairing.connect(receive_buffer=SMALL)
    exchange = pairing.get(LOG)
    request = pairing.upstream.expect()
    request.respond(200, TEXT)
    assert exchange.read_head()[0] == 200
    pairing.browser.wire.reading = False
    request.send(bytes(SIZE))
    pairing.script.until_still()
    in_foyer = held(pairing, request, SIZE - request.unsent, len(exchange.content))
    assert in_foyer <= BUFFERED, f"foyer holds {in_foyer:.0f} bytes"
    pairing.browser.wire.reading = True
    request.end()
    assert exchange.read_until_end(seconds=30) == Whole(bytes(SIZE))


def test_a_stalled_stream_holds_nobody_else_up(pairing: Pairing) -> None:
    """Neither on the browser's connection, where it is HTTP/2, nor on the upstream's."""
    exchange = pairing.get(LOG)
    request = pairing.upstream.expect()
    request.respond(200, TEXT)
    assert exchange.read_head()[0] == 200
    if isinstance(exchange, H2Exchange):
        exchange.stop_reading()
        others = pairing.browser
        # Otherwise the stalled stream would use up the browser's own connection window.
        assert isinstance(others, H2Browser)
        others.h2.increment_flow_control_window(10_000_000)
        others.flush()
    else:
        pairing.browser.stop_reading()
        others = pairing.connect()
    request.send(bytes(SIZE))
    pairing.script.until_still()
    for _ in range(10):
        other = others.request("GET", "/k8s/api/v1/pods", pairing.me.fields)
        other_request = pairing.upstream.expect()
        other_request.answer(200, TEXT, bytes(300_000))
        assert other.read_until_end() == Whole(bytes(300_000))


def test_a_stalled_decoder_holds_no_more(pairing: Pairing) -> None:
    """The browser's side of a bomb: what is decoded waits for the browser (A17)."""
    exchange = pairing.get(LOG)
    request = pairing.upstream.expect()
    request.respond(200, [*JSON, (b"content-encoding", b"gzip")])
    assert exchange.read_head()[0] == 200
    pairing.browser.stop_reading()
    before = pairing.product.memory()
    request.send(gzip.compress(bytes(SIZE), 9))
    request.end()
    pairing.script.until_still()
    grown = pairing.product.memory() - before
    assert grown < 20_000_000, f"{grown} bytes more for a response of {SIZE} that nobody reads"
    pairing.browser.go_on_reading()
    assert exchange.read_until_end(seconds=30) == Whole(bytes(SIZE))


@pytest.mark.parametrize("pauses", [3])
def test_a_response_read_in_fits_and_starts_is_whole(pairing: Pairing, pauses: int) -> None:
    exchange, request = stalled(pairing, 3_000_000)
    for number in range(pauses):
        pairing.browser.go_on_reading()
        exchange.read_exactly(500_000)
        pairing.browser.stop_reading()
        request.send(bytes([number]) * 1000)
        pairing.script.until_still(0.05)
    pairing.browser.go_on_reading()
    request.end()
    outcome = exchange.read_until_end(seconds=30)
    assert outcome == Whole(bytes(3_000_000) + b"".join(bytes([n]) * 1000 for n in range(pauses)))

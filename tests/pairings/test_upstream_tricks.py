"""An API server's own tricks: framing of two readings and header bombs (A14 and A16, from the other side)."""

import pytest

from foyer.protocol.floods import Flood
from tests.pairings.test_framing import CHUNKS
from tests.support.pairings import JSON, Pairing
from tests.support.raw_frames import END_HEADERS, END_STREAM, OK, Kind, block, frame
from tests.support.script import Aborted, Whole
from tests.support.upstreams import H1Request, H2Request

PODS = "/k8s/api/v1/pods"
GLUED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 6\r\n\r\npoison"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

MiB = 1024 * 1024


@pytest.mark.parametrize("content", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("apart", [False, True], ids=["with the head", "behind the head"])
def test_a_chunked_response_of_two_readings_is_never_whole_and_its_connection_not_used_again(
    pairing: Pairing, content: bytes, apart: bool
) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    if not isinstance(request, H1Request):
        pytest.skip("RFC 9113: HTTP/2 has no chunks")
    if apart:
        request.send_raw(HEAD)
        assert exchange.read_head()[0] == 200
        request.send_raw(content + GLUED)
    else:
        request.send_raw(HEAD + content + GLUED)
    outcome = exchange.read_until_end()
    if exchange.status == 200:
        assert isinstance(outcome, Aborted) and outcome.cut_short
        assert b"hello".startswith(outcome.content)
    else:
        assert exchange.all("krm-foyer-interruption") == [b"UpstreamUnavailable"]
    request.connection.expect_closed()
    after = pairing.connect().request("GET", PODS, pairing.me.fields)
    next_request = pairing.upstream.expect()
    assert next_request.connection is not request.connection
    next_request.answer(200, JSON, b"own")
    assert after.read_until_end() == Whole(b"own")


@pytest.mark.parametrize("fields", [2_001, 20_000])
def test_a_head_of_too_many_fields_is_upstream_unavailable(pairing: Pairing, fields: int) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    if isinstance(request, H1Request):
        request.send_raw(b"HTTP/1.1 200 OK\r\n" + b"a:\r\n" * fields + b"Content-Length: 0\r\n\r\n")
    elif isinstance(request, H2Request):
        whole = block(OK) + b"\x10\x01a\x00" * fields
        pieces = [whole[at : at + 16_000] for at in range(0, len(whole), 16_000)]
        sent = frame(Kind.HEADERS, request.stream, pieces[0], flags=END_STREAM)
        for number, piece in enumerate(pieces[1:], 2):
            sent += frame(
                Kind.CONTINUATION, request.stream, piece, flags=END_HEADERS * (number == len(pieces))
            )
        if len(pieces) == 1:
            sent = frame(Kind.HEADERS, request.stream, whole, flags=END_STREAM | END_HEADERS)
        request.connection.send_frames(sent)
    assert exchange.read_head()[0] == 502
    exchange.read_until_end()
    assert pairing.logged("interruption")[0]["failure"] == "protocol"


def test_a_header_bomb_takes_no_memory(pairing: Pairing) -> None:
    """One field of 4 KiB, referenced 4,000 times."""
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    if not isinstance(request, H2Request):
        pytest.skip("RFC 7541 is HTTP/2's")
    bomb = block(OK) + b"\x40\x01a\x7f\xbd\x1d" + b"b" * 3_900 + b"\xbe" * 4_000
    before = pairing.product.memory()
    request.connection.send_frames(frame(Kind.HEADERS, request.stream, bomb, flags=END_STREAM | END_HEADERS))
    assert exchange.read_head()[0] == 502
    exchange.read_until_end()
    assert pairing.product.memory() - before < 4 * MiB
    assert pairing.logged("flood")[0]["kind"] == Flood.HEADERS.word


def test_continuations_without_end_are_ended(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    if not isinstance(request, H2Request):
        pytest.skip("RFC 9113: HTTP/1.1 has no frames")
    request.connection.send_frames(
        frame(Kind.HEADERS, request.stream, block(OK)) + frame(Kind.CONTINUATION, request.stream) * 10_000
    )
    assert exchange.read_head()[0] == 502
    exchange.read_until_end()
    assert pairing.logged("flood")[0]["kind"] == Flood.CONTINUATION.word

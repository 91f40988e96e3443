"""An answer before the upload's end, and what the server does then (A19; RFC 9112 section 9.6)."""

from collections.abc import Callable

import pytest

from tests.support.pairings import JSON, Pairing
from tests.support.script import Aborted, Whole
from tests.support.upstreams import Request

PODS = "/k8s/api/v1/namespaces/n/pods"
TOO_LARGE = b'{"kind":"Status","reason":"RequestEntityTooLarge"}'


def closes_with_the_upload_unread(request: Request) -> None:
    """TCP makes a reset of it, under which our next write fails: the answer is behind that."""
    request.connection.wire.close()
    request.connection.upstream.connections.remove(request.connection)


def closes_its_half(request: Request) -> None:
    request.connection.wire.finish()


LEAVES: dict[str, Callable[[Request], None]] = {
    "closes with the upload unread": closes_with_the_upload_unread,
    "closes its half": closes_its_half,
}


@pytest.mark.parametrize("leaves", LEAVES.values(), ids=LEAVES)
@pytest.mark.parametrize("after", range(4))
def test_an_answer_before_the_upload_ends_passes_whole_and_another_connection_serves(
    pairing: Pairing, leaves: Callable[[Request], None], after: int
) -> None:
    """`after` so many moments of uploading: foyer is in another state in each."""
    exchange = pairing.post(PODS, [(b"Content-Length", b"50000000")], end=False)
    exchange.send_body(bytes(50_000_000))
    request = pairing.upstream.expect()
    request.read_exactly(65_536)
    request.stop_reading()
    for _ in range(after):
        pairing.script.turn(0.001)
    request.answer(413, JSON, TOO_LARGE)
    leaves(request)
    assert exchange.read_head()[0] == 413
    assert exchange.read_until_end() == Whole(TOO_LARGE)
    another = pairing.connect().request("GET", "/k8s/api", pairing.me.fields)
    next_request = pairing.upstream.expect()
    assert next_request.connection is not request.connection and next_request.method == b"GET"
    next_request.answer(200, JSON, b"{}")
    assert another.read_until_end() == Whole(b"{}")


def test_a_part_of_an_answer_before_the_upload_ends_is_never_whole(pairing: Pairing) -> None:
    """Over HTTP/1.1 the cut is a close, and in the midst of an upload TCP may make a reset of that."""
    exchange = pairing.post(PODS, [(b"Content-Length", b"50000000")], end=False)
    exchange.send_body(bytes(50_000_000))
    request = pairing.upstream.expect()
    request.read_exactly(65_536)
    request.stop_reading()
    request.respond(413, [*JSON, (b"content-length", b"1000")])
    request.send(TOO_LARGE)
    closes_with_the_upload_unread(request)
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert outcome.content == TOO_LARGE or (outcome.content == b"" and pairing.browser_version == "h1")

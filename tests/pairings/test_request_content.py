"""Spec 03, What goes up: Body. Streamed as it comes, never buffered whole, and sent at most once."""

import pytest

from tests.support.kernel import in_flight
from tests.support.pairings import JSON, Pairing
from tests.support.script import Whole

PODS = "/k8s/api/v1/namespaces/n/pods"
BUFFERED = 256 * 1024
RECORDS = 1 + 31 / 16_384
"""TLS and frames around the content: 22 bytes a record of 16 KiB, and 9 a frame."""


def test_content_of_a_known_length_goes_up_with_it(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"Content-Type", b"application/yaml")], b"kind: Pod")
    request = pairing.upstream.expect()
    assert request.read_until_end() == b"kind: Pod"
    assert request.all("content-length") == [b"9"]
    assert request.all("content-type") == [b"application/yaml"]
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_content_of_unknown_length_goes_up_piece_by_piece(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, end=False)
    request = pairing.upstream.expect()
    for piece in (b"one", b"two", b"three"):
        exchange.send_body(piece)
        assert request.read_some() == piece
    assert not request.ended
    exchange.end()
    assert request.read_until_end() == b"onetwothree"
    assert request.all("content-length") == []
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_content_of_a_known_length_goes_up_piece_by_piece(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"Content-Length", b"6")], end=False)
    request = pairing.upstream.expect()
    exchange.send_body(b"abc")
    assert request.read_some() == b"abc"
    exchange.send_body(b"def")
    exchange.end()
    assert request.read_until_end() == b"abcdef"
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_change_without_content_goes_up_without(pairing: Pairing, method: str) -> None:
    exchange = pairing.post(PODS, method=method)
    request = pairing.upstream.expect()
    assert request.read_until_end() == b""
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_empty_content_goes_up_empty(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, body=b"")
    request = pairing.upstream.expect()
    assert request.read_until_end() == b""
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_a_get_with_content_goes_up_with_it(pairing: Pairing) -> None:
    exchange = pairing.browser.request("GET", PODS, pairing.me.fields, b"{}")
    request = pairing.upstream.expect()
    assert request.read_until_end() == b"{}"
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_eight_mebibytes_arrive_whole(pairing: Pairing) -> None:
    content = bytes(range(256)) * 32_768
    exchange = pairing.post(PODS, body=content)
    request = pairing.upstream.expect()
    assert request.read_until_end(seconds=20) == content
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_trailers_of_a_request_go_nowhere(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, end=False)
    request = pairing.upstream.expect()
    exchange.send_body(b"x")
    exchange.end([(b"Impersonate-User", b"root")])
    assert request.read_until_end() == b"x"
    assert request.trailers == []
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_an_upstream_that_stops_reading_stops_the_upload(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, end=False)
    request = pairing.upstream.expect()
    request.stop_reading()
    size = 40_000_000
    exchange.send_body(bytes(size))
    pairing.script.until_still()
    left = size - exchange.unsent
    in_kernels = in_flight(pairing.browser.wire.socket, towards_peer=True) + in_flight(
        request.connection.wire.socket, towards_peer=False
    )
    in_kernels += request.connection.wire.undecrypted
    held = left - in_kernels / RECORDS - len(request.content)
    assert held <= BUFFERED, f"foyer holds {held:.0f} bytes of the upload"
    request.go_on_reading()
    exchange.end()
    assert len(request.read_until_end(seconds=20)) == size
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_a_browser_that_gives_up_its_upload_has_it_cancelled_upstream(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, end=False)
    request = pairing.upstream.expect()
    exchange.send_body(b"part")
    assert request.read_some() == b"part"
    exchange.reset()
    request.expect_cancelled()
    assert not request.ended


def test_a_browser_that_closes_within_a_length_never_passes_the_part_for_the_whole(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"Content-Length", b"100")], end=False)
    request = pairing.upstream.expect()
    exchange.send_body(b"part")
    assert request.read_some() == b"part"
    pairing.browser.wire.finish()
    request.expect_cancelled()
    assert not request.ended


# A20


def test_a_browser_that_expects_a_100_is_told_to_go_on(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"Expect", b"100-continue"), (b"Content-Length", b"4")], end=False)
    pairing.script.until(lambda: exchange.informational == [100], "a 100")
    exchange.send_body(b"body")
    exchange.end()
    request = pairing.upstream.expect()
    assert request.read_until_end() == b"body"
    assert request.all("expect") == []
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    assert exchange.informational == [100]


def test_a_refusal_in_the_place_of_a_100_leaves_nothing_out_of_step(pairing: Pairing) -> None:
    refused = pairing.browser.request(
        "POST", PODS, [*pairing.me.fields, (b"Expect", b"100-continue"), (b"Content-Length", b"4")], end=False
    )
    assert refused.read_head()[0] == 403
    refused.read_until_end()
    assert refused.informational == []
    pairing.upstream.expect_nothing()


def test_after_an_early_answer_to_an_expecting_upload_everybody_gets_their_own(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"Expect", b"100-continue"), (b"Content-Length", b"400")], end=False)
    request = pairing.upstream.expect()
    request.answer(403, JSON, b'{"kind":"Status"}')
    assert exchange.read_head()[0] == 403
    assert exchange.read_until_end() == Whole(b'{"kind":"Status"}')
    told = list(exchange.informational)
    other = pairing.connect()
    someone = pairing.signed_in()
    for number in range(10):
        get = other.request("GET", f"/k8s/api/v1/namespaces/n{number}", someone.fields)
        next_request = pairing.upstream.expect()
        assert next_request.target == b"/api/v1/namespaces/n%d" % number
        next_request.answer(200, JSON, b'{"n":%d}' % number)
        assert get.read_until_end() == Whole(b'{"n":%d}' % number)
    assert exchange.informational == told


# A19


def test_an_answer_before_the_upload_ends_passes_whole(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"Content-Length", b"50000000")], end=False)
    exchange.send_body(bytes(50_000_000))
    request = pairing.upstream.expect()
    request.read_exactly(65_536)
    request.stop_reading()
    request.answer(413, JSON, b'{"reason":"RequestEntityTooLarge"}')
    assert exchange.read_head()[0] == 413
    assert exchange.read_until_end() == Whole(b'{"reason":"RequestEntityTooLarge"}')
    request.go_on_reading()
    request.expect_given_up()
    another = pairing.connect().request("GET", "/k8s/api", pairing.me.fields)
    after = pairing.upstream.expect()
    if pairing.upstream_version == "h1":
        assert after.connection is not request.connection
    after.answer(200, JSON, b"{}")
    assert another.read_until_end() == Whole(b"{}")


def test_an_answer_and_close_before_the_upload_ends_passes_whole(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, [(b"Content-Length", b"50000000")], end=False)
    exchange.send_body(bytes(50_000_000))
    request = pairing.upstream.expect()
    request.read_exactly(65_536)
    request.answer(413, JSON, b'{"reason":"RequestEntityTooLarge"}')
    request.close()
    assert exchange.read_head()[0] == 413
    assert exchange.read_until_end() == Whole(b'{"reason":"RequestEntityTooLarge"}')


def test_an_early_answer_with_a_reset_of_no_error_passes_whole(pairing: Pairing) -> None:
    if pairing.upstream_version == "h1":
        pytest.skip("RFC 9113 section 8.1: RST_STREAM NO_ERROR after a whole response is HTTP/2's")
    exchange = pairing.post(PODS, [(b"Content-Length", b"50000000")], end=False)
    exchange.send_body(bytes(50_000_000))
    request = pairing.upstream.expect()
    request.read_exactly(65_536)
    request.answer(413, JSON, b'{"reason":"RequestEntityTooLarge"}')
    request.reset(0)
    assert exchange.read_head()[0] == 413
    assert exchange.read_until_end() == Whole(b'{"reason":"RequestEntityTooLarge"}')


def test_an_upload_goes_on_after_the_head_of_its_answer(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, end=False)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    assert exchange.read_head()[0] == 200
    exchange.send_body(b"late")
    assert request.read_some() == b"late"
    request.send(b"heard")
    assert exchange.read_some() == b"heard"
    exchange.end()
    assert request.read_until_end() == b"late"
    request.end()
    assert exchange.read_until_end() == Whole(b"heard")

"""What is not as long as its head says is malformed, and not passed on for whole (RFC 9113 section 8.1.1).

Over HTTP/1.1 a message is whole with the last octet of its length; over HTTP/2 only with its end. So on the
way from the one to the other that octet waits, or what comes behind it would come too late.
"""

import pytest

from tests.support.browsers import H2Browser
from tests.support.pairings import JSON, Pairing
from tests.support.script import Aborted, Whole
from tests.support.upstreams import H2Request

PODS = "/k8s/api/v1/namespaces/n/pods"


@pytest.mark.parametrize("content", [b"", b"x", b"hello"])
@pytest.mark.parametrize("then", ["more", "a reset", "the connection's end"])
def test_a_request_of_its_length_is_not_whole_upstream_before_it_is_here(
    pairing: Pairing, content: bytes, then: str
) -> None:
    if not isinstance(pairing.browser, H2Browser):
        pytest.skip("RFC 9112 section 6.3: the length is HTTP/1.1's end")
    exchange = pairing.post(PODS, [(b"Content-Length", b"%d" % len(content))], end=False)
    exchange.send_body(content)
    pairing.script.until_still(0.05)
    assert not any(request.ended for request in pairing.upstream.arrived)
    match then:
        case "more":
            exchange.send_body(b"!")
            exchange.read_until_end()
        case "a reset":
            exchange.reset()
        case _:
            pairing.browser.wire.finish()
    pairing.script.until(lambda: pairing.product.open_exchanges == 0, "the exchange's end")
    pairing.script.until_still(0.05)
    while pairing.upstream.arrived:
        request = pairing.upstream.expect()
        request.expect_cancelled()
        assert not request.ended


@pytest.mark.parametrize("content", [b"", b"x", b"hello"])
def test_it_is_whole_when_its_end_comes(pairing: Pairing, content: bytes) -> None:
    exchange = pairing.post(PODS, [(b"Content-Length", b"%d" % len(content))], end=False)
    if content:
        exchange.send_body(content)
    pairing.script.until_still(0.05)
    exchange.end()
    request = pairing.upstream.expect()
    assert request.read_until_end() == content
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@pytest.mark.parametrize("then", ["more", "a reset", "the connection's end"])
def test_a_response_of_its_length_is_not_whole_before_it_is_upstream(pairing: Pairing, then: str) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    if not isinstance(request, H2Request):
        pytest.skip("RFC 9112 section 6.3: the length is HTTP/1.1's end")
    request.respond(200, [*JSON, (b"content-length", b"5")])
    request.send(b"hello")
    pairing.script.until_still(0.05)
    assert exchange.outcome is None
    match then:
        case "more":
            request.send(b"!")
        case "a reset":
            request.reset()
        case _:
            request.close()
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted) and outcome.cut_short
    assert b"hello".startswith(outcome.content) and len(outcome.content) >= 4


def test_a_response_is_whole_when_its_end_comes(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.respond(200, [*JSON, (b"content-length", b"5")])
    request.send(b"hello")
    pairing.script.until_still(0.05)
    request.end()
    assert exchange.read_until_end() == Whole(b"hello")

"""Behind an ingress foyer speaks plain HTTP: HTTP/1.1, and HTTP/2 by prior knowledge (spec 01, TLS)."""

import pytest

from tests.support.browsers import BROWSERS
from tests.support.pairings import JSON, Pairing
from tests.support.script import Aborted, Whole

PODS = "/k8s/api/v1/pods"


@pytest.fixture
def tls() -> bool:
    return False


def test_an_exchange_without_tls_is_like_any(pairing: Pairing) -> None:
    exchange = pairing.post(PODS, body=b'{"kind":"Pod"}')
    request = pairing.upstream.expect()
    assert request.read_until_end() == b'{"kind":"Pod"}'
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_one_port_serves_both_versions(pairing: Pairing) -> None:
    for version in BROWSERS:
        exchange = pairing.connect(version).request("GET", PODS, pairing.me.fields)
        pairing.upstream.expect().answer(200, JSON, b"{}")
        assert exchange.read_until_end() == Whole(b"{}")


def test_a_failure_without_tls_is_an_abort_like_any(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    request.send(b"[")
    assert exchange.read_exactly(1) == b"["
    request.reset()
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert (outcome.content, outcome.cut_short) == (b"[", True)


def test_a_browser_that_closes_without_tls_is_cancelled_upstream(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    assert exchange.read_head()[0] == 200
    pairing.browser.wire.finish()
    request.expect_cancelled()

"""A connection that foyer ends is read on for a moment, so that no TCP reset takes what was said last."""

import asyncio
from collections.abc import Iterator

import pytest

from foyer.exchange.endings import Cause
from tests.support.browsers import SMALL, H2Browser
from tests.support.pairings import JSON, Pairing
from tests.support.script import Whole

NOISE = b"\0\0\0\0\xff\n\n\n\n"


@pytest.fixture
def faults(pairing: Pairing) -> Iterator[list[object]]:
    """What nobody caught on foyer's loop."""
    found: list[object] = []

    def caught(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        found.append(context.get("exception"))

    pairing.product.on_uncaught(caught)
    yield found
    pairing.product.on_uncaught(None)


def test_a_goodbye_is_not_written_behind_the_end(pairing: Pairing, faults: list[object]) -> None:
    if pairing.browser_version == "h2":
        pytest.skip("HTTP/1.1 alone is cut by the connection's end")
    pairing.get("/k8s/api")
    request = pairing.upstream.expect()
    pairing.browser.wire.send(NOISE)  # waits behind the request: there is something unread
    pairing.script.until_still(0.05)
    pairing.product.cut(Cause.SHUTDOWN)
    request.expect_cancelled()
    pairing.script.until_still(0.05)
    pairing.browser.wire.finish()
    pairing.script.until_still(0.05)
    assert faults == []


def test_what_a_slow_browser_has_not_read_yet_survives_a_drain(pairing: Pairing) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("an HTTP/2 browser alone goes on sending")
    browser = pairing.connect(receive_buffer=SMALL)
    assert isinstance(browser, H2Browser)
    exchange = browser.request("GET", "/k8s/api", pairing.me.fields)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    exchange.read_head()
    pairing.product.drain()
    pairing.script.until_still(0.05)
    browser.stop_reading_the_socket()
    content = bytes(60_000)  # within the window, and more than the browser's kernel takes
    request.send(content)
    request.end()
    pairing.script.until_still(0.1)
    browser.h2.ping(b"12345678")
    browser.flush()
    pairing.script.until_still(0.1)
    browser.wire.reading = True
    assert exchange.read_until_end() == Whole(content)

"""Whole connections: foyer's wire, codec, sides and exchanges, without a kernel, against any bytes.

One side is the peer's bytes, the other a fake that keeps the ports to the letter and notices breaches. What
the whims do meanwhile is what may happen to an honest exchange: answers, failures, time, a reader that takes
little, an ended session. Whatever comes, foyer's own code does not fail; and when the connection is gone,
each exchange that was begun has had its one ending, and no side is left, no deadline, nobody upstream.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from itertools import cycle

from foyer.exchange.endings import Cause
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer, BrowserReceiver, BrowserSide, UpstreamReceiver
from foyer.net.browser import BrowserConnection
from foyer.net.health import Health
from foyer.net.upstream import UpstreamConnection
from foyer.net.wire import Wire
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from tests.exchange.sides import BOUNDS, Browser, Pool, Services
from tests.fuzz import frames
from tests.fuzz.messages import WORDS
from tests.fuzz.target import Target, cut, joined, parted, with_whims
from tests.net.offline import Offline, SpokenWire, Transport
from tests.net.pools import Held
from tests.support import raw_frames as raw
from tests.support.near_misses import GLUED, REQUESTS, RESPONSES

_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

HELD = 256 * 1024
"""Bytes that may be kept of one connection's peer (spec 03)."""


class Hosted:
    """A browser's connection and everything behind it."""

    def __init__(self, protocol: str, whims: bytes) -> None:
        self.offline = Offline()
        self.services = Services()
        self.exchanges: list[Exchange] = []
        self.pools: list[Pool] = []
        self.left = 0
        self._whims: Iterator[int] = cycle(whims or b"\0")
        self.connection = BrowserConnection(self, self.offline.turn, self.offline.wheel, self._leave)
        self.wire: Wire = self.connection.attach(SpokenWire(self.connection, protocol))
        self.transport = Transport(self.offline.loop, self.wire)

    def _leave(self, connection: BrowserConnection) -> None:
        self.left += 1

    # The application.

    def unreadable(self, reason: str) -> None:
        assert reason

    def flood(self, kind: str) -> None:
        assert kind

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        exchange = Exchange(self.services, side, head)
        self.exchanges.append(exchange)
        whim = next(self._whims)
        if whim % 4 == 0:
            exchange.answer(Answer(200, [], bytes(whim * 100)))
        else:
            pool = Pool(at_once=whim % 4 != 1)
            self.pools.append(pool)
            up = RequestHead(head.method, b"/", [], authority=b"api", ended=head.ended)
            exchange.forward(up, pool.open, BOUNDS)
        return exchange

    # What happens.

    def live(self, reads: list[bytes]) -> None:
        for read in reads:
            while read and self.transport.reads:
                read = read[self.transport.bring(read) :]
                self.offline.run()
                self._happen()
            assert self.connection.codec is None or self.connection.codec.held <= HELD
            self._happen()
        if next(self._whims) % 2:
            self.transport.end()
            self.offline.run()
            self.transport.take()
        self.offline.pass_time(next(self._whims) % 100)
        self.transport.drop()
        self.offline.run()

    def _happen(self) -> None:
        whim = next(self._whims)
        match whim % 9:
            case 0 | 1:
                self.transport.take(whim * 50)
            case 2:
                self.offline.pass_time(whim % 30)
            case 3 if self.exchanges:
                causes = [*Cause]
                self.exchanges[whim % len(self.exchanges)].cut(causes[whim % len(causes)])
            case 4 if whim > 200:
                self.connection.go_away()
            case _ if self.pools:
                self._happen_upstream(self.pools[whim % len(self.pools)], whim)
        self.offline.run()

    def _happen_upstream(self, pool: Pool, whim: int) -> None:
        if pool.waiting is not None:
            if whim % 5:
                pool.place()
            else:
                pool.fail(Failure.CONNECTION)
        side = pool.side
        if side is None or side.over:
            return
        side.take(whim * 100)
        if whim % 7 == 0:
            side.fail(Failure.RESET)
        elif not side.answered:
            side.answer(ResponseHead(200, [], ended=whim % 3 == 0))
        elif whim % 5 == 0:
            side.end()
        elif side.window:
            side.content(bytes(min(side.window, 1 + whim * 200)))

    # What is left.

    def check(self) -> None:
        assert self.services.faults == [], self.services.faults
        assert len(self.services.endings) == len(self.exchanges)
        assert all(exchange.ending is not None for exchange in self.exchanges)
        assert self.left == 1
        assert not self.connection.sides and self.connection.codec is None
        assert all(pool.waiting is None and (pool.side is None or pool.side.over) for pool in self.pools)
        assert len(self.offline.wheel) == 0


def check_browser(protocol: str, data: bytes) -> None:
    """What a browser sends, over `protocol`."""
    wire, whims = parted(data)
    places = whims[: len(whims) // 3]
    hosted = Hosted(protocol, whims[len(places) :])
    hosted.live(cut(wire, places))
    hosted.check()


class _Place:
    def cancel(self) -> None:
        pass


class Serving:
    """A connection to an API server, and exchanges whose browsers are fakes."""

    def __init__(self, protocol: str, whims: bytes) -> None:
        self.offline = Offline()
        self.wheel = self.offline.wheel
        self.health = Health()
        self.services = Services()
        self.browsers: list[Browser] = []
        self.places: list[Held] = []
        self.exchanges: list[Exchange] = []
        self.lost_with: list[Failure] = []
        self._whims: Iterator[int] = cycle(whims or b"\0")
        self.connection = UpstreamConnection(self, self.offline.turn, _NOBODY)  # type: ignore[arg-type]
        self.connection.wire = SpokenWire(self.connection, protocol)
        self.transport = Transport(self.offline.loop, self.connection.wire)

    # The pool.

    def usable(self, connection: UpstreamConnection) -> None:
        while connection.room > 0 and len(self.exchanges) < 4:
            self._ask(connection)

    def lost(self, connection: UpstreamConnection, failure: Failure) -> None:
        self.lost_with.append(failure)

    def forget(self, connection: UpstreamConnection) -> None:
        pass

    def _ask(self, connection: UpstreamConnection) -> None:
        whim = next(self._whims)
        method = (b"GET", b"HEAD", b"POST", b"GET")[whim % 4]
        browser = Browser()
        head = RequestHead(method, b"/", [], ended=method != b"POST")
        exchange = Exchange(self.services, browser, head)
        self.browsers.append(browser)
        self.exchanges.append(exchange)

        def place(receiver: UpstreamReceiver) -> _Place:
            held = Held()
            self.places.append(held)
            connection.join(receiver, held)
            return _Place()

        exchange.forward(RequestHead(method, b"/", [], authority=b"api", ended=head.ended), place, BOUNDS)

    # What happens.

    def live(self, reads: list[bytes]) -> None:
        self.offline.run()
        for read in reads:
            while read and self.transport.reads:
                read = read[self.transport.bring(read) :]
                self.offline.run()
                self._happen()
            self._happen()
        if next(self._whims) % 2:
            self.transport.end()
            self.offline.run()
        self.offline.pass_time(next(self._whims) % 60)
        self.transport.drop()
        self.offline.run()
        for browser in self.browsers:
            browser.take(1 << 30)
            browser.take(1 << 30)
        self.offline.run()

    def _happen(self) -> None:
        whim = next(self._whims)
        if not self.exchanges:
            return
        exchange, browser = [*zip(self.exchanges, self.browsers, strict=True)][whim % len(self.exchanges)]
        match whim % 8:
            case 0:
                self.transport.take(whim * 50)
            case 1:
                self.offline.pass_time(whim % 20)
            case 2 if whim > 150:
                browser.leave()
            case 3 if whim > 150:
                exchange.cut(Cause.SESSION_ENDED)
            case 4 if not exchange._request_ended:
                exchange.request_body(bytes(whim * 100))
            case 5 if not exchange._request_ended:
                exchange.request_end()
            case _:
                browser.take(whim * 100)
        self.offline.run()

    # What is left.

    def check(self) -> None:
        assert self.services.faults == [], self.services.faults
        assert len(self.services.endings) == len(self.exchanges)
        assert len(self.lost_with) == 1
        assert not self.connection.sides and self.connection.codec is None
        assert not any(place.is_held for place in self.places)
        for browser in self.browsers:
            assert browser.most_queued <= HELD
        assert len(self.wheel) == 0


def check_upstream(protocol: str, data: bytes) -> None:
    """What an API server sends, over `protocol`."""
    wire, whims = parted(data)
    places = whims[: len(whims) // 3]
    serving = Serving(protocol, whims[len(places) :])
    serving.live(cut(wire, places))
    serving.check()


_UPLOAD = b"POST /a HTTP/1.1\r\nHost: f\r\nContent-Length: 5\r\n\r\nhello"
_ASKED = raw.headers(1, raw.GET) + raw.headers(3, raw.POST, end=False) + raw.data(3, b"hello", end=True)
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
_ANSWERED = raw.headers(1, raw.OK, end=False) + raw.data(1, b"hello", end=True) + raw.headers(3, raw.OK)
_WHIMS = (b"", b"\x80\x05\x0e\x01\x03\x09", bytes(range(3, 60, 5)), bytes(range(1, 250, 9)))

TARGETS = (
    Target(
        "h1-browser",
        lambda data: check_browser("http/1.1", data),
        lambda: [joined(GLUED + _UPLOAD + GLUED, whims) for whims in _WHIMS],
        with_whims(REQUESTS, 24),
        words=WORDS,
    ),
    Target(
        "h2-browser",
        lambda data: check_browser("h2", data),
        lambda: [joined(raw.PREFACE + raw.settings({4: 1000}) + _ASKED, whims) for whims in _WHIMS],
        with_whims(frames.FROM_A_CLIENT, 24),
        mutate=frames.mutate,
    ),
    Target(
        "h1-upstream",
        lambda data: check_upstream("http/1.1", data),
        lambda: [joined(_ANSWER, whims) for whims in _WHIMS],
        with_whims(RESPONSES, 24),
        words=(*WORDS, b"Content-Encoding: gzip\r\n"),
    ),
    Target(
        "h2-upstream",
        lambda data: check_upstream("h2", data),
        lambda: [joined(raw.settings({3: 100}) + _ANSWERED, whims) for whims in _WHIMS],
        with_whims(frames.FROM_A_SERVER, 24),
        mutate=frames.mutate,
    ),
)

"""Every clock of a connection (spec 03, Transport), on a wheel that a test turns second by second.

The connections, their wires and their wheel are the real ones. Deadlines are met within a tick, so a
test looks a second before one and two seconds after it.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from foyer.exchange.endings import BrowserGone
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import BrowserReceiver, BrowserSide, UpstreamSide
from foyer.net.browser import BrowserConnection
from foyer.net.connection import CLOSING_TIME
from foyer.net.tls import TLSWire
from foyer.net.upstream import CONNECT_TIME, PING_TIME, POOLED_TIME, QUIET_TIME, Upstream
from foyer.net.wire import Wire
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from tests.exchange.sides import BOUNDS, Pool, Services
from tests.net.offline import Loop, Offline, Transport
from tests.support.certs import ORIGIN_HOST, UPSTREAM_HOST, authority, browser_context, server_context
from tests.support.raw_frames import (
    GET,
    POST,
    PREFACE,
    Frame,
    Kind,
    data,
    frame,
    frames,
    goaway,
    headers,
    settings,
)

HEAD_TIME, UPLOAD_TIME, IDLE_TIME = 10, 60, 75
"""Seconds, as spec 03 has them: not as foyer does."""

PIPELINE_LIMIT = 64 * 1024

LINGER_TIME = 10
"""Seconds that foyer reads on after an early answer, which the spec leaves to it."""

SECOND_LOOK = 10
"""Seconds between two looks at the uploads of a connection: so much later one may end."""

ONE = b"GET /a HTTP/1.1\r\nHost: foyer.test\r\n\r\n"
UPLOAD = b"POST /a HTTP/1.1\r\nHost: foyer.test\r\nContent-Length: 1000000\r\n\r\n"
PIECE = bytes(4096)
BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"


class CountedLoop(Loop):
    """A loop on which nobody may go on and on without a byte or a second passing."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0

    def call_soon(self, call: Callable[[], object]) -> None:
        self.turns += 1
        assert self.turns < 100, "turns for nothing"
        super().call_soon(call)


class Encrypted:
    """The peer's end of TLS over an offline transport."""

    def __init__(
        self,
        transport: Transport,
        run: Callable[[], None],
        context: ssl.SSLContext,
        hostname: str | None = None,
    ) -> None:
        """`run` has the loop go on: foyer's own steps wait for their turn."""
        self._transport = transport
        self._run = run
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._in, self._out, server_side=hostname is None, server_hostname=hostname
        )
        self.established = False

    def shake_hands(self) -> None:
        for _ in range(4):
            try:
                self._tls.do_handshake()
                self.established = True
            except ssl.SSLWantReadError:
                pass
            if self._out.pending:
                self._transport.bring(self._out.read())
                self._run()
            self._in.write(self._transport.take())
        assert self.established

    def bring(self, content: bytes) -> None:
        self._tls.write(content)
        self._transport.bring(self._out.read())

    def take(self) -> bytes:
        self._in.write(self._transport.take())
        taken = b""
        try:
            while piece := self._tls.read(65536):
                taken += piece
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return taken


class Browser:
    """A browser's connection, and the application behind it: exchanges whose upstream a test plays."""

    def __init__(self, tls: str | None = None, turned_away: Callable[[bytes], bytes] | None = None) -> None:
        """`tls` is the protocol that ALPN chooses; None is plain HTTP, where the first bytes tell."""
        self.loop = CountedLoop()
        self.offline = Offline(self.loop)
        self.services = Services()
        self.exchanges: list[Exchange] = []
        self.heads: list[RequestHead] = []
        self.pools: list[Pool] = []
        self.left = 0
        self._tls = tls
        self.connection = BrowserConnection(
            self, self.offline.turn, self.offline.wheel, self._leave, turned_away
        )
        context = None if tls is None else server_context(tls, ORIGIN_HOST)
        wire = Wire(self.connection) if context is None else TLSWire(self.connection, context)
        self.transport = Transport(self.loop, self.connection.attach(wire))
        self._peer: Encrypted | None = None

    def _leave(self, connection: BrowserConnection) -> None:
        self.left += 1

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """As an application: every request is for an upstream that the test plays."""
        exchange = Exchange(self.services, side, head)
        pool = Pool()
        exchange.forward(head, pool.open, BOUNDS)
        self.heads.append(head)
        self.pools.append(pool)
        self.exchanges.append(exchange)
        return exchange

    def unreadable(self, reason: str) -> None:
        """What a clock ends with was not read to its end."""

    def flood(self, word: str) -> None:
        raise AssertionError(f"taken for a flood: {word}")

    # What a test does.

    def shake_hands(self) -> None:
        assert self._tls is not None
        self._peer = Encrypted(self.transport, self.offline.run, browser_context(self._tls), ORIGIN_HOST)
        self._peer.shake_hands()
        self.turn()

    def bring(self, content: bytes) -> None:
        if self._tls is not None and self._peer is None:
            self.shake_hands()
        if self._peer is None:
            while content:
                content = content[self.transport.bring(content) :]
        else:
            self._peer.bring(content)
        self.turn()

    def take(self) -> bytes:
        """Everything that foyer has written reaches the browser."""
        taken = self.transport.take() if self._peer is None else self._peer.take()
        self.turn()
        return taken

    def turn(self) -> None:
        self.loop.turns = 0
        self.offline.run()

    def wait(self, seconds: float) -> None:
        for _ in range(int(seconds)):
            self.loop.turns = 0
            self.offline.pass_time(1)

    def answer(self, content: bytes = b"ok") -> None:
        """The last request's whole answer leaves."""
        upstream = self.pools[-1].side
        assert upstream is not None
        upstream.answer(ResponseHead(200, []))
        upstream.content(content)
        upstream.end()
        self.turn()

    # What it sees.

    def is_ended(self) -> bool:
        """foyer has closed it, or its own half of it where more may still be on its way."""
        return self.transport.closing or self.transport.ended

    def ends_after(self, seconds: float) -> None:
        """Not before, and not much later."""
        self.wait(seconds - 1)
        assert not self.is_ended(), "ended too early"
        self.wait(3)
        assert self.is_ended(), "not ended"
        self.take()
        if not self.transport.lost:
            self.wait(LINGER_TIME)
        assert self.transport.lost and self.left == 1
        assert len(self.offline.wheel) == 0, "a connection that is gone still waits for something"


TRANSPORTS = [pytest.param(None, id="plain"), pytest.param("http/1.1", id="TLS")]
transports = pytest.mark.parametrize("tls", TRANSPORTS)


# Handshakes and heads


def test_a_handshake_that_never_begins_is_ended_after_10_seconds() -> None:
    Browser("http/1.1").ends_after(HEAD_TIME)


def test_a_handshake_that_comes_a_byte_a_second_is_ended_after_10_seconds() -> None:
    browser = Browser("h2")
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(20)
    for byte in hello[: HEAD_TIME - 1]:
        browser.wait(1)
        assert not browser.is_ended()
        browser.transport.bring(bytes([byte]))
    browser.wait(3)
    assert browser.transport.lost and browser.left == 1


@transports
def test_a_head_that_is_never_whole_is_ended_10_seconds_after_its_first_byte(tls: str | None) -> None:
    browser = Browser(tls)
    if tls:
        browser.shake_hands()
    browser.wait(30)
    browser.bring(ONE[:-2])
    browser.ends_after(HEAD_TIME)
    assert browser.heads == []


@transports
def test_bytes_that_go_on_dripping_give_a_head_no_longer(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(ONE[:10])
    for byte in range(10, 10 + HEAD_TIME - 1):
        browser.wait(1)
        assert not browser.is_ended()
        browser.bring(ONE[byte : byte + 1])
    browser.wait(3)
    assert browser.is_ended()


@transports
def test_the_next_head_has_10_seconds_from_its_first_byte_too(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(ONE)
    browser.answer()
    assert browser.take().startswith(b"HTTP/1.1 200")
    browser.wait(40)
    browser.bring(b"G")
    browser.ends_after(HEAD_TIME)
    assert len(browser.heads) == 1


@transports
def test_a_partial_head_that_came_during_a_response_has_10_seconds_from_its_end(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(ONE + ONE[:9])
    browser.wait(100)
    assert not browser.is_ended()
    browser.answer()
    browser.take()
    browser.ends_after(HEAD_TIME)


@transports
def test_a_head_that_becomes_whole_in_time_is_served_and_the_clock_stops(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(ONE[:-2])
    browser.wait(HEAD_TIME - 1)
    browser.bring(ONE[-2:])
    assert len(browser.heads) == 1
    browser.wait(200)  # a watch
    assert not browser.is_ended()
    browser.answer()
    assert b"200" in browser.take()


@transports
@pytest.mark.parametrize("begun", [b"G", b"POS", ONE[:-2]])
def test_an_unfinished_head_costs_no_turns(tls: str | None, begun: bytes) -> None:
    browser = Browser(tls)
    browser.bring(begun)
    assert browser.loop.turns <= 3
    before = browser.loop.turns
    assert not browser.loop.run()
    browser.wait(HEAD_TIME - 2)
    assert browser.loop.turns == 0, "turns, and no byte came"
    assert before <= 3


def test_an_unfinished_head_after_a_response_costs_no_turns() -> None:
    browser = Browser()
    browser.bring(ONE)
    browser.answer()
    browser.take()
    browser.bring(ONE[:9])
    browser.wait(5)
    assert browser.loop.turns == 0
    browser.bring(ONE[9:])
    assert len(browser.heads) == 2


@pytest.mark.parametrize("seconds", [5, 30, 70])
def test_a_preface_that_is_never_whole_is_ended_10_seconds_after_its_first_byte(seconds: int) -> None:
    browser = Browser()
    browser.wait(seconds)
    browser.bring(PREFACE[:5])
    browser.ends_after(HEAD_TIME)


@pytest.mark.parametrize("tls", [None, "h2"])
@pytest.mark.parametrize("begun", [settings()[:4], headers(1, GET)[:12]])
def test_a_frame_that_is_never_whole_is_ended_after_10_seconds_and_costs_no_turns(
    tls: str | None, begun: bytes
) -> None:
    browser = Browser(tls)
    browser.bring(PREFACE + settings() + begun)
    browser.take()
    browser.wait(5)
    assert browser.loop.turns == 0
    browser.ends_after(HEAD_TIME - 5)
    assert browser.heads == []


# Between requests


def test_a_plain_connection_that_has_said_nothing_is_idle_and_not_slow() -> None:
    Browser().ends_after(IDLE_TIME)


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_a_tls_connection_that_has_asked_nothing_is_idle_and_not_slow(protocol: str) -> None:
    browser = Browser(protocol)
    browser.shake_hands()
    browser.ends_after(IDLE_TIME)


@transports
def test_an_idle_connection_is_ended_75_seconds_after_its_last_response(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(ONE)
    browser.wait(50)
    browser.answer()
    browser.take()
    browser.ends_after(IDLE_TIME)


@pytest.mark.parametrize("tls", [None, "http/1.1"])
def test_a_connection_whose_requests_are_turned_away_unread_is_not_idle(tls: str | None) -> None:
    browser = Browser(tls, lambda target: BUSY)
    for _ in range(4):
        browser.bring(ONE)
        assert browser.take() == BUSY
        browser.wait(50)
        assert not browser.is_ended()
    assert browser.heads == []
    browser.ends_after(IDLE_TIME - 50)


@pytest.mark.parametrize("tls", [None, "h2"])
def test_an_idle_http2_connection_gets_a_goaway_before_it_is_closed(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(PREFACE + settings() + headers(1, GET))
    browser.wait(100)
    browser.answer()
    browser.take()
    browser.wait(IDLE_TIME - 1)
    assert not browser.is_ended()
    browser.wait(2)
    said = list(frames(browser.take()))
    assert [str(frame) for frame in said] == ["GOAWAY 0 1 NO_ERROR"]
    assert browser.transport.closing and not browser.transport.aborted


@pytest.mark.parametrize("tls", [None, "h2"])
def test_pings_keep_no_idle_connection(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(PREFACE + settings())
    for _ in range(14):
        browser.wait(5)
        assert not browser.is_ended()
        browser.bring(frame(Kind.PING, 0, bytes(8)))
        browser.take()
    browser.wait(8)
    assert browser.is_ended()


# Uploads


class Upload:
    """A request with content in progress, in either version."""

    def __init__(self, tls: str | None) -> None:
        self.browser = Browser(tls)
        self._h2 = tls == "h2"
        first = PREFACE + settings() + headers(1, POST, end=False) if self._h2 else UPLOAD
        self.browser.bring(first)
        self.browser.take()

    def send(self, piece: bytes = PIECE) -> None:
        self.browser.bring(data(1, piece) if self._h2 else piece)

    @property
    def upstream(self) -> Any:
        return self.browser.pools[0].side

    def is_over(self) -> None:
        """Cut at the browser, cancelled upstream, and over for the exchange."""
        assert self.upstream.cancelled
        assert len(self.browser.services.endings) == 1
        (ending,) = self.browser.services.endings
        assert isinstance(ending, BrowserGone)
        if self._h2:
            last = list(frames(self.browser.take()))[-1]
            assert str(last) == "RST_STREAM 1 INTERNAL_ERROR"
            assert not self.browser.is_ended(), "the connection's other streams are not to blame"
        else:
            assert self.browser.is_ended()


versions = pytest.mark.parametrize("tls", [None, "http/1.1", "h2"])


@versions
def test_an_upload_that_the_browser_does_not_go_on_with_is_ended_after_60_seconds(tls: str | None) -> None:
    upload = Upload(tls)
    upload.send()
    upload.browser.wait(UPLOAD_TIME - 1)
    assert not upload.upstream.cancelled
    upload.browser.wait(SECOND_LOOK + 2)
    upload.is_over()


@versions
def test_an_upload_whose_content_never_begins_is_ended_after_60_seconds(tls: str | None) -> None:
    upload = Upload(tls)
    upload.browser.wait(UPLOAD_TIME - 1)
    assert not upload.upstream.cancelled
    upload.browser.wait(SECOND_LOOK + 2)
    upload.is_over()


@versions
def test_an_upload_that_upstream_does_not_take_is_ended_after_60_seconds(tls: str | None) -> None:
    upload = Upload(tls)
    browser = upload.browser
    sent = 0
    while browser.transport.reads and not browser.exchanges[0].browser.paused:  # type: ignore[attr-defined]
        upload.send()
        sent += len(PIECE)
        assert sent < 1_000_000
    browser.wait(UPLOAD_TIME - 1)
    assert not upload.upstream.cancelled
    browser.wait(SECOND_LOOK + 2)
    upload.is_over()


@versions
def test_an_upload_that_moves_is_not_ended(tls: str | None) -> None:
    upload = Upload(tls)
    for _ in range(6):
        upload.browser.wait(UPLOAD_TIME - 5)
        upload.send()
        upload.upstream.take(1 << 20)
        upload.browser.turn()
        upload.browser.take()
    assert bytes(upload.upstream.got) == PIECE * 6
    assert not upload.upstream.cancelled and not upload.browser.is_ended()


@versions
def test_an_upload_that_upstream_takes_now_and_then_is_not_ended(tls: str | None) -> None:
    upload = Upload(tls)
    browser = upload.browser
    for _ in range(4):
        while browser.transport.reads and not browser.exchanges[0].browser.paused:  # type: ignore[attr-defined]
            upload.send()
        browser.wait(UPLOAD_TIME - 5)
        assert not upload.upstream.cancelled
        upload.upstream.take(1 << 20)
        browser.turn()
        browser.take()
        browser.wait(UPLOAD_TIME - 5)  # the browser's own time, from when it was let go on
    assert not upload.upstream.cancelled and not browser.is_ended()


@versions
def test_a_request_that_is_whole_may_wait_for_its_answer(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(PREFACE + settings() + headers(1, GET) if tls == "h2" else ONE)
    browser.take()
    browser.wait(1000)
    assert not browser.is_ended() and browser.services.endings == []


def test_one_upload_that_stands_still_takes_no_other_stream_with_it() -> None:
    upload = Upload("h2")
    browser = upload.browser
    browser.bring(headers(3, GET))
    browser.wait(UPLOAD_TIME + SECOND_LOOK + 1)
    upload.is_over()
    assert not browser.pools[1].side.cancelled  # type: ignore[union-attr]
    browser.answer()
    assert [str(frame) for frame in frames(browser.take())][-1] == "DATA 3 END_STREAM"


# The end


@pytest.mark.parametrize("tls", [None, "http/1.1"])
def test_a_browser_that_never_takes_the_last_bytes_is_aborted(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(ONE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    browser.answer(bytes(10_000))
    assert browser.transport.closing and browser.transport.sent
    browser.wait(CLOSING_TIME - 1)
    assert browser.left == 0
    browser.wait(3)
    assert browser.left == 1 and browser.transport.aborted
    assert len(browser.offline.wheel) == 0


def lingering(tls: str | None = None) -> Browser:
    """One that was answered before its upload's end."""
    browser = Browser(tls)
    browser.bring(UPLOAD)
    browser.answer(b"too large")
    assert b"connection: close" in browser.take().lower()
    assert browser.transport.ended and not browser.transport.closing
    return browser


@transports
def test_the_rest_of_an_answered_upload_is_read_and_dropped_for_a_while(tls: str | None) -> None:
    browser = lingering(tls)
    for _ in range(LINGER_TIME - 1):
        browser.wait(1)
        browser.bring(PIECE)
        assert not browser.transport.closing
    browser.wait(3)
    assert browser.transport.lost and browser.left == 1
    assert len(browser.offline.wheel) == 0


def test_lingering_ends_with_the_browsers_own_end() -> None:
    browser = lingering()
    browser.transport.end()
    browser.turn()
    assert browser.transport.closing
    assert browser.transport.lost and browser.left == 1


def test_when_foyer_stops_it_lingers_a_second_only() -> None:
    browser = Browser()
    browser.bring(UPLOAD)
    browser.connection.go_away()
    browser.answer(b"too large")
    browser.take()
    assert browser.transport.ended and not browser.transport.closing
    browser.wait(3)
    assert browser.transport.lost and browser.left == 1


@transports
def test_pipelined_requests_beyond_64_kib_wait_in_the_transport(tls: str | None) -> None:
    browser = Browser(tls)
    browser.bring(ONE)
    large = ONE.replace(b"\r\n\r\n", b"\r\nX: " + b"x" * 8000 + b"\r\n\r\n")
    brought = 0
    while browser.transport.reads:
        browser.bring(large)
        brought += len(large)
        assert brought < 2 * PIPELINE_LIMIT
    assert brought > PIPELINE_LIMIT
    browser.wait(200)
    assert len(browser.heads) == 1 and not browser.is_ended()
    browser.answer()
    assert len(browser.heads) == 2
    assert browser.transport.reads


def test_an_answer_makes_room_for_a_request_and_not_for_a_read() -> None:
    """However many small requests stand in line: it was once let grow with every answer."""
    browser = Browser(None)
    browser.bring(ONE)
    read = ONE * (PIPELINE_LIMIT // len(ONE))
    for _ in range(20):
        if browser.transport.reads:
            browser.bring(read)
        codec = browser.connection.codec
        assert codec is not None and codec.held <= PIPELINE_LIMIT + len(read)
        browser.answer()


# Upstream


class Asking:
    """A request to the server, as an exchange makes it, and what has come of it."""

    def __init__(self) -> None:
        self.side: UpstreamSide | None = None
        self.failures: list[Failure] = []
        self.whole = False

    def upstream_open(self, side: UpstreamSide) -> None:
        self.side = side
        side.send_head(RequestHead(b"GET", b"/a", [], authority=b"api.test"))

    def response_head(self, head: ResponseHead) -> None:
        self.whole = head.ended

    def response_body(self, data: bytes) -> None:
        pass

    def response_end(self) -> None:
        self.whole = True

    def upstream_gone(self, failure: Failure) -> None:
        self.failures.append(failure)

    def upstream_drained(self) -> None:
        pass


class Socket:
    """What a connection asks of its TCP."""

    def __init__(self) -> None:
        self.options: dict[int, int] = {}

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self.options[option] = value


class TCP(Transport):
    """A transport with a socket."""

    def __init__(self, loop: Loop, wire: Wire) -> None:
        self.socket = Socket()
        super().__init__(loop, wire)

    def get_extra_info(self, name: str) -> Any:
        return self.socket


class Dialling(asyncio.SelectorEventLoop):
    """A loop on which everybody can be reached, over a transport that the test moves."""

    def __init__(self, offline: Offline) -> None:
        super().__init__()
        self._offline = offline
        self.transports: list[TCP] = []

    async def create_connection(self, factory: Callable[[], Wire], *where: object) -> None:  # type: ignore[override]
        self.transports.append(TCP(self._offline.loop, factory()))


class Server:
    """A server that foyer has a pool of connections to."""

    def __init__(self, protocol: str) -> None:
        self.offline = Offline()
        self.dialling = Dialling(self.offline)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority().configure_trust(context)
        context.set_alpn_protocols(["h2", "http/1.1"])
        self.pool = Upstream(UPSTREAM_HOST, 1, context, self.offline.turn, self.offline.wheel)
        self._protocol = protocol
        self._peer: Encrypted | None = None

    @property
    def transport(self) -> TCP:
        (transport,) = self.dialling.transports
        return transport

    def ask(self) -> Asking:
        asking = Asking()

        async def asked() -> None:
            self.pool.open(asking)
            await asyncio.sleep(0)  # the dialling's own turn

        self.dialling.run_until_complete(asked())
        self.offline.run()
        return asking

    def shake_hands(self) -> None:
        self._peer = Encrypted(self.transport, self.offline.run, server_context(self._protocol))
        self._peer.shake_hands()
        self.offline.run()

    def connected(self) -> Asking:
        """A request that has reached the server."""
        asking = self.ask()
        self.shake_hands()
        if self._protocol == "h2":
            self.bring(settings())
        assert asking.side is not None
        self.take()
        return asking

    def answer(self) -> None:
        if self._protocol == "h2":
            self.bring(headers(1, [(b":status", b"200")], end=True))
        else:
            self.bring(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def bring(self, content: bytes) -> None:
        assert self._peer is not None
        self._peer.bring(content)
        self.offline.run()

    def take(self) -> bytes:
        assert self._peer is not None
        taken = self._peer.take()
        self.offline.run()
        return taken

    def taken_frames(self) -> list[Frame]:
        return list(frames(self.take()))

    def wait(self, seconds: float) -> None:
        self.offline.pass_time(seconds)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = Server(getattr(request, "param", "h2"))
    yield server
    server.dialling.run_until_complete(asyncio.sleep(0))
    server.dialling.close()


both = pytest.mark.parametrize("server", ["http/1.1", "h2"], indirect=True)


@both
def test_a_server_that_does_not_shake_hands_is_a_timeout_after_10_seconds(server: Server) -> None:
    asking = server.ask()
    server.wait(CONNECT_TIME - 1)
    assert asking.failures == []
    server.wait(3)
    assert asking.failures == [Failure.TIMEOUT]
    assert server.transport.aborted and len(server.offline.wheel) == 0


def test_a_server_that_does_not_say_its_settings_is_a_timeout_after_10_seconds(server: Server) -> None:
    asking = server.ask()
    server.shake_hands()
    server.wait(CONNECT_TIME - 1)
    assert asking.failures == []
    server.wait(3)
    assert asking.failures == [Failure.TIMEOUT] and asking.side is None


@both
def test_an_unused_connection_is_closed_after_45_seconds(server: Server) -> None:
    asking = server.connected()
    server.wait(5)
    server.answer()
    assert asking.whole
    server.take()
    server.wait(POOLED_TIME - 1)
    assert server.pool.connections == 1
    server.wait(3)
    assert server.pool.connections == 0
    assert server.transport.closing and not server.transport.aborted


@both
def test_a_server_that_does_not_take_the_close_is_aborted(server: Server) -> None:
    asking = server.connected()
    server.answer()
    assert asking.whole
    server.take()
    server.wait(POOLED_TIME + 2)
    assert server.transport.closing and server.transport.sent, "close_notify"
    server.wait(CLOSING_TIME - 3)
    assert len(server.offline.wheel) == 1
    server.wait(5)
    assert server.transport.lost and server.transport.aborted and len(server.offline.wheel) == 0


def test_a_server_that_went_away_and_does_not_take_the_close_is_aborted(server: Server) -> None:
    asking = server.connected()
    server.answer()
    assert asking.whole
    server.take()
    server.bring(goaway(1))
    assert server.transport.closing and server.transport.sent
    server.wait(CLOSING_TIME - 1)
    assert len(server.offline.wheel) == 1
    server.wait(3)
    assert server.transport.lost and len(server.offline.wheel) == 0


def test_a_quiet_server_is_asked_after_15_seconds_and_goes_on_when_it_answers(server: Server) -> None:
    asking = server.connected()
    for _ in range(4):
        server.wait(QUIET_TIME - 1)
        assert server.take() == b""
        server.wait(3)
        (ping,) = server.taken_frames()
        assert ping.kind == Kind.PING
        server.wait(PING_TIME - 3)
        server.bring(b"\x00\x00\x08\x06\x01\x00\x00\x00\x00" + ping.payload)
    assert asking.failures == []
    server.answer()
    assert asking.whole


def test_a_server_that_answers_no_ping_is_a_timeout_10_seconds_later(server: Server) -> None:
    asking = server.connected()
    server.wait(QUIET_TIME + 2)
    assert server.taken_frames()[0].kind == Kind.PING
    server.wait(PING_TIME - 3)
    assert asking.failures == []
    server.wait(4)
    assert asking.failures == [Failure.TIMEOUT]
    assert server.transport.lost and len(server.offline.wheel) == 0


def test_whatever_a_server_sends_is_a_sign_of_life(server: Server) -> None:
    asking = server.connected()
    for _ in range(10):
        server.wait(QUIET_TIME - 2)
        server.bring(settings())
        assert all(frame.kind == Kind.SETTINGS for frame in server.taken_frames())
    assert asking.failures == []


@pytest.mark.parametrize("server", ["http/1.1"], indirect=True)
def test_over_http1_tcp_looks_after_a_quiet_server_as_soon(server: Server) -> None:
    asking = server.connected()
    options = server.transport.socket.options
    assert options[socket.SO_KEEPALIVE] == 1
    assert options[socket.TCP_KEEPIDLE] == QUIET_TIME
    assert options[socket.TCP_KEEPINTVL] * options[socket.TCP_KEEPCNT] == PING_TIME
    # Milliseconds, and for what was sent: nobody is probed who has yet to acknowledge it.
    assert options[socket.TCP_USER_TIMEOUT] == (QUIET_TIME + PING_TIME) * 1000
    server.wait(1000)
    assert asking.failures == [] and not server.transport.closing

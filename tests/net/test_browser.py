"""A browser's connection: how it begins and ends, what it costs, and what is left of it."""

import asyncio
import gc
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import h2.config
import h2.connection
import h2.events
import pytest

from foyer.exchange.endings import BrowserGone, Ending
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer, BrowserReceiver, BrowserSide
from foyer.gate.wheel import Wheel
from foyer.net.browser import BrowserConnection
from foyer.net.listener import Listener, server_context
from foyer.net.tls import TLSWire
from foyer.net.turn import Turn
from foyer.net.wire import Wire
from foyer.protocol.events import RequestHead, ResponseHead
from foyer.protocol.h1 import H1Server
from foyer.protocol.h2 import H2Server
from tests.exchange.sides import BOUNDS, Pool, Services, Upstream
from tests.net.offline import Offline, Transport
from tests.net.sockets import End, Peer, descriptors, on_a_loop, until
from tests.support.certs import ORIGIN_HOST, browser_context, write_certificate

GET = b"GET /a HTTP/1.1\r\nHost: foyer.test\r\n\r\n"


class Application:
    """Answers `/answer` by itself, and sends all else up to an upstream that the test plays."""

    def __init__(self) -> None:
        self.services = Services()
        self.heads: list[RequestHead] = []
        self.pools: list[Pool] = []
        self.floods: list[str] = []

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        exchange = Exchange(self.services, side, head)
        self.heads.append(head)
        if head.target == b"/answer":
            exchange.answer(Answer(200, [], b"hello"))
        else:
            self.pools.append(Pool())
            exchange.forward(head, self.pools[-1].open, BOUNDS)
        return exchange

    def unreadable(self, reason: str) -> None:
        """Its answer says it."""

    def flood(self, word: str) -> None:
        self.floods.append(word)

    @property
    def endings(self) -> list[Ending | None]:
        return self.services.endings

    @property
    def upstream(self) -> Upstream:
        side = self.pools[-1].side
        assert side is not None
        return side


class Connected:
    """A browser's connection without a kernel."""

    def __init__(self, *, application: Application | None = None) -> None:
        self.offline = Offline()
        self.application = application or Application()
        self.left = 0
        self.connection = BrowserConnection(
            self.application, self.offline.turn, self.offline.wheel, self._leave
        )
        self.transport = Transport(self.offline.loop, self.connection.attach(Wire(self.connection)))

    def _leave(self, connection: BrowserConnection) -> None:
        self.left += 1

    def bring(self, data: bytes) -> None:
        self.transport.bring(data)
        self.offline.run()

    def take(self) -> bytes:
        taken = self.transport.take()
        self.offline.run()
        return taken

    def end(self) -> None:
        self.transport.end()
        self.offline.run()


def browser() -> h2.connection.H2Connection:
    machine = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding=False))
    machine.initiate_connection()
    return machine


def ask(machine: h2.connection.H2Connection, path: bytes = b"/a", *, end: bool = True) -> int:
    stream = machine.get_next_available_stream_id()
    fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"foyer.test"), (b":path", path)]
    machine.send_headers(stream, fields, end_stream=end)
    return stream


# How it begins.


def test_http1_is_http1_wherever_its_first_bytes_are_split() -> None:
    for method in (b"GET", b"PRI", b"PROPFIND"):
        request = GET.replace(b"GET", method)
        for at in range(1, 20):
            connected = Connected()
            connected.bring(request[:at])
            connected.bring(request[at:])
            assert isinstance(connected.connection.codec, H1Server)
            assert [head.method for head in connected.application.heads] == [method]


def test_http2_by_prior_knowledge_is_known_wherever_its_preface_is_split() -> None:
    machine = browser()
    ask(machine)
    opening = machine.data_to_send()
    for at in range(1, 40):
        connected = Connected()
        connected.bring(opening[:at])
        connected.bring(opening[at:])
        assert isinstance(connected.connection.codec, H2Server)
        assert [head.target for head in connected.application.heads] == [b"/a"]


def test_a_byte_at_a_time_is_the_same_request() -> None:
    machine = browser()
    ask(machine)
    for opening in (GET, machine.data_to_send()):
        connected = Connected()
        for byte in opening:
            connected.bring(bytes([byte]))
        assert [head.target for head in connected.application.heads] == [b"/a"]


# Who half-closes has gone.


@pytest.mark.parametrize("at", ["before a request", "within a head", "within an upload", "within a response"])
def test_a_browser_that_closes_its_half_is_gone(at: str) -> None:
    connected = Connected()
    match at:
        case "within a head":
            connected.bring(GET[:20])
        case "within an upload":
            connected.bring(b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
        case "within a response":
            connected.bring(GET)
            connected.application.upstream.answer(ResponseHead(200, []))
            connected.application.upstream.content(b"half")
    connected.end()
    connected.take()
    assert connected.left == 1
    assert connected.application.endings == ([BrowserGone()] if connected.application.heads else [])
    assert all(pool.side is not None and pool.side.cancelled for pool in connected.application.pools)


def test_a_half_closed_http1_0_browser_that_still_reads_sees_no_clean_end() -> None:
    """Its response ends with the connection, so that a close would make a part pass for the whole."""
    connected = Connected()
    connected.bring(b"GET /a HTTP/1.0\r\n\r\n".replace(b"\r\n\r\n", b"\r\nHost: a\r\n\r\n"))
    connected.application.upstream.answer(ResponseHead(200, []))
    connected.application.upstream.content(b"half of it")
    connected.offline.run()
    assert connected.take().endswith(b"half of it")
    connected.end()
    assert connected.transport.aborted and connected.left == 1


# What it costs.


def test_hundreds_of_pipelined_requests_wait_their_turn_and_are_answered_in_order() -> None:
    connected = Connected()
    asked = b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(500))
    for number in range(500):
        while asked and connected.transport.reads:
            asked = asked[connected.transport.bring(asked) :]
            connected.offline.run()
        assert [len(connected.application.heads), connected.application.heads[-1].target] == [
            number + 1,
            b"/%d" % number,
        ]
        connected.application.upstream.answer(ResponseHead(200, [(b"content-length", b"0")], ended=True))
        connected.offline.run()
        assert connected.take().startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_a_browser_that_asks_and_asks_and_never_reads_is_not_read_either(version: str) -> None:
    connected = Connected()
    machine = browser()
    most = 0
    for _ in range(5000):
        connected.offline.pass_time(0.5)  # slowly enough to be no flood
        if not connected.transport.reads:
            break
        if version == "h1":
            connected.bring(b"GET /answer HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
        else:
            for _ in range(10):
                ask(machine, b"/answer")
            connected.bring(machine.data_to_send())
        most = max(most, len(connected.transport.sent))
    else:
        pytest.fail("it was read for ever")
    assert most < 400_000


# What is left of it.


@pytest.fixture
def no_collections() -> object:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive(*kinds: type) -> list[str]:
    """The objects of these kinds that have not been freed, by name."""
    return [type(each).__name__ for each in gc.get_objects() if type(each) in kinds]


@pytest.mark.parametrize("ended", ["whole", "cut", "refused"])
def test_an_exchange_that_is_over_is_freed_without_a_collection(ended: str, no_collections: object) -> None:
    """One in a second's thousands left to the collector is a pause for everybody."""
    connected = Connected()
    machine = browser()
    connected.bring(machine.data_to_send())
    for _ in range(20):
        ask(machine)
        connected.bring(machine.data_to_send())
        upstream = connected.application.upstream
        match ended:
            case "whole":
                upstream.answer(ResponseHead(200, []))
                upstream.content(b"all of it")
                upstream.end()
            case "cut":
                upstream.answer(ResponseHead(200, []))
                machine.reset_stream(machine.highest_outbound_stream_id)
                connected.bring(machine.data_to_send())
            case "refused":
                connected.application.services.failing = RuntimeError()
                upstream.answer(ResponseHead(200, []))
                connected.application.services.faults.clear()
                connected.application.services.failing = None
        connected.offline.run()
        machine.receive_data(connected.take())
        connected.application.pools.clear()
        del upstream
    assert len(connected.application.endings) == 20
    assert alive(Exchange) == []


class Served(Application):
    """Every request is answered with 100 KB, or with nothing but its head."""

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        self.heads.append(head)
        exchange = Exchange(self.services, side, head)
        if head.target != b"/silence":
            exchange.answer(Answer(200, [], bytes(100_000)))
        return exchange


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    certificate, key = write_certificate(tmp_path_factory.mktemp("certificate"), ORIGIN_HOST)
    return server_context(str(certificate), str(key))


@asynccontextmanager
async def listening(context: ssl.SSLContext | None) -> AsyncIterator[tuple[Listener, Served]]:
    turn = Turn(asyncio.get_running_loop())
    application = Served()
    before = descriptors()
    tls = None if context is None else (lambda: context)
    listener = Listener(application, turn, Wheel(turn.now()), tls)
    await listener.open("127.0.0.1", 0)
    yield listener, application
    listener.stop_accepting()
    async with asyncio.timeout(10):
        await listener.emptied()
    await until(lambda: descriptors() <= before)


KINDS = (BrowserConnection, Exchange, TLSWire, Wire, H1Server, H2Server, ssl.SSLObject)


@pytest.mark.parametrize("leave", [Peer.half_close, Peer.close, Peer.drop])
@pytest.mark.parametrize("version", ["h2", "http/1.1", "plain"])
@on_a_loop
async def test_nothing_is_left_of_a_connection_that_has_gone(
    context: ssl.SSLContext, version: str, leave: Callable[[Peer], None]
) -> None:
    async with listening(None if version == "plain" else context) as (listener, application):
        before = len(alive(*KINDS))
        gc.disable()
        try:
            for number in range(8):
                await one_visit(listener.port, version, number, leave)
                await until(lambda: not listener.connections)
            # The rest of a turn may still hold one. A cycle would stay: nothing is collected meanwhile.
            await until(lambda: len(alive(*KINDS)) <= before)
        finally:
            gc.enable()
        assert len(application.endings) == len(application.heads) >= 6


async def one_visit(port: int, version: str, number: int, leave: Callable[[Peer], None]) -> None:
    """A connection with one request, left before, within or after its answer."""
    peer = await Peer.connect(port)
    if version != "plain":
        await peer.start_tls(browser_context(version), ORIGIN_HOST)
    target = b"/silence" if number % 4 == 0 else b"/a"
    if version == "h2":
        machine = browser()
        ask(machine, target)
        await peer.send(machine.data_to_send())
    else:
        await peer.send(b"GET %b HTTP/1.1\r\nHost: foyer.test\r\n\r\n" % target)
    if number % 4:
        await peer.receive()
    leave(peer)
    peer.close()


@on_a_loop
async def test_a_drain_closes_what_is_idle_and_takes_nobody_new(context: ssl.SSLContext) -> None:
    async with listening(context) as (listener, _):
        idle = await Peer.connect(listener.port)
        await idle.start_tls(browser_context("http/1.1"), ORIGIN_HOST)
        shaking_hands = await Peer.connect(listener.port)
        await until(lambda: listener.connections == 2)
        port = listener.port
        listener.stop_accepting()
        assert await idle.receive_until_end() == (b"", End.CLEAN)
        with pytest.raises(ConnectionRefusedError):
            await Peer.connect(port)
        await until(lambda: not listener.connections)
        idle.close()
        shaking_hands.close()


@on_a_loop
async def test_an_address_that_is_taken_is_an_oserror_and_leaves_nothing() -> None:
    async with listening(None) as (listener, _):
        turn = Turn(asyncio.get_running_loop())
        second = Listener(Served(), turn, Wheel(turn.now()))
        with pytest.raises(OSError, match="address already in use"):
            await second.open("127.0.0.1", listener.port)

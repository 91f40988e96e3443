"""TLS by hand and plain TCP, over real sockets (performance.md, 2: a test for each thing that asks)."""

import asyncio
import gc
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from foyer.net.listener import server_context
from foyer.net.tls import TLSWire
from foyer.net.turn import Turn
from foyer.net.upstream import client_context
from foyer.net.wire import CHOKED, WRITE_HIGH, Wire
from tests.net.sockets import PATIENCE, End, Heard, Peer, descriptors, on_a_loop, until
from tests.support.certs import (
    ORIGIN_HOST,
    UPSTREAM_HOST,
    authority,
    browser_context,
    stranger,
    write_authority,
    write_certificate,
)
from tests.support.certs import server_context as peers_context

Wires = Callable[[Heard], Wire]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def context(folder: Path) -> ssl.SSLContext:
    """What foyer shows its browsers."""
    certificate, key = write_certificate(folder, ORIGIN_HOST)
    return server_context(str(certificate), str(key))


@pytest.fixture(scope="module")
def roots(folder: Path) -> ssl.SSLContext:
    """What foyer verifies its upstreams by."""
    return client_context(str(write_authority(folder)), extra=False)


class Listening:
    """A port on which foyer's end of each connection is a wire."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires
        self.heard: list[Heard] = []
        self.accepted: list[Wire] = []
        self.port = 0

    def accept(self) -> Wire:
        heard = Heard()
        self.heard.append(heard)
        self.accepted.append(self._wires(heard))
        return self.accepted[-1]

    async def peer(self, tls: ssl.SSLContext | None = None, hostname: str | None = ORIGIN_HOST) -> Peer:
        """A new connection, its handshake done."""
        peer = await Peer.connect(self.port)
        if tls is not None:
            await peer.start_tls(tls, hostname)
        await until(lambda: self.heard and self.heard[-1].protocols)
        return peer


@asynccontextmanager
async def listening(wires: Wires) -> AsyncIterator[Listening]:
    before = descriptors()
    listening = Listening(wires)
    server = await asyncio.get_running_loop().create_server(listening.accept, "127.0.0.1", 0)
    listening.port = server.sockets[0].getsockname()[1]
    try:
        yield listening
    finally:
        for wire in listening.accepted:
            wire.abort()
        server.close()
        await server.wait_closed()
    await until(lambda: all(heard.reasons for heard in listening.heard))
    await until(lambda: descriptors() <= before)


@asynccontextmanager
async def secured(context: ssl.SSLContext) -> AsyncIterator[Listening]:
    turn = Turn(asyncio.get_running_loop())
    async with listening(lambda heard: TLSWire(heard, context, turn=turn)) as served:
        yield served


# What is not wanted any more.


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@on_a_loop
async def test_a_peer_to_whom_nobody_listens_still_hears_and_its_end_is_noticed(
    context: ssl.SSLContext, tls: bool
) -> None:
    async with secured(context) if tls else listening(Wire) as served:
        peer = await served.peer(browser_context("h2") if tls else None)
        heard, wire = served.heard[0], served.accepted[0]
        await peer.send(b"before")
        await until(lambda: heard.data == b"before")
        wire.deafen()
        read = heard.read
        await peer.send(bytes(100_000))
        await until(lambda: heard.read >= read + 100_000)
        wire.write(b"why")
        assert await peer.receive() == b"why"
        peer.close()
        await until(lambda: heard.ends or heard.reasons)
        assert heard.data == b"before"


# Opening.


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize(("offered", "chosen"), [
    (["h2", "http/1.1"], "h2"),
    (["http/1.1", "h2"], "h2"),
    (["http/1.1"], "http/1.1"),
    (["spdy/3"], "http/1.1"),
    ([], "http/1.1"),
])  # fmt: skip
@on_a_loop
async def test_alpn_chooses_h2_then_http_1_1_and_whoever_says_nothing_speaks_http_1_1(
    context: ssl.SSLContext, offered: list[str], chosen: str, version: ssl.TLSVersion
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority().configure_trust(tls)
    tls.minimum_version = tls.maximum_version = version
    if offered:
        tls.set_alpn_protocols(offered)
    async with secured(context) as served:
        peer = await served.peer(tls)
        assert served.heard[0].protocols == [chosen]
        await peer.send(b"hello")
        await until(lambda: served.heard[0].data == b"hello")
        served.accepted[0].write(b"world")
        assert await peer.receive() == b"world"
        peer.close()


@on_a_loop
async def test_a_browser_that_names_no_host_is_served(context: ssl.SSLContext) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    async with secured(context) as served:
        peer = await served.peer(tls, None)
        await peer.send(b"hello")
        await until(lambda: served.heard[0].data == b"hello")
        peer.close()


@on_a_loop
async def test_tls_1_1_is_refused(context: ssl.SSLContext) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority().configure_trust(tls)
    tls.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.minimum_version = tls.maximum_version = ssl.TLSVersion.TLSv1_1
    async with secured(context) as served:
        peer = await Peer.connect(served.port)
        with pytest.raises(ssl.SSLError):
            await peer.start_tls(tls, ORIGIN_HOST)
        await until(lambda: served.heard and served.heard[0].reasons)
        assert served.heard[0].protocols == []
        peer.close()


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(70_000), b"\x80" * 5]
)
@on_a_loop
async def test_what_is_no_handshake_ends_the_connection_with_its_reason(
    context: ssl.SSLContext, garbage: bytes
) -> None:
    async with secured(context) as served:
        peer = await Peer.connect(served.port)
        await peer.send_raw(garbage)
        await until(lambda: served.heard and served.heard[0].reasons)
        [reason] = served.heard[0].reasons
        assert isinstance(reason, ssl.SSLError)
        assert not served.heard[0].protocols and not served.heard[0].data
        peer.close()


@pytest.mark.parametrize("leave", [Peer.half_close, Peer.close, Peer.drop])
@on_a_loop
async def test_a_connection_that_ends_within_the_handshake_is_lost_once(
    context: ssl.SSLContext, leave: Callable[[Peer], None]
) -> None:
    async with secured(context) as served:
        peer = await Peer.connect(served.port)
        await peer.send_raw(b"\x16\x03\x01\x02\x00")
        await until(lambda: served.heard)
        leave(peer)
        await until(lambda: served.heard[0].reasons)
        assert served.heard[0].protocols == []
        peer.close()


@on_a_loop
async def test_a_handshake_a_byte_at_a_time_is_a_handshake(context: ssl.SSLContext) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = browser_context("h2").wrap_bio(incoming, outgoing, server_hostname=ORIGIN_HOST)
    async with secured(context) as served:
        peer = await Peer.connect(served.port)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    await peer.send_raw(bytes([byte]))
                incoming.write(await peer.receive())
        await peer.send_raw(outgoing.read())
        await until(lambda: served.heard[0].protocols == ["h2"])
        peer.close()


# The end, in both directions.


@pytest.mark.parametrize("content", [b"", b"the last words"])
@on_a_loop
async def test_close_notify_is_a_clean_end_after_what_came_with_it(
    context: ssl.SSLContext, content: bytes
) -> None:
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        if content:
            peer.tls.write(content)
        await peer.say_goodbye()
        await until(lambda: served.heard[0].ends)
        assert (bytes(served.heard[0].data), served.heard[0].ends) == (content, [True])
        peer.half_close()  # which changes nothing any more
        served.accepted[0].close()
        await until(lambda: served.heard[0].reasons)
        assert served.heard[0].ends == [True]
        peer.close()


@on_a_loop
async def test_a_close_without_close_notify_may_be_a_truncation(context: ssl.SSLContext) -> None:
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        await peer.send(b"the first half")
        peer.half_close()
        await until(lambda: served.heard[0].ends)
        assert (bytes(served.heard[0].data), served.heard[0].ends) == (b"the first half", [False])
        peer.close()


@on_a_loop
async def test_a_reset_is_a_loss_and_no_end(context: ssl.SSLContext) -> None:
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        peer.drop()
        await until(lambda: served.heard[0].reasons)
        assert served.heard[0].ends == []


@on_a_loop
async def test_a_plain_close_is_a_clean_end() -> None:
    async with listening(Wire) as served:
        peer = await served.peer()
        await peer.send(b"all of it")
        peer.half_close()
        await until(lambda: served.heard[0].ends)
        assert (bytes(served.heard[0].data), served.heard[0].ends) == (b"all of it", [True])
        peer.close()


@on_a_loop
async def test_a_close_says_goodbye_after_what_was_written(context: ssl.SSLContext) -> None:
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        served.accepted[0].write(bytes(3_000_000))
        served.accepted[0].close()
        served.accepted[0].write(b"too late")
        assert await peer.receive_until_end() == (bytes(3_000_000), End.CLEAN)
        peer.close()


@on_a_loop
async def test_being_cut_off_delivers_what_was_written_and_says_no_goodbye(context: ssl.SSLContext) -> None:
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        served.accepted[0].write(bytes(3_000_000))
        served.accepted[0].cut_off()
        assert await peer.receive_until_end() == (bytes(3_000_000), End.RAGGED)
        peer.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@on_a_loop
async def test_an_abort_drops_what_was_not_sent(context: ssl.SSLContext, tls: bool) -> None:
    async with secured(context) if tls else listening(Wire) as served:
        peer = await served.peer(browser_context("h2") if tls else None)
        served.accepted[0].write(bytes(30_000_000))
        served.accepted[0].abort(reset=True)
        data, end = await peer.receive_until_end()
        assert len(data) < 30_000_000
        assert end is End.RESET
        peer.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@on_a_loop
async def test_after_our_end_the_peers_bytes_still_come_and_nothing_more_is_written(
    context: ssl.SSLContext, tls: bool
) -> None:
    """Lingering: a browser that has not finished its upload must be able to read why."""
    async with secured(context) if tls else listening(Wire) as served:
        peer = await served.peer(browser_context("h2") if tls else None)
        await peer.send(b"before")
        served.accepted[0].write(b"413")
        served.accepted[0].finish()
        served.accepted[0].finish()
        served.accepted[0].write(b"too late")
        await peer.send(bytes(3_000_000))
        assert await peer.receive_until_end() == (b"413", End.CLEAN)
        await until(lambda: len(served.heard[0].data) == 3_000_006)
        peer.half_close()
        await until(lambda: served.heard[0].ends)
        served.accepted[0].close()
        await until(lambda: served.heard[0].reasons)
        peer.close()


# Breaches.


@on_a_loop
async def test_a_record_that_was_tampered_with_ends_the_connection_after_what_was_good(
    context: ssl.SSLContext,
) -> None:
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        served.heard[0].on_end = served.accepted[0].close
        await peer.send(b"good")
        await peer.send_raw(b"\x17\x03\x03\x00\x30" + bytes(48))
        await until(lambda: served.heard[0].reasons)
        assert (bytes(served.heard[0].data), served.heard[0].ends) == (b"good", [False])
        _, end = await peer.receive_until_end()
        assert end is End.ALERT
        assert peer.failure is not None and "BAD_RECORD_MAC" in str(peer.failure).upper().replace(" ", "_")
        peer.close()


@on_a_loop
async def test_a_breach_by_a_peer_that_does_not_read_leaves_the_close_to_its_owner(
    context: ssl.SSLContext,
) -> None:
    """Or the descriptor would stay for as long as the peer likes, counted by nobody."""
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        wire = served.accepted[0]
        served.heard[0].on_end = wire.close
        while not wire.congested:
            wire.write(bytes(5_000))
            await asyncio.sleep(0)
        await peer.send_raw(b"\x17\x03\x03\x00\x30" + bytes(48))
        await until(lambda: served.heard[0].ends == [False])
        assert served.heard[0].reasons == [], "not lost yet: its owner can still abort it"
        wire.abort()
        await until(lambda: served.heard[0].reasons)
        peer.close()


# Volume.


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@on_a_loop
async def test_writing_stops_at_the_mark_and_goes_on_when_there_is_room(
    context: ssl.SSLContext, tls: bool
) -> None:
    async with secured(context) if tls else listening(Wire) as served:
        peer = await served.peer(browser_context("h2") if tls else None)
        wire, heard = served.accepted[0], served.heard[0]
        sent = 0
        while not wire.congested:
            wire.write(bytes(10_000))
            sent += 10_000
            await asyncio.sleep(0)
        assert WRITE_HIGH < wire.unsent < WRITE_HIGH + 12_000
        room = heard.room
        data = await peer.receive()
        while len(data) < sent:
            data += await peer.receive()
        assert len(data) == sent
        await until(lambda: heard.room > room)
        await until(lambda: not wire.congested)
        peer.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@on_a_loop
async def test_megabytes_pass_both_ways_at_once(context: ssl.SSLContext, tls: bool) -> None:
    async with secured(context) if tls else listening(Wire) as served:
        peer = await served.peer(browser_context("h2") if tls else None)
        wire, heard = served.accepted[0], served.heard[0]
        content = bytes(range(256)) * 20_000
        wire.write(content)
        got, _ = await asyncio.gather(peer.receive_exactly(len(content)), peer.send(content))
        assert got == content
        await until(lambda: heard.data == content)
        peer.close()


@on_a_loop
async def test_a_paused_wire_reads_nothing_and_loses_nothing(context: ssl.SSLContext) -> None:
    async with secured(context) as served:
        peer = await served.peer(browser_context("h2"))
        wire, heard = served.accepted[0], served.heard[0]
        heard.on_data = wire.pause
        sending = asyncio.create_task(peer.send(bytes(12_000_000)))
        await until(lambda: heard.data)
        await asyncio.sleep(0.05)  # can only make a failing test pass
        assert len(heard.data) <= 96 * 1024
        heard.on_data = lambda: None
        wire.resume()
        wire.resume()
        await sending
        await until(lambda: len(heard.data) == 12_000_000)
        peer.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@on_a_loop
async def test_a_peer_that_makes_us_write_and_never_reads_is_not_read_either(
    context: ssl.SSLContext, tls: bool
) -> None:
    async with secured(context) if tls else listening(Wire) as served:
        peer = await served.peer(browser_context("h2") if tls else None)
        wire, heard = served.accepted[0], served.heard[0]
        most = 0

        def answer() -> None:
            nonlocal most
            wire.write(bytes(30_000))
            most = max(most, wire.unsent)

        heard.on_data = answer
        asking = asyncio.create_task(_ask(peer))
        await until(lambda: wire.choked)
        assert most < CHOKED + 7 * 31_000  # what one read had brought already, in pieces of 16 KiB
        heard.on_data = lambda: None
        while wire.choked:
            await peer.receive()
        before = len(heard.data)
        await until(lambda: len(heard.data) > before)
        asking.cancel()
        peer.close()


async def _ask(peer: Peer) -> None:
    while True:
        await peer.send(b"?")
        await asyncio.sleep(0)


# foyer as the client.


@asynccontextmanager
async def dialled(
    roots: ssl.SSLContext, hostname: str = UPSTREAM_HOST
) -> AsyncIterator[tuple[Peer, Heard, Wire]]:
    """A TCP connection from foyer that a peer has accepted; the handshake is the peer's to begin."""
    loop = asyncio.get_running_loop()
    heard = Heard()
    wire = TLSWire(heard, roots, hostname=hostname)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        dialling = asyncio.create_task(loop.create_connection(lambda: wire, *listener.getsockname()))
        accepted, _ = await loop.sock_accept(listener)
        await dialling
    peer = Peer(accepted)
    try:
        yield peer, heard, wire
    finally:
        wire.abort()
        peer.close()
    await until(lambda: heard.reasons)


@pytest.mark.parametrize("alpn", ["h2", "http/1.1"])
@on_a_loop
async def test_an_upstream_is_verified_and_spoken_to_in_what_it_chose(
    roots: ssl.SSLContext, alpn: str
) -> None:
    async with dialled(roots) as (peer, heard, wire):
        await peer.start_tls(peers_context(alpn), server=True)
        await until(lambda: heard.protocols)
        assert heard.protocols == [alpn]
        wire.write(b"a request")
        assert await peer.receive_exactly(9) == b"a request"


@pytest.mark.parametrize(
    ("certificate", "hostname"),
    [("another authority", UPSTREAM_HOST), ("another host", UPSTREAM_HOST), ("this host", "localhost")],
)
@on_a_loop
async def test_nothing_is_said_to_an_upstream_that_is_not_who_it_should_be(
    roots: ssl.SSLContext, certificate: str, hostname: str
) -> None:
    ca = stranger() if certificate == "another authority" else None
    shown = peers_context("h2", "example.test" if certificate == "another host" else UPSTREAM_HOST, ca=ca)
    async with dialled(roots, hostname) as (peer, heard, _):
        with suppress(ssl.SSLError, EOFError):  # in TLS 1.3 the peer is done before it hears of it
            await peer.start_tls(shown, server=True)
        await until(lambda: heard.reasons)
        assert heard.protocols == []
        assert isinstance(heard.reasons[0], ssl.SSLCertVerificationError)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@on_a_loop
async def test_a_client_certificate_that_is_asked_for_is_not_sent(
    roots: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    """An API server asks for one and goes on without: people are known by their token."""
    asking = peers_context("h2")
    asking.minimum_version = asking.maximum_version = version
    asking.verify_mode = ssl.CERT_OPTIONAL
    authority().configure_trust(asking)
    async with dialled(roots) as (peer, heard, _):
        await peer.start_tls(asking, server=True)
        assert peer.tls.getpeercert() is None
        await until(lambda: heard.protocols == ["h2"])
        await peer.send(b"hello")
        await until(lambda: heard.data == b"hello")


@on_a_loop
async def test_an_upstream_that_insists_on_a_client_certificate_is_an_unclean_end(
    roots: ssl.SSLContext,
) -> None:
    """In TLS 1.3 its alert comes after the handshake."""
    insisting = peers_context("h2")
    insisting.verify_mode = ssl.CERT_REQUIRED
    authority().configure_trust(insisting)
    async with dialled(roots) as (peer, heard, wire):
        heard.on_end = wire.close
        with pytest.raises(ssl.SSLError):
            await peer.start_tls(insisting, server=True)
        await until(lambda: heard.ends)
        assert heard.ends == [False]


@on_a_loop
async def test_an_upstream_that_closes_instead_of_shaking_hands_is_a_loss(roots: ssl.SSLContext) -> None:
    async with dialled(roots) as (peer, heard, _):
        peer.half_close()
        await until(lambda: heard.reasons)
        assert heard.protocols == []


@on_a_loop
async def test_what_an_upstream_said_before_it_reset_the_connection_under_our_writing_is_heard(
    roots: ssl.SSLContext,
) -> None:
    """A19: it answered an upload before its end, and closed with the rest unread."""
    async with dialled(roots) as (peer, heard, wire):
        await peer.start_tls(peers_context("http/1.1"), server=True)
        await until(lambda: heard.protocols)
        while not wire.congested:
            wire.write(bytes(100_000))
            await asyncio.sleep(0)
        await peer.send(b"413, and why")
        peer.close()
        wire.pause()  # or the loop might read it before it writes
        wire.write(bytes(100_000))
        await until(lambda: heard.reasons)
        assert heard.data == b"413, and why"
        assert heard.ends == []


# What Python's ssl cannot do as a client.

OPENSSL = shutil.which("openssl")

with_openssl = pytest.mark.skipif(
    OPENSSL is None, reason="Python's ssl sends no KeyUpdate and renegotiates nothing"
)


class Client:
    """`openssl s_client`, which does what a capital letter on a line of its own says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    @staticmethod
    async def connect(port: int, *options: str) -> "Client":
        assert OPENSSL is not None
        return Client(
            await asyncio.create_subprocess_exec(
                *(OPENSSL, "s_client", "-connect", f"127.0.0.1:{port}", *options),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
        )

    async def say(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        await self.stdin.drain()

    async def read_until(self, text: bytes) -> bytes:
        """Its output up to `text`."""
        async with asyncio.timeout(PATIENCE):
            return await self.stdout.readuntil(text)

    async def read_to_end(self) -> bytes:
        """The rest of its output, once it has given up."""
        async with asyncio.timeout(PATIENCE):
            return await self.stdout.read()

    async def leave(self) -> None:
        self.stdin.close()
        await self.stdout.read()
        await self._process.wait()


@with_openssl
@on_a_loop
async def test_a_key_update_of_the_peers_is_answered_and_the_connection_goes_on(
    context: ssl.SSLContext,
) -> None:
    """RFC 8446 section 4.6.3: reading it makes us write one before our next data."""
    async with secured(context) as served:
        client = await Client.connect(served.port, "-tls1_3")
        await client.read_until(b"Verify return code")
        wire, heard = served.accepted[0], served.heard[0]
        for round_ in range(20):
            await client.say(b"K")
            await client.read_until(b"KEYUPDATE\n")
            await client.say(b"question %d" % round_)
            await until(lambda number=round_: heard.data.endswith(b"question %d\n" % number))  # type: ignore[misc]
            wire.write(b"answer %d\n" % round_)
            await client.read_until(b"answer %d\n" % round_)
        await client.leave()
        await until(lambda: heard.ends)
        assert heard.ends == [True]


@with_openssl
@on_a_loop
async def test_a_renegotiation_is_refused(context: ssl.SSLContext) -> None:
    """It costs us a handshake for a few bytes of theirs; and RFC 9113 section 9.2.1 forbids it."""
    async with secured(context) as served:
        client = await Client.connect(served.port, "-tls1_2")
        await client.read_until(b"Extended master secret")
        await until(lambda: served.heard[0].protocols)
        wire, heard = served.accepted[0], served.heard[0]
        await client.say(b"R")
        output = await client.read_to_end()
        assert b"no renegotiation" in output
        assert heard.protocols == ["http/1.1"]
        wire.abort()
        await client.leave()


# What is left.


@pytest.mark.parametrize("leave", [Peer.half_close, Peer.close, Peer.drop])
@on_a_loop
async def test_a_lost_connection_is_freed_without_a_collection(
    context: ssl.SSLContext, leave: Callable[[Peer], None]
) -> None:
    """18 KiB of OpenSSL's each, which a collection of a large process may leave for minutes."""
    async with secured(context) as served:
        gc.collect()
        gc.disable()
        try:
            before = alive(TLSWire)
            for _ in range(20):
                peer = await served.peer(browser_context("h2"))
                served.heard[-1].on_end = served.accepted[-1].close
                await peer.send(b"hello")
                leave(peer)
                await until(lambda: served.heard[-1].reasons)
                peer.close()
                served.accepted.clear()
                served.heard.clear()
            await asyncio.sleep(0)
            assert alive(TLSWire) <= before
        finally:
            gc.enable()


def alive(kind: type) -> int:
    """Objects of `kind` that have not been freed."""
    return sum(type(each) is kind for each in gc.get_objects())

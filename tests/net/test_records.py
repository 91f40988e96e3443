"""Records that bring nothing, or a crumb: an end to the one kind, a turn's share for the other."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.net.connection import TURN_BYTES
from foyer.net.listener import server_context
from foyer.net.records import Records
from foyer.net.tls import CONTENT_FOR_A_QUIET_RECORD
from foyer.net.upstream import client_context
from foyer.net.wire import Wire
from foyer.protocol.floods import Flood
from tests.net.records import Sender12, Sender13, logged, randoms_and_master, secret
from tests.net.sockets import Heard, Peer, on_a_loop, until
from tests.net.test_wire import Listening, dialled, secured
from tests.support.certs import ORIGIN_HOST, own_browser_context, write_authority, write_certificate
from tests.support.certs import server_context as peers_context

LIMIT = int(Flood.KEY_UPDATE.burst)

Ended = tuple[Peer, Sender13, Heard, Wire]


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    certificate, key = write_certificate(tmp_path, ORIGIN_HOST)
    return server_context(str(certificate), str(key))


@asynccontextmanager
async def a_browser(context: ssl.SSLContext, folder: Path) -> AsyncIterator[Ended]:
    """A browser that is connected to a wire, and its hand for records."""
    tls = own_browser_context("h2")
    keys = logged(tls, folder, ssl.TLSVersion.TLSv1_3)
    async with secured(context) as served:
        peer = await served.peer(tls)
        sender = Sender13(secret(keys, "CLIENT_TRAFFIC_SECRET_0"), _cipher(peer))
        yield peer, sender, served.heard[0], served.accepted[0]
        peer.close()


@asynccontextmanager
async def a_server(context: ssl.SSLContext, folder: Path) -> AsyncIterator[Ended]:
    """A server that a wire has dialled, and its hand for records."""
    tls = peers_context("h2")
    keys = logged(tls, folder, ssl.TLSVersion.TLSv1_3)
    tls.num_tickets = 0  # they would be the first of the records
    async with dialled(client_context(str(write_authority(folder)), extra=False)) as (peer, heard, wire):
        await peer.start_tls(tls, server=True)
        await until(lambda: heard.protocols)
        yield peer, Sender13(secret(keys, "SERVER_TRAFFIC_SECRET_0"), _cipher(peer)), heard, wire


def _cipher(peer: Peer) -> str:
    cipher = peer.tls.cipher()
    assert cipher is not None
    return cipher[0]


Connected = Callable[[ssl.SSLContext, Path], AbstractAsyncContextManager[Ended]]

peers = pytest.mark.parametrize("connected", [a_browser, a_server])


@peers
@pytest.mark.parametrize("between", [b"", b"x"], ids=["in a row", "with an octet between"])
@pytest.mark.parametrize("requested", [True, False], ids=["to be answered", "not to be answered"])
@on_a_loop
async def test_key_updates_without_end_are_the_end(
    context: ssl.SSLContext,
    tmp_path: Path,
    connected: Connected,
    between: bytes,
    requested: bool,
) -> None:
    async with connected(context, tmp_path) as (peer, sender, heard, wire):
        heard.on_end = wire.close
        flood = b"".join(
            sender.key_update(requested=requested) + (sender.content(between) if between else b"")
            for _ in range(1_500)
        )
        await peer.send_raw(flood)
        await until(lambda: heard.ends)
        assert heard.ends == [False]
        assert wire.flooded
        assert len(heard.data) <= (LIMIT + 32) * len(between)


@peers
@on_a_loop
async def test_key_updates_now_and_then_are_answered_for_ever(
    context: ssl.SSLContext,
    tmp_path: Path,
    connected: Connected,
) -> None:
    async with connected(context, tmp_path) as (peer, sender, heard, wire):
        piece = bytes(16_384)
        for _ in range(3 * LIMIT):
            await peer.send_raw(sender.key_update(requested=True))
            for _ in range(CONTENT_FOR_A_QUIET_RECORD // len(piece)):
                await peer.send_raw(sender.content(piece))
        await until(lambda: len(heard.data) == 3 * LIMIT * CONTENT_FOR_A_QUIET_RECORD)
        assert heard.ends == [] and not wire.flooded
        wire.write(b"with the newest keys")
        assert await peer.receive_exactly(20) == b"with the newest keys"


@on_a_loop
async def test_attempts_at_a_renegotiation_have_an_end(context: ssl.SSLContext, tmp_path: Path) -> None:
    """Each is refused by a warning, which costs as much as a ping; RFC 9113 section 9.2.1 forbids them."""
    tls = own_browser_context("h2")
    keys = logged(tls, tmp_path, ssl.TLSVersion.TLSv1_2)
    async with secured(context) as served:
        peer, sender = await _over_tls_1_2(served, tls, keys)
        heard, wire = served.heard[0], served.accepted[0]
        heard.on_end = wire.close
        await peer.send_raw(sender.client_hello() + sender.content(b"still there"))
        await until(lambda: heard.data == b"still there")
        assert heard.ends == []
        await peer.send_raw(b"".join(sender.client_hello() for _ in range(500)))
        await until(lambda: heard.ends)
        assert heard.ends == [False] and wire.flooded
        peer.close()


async def _over_tls_1_2(served: Listening, tls: ssl.SSLContext, keys: Path) -> tuple[Peer, Sender12]:
    peer = await Peer.connect(served.port)
    received: list[bytes] = []
    keep = peer._receive_raw

    async def receive_raw() -> bytes:
        received.append(await keep())
        return received[-1]

    peer._receive_raw = receive_raw  # type: ignore[method-assign]
    await peer.start_tls(tls, ORIGIN_HOST)
    await until(lambda: served.heard and served.heard[-1].protocols)
    server_random = b"".join(received)[11:43]  # behind the record's header, the message's and the version
    client_random, master = randoms_and_master(keys)
    return peer, Sender12(master, client_random, server_random)


@on_a_loop
async def test_crumbs_have_a_turns_share_of_reading_and_a_small_buffer(
    context: ssl.SSLContext, tmp_path: Path
) -> None:
    async with a_browser(context, tmp_path) as (peer, sender, heard, wire):
        large = len(wire.get_buffer(-1))
        assert large >= TURN_BYTES
        await peer.send_raw(sender.content(bytes(16_384)))
        await until(lambda: len(heard.data) == 16_384)
        assert len(wire.get_buffer(-1)) == large
        before = heard.read
        await peer.send_raw(b"".join(sender.content(b"x") for _ in range(300)))
        await until(lambda: len(heard.data) == 16_384 + 300)
        assert heard.read - before > 2 * TURN_BYTES
        assert len(wire.get_buffer(-1)) < large / 16
        await peer.send_raw(b"".join(sender.content(bytes(16_384)) for _ in range(20)))
        await until(lambda: len(heard.data) == 21 * 16_384 + 300)
        assert len(wire.get_buffer(-1)) == large


@given(
    st.lists(st.integers(0, 300), max_size=80),
    st.lists(st.integers(0, 2_000), max_size=10),
)
def test_records_are_found_however_they_are_cut(sizes: list[int], cuts: list[int]) -> None:
    wire = b"".join(b"\x17\x03\x03" + size.to_bytes(2, "big") + bytes(size) for size in sizes)
    at = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    records = Records()
    given_on, ended = b"", 0
    for begin, end in pairwise(at):
        for piece, count in records.groups(memoryview(wire)[begin:end]):
            given_on += piece
            ended += count
            assert count <= 32
    assert (given_on, ended) == (wire, len(sizes))


def test_a_wire_is_given_no_more_records_at_a_time_than_it_can_be_stopped_after() -> None:
    wire = memoryview(b"\x17\x03\x03\0\x01x" * 100)
    assert [count for _, count in Records().groups(wire)] == [32, 32, 32, 4]

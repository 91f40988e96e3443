"""What a peer has acknowledged of what was written, as the kernel knows it: the sign of a browser's life.

Over real sockets: a kernel takes megabytes ahead of a slow peer, and tells a transport of no room before a
good part of them has left.
"""

import ssl
from pathlib import Path

import pytest

from foyer.net.listener import server_context
from foyer.net.tls import TLSWire
from foyer.net.wire import Wire
from tests.net.sockets import Peer, on_a_loop, until
from tests.net.test_wire import listening
from tests.support.certs import ORIGIN_HOST, browser_context, write_certificate


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    certificate, key = write_certificate(tmp_path_factory.mktemp("certificates"), ORIGIN_HOST)
    return server_context(str(Path(certificate)), str(key))


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@on_a_loop
async def test_each_read_of_a_slow_peer_is_seen_though_its_kernel_holds_megabytes(
    context: ssl.SSLContext, tls: bool
) -> None:
    async with listening(lambda heard: TLSWire(heard, context) if tls else Wire(heard)) as served:
        peer = await Peer.connect(served.port, receive_buffer=16 * 1024)
        if tls:
            await peer.start_tls(browser_context("h2"), ORIGIN_HOST)
        await until(lambda: served.heard and served.heard[0].protocols)
        [wire] = served.accepted
        await until(lambda: wire.acknowledged == wire.written)
        before, content = wire.written, 0
        while not wire.congested:
            wire.write(bytes(65_536))
            content += 65_536
        assert wire.written >= before + content, "what TLS adds is written too"
        assert wire.acknowledged < wire.written - wire.unsent, "the kernel's is not the peer's"
        received = 0
        for _ in range(5):
            taken = wire.acknowledged
            for _ in range(4):
                received += len(await peer.receive())
            await until(lambda taken=taken: wire.acknowledged > taken)  # type: ignore[misc]
        while received < content:
            received += len(await peer.receive())
        await until(lambda: wire.acknowledged == wire.written)
        peer.close()


@on_a_loop
async def test_a_wire_that_closes_or_is_gone_has_nothing_that_anybody_waits_for(
    context: ssl.SSLContext,
) -> None:
    async with listening(Wire) as served:
        peer = await Peer.connect(served.port, receive_buffer=16 * 1024)
        await until(lambda: served.heard and served.heard[0].protocols)
        [wire] = served.accepted
        while not wire.congested:
            wire.write(bytes(65_536))
        assert wire.acknowledged < wire.written
        wire.cut_off()
        assert wire.acknowledged == wire.written
        peer.close()
        await until(lambda: served.heard[0].reasons)
        assert wire.acknowledged == wire.written

"""Real sockets on a real loop, with a peer whose TLS is done by hand: it says goodbye only when told to."""

import asyncio
import functools
import os
import socket
import ssl
import struct
import warnings
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import ParamSpec

import uvloop

PATIENCE = 10.0
"""Seconds after which something that did not happen is taken never to: it only bounds a failing test."""

P = ParamSpec("P")


def on_a_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Runs an `async` test on uvloop, and fails it for anything the loop had to report."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        reported: list[dict[str, object]] = []

        async def bounded() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
            async with asyncio.timeout(3 * PATIENCE):
                await test(*args, **kwargs)
            await asyncio.sleep(0)

        with warnings.catch_warnings(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            # What a failing test leaves open is warned of as the loop closes, which uvloop does not
            # survive where a warning is an error.
            warnings.simplefilter("ignore", ResourceWarning)
            runner.run(bounded())
        assert not reported, reported

    return run


async def until(condition: Callable[[], object]) -> None:
    """Turns of the loop until `condition` holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.001)


def descriptors() -> set[str]:
    """Sockets this process has open."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the listing's own
        if target.startswith("socket:"):
            found.add(target)
    return found


class Heard:
    """An `Owner` that keeps what its wire tells."""

    def __init__(self) -> None:
        self.protocols: list[str | None] = []
        self.data = bytearray()
        self.ends: list[bool] = []
        self.reasons: list[Exception | None] = []
        self.room = 0
        self.read = 0  # bytes beside those received
        self.on_data: Callable[[], object] = lambda: None
        self.on_end: Callable[[], object] = lambda: None

    def opened(self, protocol: str | None) -> None:
        assert not self.reasons
        self.protocols.append(protocol)

    def has_read(self, size: int) -> None:
        assert self.protocols and not self.reasons
        self.read += size

    def received(self, data: bytes) -> None:
        assert self.protocols and not self.ends and not self.reasons and data
        self.data += data
        self.on_data()

    def ended(self, clean: bool) -> None:
        assert self.protocols and not self.reasons
        self.ends.append(clean)
        self.on_end()

    def lost(self, reason: Exception | None) -> None:
        assert not self.reasons, "lost twice"
        self.reasons.append(reason)

    def writable(self) -> None:
        assert not self.reasons
        self.room += 1


class End(Enum):
    """How the other side ended its half, as the peer saw it."""

    CLEAN = "said so"
    RAGGED = "closed without close_notify"
    RESET = "reset"
    ALERT = "an alert"


class Peer:
    """The other end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.socket = sock
        self._tls: ssl.SSLObject | None = None
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.failure: ssl.SSLError | None = None

    @staticmethod
    async def connect(port: int, *, receive_buffer: int | None = None) -> "Peer":
        sock = socket.socket()
        sock.setblocking(False)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        return Peer(sock)

    @property
    def tls(self) -> ssl.SSLObject:
        assert self._tls is not None
        return self._tls

    async def start_tls(
        self, context: ssl.SSLContext, hostname: str | None = None, *, server: bool = False
    ) -> None:
        """The handshake, to its end. Raises `ssl.SSLError`, or `EOFError` when the other side closed."""
        self._tls = context.wrap_bio(self._in, self._out, server_side=server, server_hostname=hostname)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self.flush()
                if not await self._fill():
                    raise EOFError from None
            except ssl.SSLError:
                await self.flush()
                raise
        await self.flush()

    async def send(self, data: bytes) -> None:
        """Sends `data`, whole."""
        if self._tls is None:
            await self.send_raw(data)
            return
        for at in range(0, len(data), 16_384):
            self._tls.write(data[at : at + 16_384])
            await self.flush()

    async def send_raw(self, data: bytes) -> None:
        """Sends these bytes on TCP."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def flush(self) -> None:
        """Sends what TLS has to say."""
        await self.send_raw(self._out.read())

    async def receive(self) -> bytes:
        """The next bytes. Raises `EOFError` with the `End`."""
        while True:
            data = await self._read()
            if data:
                return data

    async def receive_exactly(self, size: int) -> bytes:
        """So many bytes. Raises `EOFError` with the `End`."""
        data = b""
        while len(data) < size:
            data += await self.receive()
        assert len(data) == size, data[size:]
        return data

    async def receive_until_end(self) -> tuple[bytes, End]:
        """Everything that still comes, and how it ended."""
        data = b""
        while True:
            try:
                data += await self.receive()
            except EOFError as error:
                return data, error.args[0]

    async def _read(self) -> bytes:
        if self._tls is None:
            return await self._fill_plain()
        try:
            data = self._tls.read(1 << 16)
            if not data:
                raise EOFError(End.CLEAN)
            return data
        except ssl.SSLWantReadError:
            if not await self._fill():
                raise EOFError(End.RAGGED) from None
            return b""
        except ssl.SSLZeroReturnError:
            raise EOFError(End.CLEAN) from None
        except ssl.SSLError as error:
            self.failure = error
            raise EOFError(End.ALERT) from None

    async def _fill_plain(self) -> bytes:
        data = await self._receive_raw()
        if not data:
            raise EOFError(End.CLEAN)
        return data

    async def _fill(self) -> bool:
        data = await self._receive_raw()
        self._in.write(data)
        return bool(data)

    async def _receive_raw(self) -> bytes:
        try:
            async with asyncio.timeout(PATIENCE):
                return await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
        except ConnectionError:
            raise EOFError(End.RESET) from None

    async def say_goodbye(self) -> None:
        """close_notify, and no FIN."""
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass
        await self.flush()

    def half_close(self) -> None:
        """FIN, and nothing else."""
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.socket.close()

    def drop(self) -> None:
        """RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

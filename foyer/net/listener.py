"""A listener: it accepts connections, keeps count of them, and drains them."""

from __future__ import annotations

import asyncio
import ctypes
import socket
import ssl
from collections.abc import Callable

from foyer.exchange.ports import Application
from foyer.gate.wheel import Wheel
from foyer.net.browser import BrowserConnection
from foyer.net.tls import TLSWire
from foyer.net.turn import Turn
from foyer.net.wire import Wire
from foyer.protocol.h1 import Unread

BACKLOG = 4096
"""Connections the kernel holds for us, as far as its `somaxconn` lets it: a page load of everybody at once
after a restart. With 1,024, of 1,800 that came at once 279 were not heard and tried again a second later."""

TRIM_AFTER = 256
"""Connections that come or go before the allocator's spare memory is handed back to the system. It keeps it
otherwise: after 2,000 HTTP/1.1 connections 99 MiB, and 56 with this; of 1,800 handshakes at once up to 40."""

TRIM_DELAY = 1.0
"""Seconds until then, for a mass to have come or gone. It takes 0.1 ms, and 2 to 7 after a mass."""

TRIM_AGAIN = 16
"""Connections within that time for which it is done once more: the last of a mass are too few to count."""

# glibc's. musl has none, and needs none.
_trim: Callable[[int], int] = getattr(ctypes.CDLL(None), "malloc_trim", lambda spare: 0)


def server_context(cert_file: str, key_file: str) -> ssl.SSLContext:
    """TLS 1.2 or newer with ALPN `h2`, then `http/1.1` (spec 01, TLS).

    Raises OSError or ssl.SSLError when the pair cannot be read or does not match.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A renegotiation costs us a handshake for a few bytes of theirs; TLS 1.3 has none.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["h2", "http/1.1"])
    # Without a password OpenSSL asks for an encrypted key's on the terminal, and the loop waits for it.
    context.load_cert_chain(cert_file, key_file, password="")
    return context


class Listener:
    """Serves an `Application` on one address, over TLS or plain HTTP."""

    def __init__(
        self,
        application: Application,
        turn: Turn,
        wheel: Wheel,
        context: Callable[[], ssl.SSLContext] | None = None,
        turned_away: Unread | None = None,
    ) -> None:
        """`context` gives each new connection its TLS context, as certificates change; None is plain.

        `turned_away` answers HTTP/1.1 requests that are not worth reading: `BrowserConnection`.
        """
        self._application = application
        self._turn = turn
        self._wheel = wheel
        self._context = context
        self._turned_away = turned_away
        self._connections: set[BrowserConnection] = set()
        self._moves = 0  # of connections that came or went, since memory was last handed back
        self._trims = False  # it will be
        self._server: asyncio.Server | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    async def open(self, host: str, port: int) -> None:
        """Binds and accepts. An empty `host` is every address. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, host or None, port, backlog=BACKLOG)

    @property
    def port(self) -> int:
        """The port bound: the kernel's choice where 0 was asked for."""
        assert self._server is not None
        listening: tuple[socket.socket, ...] = tuple(self._server.sockets)
        return int(listening[0].getsockname()[1])

    @property
    def connections(self) -> int:
        """Connections open now."""
        return len(self._connections)

    def _accept(self) -> Wire:
        connection = BrowserConnection(
            self._application, self._turn, self._wheel, self._left, self._turned_away
        )
        self._connections.add(connection)
        self._empty.clear()
        self._moved()
        if self._context is None:
            return connection.attach(Wire(connection))
        return connection.attach(TLSWire(connection, self._context(), turn=self._turn))

    def _left(self, connection: BrowserConnection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()
        self._moved()

    def _moved(self) -> None:
        """A connection came or went."""
        self._moves += 1
        if self._moves >= TRIM_AFTER and not self._trims:
            self._trim_later()

    def _trim_later(self) -> None:
        self._trims = True
        asyncio.get_running_loop().call_later(TRIM_DELAY, self._hand_back)

    def _hand_back(self) -> None:
        moves, self._moves, self._trims = self._moves, 0, False
        _trim(0)
        if moves > TRIM_AGAIN:
            self._trim_later()

    def stop_accepting(self) -> None:
        """Takes no new connection, and asks the open ones to end after what they carry."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.go_away()

    async def emptied(self) -> None:
        """Returns when no connection is left."""
        await self._empty.wait()

    def abort(self) -> None:
        """Ends every connection as it stands."""
        for connection in list(self._connections):
            connection.abort()

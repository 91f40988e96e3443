"""The demo's servers on a running loop: listeners, and the one timer that lets time pass.

The only file here besides `run` and the API server's command that touches asyncio.
"""

import asyncio
import ssl
import tempfile
import time
from pathlib import Path
from types import TracebackType

from foyer.demo.certificates import Certificates
from foyer.demo.handler import Handler
from foyer.demo.server import Limit, Server
from foyer.exchange.ports import Application, BrowserReceiver, BrowserSide
from foyer.gate.wheel import TICK, Wheel
from foyer.net.listener import Listener, server_context
from foyer.net.turn import Turn
from foyer.protocol.events import RequestHead


class Files:
    """A folder of its own for what foyer and curl read from files; gone at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="foyer-demo-")

    def write(self, name: str, content: bytes) -> str:
        """A file that only this user reads, and its path."""
        path = Path(self._folder.name, name)
        path.touch(mode=0o600)
        path.write_bytes(content)
        return str(path)

    def tls(self, certificates: Certificates) -> tuple[str, ssl.SSLContext]:
        """The path of the authority's certificate, and the TLS context of every server here."""
        certificate = self.write("server.crt", certificates.certificate)
        context = server_context(certificate, self.write("server.key", certificates.key))
        return self.write("ca.crt", certificates.authority), context

    def __enter__(self) -> "Files":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()


class Door:
    """An address that is listened on before it is known who answers there: URLs need the port first."""

    def __init__(self) -> None:
        self.application: Application | None = None

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """Hands a request to whoever answers."""
        assert self.application is not None, "a server is connected before the loop turns again"
        return self.application.begin(side, head)

    def unreadable(self, reason: str) -> None:
        """Whoever answers is who logs."""
        if self.application is not None:
            self.application.unreadable(reason)

    def flood(self, kind: str) -> None:
        """Whoever answers is who logs."""
        if self.application is not None:
            self.application.flood(kind)


class Serving:
    """Listeners of one process. Made, like everything here, on the running loop."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        """`context` is every listener's TLS; None is plain HTTP."""
        self._loop = asyncio.get_running_loop()
        self._context = context
        self._turn = Turn(self._loop)
        self._wheel = Wheel(self._loop.time())
        self._listeners: list[Listener] = []
        self._servers: list[Server] = []
        self._timer = self._loop.call_later(TICK, self._tick)

    async def listen(self, host: str, port: int) -> tuple[Door, int]:
        """A door, and the port it has got. Raises OSError."""
        door = Door()
        context = self._context
        listener = Listener(door, self._turn, self._wheel, None if context is None else (lambda: context))
        await listener.open(host, port)
        self._listeners.append(listener)
        return door, listener.port

    def server(self, handler: Handler, limit: Limit | None = None) -> Server:
        """An `Application` for a handler, told of the time."""
        server = Server(handler, time.time, limit)
        self._servers.append(server)
        return server

    def url(self, host: str, port: int) -> str:
        """How a browser on this machine writes the origin of a listener."""
        name = f"[{host}]" if ":" in host else host
        return f"http{'' if self._context is None else 's'}://{name}:{port}"

    def close(self) -> None:
        """Ends every connection."""
        self._timer.cancel()
        for listener in self._listeners:
            listener.stop_accepting()
            listener.abort()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK, self._tick)
        self._wheel.turn(self._loop.time())
        for server in self._servers:
            server.tick()


def reachable(host: str) -> str:
    """What a browser on this machine calls a host that is listened on: every address is also localhost."""
    every = ("", "0.0.0.0", "::")  # noqa: S104  compared with, never bound
    return "localhost" if host in every else host

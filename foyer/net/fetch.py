"""What foyer reads from the issuer: the `Fetch` port, by URL (spec 02, Login).

Over verified TLS, with no redirect followed and no proxy from the environment; an endpoint's server
gets a pool of its own, kept.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from foyer.exchange.ports import Answer
from foyer.gate.wheel import Wheel
from foyer.net.health import Health
from foyer.net.turn import Turn
from foyer.net.upstream import Upstream
from foyer.net.whole import whole_answer
from foyer.protocol.events import Fields, RequestHead

MAX_SERVERS = 8
"""Servers an issuer's endpoints may be spread over: a discovery document cannot make us keep more pools."""


class Fetcher:
    """A `Fetch` whose connections are kept, one pool a server."""

    def __init__(
        self,
        context: ssl.SSLContext,
        turn: Turn,
        wheel: Wheel,
        flood: Callable[[str], None] = lambda kind: None,
        health: Health | None = None,
    ) -> None:
        """`flood` and `health` are told as `Upstream` tells them."""
        self._health = health or Health()
        self._context = context
        self._flood = flood
        self._turn = turn
        self._wheel = wheel
        self._servers: dict[tuple[str, int], Upstream] = {}

    async def __call__(
        self, method: bytes, url: str, fields: Fields, content: bytes = b"", *, limit: int, timeout: float
    ) -> Answer:
        """As `foyer.exchange.ports.Fetch` has it."""
        parts = urlsplit(url)
        assert parts.scheme == "https" and parts.hostname, "endpoints are checked before they are asked"
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        authority = parts.netloc.rpartition("@")[2].encode("ascii")
        head = RequestHead(method, target.encode("ascii"), fields, authority=authority)
        server = self._server(parts.hostname, parts.port or 443)
        return await whole_answer(server.open, head, content, limit=limit, timeout=timeout)

    def _server(self, host: str, port: int) -> Upstream:
        server = self._servers.get((host, port))
        if server is None:
            if len(self._servers) >= MAX_SERVERS:
                oldest = next(iter(self._servers))
                self._servers.pop(oldest).close()
            server = Upstream(host, port, self._context, self._turn, self._wheel, self._flood, self._health)
            self._servers[host, port] = server
        return server

    def trust(self, context: ssl.SSLContext) -> None:
        """Verifies new connections by `context`, as `Upstream.trust` does."""
        self._context = context
        for server in self._servers.values():
            server.trust(context)

    def close(self) -> None:
        """Ends every connection."""
        for server in self._servers.values():
            server.close()

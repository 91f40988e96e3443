"""Whole answers for coroutines: what foyer reads from the issuer (spec 02, Login).

Bounded in bytes and time, over verified TLS, with no redirect followed and no proxy from the
environment: the `Fetch` port, over the same pool and codecs as everything else.
"""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import urlsplit

from foyer.exchange.ports import Answer, Cancellable, FetchFailed, UpstreamSide
from foyer.gate.wheel import Wheel
from foyer.net.turn import Turn
from foyer.net.upstream import Upstream
from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead

MAX_SERVERS = 8
"""Servers an issuer's endpoints may be spread over: a discovery document cannot make us keep more pools."""


class Fetcher:
    """A `Fetch` whose connections are kept, one pool a server."""

    def __init__(self, context: ssl.SSLContext, turn: Turn, wheel: Wheel) -> None:
        self._context = context
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
        fields = [*fields, (b"accept-encoding", b"identity")]
        if content:
            fields.append((b"content-length", b"%d" % len(content)))
        authority = parts.netloc.rpartition("@")[2].encode("ascii")
        head = RequestHead(method, target.encode("ascii"), fields, authority=authority, ended=not content)
        call = _Call(head, content, limit)
        call.waiting = self._server(parts.hostname, parts.port or 443).open(call)
        try:
            async with asyncio.timeout(timeout):
                return await call.answer
        except TimeoutError:
            raise FetchFailed(Failure.TIMEOUT) from None
        finally:
            call.leave()

    def _server(self, host: str, port: int) -> Upstream:
        server = self._servers.get((host, port))
        if server is None:
            if len(self._servers) >= MAX_SERVERS:
                oldest = next(iter(self._servers))
                self._servers.pop(oldest).close()
            server = Upstream(host, port, self._context, self._turn, self._wheel)
            self._servers[host, port] = server
        return server

    def close(self) -> None:
        """Ends every connection."""
        for server in self._servers.values():
            server.close()


class _Call:
    """One fetch, as the upstream's side sees it."""

    __slots__ = ("_content", "_head", "_limit", "_pieces", "_response", "_side", "_size", "answer", "waiting")

    def __init__(self, head: RequestHead, content: bytes, limit: int) -> None:
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.waiting: Cancellable | None = None
        self._head = head
        self._content = content
        self._limit = limit
        self._side: UpstreamSide | None = None
        self._response: ResponseHead | None = None
        self._pieces: list[bytes] = []
        self._size = 0

    def leave(self) -> None:
        """Whatever is still going on is given up."""
        side, self._side = self._side, None
        if side is not None:
            side.cancel()
        if self.waiting is not None:
            self.waiting.cancel()

    def _fail(self, failure: Failure) -> None:
        if not self.answer.done():
            self.answer.set_exception(FetchFailed(failure))
        self.leave()

    def upstream_open(self, side: UpstreamSide) -> None:
        """The request goes up, content and all."""
        self._side = side
        side.send_head(self._head)
        if self._content:
            side.send(self._content)
            side.finish()

    def response_head(self, head: ResponseHead) -> None:
        """The head: too long an answer is dropped before it is read."""
        self._response = head
        lengths = head.all(b"content-length")
        if any(not length.isdigit() or len(length) > 15 or int(length) > self._limit for length in lengths):
            self._fail(Failure.TOO_LARGE)
        elif any(coding.lower() != b"identity" for coding in head.all(b"content-encoding")):
            self._fail(Failure.PROTOCOL)  # not asked for, so not decoded
        elif head.ended:
            self._whole()

    def response_body(self, data: bytes) -> None:
        """Content, up to the limit."""
        self._size += len(data)
        if self._size > self._limit:
            self._fail(Failure.TOO_LARGE)
        else:
            self._pieces.append(data)

    def response_end(self) -> None:
        """The answer is whole."""
        self._whole()

    def _whole(self) -> None:
        self._side = None
        response = self._response
        if response is not None and not self.answer.done():
            self.answer.set_result(Answer(response.status, response.fields, b"".join(self._pieces)))

    def upstream_gone(self, failure: Failure) -> None:
        """No whole answer will come."""
        self._side = None
        self._fail(failure)

    def upstream_drained(self) -> None:
        """The content went up at once: nothing waits."""

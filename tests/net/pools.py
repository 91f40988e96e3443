"""A pool whose connections lead to a server that a test plays, without a kernel.

`Server` sees every request once it has reached it, by its path, and answers when told to.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
from typing import Any, cast

import h2.config
import h2.connection
import h2.events
import h2.settings
from h2.settings import SettingCodes

from foyer.exchange.ports import UpstreamSide
from foyer.net.upstream import CONNECT_TIME, Upstream, UpstreamConnection
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from tests.net.offline import Offline, SpokenWire, Transport
from tests.support.frames import Goodbyes
from tests.support.messages import Framing, Reader, head

_ROOTS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

_paths = itertools.count()


class Held:
    """What a request holds: told how far it has come in this order, and given back once."""

    def __init__(self, *, until_head: bool = False) -> None:
        self.heard: list[str] = []
        self.opened_at = 0.0
        self._until_head = until_head

    @property
    def is_held(self) -> bool:
        return "closed" not in self.heard and not (self._until_head and "answered" in self.heard)

    def opened(self, now: float) -> None:
        assert self.heard == []
        self.heard.append("opened")
        self.opened_at = now

    def answered(self) -> Held | None:
        assert self.heard == ["opened"]
        self.heard.append("answered")
        return None if self._until_head else self

    def close(self) -> None:
        assert self.is_held, "given back twice"
        self.heard.append("closed")


class Asker:
    """Somebody with one request, and what became of it."""

    def __init__(self, *, uploads: bool = False) -> None:
        self.path = b"/%d" % next(_paths)
        self.side: UpstreamSide | None = None
        self.failures: list[Failure] = []
        self.status = 0
        self.content = bytearray()
        self.whole = False
        self.left = False
        self.pauses = False
        self.place = Held()
        self._uploads = uploads

    @property
    def over(self) -> bool:
        return self.whole or self.left or bool(self.failures)

    def has_place(self) -> bool:
        return self.side is not None

    def _may_hear(self) -> None:
        assert not self.over, "told of something after the end"

    def upstream_open(self, side: UpstreamSide) -> None:
        self._may_hear()
        assert self.side is None, "a second place"
        self.side = side
        side.send_head(RequestHead(b"PUT", self.path, [], authority=b"api.test", ended=not self._uploads))

    def response_head(self, head: ResponseHead) -> None:
        self._may_hear()
        self.status = head.status
        self.whole = head.ended

    def response_body(self, data: bytes) -> None:
        self._may_hear()
        self.content += data
        if self.pauses and self.side is not None:
            self.side.pause()

    def response_end(self) -> None:
        self._may_hear()
        self.whole = True

    def upstream_gone(self, failure: Failure) -> None:
        self._may_hear()
        self.failures.append(failure)

    def upstream_drained(self) -> None:
        pass


class Served:
    """One connection at the server. `open` are the paths asked and not answered yet."""

    def __init__(self, server: Server, connection: UpstreamConnection, wire: SpokenWire) -> None:
        self.server = server
        self.connection = connection
        self.wire = wire
        self.transport: Transport | None = None
        self.dialled = server.offline.loop.now
        self.open: dict[bytes, int] = {}
        self._h2: h2.connection.H2Connection | None = None
        self._goodbyes = Goodbyes(preface=24)
        self._reader = Reader()

    @property
    def established(self) -> bool:
        return self.transport is not None

    def is_lost(self) -> bool:
        return self.transport is not None and self.transport.lost

    def establish(self, protocol: str, limit: int | None = None) -> None:
        """TLS is done, and over HTTP/2 the first SETTINGS have arrived; without a limit they have not."""
        self.wire.protocol = protocol
        self.transport = Transport(self.server.offline.loop, self.wire)
        if protocol == "h2":
            self._h2 = h2.connection.H2Connection(
                h2.config.H2Configuration(client_side=False, header_encoding=False)
            )
            if limit is not None:
                self.settle(limit)
        self.server.move()

    def settle(self, limit: int) -> None:
        """SETTINGS: so many streams at once."""
        assert self._h2 is not None
        codes = {SettingCodes.MAX_CONCURRENT_STREAMS: limit}
        if self._h2.state_machine.state is h2.connection.ConnectionState.IDLE:
            self._h2.local_settings = h2.settings.Settings(client=False, initial_values=codes)
            self._h2.initiate_connection()
        else:
            self._h2.update_settings(cast(Any, codes))
        self._say()

    def answer(self, path: bytes, content: bytes = b"ok", *, close: bool = False) -> None:
        """The whole answer, in one read."""
        stream = self.open.pop(path)
        if self._h2 is None:
            fields = [(b"Content-Length", b"%d" % len(content))]
            if close:
                fields.append((b"Connection", b"close"))
            self.bring(head(b"HTTP/1.1 200 OK", fields) + content)
            return
        self._h2.send_headers(stream, [(b":status", b"200")])
        self._h2.send_data(stream, content, end_stream=True)
        self._say()

    def go_away(self) -> None:
        """GOAWAY, which lets what is open finish."""
        assert self._h2 is not None
        last = self._h2.highest_inbound_stream_id
        self.bring(b"\0\0\x08\x07\0\0\0\0\0" + last.to_bytes(4, "big") + bytes(4))

    def drop(self) -> None:
        assert self.transport is not None
        self.transport.drop()
        self.server.move()

    def close(self) -> None:
        """A proper end."""
        assert self.transport is not None
        self.transport.end()
        self.server.move()

    def bring(self, data: bytes) -> None:
        assert self.transport is not None
        if self.transport.reads:
            self.transport.bring(data)
        self.server.move()

    def _say(self) -> None:
        assert self._h2 is not None
        if data := self._h2.data_to_send():
            self.bring(data)

    def take(self) -> bool:
        data = self.transport.take() if self.transport is not None else b""
        if not data:
            return False
        if self._h2 is None:
            self._read_h1(data)
        else:
            self._read_h2(self._h2, data)
        return True

    def _read_h1(self, data: bytes) -> None:
        self._reader.receive(data)
        while (message := self._reader.next_message()) is not None:
            self._reader.expect_content(message, Framing.NONE)
            assert not self.open, "HTTP/1.1 answers one at a time"
            self._asked(message.start.split()[1], 0)

    def _read_h2(self, machine: h2.connection.H2Connection, data: bytes) -> None:
        for event in machine.receive_data(self._goodbyes.without(data)):
            match event:
                case h2.events.RequestReceived():
                    self._asked(dict(event.headers)[b":path"], event.stream_id)
                case h2.events.StreamReset():
                    self.open = {path: s for path, s in self.open.items() if s != event.stream_id}
        self._say()

    def _asked(self, path: bytes, stream: int) -> None:
        assert path not in self.server.seen, "sent twice"
        self.server.seen.add(path)
        self.open[path] = stream


class _Dialling:
    def cancel(self) -> None:
        pass


class Server:
    """The server and foyer's pool of connections to it. `served` are all that were ever asked for."""

    def __init__(self) -> None:
        self.offline = Offline()
        self.served: list[Served] = []
        self.seen: set[bytes] = set()
        self.pool = _Pool(self)

    @property
    def dialled(self) -> list[Served]:
        """Connections that have been asked for and not come to be."""
        return [
            served
            for served in self.served
            if not served.established and served.connection in self.pool.coming
        ]

    def ask(self, **options: bool) -> Asker:
        asker = Asker(**options)
        self.pool.open(asker, asker.place)
        self.move()
        return asker

    def refuse(self, served: Served, failure: Failure = Failure.CONNECTION) -> None:
        """Nobody listens."""
        self.served.remove(served)
        self.pool.wheel.remove(served.connection)
        self.pool.lost(served.connection, failure)
        self.move()

    def pass_time(self, seconds: int) -> None:
        """Second by second; who is dialled for `CONNECT_TIME` is given up, as the pool's own dial does."""
        for _ in range(seconds):
            for served in self.dialled:
                if self.offline.loop.now - served.dialled >= CONNECT_TIME:
                    self.refuse(served, Failure.TIMEOUT)
            self.offline.pass_time(1)
            self.move()

    def move(self) -> None:
        """Everything that is on its way arrives."""
        self.offline.run()
        while sum(served.take() for served in self.served):
            self.offline.run()


class _Pool(Upstream):
    """A pool that dials nobody."""

    def __init__(self, server: Server) -> None:
        super().__init__("api.test", 443, _ROOTS, server.offline.turn, server.offline.wheel)
        self._server = server

    @property
    def coming(self) -> dict[UpstreamConnection, asyncio.Task[None]]:
        return self._connecting

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def expected(self) -> int:
        return self._expected

    def _connect(self) -> None:
        connection = UpstreamConnection(self, self._turn, self._context)
        connection.wire = wire = SpokenWire(connection, "")
        self.wheel.add(connection, self._turn.now() + CONNECT_TIME)
        self._connecting[connection] = cast(Any, _Dialling())
        self._server.served.append(Served(self._server, connection, wire))

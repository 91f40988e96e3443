"""foyer's two connections with real codecs, between peers that a test moves a few bytes at a time.

A `Line` is one connection: what is on its way to foyer, foyer's transport, and the peer's own
HTTP machine behind it, which knows nothing of foyer's.
"""

from __future__ import annotations

import ssl
from abc import ABC, abstractmethod

import h2.config
import h2.connection
import h2.events
import h2.settings
from h2.settings import SettingCodes

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import BrowserReceiver, BrowserSide, UpstreamReceiver
from foyer.net.browser import BrowserConnection
from foyer.net.health import Health
from foyer.net.upstream import UpstreamConnection
from foyer.net.wire import Wire
from foyer.protocol.events import Failure, Fields, RequestHead
from tests.exchange.sides import BOUNDS, Services
from tests.net.offline import Offline, SpokenWire, Transport
from tests.support.frames import Outbox
from tests.support.messages import Framing, Message, Reader, chunk, delimited_by, head

NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

END = b"0\r\n\r\n"


class Talk:
    """One message each way, as a peer has it."""

    def __init__(self, content: bytes, *, bare: bool = False, last: bool = False) -> None:
        self.content = content  # still to be sent
        self.bare = bare  # the head is all of ours
        self._last = last  # ours ends after the other's
        self.got = bytearray()
        self.whole = False
        self.reset = False

    @property
    def may_end(self) -> bool:
        return not self.content and (self.whole or not self._last)

    def piece(self, size: int) -> bytes:
        piece, self.content = self.content[:size], self.content[size:]
        return piece


class Line(ABC):
    """A peer and the way between it and foyer."""

    def __init__(self) -> None:
        self.towards = bytearray()  # sent by the peer and not yet read by foyer
        self.transport: Transport
        self.owner: BrowserConnection | UpstreamConnection

    def bring(self, size: int) -> bool:
        """Up to `size` bytes reach foyer, where it reads."""
        if not self.towards or not self.transport.reads:
            return False
        size = self.transport.bring(bytes(self.towards[:size]))
        del self.towards[:size]
        return True

    def take(self, size: int) -> bool:
        """Up to `size` bytes of foyer's reach the peer."""
        data = self.transport.take(size)
        if data:
            self._received(data)
        return bool(data)

    @abstractmethod
    def send(self, size: int) -> bool:
        """The peer sends up to `size` bytes of content on each of its messages, as far as it may."""

    @abstractmethod
    def open_windows(self) -> bool:
        """The peer says that it has taken what it was given."""

    @abstractmethod
    def give_up(self, number: int) -> None:
        """The peer resets its exchange of that number."""

    @abstractmethod
    def _received(self, data: bytes) -> None: ...


class H1Line(Line):
    """One exchange over HTTP/1.1. Content is sent in chunks."""

    def __init__(self, talk: Talk, start: bytes, fields: Fields, *, asks: bool) -> None:
        super().__init__()
        self.talk = talk
        framing: Fields = [] if talk.bare else [(b"transfer-encoding", b"chunked")]
        self._head = head(start, [*fields, *framing])
        self._reader = Reader()
        self._message: Message | None = None
        self._sending = False
        self._asks = asks
        if asks:
            self._begin()

    def _begin(self) -> None:
        self.towards += self._head
        self._sending = not self.talk.bare

    def send(self, size: int) -> bool:
        if not self._sending or not (self.talk.content or self.talk.may_end):
            return False
        piece = self.talk.piece(size)
        self._sending = bool(piece)
        self.towards += chunk(piece) if piece else END
        return True

    def open_windows(self) -> bool:
        return False

    def give_up(self, number: int) -> None:
        self.talk.reset = True
        self._sending = False
        self.transport.drop()

    def _received(self, data: bytes) -> None:
        self._reader.receive(data)
        if self._message is None:
            self._message = self._reader.next_message()
            if self._message is None:
                return
            self._reader.expect_content(self._message, delimited_by(self._message) or Framing.NONE)
            if not self._asks:
                self._begin()
        self._reader.go_on(self._message)
        self.talk.got = self._message.content
        self.talk.whole = self._message.ended


class H2Line(Line):
    """Every exchange over one HTTP/2 connection."""

    def __init__(self, talks: list[Talk], head: Fields, *, asks: bool, window: int) -> None:
        super().__init__()
        self.talks = talks
        self._head = head
        config = h2.config.H2Configuration(client_side=asks, header_encoding=False)
        self._h2 = h2.connection.H2Connection(config)
        self._h2.local_settings = h2.settings.Settings(
            client=asks,
            initial_values={
                SettingCodes.INITIAL_WINDOW_SIZE: window,
                SettingCodes.MAX_HEADER_LIST_SIZE: 65_536,
            },
        )
        self._streams: dict[int, Talk] = {}
        self._out: dict[int, Outbox] = {}
        self._owed: dict[int, int] = {}
        self._h2.initiate_connection()
        for number, talk in enumerate(talks if asks else []):
            stream = self._h2.get_next_available_stream_id()
            self._h2.send_headers(stream, [*head, (b":path", b"/%d" % number)], end_stream=talk.bare)
            self._open(stream, talk)
        self._flush()

    def _open(self, stream: int, talk: Talk) -> None:
        self._streams[stream] = talk
        if not talk.bare:
            self._out[stream] = Outbox(self._h2, stream)

    def _flush(self) -> None:
        self.towards += self._h2.data_to_send()

    def send(self, size: int) -> bool:
        for stream, out in list(self._out.items()):
            talk = self._streams[stream]
            if not len(out) and talk.may_end:
                out.end()
                del self._out[stream]
            elif not len(out):
                out.send(talk.piece(size))
            out.push()
        before = len(self.towards)
        self._flush()
        return len(self.towards) > before

    def open_windows(self) -> bool:
        owed, self._owed = self._owed, {}
        for stream, flow in owed.items():
            self._h2.acknowledge_received_data(flow, stream)
        self._flush()
        return bool(owed)

    def give_up(self, number: int) -> None:
        for stream, talk in self._streams.items():
            found = self._h2.streams.get(stream)
            if talk is self.talks[number] and found is not None and not found.closed:
                self._h2.reset_stream(stream)
                self._closed(stream)
        self._flush()

    def _closed(self, stream: int) -> None:
        self._streams[stream].reset = True
        out = self._out.pop(stream, None)
        if out is not None:
            out.close()

    def _received(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            match event:
                case h2.events.RequestReceived():
                    number = int(dict(event.headers)[b":path"].rpartition(b"/")[2])
                    self._h2.send_headers(event.stream_id, self._head)
                    self._open(event.stream_id, self.talks[number])
                case h2.events.DataReceived():
                    self._streams[event.stream_id].got += event.data
                    self._owed[event.stream_id] = (
                        self._owed.get(event.stream_id, 0) + event.flow_controlled_length
                    )
                case h2.events.StreamEnded():
                    self._streams[event.stream_id].whole = True
                case h2.events.StreamReset():
                    self._closed(event.stream_id)
        self._flush()


class _Pool:
    """A pool of connections that a test has made, in which nobody waits."""

    def __init__(self, offline: Offline) -> None:
        self.wheel = offline.wheel
        self.health = Health()

    def usable(self, connection: UpstreamConnection) -> None:
        pass

    def lost(self, connection: UpstreamConnection, failure: Failure) -> None:
        pass

    def forget(self, connection: UpstreamConnection) -> None:
        pass


class _Place:
    def cancel(self) -> None:
        pass


class World:
    """Some exchanges at once: their browsers, foyer and their upstreams. `left` counts lost browsers."""

    def __init__(
        self,
        browser: str,
        upstream: str,
        *,
        downloads: list[bytes],
        uploads: list[bytes | None],
        gzip: bool = False,
        window: int = 65_535,
    ) -> None:
        self.offline = Offline()
        self.services = Services()
        self.exchanges: dict[int, Exchange] = {}
        self.left = 0
        self.asks = [Talk(upload or b"", bare=upload is None) for upload in uploads]
        self.answers = [Talk(download, last=True) for download in downloads]
        fields: Fields = [(b"content-encoding", b"gzip")] if gzip else []
        self.upstreams = self._upstreams(upstream, fields, window)
        self.browsers = self._browsers(browser, window)
        self.offline.run()

    # How it is put together.

    def _upstreams(self, version: str, fields: Fields, window: int) -> list[Line]:
        lines: list[Line]
        if version == "h2":
            status = (b":status", b"200")
            lines = [H2Line(self.answers, [status, *fields], asks=False, window=window)]
        else:
            lines = [H1Line(talk, b"HTTP/1.1 200 OK", fields, asks=False) for talk in self.answers]
        for line in lines:
            connection = UpstreamConnection(_Pool(self.offline), self.offline.turn, NOBODY)  # type: ignore[arg-type]
            connection.wire = SpokenWire(connection, "h2" if version == "h2" else "http/1.1")
            line.owner = connection
            line.transport = Transport(self.offline.loop, connection.wire)
            line.bring(1 << 20)  # the pool lets nobody in before the first SETTINGS
        return lines

    def _browsers(self, version: str, window: int) -> list[Line]:
        lines: list[Line]
        if version == "h2":
            fields = [(b":method", b"PUT"), (b":scheme", b"https"), (b":authority", b"foyer.test")]
            lines = [H2Line(self.asks, fields, asks=True, window=window)]
        else:
            lines = [
                H1Line(talk, b"PUT /%d HTTP/1.1" % number, [(b"host", b"foyer.test")], asks=True)
                for number, talk in enumerate(self.asks)
            ]
        for line in lines:
            connection = BrowserConnection(self, self.offline.turn, self.offline.wheel, self._left)
            line.owner = connection
            line.transport = Transport(self.offline.loop, connection.attach(Wire(connection)))
        return lines

    def _left(self, connection: BrowserConnection) -> None:
        self.left += 1

    def unreadable(self, reason: str) -> None:
        raise AssertionError(reason)

    def flood(self, kind: str) -> None:
        raise AssertionError(kind)

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """As an application: each request goes up to the upstream of its number."""
        number = int(head.target.rpartition(b"/")[2])
        exchange = self.exchanges[number] = Exchange(self.services, side, head)
        up = RequestHead(head.method, head.target, [], authority=b"api.test", ended=head.ended)
        line = self.upstreams[number % len(self.upstreams)]

        def place(receiver: UpstreamReceiver) -> _Place:
            assert isinstance(line.owner, UpstreamConnection)
            if line.owner.room > 0:
                line.owner.join(receiver)
            else:
                receiver.upstream_gone(Failure.CONNECTION)
            return _Place()

        exchange.forward(up, place, BOUNDS)
        return exchange

    # What a test does with it.

    @property
    def lines(self) -> list[Line]:
        return [*self.browsers, *self.upstreams]

    @property
    def held(self) -> int:
        """Bytes of responses that foyer holds, those not yet decoded included."""
        waiting = sum(exchange.browser.queued for exchange in self.exchanges.values())
        encoded = sum(x._inflater.pending for x in self.exchanges.values() if x._inflater is not None)
        return waiting + encoded + sum(len(line.transport.sent) for line in self.browsers)

    @property
    def held_for_upstream(self) -> int:
        """Bytes of requests that foyer holds."""
        waiting = sum(x._upstream.queued for x in self.exchanges.values() if x._upstream is not None)
        return waiting + sum(len(line.transport.sent) for line in self.upstreams)

    @property
    def over(self) -> bool:
        """Every exchange has ended."""
        return len(self.services.endings) == len(self.asks)

    def arrive(self) -> None:
        """Every request's head reaches its upstream, and every response's its browser."""
        for line in [*self.browsers, *self.upstreams] * 2:
            line.bring(1 << 20)
            self.offline.run()
            line.take(1 << 20)
        for line in self.upstreams:
            line.take(1 << 20)
            line.bring(1 << 20)
            self.offline.run()

    def settle(self, size: int = 20_000) -> None:
        """Everybody does all they can, until every exchange is over or nobody can do anything."""
        moved = True
        while moved:
            moved = False
            for line in self.lines:
                moved |= line.send(size)
                moved |= line.bring(size)
                moved |= self.offline.loop.run()
                moved |= line.take(size)
                moved |= line.open_windows()
        assert self.over, "somebody waits for something that nobody will do"
        self.offline.run()

    def windows(self) -> list[int]:
        """What each HTTP/2 peer may not send on its connection as a whole, though nothing is under way."""
        missing = []
        for line in self.lines:
            codec = line.owner.codec
            if codec is not None and codec.multiplexed and not codec.closing:
                window = codec.machine._inbound_flow_control_window_manager  # type: ignore[union-attr]
                missing.append(window.max_window_size - window.current_window_size - window._bytes_processed)
        return missing

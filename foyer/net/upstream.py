"""The pool of connections to one server: the API server, or the issuer (spec 03, Transport).

It opens as many HTTP/2 connections as the server's stream limit asks for, takes the least
loaded, lets those that got a GOAWAY finish, and never sends anything twice: whoever waits for a
connection has sent nothing yet, and whoever has sent is told of its end.

A server is trusted with people's data and not with the loop: what it sends is worked on in turns as
what browsers send is, and a flood ends its connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from foyer.admission.place import Place
from foyer.exchange.ports import UpstreamReceiver
from foyer.gate.wheel import Wheel
from foyer.net.connection import CLOSING_TIME, Connection
from foyer.net.health import Health
from foyer.net.side import Sending, Side, UpstreamSide
from foyer.net.tls import TLSWire
from foyer.net.turn import Turn
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.floods import SERVER_TURN_WORK, Flood, FloodFault
from foyer.protocol.h1 import H1Client
from foyer.protocol.h2 import H2Client

CONNECT_TIME = 10.0
"""Seconds for TCP, TLS and the first SETTINGS: an API server that takes longer does not answer either."""

POOLED_TIME = 45.0
"""Seconds an unused connection is kept: well below what API servers and balancers before them allow (60 s
and more), so that it is ours that closes first and no request meets a connection that is just ending."""

QUIET_TIME = 15.0
"""Seconds a server with exchanges open may say nothing before it is asked whether it is there (spec 03)."""

PING_TIME = 10.0
"""Seconds it has to answer: TCP alone would be patient for a quarter of an hour."""

LINGER_TIME = 1.0
"""Seconds for a server that broke HTTP/2 to read why, before what it goes on sending makes TCP drop it."""

_PINGS = 2  # TCP's keep-alive probes within PING_TIME: one may get lost


class UpstreamConnection(Connection):
    """One connection to the server, in the pool from its opening to its end."""

    __slots__ = (
        "_failure",
        "_heard",
        "_pinged",
        "_pool",
        "_since",
        "_then",
        "codec",
        "context",
        "draining",
        "lingering",
        "sides",
        "usable",
    )

    def __init__(self, pool: Upstream, turn: Turn, context: ssl.SSLContext) -> None:
        super().__init__(turn)
        self.context = context
        self.codec: H1Client | H2Client | None = None
        self.sides: dict[int, UpstreamSide] = {}
        self.usable = False  # TLS, and the first SETTINGS on HTTP/2, are done
        self.draining = False
        self.lingering = False  # said goodbye to; what is still sent is read and dropped
        self._pool = pool
        self._failure = Failure.CONNECTION
        self._since = self._heard = turn.now()
        self._pinged = False  # since it was last heard
        self._then: list[Callable[[], None]] = []  # once what was read has had its way

    # The wire.

    def opened(self, protocol: str | None) -> None:
        """TLS is established."""
        self.codec = H2Client(self) if protocol == "h2" else H1Client(self)
        self.codec.work = SERVER_TURN_WORK
        if not self.codec.multiplexed:
            self.wire.keep_alive(QUIET_TIME, PING_TIME / _PINGS, _PINGS)
            self.ready()
        self.touch()

    def received(self, data: bytes) -> None:
        """Bytes from the server."""
        self.has_read(len(data))
        codec = self.codec
        if codec is None or codec.closing:
            return
        self._heard, self._pinged = self.turn.now(), False
        self._guarded(partial(codec.receive, data, self._heard))
        if codec.unfinished:
            self.later()

    def _guarded(self, step: Callable[[], None]) -> None:
        """Runs a step of the codec; a breach of the protocol ends the connection."""
        assert self.codec is not None
        try:
            step()
        except ProtocolFault as fault:
            if isinstance(fault, FloodFault):
                self._pool.flood(fault.flood.word)
            self.codec.closing = True
            self._all_gone(Failure.PROTOCOL)
        self.touch()

    def later(self) -> None:
        """The rest is for another turn, and the server waits until then."""
        if not self._waiting:
            self._waiting = True
            self.wire.busy(True)
            self.turn.later(self, upstream=True)

    def go_on(self) -> None:
        """Another turn's work on what has come and, when there is none left, another turn's reading."""
        self._waiting = False
        codec = self.codec
        if codec is None:
            return
        # A server that takes nothing has its work wait for that, unless it is over.
        if codec.unfinished and not codec.closing and (self._then or not self.wire.choked):
            codec.work = SERVER_TURN_WORK
            self._guarded(partial(codec.proceed, self.turn.now()))  # what is left of it then waits again
        if not codec.unfinished or codec.closing:
            super().go_on()
            then, self._then = self._then, []
            for step in then:
                step()
        elif self._then:
            self.later()

    def _when_done(self, step: Callable[[], None]) -> None:
        """Takes `step` once all that was read has had its way: a whole response may be among it."""
        if self._then or (self.codec is not None and self.codec.unfinished and not self.codec.closing):
            self._then.append(step)
            self.later()
        else:
            step()

    def ended(self, clean: bool) -> None:
        """The server sends no more."""
        self._when_done(partial(self._ended, clean))

    def _ended(self, clean: bool) -> None:
        if self.wire.flooded:
            self._pool.flood(Flood.KEY_UPDATE.word)
        if self.wire.broken:
            # An alert: after the handshake it may still be that the server wants a certificate of ours.
            self._failure = Failure.TLS
            self._all_gone(self._failure)
        if self.codec is not None:
            self.codec.eof(clean)
        self._all_gone(Failure.CONNECTION)
        self.close()

    def lost(self, reason: Exception | None) -> None:
        """The connection is gone, or never came to be."""
        self._when_done(partial(self._lost, reason))

    def _lost(self, reason: Exception | None) -> None:
        if self.codec is None and isinstance(reason, ssl.SSLError | ssl.CertificateError):
            self._failure = Failure.TLS
        self._pool.wheel.remove(self)
        self._all_gone(self._failure)
        self.forget_codec()
        self._pool.lost(self, self._failure)

    def _all_gone(self, failure: Failure) -> None:
        for side in list(self.sides.values()):
            self._gone(side, failure)

    def _gone(self, side: UpstreamSide, failure: Failure) -> None:
        self._pool.health.failed(failure, self.turn.now())
        self._forget(side)
        self.touch()
        side.receiver.upstream_gone(failure)

    # The codec's events.

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        """The final response head."""
        assert isinstance(head, ResponseHead)
        side = self.sides.get(stream)
        if side is None:
            return
        self._pool.health.answered(head.status, self._heard)
        if head.ended:
            self._answered(side)
        elif side.place is not None:
            side.place = side.place.answered()
        side.receiver.response_head(head)

    def content(self, stream: int, data: bytes, flow: int) -> None:
        """Response content."""
        side = self.sides.get(stream)
        if side is None:
            assert self.codec is not None
            self.codec.acknowledge(stream, flow)
            return
        if data:
            side.receiver.response_body(data)
        self.taken(side, flow)

    def end(self, stream: int) -> None:
        """The response is whole."""
        side = self.sides.get(stream)
        if side is not None:
            self._answered(side)
            side.receiver.response_end()

    def _answered(self, side: UpstreamSide) -> None:
        """The response is whole, so the exchange has left; what it had still to send is not sent."""
        assert self.codec is not None
        if side.sending is not Sending.OVER:
            self.codec.reset(side.stream)
        self._forget(side)
        self.touch()

    def reset(self, stream: int, failure: Failure) -> None:
        """The server gave the stream up."""
        side = self.sides.get(stream)
        if side is not None:
            self._gone(side, failure)

    def window(self, stream: int) -> None:
        """The server takes more."""
        self.wake(self.sides, stream)

    def ready(self) -> None:
        """Streams may be opened, or their limit changed.

        A server that takes none for now has until `CONNECT_TIME` to take some: another connection to it
        would fare no better.
        """
        assert self.codec is not None
        if not self.usable and self.codec.capacity > 0:
            self.usable = True
            self._since = self.turn.now()
            self._pool.wheel.add(self, self._since + POOLED_TIME)
        self._pool.usable(self)

    def going_away(self) -> None:
        """The server takes no more streams: those it has go on."""
        self.draining = True
        self.touch()

    # What an exchange says through its side.

    def send_head(self, side: UpstreamSide, head: RequestHead) -> None:
        """Opens the stream."""
        assert self.codec is not None
        stream = self.codec.open()
        self.sides.pop(side.stream, None)
        side.stream = stream
        self.sides[stream] = side
        self.codec.send_head(side.stream, head)
        if head.ended:
            side.sending = Sending.OVER
        self.touch()

    def cancel(self, side: UpstreamSide) -> None:
        """Gives the exchange up at frame level."""
        if self.sides.get(side.stream) is not side:
            return
        assert self.codec is not None
        if side.stream > 0:
            self.codec.reset(side.stream)
        self._forget(side)
        if self.codec.multiplexed and self.sides:
            self.touch_patiently()
        else:
            self.touch()

    def drained(self, side: Side) -> None:
        assert isinstance(side, UpstreamSide)
        side.receiver.upstream_drained()

    def sent(self, side: Side) -> None:
        """The request is whole; its response is waited for."""

    def cut_short(self, side: Side) -> None:
        raise AssertionError("an upstream side is cancelled, not cut short")

    def _forget(self, side: UpstreamSide) -> None:
        """The exchange has left this connection, whichever way."""
        if self.sides.pop(side.stream, None) is None:
            return
        assert self.codec is not None, "a connection that is gone has no exchanges"
        side.drop()
        if side.withheld:
            # Bytes of a paused response: unacknowledged, the connection's window would leak away.
            flow, side.withheld = side.withheld, 0
            self.codec.acknowledge(side.stream, flow)
        if side.paused and not self.codec.multiplexed:
            self.wire.resume()
        side.paused = False
        self.codec.settle()
        self._since = self.turn.now()
        place, side.place = side.place, None
        if place is not None:
            place.close()

    # The pool.

    def join(self, receiver: UpstreamReceiver, place: Place | None = None) -> None:
        """Gives `receiver` a side here. It sends its head at once."""
        if not self.sides and self.codec is not None and self.codec.multiplexed:
            self._heard = self.turn.now()
            self._pool.wheel.add(self, self._heard + QUIET_TIME)
        side = UpstreamSide(self, receiver, place)
        side.stream = -id(side)  # no stream yet
        self.sides[side.stream] = side
        if place is not None:
            place.opened(self.turn.now())
        receiver.upstream_open(side)

    @property
    def room(self) -> int:
        """How many more exchanges fit."""
        if not self.usable or self.draining or self.codec is None or self.wire.closing:
            return 0
        return self.codec.capacity - len(self.sides)

    def flush(self) -> None:
        """Sends what was queued; closes when there is nothing left to wait for."""
        self._turn_over()
        codec = self.codec
        if codec is None or self.wire.closing:
            return
        codec.work = SERVER_TURN_WORK
        self.drain()
        if codec.closing:
            self._all_gone(Failure.PROTOCOL)
            self._leave(codec)
        elif self.draining and not self.sides:
            self.close()
        else:
            if codec.unfinished and not self.wire.choked:
                self.later()
            self._pool.usable(self)

    def _leave(self, codec: H1Client | H2Client) -> None:
        if not (isinstance(codec, H2Client) and codec.unread and self.usable):
            self.close()
        elif not self.lingering:
            self.lingering = True
            self.wire.busy(False)
            self.wire.finish()
            self._pool.wheel.add(self, self.turn.now() + LINGER_TIME)
            self._pool.forget(self)

    def close(self) -> None:
        """Closes the connection, whatever is on it."""
        if not self.wire.closing:
            self.wire.close()
            self._pool.wheel.add(self, self.turn.now() + CLOSING_TIME)
        self._pool.forget(self)

    def due(self, now: float) -> float | None:
        """Closes an unused connection; ends one whose close is not taken, and one that is dead."""
        if self.wire.closing or self.lingering or not self.usable:
            self._failure = Failure.TIMEOUT
            self.wire.abort()
            return None
        if self.sides:
            return self._look_after(now)
        if now < self._since + POOLED_TIME:
            return self._since + POOLED_TIME
        self.close()
        return now + CLOSING_TIME

    def _look_after(self, now: float) -> float | None:
        """Pings a server that has become quiet, and ends one that is dead. For HTTP/1.1 TCP does it."""
        if not isinstance(self.codec, H2Client):
            return now + POOLED_TIME
        if self._waiting:
            self._heard = now  # it is ours to do something
        if now < self._heard + QUIET_TIME:
            return self._heard + QUIET_TIME
        if self._pinged:
            self._failure = Failure.TIMEOUT
            self.wire.abort()
            return None
        self._pinged = True
        self.codec.ping()
        self.touch()
        return now + PING_TIME


class Waiting:
    """Someone who waits for a connection; nothing of theirs has been sent."""

    __slots__ = ("_queue", "place", "receiver")

    def __init__(
        self, receiver: UpstreamReceiver, place: Place | None, queue: OrderedDict[Waiting, None]
    ) -> None:
        self.receiver = receiver
        self.place = place
        self._queue = queue

    def cancel(self) -> None:
        """Waits no longer: no connection is opened for who has left."""
        if self in self._queue:
            del self._queue[self]
            self._leave()

    def fail(self, failure: Failure) -> None:
        """No connection came to be."""
        self._leave()
        self.receiver.upstream_gone(failure)

    def _leave(self) -> None:
        if self.place is not None:
            self.place.close()


class Upstream:
    """The connections to one server, pinned: its address and the roots it is verified by."""

    def __init__(
        self,
        host: str,
        port: int,
        context: ssl.SSLContext,
        turn: Turn,
        wheel: Wheel,
        flood: Callable[[str], None] = lambda kind: None,
        health: Health | None = None,
    ) -> None:
        """`context` offers the HTTP versions by ALPN and verifies `host` (a name or an address).

        `flood` is told, by its kind's word, of each connection that the server lost by one; `health` of every
        answer and failure.
        """
        self.wheel = wheel
        self.health = health or Health()
        self.flood = flood
        self._host = host
        self._port = port
        self._context = context
        self._turn = turn
        self._connections: dict[UpstreamConnection, None] = {}
        # Those that may have room: with 1,800 watches over HTTP/1.1 all others are busy.
        self._roomy: dict[UpstreamConnection, None] = {}
        self._connecting: dict[UpstreamConnection, asyncio.Task[None]] = {}
        self._waiting: OrderedDict[Waiting, None] = OrderedDict()
        self._expected = 0  # exchanges a new connection is expected to take; 0 until one has told
        self._closed = False

    @property
    def connections(self) -> int:
        """Connections open now."""
        return len(self._connections)

    def open(self, receiver: UpstreamReceiver, place: Place | None = None) -> Waiting:
        """Finds a side for `receiver`, now or as a connection opens: `upstream_open` or `upstream_gone`.

        `place` is what the request holds until it has left: then it is closed, once, whatever became of it.
        """
        waiting = Waiting(receiver, place, self._waiting)
        connection = self._roomiest()
        if self._closed:
            waiting.fail(Failure.CONNECTION)
        elif connection is not None and not self._waiting:
            connection.join(receiver, place)
        else:
            self._waiting[waiting] = None
            self._connect_as_needed()
        return waiting

    def trust(self, context: ssl.SSLContext) -> None:
        """Verifies new connections by `context`, as roots change.

        The open ones finish what they carry and take nothing more: a root that was taken away because
        it cannot be trusted must not go on being trusted by way of them, and no request need be cut
        for one that was only replaced.
        """
        if context is self._context:
            return
        self._context = context
        for connection in [*self._connections]:
            connection.going_away()

    def _longest_waiting(self) -> Waiting:
        waiting, _ = self._waiting.popitem(last=False)
        return waiting

    def _roomiest(self) -> UpstreamConnection | None:
        best, most = None, 0
        for connection in [*self._roomy]:
            room = connection.room
            if room <= 0:
                del self._roomy[connection]
            elif room > most:
                best, most = connection, room
                if not connection.sides:
                    break
        return best

    def usable(self, connection: UpstreamConnection) -> None:
        """`connection` may have room: whoever waited longest goes first."""
        if connection.usable and connection in self._connecting:
            del self._connecting[connection]
            self._connections[connection] = None
            if connection.codec is not None:
                self._expected = max(1, connection.codec.capacity)
            if connection.context is not self._context:  # changed while it was being verified
                connection.going_away()
        while self._waiting and connection.room > 0:
            waiting = self._longest_waiting()
            connection.join(waiting.receiver, waiting.place)
        if connection.room > 0:
            self._roomy[connection] = None
        if self._waiting:
            self._connect_as_needed()

    def _connect_as_needed(self) -> None:
        # Until a server has said what it speaks, one connection is enough to ask it.
        coming = len(self._connecting)
        wanted = -(-len(self._waiting) // self._expected) if self._expected else 1
        for _ in range(wanted - coming):
            self._connect()

    def _connect(self) -> None:
        connection = UpstreamConnection(self, self._turn, self._context)
        wire = TLSWire(connection, self._context, hostname=self._host, turn=self._turn)
        connection.wire = wire
        self.wheel.add(connection, self._turn.now() + CONNECT_TIME)
        self._connecting[connection] = asyncio.get_running_loop().create_task(self._dial(connection, wire))

    async def _dial(self, connection: UpstreamConnection, wire: TLSWire) -> None:
        failure = Failure.CONNECTION
        try:
            async with asyncio.timeout(CONNECT_TIME):
                await asyncio.get_running_loop().create_connection(lambda: wire, self._host, self._port)
            return
        except TimeoutError:
            failure = Failure.TIMEOUT
        except (OSError, ValueError):
            pass  # refused, unreachable, unknown, or no name at all (a label of 64 characters)
        self.wheel.remove(connection)
        self.lost(connection, failure)

    def lost(self, connection: UpstreamConnection, failure: Failure) -> None:
        """`connection` is gone. One that never became usable fails those it was opened for."""
        opening = self._connecting.pop(connection, None) is not None
        self.forget(connection)
        if opening:
            # Another one on its way may still serve them; the last one's failure is everybody's.
            failed = len(self._waiting) if not self._connecting else max(1, self._expected)
            self.health.failed(failure, self._turn.now())
            while failed and self._waiting:
                failed -= 1
                self._longest_waiting().fail(failure)
        if self._waiting and not self._closed:
            self._connect_as_needed()

    def forget(self, connection: UpstreamConnection) -> None:
        """`connection` takes no more exchanges."""
        self._connections.pop(connection, None)
        self._roomy.pop(connection, None)

    def leave(self) -> None:
        """Takes nobody any more, and fails whoever waits. A connection closes as its last exchange leaves."""
        self._end(UpstreamConnection.going_away)

    def close(self) -> None:
        """Ends every connection, and fails whoever waits."""
        self._end(UpstreamConnection.close)

    def _end(self, how: Callable[[UpstreamConnection], None]) -> None:
        self._closed = True
        for connection in [*self._connections]:
            how(connection)
        connecting, self._connecting = self._connecting, {}
        for connection, dialling in connecting.items():
            self.wheel.remove(connection)
            dialling.cancel()
            connection.wire.abort()
        while self._waiting:
            self._longest_waiting().fail(Failure.CONNECTION)


def client_context(ca_file: str | None, *, extra: bool) -> ssl.SSLContext:
    """Verified TLS 1.2 or newer. `ca_file` replaces the system's roots, or joins them where `extra`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Writing would have to wait for the server's new handshake; HTTP/2 forbids it (RFC 9113 section 9.2.1).
    context.options |= ssl.OP_NO_RENEGOTIATION
    if ca_file is None or extra:
        context.load_default_certs()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context

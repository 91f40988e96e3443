"""A browser's connection: request heads become exchanges, and their answers leave in order.

It also keeps the clocks of spec 03 (Transport): handshakes and slow heads, uploads that stand
still, idle connections. It knows no route and no session.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from foyer.exchange.ports import Application, BrowserReceiver
from foyer.gate.wheel import Wheel
from foyer.net.connection import CLOSING_TIME, QUANTUM, Connection
from foyer.net.side import BrowserSide, Sending, Side
from foyer.net.turn import Turn
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.floods import HEAD_WORK, TURN_WORK, Flood, FloodFault
from foyer.protocol.h1 import H1Server, Unread
from foyer.protocol.h2 import H2Server

if TYPE_CHECKING:
    from foyer.net.wire import Wire

HEAD_TIME = 10.0
"""Seconds for a TLS handshake, and for a head from its first byte, or from the answer before it (spec 03)."""

IDLE_TIME = 75.0
"""Seconds a connection may stand between requests: longer than browsers and ingresses keep theirs."""

UPLOAD_TIME = 60.0
"""Seconds an upload may move no byte, be it the browser that sends none or upstream that takes none."""

LINGER_TIME = 10.0
"""Seconds that the rest of an upload is read and dropped after its answer, so that the answer is not
lost to a TCP reset (RFC 9112 section 9.6)."""

SHORT_LINGER_TIME = 1.0
"""The same when foyer is stopping, which one client that goes on sending should not hold up, and for one that
floods it, whose rest costs something to read."""

KNOWN_AFTER = 32
"""Answers after which a connection is no newcomer any more. Until then a turn has one request for it: floods
are newcomers, one after the other, and of theirs three requests that came at once held up everybody else for
0.4 ms. From then on batches count, which cost a fifth less a request."""

UNREAD_TIME = 1.0
"""Seconds that a request has to end by itself once it was answered, before its stream is reset."""

UPLOAD_STEP = 1024
"""Bytes from which an upload counts as moving (`UPLOAD_TIME`): one a minute would hold its place for ever."""

PIPELINE_LIMIT = 64 * 1024
"""Bytes of pipelined requests held while a response is going on; beyond that the transport waits."""

_PREFACE = b"PRI * HTTP/2.0"


UNREAD_MOST = 64 * 1024
"""Bytes of a request that are read and dropped behind its answer before the stream is reset: a window's, and
what an ordinary change has. curl 7.88 takes a RST_STREAM behind an answer (RFC 9113 section 8.1) for an error
where it has not sent everything yet: so ended 30 to 60 of 100 small refused changes."""


class Rest:
    """A request whose rest nobody wants. It has a moment to end by itself."""

    __slots__ = ("passed", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.passed = 0  # bytes, as flow control counts them


class Life(Enum):
    """Where a connection is. It only goes forward, and from anywhere to CLOSING."""

    OPENING = "in the TLS handshake"
    SERVING = "between requests or among them"
    DRAINING = "taking no more requests"
    LINGERING = "answered: the rest of what is sent is read and dropped"
    CLOSING = "written to its end"


class BrowserConnection(Connection):
    """One connection from a browser or an ingress, from its first byte to its last."""

    __slots__ = (
        "_answers",
        "_application",
        "_begun",
        "_choked_at",
        "_flooded",
        "_left",
        "_life",
        "_looking",
        "_since",
        "_sniffed",
        "_taken",
        "_turned_away",
        "_unread",
        "_wheel",
        "sides",
    )

    def __init__(
        self,
        application: Application,
        turn: Turn,
        wheel: Wheel,
        left: Callable[[BrowserConnection], None],
        turned_away: Unread | None = None,
    ) -> None:
        """`left` is called once, when the connection is gone.

        `turned_away` is asked about an HTTP/1.1 request before it is read; what it turns away, the
        application is not told of.
        """
        super().__init__(turn)
        self.codec: H1Server | H2Server | None = None
        self.sides: dict[int, BrowserSide] = {}
        self._application = application
        self._wheel = wheel
        self._left = left
        self._turned_away = turned_away
        self._sniffed = b""  # plain HTTP: the first bytes, until they tell the version
        self._life = Life.OPENING
        self._answers = 0  # whole ones
        self._flooded = False
        self._choked_at = -1.0  # when it was first seen to be
        self._unread: dict[int, Rest] = {}  # HTTP/2 streams that were answered before their request's end
        self._looking = False  # at each tick, for something waits for the browser to take it
        self._taken = 0  # bytes that the browser had acknowledged when it was last looked at
        self._since = turn.now()  # when what is waited for now began: the handshake, or a next request
        self._begun = self._since  # when the head or the frame began of which a part has come
        wheel.add(self, self._since + HEAD_TIME)

    def attach(self, wire: Wire) -> Wire:
        """Gives the connection its wire."""
        # Until the first read has been worked off, and after any that is not: what waits for its turn would
        # be 96 KiB a connection, and 100 that come and leave at once 16 MiB.
        wire.sparing = True
        self.wire = wire
        return wire

    # The wire.

    def opened(self, protocol: str | None) -> None:
        """TLS is established, or TCP alone."""
        self._since = self.turn.now()
        self._life = Life.SERVING
        if protocol == "h2":
            self._speak(H2Server(self))
        elif protocol is not None:
            self._speak(self._http1())
        # On plain HTTP the first bytes tell: HTTP/2 by prior knowledge, else HTTP/1.1.

    def _http1(self) -> H1Server:
        return H1Server(self, None if self._turned_away is None else self._turn_away)

    def _turn_away(self, target: bytes) -> bytes:
        assert self._turned_away is not None
        answer = self._turned_away(target)
        if answer:
            self._since = self.turn.now()  # it is no idle connection that is told to ask again
        return answer

    def _speak(self, codec: H1Server | H2Server) -> None:
        self.codec = codec
        codec.work = self._share(TURN_WORK)
        self.touch()

    def _share(self, work: int) -> int:
        """Of a turn's work, what is for this connection."""
        return work if self._answers >= KNOWN_AFTER else HEAD_WORK

    def received(self, data: bytes) -> None:
        """Bytes from the browser."""
        if self.codec is None:
            if not self._sniffed:
                self._begun = self.turn.now()
                self._wheel.add(self, self._begun + HEAD_TIME)
            data = self._sniffed + data
            if len(data) < len(_PREFACE) and _PREFACE.startswith(data):
                self._sniffed = data
                self.has_read(len(data))
                return
            self._speak(H2Server(self) if data.startswith(_PREFACE) else self._http1())
            self._sniffed = b""
        codec = self.codec
        assert codec is not None
        if codec.closing:
            self.has_read(len(data))
            return  # the rest of an upload whose answer was given
        now = self.turn.now()
        if not codec.held and not self.sides:
            self._begun = now  # the first byte of a head, or of a frame that begins no request
        self._guarded(lambda: codec.receive(data, now))
        self.wire.sparing = codec.unfinished
        if codec.unfinished:
            self._line_up()
        # Only now: what is left of a large read is to stand in that line.
        self.has_read(len(data))
        if self._has_enough(codec):
            self.wire.pause()
        self.touch()

    def _has_enough(self, codec: H1Server | H2Server) -> bool:
        """Pipelined requests are waiting to their limit: each answer makes room for one, not for a read.

        What waits for a turn is no such thing: nothing is read until that has come, and nobody would resume.
        """
        return not codec.multiplexed and not codec.unfinished and codec.held > PIPELINE_LIMIT

    def _guarded(self, step: Callable[[], None]) -> None:
        """Runs a step of the codec; a breach of the protocol ends the connection."""
        codec = self.codec
        assert codec is not None
        try:
            step()
        except ProtocolFault as fault:
            if isinstance(fault, FloodFault):
                self._flood(fault.flood)
            else:
                self._application.unreadable(fault.message)
            self.wire.deafen()
            for side in list(self.sides.values()):
                self._gone(side)
            codec.refuse(fault)
            codec.closing = True
            self.touch()

    def _flood(self, flood: Flood) -> None:
        self._flooded = True
        self._application.flood(flood.word)

    def go_on(self) -> None:
        """Another turn's work on what has come and, when there is none left, another turn's reading."""
        self._waiting = False
        codec = self.codec
        if codec is None or self.wire.closing:
            return
        if self._sent:
            self._sent = 0
            self.touch()
        if codec.unfinished and not codec.closing and not self.wire.choked:
            now = self.turn.now()
            if not self.sides:
                self.wire.resume()  # an answer has made room: for what waits here, then for more
            # Half: what else this turn brings has waited for as long. And nobody but a benchmark pipelines.
            codec.work = self._share(TURN_WORK // 2) if codec.multiplexed else HEAD_WORK
            self._guarded(lambda: codec.proceed(now))
            if self._has_enough(codec):
                self.wire.pause()
            self.touch()  # what is left of it then waits again
        if not codec.unfinished or codec.closing:
            super().go_on()

    def writable(self) -> None:
        """The browser has taken something."""
        self._choked_at = -1.0
        super().writable()

    def ended(self, clean: bool) -> None:
        """The browser sends no more."""
        codec = self.codec
        if self.wire.flooded:
            self._flood(Flood.KEY_UPDATE)
        if codec is not None:
            # Half-closed is gone, as HTTP/1.1 has no other way to say that nobody reads any more. If
            # somebody does, a close must not end for them what only the close can end.
            if isinstance(codec, H1Server) and codec.until_close and self.sides:
                self.wire.abort(reset=True)
            codec.closing = True
        self._all_gone()
        self._close()

    def lost(self, reason: Exception | None) -> None:
        """The connection is gone."""
        self._wheel.remove(self)
        self._all_gone()
        self.forget_codec()
        self._left(self)

    def _all_gone(self) -> None:
        for side in list(self.sides.values()):
            self._gone(side)

    def _gone(self, side: BrowserSide) -> None:
        side.drop()
        receiver = self._forget(side)
        if receiver is not None:
            receiver.browser_gone()

    def _forget(self, side: BrowserSide) -> BrowserReceiver | None:
        """The exchange is over for this connection: whom to tell that, last."""
        self.sides.pop(side.stream, None)
        self._since = self.turn.now()
        side.resume()  # what a paused upload held goes back to the connection's window
        receiver, side.receiver = side.receiver, None
        return receiver

    # The codec's events.

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        """A request begins an exchange."""
        assert isinstance(head, RequestHead)
        side = BrowserSide(self, stream, head.ended)
        side.moved = self.turn.now()
        self.sides[stream] = side
        self._application.begin(side, head)

    def content(self, stream: int, data: bytes, flow: int) -> None:
        """Request content."""
        side = self.sides.get(stream)
        if side is None or side.receiver is None:
            assert self.codec is not None
            self.codec.acknowledge(stream, flow)
            unread = self._unread.get(stream)
            if unread is not None:
                unread.passed += flow
                if unread.passed > UNREAD_MOST:
                    self._give_up(stream)
            return
        side.arrived += len(data)
        if side.arrived >= UPLOAD_STEP:
            side.arrived = 0
            side.moved = self.turn.now()
        if data:
            side.receiver.request_body(data)
        self.taken(side, flow)

    def end(self, stream: int) -> None:
        """The request is whole."""
        self._unread.pop(stream, None)
        side = self.sides.get(stream)
        if side is not None and side.receiver is not None:
            side.received = True
            side.receiver.request_end()

    def reset(self, stream: int, failure: Failure) -> None:
        """The browser gave the stream up."""
        self._unread.pop(stream, None)
        side = self.sides.get(stream)
        if side is not None:
            self._gone(side)

    def window(self, stream: int) -> None:
        """The browser takes more."""
        self.wake(self.sides, stream)

    def ready(self) -> None:
        """A browser's settings change nothing that is waited for."""

    def going_away(self) -> None:
        """A browser that opens no more streams needs nothing of us."""

    # What an exchange says through its side.

    def send_informational(self, side: BrowserSide, status: int) -> None:
        """A 1xx head."""
        assert self.codec is not None
        if side.sending is Sending.OPEN:
            self.codec.send_informational(side.stream, status)
            self.touch()

    def send_head(self, side: BrowserSide, head: ResponseHead) -> None:
        """The final head."""
        assert self.codec is not None
        if side.sending is not Sending.OPEN:
            return
        self.codec.send_head(side.stream, head)
        self.touch()
        if head.ended:
            side.sending = Sending.FRAMED
            self.enqueue(side)

    def pass_on(self, side: BrowserSide, data: bytes) -> bool:
        """Frames `data`, where nothing waits before it and no other stream may share the record.

        Of one change to 1,800 streams over HTTP/1.1 each has a connection of its own, which is out of the
        caches when the next has been served: to come back to each was an eighth of what foyer's own code
        spends. So the wire alone is. All are encrypted then, whose code stays in the caches meanwhile (a
        tenth), and they leave one behind the other: where each left as it was ready, whoever reads them on
        the same machine had slept again, and to wake them was an eighth of all CPU.
        """
        codec, wire = self.codec, self.wire
        if self._touched or wire.congested or len(data) > QUANTUM:
            return False
        if not isinstance(codec, H1Server):
            return False
        side.framed += len(data)
        wire.prepare(codec.take_alone(side.stream, data), self.turn)
        return True

    def drained(self, side: Side) -> None:
        assert isinstance(side, BrowserSide)
        if side.receiver is not None:
            side.receiver.browser_drained()

    def sent(self, side: Side) -> None:
        assert isinstance(side, BrowserSide) and self.codec is not None
        self._answers += 1
        if not side.received and self.codec.multiplexed:
            now = self.turn.now()
            self._unread[side.stream] = Rest(now + UNREAD_TIME)
            self._wheel.add(self, now)
        self._over(side)

    def _give_up(self, stream: int) -> None:
        """The rest of a request is not wanted: the whole answer has been given (RFC 9113 section 8.1)."""
        del self._unread[stream]
        if self.codec is not None:
            self.codec.reset(stream, no_error=True)
            self.touch()

    def cut_short(self, side: Side) -> None:
        assert isinstance(side, BrowserSide) and self.codec is not None
        side.drop()
        self.codec.reset(side.stream)
        self._over(side)

    def cut(self, side: BrowserSide) -> None:
        """Aborts now: what is queued is dropped."""
        self.cut_short(side)
        self.touch()

    def _over(self, side: BrowserSide) -> None:
        receiver = self._forget(side)
        if receiver is not None:
            receiver.browser_sent()

    # The end of a turn.

    def flush(self) -> None:
        """Sends what was queued, then goes on with what waited for it."""
        self._turn_over()
        codec = self.codec
        if codec is None or self.wire.closing:
            return
        codec.work = self._share(TURN_WORK)
        self.drain()
        if not self.sides and self._life is Life.DRAINING and not self._goes_on(codec):
            codec.closing = True
        if codec.closing:
            self._leave(codec)
        elif codec.unfinished:
            if not self.wire.choked:
                self._line_up()
        elif not self.sides and codec.held:
            self._wheel.add(self, self._head_limit())  # for a head's rest

    def _goes_on(self, codec: H1Server | H2Server) -> bool:
        """Whether a pipelined request has yet to begin. It is one in progress: its answer says the close, as
        that before may not have (RFC 9112 section 9.6). Over HTTP/2 GOAWAY has said what is not, and who
        reads no answers holds up no stop."""
        return codec.unfinished and not codec.multiplexed and not self.wire.choked

    def _line_up(self) -> None:
        """The rest of what was read is for a later turn, and the browser waits until then."""
        if not self._waiting:
            self._waiting = True
            self.wire.busy(True)
            self.turn.line_up(self)

    def _leave(self, codec: H1Server | H2Server) -> None:
        if self.sides:
            # Cut with siblings still sending (HTTP/2 that broke the protocol): nothing more is readable.
            self._all_gone()
        if isinstance(codec, H1Server) and codec.cut:
            # What was framed has been handed on: closing after it, but short of the message's end.
            if codec.until_close:
                self.wire.abort(reset=True)
            elif codec.unread:
                self._linger(goodbye=False)  # or a TCP reset takes what was to be delivered
            else:
                self._cut_off()
        elif codec.unread or codec.multiplexed:
            # Over HTTP/2 something is always on its way, WINDOW_UPDATE or PING: met by a closed socket, it
            # would be answered with a TCP reset that takes what the browser has not read yet.
            self._linger()
        else:
            self._close()

    def _linger(self, *, goodbye: bool = True) -> None:
        if self._life is Life.LINGERING:
            return
        short = self._flooded or self._life is Life.DRAINING
        self._become(Life.LINGERING, SHORT_LINGER_TIME if short else LINGER_TIME)
        self.wire.busy(False)
        self.wire.resume()
        self.wire.finish(goodbye=goodbye)

    def _cut_off(self) -> None:
        """Ends the connection without close_notify, after what was written."""
        self._become(Life.CLOSING, CLOSING_TIME)
        self.wire.cut_off()

    def _close(self) -> None:
        if not self.wire.closing:
            self._become(Life.CLOSING, CLOSING_TIME)
            self.wire.close()

    def _become(self, life: Life, seconds: float) -> None:
        """On the way out, with so long before it is an abort."""
        self._life = life
        self._wheel.add(self, self.turn.now() + seconds)

    # The clock.

    def due(self, now: float) -> float | None:
        """Acts on what has waited too long."""
        self._looking = False
        for stream in [stream for stream, unread in self._unread.items() if unread.until <= now]:
            self._give_up(stream)
        match self._life:
            case Life.LINGERING | Life.CLOSING:
                self.wire.abort()
                return None
            case Life.OPENING:
                return self._due_between(now, self._since + HEAD_TIME)
            case Life.SERVING | Life.DRAINING if not self.sides:
                begun = self.codec.held if self.codec is not None else len(self._sniffed)
                return self._due_between(now, self._head_limit() if begun else self._since + IDLE_TIME)
            case _:
                return self._due_within(now)

    def _head_limit(self) -> float:
        """A head has its time from its first byte or the answer before it. But frames that begin no request
        (PING) keep nothing: where one is always begun, the idle connection's time is over all the same."""
        return min(max(self._begun, self._since) + HEAD_TIME, self._since + IDLE_TIME + HEAD_TIME)

    def _due_between(self, now: float, limit: float) -> float | None:
        """No exchange is open: what is waited for has until `limit`."""
        if now < limit:
            return now if self._unread else limit
        if self.codec is None:
            self.wire.abort()
            return None
        # Nothing was answered that a close at once could lose.
        self.codec.go_away()
        self.drain()
        self._close()
        return None

    def _due_within(self, now: float) -> float:
        """Exchanges are open: none may hold its upload still, nor its browser take nothing."""
        if self.wire.choked and 0 <= self._choked_at <= now - HEAD_TIME:
            self._flood(Flood.NEVER_READS)
            self.wire.abort()
            return now + CLOSING_TIME
        if self.wire.choked and self._choked_at < 0:
            self._choked_at = now
        for side in list(self.sides.values()):
            if not side.received and now - side.moved >= UPLOAD_TIME and self.codec is not None:
                self.codec.reset(side.stream)
                self._gone(side)
                self.touch()
        self._look_for_stalls(now)
        return now if self._looking or self._unread else now + HEAD_TIME  # `now` is the wheel's next tick

    def held_up(self) -> None:
        """Something waits for the browser: it has its exchange's time to take it."""
        if not self._looking and self.sides and self._life in (Life.SERVING, Life.DRAINING):
            self._looking = True
            self._wheel.add(self, self.turn.now())

    def _look_for_stalls(self, now: float) -> None:
        """Tells exchanges whose browser takes nothing, be it of what waits here or of what is on its way."""
        taken, before = self.wire.acknowledged, self._taken
        self._taken = taken
        stuck = False
        for side in list(self.sides.values()):
            if not side.waits:
                continue
            self._looking = True
            assert self.codec is not None
            on_its_way = before < side.written or self.codec.window(side.stream) > 0
            if side.framed != side.seen:
                side.seen, side.taken_at, side.written = side.framed, now, self.wire.written
            elif taken > before and on_its_way:
                side.taken_at = now
            elif side.receiver and side.write_timeout and now - side.taken_at >= side.write_timeout:
                # Not for its own window, but for the transport, which cannot carry a reset either.
                stuck = stuck or on_its_way
                side.receiver.browser_stalled()
        if stuck and not self.sides:
            self.wire.abort()

    def go_away(self) -> None:
        """No more requests: the ones open go on (a drain)."""
        if self.codec is None:
            self._close()
        elif self._life is Life.SERVING and not self.codec.closing:
            self._life = Life.DRAINING
            self.codec.go_away()
            self.touch()

    def abort(self) -> None:
        """Ends the connection as it stands."""
        self.wire.abort()

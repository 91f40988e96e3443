"""A browser's connection: request heads become exchanges, and their answers leave in order.

It also keeps the clocks of spec 03 (Transport): handshakes and slow heads, uploads that stand
still, idle connections. It knows no route and no session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from foyer.exchange.ports import Application, BrowserReceiver
from foyer.gate.wheel import Wheel
from foyer.net.connection import CLOSING_TIME, Connection
from foyer.net.side import BrowserSide, Sending, Side
from foyer.net.turn import Turn
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.h1 import H1Server
from foyer.protocol.h2 import H2Server

if TYPE_CHECKING:
    from foyer.net.wire import Wire

HEAD_TIME = 10.0
"""Seconds for a TLS handshake, and for a head from its first byte (spec 03)."""

IDLE_TIME = 75.0
"""Seconds a connection may stand between requests: longer than browsers and ingresses keep theirs."""

UPLOAD_TIME = 60.0
"""Seconds an upload may move no byte while it is being read."""

LINGER_TIME = 10.0
"""Seconds that the rest of an upload is read and dropped after its answer, so that the answer is not
lost to a TCP reset (RFC 9112 section 9.6)."""

PIPELINE_LIMIT = 64 * 1024
"""Bytes of pipelined requests held while a response is going on; beyond that the transport waits."""

_PREFACE = b"PRI * HTTP/2.0"


class BrowserConnection(Connection):
    """One connection from a browser or an ingress, from its first byte to its last."""

    __slots__ = (
        "_application",
        "_closing_since",
        "_draining",
        "_left",
        "_lingering",
        "_since",
        "_sniffed",
        "_wheel",
        "sides",
    )

    def __init__(
        self, application: Application, turn: Turn, wheel: Wheel, left: Callable[[BrowserConnection], None]
    ) -> None:
        """`left` is called once, when the connection is gone."""
        super().__init__(turn)
        self.codec: H1Server | H2Server | None = None
        self.sides: dict[int, BrowserSide] = {}
        self._application = application
        self._wheel = wheel
        self._left = left
        self._sniffed = b""  # plain HTTP: the first bytes, until they tell the version
        self._draining = False
        self._lingering = False
        self._closing_since = 0.0
        self._since = turn.now()  # when what is waited for now began
        wheel.add(self, self._since + HEAD_TIME)

    def attach(self, wire: Wire) -> Wire:
        """Gives the connection its wire."""
        self.wire = wire
        return wire

    # The wire.

    def opened(self, protocol: str | None) -> None:
        """TLS is established, or TCP alone."""
        self._since = self.turn.now()
        if protocol == "h2":
            self._speak(H2Server(self))
        elif protocol is not None:
            self._speak(H1Server(self))
        # Without ALPN the first bytes tell: HTTP/2 by prior knowledge, else HTTP/1.1.

    def _speak(self, codec: H1Server | H2Server) -> None:
        self.codec = codec
        self.touch()

    def received(self, data: bytes) -> None:
        """Bytes from the browser."""
        if self.codec is None:
            data = self._sniffed + data
            self._sniffed = data
            if len(data) < len(_PREFACE) and _PREFACE.startswith(data):
                return
            self._speak(H2Server(self) if data.startswith(_PREFACE) else H1Server(self))
            self._sniffed = b""
        codec = self.codec
        assert codec is not None
        if self._lingering or codec.closing:
            return  # the rest of an upload whose answer was given
        waited = bool(codec.held)
        self._guarded(lambda: codec.receive(data))
        if codec.held:
            self._hold(codec, waited)
        self.touch()

    def _hold(self, codec: H1Server | H2Server, waited: bool) -> None:
        if not self.sides:
            if not waited:
                self._since = self.turn.now()
                self._wheel.add(self, self._since + HEAD_TIME)
        elif codec.held > PIPELINE_LIMIT and not codec.multiplexed:
            self.wire.pause()

    def _guarded(self, step: Callable[[], None]) -> None:
        """Runs a step of the codec; a breach of the protocol ends the connection."""
        codec = self.codec
        assert codec is not None
        try:
            step()
        except ProtocolFault as fault:
            for side in list(self.sides.values()):
                self._gone(side)
            codec.refuse(fault)
            codec.closing = True
            self.touch()

    def ended(self, clean: bool) -> None:
        """The browser sends no more."""
        codec = self.codec
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
        self.codec = None  # and its cycle with it
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
            return
        side.moved = self.turn.now()
        if data:
            side.receiver.request_body(data)
        self.taken(side, flow)

    def end(self, stream: int) -> None:
        """The request is whole."""
        side = self.sides.get(stream)
        if side is not None and side.receiver is not None:
            side.received = True
            side.receiver.request_end()

    def reset(self, stream: int, failure: Failure) -> None:
        """The browser gave the stream up."""
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

    def drained(self, side: Side) -> None:
        assert isinstance(side, BrowserSide)
        if side.receiver is not None:
            side.receiver.browser_drained()

    def sent(self, side: Side) -> None:
        assert isinstance(side, BrowserSide) and self.codec is not None
        if not side.received and self.codec.multiplexed:
            # RFC 9113 section 8.1: the whole answer came before the upload's end.
            self.codec.reset(side.stream, no_error=True)
        self._over(side)

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
        self._touched = False
        codec = self.codec
        if codec is None or self.wire.closing:
            return
        self.drain()
        if self._draining and not self.sides:
            codec.closing = True
        if codec.closing:
            self._leave(codec)
            return
        if codec.held and not codec.multiplexed and not self.sides:
            self.wire.resume()
            self._guarded(codec.proceed)
            if codec.held and not self.sides:
                self._hold(codec, False)
            self.touch()

    def _leave(self, codec: H1Server | H2Server) -> None:
        if self.sides:
            # Cut with siblings still sending (HTTP/2 that broke the protocol): nothing more is readable.
            self._all_gone()
        if isinstance(codec, H1Server) and codec.cut:
            # What was framed has been handed on: closing after it, but short of the message's end.
            if codec.until_close:
                self.wire.abort(reset=True)
            else:
                self._cut_off()
        elif codec.unread:
            self._linger()
        else:
            self._close()

    def _linger(self) -> None:
        if not self._lingering:
            self._lingering = True
            self._closing_since = self.turn.now()
            self._wheel.add(self, self._closing_since + LINGER_TIME)
            self.wire.resume()
            self.wire.finish()

    def _cut_off(self) -> None:
        """Ends the connection without close_notify, after what was written."""
        self._closing_since = self.turn.now()
        self.wire.cut_off()
        self._wheel.add(self, self._closing_since + CLOSING_TIME)

    def _close(self) -> None:
        if not self.wire.closing:
            self._closing_since = self.turn.now()
            self.wire.close()
            self._wheel.add(self, self._closing_since + CLOSING_TIME)

    # The clock.

    def due(self, now: float) -> float | None:
        """Acts on what has waited too long."""
        if self._closing_since:
            self.wire.abort()
            return None
        if self.codec is None or not self.sides:
            return self._due_between(now)
        for side in list(self.sides.values()):
            if not side.received and not side.paused and now - side.moved >= UPLOAD_TIME:
                self._gone(side)
                if self.codec is not None:
                    self.codec.reset(side.stream)
                    self.touch()
        return now + HEAD_TIME

    def _due_between(self, now: float) -> float | None:
        waiting = self.codec is None or self.codec.held or not self.codec.begun
        limit = self._since + (HEAD_TIME if waiting else IDLE_TIME)
        if now < limit:
            return limit
        if self.codec is None:
            self.wire.abort()
            return None
        self.codec.go_away()
        self.codec.closing = True
        self.touch()
        return now + CLOSING_TIME

    def go_away(self) -> None:
        """No more requests: the ones open go on (a drain)."""
        if self.codec is None:
            self._close()
        elif not self.codec.closing:
            self.codec.go_away()
            self._draining = True
            self.touch()

    def abort(self) -> None:
        """Ends the connection as it stands."""
        self.wire.abort()

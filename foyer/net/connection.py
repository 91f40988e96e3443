"""A connection: a wire, the codec that ALPN chose, and the sides of the exchanges on it.

What both roles share is how queued content leaves: at the end of a turn, side by side in quanta,
while the transport has room and the peer's windows are open.
"""

from __future__ import annotations

from typing import TypeVar

from foyer.exchange.ports import LOW_WATER
from foyer.net.side import Sending, Side
from foyer.net.turn import Turn
from foyer.net.wire import Wire
from foyer.protocol.h1 import H1Client, H1Server
from foyer.protocol.h2 import H2Client, H2Server

QUANTUM = 32 * 1024
"""Bytes one side may send before its siblings have their turn, and a write's size."""

TURN_BYTES = 64 * 1024
"""Bytes read of one connection in one turn of the loop, to be passed by one read at most. uvloop would read
32 times, 3 MiB, from a peer who keeps up with it, before it looks at anybody else."""

TURN_SENT = 256 * 1024
"""Bytes of content framed for one connection in one turn: a millisecond or two, decoding included. Who keeps
up with us would otherwise have all that 64 KiB of gzip expand to in one turn: 64 MiB."""

CLOSING_TIME = 10.0
"""Seconds that what was written last has to leave, before a close becomes an abort."""

S = TypeVar("S", bound=Side)


class Connection:
    """What both roles share: the sides' queues, the pauses, and the flush."""

    __slots__ = (
        "_patient",
        "_pumping",
        "_read",
        "_ready",
        "_sent",
        "_touched",
        "_waiting",
        "codec",
        "slot",
        "turn",
        "wire",
    )

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.wire: Wire
        self.codec: H1Server | H1Client | H2Server | H2Client | None = None
        self.slot = -1
        self._ready: list[Side] = []  # with something to send, each once; a deque is 700 octets
        self._touched = False
        self._patient = False  # touched, for a later turn
        self._pumping = False
        self._waiting = False  # for a turn to go on
        self._read = 0  # bytes in this turn
        self._sent = 0  # bytes of content framed in this turn

    # What is read, a turn's worth at a time.

    def has_read(self, size: int) -> None:
        """`size` bytes came."""
        self._read += size
        if self._read >= TURN_BYTES:
            self.later()

    def later(self) -> None:
        """The rest is for another turn, and the peer waits until then."""
        if not self._waiting:
            self._waiting = True
            self.wire.busy(True)
            self.turn.later(self)

    def go_on(self) -> None:
        """That turn has come."""
        self._waiting = False
        self._read = 0
        self.wire.busy(False)
        if self._sent:
            self._sent = 0
            self.touch()

    # What a side asks for.

    def touch(self) -> None:
        """Flushes at the end of this turn."""
        if not self._touched:
            self._touched = True
            self.turn.touch(self)

    def touch_patiently(self) -> None:
        """Flushes within a few turns: for what nobody waits for."""
        if not self._touched and not self._patient:
            self._patient = True
            self.turn.touch_patiently(self)

    def enqueue(self, side: Side) -> None:
        """`side` has something to send."""
        if side not in self._ready:
            self._ready.append(side)
        if not self._touched:
            self.touch()

    def pause(self, side: Side) -> None:
        """Stops the peer's content: HTTP/2 by not acknowledging it, HTTP/1.1 by not reading."""
        if self.codec is not None and not self.codec.multiplexed:
            self.wire.pause()

    def resume(self, side: Side) -> None:
        """Undoes `pause`."""
        if self.codec is None:
            return
        if not self.codec.multiplexed:
            self.wire.resume()
        elif side.withheld:
            flow, side.withheld = side.withheld, 0
            self.codec.acknowledge(side.stream, flow)
            self.touch()

    def taken(self, side: Side, flow: int) -> None:
        """Content was passed on: its bytes may be asked for again, unless the side is paused."""
        assert self.codec is not None
        if side.paused:
            side.withheld += flow
        else:
            self.codec.acknowledge(side.stream, flow)
            self.touch()

    def forget_codec(self) -> None:
        """The connection is gone: without their cycles its parts are freed at once, not at a collection."""
        if isinstance(self.codec, H2Server | H2Client):
            self.codec.machine.release()
        self.codec = None
        self._ready.clear()

    # How it leaves.

    def flush(self) -> None:
        """The end of a turn in which this connection was touched."""
        raise NotImplementedError  # pragma: no cover - each role has its own

    def _turn_over(self) -> None:
        """What comes is another turn's. Of a connection that waits for one, what it has sent still counts."""
        self._touched = self._patient = False
        self._read = 0
        if not self._waiting:
            self._sent = 0

    def drain(self) -> None:
        """Offers the transport what is queued, now."""
        if self.codec is None or self._pumping:
            return
        self._pumping = True
        try:
            self._pump(self.codec)
        finally:
            self._pumping = False

    def _pump(self, codec: H1Server | H1Client | H2Server | H2Client) -> None:
        framed = 0
        while self._ready and not self.wire.congested and self._sent < TURN_SENT:
            side = self._ready.pop(0)
            size = self._pump_side(codec, side)
            framed += size
            self._sent += size
            if framed >= QUANTUM:
                framed = 0
                self.wire.write(codec.take())
        data = codec.take()
        if data:
            self.wire.write(data)
        if self._ready:
            if self.wire.congested:
                self.held_up()
            elif self._sent >= TURN_SENT:
                self.later()

    def _pump_side(self, codec: H1Server | H1Client | H2Server | H2Client, side: Side) -> int:
        """Frames up to a quantum of what `side` has queued; the bytes framed."""
        if side.sending is Sending.OVER:
            return 0
        pieces = side.pieces
        if len(pieces) > 1 and side.queued <= QUANTUM:
            pieces[:] = [b"".join(pieces)]
        room = min(codec.window(side.stream), QUANTUM) if pieces else 0
        framed = 0
        while pieces and framed < room:
            piece = pieces[0]
            if len(piece) > room - framed:
                pieces[0], piece = piece[room - framed :], piece[: room - framed]
            else:
                del pieces[0]
            framed += len(piece)
            side.queued -= len(piece)
            codec.send_data(side.stream, piece, not pieces and side.sending is Sending.ENDING)
        if not pieces:
            if side.sending is not Sending.OPEN:
                self._emptied(codec, side, framed)
        elif framed >= QUANTUM:
            self._ready.append(side)
        else:
            self.held_up()  # by the peer's window
        side.framed += framed
        if side.full and side.queued < LOW_WATER:
            side.full = False
            self.drained(side)
        return framed

    def _emptied(self, codec: H1Server | H1Client | H2Server | H2Client, side: Side, framed: int) -> None:
        if side.sending is Sending.ENDING:
            if not framed:
                codec.send_data(side.stream, b"", True)
            side.sending = Sending.OVER
            self.sent(side)
        elif side.sending is Sending.FRAMED:
            side.sending = Sending.OVER
            self.sent(side)
        elif side.sending is Sending.CUTTING:
            self.cut_short(side)

    def failed(self) -> None:
        """A fault of ours: the connection ends as it stands, and `lost` tells its exchanges."""
        self.wire.abort()

    def drained(self, side: Side) -> None:
        """Tells the exchange that there is room."""
        raise NotImplementedError  # pragma: no cover - each role has its own

    def sent(self, side: Side) -> None:
        """Our message has been framed to its end."""
        raise NotImplementedError  # pragma: no cover - each role has its own

    def held_up(self) -> None:
        """Something waits for the peer to take what went before."""

    def cut_short(self, side: Side) -> None:
        """What was to be delivered before an abort has been framed."""
        raise NotImplementedError  # pragma: no cover - each role has its own

    def wake(self, sides: dict[int, S], stream: int) -> None:
        """The peer's window opened, on one stream or (0) on all."""
        if stream:
            side = sides.get(stream)
            if side is not None and side.pieces:
                self.enqueue(side)
            return
        for side in sides.values():
            if side.pieces:
                self.enqueue(side)

    # The wire's side.

    def writable(self) -> None:
        """The transport has room again."""
        self.touch()

"""A side: one exchange's place on one connection, in either role and either version.

What it queues is its own until the transport and the peer's window take it, so that a reset can
drop it (spec 03, Transport). The connection drains its sides in turn; the exchange above is told
when there is room again.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from foyer.exchange.ports import HIGH_WATER
from foyer.protocol.events import RequestHead, ResponseHead

if TYPE_CHECKING:
    from foyer.admission.place import Place
    from foyer.exchange.ports import BrowserReceiver, UpstreamReceiver
    from foyer.net.turn import Turn


ANSWER_TIME = 60.0
"""Seconds that foyer's own answer may wait for a browser that takes nothing of it (a closed window)."""


class Sending(Enum):
    """Our half of the exchange's two messages.

    OPEN -> ENDING | FRAMED | CUTTING -> OVER, and any -> OVER.
    """

    OPEN = "content may follow"
    ENDING = "what is queued, then the end"
    FRAMED = "the head was all of it"
    CUTTING = "what is queued, then an abort"
    OVER = "ended or aborted"


TINY = 64
"""Bytes below which a piece goes into the one before it. By itself it is an object of fifty more, and an API
server may send its content two bytes at a time."""

GATHERED = 1024
"""Bytes up to which such a one is gathered: what is copied for each piece that comes to it."""


class Carrier(Protocol):
    """The connection that a side is on."""

    def enqueue(self, side: Side) -> None:
        """It has something to send."""

    def drain(self) -> None:
        """Offers the transport what all of them have queued, now."""

    def pause(self, side: Side) -> None:
        """Stops the peer's content."""

    def resume(self, side: Side) -> None:
        """Undoes `pause`."""


class BrowserCarrier(Carrier, Protocol):
    """A browser's."""

    @property
    def turn(self) -> Turn:
        """The loop's turn, whose clock counts."""

    def send_informational(self, side: BrowserSide, status: int) -> None:
        """A 1xx head."""

    def send_head(self, side: BrowserSide, head: ResponseHead) -> None:
        """The final head."""

    def pass_on(self, side: BrowserSide, data: bytes) -> bool:
        """Frames content at once, if that costs no more than to do so at the turn's end."""

    def cut(self, side: BrowserSide) -> None:
        """Aborts now: what is queued is dropped."""


class UpstreamCarrier(Carrier, Protocol):
    """One to the API server."""

    def send_head(self, side: UpstreamSide, head: RequestHead) -> None:
        """The request's head."""

    def cancel(self, side: UpstreamSide) -> None:
        """Gives the exchange up."""


class Side:
    """What both roles share: the queue and the pause."""

    __slots__ = (
        "connection",
        "framed",
        "full",
        "paused",
        "pieces",
        "queued",
        "sending",
        "stream",
        "withheld",
    )

    def __init__(self, connection: Carrier, stream: int) -> None:
        self.connection = connection
        self.stream = stream
        self.pieces: list[bytes] = []
        self.queued = 0
        self.framed = 0  # bytes that left the queue
        self.sending = Sending.OPEN
        self.full = False  # the exchange waits to be told of room
        self.paused = False
        self.withheld = 0  # flow-control bytes not acknowledged while paused

    def send(self, data: bytes) -> None:
        """Queues content; past `HIGH_WATER` the transport is offered it at once."""
        if self.sending is not Sending.OPEN or not data:
            return
        if len(data) < TINY and self.pieces and len(self.pieces[-1]) < GATHERED:
            self.pieces[-1] += data
        else:
            self.pieces.append(data)
        self.queued += len(data)
        self.connection.enqueue(self)
        if self.queued >= HIGH_WATER:
            self.connection.drain()
            # Once full it stays so until told of room, which is at `LOW_WATER` and not before.
            self.full = self.full or self.queued >= HIGH_WATER

    def finish(self) -> None:
        """Ends our message, after what is queued."""
        if self.sending is Sending.OPEN:
            self.sending = Sending.ENDING
            self.connection.enqueue(self)

    def drop(self) -> None:
        """Forgets what is queued: nobody will read it."""
        self.pieces.clear()
        self.queued = 0
        self.sending = Sending.OVER

    def pause(self) -> None:
        """Stops the peer's content, by the transport or by its window."""
        if not self.paused:
            self.paused = True
            self.connection.pause(self)

    def resume(self) -> None:
        """Lets the peer's content come again."""
        if self.paused:
            self.paused = False
            self.connection.resume(self)


class BrowserSide(Side):
    """An exchange's place on a browser's connection."""

    __slots__ = (
        "arrived",
        "moved",
        "received",
        "receiver",
        "seen",
        "taken_at",
        "write_timeout",
        "written",
    )

    connection: BrowserCarrier

    def __init__(self, connection: BrowserCarrier, stream: int, received: bool) -> None:
        super().__init__(connection, stream)
        self.receiver: BrowserReceiver | None = None
        self.received = received  # the request is whole
        self.arrived = 0  # bytes of content since it last counted as moving
        self.moved = 0.0  # on the loop's clock: when content last came, or upstream asked for more
        self.write_timeout: float | None = ANSWER_TIME
        # While something waits, as the connection's looks at it found it:
        self.seen = -1  # bytes framed
        self.written = 0  # what the connection had written by then: all of them are within it
        self.taken_at = 0.0  # on the loop's clock: when the browser last took any

    @property
    def neighbourhood(self) -> int:
        """Its connection's, among all that there are now."""
        return id(self.connection)

    @property
    def waits(self) -> bool:
        """Something is left for the browser to take."""
        return bool(self.pieces) or self.sending is not Sending.OPEN

    def send_informational(self, status: int) -> None:
        """A 1xx head before the final one."""
        self.connection.send_informational(self, status)

    def send_head(self, head: ResponseHead) -> None:
        """Frames the final head; with `ended`, the whole response."""
        self.connection.send_head(self, head)

    def send_alone(self, data: bytes) -> None:
        """The same where nothing more of this turn follows: the connection need not be come back to."""
        if self.queued or self.sending is not Sending.OPEN or not self.connection.pass_on(self, data):
            self.send(data)

    def resume(self) -> None:
        """Lets the request's content come again: upstream has taken what there was."""
        if self.paused:
            self.moved = self.connection.turn.now()
        super().resume()

    def abort(self, *, deliver_first: bool = False) -> None:
        """Ends the response so that it cannot pass for whole."""
        if deliver_first and self.sending is Sending.OPEN:
            self.sending = Sending.CUTTING
            self.connection.enqueue(self)
        elif self.sending is not Sending.OVER:
            self.connection.cut(self)


class UpstreamSide(Side):
    """An exchange's place on a connection to the API server."""

    __slots__ = ("place", "receiver")

    connection: UpstreamCarrier

    def __init__(self, connection: UpstreamCarrier, receiver: UpstreamReceiver, place: Place | None) -> None:
        super().__init__(connection, 0)  # numbered when its head is sent
        self.receiver = receiver
        self.place = place  # given back as the exchange leaves

    def send_head(self, head: RequestHead) -> None:
        """Frames the request's head; with `ended`, the whole request."""
        self.connection.send_head(self, head)

    def cancel(self) -> None:
        """Gives the exchange up."""
        self.connection.cancel(self)

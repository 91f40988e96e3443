"""A stream's place on the wire: an exchange whose answer goes on while its feed has more to say (spec 05).

What is shown comes from the feed: a source of the stream's own, or one's share of a cache. Here it becomes
content, with a heartbeat in between, and a browser that is slow to take it has its feed wait. A browser that
takes nothing at all is cut by its connection's own look at it, after the write timeout.

    WAITING   nothing is sent: what it shows has yet to be let in, or is refused as any other answer
    OPEN      the head is sent, and what goes wrong is an event
    OVER
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import cycle
from typing import Protocol

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import HIGH_WATER, Answer
from foyer.gate.wheel import TICK, Wheel
from foyer.interruption import Interruption
from foyer.protocol.events import Fields, ResponseHead
from foyer.streams import sse
from foyer.streams.errors import StreamError
from foyer.streams.scope import Opening
from foyer.streams.sse import HEARTBEAT, HEARTBEAT_INTERVAL

HEAD_FIELDS: Fields = [
    (b"content-type", b"text/event-stream"),
    (b"x-krm-stream-protocol", b"1"),
    (b"cache-control", b"no-store, no-transform"),  # a proxy that compressed it would hold events back
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"referrer-policy", b"no-referrer"),
]

_BEAT = HEARTBEAT_INTERVAL - TICK
"""The wheel may be a tick late, and the interval is a promise."""


class Feed(Protocol):
    """What a stream shows. It writes to `Stream.write` and says the end by `Stream.end`."""

    def pause(self) -> None:
        """The browser is slow: nothing more before `resume`, but for what is on its way."""

    def resume(self) -> None:
        """The browser takes more."""

    def cancel(self) -> object:
        """The stream is over: nothing more, and whatever was held for it is given back."""


@dataclass(frozen=True, slots=True)
class Common:
    """What every stream of a replica is given.

    `now` is the wheel's clock, `write_timeout` in seconds. `ended` is told of each stream that ended by an
    error while its browser was there to read it.
    """

    wheel: Wheel
    now: Callable[[], float]
    write_timeout: float
    ended: Callable[[Exchange, Opening, StreamError], None]
    # Streams that open at once must not beat at once: each begins another second further on.
    first_beats: Iterator[float] = field(default_factory=lambda: cycle(range(1, int(_BEAT) + 1)))


class State(Enum):
    """Where a stream is, as at the top of this file. Each follows from any before it."""

    WAITING = "nothing is sent"
    OPEN = "its head is sent"
    OVER = "over"


class Stream:
    """One stream: `foyer.exchange.ports.Flow`, and an entry of the wheel."""

    __slots__ = ("_common", "_exchange", "_feed", "_opening", "_slow", "slot", "state")

    endless = True

    def __init__(self, common: Common, exchange: Exchange, opening: Opening) -> None:
        self._common = common
        self._exchange = exchange
        self._opening = opening
        self._feed: Feed | None = None
        self._slow = False
        self.slot = -1
        self.state = State.WAITING

    @property
    def neighbourhood(self) -> int:
        """The same for all streams of one connection."""
        return self._exchange.browser.neighbourhood

    def wait_for(self, feed: Feed) -> None:
        """`feed` has it begin or refuses it, and is told what becomes of the browser from now on."""
        self._feed = feed
        self._exchange.wait_for_flow(self)

    def admitted(self) -> None:
        """Its feed has been let in: sends the head, unless that is sent."""
        if self.state is State.WAITING:
            self._begin()

    def refuse(self, interruption: Interruption) -> None:
        """Its feed is not let in: answers with `interruption`, unless the head is sent."""
        if self.state is State.WAITING:
            self._exchange.refuse(interruption)

    def _begin(self) -> None:
        self.state = State.OPEN
        common = self._common
        common.wheel.add(self, common.now() + next(common.first_beats))
        self._exchange.begin_flow(ResponseHead(200, HEAD_FIELDS), self, common.write_timeout)

    def write(self, head: bytes, tail: bytes) -> None:
        """A frame; the first brings the head with it."""
        if self.state is State.WAITING:
            self._begin()
        self._exchange.write(head + tail)
        if self._exchange.browser.queued > HIGH_WATER:
            self._hold()

    def write_alone(self, head: bytes, tail: bytes) -> None:
        """The same behind the head, where nothing more of this turn follows."""
        self._exchange.write_alone(head + tail)
        if self._exchange.browser.queued > HIGH_WATER:
            self._hold()

    def _hold(self) -> None:
        """The browser is slow."""
        if not self._slow and self._feed is not None:
            self._slow = True
            self._feed.pause()

    def end(self, why: StreamError) -> None:
        """The error that was written is all there was to come: a clean end."""
        if self._feed is not None:
            self._leave()
            self._common.ended(self._exchange, self._opening, why)
            self._exchange.end_flow()

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""
        self._exchange.failed(error)

    # The exchange's flow.

    def drained(self) -> None:
        """The browser takes more again."""
        self._slow = False
        if self._feed is not None:
            self._feed.resume()

    def cancel(self) -> None:
        """The exchange is over, whatever ended it."""
        self._leave()

    def _leave(self) -> None:
        self._common.wheel.remove(self)
        self.state = State.OVER
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.cancel()

    # The clock.

    def due(self, now: float) -> float | None:
        """A heartbeat, unless the browser has yet to take what came before it."""
        if not self._slow:
            self._exchange.write(HEARTBEAT)
        return now + _BEAT


def refused(why: StreamError) -> Answer:
    """The whole answer to a stream that asks for no scope."""
    return Answer(200, HEAD_FIELDS, sse.refusal(why))

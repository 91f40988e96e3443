"""The end of a loop's turn, where every touched connection is flushed once.

Calls between rooms only queue bytes. However many events one turn brings, a connection is then
written to once, in one TLS record where it fits; and nothing re-enters. What a side sends alone, over
HTTP/1.1, is framed as it is said (`BrowserConnection.pass_on`); all such is encrypted then, and then sent.

What a browser sent beyond its work for one turn waits here for later ones, a connection a turn: however
many flood us, together they take no more of a turn than one. A newcomer's handshake stands in that line
too. Those with more content than fits into a turn stand in another. So do servers: one connection of theirs
carries what a hundred people wait for. They do not wait for handshakes with servers either, of which one
person may cause thousands, with reads of a hundred targets: those have the last.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from operator import methodcaller
from typing import Protocol

PATIENCE = 8
"""Turns that bytes may wait for company which nobody waits for: as a session ends with its streams, each of
them is given up on some connection to the API server, and hundreds end at once."""

SHARE = 0.5
"""Of the time that others took since a line's last work, what it takes now: one connection's at least."""


_ENCRYPT, _SEND_OFF = methodcaller("encrypt"), methodcaller("send_off")


class Flushed(Protocol):
    """Something that queued bytes in this turn."""

    def flush(self) -> None:
        """Hands what is queued to the transport."""

    def failed(self) -> None:
        """A fault of ours: the connection ends as it stands."""


class Prepared(Protocol):
    """Something that holds bytes which are to leave."""

    def encrypt(self) -> None:
        """Encrypts them."""

    def send_off(self) -> None:
        """Hands them to the transport."""

    def failed(self) -> None:
        """A fault of ours: the connection ends as it stands."""


class Unfinished(Protocol):
    """Something that has more work than fits into one turn."""

    def go_on(self) -> None:
        """Does the work of one turn."""

    def failed(self) -> None:
        """A fault of ours: the connection ends as it stands."""


class _Line:
    """Connections that have not finished. The first goes on each turn, and stands behind again if it must.

    Where a turn is long because of others, who are served as they come, more than the first go on, or a
    replica that is full would keep a newcomer waiting for as many such turns as there are before them.
    """

    __slots__ = ("_called", "_since", "_turn", "_waiting")

    def __init__(self, turn: "Turn") -> None:
        self._turn = turn
        self._waiting: deque[Unfinished] = deque()
        self._called = False  # the next turn's work, or its rest, has been asked for
        self._since = 0.0  # when it last stopped working, or somebody began to wait

    def join(self, connection: Unfinished, *, ahead: bool) -> None:
        if not self._called:
            self._call()
        # Behind the first, who goes on now or is about to.
        self._waiting.insert(1 if ahead else len(self._waiting), connection)

    def begin(self, connection: Unfinished, *, ahead: bool) -> None:
        """The same; but where the line rests, this is its work in this turn."""
        if self._called:
            self.join(connection, ahead=ahead)
        else:
            self._call()
            self._work(connection)

    def _call(self) -> None:
        self._called = True
        self._since = self._turn.clock()
        self._turn.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        # What others have queued leaves first: whoever it is for goes on meanwhile, as an API server does
        # with a request while a flood has its share.
        self._turn.flush()
        if not self._waiting:
            self._called = False
            return
        now = self._turn.clock()
        until = now + SHARE * (now - self._since)
        for _ in range(len(self._waiting)):
            self._work(self._waiting[0])
            self._waiting.popleft()
            if self._turn.clock() >= until:
                break
        # Asked for after the flush of what went on has been: else that of the next would share its turn. And
        # though nobody waits: what comes in the rest of this turn is the next one's.
        self._call()

    def _work(self, connection: Unfinished) -> None:
        try:
            connection.go_on()
        except Exception as error:  # the outermost: one connection's fault is not the others'
            self._turn.loop.call_exception_handler(
                {"message": "a connection's work failed", "exception": error}
            )
            connection.failed()


class Turn:
    """The connections touched since the last flush, and those that have not finished."""

    __slots__ = (
        "_asking",
        "_carrying",
        "_patient",
        "_prepared",
        "_servers",
        "_servers_handshakes",
        "_touched",
        "_turns",
        "clock",
        "loop",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """`clock` counts seconds, as they pass within a turn."""
        self.loop = loop
        self.clock = clock
        self._touched: list[Flushed] = []
        self._patient: list[Flushed] = []
        self._prepared: list[Prepared] = []
        self._turns = 0  # for which they wait yet
        self._asking = _Line(self)
        self._carrying = _Line(self)
        self._servers = _Line(self)
        self._servers_handshakes = _Line(self)

    def touch(self, connection: Flushed) -> None:
        """Flushes `connection` once this turn's events have been handled. Called once a turn."""
        if not self._touched:
            self.loop.call_soon(self.flush)
        self._touched.append(connection)

    def send_off(self, wire: Prepared) -> None:
        """Sends what `wire` holds once this turn's events have been handled."""
        if not self._prepared:
            self.loop.call_soon(self._send_off)
        self._prepared.append(wire)

    def _send_off(self) -> None:
        prepared, self._prepared = self._prepared, []
        # Each step for all: its code is in the caches then.
        for step in (_ENCRYPT, _SEND_OFF):
            for wire in prepared:
                try:
                    step(wire)
                except Exception as error:  # the outermost: one connection's fault is not the others'
                    self.loop.call_exception_handler({"message": "a write failed", "exception": error})
                    wire.failed()

    def touch_patiently(self, connection: Flushed) -> None:
        """Flushes `connection` within `PATIENCE` turns."""
        if not self._patient:
            self._turns = PATIENCE
            self.loop.call_soon(self._wait)
        self._patient.append(connection)

    def _wait(self) -> None:
        self._turns -= 1
        if self._turns:
            self.loop.call_soon(self._wait)
        else:
            patient, self._patient = self._patient, []
            for connection in patient:
                self.touch(connection)

    def flush(self) -> None:
        """Flushes what was touched, behind what is ready: with it a connection may end."""
        if self._prepared:
            self._send_off()
        touched, self._touched = self._touched, []
        for connection in touched:
            try:
                connection.flush()
            except Exception as error:  # the outermost: one connection's fault is not the others'
                self.loop.call_exception_handler({"message": "a flush failed", "exception": error})
                connection.failed()

    def later(self, connection: Unfinished, *, upstream: bool = False) -> None:
        """Has `connection` go on in a later turn, after those of its side that wait. Called once a turn."""
        (self._servers if upstream else self._carrying).join(connection, ahead=False)

    def line_up(self, connection: Unfinished) -> None:
        """The same for a browser that has asked for more than its work for a turn."""
        self._asking.join(connection, ahead=False)

    def shake_hands(self, connection: Unfinished, *, server: bool, ahead: bool) -> None:
        """Has `connection` take a step of its handshake, with a server or a newcomer: at once, or after those
        that wait; with `ahead` only after the first of them."""
        (self._servers_handshakes if server else self._asking).begin(connection, ahead=ahead)

    def now(self) -> float:
        """The loop's clock, in seconds."""
        return self.loop.time()

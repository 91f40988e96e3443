"""A cycle as the read that it is: from the gates until all there is has been taken (spec 06, Read admission).

    ENTERING   it has come to the gates of its target
    COMING     it is let in: what there is is asked for, and comes
    COME       all of it has, and a browser has yet to take it
    KEPT       it is there for as many as like to read it
    OVER       it holds nothing, and stays so

    ENTERING → COMING → COME → KEPT     of a cache
               COMING → COME → OVER     of a stream
    every state → OVER                  turned away, lost, or its source has left

One is one cycle's: where continuity is lost, the next one comes to the gates as another.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from foyer.exchange.ports import Cancellable, UpstreamReceiver
from foyer.streams.errors import StreamError
from foyer.streams.scope import Scope
from foyer.streams.snapshot import Gates, Keeper, Look, Refusal, Snapshot


class State(Enum):
    """Of a cycle's read; the transitions are at the top of this file."""

    ENTERING = "waiting to be let in"
    COMING = "what there is comes"
    COME = "all of it has come"
    KEPT = "many read it"
    OVER = "over"


class Whose(Protocol):
    """Whose cycle it is (`foyer.streams.source.Source`). It contains its own faults."""

    def look(self, look: Look) -> None:
        """Somebody is to look."""

    def admitted(self) -> None:
        """It is let in."""

    def turned_away(self, why: Refusal) -> None:
        """It is not."""

    def fault(self, error: Exception) -> None:
        """foyer's own code failed on its way in."""


class Reading:
    """One cycle's, and an `Entrant`: from `enter` until it has been taken, or is left by `close`."""

    __slots__ = ("_entry", "_snapshot", "_whose", "state")

    def __init__(self, whose: Whose) -> None:
        self.state = State.ENTERING
        self._whose = whose
        self._entry: Cancellable | None = None
        self._snapshot: Snapshot | None = None

    def enter(self, gates: Gates, scope: Scope, keeper: Keeper | None) -> None:
        """Comes to the gates, which may tell at once what becomes of it."""
        entry = gates.enter(scope, self, keeper)
        if self.state is State.ENTERING:
            self._entry = entry
        elif self.state is State.OVER:
            entry.cancel()  # its source failed on the way, which the gates know nothing of

    # What the gates tell.

    def look(self, look: Look) -> None:
        """Nobody knows how much it will be."""
        self._whose.look(look)

    def admitted(self, snapshot: Snapshot) -> None:
        """It is let in, with what it holds."""
        self._entry = None
        self._snapshot = snapshot
        self.state = State.COMING
        self._whose.admitted()

    def turned_away(self, why: Refusal) -> None:
        """It is not."""
        self._entry = None
        self.state = State.OVER
        self._whose.turned_away(why)

    def fault(self, error: Exception) -> None:
        """foyer's own code failed."""
        self._whose.fault(error)

    # What there is.

    @property
    def is_in(self) -> bool:
        """Whether it has been let in, and holds something."""
        return self._snapshot is not None

    def open(self, receiver: UpstreamReceiver, *, whole: bool) -> Cancellable:
        """A place on a connection for a request of it; `whole` is one whose answer is read whole."""
        assert self._snapshot is not None, self.state
        return self._snapshot.open(receiver, whole=whole)

    def takes(self, size: int) -> StreamError | None:
        """So many bytes have come. None: there is room for them; else what it ends by."""
        assert self._snapshot is not None, self.state
        return self._snapshot.takes(size)

    def complete(self, *, taken: bool) -> None:
        """All of it has come; `taken` says whether no more of it waits than of any answer."""
        assert self._snapshot is not None, self.state
        if self.state is State.COMING:
            self.state = State.COME
            self._snapshot.complete()
        if self.state is State.COME and taken:
            self._snapshot = self._snapshot.delivered()
            self.state = State.OVER if self._snapshot is None else State.KEPT

    def close(self) -> None:
        """Leaves the gates, and gives back what it holds. More than once is once."""
        self.state = State.OVER
        entry, self._entry = self._entry, None
        if entry is not None:
            entry.cancel()
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.close()

"""A snapshot as the read that it is: what lets it in, and what it holds then (spec 06, Read admission).

And an event on the watch behind it, while that is large and held. What a source needs of read admission,
which `foyer.streams.gates` gives it. No call waits; an entrant is told once, at once or later, unless it has
cancelled.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from foyer.exchange.ports import Cancellable, UpstreamReceiver
from foyer.interruption import Interruption
from foyer.session.seal import IdToken
from foyer.streams.errors import StreamError
from foyer.streams.scope import Scope


class Refusal(NamedTuple):
    """Why a snapshot was not let in."""

    interruption: Interruption
    """What a stream is answered of which nothing was sent."""
    error: StreamError
    """The last event of one that is open."""


class Look(Protocol):
    """A look at one item of a scope, for the size of all. It is somebody's, or nobody's."""

    def start(self, token: IdToken) -> None:
        """Looks as whose `token` it is."""

    def cancel(self) -> None:
        """They have left, or there is nobody: nothing more is found. More than once is once."""


class Keeper(Protocol):
    """Who keeps what a source shows, for many to read."""

    @property
    def size(self) -> int:
        """Bytes of the objects that are kept, and of what has come of the next one."""

    def look(self, look: Look) -> None:
        """Has one of those who wait look, as themselves."""


class Snapshot(Protocol):
    """One that was let in."""

    def open(self, receiver: UpstreamReceiver, *, whole: bool) -> Cancellable:
        """A place on a connection for a request of it; `whole` is one whose answer is read whole."""

    def takes(self, size: int) -> StreamError | None:
        """So many bytes have come. None: there is room for them; else what it ends by."""

    def complete(self) -> None:
        """All of it has come. Called once."""

    def delivered(self) -> Snapshot | None:
        """It is complete, and has been taken. What goes on being held: itself, or None and nothing."""

    def close(self) -> None:
        """Gives back what it holds. More than once is once."""


class Room(Protocol):
    """Memory for what has come of an event on an open watch, until it is whole and has been taken."""

    def grow(self, size: int) -> int | StreamError:
        """So many bytes have come: up to how many more may, unasked; else what the stream ends by."""

    def close(self) -> None:
        """Gives back what is held. More than once is once."""


class Entrant(Protocol):
    """Whose snapshot it is. It contains its own faults."""

    def look(self, look: Look) -> None:
        """Somebody is to look."""

    def admitted(self, snapshot: Snapshot) -> None:
        """It is let in."""

    def turned_away(self, why: Refusal) -> None:
        """It is not."""

    def fault(self, error: Exception) -> None:
        """foyer's own code failed on its way in."""


class Gates(Protocol):
    """Those of one target."""

    def enter(self, scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Cancellable:
        """Comes to them for a snapshot of `scope`, of which `keeper` keeps what there is."""

    def room(self) -> Room:
        """For an event that no snapshot counts. It holds nothing yet."""

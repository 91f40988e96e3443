"""One stream's wire: its cycles, its `seq` and its revisions (spec 05, Wire).

    FRESH → SNAPSHOT → LIVE        reset … added* … synced, then changes
    SNAPSHOT, LIVE → FRESH         RESYNC_REQUIRED: continuity was lost, another reset will follow
    every state → ENDED            an error that is the last event

Whoever calls decides what happened; this holds the wire to its form. An order that the protocol does not
have is a fault of foyer's own, and raises.
"""

from enum import Enum

from foyer.streams import sse
from foyer.streams.errors import StreamError
from foyer.streams.projection import END, Projected
from foyer.streams.resource import Resource
from foyer.streams.revisions import Revisions
from foyer.streams.scope import Opening
from foyer.streams.sse import Frame, Type


class State(Enum):
    """Where in a cycle a stream is."""

    FRESH = "fresh"
    """Before a reset."""
    SNAPSHOT = "snapshot"
    LIVE = "live"
    ENDED = "ended"


class Wire:
    """Makes the frames of one stream, in their order. Each method raises `AssertionError` out of turn."""

    __slots__ = ("_opening", "_revisions", "_seq", "state")

    def __init__(self, opening: Opening) -> None:
        self.state = State.FRESH
        self._opening = opening
        self._seq = 0
        self._revisions: Revisions | None = None  # few streams ever redact anything

    def reset(self) -> Frame:
        """A snapshot cycle begins."""
        self._expect(State.FRESH)
        self.state = State.SNAPSHOT
        if self._revisions is not None:
            self._revisions.begin()
        return self._head(Type.RESET), sse.reset(self._opening)

    def show(self, projected: Projected, *, new: bool) -> Frame:
        """An object, complete: `added` when it is `new` and in a snapshot, else `modified`."""
        if self.state is not State.LIVE:
            self._expect(State.SNAPSHOT)
            new = True
        kind = Type.ADDED if new else Type.MODIFIED
        if not projected.redactions:
            return self._head(kind), projected.tail
        if self._revisions is None:
            self._revisions = Revisions()
        revisions = sse.redacted(self._revisions.show(projected.uid, projected.redactions))
        return self._head(kind), projected.tail + revisions + END

    def delete(self, resource: Resource) -> Frame:
        """An object is gone."""
        return self.delete_as(resource.uid, sse.deleted(resource.identity()))

    def delete_as(self, uid: str, tail: bytes) -> Frame:
        """The same with a tail that was made once for many streams: `sse.deleted` of its identity."""
        self._expect(State.SNAPSHOT, State.LIVE)
        if self._revisions is not None:
            self._revisions.leave(uid)
        return self._head(Type.DELETED), tail

    def synced(self) -> Frame:
        """The cycle is complete."""
        self._expect(State.SNAPSHOT)
        self.state = State.LIVE
        if self._revisions is not None:
            self._revisions.complete()
        return self._head(Type.SYNCED), sse.SYNCED

    def error(self, why: StreamError) -> Frame:
        """Something went wrong: the last event, or one that another cycle follows."""
        self._expect(State.FRESH, State.SNAPSHOT, State.LIVE)
        self.state = State.ENDED if why.last else State.FRESH
        return self._head(Type.ERROR), sse.error(why)

    def _head(self, kind: Type) -> bytes:
        self._seq += 1
        return kind.head % self._seq

    def _expect(self, *states: State) -> None:
        if self.state not in states:
            raise AssertionError(f"not while {self.state.value}")

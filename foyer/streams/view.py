"""One stream's own view of its scope: what its reflector tells it, projected, and written as frames.

What a shared stream gets from a cache, this one makes for itself; it keeps no objects, only a digest of what
it last showed of each.
"""

from typing import Protocol

from foyer.streams.alike import project
from foyer.streams.cycle import Wire
from foyer.streams.errors import StreamError
from foyer.streams.resource import Resource
from foyer.streams.scope import Opening
from foyer.streams.watch import Change


class Out(Protocol):
    """Where the frames of one stream go."""

    def write(self, head: bytes, tail: bytes) -> None:
        """One frame, in two parts."""

    def end(self, why: StreamError) -> None:
        """The frame of `why` was the last."""


class StreamView:
    """A `View` that writes one stream."""

    __slots__ = ("_digests", "_out", "_projection", "_secret", "_wire")

    def __init__(self, opening: Opening, out: Out) -> None:
        self._wire = Wire(opening)
        self._out = out
        self._projection = opening.projection
        self._secret = opening.scope.has_secrets
        self._digests: dict[str, bytes] = {}

    def reset(self) -> None:
        """A cycle begins."""
        self._digests = {}
        self._out.write(*self._wire.reset())

    def show(self, change: Change, resource: Resource) -> None:
        """An object, unless a page would find nothing in it changed."""
        shown = project(resource, self._projection, secret=self._secret)
        if self._digests.get(shown.uid) == shown.digest:
            return
        self._digests[shown.uid] = shown.digest
        self._out.write(*self._wire.show(shown, new=change is Change.ADDED))

    def delete(self, resource: Resource) -> None:
        """An object is gone."""
        self._digests.pop(resource.uid, None)
        self._out.write(*self._wire.delete(resource))

    def synced(self) -> None:
        """The cycle is complete."""
        self._out.write(*self._wire.synced())

    def error(self, why: StreamError) -> None:
        """Continuity is lost, or this was all."""
        self._out.write(*self._wire.error(why))
        if why.last:
            self._out.end(why)

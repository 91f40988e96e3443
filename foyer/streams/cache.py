"""What a shared watch has: every object once, as bytes (spec 05, Shared watches, Cost model).

The reflector's view. Of each object the raw projection is kept, and of it every other is made that somebody
looks through, once for all of them and in slices where there is much of it; where another shows the same
bytes, they are the same. Nobody is shown anything of a cycle that is not complete, so a refusal is the only
event, and what comes to nothing was never begun.
"""

from __future__ import annotations

from collections.abc import Callable

from foyer.streams import errors, resource, sse
from foyer.streams.errors import Code, StreamError
from foyer.streams.fanout import FRAME_BYTES, Line
from foyer.streams.projection import Projected, Projection, project
from foyer.streams.resource import Resource
from foyer.streams.showing import QUEUE_MOST, Reader, Showing
from foyer.streams.watch import Change

REFUSED = errors.internal("The API server refused foyer's own identity for shared watches.")
"""What that answers is about foyer, and not for a page."""


def told(why: StreamError) -> StreamError:
    """What a page is told of what the API server says to foyer's own identity."""
    return REFUSED if why.code in (Code.UNAUTHENTICATED, Code.FORBIDDEN) else why


SMALLEST = 170
"""Bytes that an object counts at least: with 60 of its own it takes 690, shown in three projections."""

LOG_MOST = 2 * QUEUE_MOST
"""Entries of a log beyond which upstream waits for those who are on their way through it."""


class Cache:
    """One scope's: a `View`, for many."""

    def __init__(self, line: Line, full: Callable[[], None], *, secret: bool) -> None:
        """`full` has upstream wait. `secret`: the scope says that its objects are Secrets."""
        self.over: StreamError | None = None
        """What ended it."""
        self.held = False
        """Whether upstream waits."""
        self.size = 0
        """Bytes of what is there, each object once."""
        self.line = line
        self._full = full
        self._secret = secret
        self._complete = False  # all that is there is here
        self._raw: dict[str, Projected] = {}
        self._showings: dict[Projection, Showing] = {}
        self._fillings: dict[Projection, _Filling] = {}

    # What the reflector tells.

    def reset(self) -> None:
        """A cycle begins, and nobody is told before it is complete."""

    def show(self, change: Change, resource: Resource) -> None:
        """An object, as each projection in use shows it."""
        raw = project(resource, Projection.RAW)
        self._keep(resource.uid, raw)
        for showing in self._showings.values():
            projected = self._projected(resource, raw, showing.projection)
            if showing.ready:
                showing.show(projected, new=change is Change.ADDED)
                self._look(showing)
            else:
                showing.fill(projected)

    def delete(self, resource: Resource) -> None:
        """An object is gone."""
        self._drop(resource.uid)
        tail = sse.deleted(resource.identity())
        for showing in self._showings.values():
            showing.delete(resource.uid, tail)
            self._look(showing)

    def synced(self) -> None:
        """The cycle is complete: whoever waits for a snapshot can have one."""
        self._complete = True
        for projection, showing in list(self._showings.items()):  # who is served may be refused, and leave
            if projection not in self._fillings:
                showing.is_ready()

    def error(self, why: StreamError) -> None:
        """Continuity is lost, or this was all."""
        self._complete = False
        self._raw, self._fillings = {}, {}
        self.size = 0
        if why.last:
            self.over = told(why)
        for showing in self._showings.values():
            if self.over is not None:
                showing.end(self.over)
            else:
                showing.lose(why)

    def _keep(self, uid: str, raw: Projected) -> None:
        self._drop(uid)
        self._raw[uid] = raw
        self.size += max(SMALLEST, len(raw.tail))

    def _drop(self, uid: str) -> None:
        raw = self._raw.pop(uid, None)
        if raw is not None:
            self.size -= max(SMALLEST, len(raw.tail))

    def _look(self, showing: Showing) -> None:
        if showing.logged > LOG_MOST and not self.held and showing.trim() > LOG_MOST:
            self.held = True
            self._full()

    def relieved(self) -> bool:
        """Whether upstream need wait no longer."""
        self.held = max((showing.trim() for showing in self._showings.values()), default=0) > LOG_MOST
        return not self.held

    # Who reads.

    def join(self, reader: Reader, projection: Projection) -> Showing:
        """What `reader` reads from now on."""
        showing = self._showings.get(projection)
        if showing is None:
            showing = self._showings[projection] = Showing(projection, self.line)
            if self._raw:
                filling = self._fillings[projection] = _Filling(self, showing, list(self._raw))
                self.line.join(filling)
            elif self._complete:
                showing.is_ready()
        showing.readers[reader] = None
        return showing

    def leave(self, reader: Reader, showing: Showing) -> None:
        """It reads no more. A projection that nobody looks through is given up."""
        showing.leave(reader)
        if not showing.readers and self._showings.get(showing.projection) is showing:
            del self._showings[showing.projection]
            self._fillings.pop(showing.projection, None)

    def close(self) -> None:
        """Nobody will read it any more."""
        self._raw, self._showings, self._fillings = {}, {}, {}
        self._full = _nobody

    @property
    def readers(self) -> list[Reader]:
        """Everybody."""
        return [reader for showing in self._showings.values() for reader in showing.readers]

    def _projected(self, resource: Resource, raw: Projected, projection: Projection) -> Projected:
        if projection is Projection.RAW:
            return raw
        projected = project(resource, projection, secret=self._secret)
        return raw if projected == raw else projected

    # A projection that somebody begins to look through when there is something already.

    def goes_on(self, filling: _Filling) -> bool:
        """Whether what is filled is still wanted, and still there."""
        return self._fillings.get(filling.showing.projection) is filling

    def fill(self, showing: Showing, uid: str) -> int:
        """One object of those that were there, if it is neither gone by now nor shown again: its bytes."""
        raw = self._raw.get(uid)
        if raw is None or showing.has(uid):
            return 0
        read = resource.read(raw.object)
        assert read is not None, "what a projection shows is a whole object"
        showing.fill(self._projected(read, raw, showing.projection))
        return len(raw.tail)

    def filled(self, filling: _Filling) -> None:
        """All of them."""
        del self._fillings[filling.showing.projection]
        if self._complete:
            filling.showing.is_ready()


class _Filling:
    """Makes a projection of all that is there, a slice a turn."""

    __slots__ = ("_cache", "_uids", "showing")

    def __init__(self, cache: Cache, showing: Showing, uids: list[str]) -> None:
        self._cache = cache
        self.showing = showing
        self._uids = iter(uids)

    def deliver(self, most: int) -> int:
        try:
            return self._deliver(most)
        except Exception as error:  # the outermost: whoever looks through it is cut, and nobody else
            for reader in list(self.showing.readers):
                reader.failed(error)
            return 0

    def _deliver(self, most: int) -> int:
        cache, showing = self._cache, self.showing
        if not cache.goes_on(self):
            return 0
        made = 0
        for uid in self._uids:
            made += 1 + cache.fill(showing, uid) // FRAME_BYTES
            if made >= most:
                cache.line.join(self)
                return made
        cache.filled(self)
        return made


def _nobody() -> None:
    """For nobody's sake does upstream wait."""

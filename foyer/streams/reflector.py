"""Follows one scope at the API server, and tells a view of it what is there (spec 05, Upstream and Wire).

A machine that never waits: whoever has the connection sends what `target` says, feeds in what comes of it,
and does the `Step` that each call returns.

    STREAMING   the streaming list, which goes on as the watch
    LISTING     where the server has none: a page of the list, and another while there is one
    WATCHING    then the watch of what came after the list

A view is told of whole cycles: `reset`, what is there, `synced`, then what changes. A cycle begins with the
first that upstream says of it, so that a refusal, whatever it comes as, is all there is on the wire. It
ends where continuity does, and the next one begins anew: the version that a watch ended at is never gone on
from. A cycle that is lost at once is tried again once, and the second in a row is the end, whatever lost it:
else a server that answers with `410 Gone` for ever would be asked for ever.

Within a cycle no uid goes back to an older version, an object that is gone included.
"""

from collections.abc import Iterator
from enum import Enum
from itertools import islice
from sys import intern
from typing import Protocol

from foyer.streams import alike, answers, errors, versions
from foyer.streams.answers import Again, Outcome
from foyer.streams.errors import StreamError
from foyer.streams.resource import SLICE_BYTES, Resource
from foyer.streams.said import said
from foyer.streams.scope import Scope
from foyer.streams.watch import (
    Bookmark,
    Change,
    Changed,
    Event,
    Failed,
    Fault,
    Unfinished,
    WatchReader,
    read_page,
)

STALL = 15.0
"""Seconds without a byte after which a snapshot is given up (spec 05)."""

SHORT = 1.0
"""Seconds behind `synced` within which an end counts as if there had been no cycle (spec 05)."""

REOPENED_RETRY_AFTER = 30.0
"""Seconds until a page should try again when the second cycle in a row was lost at once. A server in that
state costs two lists a try: a hundred streams of it, once every half minute, seven a second."""

SLICE_ITEMS = 50
"""Items of a page that are shown at a time: half a millisecond's worth of small ones, and what a view whose
browser is slow must take before it can say so."""

GONE_MOST = 1000
"""Objects that are gone whose versions are kept, for what is delivered late: nothing grows without bound."""


class Step(Enum):
    """What to do after a call."""

    READ = "read"
    """Go on with the answer."""
    REQUEST = "request"
    """Leave the answer, and send a request for `target`."""
    CYCLE = "cycle"
    """The same, for another cycle: all that is there will be read anew."""
    HOLD = "hold"
    """`waiting` bytes of the event that comes are more than may be held: `may_hold` says how many may."""
    MORE = "more"
    """There is more in the page that was fed in: call `go_on` when it is the view's turn again."""
    END = "end"
    """Leave it: the view has been told the end."""


class Asked(Enum):
    """What the request of now is for."""

    STREAMING = "streaming"
    LISTING = "listing"
    WATCHING = "watching"


class View(Protocol):
    """What shows a scope: one stream, or a cache that many read."""

    def reset(self) -> None:
        """A cycle begins: what is there follows."""

    def show(self, change: Change, resource: Resource) -> None:
        """An object is there (`ADDED`) or is another (`MODIFIED`). In a snapshot each is there."""

    def delete(self, resource: Resource) -> None:
        """An object is gone."""

    def synced(self) -> None:
        """The cycle is complete."""

    def error(self, why: StreamError) -> None:
        """Continuity is lost and a cycle will follow, or `why.last`: this was all."""


class Reflector:
    """One scope's upstream half, from the first request to the last event.

    `streaming`: whether the target is believed to have streaming lists. `lenient`: versions without an order
    are passed through.
    """

    __slots__ = (
        "_asked",
        "_begun",
        "_gone",
        "_items",
        "_lenient",
        "_reader",
        "_scope",
        "_short",
        "_streaming",
        "_synced_at",
        "_token",
        "_version",
        "_versions",
        "_view",
        "streaming_refused",
    )

    def __init__(self, scope: Scope, view: View, *, streaming: bool = True, lenient: bool = False) -> None:
        self.streaming_refused = False
        """The server said that it has no streaming list: true of its whole group and version."""
        self._scope = scope
        self._view = view
        self._lenient = lenient
        self._streaming = streaming
        self._short = False  # the cycle before this one was lost at once
        self._restart()

    def _restart(self) -> None:
        self._asked = Asked.STREAMING if self._streaming else Asked.LISTING
        self._begun = False
        self._synced_at: float | None = None
        self._reader = WatchReader(alike.read_event)
        self._items: Iterator[Resource | None] = iter(())
        self._token = self._version = ""
        self._versions: dict[str, str] = {}
        self._gone: dict[str, str] = {}

    @property
    def target(self) -> bytes:
        """The request target (path and query) of the GET to send now."""
        match self._asked:
            case Asked.STREAMING:
                return self._scope.streaming_list()
            case Asked.LISTING:
                return self._scope.page(self._token)
            case Asked.WATCHING:
                return self._scope.watch(self._version)

    @property
    def whole(self) -> bool:
        """Whether its answer is fed in whole, by `answered`, whatever its status."""
        return self._asked is Asked.LISTING

    @property
    def in_snapshot(self) -> bool:
        """Whether `STALL` holds."""
        return self._synced_at is None

    @property
    def waiting(self) -> int:
        """Bytes of a watch's event that has yet to come whole."""
        return self._reader.waiting

    @property
    def room(self) -> int:
        """Bytes that may be held of the event that comes: `watch.FREE_BYTES`, unless `may_hold` said more."""
        return self._reader.room

    def may_hold(self, size: int) -> None:
        """There is room for so many bytes of the event that comes."""
        self._reader.room = size

    def left(self) -> None:
        """The request is given up: nothing is held any more of an event that it has not brought whole."""
        self._reader.drop()

    def answered(self, status: int, content: bytes, retry_after: float | None, now: float) -> Step:
        """A whole answer: any that is not 200, and one to a request that is `whole`.

        `retry_after` in seconds, of the answer's field.
        """
        if status != 200:
            streaming = self._asked is Asked.STREAMING
            found = answers.outcome(status, said(content), retry_after=retry_after, streaming=streaming)
            return self._outcome(found, now)
        if self._asked is not Asked.LISTING:
            raise AssertionError("a watch is fed in as it comes")
        return self._page(content, now)

    def received(self, data: bytes, now: float) -> Step:
        """Bytes of a watch whose status is 200."""
        for event in self._reader.feed(data):
            step = self._event(event, now)
            if step is not Step.READ:
                return step
        return Step.READ

    def ended(self, now: float) -> Step:
        """The watch ended, or was broken off."""
        return self._lost("The watch ended.", now)

    def unanswered(self) -> Step:
        """No answer came, or a page that is not whole."""
        return self._end(answers.no_answer())

    def too_large(self) -> Step:
        """An answer that is read whole goes beyond its bound."""
        return self._end(_TOO_LARGE)

    def given_up(self, why: StreamError) -> Step:
        """Whoever follows the scope may not, or cannot, go on."""
        return self._end(why)

    def stalled(self) -> Step:
        """Nothing came for `STALL` in a snapshot."""
        if not self._streaming:
            return self._end(answers.no_answer())
        self._fall_back()
        return Step.CYCLE

    def _fall_back(self) -> None:
        self._streaming = False
        if self._begun:
            self._view.error(errors.resync("The snapshot is begun again."))
        self._restart()

    def _page(self, content: bytes, now: float) -> Step:
        page = read_page(content, self._token)
        if isinstance(page, Fault):
            return self._fault(page, now)
        self._items, self._token = page.items, page.token
        # The first page's, as client-go has it: where a server's pages are not of one version, what changed
        # between two of them would be lost to a watch from the last one's.
        self._version = self._version or page.version
        return self.go_on(now)

    def go_on(self, now: float) -> Step:
        """Show more of the page that was fed in."""
        shown = size = 0
        for item in islice(self._items, SLICE_ITEMS):
            if item is None:
                return self._fault(Fault.PARTIAL, now)
            step = self._changed(Change.ADDED, item)
            if step is not Step.READ:
                return step
            shown += 1
            size += len(item.text)
            if size >= SLICE_BYTES:
                break
        if shown == SLICE_ITEMS or size >= SLICE_BYTES:
            return Step.MORE
        if not self._token:
            self._complete(now)
            self._asked = Asked.WATCHING
        return Step.REQUEST

    def _event(self, event: Event, now: float) -> Step:
        match event:
            case Changed(change, resource):
                return self._changed(change, resource)
            case Bookmark(complete):
                if complete and self._asked is Asked.STREAMING and self._synced_at is None:
                    self._complete(now)
                return Step.READ
            case Failed(what):
                return self._outcome(answers.outcome(what.code, what), now)
            case Unfinished():
                return Step.HOLD
            case _:
                return self._fault(event, now)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._view.reset()

    def _complete(self, now: float) -> None:
        self._begin()
        self._synced_at = now
        self._view.synced()

    def _changed(self, change: Change, resource: Resource) -> Step:
        self._begin()
        uid, version = resource.uid, resource.version
        if not self._lenient and not versions.orderable(version):
            return self._end(_unorderable(self._scope))
        known = self._versions.get(uid)
        gone = self._gone.get(uid) if known is None else None
        if known is not None and versions.older(version, known):
            return Step.READ
        if gone is not None and not versions.newer_or_unordered(version, gone):
            return Step.READ
        if change is Change.DELETED:
            self._versions.pop(uid, None)
            self._gone[uid] = version
            if len(self._gone) > GONE_MOST:
                del self._gone[next(iter(self._gone))]
            self._view.delete(resource)
        else:
            # Streams of one scope each know the same objects: one string for all of them.
            self._versions[uid if known is not None else intern(uid)] = version
            self._view.show(change, resource)
        return Step.READ

    def _fault(self, fault: Fault, now: float) -> Step:
        match fault:
            case Fault.PARTIAL:
                return self._lost("The API server sent an object that is not whole.", now)
            case Fault.UNREADABLE:
                return self._end(errors.unavailable(_UNREADABLE, REOPENED_RETRY_AFTER))
            case Fault.TOO_LARGE:
                return self._end(_TOO_LARGE)

    def _outcome(self, found: Outcome, now: float) -> Step:
        match found:
            case Again.CYCLE:
                return self._lost("The API server no longer has what the watch went on from.", now)
            case Again.LISTING:
                self.streaming_refused = True
                self._fall_back()
                return Step.REQUEST
            case _:
                return self._end(found)

    def _lost(self, why: str, now: float) -> Step:
        short = self._synced_at is None or now - self._synced_at < SHORT
        if short and self._short:
            return self._end(
                errors.unavailable(f"{why} It was the second time in a row.", REOPENED_RETRY_AFTER)
            )
        self._short = short
        self._view.error(errors.resync(why))
        self._restart()
        return Step.CYCLE

    def _end(self, why: StreamError) -> Step:
        self._view.error(why)
        return Step.END


_UNREADABLE = "The API server sent something that cannot be read."
_TOO_LARGE = errors.internal("The API server sent more at once than a stream takes.")


def _unorderable(scope: Scope) -> StreamError:
    return errors.internal(
        "The API server's resource versions have no order here. "
        f"Whoever runs foyer can let them pass: -stream-lenient-ordering={scope.kubectl_name}"
    )

"""A watch: the events of one request, from its first to its end.

A pull source. Changes wait here, as references to shared encoded lines, until whoever sends
takes them; a watch that falls too far behind is ended. An object that a selector stops
matching is DELETED for this watch, one that starts to is ADDED.
"""

import math
from collections import deque
from collections.abc import Callable
from enum import Enum

from foyer.demo.apiserver import document
from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.negotiation import compressed
from foyer.demo.apiserver.options import ListOptions
from foyer.demo.apiserver.selection import Selection
from foyer.demo.apiserver.status import Refused, expired, too_large_version
from foyer.demo.apiserver.store import Change, Compacted, Entry, Store, stamp
from foyer.demo.handler import Ending

BACKLOG_BYTES = 1024 * 1024
"""Events waiting for one watcher at most: past it the watcher does not read and is cut off."""

BOOKMARK_INTERVAL = 60.0
"""Seconds between bookmarks: about a minute, as in Kubernetes."""

LAST_BOOKMARK = 2.0
"""Seconds before a watch's end for its last bookmark, from which the next watch goes on."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class _State(Enum):
    NEW = "new"
    OPEN = "open"
    LAST = "last"
    """No more events come; what waits is still delivered."""
    CLOSED = "closed"


class Watch:
    """One open watch (an `Outflow` of `foyer.demo.handler`).

    `gzipped` makes each event one gzip member. `lifetime` is in seconds.
    """

    def __init__(
        self, store: Store, selection: Selection, options: ListOptions, *, gzipped: bool, lifetime: float
    ) -> None:
        self.ending: Ending | None = None
        self._store = store
        self._selection = selection
        self._options = options
        self._gzipped = gzipped
        self._lifetime = lifetime
        self._state = _State.NEW
        self._initial: deque[tuple[str, Entry]] = deque()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._after = 0
        self._deadline = self._bookmark_due = 0.0
        self._wake: Callable[[], None] = _asleep
        self._unsubscribe: Callable[[], None] = _asleep

    def open(self, wake: Callable[[], None], now: float) -> None:
        """Take the snapshot and follow. `wake` is called whenever there is something to take."""
        self._state = _State.OPEN
        self._deadline = now + self._lifetime
        self._bookmark_due = self._next_bookmark(now)
        self._begin()
        self._wake = wake
        if self._state is _State.OPEN:
            self._unsubscribe = self._store.subscribe(self._selection.resource, self._changed)

    def take(self) -> bytes | None:
        """The next event, encoded; None when there is none now."""
        if self._initial:
            return self._encode(*self._initial.popleft())
        if self._waiting:
            line = self._waiting.popleft()
            self._waiting_bytes -= len(line)
            return line
        if self._state is _State.LAST:
            self._finish(Ending.COMPLETE)
        return None

    def tick(self, now: float) -> None:
        """Let time pass: bookmarks, and the end of the watch's lifetime."""
        if self._state is not _State.OPEN:
            return
        over = now >= self._deadline
        if self._options.bookmarks and now >= self._bookmark_due:
            self._bookmark_due = self._next_bookmark(now)
            self._queue(self._bookmark({}))
        if over:
            self._last()
        if over or self._waiting:
            self._wake()

    def _next_bookmark(self, now: float) -> float:
        last = self._deadline - LAST_BOOKMARK
        return min(now + BOOKMARK_INTERVAL, last) if now < last else math.inf

    def close(self) -> None:
        """Nobody takes any more."""
        self._state = _State.CLOSED
        self._unsubscribe()
        self._wake = _asleep
        self._initial.clear()
        self._waiting.clear()

    def _begin(self) -> None:
        """What comes first: a snapshot, the changes since a version, or why neither can."""
        options, store = self._options, self._store
        version = options.version or 0
        snapshot = options.initial_events if options.initial_events is not None else not version
        try:
            if snapshot:
                self._begin_with_snapshot(version)
            elif version:
                self._after = version
                for change in store.since(self._selection.resource, version):
                    if kind := self._kind(change):
                        self._initial.append((kind, self._seen(kind, change)))
        except Compacted as compacted:
            self._fail(expired(f"too old resource version: {version} ({compacted.oldest})"))

    def _begin_with_snapshot(self, version: int) -> None:
        if version > self._store.version:
            self._fail(too_large_version(version, self._store.version))
            return
        found = self._store.scan(self._selection.resource, self._selection.prefix)
        self._initial.extend(("ADDED", entry) for entry in found if self._selection.matches(entry))
        if self._options.bookmarks and self._options.wants_initial_events:
            self._queue(self._bookmark({"annotations": {INITIAL_EVENTS_END: "true"}}))

    def _changed(self, change: Change) -> None:
        kind = self._kind(change)
        if kind:
            self._queue(self._line(kind, change))
            self._wake()

    def _kind(self, change: Change) -> str:
        """What the change is to this watch; empty when nothing."""
        # A watch from a version that is not there yet waits for it.
        if change.version <= self._after:
            return ""
        was = change.before is not None and self._selection.matches(change.before)
        now = change.after is not None and self._selection.matches(change.after)
        if was and now:
            return "MODIFIED"
        return "ADDED" if now else "DELETED" if was else ""

    def _seen(self, kind: str, change: Change) -> Entry:
        """The object that the event shows: what left the selection comes as it last was in it."""
        left = kind == "DELETED" and change.after is not None
        if left and change.before is not None:
            return stamp(self._selection.resource, change.before.key, change.before.object, change.version)
        return change.last

    def _line(self, kind: str, change: Change) -> bytes:
        shared = change.lines.get((kind, self._gzipped))
        if shared is None:
            shared = change.lines[kind, self._gzipped] = self._encode(kind, self._seen(kind, change))
        return shared

    def _encode(self, kind: str, entry: Entry) -> bytes:
        return self._member(f'{{"type":"{kind}","object":'.encode() + entry.encoded + b"}\n")

    def _member(self, line: bytes) -> bytes:
        return compressed(line) if self._gzipped else line

    def _bookmark(self, annotations: Object) -> bytes:
        resource = self._selection.resource
        metadata = {"resourceVersion": str(self._store.version)} | annotations
        target = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        encoded = document.write(target, ordered=resource.custom)
        return self._member(b'{"type":"BOOKMARK","object":' + encoded + b"}\n")

    def _fail(self, refusal: Refused) -> None:
        """Once a watch was admitted, Kubernetes answers 200 and says in an event what is wrong."""
        encoded = document.write(refusal.document())
        self._queue(self._member(b'{"type":"ERROR","object":' + encoded + b"}\n"))
        self._last()

    def _queue(self, line: bytes) -> None:
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        # A single event may be larger than the backlog: only what waits behind another counts.
        if self._waiting_bytes > BACKLOG_BYTES and len(self._waiting) > 1:
            self._finish(Ending.ABORTED)

    def _last(self) -> None:
        if self._state is _State.OPEN:
            self._state = _State.LAST
            self._unsubscribe()

    def _finish(self, ending: Ending) -> None:
        self.ending = self.ending or ending
        self._unsubscribe()
        self._state = _State.CLOSED


def _asleep() -> None:
    """Nobody to wake, nothing to end."""

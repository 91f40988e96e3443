"""The store: what etcd and the watch cache are to a kube-apiserver.

One counter gives every write its resourceVersion. The last writes are kept as a history: a
list at an older version and a watch from one are answered from it, and what it has dropped is
compacted: asking for that raises `Compacted`. Listeners are told of each change as it is made.

Nothing here knows Kubernetes beyond `metadata.resourceVersion`.
"""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from foyer.demo.apiserver import document
from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.resources import Resource

Key: TypeAlias = str
"""`namespace/name`, or `name`: as etcd orders them, so a list comes in Kubernetes' order."""


class Compacted(Exception):
    """The version asked for has left the history. `oldest` is the first one that has not."""

    def __init__(self, oldest: int) -> None:
        super().__init__(oldest)
        self.oldest = oldest


class OutOfSpace(Exception):
    """The objects would outgrow the store's quota."""


class Entry:
    """One version of one object: as parsed and as sent. Never changed once made."""

    __slots__ = ("encoded", "key", "object", "version")

    def __init__(self, key: Key, target: Object, encoded: bytes, version: int) -> None:
        self.key = key
        self.object = target
        self.encoded = encoded
        self.version = version


class Change:
    """One write: `before` is None for a create, `after` for a delete.

    A delete's `last` is the object with the version of its deletion, as DELETED events have it.
    """

    __slots__ = ("after", "before", "last", "lines", "version")

    def __init__(self, before: Entry | None, after: Entry | None, last: Entry) -> None:
        self.before = before
        self.after = after
        self.last = last
        self.version = last.version
        self.lines: dict[tuple[str, bool], bytes] = {}
        """Encoded watch events, so that a change is encoded once for however many watches."""


Listener: TypeAlias = Callable[[Change], None]


class _Shelf:
    """The objects of one resource, with their keys in order."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.order: list[Key] = []
        self.listeners: dict[object, Listener] = {}

    def put(self, entry: Entry) -> None:
        if entry.key not in self.entries:
            insort(self.order, entry.key)
        self.entries[entry.key] = entry

    def drop(self, key: Key) -> None:
        del self.entries[key]
        del self.order[bisect_left(self.order, key)]


HISTORY_CHANGES = 10_000
"""Changes kept: minutes of a busy demo. A watch cache keeps up to some 100,000, etcd five minutes."""

HISTORY_BYTES = 64 * 1024 * 1024
"""And their bytes at most: 3 MiB objects would otherwise make the history tens of GiB."""

QUOTA_BYTES = 1024 * 1024 * 1024
"""All objects together; etcd's own default is 2 GiB."""


class Store:
    """Objects by resource and key, their common version, and the recent past.

    `version` is where to begin counting.
    """

    def __init__(
        self,
        *,
        version: int = 1,
        history_changes: int = HISTORY_CHANGES,
        history_bytes: int = HISTORY_BYTES,
        quota_bytes: int = QUOTA_BYTES,
    ) -> None:
        self.version = version
        self.compacted = version
        self.bytes = 0
        self._shelves: defaultdict[str, _Shelf] = defaultdict(_Shelf)
        self._history: deque[tuple[str, Change, int]] = deque()
        self._history_held = 0
        self._history_changes = history_changes
        self._history_bytes = history_bytes
        self._quota_bytes = quota_bytes

    def get(self, resource: Resource, key: Key) -> Entry | None:
        """The object as it is now."""
        return self._shelves[resource.name].entries.get(key)

    def scan(self, resource: Resource, prefix: str = "", start: Key = "") -> Iterator[Entry]:
        """The objects whose key begins with `prefix`, from `start` on, in order.

        Nothing may be written meanwhile.
        """
        shelf = self._shelves[resource.name]
        for i in range(bisect_left(shelf.order, max(prefix, start)), len(shelf.order)):
            key = shelf.order[i]
            if not key.startswith(prefix):
                return
            yield shelf.entries[key]

    def count(self, resource: Resource, prefix: str = "", start: Key = "") -> int:
        """How many `scan` would give."""
        order = self._shelves[resource.name].order
        end = bisect_left(order, prefix + "\U0010ffff") if prefix else len(order)
        return end - bisect_left(order, max(prefix, start))

    def at(self, resource: Resource, version: int, prefix: str = "") -> list[Entry]:
        """The objects as they were at `version`, in order. Raises `Compacted`."""
        then = {entry.key: entry for entry in self.scan(resource, prefix)}
        for change in reversed(self.since(resource, version)):
            if not change.last.key.startswith(prefix):
                continue
            if change.before is None:
                del then[change.last.key]
            else:
                then[change.last.key] = change.before
        return [then[key] for key in sorted(then)]

    def since(self, resource: Resource, version: int) -> list[Change]:
        """The changes after `version`, oldest first. Raises `Compacted`."""
        if version < self.compacted:
            raise Compacted(self.compacted)
        newer: list[Change] = []
        for name, change, _ in reversed(self._history):
            if change.version <= version:
                break
            if name == resource.name:
                newer.append(change)
        newer.reverse()
        return newer

    def put(self, resource: Resource, key: Key, target: Object) -> Entry:
        """Store an object as a new version, create or update. Raises `OutOfSpace`."""
        before = self.get(resource, key)
        after = stamp(resource, key, target, self.version + 1)
        grown = self.bytes + len(after.encoded) - (len(before.encoded) if before else 0)
        if grown > self._quota_bytes:
            raise OutOfSpace
        self.bytes = grown
        self._shelves[resource.name].put(after)
        self._record(resource, Change(before, after, after))
        return after

    def delete(self, resource: Resource, key: Key, last: Object | None = None) -> Entry:
        """Remove an object, which must exist; `last` replaces it in what the change tells."""
        before = self._shelves[resource.name].entries[key]
        self._shelves[resource.name].drop(key)
        self.bytes -= len(before.encoded)
        entry = stamp(resource, key, last or before.object, self.version + 1)
        self._record(resource, Change(before, None, entry))
        return entry

    def subscribe(self, resource: Resource, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of each change from now on. Returns what ends it."""
        listeners = self._shelves[resource.name].listeners
        mark = object()
        listeners[mark] = listener

        def end() -> None:
            listeners.pop(mark, None)

        return end

    def subscribers(self) -> int:
        """How many listeners there are."""
        return sum(len(shelf.listeners) for shelf in self._shelves.values())

    def compact(self) -> None:
        """Forget the whole past, as etcd does every few minutes with all that is older."""
        self._history.clear()
        self._history_held = 0
        self.compacted = self.version

    def _record(self, resource: Resource, change: Change) -> None:
        self.version = change.version
        size = len(change.last.encoded)
        self._history.append((resource.name, change, size))
        self._history_held += size
        while len(self._history) > self._history_changes or self._history_held > self._history_bytes:
            _, dropped, freed = self._history.popleft()
            self._history_held -= freed
            self.compacted = dropped.version
        for listener in list(self._shelves[resource.name].listeners.values()):
            listener(change)


def stamp(resource: Resource, key: Key, target: Object, version: int) -> Entry:
    """An object with its version, encoded."""
    stamped = target | {"metadata": _versioned(target["metadata"], version)}
    return Entry(key, stamped, document.write(stamped, ordered=resource.custom), version)


_BEFORE_VERSION = frozenset(("name", "generateName", "namespace", "uid"))


def _versioned(metadata: Object, version: int) -> Object:
    """The metadata with its version, at the place where Kubernetes writes it."""
    head = {name: value for name, value in metadata.items() if name in _BEFORE_VERSION}
    return (
        head
        | {"resourceVersion": str(version)}
        | {k: v for k, v in metadata.items() if k != "resourceVersion"}
    )

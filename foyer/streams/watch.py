"""What the API server sends, bytes split anywhere: the events of a watch, and the pages of a list.

A watch is JSON texts, one a line (Kubernetes API concepts, "Efficient detection of changes"). Each is held
until its line is whole, up to a bound, and a large one only where there is room for it; what is not JSON in
UTF-8, or is no event, is upstream's fault and comes as a value, `Fault`, behind which nothing is read.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple, TypeAlias

from foyer.streams import lists, resource
from foyer.streams.resource import Resource, inner, string
from foyer.streams.said import Said, said
from foyer_native.jsontext import compact, members

MAX_EVENT_BYTES = 10 * 1024 * 1024
"""One event of a watch. etcd takes objects of 1.5 MiB, and of one that is all `<` an API server makes 9: Go's
JSON has six octets for it. An event is read in one turn of the loop, and whoever writes it has decided how
many parts it has: 10 MiB of the worst take 110 ms."""

FREE_BYTES = 64 * 1024
"""Of an event that has yet to come whole, what is held without asking. Nearly all have less, so that no
delivery of theirs comes to the pool; and two thousand streams hold 128 MiB so at the worst, no more than
their connections do."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Change(Enum):
    """What happened to an object; its value is its word in a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Changed(NamedTuple):
    """An object changed."""

    change: Change
    resource: Resource


class Bookmark(NamedTuple):
    """The watch has come this far; `complete` when that is the end of its snapshot."""

    complete: bool


class Failed(NamedTuple):
    """The API server says that the watch went wrong."""

    said: Said


class Fault(Enum):
    """Something that cannot be shown."""

    PARTIAL = "partial"
    """A change of an object that is not whole: metadata only, without a uid, or no object."""
    UNREADABLE = "unreadable"
    """Not what a watch or a list is made of."""
    TOO_LARGE = "too_large"
    """Beyond the bound on one event."""


class Unfinished(NamedTuple):
    """More has come of an event than there is room for: `size` bytes, and it is not whole."""

    size: int


Event: TypeAlias = Changed | Bookmark | Failed | Fault | Unfinished


class WatchReader:
    """The events of one watch. At rest, between two of them, it holds nothing."""

    __slots__ = ("_held", "_read", "room")

    def __init__(self, read: Callable[[bytes], Event] | None = None) -> None:
        """`read` makes an event of a line: `read_event`, or what does the same for less."""
        self._read = read or read_event
        self._held = bytearray()  # pieces of two bytes would take fifty each in a list
        self.room = FREE_BYTES
        """Bytes that may be held of the event that comes. Whoever makes more room for it says so here."""

    @property
    def waiting(self) -> int:
        """Bytes of an event that has yet to come whole."""
        return len(self._held)

    def drop(self) -> None:
        """Nothing more comes of the event that has yet to come whole."""
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that `data` completes, each read as it is asked for.

        Behind them `Unfinished`, each time that the next one has outgrown its room.
        """
        first, *rest = data.split(b"\n")
        if not rest:
            yield from self._hold(first)
            return
        last = rest.pop()
        if self._held:
            self._held += first
            first = bytes(self._held)
            self._held = bytearray()
            self.room = FREE_BYTES
        for line in (first, *rest):
            if len(line) > MAX_EVENT_BYTES:
                yield Fault.TOO_LARGE
            elif line and not line.isspace():
                yield self._read(line)
        if last:
            yield from self._hold(last)

    def _hold(self, piece: bytes) -> Iterator[Event]:
        self._held += piece
        size = len(self._held)
        if size > MAX_EVENT_BYTES:
            self._held = bytearray()
            yield Fault.TOO_LARGE
        elif size > self.room:
            yield Unfinished(size)


_CHANGES = {f'"{change.value}"'.encode("ascii"): change for change in Change}


def read_event(line: bytes) -> Event:
    """The one event that `line` is."""
    text = compact(line)
    if text is None or not text.startswith(b"{"):
        return Fault.UNREADABLE
    parts = members(text, ("type", "object"))
    kind, where = parts.get("type"), parts.get("object")
    if kind is None or where is None:
        return Fault.UNREADABLE
    told = text[where[1] : where[2]]
    change = _CHANGES.get(text[kind[1] : kind[2]])
    if change is not None:
        found = resource.read(told)
        return Fault.PARTIAL if found is None else Changed(change, found)
    match string(text, kind):
        case "BOOKMARK":
            return Bookmark(_ends_snapshot(told))
        case "ERROR":
            return Failed(said(told))
        case _:
            return Fault.UNREADABLE


def _ends_snapshot(text: bytes) -> bool:
    """Whether this is the object of the bookmark behind the initial events (KEP-3157)."""
    if INITIAL_EVENTS_END.encode("ascii") not in text or not text.startswith(b"{"):
        return False
    metadata = inner(text, members(text, ("metadata",)), "metadata", ("annotations",))
    annotations = inner(text, metadata, "annotations", (INITIAL_EVENTS_END,))
    return string(text, annotations.get(INITIAL_EVENTS_END)) == "true"


class Page(NamedTuple):
    """One page of a list: of which version, and the token of the next one ("" behind the last).

    `items` gives each item once, read as it is asked for: None for one that is not whole.
    """

    version: str
    token: str
    items: Iterator[Resource | None]


def read_page(content: bytes, before: str = "") -> Page | Fault:
    """The page of a list that `content` is, asked for with the token `before`."""
    listed = lists.read(content)
    if listed is None or not listed.goes_on(before):
        return Fault.UNREADABLE
    if not listed.version:
        return Fault.UNREADABLE  # without a version, a watch of what came after it could not be asked for
    return Page(listed.version, listed.token, map(resource.read, listed.items()))

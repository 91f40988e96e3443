"""A scope as one projection shows it, for everybody who looks at it that way (spec 05, Cost model).

Its rows are what is there now, each encoded once; its log is what changed of late. A reader is a place in
each:

    a snapshot   a cursor over the rows. What changes behind the cursor is told; what changes ahead of it is
                 shown as it is when the cursor gets there. So nothing is copied or held for a snapshot,
                 however slowly a browser takes it.
    live         a position in the log, which is everybody's: behind it is the reader's queue.

The log is kept as far back as the queue of a slow reader may reach, and as there are readers on their way
through it. A position that it no longer has has overflowed.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple, Protocol, TypeAlias

from foyer.streams.errors import StreamError
from foyer.streams.fanout import Due, Line
from foyer.streams.projection import Projected, Projection

QUEUE_MOST = 256
"""Events that may wait for a reader whose browser is slow (spec 05). One more is an overflow."""


class Row:
    """One object's place. Places of objects that came later are greater; the gone leave `projected` None."""

    __slots__ = ("projected", "serial")

    def __init__(self, serial: int, projected: Projected) -> None:
        self.serial = serial
        self.projected: Projected | None = projected


class Shown(NamedTuple):
    """An object was there, `new` or another than before."""

    serial: int
    projected: Projected
    new: bool


class Gone(NamedTuple):
    """An object was there no longer; `tail` ends its frame."""

    serial: int
    uid: str
    tail: bytes


class Lost(NamedTuple):
    """Continuity was lost: what is behind this is of another cycle."""

    why: StreamError


Entry: TypeAlias = Shown | Gone | Lost


class Reader(Due, Protocol):
    """Who reads a showing. Compared by identity."""

    @property
    def neighbourhood(self) -> int:
        """The same for all readers of one connection."""

    @property
    def position(self) -> int:
        """The first entry of the log that it has not read."""

    @property
    def reads(self) -> bool:
        """Whether it goes through the log, or stands at its end: its browser takes more."""

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""


class Showing:
    """One scope through one projection."""

    __slots__ = (
        "_dead",
        "_idle",
        "_line",
        "_log",
        "_order",
        "_rows",
        "_serial",
        "_start",
        "behind",
        "over",
        "projection",
        "readers",
        "ready",
    )

    def __init__(self, projection: Projection, line: Line) -> None:
        self.projection = projection
        self.readers: dict[Reader, None] = {}
        self.ready = False
        """Whether its rows are all there are: a snapshot of them is one."""
        self.over: StreamError | None = None
        """What ended it: there is nothing behind the log."""
        self.behind = 0
        """The position behind the log's last entry."""
        self._line = line
        self._idle: dict[Reader, None] = {}  # who has read everything, and whose browser takes more
        self._rows: dict[str, Row] = {}
        self._order: list[Row] = []  # by their serials
        self._dead = 0  # of them
        self._serial = 0
        self._log: list[Entry] = []
        self._start = 0  # the position of its first entry

    # What is there.

    def fill(self, projected: Projected) -> None:
        """An object that nobody need be told of: it is there before anybody reads."""
        row = self._rows.get(projected.uid)
        if row is None:
            self._add(projected)
        else:
            row.projected = projected

    def has(self, uid: str) -> bool:
        """Whether the object has a row."""
        return uid in self._rows

    def show(self, projected: Projected, *, new: bool) -> None:
        """An object is there. Readers are told if they would find anything changed."""
        row = self._rows.get(projected.uid)
        before = row.projected if row is not None else None
        if row is None:
            row = self._add(projected)
        row.projected = projected
        if before is None or before.digest != projected.digest:
            self._say(Shown(row.serial, projected, new))

    def delete(self, uid: str, tail: bytes) -> None:
        """An object is gone; one that nobody knew is told of all the same, for a page may."""
        row = self._rows.pop(uid, None)
        if row is None:
            self._say(Gone(0, uid, tail))
            return
        row.projected = None
        self._dead += 1
        if self._dead > len(self._rows) + QUEUE_MOST:
            self._order = [each for each in self._order if each.projected is not None]
            self._dead = 0
        self._say(Gone(row.serial, uid, tail))

    def clear(self) -> None:
        """Nothing is there that can be relied on. Readers are told by `lose` or `end`."""
        self.ready = False
        self._rows, self._order, self._dead = {}, [], 0

    def _add(self, projected: Projected) -> Row:
        self._serial += 1
        row = self._rows[projected.uid] = Row(self._serial, projected)
        self._order.append(row)
        return row

    def rows(self, behind: int, most: int) -> list[Row]:
        """Up to `most` of the rows behind the one of this serial (0: from the first), the gone among them."""
        first = bisect_right(self._order, behind, key=_serial)
        return self._order[first : first + most]

    # What changed.

    def lose(self, why: StreamError) -> None:
        """Continuity is lost."""
        self.clear()
        self._say(Lost(why))

    def end(self, why: StreamError) -> None:
        """Nothing will follow."""
        self.clear()
        self.over = why
        self._wake()

    def is_ready(self) -> None:
        """Its rows are all there are now. Who waits for them is served of these, before more has come."""
        self.ready = True
        self._wake()
        self._line.serve()

    def _wake(self) -> None:
        """Readers that wait have a look."""
        idle, self._idle = self._idle, {}
        if idle:
            # A connection's in one turn: over HTTP/2 that is one write for nine streams, a third less work.
            self._line.extend(sorted(idle, key=_neighbourhood))

    def _say(self, entry: Entry) -> None:
        self._log.append(entry)
        self.behind += 1
        self._wake()

    def entry(self, position: int) -> Entry:
        """The entry there, for who has not overflowed."""
        return self._log[position - self._start]

    def trim(self) -> int:
        """Forgets what nobody may read any more; how many entries are left."""
        # Whose browser is slow holds nothing up: the log goes on without them.
        read = min((each.position for each in self.readers if each.reads), default=self.behind)
        kept = min(read, self.behind - QUEUE_MOST)
        if kept > self._start:
            del self._log[: kept - self._start]
            self._start = kept
        return len(self._log)

    @property
    def logged(self) -> int:
        """Entries kept."""
        return len(self._log)

    # Who reads.

    def rest(self, reader: Reader) -> None:
        """It has read everything, and is put into the line when there is more."""
        self._idle[reader] = None

    def leave(self, reader: Reader) -> None:
        """It reads no more."""
        self._idle.pop(reader, None)
        self.readers.pop(reader, None)


_serial = attrgetter("serial")
_neighbourhood = attrgetter("neighbourhood")

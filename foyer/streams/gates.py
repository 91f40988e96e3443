"""The gates of read admission as snapshots pass them (`foyer.streams.snapshot`, over `foyer.admission`).

A snapshot holds its place and its memory until it has been delivered. Of a cache the place is held until it
is complete, and the memory for as long as there is one. What comes is counted as it comes, so that what takes
more than it was let in for takes more memory, or ends. So does a large event on the watch behind a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil

from foyer.admission.cap import Until
from foyer.admission.memory import Memory, Want
from foyer.admission.memory import Refused as Gate
from foyer.admission.pool import Reservation
from foyer.admission.reads import Read, Reads
from foyer.exchange.ports import Cancellable, UpstreamReceiver
from foyer.interruption import Interruption, Reason, not_admitted
from foyer.protocol.events import RequestHead
from foyer.session.seal import IdToken
from foyer.streams import errors, look
from foyer.streams.budget import OpenSide
from foyer.streams.errors import StreamError
from foyer.streams.request import get
from foyer.streams.scope import Scope
from foyer.streams.snapshot import Entrant, Keeper, Refusal, Room, Snapshot
from foyer.streams.watch import MAX_EVENT_BYTES

PASSED_ON = 2.2
"""Bytes of memory for a byte of a list that is passed on to one stream. Measured at its most, 2.0 for a list
of one page of 20 KB objects, which is there twice while it is taken apart; 1.84 of 500 bytes. Longer lists
are read page by page, and of a streaming list only digests stay: 0.6 of 500 bytes, 0.03 of 20 KB."""

KEPT = 4.2
"""Bytes of memory for a byte of a list that is kept for many. Measured: for as long as it is kept, 2.2 in one
projection and 4.1 in all three for objects of 500 bytes, 1.2 and 2.2 for 20 KB; while a list comes, in one
projection 3.4 of 500 bytes and 2.0 of 20 KB. Only a list of small objects that people wait for in all three
takes more, 5.3, until it has come. (`python -m bench multiples`)"""

UNFINISHED = 1.2
"""Bytes of memory for a byte of an event that has yet to come whole: measured, 1.0 to 1.1. Its frame takes as
much while it waits for a browser. In between it is there five times, but of all events only one at a time."""

STEP = 256 * 1024
"""Bytes of memory by which a reservation grows at least."""


def _as_it_is(way: OpenSide) -> OpenSide:
    return way


@dataclass(frozen=True, slots=True)
class Gates:
    """One target's: `foyer.streams.snapshot.Gates`.

    A look is asked of `authority`, and reads at most `look_bytes`. `retry_after` in seconds. `before` is what
    comes before a slot for each request of a snapshot; a look is asked as somebody else, and goes without.
    """

    reads: Reads
    memory: Memory
    authority: bytes
    look_bytes: int
    retry_after: int
    before: Callable[[OpenSide], OpenSide] = _as_it_is

    def key(self, scope: Scope) -> str:
        """What `scope` is remembered by: a target that a reload gives another server has other objects."""
        return repr((self.authority, *scope))

    def enter(self, scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Cancellable:
        """As `foyer.streams.snapshot.Gates` has it."""
        key = self.key(scope)
        multiple = PASSED_ON if keeper is None else KEPT

        def admitted(read: Read) -> None:
            entrant.admitted(_PassedOn(self, key, read) if keeper is None else _Kept(self, key, read, keeper))

        def refused(gate: Gate) -> None:
            entrant.turned_away(self._refusal(gate))

        def want(read: Read) -> Want:
            return Want(key, partial(self._look, scope, entrant, read, fits), multiple)

        def fits(size: int) -> bool:
            return ceil(size * multiple) <= self.memory.pool.size

        return self.reads.admit(self.memory, want, admitted, refused)

    def _look(
        self,
        scope: Scope,
        entrant: Entrant,
        read: Read,
        fits: Callable[[int], bool],
        found: Callable[[int | None], None],
    ) -> Cancellable:
        def request(after: str, token: IdToken) -> RequestHead:
            return get(scope.page(after, items=1), token, self.authority)

        most = min(look.MOST, self.look_bytes)
        looking = look.Look(read, request, most, fits, found, entrant.fault)
        entrant.look(looking)
        return looking

    def _refusal(self, gate: Gate) -> Refusal:
        if gate is Gate.TOO_LARGE:
            return _TOO_LARGE
        return Refusal(
            not_admitted(gate.value, self.retry_after), errors.unavailable(_NOT_NOW, float(self.retry_after))
        )

    def room(self) -> Room:
        """As `foyer.streams.snapshot.Gates` has it."""
        return _Room(self)

    def outgrown(self, key: str, size: int) -> StreamError:
        """What ends a snapshot that has taken `size` bytes, and finds no memory for more.

        That much is remembered of its scope: whoever reads it next asks for no less.
        """
        self.memory.estimates.took(key, size)
        return self.no_memory(_NO_MORE)

    def no_memory(self, words: str) -> StreamError:
        """What ends a stream that finds none for what comes: a page may try again."""
        self.memory.refuse(Gate.MEMORY)
        return errors.unavailable(words, float(self.retry_after))


class _Held:
    """What a snapshot holds, and has taken so far."""

    __slots__ = ("_complete", "_gates", "_key", "_memory", "_read", "_size")

    multiple: float

    def __init__(self, gates: Gates, key: str, read: Read) -> None:
        assert read.memory is not None
        self._gates = gates
        self._key = key
        self._read = read
        self._memory: Reservation = read.memory
        self._size = 0
        self._complete = False

    def open(self, receiver: UpstreamReceiver, *, whole: bool) -> Cancellable:
        """A place on a connection."""
        until = Until.WHOLE if whole else Until.HEAD
        return self._gates.before(partial(self._read.open, until=until))(receiver)

    def complete(self) -> None:
        """All of it has come, and is what its scope takes. What was reserved beyond that is given back: one
        first object that is large, and a slow browser would hold the whole pool for as long as it likes."""
        self._complete = True
        self._gates.memory.estimates.took(self._key, self._size)
        self._memory.shrink_to(ceil(self._size * self.multiple))

    def close(self) -> None:
        """Gives back what it holds."""
        self._read.close()

    def _fits(self) -> StreamError | None:
        """Takes as much memory as it has come to need, or ends it."""
        more = ceil(self._size * self.multiple) - self._memory.size
        if more <= 0 or self._memory.grow(max(more, STEP)) or self._memory.grow(more):
            return None
        return self._gates.outgrown(self._key, self._size)


class _PassedOn(_Held):
    """A stream's own."""

    __slots__ = ()

    multiple = PASSED_ON

    def takes(self, size: int) -> StreamError | None:
        """So many bytes more. What comes behind its end is no part of it."""
        if self._complete:
            return None
        self._size += size
        return self._fits()

    def delivered(self) -> Snapshot | None:
        """Nothing of it is held any more."""
        self.close()
        return None


class _Kept(_Held):
    """A cache's."""

    __slots__ = ("_keeper", "_unkept")

    multiple = KEPT

    def __init__(self, gates: Gates, key: str, read: Read, keeper: Keeper) -> None:
        super().__init__(gates, key, read)
        self._keeper = keeper
        self._unkept = 0

    def takes(self, size: int) -> StreamError | None:
        """So many bytes more; once it is complete, what is kept counts, and what comes as if it were new."""
        if not self._complete:
            # Of the smallest objects more is kept than came.
            self._size = max(self._size + size, self._keeper.size)
            return self._fits()
        self._size = self._keeper.size + size
        why = self._fits()
        self._shrink()
        return why

    def _shrink(self) -> None:
        """Gives back what it will not need again at once: else each change would ask for it anew."""
        needed = ceil(self._size * self.multiple) + STEP
        if self._memory.size > needed + STEP:
            self._memory.shrink_to(needed)

    def complete(self) -> None:
        """As above. Of what came, what nobody is shown (managed fields, often half of it) is not kept."""
        super().complete()
        self._unkept = max(0, self._size - self._keeper.size)
        self._size = self._keeper.size

    def delivered(self) -> Snapshot | None:
        """It is at the API server no more, and there for as long as anybody reads it."""
        self._read.delivered()
        return self

    def close(self) -> None:
        """It is dropped. By now its scope may take more than it did, or less; and a list of it that much more
        than what was kept."""
        if self._complete:
            self._gates.memory.estimates.took(self._key, self._size + self._unkept)
        super().close()


class _Room:
    """Of one stream of its own; what a cache has of an event counts as what it keeps."""

    __slots__ = ("_gates", "_memory")

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._memory: Reservation | None = None

    def grow(self, size: int) -> int | StreamError:
        """Takes twice as much, so that of the largest this is asked seven times; or no more than has come."""
        for room in (min(2 * size, MAX_EVENT_BYTES), size):
            if self._takes(ceil(room * UNFINISHED)):
                return room
        return self._gates.no_memory(_NO_ROOM)

    def _takes(self, need: int) -> bool:
        """It has come already, and those who wait in line would wait for its end: at once, or not at all."""
        if self._memory is None:
            self._memory = self._gates.memory.pool.take(need)
            return self._memory is not None
        more = need - self._memory.size
        return more <= 0 or self._memory.grow(more)

    def close(self) -> None:
        """Gives back what it holds."""
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()


_NOT_NOW = "foyer reads as much at once as it can, and did not get to this in time."
_NO_MORE = "What is here takes more memory than foyer has left for it now."
_NO_ROOM = "An object has changed that takes more memory than foyer has left for it now."
_TOO_LARGE_WORDS = (
    "What is in this scope takes more than all the memory that foyer has for reads. Narrow the scope, or have"
    " -memory-pool raised."
)
_TOO_LARGE = Refusal(Interruption(Reason.READ_TOO_LARGE, _TOO_LARGE_WORDS), errors.internal(_TOO_LARGE_WORDS))

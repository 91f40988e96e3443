"""One stream that reads a shared watch: a `Feed` (spec 05, Shared watches).

    NAMELESS    who it is of is asked, once
    ASKING      whether they may is asked: before the watch is joined, and before each new snapshot
    WAITING     they may, and the cache is not complete, or its watch not even let in
    SNAPSHOT    what is there is written, as the browser takes it
    LIVE        and then what changes
    OVER        left, and stays so

    NAMELESS → ASKING → WAITING → SNAPSHOT → LIVE
    WAITING → ASKING            the cache was long in coming: it is asked again
    SNAPSHOT, LIVE → WAITING    continuity was lost, or the browser was too slow
    every state → OVER          refused, the watch's end, or the stream's own

Of what it shows it holds nothing but two places in what everybody reads. What is its own are `seq` and the
revisions of what is redacted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from foyer.exchange.contained import contained
from foyer.exchange.ports import Cancellable
from foyer.interruption import Interruption
from foyer.session.seal import IdToken
from foyer.streams import errors
from foyer.streams.access import Subject, Verdict, question
from foyer.streams.cycle import Wire
from foyer.streams.errors import StreamError
from foyer.streams.fanout import FRAME_BYTES, Line
from foyer.streams.grants import Grant, Grants
from foyer.streams.projection import Projection
from foyer.streams.scope import Opening, Scope
from foyer.streams.showing import QUEUE_MOST, Lost, Showing, Shown
from foyer.streams.snapshot import Look
from foyer.streams.sse import Frame

OVERFLOW = errors.resync("The stream fell too far behind, and begins again.")


class State(Enum):
    """What a subscriber is doing; the transitions are at the top of this file."""

    NAMELESS = "who it is of is asked"
    ASKING = "whether they may is asked"
    WAITING = "the cache is not complete"
    SNAPSHOT = "what is there is written"
    LIVE = "what changes is written"
    OVER = "over"


_READING = (State.LIVE, State.SNAPSHOT)
_ELSEWHERE = (State.ASKING, State.OVER)

_EVERYTHING = 1 << 62
"""More than the serial of any row."""


class Out(Protocol):
    """The stream's place on the wire (`foyer.streams.stream.Stream`)."""

    @property
    def neighbourhood(self) -> int:
        """The same for all streams of one connection."""

    def admitted(self) -> None:
        """What is read has been let in."""

    def refuse(self, interruption: Interruption) -> None:
        """It has not. Calls `cancel` where nothing has been sent."""

    def write(self, head: bytes, tail: bytes) -> None:
        """One frame, in two parts. May call `pause`."""

    def write_alone(self, head: bytes, tail: bytes) -> None:
        """The same behind which nothing more comes in this turn."""

    def end(self, why: StreamError) -> None:
        """The frame of `why` was the last. Calls `cancel`."""

    def failed(self, error: Exception) -> None:
        """foyer's own code failed. Calls `cancel`."""


class Watch(Protocol):
    """One scope's shared watch."""

    def join(self, reader: Subscriber, projection: Projection) -> Showing:
        """What there is to read. The first reader has it opened."""

    def leave(self, reader: Subscriber, showing: Showing) -> None:
        """The last one has it closed."""


class Watches(Protocol):
    """Those there are."""

    def watch(self, scope: Scope) -> Watch:
        """The one of this scope, which may be new; it is joined at once."""

    def overflowed(self) -> None:
        """A subscriber fell behind."""


@dataclass(frozen=True, slots=True)
class Common:
    """What every subscriber of a replica is given."""

    grants: Grants
    watches: Watches
    line: Line


class Subscriber:
    """From `open` until it is refused, the watch ends or it is cancelled."""

    __slots__ = (
        "_allowed_at",
        "_common",
        "_cursor",
        "_grant",
        "_opening",
        "_out",
        "_pending",
        "_showing",
        "_slow",
        "_token",
        "_watch",
        "_wire",
        "neighbourhood",
        "position",
        "state",
    )

    def __init__(self, common: Common, opening: Opening, out: Out) -> None:
        self.state = State.NAMELESS
        self.neighbourhood = out.neighbourhood
        self.position = 0  # in the log: the first entry that was not read
        self._cursor = 0  # the serial of the last row that was shown
        self._common = common
        self._opening = opening
        self._out = out
        self._wire = Wire(opening)
        self._watch: Watch | None = None
        self._showing: Showing | None = None
        self._grant: Grant | None = None
        self._pending: Cancellable | None = None  # what the API server is asked for this stream alone
        self._token: IdToken | None = None  # theirs, until what they read has been let in
        self._allowed_at = 0.0  # when the last decision was asked for
        self._slow = False

    # The stream's feed.

    @contained
    def open(self, token: IdToken) -> None:
        """Asks who `token` is of, and goes on from there."""
        self._token = token
        self._pending = self._common.grants.access.who(token, self)

    def pause(self) -> None:
        """The browser is slow."""
        self._slow = True

    @contained
    def resume(self) -> None:
        """The browser takes more: of what waits, unless that is too much."""
        if not self._slow:
            return
        self._slow = False
        behind = self._showing.behind - self.position if self._showing is not None else 0
        if self.reads and behind > QUEUE_MOST:
            self._common.watches.overflowed()
            self.state = State.WAITING
            self._write(self._wire.error(OVERFLOW))
        if self.state not in (State.ASKING, State.OVER) and not self._slow:
            self._common.line.join(self)

    def cancel(self) -> None:
        """Leaves everything, now."""
        self.state = State.OVER
        self._token = None
        watch, showing = self._watch, self._showing
        self._watch = self._showing = None
        if watch is not None and showing is not None:
            watch.leave(self, showing)
        # Behind that: a look that comes to nothing is for those who are left.
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
        grant, self._grant = self._grant, None
        if grant is not None:
            self._common.grants.leave(grant, self)

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""
        self.cancel()
        self._out.failed(error)

    def _end(self, why: StreamError) -> None:
        """The last event, whatever waits before it: of what is refused nothing is shown any more."""
        self.state = State.OVER
        self._out.write(*self._wire.error(why))
        self._out.end(why)

    # Who, and may they.

    @contained
    def identified(self, who: Subject | StreamError) -> None:
        """The API server has said who it is."""
        self._pending = None
        if isinstance(who, StreamError):
            self._end(who)
            return
        grants = self._common.grants
        self._grant = grants.join(question(who, self._opening.scope), self)
        self._ask(self._grant)

    def _ask(self, grant: Grant) -> None:
        self.state = State.ASKING
        pending = self._common.grants.access.may(grant.question, self)
        if self.state is State.ASKING:
            self._pending = pending

    @contained
    def decided(self, verdict: Verdict, asked_at: float) -> None:
        """They may or not, for the snapshot that is to come."""
        self._pending = None
        if verdict is not None:
            self._end(verdict)
            return
        self._allowed_at = asked_at
        self.state = State.WAITING
        showing = self._showing if self._showing is not None else self._join()
        if showing.ready and self.state is State.WAITING:
            self._begin(showing)
        self._settle(showing)

    def _join(self) -> Showing:
        watch = self._common.watches.watch(self._opening.scope)
        showing = watch.join(self, self._opening.projection)
        self._watch, self._showing = watch, showing
        if self.state is State.OVER:  # it failed as it was opened
            self.cancel()
        return showing

    # What its watch tells before there is anything to read.

    @contained
    def admitted(self) -> None:
        """What is read has been let in."""
        self._token = self._pending = None  # what they looked at is known, or is not waited for
        if self.state is not State.OVER:
            self._out.admitted()

    @contained
    def refuse(self, interruption: Interruption) -> None:
        """It has not been."""
        if self.state is not State.OVER:
            self._out.refuse(interruption)

    def look(self, look: Look) -> None:
        """Looks at the scope that they wait for, as who they are."""
        assert self._token is not None, "who is let in does not wait"
        self._pending = look
        look.start(self._token)

    # What is read.

    @contained
    def rechecked(self, verdict: Verdict, asked_at: float) -> None:
        """They may go on or not."""
        if verdict is not None:
            self._end(verdict)
        else:
            self._allowed_at = max(self._allowed_at, asked_at)

    @property
    def reads(self) -> bool:
        """Whether it is on its way through the log, or could be."""
        return self.state in _READING and not self._slow

    def deliver(self, most: int) -> int:
        """Its turn in the line."""
        showing = self._showing
        if showing is None or self._slow:
            return 0
        try:
            work = self._follow(showing, most)
            if self.state is State.LIVE:
                self._settle(showing)
            else:
                work += self._come(showing, most - work)
        except Exception as error:  # the outermost, as above
            self.failed(error)
            return 0
        return work

    def _come(self, showing: Showing, most: int) -> int:
        """Goes on towards being live; how much was written."""
        work = 0
        if self.state is State.WAITING and showing.ready:
            access = self._common.grants.access
            if self._grant is not None and access.now() - self._allowed_at >= access.ttl:
                self._ask(self._grant)  # and goes on from there
                return 0
            self._begin(showing)
        if self.state is State.SNAPSHOT and self.position == showing.behind:
            work = self._show(showing, most)
        self._settle(showing)
        return work

    def _begin(self, showing: Showing) -> None:
        """A snapshot."""
        self.state = State.SNAPSHOT
        self.position, self._cursor = showing.behind, 0
        self._write(self._wire.reset())

    def _follow(self, showing: Showing, most: int) -> int:
        """Goes on in the log; how much was written."""
        work = 0
        while work < most and self.position < showing.behind and self.state in _READING and not self._slow:
            entry = showing.entry(self.position)
            self.position += 1
            if isinstance(entry, Lost):
                self.state = State.WAITING
                work += self._write(self._wire.error(entry.why))
            elif entry.serial > self._cursor:
                pass  # it will be found when the cursor comes by
            elif isinstance(entry, Shown):
                head, tail = self._wire.show(entry.projected, new=entry.new)
                if self.position < showing.behind:
                    self._out.write(head, tail)
                else:  # what is live mostly is one change behind
                    self._out.write_alone(head, tail)
                work += 1 + len(tail) // FRAME_BYTES
            else:
                work += self._write(self._wire.delete_as(entry.uid, entry.tail))
        return work

    def _show(self, showing: Showing, most: int) -> int:
        """Goes on with the snapshot; how much was written."""
        work = 0
        rows = showing.rows(self._cursor, most)
        for row in rows:
            if self._slow or self.state is not State.SNAPSHOT:
                return work
            self._cursor = row.serial
            if row.projected is not None:
                work += self._write(self._wire.show(row.projected, new=True))
        if len(rows) < most and not self._slow and self.state is State.SNAPSHOT:
            self.state, self._cursor = State.LIVE, _EVERYTHING
            work += self._write(self._wire.synced())
        return work

    def _write(self, frame: Frame) -> int:
        head, tail = frame
        self._out.write(head, tail)
        return 1 + len(tail) // FRAME_BYTES

    def _settle(self, showing: Showing) -> None:
        """What comes next: the end, another turn, or a rest."""
        if self._slow or self.state in _ELSEWHERE:
            return
        if self.position < showing.behind and self.state in _READING:
            self._common.line.join(self)
        elif showing.over is not None:
            self._end(showing.over)
        elif self.state is State.SNAPSHOT:
            self._common.line.join(self)
        else:
            showing.rest(self)

"""Where a scope comes from: requests to the API server, one at a time (spec 05, Upstream).

    HELD       nothing is asked until whoever shows it takes more
    ENTERING   a snapshot is to come: it is let in, or is not
    OPENING    a place on a connection is waited for
    ASKED      the request is on its way up
    WATCHING   the answer is a watch: it goes to the reflector as it comes
    READING    the answer is read whole: a page, or what says that there is none
    SHOWING    the page is shown, a slice a turn; nothing is asked
    OVER       left, and stays so

Each cycle is a read (`foyer.streams.reading`), and what it asks goes up within that. What is asked, and what
an answer means, its reflector says. It belongs to whoever shows the scope: a stream, or a cache that many
read. What it needs of the loop comes as values. An answer that is compressed, or of another type than JSON,
is no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol

from foyer.exchange.ports import Cancellable, UpstreamSide
from foyer.interruption import Interruption
from foyer.protocol.events import Failure, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams.errors import StreamError
from foyer.streams.reading import Reading
from foyer.streams.reflector import STALL, Reflector, Step, View
from foyer.streams.request import get, is_plain_json
from foyer.streams.scope import Scope
from foyer.streams.server import Server
from foyer.streams.snapshot import Keeper, Look, Refusal, Room
from foyer.streams.watch import FREE_BYTES, MAX_EVENT_BYTES

MAX_REFUSAL_BYTES = 64 * 1024
"""Of an answer that is no page and no watch: beyond, its status alone counts."""

WHOLE = 60.0
"""Seconds for a page from its head on, and for an event from when it is more than is held for nothing. Each
is held until it is whole, and a byte in 14 seconds is no stall: a server that sends no more would keep its
part of the pool that every target's reads wait for. An API server has 60 seconds itself for any list."""

SNAPSHOT_MOST = 300.0
"""Seconds for all of a snapshot, of pages or events that each come in time, with the waits for connections
between them. What a list goes on with expires after five minutes (etcd's compaction): one that takes longer
would not come to its end."""


class Owner(Protocol):
    """Whose source it is."""

    def admitted(self) -> None:
        """A snapshot has been let in, and is asked for next."""

    def refuse(self, interruption: Interruption) -> None:
        """None was. Whoever has been sent nothing yet is answered so; the view is told for the others."""

    def failed(self, error: Exception) -> None:
        """foyer's own code failed. The source has been left."""


class State(Enum):
    """What a source is doing; the transitions are at the top of this file."""

    HELD = "waiting until more is taken"
    ENTERING = "waiting to be let in"
    OPENING = "waiting for a connection upstream"
    ASKED = "the request is on its way up"
    WATCHING = "the answer is a watch"
    READING = "the answer is read whole"
    SHOWING = "a page is being shown"
    OVER = "over"


_UNASKED = (State.HELD, State.ENTERING, State.OPENING, State.SHOWING)
"""What is waited for is not the API server's."""

P = ParamSpec("P")


def _contained(method: Callable[Concatenate[Source, P], None]) -> Callable[Concatenate[Source, P], None]:
    """A fault of ours ends its source, never the connection's other streams."""

    @wraps(method)
    def call(self: Source, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # the outermost: logged by its type
            self.fault(error)

    return call


class Source:
    """One scope, followed from `start` until its reflector says the end or it is cancelled.

    The view has been told whatever ended it. `token` may be changed at any time: it goes with the next
    request. Paused, it lets the API server wait; what has come by then is still shown.
    """

    __slots__ = (
        "_begun",
        "_content",
        "_heard",
        "_keeper",
        "_let_in",
        "_owner",
        "_paused",
        "_pending",
        "_queued",
        "_reading",
        "_reflector",
        "_retry_after",
        "_room",
        "_scope",
        "_server",
        "_side",
        "_status",
        "slot",
        "state",
        "token",
    )

    def __init__(
        self,
        server: Server,
        scope: Scope,
        view: View,
        owner: Owner,
        token: IdToken,
        *,
        lenient: bool = False,
        keeper: Keeper | None = None,
    ) -> None:
        """`lenient`: versions of objects that have no order are passed through. `keeper`: who keeps what is
        there, where it is not passed on to one stream alone."""
        self._reflector = Reflector(scope, view, streaming=server.may_stream(scope), lenient=lenient)
        self._server = server
        self._scope = scope
        self._owner = owner
        self._keeper = keeper
        self.token = token
        self.state = State.OPENING
        self.slot = -1
        self._pending: Cancellable | None = None
        self._side: UpstreamSide | None = None
        self._reading: Reading | None = None
        self._room: Room | None = None  # while a large event is coming, or has yet to be taken
        self._status = 0
        self._retry_after: float | None = None
        self._content = bytearray()  # pieces of two bytes would take fifty each in a list
        self._heard = 0.0  # when something last came, or it was last not this server that was waited for
        self._begun = 0.0  # when what has to come whole began to: the last page or large event
        self._let_in = 0.0  # when the last snapshot was
        self._paused = False
        self._queued = False  # for a turn to show more in

    # What its owner does with it.

    @_contained
    def start(self) -> None:
        """Comes to the gates, and asks the API server."""
        self._ask()

    def pause(self) -> None:
        """Nothing more is shown before `resume`, but for what has come."""
        if self._paused:
            return
        self._paused = True
        if self._side is not None:
            self._side.pause()

    @_contained
    def resume(self) -> None:
        """Goes on. The time in between was the browser's."""
        if not self._paused:
            return
        self._paused = False
        self._set_aside(self._server.now())
        if self._side is not None:
            self._side.resume()
        self._settle()
        if self.state is State.HELD:
            self._ask()
        elif self.state is State.SHOWING:
            self._show_later()

    def cancel(self) -> None:
        """Leaves the API server, now. Nothing more is told to anybody."""
        self._leave(State.OVER)
        self._close_reading()
        self._close_room()
        self._server.wheel.remove(self)

    def fault(self, error: Exception) -> None:
        """foyer's own code failed."""
        self.cancel()
        self._owner.failed(error)

    # A cycle is a read.

    @property
    def waiting(self) -> int:
        """Bytes of an object on an open watch that has yet to come whole."""
        return self._reflector.waiting

    @property
    def is_admitted(self) -> bool:
        """Whether what there is has been let in, or has been taken by now."""
        return (self._reading is not None and self._reading.is_in) or not self._reflector.in_snapshot

    def _enter(self) -> None:
        self.state = State.ENTERING
        self._reading = Reading(self)
        self._reading.enter(self._server.gates, self._scope, self._keeper)

    @_contained
    def look(self, look: Look) -> None:
        """Nobody knows how much this will be."""
        if self._keeper is None:
            look.start(self.token)
        else:
            self._keeper.look(look)

    @_contained
    def admitted(self) -> None:
        """The gates have let it in."""
        self._let_in = self._server.now()
        self._owner.admitted()
        if self.state is State.ENTERING:
            self._ask()

    @_contained
    def turned_away(self, why: Refusal) -> None:
        """They have not."""
        self._owner.refuse(why.interruption)
        if self.state is State.ENTERING:
            self._do(self._reflector.given_up(why.error))

    def _settle(self) -> None:
        """What is complete is over as a read once it has been taken: no more of it waits than of any answer,
        which is what lets this go on. So is a large event."""
        if self._room is not None and not self._paused and self._reflector.waiting <= FREE_BYTES:
            self._close_room()
        reading = self._reading
        if reading is None or self._reflector.in_snapshot:
            return
        reading.complete(taken=not self._paused)
        if not reading.is_in:
            self._reading = None

    def _close_reading(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.close()

    def _close_room(self) -> None:
        room, self._room = self._room, None
        if room is not None:
            room.close()

    def _hold(self) -> None:
        """An event is large, and is not whole."""
        if self._reflector.room == FREE_BYTES:  # this is the first that is told of it
            self._begun = self._heard
            if self.slot < 0:
                self._server.wheel.add(self, self._heard + STALL)
        if self._keeper is not None or self._reflector.in_snapshot:
            self._reflector.may_hold(MAX_EVENT_BYTES)  # what its reading has taken is for this too
            return
        if self._room is None:
            self._room = self._server.gates.room()
        room = self._room.grow(self._reflector.waiting)
        if isinstance(room, StreamError):
            self._do(self._reflector.given_up(room))
        else:
            self._reflector.may_hold(room)

    # One request after the other.

    def _ask(self) -> None:
        if not self.token:
            raise AssertionError("a request is never sent without its token")
        server = self._server
        self._heard = server.now()
        if self.slot < 0:
            server.wheel.add(self, self._heard + STALL)
        if self._paused:
            # Paused from its beginning, over HTTP/1.1 its answer's head would not be read, and a slow browser
            # would hold what the request holds at the API server.
            self.state = State.HELD
            return
        if not self.is_admitted:
            self._enter()
            return
        self.state = State.OPENING
        pending = self._open()
        if self.state is State.OPENING:
            self._pending = pending

    def _open(self) -> Cancellable:
        if self._reading is not None and self._reflector.in_snapshot:
            return self._reading.open(self, whole=self._reflector.whole)
        return self._server.open_side(self)

    def _leave(self, then: State = State.OPENING) -> None:
        """Whatever is still asked is given up."""
        self._become(then)
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
        side, self._side = self._side, None
        if side is not None:
            side.cancel()
        self._content = bytearray()
        self._reflector.left()

    def _become(self, state: State) -> None:
        """Keeps the count of open watches on the way."""
        opened = (state is State.WATCHING) - (self.state is State.WATCHING)
        self._server.watches[self._server.identity] += opened
        self.state = state

    def _do(self, step: Step) -> None:
        """What the reflector wants done."""
        if self.state is State.OVER:
            return  # the view left while it was told
        self._settle()
        match step:
            case Step.READ:
                pass
            case Step.HOLD:
                self._hold()
            case Step.MORE:
                self._become(State.SHOWING)
                self._show_later()
            case Step.REQUEST:
                if self._reflector.streaming_refused:
                    self._server.does_not_stream(self._scope)
                self._leave()
                self._ask()
            case Step.CYCLE:
                self._leave()
                self._close_reading()
                self._ask()
            case Step.END:
                self.cancel()

    # What the upstream's side tells.

    @_contained
    def upstream_open(self, side: UpstreamSide) -> None:
        """A place was found: the request goes up."""
        self._pending = None
        self._side = side
        self._heard = self._server.now()
        self._become(State.ASKED)
        if self._paused:
            side.pause()
        side.send_head(get(self._reflector.target, self.token, self._server.authority))

    @_contained
    def response_head(self, head: ResponseHead) -> None:
        """The API server has answered."""
        self._heard = self._server.now()
        if head.ended:
            self._side = None
        self._status = head.status
        self._retry_after = _seconds(head)
        if head.status == 200 and not is_plain_json(head):
            self._do(self._reflector.unanswered())
        elif head.status == 200 and not self._reflector.whole:
            self._become(State.WATCHING)
            if head.ended:
                self._do(self._reflector.ended(self._heard))
        elif head.status == 200 and head.declares_more_than(self._server.max_page_bytes):
            self._do(self._reflector.too_large())
        else:
            self._begun = self._heard
            self._become(State.READING)
            if head.ended:
                self._answered()

    @_contained
    def response_body(self, data: bytes) -> None:
        """Content arrived."""
        if self._side is None:
            return
        now = self._server.now()
        if self._status == 200:  # what a refusal says has its time from its head on: its status is enough
            self._heard = now
            if not self._fits(data):
                return
        if self.state is State.WATCHING:
            self._do(self._reflector.received(data, now))
        elif self.state is State.READING:
            self._read(data)

    def _fits(self, data: bytes) -> bool:
        """Whether there is memory for what `data` is a part of; else this is its end."""
        why = None if self._reading is None else self._reading.takes(len(data))
        if why is not None:
            self._do(self._reflector.given_up(why))
        return why is None

    def _read(self, data: bytes) -> None:
        self._content += data
        if self._status != 200:
            if len(self._content) > MAX_REFUSAL_BYTES:
                self._refused()
        elif len(self._content) > self._server.max_page_bytes:
            self._do(self._reflector.too_large())

    @_contained
    def response_end(self) -> None:
        """The response is whole."""
        self._side = None
        if self.state is State.WATCHING:
            self._do(self._reflector.ended(self._server.now()))
        elif self.state is State.READING:
            self._answered()

    def _refused(self) -> None:
        """Nothing more of a refusal is waited for: its status is an answer."""
        self._content = bytearray()
        self._answered()

    def _answered(self) -> None:
        content = bytes(self._content)
        self._leave()
        self._do(self._reflector.answered(self._status, content, self._retry_after, self._server.now()))

    @_contained
    def upstream_gone(self, failure: Failure) -> None:
        """The response will never be whole."""
        self._side = self._pending = None
        if self.state is State.WATCHING:
            self._do(self._reflector.ended(self._server.now()))
        elif self.state is State.READING and self._status != 200:
            self._refused()
        elif self.state is not State.OVER:
            self._do(self._reflector.unanswered())

    def upstream_drained(self) -> None:
        """A request of foyer's own is all head: nothing waits."""

    # A page's slices.

    def _show_later(self) -> None:
        if not self._paused and not self._queued:
            self._queued = True
            self._server.later(self)

    @_contained
    def go_on(self) -> None:
        """The turn has come in which more of the page is shown."""
        self._queued = False
        if self.state is State.SHOWING and not self._paused:
            self._do(self._reflector.go_on(self._server.now()))

    def failed(self) -> None:
        """Never: `go_on` contains its own faults."""
        raise AssertionError("a fault has got out")

    # The clock.

    def due(self, now: float) -> float | None:
        """Gives up what neither comes nor ends, and what comes too slowly for the memory that it holds.

        An open watch may be silent: whether its server is there is the connection's to find out. Not so
        within a large event. And for how long a place is waited for is its finder's: an API server that was
        not asked yet has not stalled.
        """
        if self._paused:
            self._set_aside(now)
        elif self.state in _UNASKED:
            self._heard = now
        until = self._until
        if until is None or now < until:
            return until
        self._stalled()
        return None  # over, or put back by what it asked next

    @property
    def _until(self) -> float | None:
        """When what is waited for has been for long enough; None: for ever."""
        snapshot = self._reflector.in_snapshot
        whole = self.state is State.READING or self._reflector.waiting > FREE_BYTES
        if self.state is State.OVER or (self.state is State.WATCHING and not snapshot and not whole):
            return None
        until = self._heard + STALL
        if snapshot and self.is_admitted:
            until = min(until, self._let_in + SNAPSHOT_MOST)
        return min(until, self._begun + WHOLE) if whole else until

    def _set_aside(self, now: float) -> None:
        """What has passed since it last heard something was the browser's time."""
        passed = now - self._heard
        self._heard = now
        self._begun += passed
        self._let_in += passed

    @_contained
    def _stalled(self) -> None:
        if self.state is State.READING and self._status != 200:
            self._refused()
        elif self._reflector.in_snapshot:
            self._do(self._reflector.stalled())
        else:
            self._do(self._reflector.unanswered())


def _seconds(head: ResponseHead) -> float | None:
    """The wait that `Retry-After` asks for, where it is one number of seconds (RFC 9110 section 10.2.3)."""
    given = head.all(b"retry-after")
    if len(given) == 1 and given[0].isdigit() and len(given[0]) <= 9:
        return float(given[0])
    return None

"""The exchange: one request and its response, between a browser and an upstream (RFC 9113 section 8.1).

A small synchronous state machine. It never waits, so nothing ever has to be unblocked: bytes in
from one side become a direct call out to the other, slow readers become `pause` and `resume`, and
ending early is one method. It knows no HTTP version below it and no session or Kubernetes above.

    ADMITTING -> WAITING (for a connection upstream) -> SENT -> RELAYING -> CLOSED
    ADMITTING | WAITING | SENT -> ANSWERING (foyer's own answer) -> CLOSED
    ADMITTING -> FLOWING (foyer's own answer, as it is written) -> CLOSED
    any state -> CLOSED, and what is CLOSED stays so

How it ended is told once, when the browser's side is done: complete, gone, interrupted or cut
short. The first cut wins, over an answer too that has not been taken yet.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from foyer.bound import Bound
from foyer.exchange.contained import contained
from foyer.exchange.endings import BrowserGone, Cause, Complete, CutShort, Ending, Interrupted
from foyer.exchange.ports import (
    HIGH_WATER,
    Answer,
    BrowserSide,
    Cancellable,
    Flow,
    Passed,
    ResponseBounds,
    UpstreamReceiver,
    UpstreamSide,
)
from foyer.interruption import Interruption, Reason, bound_reached, not_admitted, target_full
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer_native.inflate import GzipError, Inflater


class State(Enum):
    """Where an exchange is; the transitions are at the top of this file."""

    ADMITTING = "deciding"
    WAITING = "waiting for a connection upstream"
    SENT = "the request is on its way up"
    RELAYING = "the response is on its way down"
    ANSWERING = "foyer's own answer is on its way down"
    FLOWING = "foyer's own answer goes on"
    CLOSED = "over"


class Held(Protocol):
    """What a request holds while it is open."""

    def close(self) -> None:
        """Gives it back."""


class Services(Protocol):
    """What an exchange is given by the application: rules and records, as plain calls."""

    def interrupted(self, interruption: Interruption, head: RequestHead) -> Answer:
        """The interruption as an answer to this request: a page or a Status."""

    def incoming(self, head: ResponseHead, method: bytes) -> Passed | Interruption:
        """What of the API server's response head may go on to the browser."""

    def closed(self, exchange: Exchange) -> None:
        """The exchange is over; `exchange.ending` says how. Called exactly once."""

    def fault(self, exchange: Exchange, error: Exception) -> None:
        """foyer's own code failed: the exchange is cut short."""


class Exchange:
    """One request and its response."""

    __slots__ = (
        "_bounds",
        "_early",
        "_flow",
        "_inflater",
        "_pending",
        "_request",
        "_request_ended",
        "_services",
        "_upstream",
        "_upstream_over",
        "admission",
        "asked",
        "browser",
        "content",
        "ending",
        "head",
        "interruption",
        "lease",
        "state",
        "status",
    )

    def __init__(self, services: Services, browser: BrowserSide, head: RequestHead) -> None:
        self._services = services
        self.browser = browser
        browser.receiver = self
        self.head: RequestHead | None = (
            head  # dropped once nothing can be refused any more: it holds the cookie
        )
        self.state = State.ADMITTING
        self.ending: Ending | None = None
        self.interruption: Interruption | None = None  # what was answered with, be it taken or not
        self.status = 0  # of the API server's response, once its head has passed
        self.admission: Held | None = None  # given back at the end
        self.lease: Held | None = None  # of the API servers that it asks; given back when it has left them
        self.asked: object = None  # what the application's record of it needs
        self.content: int | None = None  # decoded bytes of the API server's response that were passed on
        self._bounds: ResponseBounds  # of the API server's response; a request that goes up has some
        self._upstream: UpstreamSide | None = None
        self._upstream_over: Failure | bool = (
            False  # True: whole; what it is while content is still to be decoded
        )
        self._inflater: Inflater | None = None
        self._pending: Cancellable | None = None
        self._flow: Flow | None = None
        self._request: RequestHead | None = None
        self._request_ended = head.ended
        self._early: list[bytes] | None = None  # content that came before a connection upstream was found

    # What the application does with it.

    def answer(self, answer: Answer, ending: Ending | None = None) -> None:
        """Gives foyer's own whole answer. Legal until a head was sent; ignored once the browser has gone."""
        if self.state is State.CLOSED:
            return
        assert self.state in (State.ADMITTING, State.WAITING, State.SENT), self.state
        head, self.head = self.head, None
        self.state = State.ANSWERING
        self.ending = ending or Complete(answer.status)
        if isinstance(ending, Interrupted):
            self.interruption = ending.interruption
        content = answer.content
        fields = answer.fields
        if answer.status != 204:
            fields = [*fields, (b"content-length", b"%d" % len(content))]
        ended = not content or head is None or head.method == b"HEAD"
        self.browser.send_head(ResponseHead(answer.status, fields, ended=ended))
        if not ended:
            self.browser.send(content)
            self.browser.finish()

    def refuse(self, interruption: Interruption) -> None:
        """Answers with an interruption. Legal until a head was sent."""
        if self.state is State.CLOSED or self.head is None:
            return
        self._leave_upstream()
        self.answer(self._services.interrupted(interruption, self.head), Interrupted(interruption))

    def begin_flow(self, head: ResponseHead, flow: Flow, write_timeout: float | None) -> None:
        """Begins an answer of foyer's own that `flow` writes, unless `head` is all of it.

        Ignored once the browser has gone.
        """
        if self.state is State.CLOSED:
            return
        assert self.state is State.ADMITTING, self.state
        self.head = None
        self.state = State.FLOWING
        self._flow = self._pending = None
        if head.ended:
            self.ending = Complete(head.status)
        else:
            self._flow = self._pending = flow
        self.browser.write_timeout = write_timeout
        self.browser.send_head(head)

    def write(self, data: bytes) -> None:
        """More of the flow's answer. Above `HIGH_WATER` queued, wait for `Flow.drained`."""
        if self.state is State.FLOWING and self.ending is None:
            self.browser.send(data)

    def write_alone(self, data: bytes) -> None:
        """The same where nothing more of this turn follows."""
        if self.state is State.FLOWING and self.ending is None:
            self.browser.send_alone(data)

    @property
    def endless(self) -> bool:
        """Whether its answer goes on until somebody ends it: a stream."""
        return self._flow is not None and self._flow.endless

    def end_flow(self) -> None:
        """That was all of it: a clean end."""
        if self.state is State.FLOWING and self.ending is None:
            self._flow = self._pending = None
            self.ending = Complete(200)
            self.browser.finish()

    def wait_for(self, work: Cancellable) -> None:
        """A coroutine of the application's will call `answer`; cancelled if the browser leaves first."""
        self._pending = work

    def wait_for_flow(self, flow: Flow) -> None:
        """`flow` will begin its answer, or refuse; it is cancelled if the browser leaves first."""
        self._flow = self._pending = flow

    def forward(
        self,
        request: RequestHead,
        open_side: Callable[[UpstreamReceiver], Cancellable],
        bounds: ResponseBounds,
    ) -> None:
        """Sends `request` up as soon as `open_side` finds it a place, its content as it arrives."""
        self.state = State.WAITING
        self._bounds = bounds
        self._request = request
        if not self._request_ended:
            self.browser.pause()
        pending = open_side(self)
        if self.state is State.WAITING:
            self._pending = pending

    def cut(self, cause: Cause, failure: Failure | None = None) -> None:
        """Aborts, whatever the exchange is doing. It can never pass for whole.

        The first cut is the ending. A later one only stops what that one still had to deliver: of a
        session that has ended nothing may leave any more.
        """
        if self.state is State.CLOSED:
            return
        if not isinstance(self.ending, CutShort):
            self.ending = CutShort(cause, failure)
        elif cause.delivers_first:
            return
        self._leave_upstream()
        self.browser.abort(deliver_first=cause.delivers_first)

    def session_ended(self) -> None:
        """Its session ended: a logout, a new login, or its time."""
        self.cut(Cause.SESSION_ENDED)

    def duration_reached(self) -> None:
        """It has been open for as long as a response may."""
        self.cut(Cause.RESPONSE_DURATION)

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""
        self._services.fault(self, error)
        self.cut(Cause.INTERNAL)

    # What the browser's side tells.

    @contained
    def request_body(self, data: bytes) -> None:
        """Request content arrived."""
        if self._upstream is not None:
            self._upstream.send(data)
            if self._upstream.queued > HIGH_WATER:
                self.browser.pause()
        elif self.state is State.WAITING:
            # What one read brought beside the head; the browser is paused, so no more than that.
            if self._early is None:
                self._early = []
            self._early.append(data)

    @contained
    def request_end(self) -> None:
        """The request is whole."""
        self._request_ended = True
        if self._upstream is not None:
            self._upstream.finish()
        elif self.state is State.WAITING:
            # No more can gather, and over HTTP/1.1 nobody sees a browser leave that is not read.
            self.browser.resume()

    @contained
    def browser_gone(self) -> None:
        """The browser left: so does foyer, upstream."""
        if self.state is State.CLOSED:
            return
        self.ending = self.ending if isinstance(self.ending, CutShort) else BrowserGone()
        self._leave_upstream()
        self._close()

    @contained
    def browser_drained(self) -> None:
        """The browser takes more: first what is still to be decoded, then what upstream has."""
        if self._flow is not None:
            self._flow.drained()
            return
        if self._inflater is not None:
            self._inflate(self._inflater)
        if self._upstream is not None and self.browser.queued <= HIGH_WATER:
            self._upstream.resume()

    @contained
    def browser_stalled(self) -> None:
        """The browser has taken nothing for as long as it may."""
        self.cut(Cause.WRITE_TIMEOUT)

    @contained
    def browser_sent(self) -> None:
        """The answer's end, or its abort, has been taken."""
        self._close()

    # What the upstream's side tells.

    @contained
    def upstream_open(self, side: UpstreamSide) -> None:
        """A place was found: the request goes up."""
        request, self._request = self._request, None
        assert self.state is State.WAITING and request is not None
        self.state = State.SENT
        self._pending = None
        self._upstream = side
        side.send_head(request)
        if request.ended:
            return
        if self.head is not None and any(v.lower() == b"100-continue" for v in self.head.all(b"expect")):
            # foyer's own word: it has a place for the content now. Expect itself does not go up.
            self.browser.send_informational(100)
        early, self._early = self._early or [], None
        for data in early:
            side.send(data)
        if self._request_ended:
            side.finish()
        self.browser.resume()

    @contained
    def response_head(self, head: ResponseHead) -> None:
        """The API server has answered."""
        assert self.state is State.SENT and self.head is not None
        passed = self._services.incoming(head, self.head.method)
        if head.ended:
            self._upstream = None
        if isinstance(passed, Interruption):
            self.refuse(passed)
            return
        bounds = self._bounds
        if passed.length is not None and passed.length > bounds.content:
            self.refuse(_too_large(bounds.content))
            return
        self.browser.write_timeout = bounds.write_timeout
        self.state = State.RELAYING
        self.head = None
        self.status = passed.head.status
        self.content = 0
        if passed.gzip:
            self._inflater = Inflater()
        # What follows a head that can have no content would be read as the next answer's (RFC 9112
        # section 6.3): the head is all of it, whatever the API server goes on to send.
        passed.head.ended = passed.head.ended or passed.length == 0
        if passed.head.ended:
            self.ending = Complete(self.status)
            self._leave_upstream()
        self.browser.send_head(passed.head)

    @contained
    def response_body(self, data: bytes) -> None:
        """Content arrived: it goes on at once, decoded if it must be."""
        if self.state is not State.RELAYING:
            return
        if self._inflater is not None:
            self._inflater.feed(data)
            if self.browser.queued <= HIGH_WATER:
                self._inflate(self._inflater)
            return
        self._pass_on(data)
        if self.browser.queued > HIGH_WATER and self._upstream is not None:
            self._upstream.pause()

    @contained
    def response_end(self) -> None:
        """The response is whole."""
        self._upstream = None
        if self.state is State.RELAYING:
            self._upstream_ended(True)

    @contained
    def upstream_gone(self, failure: Failure) -> None:
        """The response will never be whole."""
        self._upstream = None
        self._pending = None
        if self.state in (State.WAITING, State.SENT):
            self.refuse(_unanswered(failure, self._bounds.retry_after))
        elif self.state is State.RELAYING:
            self._upstream_ended(failure)

    @contained
    def upstream_drained(self) -> None:
        """Upstream takes more of the request."""
        self.browser.resume()

    # The content's way.

    def _pass_on(self, data: bytes) -> None:
        """Sends decoded content: all of it, or what the limit leaves, and then no more."""
        before = self.content or 0
        limit = self._bounds.content
        if before + len(data) <= limit:
            self.content = before + len(data)
            self.browser.send(data)
            return
        within = limit - before
        self.content = limit
        if within:
            self.browser.send(data[:within])
        self.cut(Cause.RESPONSE_BYTES)

    def _inflate(self, inflater: Inflater) -> None:
        """Decodes while the browser takes it; what is left waits, encoded."""
        try:
            while self.ending is None and self.browser.queued <= HIGH_WATER:
                piece = inflater.step(HIGH_WATER)
                if not piece:
                    if self._upstream_over is not False:
                        self._finish(inflater)
                    return
                self._pass_on(piece)
        except GzipError:
            self.cut(Cause.UPSTREAM, Failure.PROTOCOL)
            return
        if self._upstream is not None:
            self._upstream.pause()

    def _upstream_ended(self, how: Failure | bool) -> None:
        self._upstream_over = how
        if self._inflater is None:
            self._finish(None)
        elif self.browser.queued <= HIGH_WATER:
            self._inflate(self._inflater)

    def _finish(self, inflater: Inflater | None) -> None:
        """Everything that arrived has been passed on: the end, or an abort in its place."""
        if isinstance(self._upstream_over, Failure):
            self.cut(Cause.UPSTREAM, self._upstream_over)
            return
        if inflater is not None:
            inflater.finish()
        self.ending = Complete(self.status)
        self.browser.finish()

    # The end.

    def _leave_upstream(self) -> None:
        self._flow = None
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()

    def _close(self) -> None:
        if self.state is State.CLOSED:
            return
        if self._upstream is not None or self._pending is not None:
            self._leave_upstream()
        self.state = State.CLOSED
        self.head = None
        self._inflater = None
        if self.admission is not None:
            self.admission.close()
        if self.lease is not None:
            self.lease.close()
        self._services.closed(self)


def _too_large(limit: int) -> Interruption:
    return bound_reached(
        Reason.RESPONSE_TOO_LARGE,
        Bound.RESPONSE_BYTES,
        limit,
        "The API server's answer is larger than foyer passes on. The request has reached it, and a change may"
        " have taken effect. A list can be asked for in pages.",
    )


def _unanswered(failure: Failure, retry_after: int) -> Interruption:
    match failure:
        case Failure.TARGET_FULL:
            return target_full(failure.value)
        case Failure.NOT_ADMITTED:
            return not_admitted("concurrency", retry_after)
        case _:
            return Interruption(
                Reason.UPSTREAM_UNAVAILABLE,
                "The API server gave no answer. A change may have taken effect: look before you repeat it.",
                failure=failure.value,
            )

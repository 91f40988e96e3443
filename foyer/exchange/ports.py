"""The ports of an exchange: what it says to its two sides, and what they tell it.

`foyer.net` implements `Side` and calls the receivers; the exchange does the reverse. A call
only queues bytes: each touched connection is flushed once at the end of the loop's turn.
"""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from foyer.protocol.events import Failure as Failure
from foyer.protocol.events import Fields, RequestHead, ResponseHead


class BrowserSide(Protocol):
    """The browser's half: an exchange's place on the connection its request came by."""

    receiver: "BrowserReceiver | None"
    """Who is told what happens here: set by whoever takes the request, before it answers anything."""

    write_timeout: float | None
    """Seconds the browser may take nothing of what waits for it, before `browser_stalled`; None for ever."""

    @property
    def neighbourhood(self) -> int:
        """A number that the sides of one connection share: what they are sent in one turn is one write."""

    @property
    def queued(self) -> int:
        """Bytes of content accepted and not yet taken by the transport or the peer's window."""

    def send_informational(self, status: int) -> None:
        """Send a 1xx head (only ever 100) before the final one."""

    def send_head(self, head: ResponseHead) -> None:
        """Queue the final head; `head.ended` says that no content follows."""

    def send(self, data: bytes) -> None:
        """Queue content. Above `HIGH_WATER` queued, wait for `browser_drained`."""

    def send_alone(self, data: bytes) -> None:
        """The same where nothing more of this turn follows: framed at once if nothing waits before it."""

    def finish(self) -> None:
        """End the response cleanly, after what is queued."""

    def abort(self, *, deliver_first: bool = False) -> None:
        """End it so that it can never pass for whole: RST_STREAM INTERNAL_ERROR, or a close short of the end.

        Queued bytes are dropped, or with `deliver_first` sent before the abort.
        """

    def pause(self) -> None:
        """Stop reading the request's content."""

    def resume(self) -> None:
        """Go on reading the request's content."""


class UpstreamSide(Protocol):
    """The upstream's half: an exchange's place on a connection to the API server."""

    @property
    def queued(self) -> int:
        """Bytes of content accepted and not yet taken by the transport or the peer's window."""

    def send_head(self, head: RequestHead) -> None:
        """Queue the request's head; `head.ended` says that no content follows."""

    def send(self, data: bytes) -> None:
        """Queue request content."""

    def finish(self) -> None:
        """End the request's content."""

    def cancel(self) -> None:
        """Give the exchange up: RST_STREAM CANCEL, or close the connection (never pooled again)."""

    def pause(self) -> None:
        """Stop reading the response's content."""

    def resume(self) -> None:
        """Go on reading the response's content."""


class BrowserReceiver(Protocol):
    """What the browser's connection tells the exchange it began."""

    def request_body(self, data: bytes) -> None:
        """Request content arrived."""

    def request_end(self) -> None:
        """The request is whole (not called when its head said `ended`)."""

    def browser_gone(self) -> None:
        """The browser reset the stream or its connection ended. Nothing may be sent any more."""

    def browser_drained(self) -> None:
        """What was queued fell below `LOW_WATER`."""

    def browser_stalled(self) -> None:
        """Bytes have waited, and the browser took none, for the side's `write_timeout`."""

    def browser_sent(self) -> None:
        """The response, to its end or to its abort, has been taken by the transport."""


class UpstreamReceiver(Protocol):
    """What the pool and the upstream's connection tell whoever asked for a side."""

    def upstream_open(self, side: UpstreamSide) -> None:
        """A place on a connection was found: the request's head may be sent."""

    def response_head(self, head: ResponseHead) -> None:
        """The final response head (1xx never pass)."""

    def response_body(self, data: bytes) -> None:
        """Response content arrived, as encoded by the API server."""

    def response_end(self) -> None:
        """The response is whole (not called when its head said `ended`)."""

    def upstream_gone(self, failure: Failure) -> None:
        """The response will never be whole. The side is already given up."""

    def upstream_drained(self) -> None:
        """What was queued fell below `LOW_WATER`."""


class Passed(Protocol):
    """A response head that may go on to the browser, as judged by `foyer.k8s.incoming`."""

    @property
    def head(self) -> ResponseHead:
        """What to send."""

    @property
    def gzip(self) -> bool:
        """The content must be decoded first."""

    @property
    def length(self) -> int | None:
        """Bytes of content the browser will get, where they are known."""


@dataclass(frozen=True, slots=True)
class ResponseBounds:
    """What holds a response that is passed on: decoded bytes of content, and `BrowserSide.write_timeout`.

    `retry_after` is what a read is told, in seconds, that is not let in for the load there is.
    """

    content: int
    write_timeout: float | None
    retry_after: int = 1


class Cancellable(Protocol):
    """Something that waits on other people: a task, or a place in the pool's queue."""

    def cancel(self) -> object:
        """Wait no longer."""


@runtime_checkable
class Expirable(Cancellable, Protocol):
    """A wait that can say what it was for, where there is no time left."""

    def expire(self) -> None:
        """Wait no longer. Whoever waits is told by `upstream_gone` if it was for something of its own."""


class Flow(Protocol):
    """What writes an answer of foyer's own, as the browser takes it: a stream, or a list."""

    @property
    def endless(self) -> bool:
        """Whether it goes on until somebody ends it, so that an end of foyer's need not wait for its own."""

    def drained(self) -> None:
        """The browser takes more again: what was queued fell below `LOW_WATER`."""

    def cancel(self) -> object:
        """The answer is over, and nothing of it may be written any more. Not called after `end_flow`."""


class Application(Protocol):
    """What a listener serves: it begins an exchange for each request head."""

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """Called once a request, in the order they came. May answer at once through `side`."""

    def unreadable(self, reason: str) -> None:
        """A connection was ended for a breach of HTTP, in words that hold nothing of what it sent."""

    def flood(self, kind: str) -> None:
        """A connection was ended for what it asked for too often: the one word there is on it."""


HIGH_WATER = 32 * 1024
"""Queued bytes above which a sender pauses its source.

What a stalled browser can hold of one response (spec 03: 256 KiB): twice 32 KiB in the transport,
this much queued and one step of decoding above it, and what was under way when the source was
paused: 96 KiB, be it a read or an HTTP/2 window.
"""

LOW_WATER = 8 * 1024
"""Queued bytes below which it goes on."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response that foyer gives by itself. `fields` has no content-length: it is added."""

    status: int
    fields: Fields = field(repr=False)  # Set-Cookie, an issuer's tokens: shown in no traceback
    content: bytes = field(default=b"", repr=False)


class FetchFailed(Exception):
    """A fetch got no whole answer within its bounds."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure


class Fetch(Protocol):
    """A whole answer for a coroutine: bounded, timed, verified TLS, no redirect followed, no proxy."""

    async def __call__(
        self, method: bytes, url: str, fields: Fields, content: bytes = b"", *, limit: int, timeout: float
    ) -> Answer:
        """The answer, decoded.

        `limit` bounds its content in bytes (a longer Content-Length is dropped unread),
        `timeout` the whole of it in seconds. Raises `FetchFailed`.
        """

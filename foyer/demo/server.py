"""Handlers over HTTP: the demo's side of an exchange (`foyer.exchange.ports`).

Collects a request's content up to a bound, asks the handler, and sends what it answers: a whole
answer at once, an outflow as fast as the browser takes it. Knows no HTTP version and no clock:
whoever runs it calls `tick` about once a second.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from foyer.demo.handler import Ending, Handler, Outflow, Request, Streaming
from foyer.exchange.ports import HIGH_WATER, Answer, BrowserReceiver, BrowserSide
from foyer.protocol.events import RequestHead, ResponseHead

log = logging.getLogger(__name__)

MAX_CONTENT = 3 * 1024 * 1024
"""Request content in bytes: a kube-apiserver's own limit."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Content past `bytes` is answered `answer`, unread."""

    bytes: int
    answer: Answer


class Server:
    """An `Application` for one handler.

    `clock` gives seconds since the epoch. Without a `limit` of its own, content past 3 MiB is a
    plain 413.
    """

    def __init__(self, handler: Handler, clock: Callable[[], float], limit: Limit | None = None) -> None:
        self._handler = handler
        self._clock = clock
        self._limit = limit or Limit(MAX_CONTENT, plain(413, "Content Too Large"))
        self._flowing: set[_Exchange] = set()

    @property
    def open_flows(self) -> int:
        """How many answers are flowing."""
        return len(self._flowing)

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """One exchange for each request head."""
        side.receiver = exchange = _Exchange(self, side, head)
        exchange.start()
        return exchange

    def flood(self, kind: str) -> None:
        """Nobody but foyer connects here."""
        log.warning("a flood: %s", kind)

    def unreadable(self, reason: str) -> None:
        """Nor does foyer break HTTP."""
        log.warning("not HTTP: %s", reason)

    def tick(self) -> None:
        """Let time pass for every flowing answer."""
        now = self._clock()
        for exchange in list(self._flowing):
            exchange.tick(now)

    def respond(self, request: Request) -> tuple[Answer | Streaming, float]:
        """The handler's answer and the time of it."""
        now = self._clock()
        try:
            return self._handler(request, now), now
        except Exception as fault:
            # The outermost: a fault of ours ends its own exchange and nothing else.
            log.exception("a handler failed: %s", type(fault).__name__)
            return plain(500, "Internal Server Error"), now

    @property
    def limit(self) -> Limit:
        """How much content is read."""
        return self._limit

    def flows(self, exchange: "_Exchange") -> None:
        """An answer began to flow."""
        self._flowing.add(exchange)

    def flowed(self, exchange: "_Exchange") -> None:
        """It ended, however it did."""
        self._flowing.discard(exchange)


class _Exchange:
    """One request: its content until it is whole, then its answer."""

    def __init__(self, server: Server, side: BrowserSide, head: RequestHead) -> None:
        self._server = server
        self._side = side
        self._head = head
        self._content = bytearray()
        self._answered = False
        self._outflow: Outflow | None = None

    def start(self) -> None:
        if self._head.ended:
            self._answer()
        elif self._declared() > self._server.limit.bytes:
            self._send(self._server.limit.answer)
        elif self._head.all(b"expect") == [b"100-continue"]:
            self._side.send_informational(100)

    def request_body(self, data: bytes) -> None:
        if self._answered:
            return
        self._content += data
        if len(self._content) > self._server.limit.bytes:
            self._content.clear()
            self._send(self._server.limit.answer)

    def request_end(self) -> None:
        if not self._answered:
            self._answer()

    def browser_gone(self) -> None:
        self._answered = True
        self._close()

    def browser_drained(self) -> None:
        self._pump()

    def browser_stalled(self) -> None:
        self._close()
        self._side.abort()

    def browser_sent(self) -> None:
        """Nothing waits for it."""

    def tick(self, now: float) -> None:
        if self._outflow is not None:
            self._outflow.tick(now)

    def _declared(self) -> int:
        lengths = self._head.all(b"content-length")
        # The codec has checked the field; an absent one declares nothing.
        return int(lengths[0]) if lengths else 0

    def _answer(self) -> None:
        path, _, query = self._head.target.decode("latin-1").partition("?")
        request = Request(
            self._head.method.decode("latin-1"), path, query, self._head.fields, bytes(self._content)
        )
        self._content.clear()
        answer, now = self._server.respond(request)
        if isinstance(answer, Streaming):
            self._flow(answer, now)
        else:
            self._send(answer)

    def _send(self, answer: Answer) -> None:
        self._answered = True
        length = (b"content-length", str(len(answer.content)).encode())
        # RFC 9110 section 8.6: no length on a 204 or 304.
        fields = answer.fields if answer.status in (204, 304) else [*answer.fields, length]
        content = b"" if self._head.method == b"HEAD" else answer.content
        self._side.send_head(ResponseHead(answer.status, fields, ended=not content))
        if content:
            self._side.send(content)
            self._side.finish()

    def _flow(self, streaming: Streaming, now: float) -> None:
        self._answered = True
        bodiless = self._head.method == b"HEAD"
        self._side.send_head(ResponseHead(streaming.status, streaming.fields, ended=bodiless))
        if bodiless:
            return
        self._outflow = streaming.outflow
        self._server.flows(self)
        streaming.outflow.open(self._pump, now)
        self._pump()

    def _pump(self) -> None:
        """Send until the browser is full, the outflow is empty, or it has ended."""
        outflow = self._outflow
        if outflow is None:
            return
        while outflow.ending is not Ending.ABORTED and self._side.queued <= HIGH_WATER:
            piece = outflow.take()
            if piece is None:
                break
            self._side.send(piece)
        if outflow.ending is None:
            return
        self._close()
        if outflow.ending is Ending.COMPLETE:
            self._side.finish()
        else:
            self._side.abort()

    def _close(self) -> None:
        if self._outflow is not None:
            self._server.flowed(self)
            self._outflow.close()
            self._outflow = None


def plain(status: int, text: str) -> Answer:
    """A few words as plain text."""
    fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"x-content-type-options", b"nosniff")]
    return Answer(status, fields, f"{text}\n".encode())

"""How many requests a replica serves at once, and how one more is turned away (spec 06, Overload).

A foyer that is full has no time to lose on what it does not serve: nothing of such a request is looked at, it
becomes no exchange, and its answer was made before it came. Nor does it count as served: who is turned away,
and does not even read it, takes no place from whoever comes later.
"""

from __future__ import annotations

from foyer.exchange.ports import BrowserSide
from foyer.interruption import overloaded
from foyer.measures import Measures
from foyer.observe import Log
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead, ResponseHead
from foyer.protocol.h1 import whole_response


class ServerLimit:
    """The limit of one replica."""

    def __init__(self, limit: int, retry_after: int, pages: Pages, log: Log, measures: Measures) -> None:
        """At most `limit` requests at once; who is turned away hears of `retry_after` in seconds."""
        self.limit = limit
        self._interruption = overloaded(limit, retry_after)
        answer = pages.status(self._interruption)
        fields = [(b"content-length", b"%d" % len(answer.content)), *answer.fields]
        self._head = ResponseHead(answer.status, fields)
        self._whole = ResponseHead(answer.status, fields, ended=True)
        self._content = answer.content
        self._http1 = whole_response(answer.status, answer.fields, answer.content)
        self._log = log
        self._measures = measures

    def turn_away(self, side: BrowserSide, head: RequestHead) -> TurnedAway:
        """Answers one request too many, with a `Status`: to find out who wants a page is to look at it."""
        receiver = side.receiver = TurnedAway(side)
        self._record()
        if head.method == b"HEAD":
            side.send_head(self._whole)
        else:
            side.send_head(self._head)
            side.send(self._content)
            side.finish()
        return receiver

    def unread(self) -> bytes:
        """The same as bytes, for HTTP/1.1: most of what such a request costs there is its reading."""
        self._record()
        return self._http1

    def _record(self) -> None:
        self._measures.overload_refusals["concurrency"] += 1
        self._measures.interruptions[self._interruption.reason] += 1
        self._log.limit_reached(self._interruption.reason.word, "concurrency")


class TurnedAway:
    """What a connection tells of such a request: its answer is on its way, and nothing can change it."""

    __slots__ = ("_browser",)

    def __init__(self, browser: BrowserSide) -> None:
        self._browser = browser

    def request_body(self, data: bytes) -> None:
        """Content, of a request that nobody looks at."""

    def request_end(self) -> None:
        """All of it."""

    def browser_gone(self) -> None:
        """The browser left."""

    def browser_drained(self) -> None:
        """There is no more to send."""

    def browser_stalled(self) -> None:
        """The browser takes nothing of the answer."""
        self._browser.abort()

    def browser_sent(self) -> None:
        """The answer, or its abort, has been taken."""

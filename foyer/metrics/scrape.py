"""The metrics listener's application: `/metrics`, and nothing else (spec 01, Routes; spec 04, Metrics).

It stands on foyer's own HTTP, with its limits on heads, clocks and floods, and beside everything that
foyer does for browsers: what comes in here is not counted, not logged, and held to none of the bounds.

A scrape in Prometheus' format takes 1.3 ms of the loop, in which nothing else moves, and 2.1 with 2,000
connections, for the client counts open files by listing them. Whoever reaches the port could ask for one
after another, over HTTP/2 a hundred in one packet. So the text is made after the turn's events, once for all
who wait for it, and then not again for nine times as long as that took.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer, BrowserSide, Cancellable, Passed
from foyer.interruption import Interruption
from foyer.metrics.exposition import Exposition, Format, negotiate
from foyer.observe import Log
from foyer.protocol.events import Fields, RequestHead, ResponseHead
from foyer.protocol.path import split

PATH = b"/metrics"

SHARE = 0.1
"""Of the loop's time, what scrapes may take. Prometheus with one each 15 s takes a ten-thousandth."""

_FIELDS: Fields = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
_PLAIN: Fields = [(b"content-type", b"text/plain; charset=utf-8"), *_FIELDS]
_NOT_FOUND = Answer(404, _PLAIN, b"There is only /metrics here.\n")
_NOT_ALLOWED = Answer(405, [*_PLAIN, (b"allow", b"GET, HEAD")], b"/metrics answers GET and HEAD only.\n")


class Scrapes:
    """`foyer.exchange.ports.Application` for that listener, and every exchange's `Services`."""

    def __init__(
        self,
        exposition: Exposition,
        log: Log,
        later: Callable[[float, Callable[[], None]], Cancellable],
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """`later` is the loop's `call_later`; `clock` counts seconds of work, not of waiting for a core."""
        self._exposition = exposition
        self._log = log
        self._later = later
        self._clock = clock
        self._waiting: list[tuple[Exchange, Format]] = []
        self._timer: Cancellable | None = None

    def begin(self, side: BrowserSide, head: RequestHead) -> Exchange:
        """A request came."""
        exchange = Exchange(self, side, head)
        try:
            self._route(exchange, head)
        except Exception as error:  # the outermost: the exchange is cut, and its connection goes on
            exchange.failed(error)
        return exchange

    def _route(self, exchange: Exchange, head: RequestHead) -> None:
        if split(head.target)[0] != PATH:
            exchange.answer(_NOT_FOUND)
        elif head.method not in (b"GET", b"HEAD"):
            exchange.answer(_NOT_ALLOWED)
        else:
            accept = b",".join(head.all(b"accept")).decode("ascii", "replace")
            self._waiting.append((exchange, negotiate(accept)))
            if self._timer is None:
                self._timer = self._later(0.0, self._answer)

    def _answer(self) -> None:
        """Gives everybody who waits what there is now, and rests; having rested, looks who waits."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            self._timer = None
            return
        began = self._clock()
        answers: dict[str, Answer] = {}
        for exchange, form in waiting:
            try:
                if form.content_type not in answers:
                    answers[form.content_type] = self._written(form)
                exchange.answer(answers[form.content_type])
            except Exception as error:  # the outermost, as above
                exchange.failed(error)
        self._timer = self._later((self._clock() - began) * (1 / SHARE - 1), self._answer)

    def _written(self, form: Format) -> Answer:
        # Not compressed: 16 KB between machines of one network, and gzip would double the work.
        content = self._exposition.render(form)
        return Answer(200, [(b"content-type", form.content_type.encode("ascii")), *_FIELDS], content)

    def unreadable(self, reason: str) -> None:
        """A scraper's connection was ended for a breach of HTTP."""
        self._log.unreadable(reason)

    def flood(self, kind: str) -> None:
        """A scraper's connection was ended for a flood of that kind."""
        self._log.flood(kind, "scraper")

    # Services of an exchange.

    def interrupted(self, interruption: Interruption, head: RequestHead) -> Answer:
        """Nothing here stands in an API server's place."""
        raise AssertionError(interruption)

    def incoming(self, head: ResponseHead, method: bytes) -> Passed | Interruption:
        """Nothing here goes up."""
        raise AssertionError(head)

    def closed(self, exchange: Exchange) -> None:
        """Scrapes leave no record."""

    def fault(self, exchange: Exchange, error: Exception) -> None:
        """foyer's own code failed."""
        self._log.fault(error)

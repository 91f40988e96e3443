"""Where every exchange comes in and goes out: begun, given to its route, and recorded at its end.

What answers which route is for whoever derives from it: `foyer.front.front`, and where nobody can sign in
`foyer.front.bare`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from foyer.bound import Bound
from foyer.config.parts import OverloadConfig
from foyer.exchange.endings import CutShort
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer, BrowserReceiver, BrowserSide, Passed
from foyer.front.routes import probes
from foyer.front.turned_away import ServerLimit
from foyer.interruption import Interruption
from foyer.k8s.incoming import incoming
from foyer.measures import Measures
from foyer.observe import Asked, Log
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead, ResponseHead


class Door(ABC):
    """`foyer.exchange.ports.Application` for a listener, and every exchange's `Services`."""

    def __init__(self, pages: Pages, log: Log, measures: Measures, overload: OverloadConfig) -> None:
        self._limit = ServerLimit(overload.max_server_requests, overload.retry_after, pages, log, measures)
        self._pages = pages
        self._log = log
        self._measures = measures
        self._open: set[Exchange] = set()

    @abstractmethod
    def _route(self, exchange: Exchange, head: RequestHead) -> None:
        """Sets what `exchange` asked for, and answers it, forwards it, or has it answered."""

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """A request came. With as many open as may be, probes alone are answered."""
        if self._full and not probes(head.target):
            return self._limit.turn_away(side, head)
        exchange = Exchange(self, side, head)
        self._open.add(exchange)
        try:
            self._route(exchange, head)
        except Exception as error:  # the outermost: the exchange is cut, and its connection goes on
            exchange.failed(error)
        return exchange

    @property
    def _full(self) -> bool:
        return len(self._open) >= self._limit.limit

    def turned_away(self, target: bytes) -> bytes:
        """The same of an HTTP/1.1 request that is not read yet: the whole answer, or nothing."""
        return self._limit.unread() if self._full and not probes(target) else b""

    @property
    def open_exchanges(self) -> list[Exchange]:
        """Those that are not over."""
        return list(self._open)

    def flood(self, kind: str) -> None:
        """A browser's connection was ended for a flood of that kind."""
        self._log.flood(kind, "browser")

    def unreadable(self, reason: str) -> None:
        """A browser's connection was ended for what no reading of HTTP allows."""
        self._log.unreadable(reason)

    # Services of an exchange.

    def interrupted(self, interruption: Interruption, head: RequestHead) -> Answer:
        """An interruption in the form that suits the request."""
        return self._pages.interruption(interruption, head)

    def incoming(self, head: ResponseHead, method: bytes) -> Passed | Interruption:
        """The rules for what comes back."""
        return incoming(head, method)

    def closed(self, exchange: Exchange) -> None:
        """The one record of how an exchange ended."""
        self._open.discard(exchange)
        asked = exchange.asked
        assert isinstance(asked, Asked)
        interruption = exchange.interruption
        if interruption is not None:  # whatever became of it: who probes and does not listen is on record
            self._measures.interruptions[interruption.reason] += 1
            self._reached(interruption.bound)
            self._log.interrupted(interruption, asked)
        match exchange.ending:
            case CutShort(cause, failure):
                self._measures.cut_short[cause] += 1
                self._reached(cause.bound)
                self._log.response_cut_short(cause.label, asked, failure.value if failure else None)
            case _ if exchange.status:
                self._log.answered(exchange.status, asked)

    def _reached(self, bound: Bound | None) -> None:
        if bound is not None:
            self._measures.reached[bound] += 1

    def fault(self, exchange: Exchange, error: Exception) -> None:
        """foyer's own code failed."""
        self._log.fault(error)

"""`/stream/v1`: a stream from its request to its feed (spec 05).

The gate has let it through. If read admission does not, that is an answer as any other; from then on whatever
goes wrong is an event of the stream, for a browser's `EventSource` can read nothing else.
"""

from __future__ import annotations

from foyer.exchange.exchange import Exchange
from foyer.front.targets import Targets, hold
from foyer.gate.gate import Gate
from foyer.observe import Asked, Log
from foyer.session.seal import IdToken
from foyer.streams import scope
from foyer.streams.cache import REFUSED
from foyer.streams.errors import Code, StreamError
from foyer.streams.scope import Opening
from foyer.streams.source import Source
from foyer.streams.stream import Common, Stream, refused
from foyer.streams.view import StreamView

REFUSALS = frozenset((Code.FORBIDDEN, Code.UNAUTHENTICATED, Code.SCOPE_INVALID))
"""Ends of a stream that are somebody's decision, and a line in the log."""

COMPLAINT_INTERVAL = 60.0
"""Seconds from one line about foyer's own identity at a target to the next: its refusal ends every shared
stream there."""


class Streaming:
    """The route's answers."""

    def __init__(
        self,
        *,
        gate: Gate,
        targets: Targets,
        log: Log,
        lenient: frozenset[str],
    ) -> None:
        """`lenient` names, as kubectl does, the resources whose versions may be without an order. It may be
        changed at any time, and holds for streams that open after that.
        """
        self.lenient = lenient
        self._targets = targets
        self._log = log
        self._complain_at: dict[str | None, float] = {}  # by target, as it is shown
        self._common = Common(gate.wheel, gate.now, gate.limits.stream_write_timeout, self._ended)

    def serve(self, exchange: Exchange, query: bytes, token: IdToken) -> None:
        """Opens the stream that `query` asks for; `token` is whose objects it shows."""
        opening = scope.read(query, self._targets.names)
        if isinstance(opening, StreamError):
            self._refused("foyer", exchange, opening, scope.readable(query))
            exchange.browser.write_timeout = self._common.write_timeout
            exchange.answer(refused(opening))
            return
        target = self._targets.by_name[opening.scope.target]
        hold(target, exchange)
        stream = Stream(self._common, exchange, opening)
        if target.shared.shares(opening.scope):
            subscriber = target.shared.subscriber(opening, stream)
            stream.wait_for(subscriber)
            subscriber.open(token)
            return
        view = StreamView(opening, stream)
        lenient = opening.scope.kubectl_name in self.lenient
        source = Source(target.server, opening.scope, view, stream, token, lenient=lenient)
        stream.wait_for(source)
        source.start()

    def _ended(self, exchange: Exchange, opening: Opening, why: StreamError) -> None:
        if why.code in REFUSALS:
            self._refused("kubernetes", exchange, why, opening.scope.query())
        elif why is REFUSED:
            self._complain(exchange)

    def _complain(self, exchange: Exchange) -> None:
        asked = exchange.asked
        assert isinstance(asked, Asked)
        now = self._common.now()
        if now >= self._complain_at.get(asked.target, 0.0):
            self._complain_at[asked.target] = now + COMPLAINT_INTERVAL
            self._log.shared_identity_refused(asked.target)

    def _refused(self, by: str, exchange: Exchange, why: StreamError, shown: str) -> None:
        asked = exchange.asked
        assert isinstance(asked, Asked)
        self._log.stream_refused(by, asked, why.code.value, shown)

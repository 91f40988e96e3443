"""The routes that foyer answers by itself: signing in and out, probes, pages and assets (spec 01, Routes).

None of them asks the API server anything, and none but the callback waits for anybody.
"""

from __future__ import annotations

from collections.abc import Callable

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer
from foyer.front import work
from foyer.front.fixed import Fixed
from foyer.front.redemptions import Redemptions
from foyer.front.routes import Matched, Route
from foyer.gate.gate import Gate
from foyer.login.flow import Login, SignedIn
from foyer.login.refusal import RefusedLogin
from foyer.measures import Measures
from foyer.observe import Log
from foyer.pages.render import Pages
from foyer.protocol.events import Fields, RequestHead
from foyer.session.seal import Session


class Local:
    """Those routes' answers."""

    def __init__(
        self,
        *,
        gate: Gate,
        login: Login,
        redemptions: Redemptions,
        measures: Measures,
        pages: Pages,
        log: Log,
        clock: Callable[[], float],
        ready: Callable[[], bool],
    ) -> None:
        """`clock` is wall-clock time in seconds."""
        self._gate = gate
        self._login = login
        self._redemptions = redemptions
        self._measures = measures
        self._pages = pages
        self._log = log
        self._clock = clock
        self._fixed = Fixed(pages, ready)

    def serve(self, exchange: Exchange, head: RequestHead, matched: Matched) -> None:
        """A route that anybody may ask."""
        match matched.route:
            case Route.LOGIN:
                self._start_login(exchange, head)
            case Route.CALLBACK:
                work.start(exchange, self._callback(exchange, head))
            case Route.SESSION:
                exchange.answer(self._login.session_answer(self._gate.session(head)))
            case _:
                exchange.answer(self._fixed.answer(matched))

    def logout(self, exchange: Exchange, session: Session) -> None:
        """The session's end in this browser, its proofs having been checked."""
        # What it ends is cut before the logout's own answer is sent (spec 04, Session check).
        self._gate.registry.end(session.session_id)
        exchange.answer(self._login.logout())

    def _start_login(self, exchange: Exchange, head: RequestHead) -> None:
        started = self._login.start(head, self._clock())
        if isinstance(started, RefusedLogin):
            self._refuse_login(exchange, started, head, [])
        else:
            exchange.answer(started)

    async def _callback(self, exchange: Exchange, head: RequestHead) -> None:
        outcome = await self._redemptions.callback(head)
        result = outcome.result
        if not isinstance(result, SignedIn):
            self._refuse_login(exchange, result, head, outcome.clear)
            return
        if result.previous is not None:
            # A new login ends what the browser's old session has open, before its own answer is sent.
            self._gate.registry.end(result.previous)
        exchange.answer(result.answer)

    def _refuse_login(
        self, exchange: Exchange, refused: RefusedLogin, head: RequestHead, clear: Fields
    ) -> None:
        self._log.login_refused(refused)
        if refused.bound is not None:
            self._measures.reached[refused.bound] += 1
        answer = self._pages.refused_login(refused, head)
        exchange.answer(Answer(answer.status, [*answer.fields, *clear], answer.content))

"""The application behind a listener: each request to its route, each ending to its record.

Spec 04's order of checks reads here from top to bottom: what the request line decides, the session
and the proofs of a change, then the way up. It composes the rooms' answers and decides nothing that
one of them could.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Protocol

from foyer.exchange.endings import CutShort, Interrupted
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer, BrowserSide, Cancellable, Passed, UpstreamReceiver
from foyer.gate.admission import NO_SESSION, Gate, Named
from foyer.interruption import Interruption
from foyer.k8s.incoming import incoming
from foyer.k8s.outgoing import request_head
from foyer.login.flow import Login, SignedIn
from foyer.login.refusal import RefusedLogin
from foyer.observe import Asked, Log
from foyer.pages.render import Pages
from foyer.protocol.events import Fields, RequestHead, ResponseHead
from foyer.routes import Matched, Route, find
from foyer.session.seal import Session

_PLAIN: Fields = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


class Upward(Protocol):
    """The way to the API server: `foyer.net.upstream.Upstream`."""

    def open(self, receiver: UpstreamReceiver) -> Cancellable:
        """Finds a place on a connection for `receiver`."""


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The API server that requests go to, and the authority they name."""

    upstream: Upward
    authority: bytes


class Front:
    """Serves foyer's routes: `foyer.exchange.ports.Application`, and every exchange's `Services`."""

    def __init__(
        self,
        *,
        gate: Gate,
        login: Login,
        pages: Pages,
        log: Log,
        kubernetes: Kubernetes,
        clock: Callable[[], float],
        ready: Callable[[], bool],
    ) -> None:
        """`clock` is wall-clock time in seconds."""
        self._gate = gate
        self._login = login
        self._pages = pages
        self._log = log
        self._kubernetes = kubernetes
        self._clock = clock
        self._ready = ready
        self._open: set[Exchange] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # The listener's side.

    def begin(self, side: BrowserSide, head: RequestHead) -> Exchange:
        """A request came."""
        exchange = Exchange(self, side, head)
        self._open.add(exchange)
        try:
            self._route(exchange, head)
        except Exception as error:  # the outermost: the exchange is cut, and its connection goes on
            exchange.failed(error)
        return exchange

    @property
    def open_exchanges(self) -> list[Exchange]:
        """Those that are not over."""
        return list(self._open)

    # The order of checks.

    def _route(self, exchange: Exchange, head: RequestHead) -> None:
        matched = find(head)
        if isinstance(matched, Interruption):
            exchange.asked = Asked("", head.method, head.target)
            exchange.refuse(matched)
            return
        if matched.route is Route.K8S:
            self._forward(exchange, head, matched)
            return
        exchange.asked = Asked(matched.route.value, head.method, matched.path)
        match matched.route:
            case Route.LOGIN:
                self._start_login(exchange, head)
            case Route.CALLBACK:
                self._work(exchange, self._callback(exchange, head))
            case Route.SESSION:
                exchange.answer(self._login.session_answer(self._gate.session(head, self._clock())))
            case Route.LOGOUT:
                self._logout(exchange, head, matched)
            case _:
                exchange.answer(self._plain_answer(matched))

    def _acting(self, exchange: Exchange, head: RequestHead, matched: Matched) -> Session | None:
        """Whose request this is; None when it has been refused."""
        session = self._gate.session(head, self._clock())
        if session is None:
            exchange.asked = Asked(matched.route.value, head.method, matched.path)
            exchange.refuse(NO_SESSION)
            return None
        # Not the session itself: its token would stay in memory as long as a watch does.
        person = Named(session.email, session.subject)
        exchange.asked = Asked(matched.route.value, head.method, matched.path, person)
        refusal = self._gate.proofs(head, session)
        if refusal is not None:
            exchange.refuse(refusal)
            return None
        return session

    def _forward(self, exchange: Exchange, head: RequestHead, matched: Matched) -> None:
        session = self._acting(exchange, head, matched)
        if session is None:
            return
        exchange.admission = self._gate.admit(session, exchange)
        up = request_head(head, matched.upstream_target, session.id_token, self._kubernetes.authority)
        exchange.forward(up, self._kubernetes.upstream.open)

    # foyer's own routes.

    def _plain_answer(self, matched: Matched) -> Answer:
        match matched.route:
            case Route.START:
                return self._pages.start()
            case Route.LOGGED_OUT:
                return self._pages.logged_out()
            case Route.HEALTHZ:
                return Answer(200, _PLAIN, b"ok\n")
            case Route.READYZ:
                if self._ready():
                    return Answer(200, _PLAIN, b"ready\n")
                return Answer(
                    503, _PLAIN, b"not ready: the issuer has not been discovered, or foyer is stopping\n"
                )
            case Route.ASSET:
                asset = self._pages.asset(matched.path)
                assert asset is not None, "the route table lists the assets there are"
                return asset
            case _:
                raise AssertionError(matched.route)

    def _start_login(self, exchange: Exchange, head: RequestHead) -> None:
        started = self._login.start(head, self._clock())
        if isinstance(started, RefusedLogin):
            self._refuse_login(exchange, started, head, [])
        else:
            exchange.answer(started)

    async def _callback(self, exchange: Exchange, head: RequestHead) -> None:
        outcome = await self._login.callback(head, self._clock)
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
        answer = self._pages.refused_login(refused, head)
        exchange.answer(Answer(answer.status, [*answer.fields, *clear], answer.content))

    def _logout(self, exchange: Exchange, head: RequestHead, matched: Matched) -> None:
        session = self._acting(exchange, head, matched)
        if session is None:
            return
        # What it ends is cut before the logout's own answer is sent (spec 04, Session check).
        self._gate.registry.end(session.session_id)
        exchange.answer(self._login.logout())

    def _work(self, exchange: Exchange, coroutine: Coroutine[object, object, None]) -> None:
        """Runs what has to wait on other people; the exchange owns it."""

        async def contained() -> None:
            try:
                await coroutine
            except Exception as error:  # the outermost, as in `begin`
                exchange.failed(error)

        task = asyncio.get_running_loop().create_task(contained())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        exchange.wait_for(task)

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
        match exchange.ending:
            case Interrupted(interruption):
                self._log.interrupted(interruption, asked)
            case CutShort(cause, failure):
                self._log.response_cut_short(cause.label, asked, failure.value if failure else None)
            case _ if exchange.status:
                self._log.answered(exchange.status, asked)

    def fault(self, exchange: Exchange, error: Exception) -> None:
        """foyer's own code failed."""
        self._log.fault(error)

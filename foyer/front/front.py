"""The application behind a listener: each request to its route.

Spec 04's order of checks reads here from top to bottom: what the request line decides, the session
and the proofs of a change, then the way up, or to those who answer here. It composes the rooms'
answers and decides nothing that one of them could.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Cancellable, UpstreamReceiver
from foyer.front.door import Door
from foyer.front.identified import Identified
from foyer.front.local import Local
from foyer.front.routes import Matched, Route, find, named
from foyer.gate.admission import NO_SESSION, Gate, Named
from foyer.interruption import Interruption
from foyer.k8s.outgoing import request_head
from foyer.observe import Asked, Log
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead
from foyer.session.seal import Session


class Upward(Protocol):
    """The way to the API server: `foyer.net.upstream.Upstream`."""

    def open(self, receiver: UpstreamReceiver) -> Cancellable:
        """Finds a place on a connection for `receiver`."""


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The API server that requests go to, and the authority they name."""

    upstream: Upward
    authority: bytes


class Front(Door):
    """foyer's routes."""

    def __init__(
        self,
        *,
        gate: Gate,
        local: Local,
        identified: Identified,
        pages: Pages,
        log: Log,
        kubernetes: Kubernetes,
        clock: Callable[[], float],
    ) -> None:
        """`clock` is wall-clock time in seconds."""
        super().__init__(pages, log)
        self._gate = gate
        self._local = local
        self._identified = identified
        self._kubernetes = kubernetes
        self._clock = clock

    def _route(self, exchange: Exchange, head: RequestHead) -> None:
        matched = find(head)
        if isinstance(matched, Interruption):
            exchange.asked = Asked(named(head), head.method, head.target)
            exchange.refuse(matched)
            return
        match matched.route:
            case Route.K8S | Route.LOGOUT | Route.WHOAMI | Route.ACCESS:
                session = self._acting(exchange, head, matched)
                if session is not None:
                    self._act(exchange, head, matched, session)
            case route:
                exchange.asked = Asked(route.value, head.method, matched.path)
                if route is Route.CHECK:
                    self._identified.check(exchange, head, matched)
                else:
                    self._local.serve(exchange, head, matched)

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

    def _act(self, exchange: Exchange, head: RequestHead, matched: Matched, session: Session) -> None:
        """What somebody may ask for. All but the logout hold a place at the gate while they are open."""
        if matched.route is Route.LOGOUT:
            self._local.logout(exchange, session)
            return
        exchange.admission = self._gate.admit(session, exchange)
        match matched.route:
            case Route.K8S:
                authority = self._kubernetes.authority
                up = request_head(head, matched.upstream_target, session.id_token, authority)
                exchange.forward(up, self._kubernetes.upstream.open)
            case Route.WHOAMI:
                self._identified.whoami(exchange, session)
            case Route.ACCESS:
                self._identified.access(exchange, head, session)
            case _:
                raise AssertionError(matched.route)

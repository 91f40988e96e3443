"""The application behind a listener: each request to its route.

Spec 04's order of checks reads here from top to bottom: what the request line decides, the session
and the proofs of a change, then the way up, or to those who answer here. It composes the rooms'
answers and decides nothing that one of them could.
"""

from __future__ import annotations

from foyer.config.parts import OverloadConfig
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import ResponseBounds
from foyer.front.dependencies import Dependencies
from foyer.front.door import Door
from foyer.front.fleeting import Fleeting
from foyer.front.identified import Identified
from foyer.front.local import Local
from foyer.front.routes import Matched, Route, find, named
from foyer.front.streaming import Streaming
from foyer.front.targets import Targets, hold_all, target_of
from foyer.gate.admission import Admission
from foyer.gate.gate import NO_SESSION, Gate, Kind
from foyer.interruption import Interruption
from foyer.k8s.outgoing import request_head
from foyer.measures import Measures
from foyer.observe import Asked, Log, Named
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead
from foyer.session.seal import Session

_OF_A_SESSION = frozenset(
    (
        Route.K8S,
        Route.TARGETS,
        Route.FLEET,
        Route.STREAM,
        Route.LOGOUT,
        Route.WHOAMI,
        Route.ACCESS,
        Route.DEPENDENCIES,
    )
)
"""What is for somebody who has signed in, and asks for no more than that and the proofs of a change."""


class Front(Door):
    """foyer's routes."""

    def __init__(
        self,
        *,
        gate: Gate,
        local: Local,
        identified: Identified,
        streaming: Streaming,
        fleeting: Fleeting,
        pages: Pages,
        log: Log,
        measures: Measures,
        overload: OverloadConfig,
        targets: Targets,
        dependencies: Dependencies,
    ) -> None:
        super().__init__(pages, log, measures, overload)
        self._gate = gate
        self._local = local
        self._identified = identified
        self._streaming = streaming
        self._fleeting = fleeting
        self._targets = targets
        self._dependencies = dependencies
        limits = gate.limits
        self._bounds = ResponseBounds(
            limits.max_response_bytes, limits.response_write_timeout, overload.retry_after
        )

    def _route(self, exchange: Exchange, head: RequestHead) -> None:
        matched = find(head)
        if isinstance(matched, Interruption):
            exchange.asked = Asked(named(head), head.method, head.target)
            exchange.refuse(matched)
            return
        match matched.route:
            case route if route in _OF_A_SESSION:
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
        session = self._gate.session(head)
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
        kind = Kind.STREAM if matched.route is Route.STREAM else Kind.REQUEST
        if not self._admitted(exchange, session, kind):
            return
        match matched.route:
            case Route.STREAM:
                self._streaming.serve(exchange, matched.query, session.id_token)
            case Route.K8S | Route.TARGETS:
                self._forward(exchange, head, matched, session)
            case Route.FLEET:
                hold_all(self._targets, exchange)
                self._fleeting.serve(exchange, head, matched, session.id_token)
            case Route.WHOAMI:
                self._identified.whoami(exchange, matched, session)
            case Route.ACCESS:
                self._identified.access(exchange, head, session)
            case Route.DEPENDENCIES:
                exchange.answer(self._dependencies.answer())
            case _:
                raise AssertionError(matched.route)

    def _forward(self, exchange: Exchange, head: RequestHead, matched: Matched, session: Session) -> None:
        """To the API server that the path names, or else the first."""
        target = target_of(self._targets, matched.named_target, exchange)
        if target is not None:
            up = request_head(head, matched.upstream_target, session.id_token, target.authority)
            exchange.forward(up, target.way(head), self._bounds)

    def _admitted(self, exchange: Exchange, session: Session, kind: Kind) -> bool:
        """Whether the gate let it through; it has been refused if not."""
        admission = self._gate.admit(session, exchange, kind)
        if isinstance(admission, Interruption):
            exchange.refuse(admission)
            return False
        exchange.admission = admission
        return True

    def closed(self, exchange: Exchange) -> None:
        """The record of an ending, and how much of its bounds a response used that was let through."""
        super().closed(exchange)
        admission = exchange.admission
        if isinstance(admission, Admission) and exchange.interruption is None:
            self._gate.observe_end(admission, exchange.content)

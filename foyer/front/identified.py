"""The routes that say who somebody is to the API server, and what they may do there (spec 01, 02).

    /auth/whoami      a fresh SelfSubjectReview
    /auth/check       for an ingress; with `identity=true` a SelfSubjectReview of the last half minute
    /_foyer/access    SelfSubjectRulesReview and SelfSubjectAccessReview, as a page

Each asks with the session's own token, so the answers are the API server's; foyer decides nothing. Where
there are several, whoami and the page take its name as `target`, and the check means the first.
While one waits it is an open exchange of its session, and a logout ends it.
"""

from __future__ import annotations

import asyncio

from foyer.exchange.endings import Interrupted
from foyer.exchange.exchange import Exchange
from foyer.front import work
from foyer.front.routes import Matched
from foyer.front.targets import Targets, target_of
from foyer.gate.gate import NO_SESSION, Gate
from foyer.identity import access, answers, check
from foyer.identity.access import Form
from foyer.identity.check import Check
from foyer.identity.recent import Recent
from foyer.interruption import Interruption, Reason, target_full
from foyer.k8s import reviews
from foyer.k8s.call import ApiServer
from foyer.k8s.reviews import Decision, Refused, Rules, Unusable
from foyer.login import query as parameters
from foyer.login.answers import redirect
from foyer.observe import Asked, Named
from foyer.pages.render import Pages
from foyer.protocol.events import Failure, RequestHead
from foyer.session.seal import Session


class Identified:
    """Those routes' answers."""

    def __init__(
        self,
        *,
        gate: Gate,
        pages: Pages,
        targets: Targets,
        origin: str,
    ) -> None:
        """`origin` is the public URL."""
        self._gate = gate
        self._pages = pages
        self._targets = targets
        self._origin = origin

    # /auth/whoami

    def whoami(self, exchange: Exchange, matched: Matched, session: Session) -> None:
        """Who the session is of, asked now. Its request has passed the gate."""
        name = _target(matched.query)
        if isinstance(name, Interruption):
            exchange.refuse(name)
            return
        target = target_of(self._targets, name, exchange)
        if target is not None:
            work.start(exchange, self._whoami(exchange, target.people, session))

    async def _whoami(self, exchange: Exchange, people: ApiServer, session: Session) -> None:
        who = await reviews.who(people, session.id_token)
        match who:
            case Refused():
                _pass(exchange, who)
            case Unusable(failure):
                exchange.refuse(answers.unavailable(failure))
            case _:
                exchange.answer(answers.whoami(who, session, self._gate.absolute_timeout))

    # /auth/check

    def check(self, exchange: Exchange, head: RequestHead, matched: Matched) -> None:
        """Whether what an ingress is about to forward may go on, and whose it is."""
        asked = check.read(head, matched.query)
        if isinstance(asked, Interruption):
            exchange.refuse(asked)
            return
        session = self._gate.session(head)
        if session is None:
            self._signed_out(exchange, asked)
            return
        person = Named(session.email, session.subject)
        exchange.asked = Asked(matched.route.value, head.method, matched.path, person)
        refusal = self._gate.proofs(asked.forwarded, session)
        if refusal is not None:
            self._refuse(exchange, asked, refusal)
        elif asked.identity:
            admission = self._gate.admit(session, exchange)
            if isinstance(admission, Interruption):
                self._refuse(exchange, asked, admission)
                return
            exchange.admission = admission
            target = target_of(self._targets, "", exchange)
            assert target is not None, "there is always a first"
            work.start(exchange, self._identify(exchange, target.recent, asked, session))
        else:
            exchange.answer(answers.passed())

    async def _identify(self, exchange: Exchange, recent: Recent, asked: Check, session: Session) -> None:
        who = await recent.who(session.id_token)
        if self._gate.session(asked.forwarded) is None:
            self._signed_out(exchange, asked)  # it has ended meanwhile
            return
        match who:
            case Refused():
                _pass(exchange, who)
            case Unusable(failure):
                self._refuse(exchange, asked, answers.unavailable(failure))
            case _:
                answer = answers.identified(who, session, self._gate.absolute_timeout)
                if answer is None:
                    self._refuse(exchange, asked, answers.unavailable("too_large"))
                else:
                    exchange.answer(answer)

    def _signed_out(self, exchange: Exchange, asked: Check) -> None:
        location = check.login_location(asked, self._origin)
        if location is None:
            self._refuse(exchange, asked, NO_SESSION)
        else:
            exchange.answer(redirect(302, location, []))

    def _refuse(self, exchange: Exchange, asked: Check, interruption: Interruption) -> None:
        """In the form that suits the request behind the check: that one's page, and a link back to it."""
        answer = self._pages.interruption(interruption, asked.forwarded)
        exchange.answer(answer, Interrupted(interruption))

    # /_foyer/access

    def access(self, exchange: Exchange, head: RequestHead, session: Session) -> None:
        """The signed-in person's rules, and the answer to their question. The request has passed the gate."""
        form = access.read(head)
        if isinstance(form, Interruption):
            exchange.refuse(form)
            return
        target = target_of(self._targets, form.target, exchange)
        if target is not None:
            form = form._replace(target=target.name)
            work.start(exchange, self._access(exchange, target.people, form, session))

    async def _access(self, exchange: Exchange, people: ApiServer, form: Form, session: Session) -> None:
        rules, decision = await asyncio.gather(
            _rules(people, form, session), _decision(people, form, session)
        )
        if isinstance(rules, Unusable):
            exchange.refuse(_unanswered(rules))
            return
        if isinstance(decision, Unusable):
            exchange.refuse(_unanswered(decision))
            return
        for found in (rules, decision):
            if isinstance(found, Refused):
                exchange.status = found.answer.status  # for the log: the page says it in its own words
        person = session.email or session.subject
        exchange.answer(self._pages.access(person, form, rules, decision, list(self._targets.by_name)))


async def _rules(people: ApiServer, form: Form, session: Session) -> Rules | Refused | Unusable | None:
    if not form.namespace:
        return None  # rules are a namespace's
    return await reviews.rules(people, session.id_token, form.namespace)


async def _decision(people: ApiServer, form: Form, session: Session) -> Decision | Refused | Unusable | None:
    question = form.question
    return None if question is None else await reviews.may(people, session.id_token, question)


def _target(query: bytes) -> str | Interruption:
    """The name that whoami's query gives, "" for none. What else there may be says nothing."""
    given = parameters.given(parameters.read_what_can_be(b"?" + query)[0], b"target")
    return given[0].decode("utf-8", "replace") if len(given) == 1 else "" if not given else _TWO_TARGETS


def _pass(exchange: Exchange, refused: Refused) -> None:
    """The API server's own refusal, as it is."""
    exchange.status = refused.answer.status
    exchange.answer(refused.answer)


_TWO_TARGETS = Interruption(Reason.BAD_REQUEST, "target is given at most once.")


def _unanswered(review: Unusable) -> Interruption:
    if review.failure == Failure.TARGET_FULL.value:
        return target_full(review.failure)
    return Interruption(
        Reason.UPSTREAM_UNAVAILABLE,
        "The API server gave no usable answer to what this page asks it.",
        failure=review.failure,
    )

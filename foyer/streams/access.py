"""Who somebody is to the API server, and whether they may see a shared scope (spec 05, Shared watches).

    who         a SelfSubjectReview with their own token, once as a stream opens
    may they    two SubjectAccessReviews, `list` and `watch`, with foyer's own identity

A decision is used again for a while for exactly the same question, and those who ask the same at once wait
for one answer. Its TTL counts from when it was asked for, so that what is reused is never older; an error is
nobody's but of those who waited for it. Only two answers that both say so are an allow.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, NewType, Protocol

from foyer.exchange.ports import Cancellable
from foyer.k8s import reviews
from foyer.k8s.call import ApiServer
from foyer.k8s.reviews import Decision, Refused, Unusable, UserInfo
from foyer.session.seal import IdToken
from foyer.streams import answers, errors
from foyer.streams.cache import REFUSED
from foyer.streams.errors import Code, StreamError
from foyer.streams.scope import Scope

VERBS = ("list", "watch")
"""What a stream does, in the words that rights are given in."""

CHECK_TIME = 10.0
"""Seconds for both reviews, their wait for the budget included (spec 05)."""

MAX_DECISIONS = 10_000
"""Decisions that are kept: 200 people with 50 scopes each, at some 300 bytes."""

MAX_SUBJECT = 64 * 1024
"""Characters of a subject, several times what a token can say of somebody."""

MAX_REASON = 1024
"""Characters of an authorizer's reason."""

Subject = NewType("Subject", str)
"""All that the API server says of somebody, in one spelling."""

Verdict = StreamError | None
"""What an asker is told: None if they may, else why the stream ends."""


class Question(NamedTuple):
    """May they list and watch this?"""

    subject: Subject
    target: str
    group: str
    version: str
    resource: str
    namespace: str
    name: str

    @property
    def key(self) -> bytes:
        """The same for equal questions alone."""
        return sha256(json.dumps(self).encode("ascii")).digest()


def question(subject: Subject, scope: Scope) -> Question:
    """What is asked about `scope`: without its selector, which Kubernetes gives nobody rights for."""
    return Question(
        subject, scope.target, scope.group, scope.version, scope.resource, scope.namespace, scope.name
    )


class Counted(Protocol):
    """What is counted (`foyer.measures.Measures`)."""

    access_checks: dict[tuple[str, str], int]
    subject_reviews: dict[str, int]

    @property
    def access_check_duration(self) -> Observed: ...


class Observed(Protocol):
    """A series of values."""

    def observe(self, value: float) -> None:
        """One more."""


class Asker(Protocol):
    """Who waits for a decision. It contains its own faults."""

    def decided(self, verdict: Verdict, asked_at: float) -> None:
        """The decision, and when it was asked for (seconds, the clock of `Access`)."""

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""


class Newcomer(Protocol):
    """Whose name is asked for. It contains its own faults."""

    def identified(self, who: Subject | StreamError) -> None:
        """Who it is, or why nobody knows."""

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""


class _Kept(NamedTuple):
    verdict: Verdict
    asked_at: float


class _Call:
    """One question on its way, and who waits for the answer."""

    __slots__ = ("asked_at", "askers", "task")

    def __init__(self, asked_at: float) -> None:
        self.asked_at = asked_at
        self.askers: dict[Asker, None] = {}
        self.task: Cancellable | None = None

    def leaving(self) -> Iterator[Asker]:
        """Each asker, who waits no longer; one that leaves meanwhile is not among them."""
        while self.askers:
            asker = next(iter(self.askers))
            del self.askers[asker]
            yield asker


class _Waiting:
    """One asker's wait."""

    __slots__ = ("_access", "_asker", "_call", "_key")

    def __init__(self, access: Access, key: bytes, call: _Call, asker: Asker) -> None:
        self._access = access
        self._key = key
        self._call = call
        self._asker = asker

    def cancel(self) -> None:
        """Leaves the question to the others; the last one takes it along."""
        self._access.left(self._key, self._call, self._asker)


class Access:
    """One API server's answers about people."""

    def __init__(
        self,
        *,
        people: ApiServer,
        server: ApiServer,
        token: Callable[[], IdToken],
        ttl: float,
        now: Callable[[], float],
        start: Callable[[Coroutine[Any, Any, None]], Cancellable],
        measures: Counted,
    ) -> None:
        """`people` is asked with their own tokens, `server` with `token`, foyer's own.

        `ttl` in seconds; `now` is a clock that never goes back, in seconds; `start` makes a task of a
        coroutine.
        """
        self.ttl = ttl
        self.now = now
        self._people = people
        self._server = server
        self._token = token
        self._start = start
        self._measures = measures
        self._kept: dict[bytes, _Kept] = {}  # nearly in the order they were asked for
        self._calls: dict[bytes, _Call] = {}

    # Who.

    def who(self, token: IdToken, newcomer: Newcomer) -> Cancellable:
        """Asks the API server, with the `newcomer`'s own token."""
        return self._start(_contained(partial(self._who, token, newcomer), newcomer.failed))

    async def _who(self, token: IdToken, newcomer: Newcomer) -> None:
        found = await reviews.who(self._people, token)
        who, result = _identity(found)
        self._measures.subject_reviews[result] += 1
        newcomer.identified(who)

    # May they.

    def may(self, question: Question, asker: Asker) -> Cancellable | None:
        """Has `asker` told: at once and None, where the API server has said so within the TTL."""
        key, now = question.key, self.now()
        kept = self._kept.get(key)
        if kept is not None and now - kept.asked_at < self.ttl:
            self.count(kept.verdict)
            asker.decided(kept.verdict, kept.asked_at)
            return None
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(now)
            fault = partial(self._fault, key, call)
            call.task = self._start(_contained(partial(self._decide, key, call, question), fault))
        call.askers[asker] = None
        return _Waiting(self, key, call, asker)

    def count(self, verdict: Verdict, *, source: str = "cache", times: int = 1) -> None:
        """So many were decided upon by an answer, of now or of before."""
        self._measures.access_checks[source, _result(verdict)] += times

    def left(self, key: bytes, call: _Call, asker: Asker) -> None:
        """An asker has left. A question that nobody waits for is given up."""
        call.askers.pop(asker, None)
        if not call.askers and self._calls.get(key) is call:
            del self._calls[key]
            assert call.task is not None
            call.task.cancel()

    async def _decide(self, key: bytes, call: _Call, question: Question) -> None:
        verdict = await self._ask(question)
        self._measures.access_check_duration.observe(self.now() - call.asked_at)
        del self._calls[key]
        if not _is_error(verdict):
            self._keep(key, _Kept(verdict, call.asked_at))
        self.count(verdict, source="api_server")
        self.count(verdict, times=len(call.askers) - 1)
        for asker in call.leaving():
            asker.decided(verdict, call.asked_at)

    async def _ask(self, question: Question) -> Verdict:
        token, user_info = self._token(), json.loads(question.subject)
        asked = [
            reviews.Question(
                verb,
                question.resource,
                group=question.group,
                namespace=question.namespace,
                name=question.name,
                version=question.version,
            )
            for verb in VERBS
        ]
        return _verdict(await asyncio.gather(*(self._review(token, user_info, each) for each in asked)))

    async def _review(
        self, token: IdToken, user_info: UserInfo, asked: reviews.Question
    ) -> Decision | Refused | Unusable:
        # Each for itself: what one half has said counts, though the other says nothing.
        try:
            async with asyncio.timeout(CHECK_TIME):
                return await reviews.may_they(self._server, token, user_info, asked)
        except TimeoutError:
            return Unusable("timeout")

    def _fault(self, key: bytes, call: _Call, error: Exception) -> None:
        """foyer's own code failed: nobody gets an answer."""
        if self._calls.get(key) is call:
            del self._calls[key]
        for asker in call.leaving():
            asker.failed(error)

    def _keep(self, key: bytes, kept: _Kept) -> None:
        self._kept.pop(key, None)
        now = self.now()
        while self._kept:
            oldest = next(iter(self._kept))
            if len(self._kept) < MAX_DECISIONS and now - self._kept[oldest].asked_at < self.ttl:
                break
            del self._kept[oldest]
        self._kept[key] = kept

    def __len__(self) -> int:
        """Decisions kept, and questions on their way."""
        return len(self._kept) + len(self._calls)


def _verdict(found: list[Decision | Refused | Unusable]) -> Verdict:
    """What follows from both: a denial before anything else, and an allow from nothing but two."""
    for decision in found:
        if isinstance(decision, Decision) and not decision.allowed:
            said = decision.reason or decision.error or "The API server does not let you list and watch this."
            return errors.forbidden(said[:MAX_REASON])
    for decision in found:
        if isinstance(decision, Refused):
            return REFUSED if decision.answer.status in (401, 403) else answers.no_answer()
        if isinstance(decision, Unusable):
            return answers.no_answer()
    return None


def _identity(found: UserInfo | Refused | Unusable) -> tuple[Subject | StreamError, str]:
    """Who somebody is, or why it is not known; and how that counts."""
    match found:
        case Refused(answer, _) if answer.status == 401:
            return errors.unauthenticated("The API server did not accept the session's token."), "refused"
        case Refused(answer, message) if answer.status == 403:
            return errors.forbidden((message or "The API server forbids it.")[:MAX_REASON]), "refused"
        case Refused() | Unusable():
            return answers.no_answer(), "error"
        case _:
            subject = Subject(json.dumps(found, sort_keys=True, separators=(",", ":")))
            return (subject, "resolved") if len(subject) <= MAX_SUBJECT else (_TOO_MUCH, "error")


_TOO_MUCH = errors.internal("The API server says more of who you are than foyer takes.")


def _is_error(verdict: Verdict) -> bool:
    return verdict is not None and verdict.code is not Code.FORBIDDEN


def _result(verdict: Verdict) -> str:
    if verdict is None:
        return "allowed"
    return "error" if _is_error(verdict) else "denied"


async def _contained(
    work: Callable[[], Coroutine[Any, Any, None]], failed: Callable[[Exception], None]
) -> None:
    """Tells whoever waits for `work` if foyer's own code fails in it."""
    # Begun in here: a task that is cancelled before its first step would leave a coroutine behind.
    try:
        await work()
    except Exception as error:  # the outermost
        failed(error)

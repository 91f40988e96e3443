"""Shared streams between fake browsers and a fake API server; clock, turns and answers are a test's."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer
from foyer.measures import Measures
from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams.access import Access
from foyer.streams.shared import Shared
from foyer.streams.stream import Stream
from tests.exchange.sides import Admission, Browser, Services, Told, Upstream
from tests.streams.following import CONFIGMAPS, opening
from tests.streams.staged import JSON, Clocked, Place
from tests.streams.wires import Event, events

SHARED_TOKEN = IdToken(b"foyer's-own")
RESOURCES = frozenset(("configmaps", "secrets", "notes.example.com"))

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Asked(NamedTuple):
    """One review that the API server was asked for."""

    path: str
    document: Mapping[str, Any]
    token: IdToken

    @property
    def verb(self) -> str:
        """What a SubjectAccessReview asks for."""
        verb: str = self.document["spec"]["resourceAttributes"]["verb"]
        return verb


class Reviewer:
    """The API server as far as reviews know it. Everybody is whom their token names, and may everything.

    `denied` has a reason for each name that may not; `answers` what a kind of review is answered instead.
    With `held`, answers wait for `release`.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.denied: dict[str, str] = {}
        self.answers: dict[str, Answer | Failure] = {}
        self.held = False
        self.cancelled = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def create(self, path: str, document: Mapping[str, object], token: IdToken) -> Answer | Failure:
        self.asked.append(Asked(path, document, token))
        if self.held:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return self.answers.get(path) or self._answer(path, document, token)

    def _answer(self, path: str, document: Mapping[str, Any], token: IdToken) -> Answer:
        if path == WHO:
            return said({"userInfo": {"username": token.decode()}})
        reason = self.denied.get(document["spec"]["user"])
        return said({"allowed": reason is None, **({"reason": reason} if reason else {})})

    def release(self, count: int | None = None) -> None:
        """Lets the oldest of the answers come, or all of them."""
        waiting, self._waiting = self._waiting[:count], self._waiting[len(self._waiting[:count]) :]
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def of(self, path: str) -> list[Asked]:
        """Those asked for there."""
        return [each for each in self.asked if each.path == path]


def said(status: object, code: int = 201) -> Answer:
    """A review's answer."""
    return Answer(code, list(JSON), json.dumps({"status": status}).encode())


def refused(code: int, message: str = "the server's own words") -> Answer:
    """A `Status` in a review's place."""
    content = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
    return Answer(code, list(JSON), json.dumps(content).encode())


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock is a test's."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._test_now = now

    def time(self) -> float:
        return self._test_now()


class Stage:
    """One foyer's shared watches, and everybody they have to do with."""

    def __init__(
        self,
        *,
        at_once: bool = True,
        ttl: float = 10.0,
        recheck: float = 30.0,
        lenient: bool = False,
        clocked: Clocked | None = None,
    ) -> None:
        self.clocked = clocked or Clocked(at_once=at_once)
        self.loop = Loop(lambda: self.clocked.now)
        self.measures = Measures()
        self.reviewer = Reviewer()
        self.token = SHARED_TOKEN
        self.visitors: list[Visitor] = []
        self._soon: list[Callable[[], None]] = []
        self.access = Access(
            people=self.reviewer,  # type: ignore[arg-type]
            server=self.reviewer,  # type: ignore[arg-type]
            token=lambda: self.token,
            ttl=ttl,
            now=lambda: self.clocked.now,
            start=self.loop.create_task,
            measures=self.measures,
        )
        self.shared = Shared(
            resources=RESOURCES,
            server=replace(self.clocked.server, identity="shared", watches=self.measures.watches_open),
            access=self.access,
            recheck_interval=recheck,
            soon=self._soon.append,
            token=lambda: self.token,
            lenient=lambda: RESOURCES if lenient else frozenset(),
            measures=self.measures,
        )

    # What goes on.

    def settle(self) -> None:
        """Until nothing moves: tasks, turns, and browsers that take what there is."""
        for _ in range(20_000):
            self.run()
            moved = self.turn()
            for visitor in self.visitors:
                moved = visitor.take() or moved
            if not moved:
                return
        raise AssertionError("it never rests")

    def run(self) -> None:
        """Tasks go as far as they come."""
        self.loop.run_until_complete(_turns())

    def turn(self) -> bool:
        """One turn of the line, if it has any."""
        soon, self._soon[:] = self._soon[:], []
        for call in soon:
            call()
        later = self.clocked.go_on()
        while self.clocked.turns:
            self.clocked.turn()
        return bool(soon) or later

    @property
    def goes_on(self) -> bool:
        """Whether the line waits for a turn."""
        return bool(self._soon) or bool(self.clocked.later)

    def wait(self, seconds: float) -> None:
        """Time passes, a tick at a time."""
        until = self.clocked.now + seconds
        while self.clocked.now < until:
            self.clocked.wait(min(1.0, until - self.clocked.now))
            self.settle()

    # The API server's half.

    @property
    def places(self) -> list[Place]:
        """Every request for a scope, in order."""
        return self.clocked.places

    @property
    def side(self) -> Upstream:
        """The newest one's."""
        side = self.places[-1].side
        assert side is not None
        return side

    def respond(self, content: bytes = b"", status: int = 200, fields: Fields = JSON) -> None:
        """The head of an answer and some content, and what comes of it."""
        self.side.answer(ResponseHead(status, fields))
        self.send(content)

    def send(self, *contents: bytes) -> None:
        """More of it, and what comes of it."""
        for content in contents:
            self.side.content(content)
        self.settle()

    def answer(self, content: bytes = b"", status: int = 200) -> None:
        """A whole answer."""
        side = self.side
        side.answer(ResponseHead(status, JSON))
        if not side.over and content:
            side.content(content)
        if not side.over:
            side.end()
        self.settle()

    # Browsers.

    def open(self, query: bytes = CONFIGMAPS, who: str = "ada", *, fast: bool = True) -> "Visitor":
        """A stream of somebody's, as far as it comes by itself."""
        visitor = Visitor(self, query, IdToken(who.encode()))
        visitor.fast = fast
        self.visitors.append(visitor)
        self.settle()
        return visitor

    def assert_nothing_is_left(self) -> None:
        """When every stream is over: no watch, no deadline, no request, no task, no count."""
        self.settle()
        assert all(visitor.over for visitor in self.visitors)
        assert len(self.shared) == 0
        assert len(self.shared.line) == 0
        assert len(self.shared.grants) == 0
        assert len(self.clocked.wheel) == 0
        assert self.measures.watches_open == {"user": 0, "shared": 0}
        assert self.measures.shared_subscriptions_open == 0
        self.clocked.assert_nothing_is_held()
        assert asyncio.all_tasks(self.loop) == set()
        for visitor in self.visitors:
            assert visitor.admission.closed == 1
        for place in self.places:
            assert not place.waits
            assert place.side is None or place.side.over

    def close(self) -> None:
        for visitor in self.visitors:
            visitor.browser.leave()
        self.run()
        self.loop.close()


async def _turns() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


class Visitor:
    """One stream, its browser, and what that has seen. A `fast` one takes whatever there is."""

    def __init__(self, stage: Stage, query: bytes, token: IdToken) -> None:
        self.fast = True
        self.services = Services()
        self.browser = Browser()
        self.admission = Admission()
        self.exchange = Exchange(
            self.services, self.browser, RequestHead(b"GET", b"/stream/v1", [], ended=True)
        )
        self.exchange.admission = self.admission
        asked = opening(query)
        self.stream = Stream(stage.clocked.common, self.exchange, asked)
        self.subscriber = stage.shared.subscriber(asked, self.stream)
        self.stream.wait_for(self.subscriber)
        self.subscriber.open(token)

    def take(self) -> bool:
        """A fast browser takes what there is, and the end; whether that was anything."""
        before = len(self.browser.taken), self.over
        if self.fast:
            self.browser.take(1 << 40)
        return before != (len(self.browser.taken), self.over)

    @property
    def over(self) -> bool:
        """Whether the exchange is."""
        return bool(self.services.endings)

    @property
    def whole(self) -> bool:
        """Whether it ended cleanly."""
        return self.over and self.browser.told is Told.FINISHED

    @property
    def events(self) -> list[Event]:
        """What its browser has taken, as far as it is whole."""
        content = bytes(self.browser.taken)
        return events(content[: content.rfind(b"\n\n") + 2] if b"\n\n" in content else b"")

    @property
    def types(self) -> list[str]:
        """The types of all events, errors by their code."""
        return [event["code"] if event["type"] == "error" else event["type"] for event in self.events]

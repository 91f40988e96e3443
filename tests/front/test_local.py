"""A callback as a browser has its answer: held off by a bound, or signed in anew (spec 04, Session check)."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from foyer.bound import MEASURED, Bound
from foyer.exchange.endings import Cause, Complete, CutShort
from foyer.exchange.exchange import Exchange
from foyer.front.local import Local
from foyer.front.routes import Matched, find
from foyer.gate.admission import Admission
from foyer.gate.gate import Gate, Kind
from foyer.gate.limits import Limits
from foyer.gate.wheel import Wheel
from foyer.measures import Measures
from foyer.observe import Log
from foyer.pages.render import Pages
from foyer.protocol.events import Fields, RequestHead, ResponseHead
from foyer.session.live import presented
from foyer.session.seal import Session
from tests.exchange.scene import Scene
from tests.exchange.sides import Browser as Side
from tests.exchange.sides import Services, Told
from tests.front.signing_in import SlowWorld
from tests.login.issuers import KEYRING, ORIGIN, Browser
from tests.support.hasty import hasten

PAGES = Pages()
DOCUMENT: Fields = [(b"sec-fetch-dest", b"document")]

HELD_OFF = {
    "login-rate-exceeded": (429, Bound.AUTH_REQUEST_BURST, replace(Limits(), auth_request_burst=1)),
    "issuer-unavailable": (503, Bound.TOKEN_REQUESTS, replace(Limits(), max_token_requests=1)),
}


class Front:
    """The routes that need no session, and the gate that they share with the others."""

    def __init__(self, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self.world = world = SlowWorld(limits)
        self.lines: list[bytes] = []
        self.measures = Measures()
        self.gate = Gate(
            lambda: KEYRING,
            ORIGIN,
            28_800.0,
            limits=limits,
            wheel=Wheel(world.monotonic()),
            now=world.monotonic,
            clock=world.clock,
            usage={bound: self.measures.usage[bound] for bound in MEASURED},
        )
        self.local = Local(
            gate=self.gate,
            login=world.login,
            redemptions=world.redemptions,
            measures=self.measures,
            pages=PAGES,
            log=Log(self._write),
            clock=world.clock,
            ready=lambda: True,
        )

    def _write(self, line: bytes) -> bool:
        self.lines.append(line)
        return True

    def open(self, head: RequestHead, side: Side | None = None) -> tuple[Exchange, Side]:
        """A request to one of those routes. It is answered when the loop has turned."""
        side = side or Side()
        exchange = Exchange(Services(), side, head)
        matched = find(head)
        assert isinstance(matched, Matched)
        self.local.serve(exchange, head, matched)
        return exchange, side

    async def callback(self, fields: Fields | None = None, browser: Browser | None = None) -> Side:
        """One that comes back from the issuer, to the end of its answer."""
        head = self.world.comes_back(browser)
        _, side = self.open(RequestHead(head.method, head.target, [*head.fields, *(fields or [])]))
        await answered(side)
        return side


async def answered(side: Side) -> None:
    async with asyncio.timeout(60):  # of a loop that never waits
        while side.head is None and side.told is Told.NOTHING:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.1)
    side.take(1 << 20)


async def held_off(word: str, fields: Fields) -> tuple[Front, Side, ResponseHead]:
    """A login that this bound keeps from being finished."""
    front = Front(HELD_OFF[word][2])
    await front.world.ready()
    if word == "login-rate-exceeded":
        await front.callback()
        side = await front.callback(fields)
    else:
        front.world.provider.open.clear()
        front.open(front.world.comes_back())
        side = await front.callback(fields)
        front.world.provider.open.set()
        await asyncio.sleep(1)
    assert side.head is not None
    return front, side, side.head


WORDS = pytest.mark.parametrize("word", HELD_OFF)


@WORDS
def test_code_gets_a_status(word: str) -> None:
    _, side, head = hasten(held_off(word, []))
    assert head.status == HELD_OFF[word][0]
    assert head.all(b"content-type") == [b"application/json"]
    status = json.loads(side.taken)
    assert (status["kind"], status["code"], status["reason"]) == ("Status", head.status, word)


@WORDS
def test_a_person_gets_a_page_with_a_link_to_try_again(word: str) -> None:
    _, side, head = hasten(held_off(word, DOCUMENT))
    assert head.status == HELD_OFF[word][0]
    assert head.all(b"content-type") == [b"text/html; charset=utf-8"]
    assert word.encode() in side.taken
    assert b'href="/auth/login?return_to=/a/page"' in side.taken


@WORDS
@pytest.mark.parametrize("fields", [[], DOCUMENT], ids=["Status", "page"])
def test_only_where_waiting_is_known_to_help_it_says_how_long(word: str, fields: Fields) -> None:
    _, _, head = hasten(held_off(word, fields))
    assert head.all(b"retry-after") == ([b"1"] if word == "login-rate-exceeded" else [])
    assert head.all(b"cache-control") == [b"no-store"]
    assert head.all(b"krm-foyer-interruption") == [], "a refused login is none"


@WORDS
def test_the_login_in_progress_is_cleared(word: str) -> None:
    _, _, head = hasten(held_off(word, []))
    [cookie] = head.all(b"set-cookie")
    assert cookie.startswith(b"__Host-krm-foyer-login-") and b"Max-Age=0" in cookie


@WORDS
def test_it_is_counted_for_its_bound_and_one_line(word: str) -> None:
    front, _, head = hasten(held_off(word, []))
    reached = {bound: count for bound, count in front.measures.reached.items() if count}
    assert reached == {HELD_OFF[word][1]: 1}
    lines = [json.loads(line) for line in front.lines]
    told = [(line["msg"], line["reason"], line["status"]) for line in lines]
    assert told == [("login refused", word, head.status)]


# A new login in the same browser


class Watched(Side):
    """A browser's side that says when its head is sent."""

    def __init__(self, on_head: Callable[[], None]) -> None:
        super().__init__()
        self._on_head = on_head

    def send_head(self, head: ResponseHead) -> None:
        self._on_head()
        super().send_head(head)


def watch(gate: Gate, session: Session) -> Scene:
    """A response that is open in `session`, and has brought something that its browser has not taken."""
    scene = Scene()
    admission = gate.admit(session, scene.exchange, Kind.REQUEST)
    assert isinstance(admission, Admission)
    scene.exchange.admission = admission
    scene.upstream.answer(ResponseHead(200, []))
    scene.upstream.content(b"event\n")
    return scene


def test_a_new_login_cuts_what_the_old_session_has_open_before_its_own_answer_is_sent() -> None:
    hasten(_a_new_login())


async def _a_new_login() -> None:
    front = Front()
    await front.world.ready()
    browser, elsewhere = front.world.browser(), front.world.browser()
    sessions = []
    for each in (browser, elsewhere):
        side = await front.callback(browser=each)
        assert side.head is not None
        each.keep(side.head.fields)
        session = presented(each.head("/").fields, KEYRING)
        assert session is not None
        sessions.append(session)
    mine = [watch(front.gate, sessions[0]) for _ in range(3)]
    theirs = [watch(front.gate, sessions[1]) for _ in range(3)]
    seen: list[list[Told]] = []
    watched = Watched(lambda: seen.append([scene.browser.told for scene in mine]))
    exchange, _ = front.open(front.world.comes_back(browser), watched)
    await answered(watched)
    assert seen == [[Told.ABORTED] * 3], "cut as the login is handled, and not by the check"
    assert exchange.ending == Complete(303)
    for scene in mine:
        assert scene.services.endings == [CutShort(Cause.SESSION_ENDED)]
        assert scene.upstream.cancelled and scene.browser.queued == 0
    for scene in theirs:
        assert scene.services.endings == [] and not scene.upstream.cancelled
    assert front.gate.requests.per_replica == 3


def test_a_login_that_is_refused_cuts_nothing() -> None:
    hasten(_a_refused_login())


async def _a_refused_login() -> None:
    front = Front(replace(Limits(), auth_request_burst=1))
    await front.world.ready()
    browser = front.world.browser()
    side = await front.callback(browser=browser)
    assert side.head is not None
    browser.keep(side.head.fields)
    session = presented(browser.head("/").fields, KEYRING)
    assert session is not None
    scene = watch(front.gate, session)
    side = await front.callback(browser=browser)
    assert side.head is not None and side.head.status == 429
    assert scene.services.endings == []


def test_a_browser_that_leaves_while_its_login_waits_is_answered_nothing() -> None:
    hasten(_a_browser_that_leaves())


async def _a_browser_that_leaves() -> None:
    front = Front()
    await front.world.ready()
    front.world.provider.open.clear()
    exchange, side = front.open(front.world.comes_back())
    await asyncio.sleep(0.1)
    assert front.world.provider.now_asking == 1
    side.leave()
    await asyncio.sleep(0.1)
    assert front.world.provider.now_asking == 0
    assert side.head is None and exchange.ending is not None

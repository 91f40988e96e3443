"""follow() of foyer.js in Chromium: how streams end, and what then. The page's clock is its test's."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.harness.chromium import visitor
from tests.e2e.harness.followed import Followed
from tests.e2e.harness.gateway import Gateway, Opened, running_gateway
from tests.e2e.harness.helper import call

MINUTE = 60_000
"""Milliseconds, as all times of the page's."""

HOUR = 3600
"""Seconds since 1970: when it is as a test begins, and until it puts the clock forward."""

SOMEBODY_ELSE = "Somebody else has signed in to this browser meanwhile: load the page again."


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running_gateway() as gateway:
        yield gateway


@pytest.fixture
def page(gateway: Gateway, visits: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of that origin whose scripts raise nothing, and whose clock stands until it is put forward."""
    errors: list[str] = []
    with visitor(visits, tmp_path, "last") as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.clock.install(time=0)
        page.goto(f"{gateway.origin}/blank")
        page.clock.pause_at(HOUR)
        yield page
    assert errors == []


def thing(uid: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"uid": uid, "name": f"named-{uid}"}}


def live(followed: Followed, gateway: Gateway, *uids: str) -> Opened:
    """The stream that the page opens next, once it shows these."""
    stream = gateway.stream().begin()
    stream.snapshot(*map(thing, uids))
    followed.shows(*uids)
    return stream


def nothing_more(page: Page, gateway: Gateway) -> None:
    """No request follows, whatever time goes by and whatever wakes the page."""
    asked = gateway.asked
    page.evaluate("dispatchEvent(new Event('online'))")
    page.clock.run_for(10 * MINUTE)
    page.evaluate("fetch('/blank')")
    assert gateway.nothing_opened()
    assert gateway.asked == asked


# For good


@pytest.mark.parametrize("first", [True, False], ids=["at once", "when live"])
@pytest.mark.parametrize(
    ("code", "terminal", "state"),
    [
        ("FORBIDDEN", True, "refused"),
        ("FORBIDDEN", False, "refused"),
        ("UNAUTHENTICATED", True, "signed-out"),
        ("SCOPE_INVALID", True, "invalid"),
        ("INTERNAL", True, "error"),
        ("SLOW_CONSUMER", True, "error"),
        ("RESYNC_REQUIRED", True, "error"),
        ("UPSTREAM_UNAVAILABLE", True, "error"),
        ("SOMETHING_NEW", True, "error"),
        ("constructor", True, "error"),
    ],
)
def test_an_error_for_good_is_a_final_state_and_nothing_is_opened_again(
    page: Page, gateway: Gateway, first: bool, code: str, terminal: bool, state: str
) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin() if first else live(followed, gateway, "a")
    stream.event("error", code=code, message="Why it was.", terminal=terminal, retryAfterMs=1)
    told = followed.until(state)
    assert (told["reason"], told["message"], told["wait"]) == (code, "Why it was.", None)
    assert list(told["objects"]) == ([] if first else ["a"]), "what was shown may stay on the page"
    stream.left()
    nothing_more(page, gateway)
    assert followed.calls()[-1]["state"] == state
    followed.do("following.stop()")
    assert followed.now()["state"] == state


@pytest.mark.parametrize(
    ("status", "reason", "state"),
    [
        (401, "Unauthorized", "signed-out"),
        (403, "SomethingNew", "refused"),
        (404, "NotFound", "missing"),
        (400, "BadRequest", "invalid"),
        (422, "Invalid", "invalid"),
        (405, "MethodNotAllowed", "error"),
        (409, "Conflict", "error"),
    ],
)
def test_a_refusal_in_the_streams_place_is_final_if_asking_again_cannot_mend_it(
    page: Page, gateway: Gateway, status: int, reason: str, state: str
) -> None:
    followed = Followed(page)
    gateway.stream().refuse(status, reason)
    told = followed.until(state)
    assert (told["reason"], told["message"]) == (reason, f"It was {reason}.")
    nothing_more(page, gateway)
    assert followed.states() == ["connecting", state]


@pytest.mark.parametrize(
    ("status", "content", "fields"),
    [
        (200, "<!doctype html>", {"Content_Type": "text/html"}),
        (401, "<!doctype html>", {"Content_Type": "text/html"}),
        (404, "<!doctype html>", {"Content_Type": "text/html; charset=utf-8"}),
        (302, "", {"Location": "/somebody/elses/sign-in"}),
        (200, "{}", {}),
        (200, "", {"Content_Type": "text/event-stream"}),
        (200, "", {"Content_Type": "text/event-stream", "X_KRM_Stream_Protocol": "2"}),
        (204, "", {"Content_Type": "text/event-stream", "X_KRM_Stream_Protocol": "2"}),
    ],
)
def test_an_answer_of_somebody_elses_is_an_error_for_good(
    page: Page, gateway: Gateway, status: int, content: str, fields: dict[str, str]
) -> None:
    followed = Followed(page)
    gateway.stream().answer(status, content, **fields)
    assert followed.until("error")["reason"] == "Unreadable"
    nothing_more(page, gateway)


# For whom


def test_the_page_of_somebody_who_signed_out_is_told_when_its_stream_is_cut(
    page: Page, gateway: Gateway
) -> None:
    followed = Followed(page)
    stream = live(followed, gateway, "a")
    gateway.person = None
    stream.cut()
    followed.until("waiting")
    page.clock.run_for(2000)
    gateway.stream().refuse(401, "Unauthorized")
    assert followed.until("signed-out")["reason"] == "Unauthorized"
    assert followed.states() == ["connecting", "live", "waiting", "stale", "signed-out"]
    nothing_more(page, gateway)


@pytest.mark.parametrize("asked", [True, False], ids=["who was told who it is", "who never asked"])
def test_what_somebody_else_may_see_is_not_shown_on_the_page_of_whom_it_was(
    page: Page, gateway: Gateway, asked: bool
) -> None:
    if asked:
        call(page, "session()")
    followed = Followed(page)
    live(followed, gateway, "a").cut()
    followed.until("waiting")
    gateway.person = "bob"
    page.clock.run_for(2000)
    stream = gateway.stream().begin()
    stream.send(stream.frame("reset") + stream.frame("added", object=thing("b"), redacted=[]))
    told = followed.until("signed-out")
    assert told["message"] == SOMEBODY_ELSE
    assert list(told["objects"]) == ["a"]
    stream.left()
    nothing_more(page, gateway)


def test_the_first_stream_is_for_whom_the_page_was_told_of_too(page: Page, gateway: Gateway) -> None:
    call(page, "session()")
    gateway.person = "bob"
    followed = Followed(page)
    gateway.stream().begin()
    assert followed.until("signed-out")["message"] == SOMEBODY_ELSE


def test_a_stream_that_is_nobodys_is_not_shown(page: Page, gateway: Gateway) -> None:
    """Signed out between the stream's opening and the question whose it is."""
    gateway.person = None
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.send(stream.frame("reset") + stream.frame("added", object=thing("a"), redacted=[]))
    told = followed.until("signed-out")
    assert (told["reason"], list(told["objects"])) == ("Unauthorized", [])
    assert told["message"] != SOMEBODY_ELSE
    stream.left()
    nothing_more(page, gateway)


# For a while


def opened_again(page: Page, gateway: Gateway, followed: Followed, told: dict[str, Any], *was: str) -> None:
    """After a while, and what was shown stays in view until the new snapshot is whole."""
    assert list(told["objects"]) == list(was)
    assert told["wait"] > 0
    assert told["message"]
    calls = len(followed.calls())
    page.clock.run_for(told["wait"] + 1)
    stream = gateway.stream().begin()
    stream.event("reset")
    stream.event("added", object=thing("new"), redacted=[])
    state = "stale" if was else "connecting"
    assert followed.until(state, after=calls)["objects"] == told["objects"]
    stream.event("synced")
    followed.shows("new")
    assert followed.calls()[-1]["state"] == "live"
    assert sorted(followed.calls()[-1]["changed"]) == sorted([*was, "new"])


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (lambda stream: stream.cut(), "CutShort"),
        (lambda stream: stream.end(), "Ended"),
        (
            lambda stream: stream.event(
                "error", code="UPSTREAM_UNAVAILABLE", message="Gone.", terminal=False, retryAfterMs=5000
            ),
            "UPSTREAM_UNAVAILABLE",
        ),
        (lambda stream: stream.event("error", code="INTERNAL", message="Ours.", terminal=False), "INTERNAL"),
        (lambda stream: stream.event("error", code="SOMETHING_NEW", message="Soon."), "SOMETHING_NEW"),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["at once", "when live"])
def test_a_stream_that_ends_is_opened_again_and_its_last_state_stays(
    page: Page, gateway: Gateway, first: bool, how: Any, reason: str
) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin() if first else live(followed, gateway, "a")
    how(stream)
    told = followed.until("waiting")
    assert told["reason"] == reason
    opened_again(page, gateway, followed, told, *([] if first else ["a"]))


@pytest.mark.parametrize(
    ("status", "reason", "fields"),
    [
        (429, "TooManyStreams", {}),
        (429, "RequestRateExceeded", {"Retry_After": "7"}),
        (503, "Overloaded", {"Retry_After": "2"}),
        (502, "UpstreamUnavailable", {}),
    ],
)
def test_a_refusal_for_now_is_waited_out(
    page: Page, gateway: Gateway, status: int, reason: str, fields: dict[str, str]
) -> None:
    followed = Followed(page)
    gateway.stream().refuse(status, reason, **fields)
    told = followed.until("waiting")
    assert (told["reason"], told["message"]) == (reason, f"It was {reason}.")
    assert told["wait"] >= 1000 * int(fields.get("Retry_After", 0))
    opened_again(page, gateway, followed, told)


def test_a_page_of_an_ingress_whose_foyer_is_away_is_waited_out(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    gateway.stream().answer(502, "<h1>Bad gateway</h1>", Content_Type="text/html")
    opened_again(page, gateway, followed, followed.until("waiting"))


def test_where_nobody_can_say_who_it_is_nothing_is_shown_yet(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = live(followed, gateway, "a")
    gateway.session_status = 503
    stream.cut()
    page.clock.run_for(followed.until("waiting")["wait"] + 1)
    second = gateway.stream().begin()
    second.snapshot(thing("b"))
    second.left()
    told = followed.until("waiting", after=len(followed.calls()) - 1)
    assert list(told["objects"]) == ["a"]
    gateway.session_status = 200
    opened_again(page, gateway, followed, told, "a")


def test_no_answer_at_all_is_waited_out(page: Page, gateway: Gateway) -> None:
    page.route("**/stream/v1**", lambda route: route.abort("connectionrefused"))
    followed = Followed(page)
    told = followed.until("waiting")
    assert told["reason"] == "Unreachable"
    page.unroute_all()
    opened_again(page, gateway, followed, told)


MALFORMED = {
    "a gap": b'data: {"seq":3,"type":"synced"}\n\n',
    "again": b'data: {"seq":1,"type":"synced"}\n\n',
    "no seq": b'data: {"type":"synced"}\n\n',
    "a seq in words": b'data: {"seq":"2","type":"synced"}\n\n',
    "no type": b'data: {"seq":2}\n\n',
    "no object": b'data: {"seq":2,"type":"added","redacted":[]}\n\n',
    "no uid": b'data: {"seq":2,"type":"added","object":{"metadata":{"name":"a"}},"redacted":[]}\n\n',
    "an empty uid": b'data: {"seq":2,"type":"modified","object":{"metadata":{"uid":""}},"redacted":[]}\n\n',
    "no redactions": b'data: {"seq":2,"type":"added","object":{"metadata":{"uid":"a"}}}\n\n',
    "nobody's identity": b'data: {"seq":2,"type":"deleted","identity":{"name":"a"}}\n\n',
    "no code": b'data: {"seq":2,"type":"error","terminal":true}\n\n',
    "no JSON": b"data: {]\n\n",
    "no event": b"data: null\n\n",
    "no UTF-8": b": \xff\n\n",
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED.keys())
def test_an_event_that_is_not_as_it_should_be_ends_its_stream_and_is_not_shown(
    page: Page, gateway: Gateway, content: bytes
) -> None:
    followed = Followed(page)
    live(followed, gateway, "a").cut()
    page.clock.run_for(followed.until("waiting")["wait"] + 1)
    calls = len(followed.calls())
    stream = gateway.stream().begin()
    stream.event("reset")
    stream.send(content)
    told = followed.until("waiting", after=calls)
    assert told["reason"] == "Unreadable"
    stream.left()
    opened_again(page, gateway, followed, told, "a")


def test_so_does_one_that_has_no_end(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    with suppress(ConnectionError):
        for _ in range(66):
            stream.send(b"x" * 2**20)
    assert followed.until("waiting")["reason"] == "Unreadable"


@pytest.mark.parametrize(
    "kinds",
    [["synced"], ["added"], ["deleted"], ["reset", "synced", "synced"]],
    ids=lambda kinds: "-".join(kinds),
)
def test_an_event_out_of_its_place_ends_its_stream(page: Page, gateway: Gateway, kinds: list[str]) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    parts: dict[str, Any] = {
        "added": {"object": thing("a"), "redacted": []},
        "deleted": {"identity": {"uid": "a"}},
    }
    for kind in kinds:
        stream.event(kind, **parts.get(kind, {}))
    assert followed.until("waiting")["reason"] == "Unreadable"
    stream.left()


@pytest.mark.parametrize("kind", ["added", "synced"])
def test_the_next_stream_has_to_begin_from_the_beginning(page: Page, gateway: Gateway, kind: str) -> None:
    followed = Followed(page)
    first = live(followed, gateway, "a")
    first.event("reset")
    followed.until("stale")
    first.cut()
    page.clock.run_for(followed.until("waiting")["wait"] + 1)
    calls = len(followed.calls())
    second = gateway.stream().begin()
    second.event(kind, **({"object": thing("b"), "redacted": []} if kind == "added" else {}))
    told = followed.until("waiting", after=calls)
    assert told["reason"] == "Unreadable"
    assert list(told["objects"]) == ["a"]


def test_a_cycle_that_broke_off_leaves_nothing_of_it_in_the_next(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    live(followed, gateway, "a", "b").cut()
    page.clock.run_for(followed.until("waiting")["wait"] + 1)
    calls = len(followed.calls())
    second = gateway.stream().begin()
    second.event("reset")
    second.event("added", object=thing("c"), redacted=[])
    second.cut()
    told = followed.until("waiting", after=calls)
    assert sorted(told["objects"]) == ["a", "b"]
    opened_again(page, gateway, followed, told, "a", "b")


# How long


def waits(page: Page, gateway: Gateway, followed: Followed, times: int) -> list[float]:
    """How long each of so many refusals in a row has it wait, in ms."""
    found = []
    for _ in range(times):
        calls = len(followed.calls())
        gateway.stream().refuse(503, "Overloaded")
        found.append(followed.until("waiting", after=calls)["wait"])
        page.clock.run_for(found[-1] - 1)
        page.evaluate("fetch('/blank')")
        assert gateway.nothing_opened(), "not before the time that it told"
        page.clock.run_for(2)
    return found


def test_failures_in_a_row_are_waited_out_longer_and_longer_up_to_a_minute(
    page: Page, gateway: Gateway
) -> None:
    followed = Followed(page)
    for i, wait in enumerate(waits(page, gateway, followed, 8)):
        middle = min(1000 * 2**i, 30_000)
        assert middle / 2 - 1 <= wait <= middle * 3 / 2


def test_pages_that_were_cut_at_once_do_not_come_back_at_once(page: Page, gateway: Gateway) -> None:
    found = set()
    for i in range(8):
        followed = Followed(page, name=f"page{i}")
        gateway.stream().refuse(503, "Overloaded")
        found.add(round(followed.until("waiting")["wait"] / 10))
        followed.do("following.stop()")
    assert len(found) > 2


@pytest.mark.parametrize(("lived", "row_goes_on"), [(9_000, True), (11_000, False)])
def test_a_row_of_failures_ends_with_a_stream_that_was_live_for_a_while(
    page: Page, gateway: Gateway, lived: int, row_goes_on: bool
) -> None:
    followed = Followed(page)
    waits(page, gateway, followed, 5)
    stream = live(followed, gateway, "a")
    page.clock.run_for(lived)
    calls = len(followed.calls())
    stream.cut()
    wait = followed.until("waiting", after=calls)["wait"]
    assert (wait >= 15_000) == row_goes_on


@pytest.mark.parametrize(
    ("hint", "least", "most"),
    [
        (20_000, 20_000, 25_000),
        (10**9, 3_600_000, 4_500_000),
        (-5, 500, 1500),
        ("soon", 500, 1500),
        (None, 500, 1500),
    ],
)
def test_a_hint_is_followed_within_reason_and_never_before_its_time(
    page: Page, gateway: Gateway, hint: object, least: int, most: int
) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.event("error", code="UPSTREAM_UNAVAILABLE", message="", terminal=False, retryAfterMs=hint)
    wait = followed.until("waiting")["wait"]
    assert least - 1 <= wait <= most + 1
    page.evaluate("dispatchEvent(new Event('online'))")
    page.clock.run_for(least - 100)
    page.evaluate("fetch('/blank')")
    assert gateway.nothing_opened()
    page.clock.run_for(most - least + 102)
    gateway.stream()


# Silence, sleep and networks that come and go


def test_a_stream_of_which_nothing_is_heard_is_opened_again(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = live(followed, gateway, "a")
    for _ in range(4):
        page.clock.run_for(55_000)
        calls = len(followed.calls())
        stream.send(b": heartbeat\n\n")
        stream.event("modified", object=thing("a"), redacted=[])
        followed.until("live", after=calls)
    assert gateway.nothing_opened()
    page.clock.run_for(MINUTE)
    told = followed.until("waiting")
    assert told["reason"] == "Silent"
    stream.left()
    opened_again(page, gateway, followed, told, "a")


def test_an_opening_of_which_nothing_is_heard_is_given_up(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream()
    page.clock.run_for(MINUTE)
    told = followed.until("waiting")
    assert told["reason"] == "Silent"
    stream.left()
    opened_again(page, gateway, followed, told)


WAKE = {
    "the network is back": "dispatchEvent(new Event('online'))",
    "the tab is looked at": "document.dispatchEvent(new Event('visibilitychange'))",
    "the page was frozen": "document.dispatchEvent(new Event('resume'))",
    "the page was put away": "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
}


@pytest.mark.parametrize("wake", WAKE.values(), ids=WAKE.keys())
def test_who_waits_and_is_woken_tries_soon(page: Page, gateway: Gateway, wake: str) -> None:
    followed = Followed(page)
    waits(page, gateway, followed, 6)
    calls = len(followed.calls())
    gateway.stream().begin().cut()
    assert followed.until("waiting", after=calls)["wait"] >= 14_000
    for _ in range(5):
        page.evaluate(wake)
    page.clock.run_for(510)
    live(followed, gateway, "a")


@pytest.mark.parametrize("wake", WAKE.values(), ids=WAKE.keys())
def test_who_is_woken_doubts_a_stream_that_is_silent_and_not_one_that_is_not(
    page: Page, gateway: Gateway, wake: str
) -> None:
    followed = Followed(page)
    live(followed, gateway).cut()
    followed.until("waiting")  # behind that, nothing of this wait is woken
    page.clock.run_for(2000)
    stream = live(followed, gateway, "a")
    calls = len(followed.calls())
    page.clock.run_for(20_000)
    page.evaluate(wake)
    stream.event("added", object=thing("b"), redacted=[])
    followed.shows("a", "b")
    page.clock.run_for(40_000)
    assert followed.now()["state"] == "live", "what was heard since has cleared the doubt"
    page.evaluate(wake)
    assert followed.until("waiting", calls)["reason"] == "Silent"
    stream.left()


def test_a_tab_that_goes_out_of_sight_is_not_woken(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    live(followed, gateway, "a")
    page.evaluate("Object.defineProperty(document, 'visibilityState', { value: 'hidden' })")
    page.clock.run_for(40_000)
    page.evaluate(WAKE["the tab is looked at"])
    assert followed.now()["state"] == "live"


def test_stopping_ends_a_wait_and_nothing_of_it_is_left(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    gateway.stream().refuse(503, "Overloaded", Retry_After="5")
    followed.until("waiting")
    calls = len(followed.calls())
    followed.do("following.stop()")
    nothing_more(page, gateway)
    assert len(followed.calls()) == calls


def test_what_a_refusal_says_is_the_status_of_kubernetes_or_its_plain_text(
    page: Page, gateway: Gateway
) -> None:
    followed = Followed(page)
    gateway.stream().answer(429, "Too many requests.\n", Content_Type="text/plain", Retry_After="1")
    assert followed.until("waiting")["message"] == "Too many requests."
    page.clock.run_for(4000)
    said = {"kind": "Status", "reason": "Forbidden", "message": "Not you."}
    gateway.stream().answer(403, json.dumps(said))
    told = followed.until("refused")
    assert (told["reason"], told["message"]) == ("Forbidden", "Not you.")

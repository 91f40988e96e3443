"""How many requests a replica serves at once, and that one more is turned away unread (spec 06, Overload)."""

import json

import pytest

from foyer.config import load
from foyer.config.parts import OverloadConfig
from foyer.exchange.exchange import Exchange
from foyer.front.door import Door
from foyer.interruption import Reason
from foyer.measures import Measures
from foyer.observe import Log
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead
from foyer.protocol.h1 import whole_response
from tests.exchange.sides import Browser, Told

PAGES = Pages()
LIMIT = 3


class Unread(RequestHead):
    """A head of which nothing but the target and the method can be had."""

    def __init__(self, target: bytes, method: bytes = b"GET") -> None:
        super().__init__(method, target, [], ended=True)
        del self.fields, self.authority


class Waiting(Door):
    """Routes nothing: what was begun stays open until its browser leaves."""

    def __init__(self, overload: OverloadConfig) -> None:
        self.lines: list[dict[str, object]] = []
        self.measures = Measures()
        super().__init__(PAGES, Log(self._write), self.measures, overload)

    def _route(self, exchange: Exchange, head: RequestHead) -> None:
        pass

    def _write(self, line: bytes) -> bool:
        self.lines.append(json.loads(line))
        return True


@pytest.fixture
def door() -> Waiting:
    return Waiting(load([f"-max-server-requests={LIMIT}", "-overload-retry-after=4s"]).overload)


def begun(door: Waiting, target: bytes = b"/k8s/api", method: bytes = b"GET") -> Browser:
    browser = Browser()
    door.begin(browser, RequestHead(method, target, [], ended=True))
    return browser


def full(door: Waiting) -> list[Browser]:
    return [begun(door) for _ in range(LIMIT)]


def test_the_limit_th_is_served_and_one_more_is_a_503_with_retry_after(door: Waiting) -> None:
    assert [browser.head for browser in full(door)] == [None] * LIMIT
    one_more = begun(door)
    assert one_more.head is not None
    assert one_more.head.status == 503
    assert one_more.head.all(b"krm-foyer-interruption") == [b"Overloaded"]
    assert one_more.head.all(b"retry-after") == [b"4"]
    assert one_more.head.all(b"cache-control") == [b"no-store"]
    one_more.take(1 << 20)
    status = json.loads(one_more.taken)
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 503, "Overloaded")
    assert status["details"]["causes"] == [{"reason": "LimitReached", "field": "concurrency", "message": "3"}]
    assert status["details"]["retryAfterSeconds"] == 4
    assert one_more.head.all(b"content-length") == [b"%d" % len(one_more.taken)]


def test_of_one_too_many_nothing_is_read(door: Waiting) -> None:
    full(door)
    browser = Browser()
    door.begin(browser, Unread(b"/k8s/api"))
    assert browser.head is not None and browser.head.status == 503


@pytest.mark.parametrize("target", [b"/healthz", b"/readyz", b"/healthz?verbose", b"/readyz?a=b"])
def test_a_probe_is_never_refused(door: Waiting, target: bytes) -> None:
    full(door)
    assert begun(door, target).head is None
    assert door.turned_away(target) == b""


@pytest.mark.parametrize(
    "target",
    [
        b"/",
        b"/_foyer/dependencies",
        b"/auth/login",
        b"/healthz/",
        b"/healthzz",
        b"//healthz",
        b"/k8s/healthz",
        b"",
    ],
)
def test_what_is_no_probe_is_held_to_the_limit(door: Waiting, target: bytes) -> None:
    full(door)
    browser = begun(door, target)
    assert browser.head is not None and browser.head.status == 503
    assert door.turned_away(target).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


def test_one_that_ends_makes_room_for_one(door: Waiting) -> None:
    first, *_ = full(door)
    first.leave()
    assert begun(door).head is None
    assert begun(door).head is not None


def test_those_that_were_turned_away_take_no_place_though_they_do_not_read_it(door: Waiting) -> None:
    first, *_ = full(door)
    unread = [begun(door) for _ in range(10)]
    first.leave()
    assert begun(door).head is None
    assert all(browser.told is Told.FINISHED for browser in unread)
    assert len(door.open_exchanges) == LIMIT


def test_the_answer_to_a_head_is_the_same_without_its_content(door: Waiting) -> None:
    full(door)
    get, head = begun(door), begun(door, method=b"HEAD")
    assert get.head is not None and head.head is not None
    assert (head.head.status, head.head.fields, head.head.ended) == (503, get.head.fields, True)
    assert head.taken == b""


def test_over_http_1_it_is_the_same_answer_as_bytes(door: Waiting) -> None:
    assert door.turned_away(b"/k8s/api") == b"", "there is room"
    full(door)
    browser = begun(door)
    browser.take(1 << 20)
    assert browser.head is not None
    fields = [field for field in browser.head.fields if field[0] != b"content-length"]
    assert door.turned_away(b"/k8s/api") == whole_response(503, fields, bytes(browser.taken))


def test_it_is_counted_and_logged_at_once_by_its_limit_and_nothing_of_the_request(door: Waiting) -> None:
    full(door)
    begun(door, b"/k8s/api/v1/namespaces/private/secrets")
    door.turned_away(b"/k8s/api/v1/namespaces/private/secrets")
    assert door.measures.overload_refusals == {"concurrency": 2, "caller-rate": 0}
    assert door.measures.interruptions[Reason.OVERLOADED] == 2
    assert not any(door.measures.reached.values()), "it is no bound"
    for line in door.lines:
        del line["time"]
    assert door.lines == 2 * [
        {"level": "warn", "msg": "limit reached", "reason": "Overloaded", "limit": "concurrency"}
    ]


def test_what_a_browser_still_says_changes_nothing(door: Waiting) -> None:
    full(door)
    browser = begun(door, method=b"POST")
    receiver = browser.receiver
    assert receiver is not None
    receiver.request_body(b"content")
    receiver.request_end()
    receiver.browser_drained()
    browser.take(1 << 20)
    assert browser.told is Told.FINISHED
    gone = begun(door)
    gone.leave()
    assert len(door.open_exchanges) == LIMIT


def test_a_browser_that_takes_nothing_of_it_is_cut_off(door: Waiting) -> None:
    full(door)
    browser = begun(door)
    assert browser.receiver is not None
    browser.receiver.browser_stalled()
    assert browser.told is Told.ABORTED

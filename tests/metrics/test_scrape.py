"""The metrics listener's application, between fake browsers and a fake loop."""

import json
from collections.abc import Callable

import pytest

from foyer.measures import Measures
from foyer.metrics.exposition import Exposition, Format
from foyer.metrics.scrape import Scrapes
from foyer.observe import Log
from foyer.protocol.events import RequestHead
from tests.exchange.sides import Browser, Told

OPEN_METRICS = b"application/openmetrics-text;version=1.0.0"


class Loop:
    """Time, which passes when the test says so, and what was asked for later."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[Timer] = []

    def call_later(self, delay: float, call: Callable[[], None]) -> "Timer":
        self._timers.append(Timer(self.now + delay, call))
        return self._timers[-1]

    def run(self, seconds: float = 0.0) -> None:
        """What is due until then."""
        until = self.now + seconds
        while due := [timer for timer in self._timers if timer.at <= until]:
            timer = min(due, key=lambda timer: timer.at)
            self._timers.remove(timer)
            self.now = max(self.now, timer.at)
            timer.call()
        self.now = until

    @property
    def idle(self) -> bool:
        return not self._timers


class Timer:
    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call

    def cancel(self) -> None:
        raise AssertionError("nobody does")


class Slow(Exposition):
    """An exposition whose every rendering takes work, and is counted."""

    def __init__(self, loop: Loop, work: float) -> None:
        super().__init__(Measures())
        self.loop = loop
        self.work = work
        self.rendered: list[str] = []
        self.broken = False

    def render(self, form: Format) -> bytes:
        self.rendered.append(form.content_type)
        if self.broken:
            raise ZeroDivisionError("a value that nobody should see")
        self.loop.now += self.work
        return b"rendering %d\n" % len(self.rendered)


class Listener:
    """The application of a listener, with what it logs."""

    def __init__(self, work: float = 0.0) -> None:
        self.loop = Loop()
        self.exposition = Slow(self.loop, work)
        self.lines: list[dict[str, object]] = []
        self.scrapes = Scrapes(
            self.exposition, Log(self._write), self.loop.call_later, clock=lambda: self.loop.now
        )

    def _write(self, line: bytes) -> bool:
        self.lines.append(json.loads(line))
        return True

    def ask(self, target: str = "/metrics", method: str = "GET", *accept: bytes) -> Browser:
        browser = Browser()
        fields = [(b"accept", value) for value in accept]
        self.scrapes.begin(browser, RequestHead(method.encode(), target.encode(), fields))
        return browser

    def told(self, target: str, method: str = "GET", *accept: bytes) -> Browser:
        """One that has its answer."""
        browser = self.ask(target, method, *accept)
        self.loop.run()
        return taken(browser)


def taken(browser: Browser) -> Browser:
    browser.take(browser.queued)
    assert browser.told is Told.FINISHED
    return browser


def status(browser: Browser) -> int:
    assert browser.head is not None
    return browser.head.status


def field(browser: Browser, name: bytes) -> list[bytes]:
    assert browser.head is not None
    return browser.head.all(name)


@pytest.mark.parametrize("target", ["/metrics", "/metrics?", "/metrics?collect=all"])
def test_metrics_are_there_whatever_the_query(target: str) -> None:
    browser = Listener().told(target)
    assert (status(browser), bytes(browser.taken)) == (200, b"rendering 1\n")
    assert field(browser, b"content-type") == [b"text/plain; version=0.0.4; charset=utf-8"]
    assert field(browser, b"cache-control") == [b"no-store"]


def test_head_is_get_without_the_text() -> None:
    browser = Listener().told("/metrics", "HEAD")
    assert (status(browser), bytes(browser.taken)) == (200, b"")
    assert field(browser, b"content-length") == [b"12"]


def test_the_format_is_the_one_that_was_asked_for_in_however_many_fields() -> None:
    browser = Listener().told("/metrics", "GET", b"text/html", OPEN_METRICS)
    (found,) = field(browser, b"content-type")
    assert found.startswith(b"application/openmetrics-text; version=1.0.0; charset=utf-8")


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/metrics/",
        "//metrics",
        "/Metrics",
        "/%6Detrics",
        "/healthz",
        "/auth/session",
        "/k8s/api/v1/pods",
        "http://foyer.test/metrics",
        "*",
        "foyer.test:443",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "CONNECT"])
def test_nothing_else_is_there_and_the_answer_is_plain_text(target: str, method: str) -> None:
    listener = Listener()
    browser = listener.told(target, method)
    assert (status(browser), bytes(browser.taken)) == (404, b"There is only /metrics here.\n")
    assert field(browser, b"content-type") == [b"text/plain; charset=utf-8"]
    assert (listener.exposition.rendered, listener.lines) == ([], [])


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "PUT", "get"])
def test_it_is_only_read(method: str) -> None:
    listener = Listener()
    browser = listener.told("/metrics", method)
    assert (status(browser), field(browser, b"allow")) == (405, [b"GET, HEAD"])
    assert bytes(browser.taken) == b"/metrics answers GET and HEAD only.\n"
    assert listener.exposition.rendered == []


def test_scrapes_leave_no_line() -> None:
    listener = Listener()
    listener.told("/metrics")
    listener.ask().leave()
    listener.loop.run(1.0)
    assert listener.lines == []


def test_all_who_ask_in_one_turn_get_one_text_in_each_format() -> None:
    listener = Listener(work=0.001)
    plain = [listener.ask() for _ in range(50)]
    other = [listener.ask("/metrics", "GET", OPEN_METRICS) for _ in range(50)]
    assert {browser.told for browser in plain + other} == {Told.NOTHING}
    listener.loop.run()
    assert len(listener.exposition.rendered) == 2
    assert {bytes(taken(browser).taken) for browser in plain} == {b"rendering 1\n"}
    assert {bytes(taken(browser).taken) for browser in other} == {b"rendering 2\n"}


def test_scrapes_take_a_tenth_of_the_loop_however_often_they_come() -> None:
    listener = Listener(work=0.002)
    browsers: list[Browser] = []
    for _ in range(1000):
        browsers.append(listener.ask())
        listener.loop.run(0.001)
    assert len(listener.exposition.rendered) * listener.exposition.work <= 0.1 * listener.loop.now + 0.002
    listener.loop.run(1.0)
    assert {status(taken(browser)) for browser in browsers} == {200}


def test_whoever_waited_gets_what_there_is_then_and_not_what_there_was() -> None:
    listener = Listener(work=0.002)
    first = listener.told("/metrics")
    second = listener.ask()
    listener.loop.run(0.001)
    assert second.told is Told.NOTHING
    listener.loop.run(0.02)
    assert (bytes(first.taken), bytes(taken(second).taken)) == (b"rendering 1\n", b"rendering 2\n")


def test_nothing_is_rendered_and_no_timer_runs_when_nobody_asks() -> None:
    listener = Listener(work=0.002)
    listener.told("/metrics")
    listener.loop.run(1.0)
    assert (len(listener.exposition.rendered), listener.loop.idle) == (1, True)
    listener.told("/metrics")
    assert len(listener.exposition.rendered) == 2


def test_whoever_has_left_is_no_trouble() -> None:
    listener = Listener()
    gone, there = listener.ask(), listener.ask()
    gone.leave()
    listener.loop.run()
    assert gone.head is None
    assert bytes(taken(there).taken) == b"rendering 1\n"


def test_a_fault_is_a_line_and_cuts_the_scrape_and_the_next_one_works() -> None:
    listener = Listener()
    listener.exposition.broken = True
    browser = listener.ask()
    listener.loop.run()
    assert browser.told is Told.ABORTED
    (line,) = listener.lines
    assert (line["msg"], line["error"]) == ("internal error", "ZeroDivisionError")
    assert "nobody should see" not in json.dumps(line)
    listener.exposition.broken = False
    assert status(listener.told("/metrics")) == 200


def test_what_ends_a_connection_is_logged_as_a_browsers_would_be() -> None:
    listener = Listener()
    listener.scrapes.flood("ping")
    listener.scrapes.unreadable("no request")
    flood, unreadable = listener.lines
    assert (flood["msg"], flood["kind"]) == ("flood", "ping")
    assert (unreadable["msg"], unreadable["reason"]) == ("unreadable", "no request")

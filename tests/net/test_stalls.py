"""Browsers that take nothing of what waits for them (spec 04, Beyond the seed), second by second.

The connections, their wires and their wheel are the real ones; a byte moves when a test moves it. A stall
is seen within two looks, each a second after the other.
"""

import gzip
from collections.abc import Callable

import pytest

from foyer.exchange.endings import Cause, Complete, CutShort
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer, BrowserReceiver, BrowserSide, ResponseBounds
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from tests.exchange.sides import WINDOW, Pool, Upstream
from tests.net.test_browser_clocks import ONE, Browser
from tests.support.raw_frames import GET, PREFACE, Kind, frames, headers, settings, window_update

TIME = 60
"""Seconds, as the default has them."""

LATE = 3
"""Seconds that a stall may be told of later: two looks, and a tick of the wheel."""

ANSWER = bytes(100_000)

INITIAL_WINDOW_SIZE = 0x4
WIDE = settings({INITIAL_WINDOW_SIZE: (1 << 31) - 1}) + window_update(0, (1 << 31) - 65_536)
"""A browser whose windows never close: what it does not take stays in the transport."""


class Slow(Browser):
    """A browser's connection to an application whose exchanges have a write timeout of their own."""

    def __init__(self, tls: str | None = None) -> None:
        super().__init__(tls)
        self.write_timeout: float | None = float(TIME)
        self.own_answer: Answer | None = None

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        exchange = Exchange(self.services, side, head)
        self.exchanges.append(exchange)
        self.heads.append(head)
        if self.own_answer is not None:
            exchange.answer(self.own_answer)
            return exchange
        pool = Pool()
        exchange.forward(head, pool.open, ResponseBounds(1 << 40, self.write_timeout))
        self.pools.append(pool)
        return exchange

    def upstream(self, number: int) -> Upstream:
        side = self.pools[number].side
        assert side is not None
        return side

    def respond(self, number: int = 0, content: bytes = bytes(WINDOW), *, coded: bool = False) -> None:
        """The API server's answer begins, and as much of it comes as may be under way."""
        upstream = self.upstream(number)
        upstream.answer(ResponseHead(200, [(b"content-encoding", b"gzip")] if coded else []))
        upstream.content(content)
        self.turn()

    def cut(self, number: int = 0) -> Cause | None:
        """Why that exchange was cut short, if it was."""
        ending = self.exchanges[number].ending
        return ending.cause if isinstance(ending, CutShort) else None

    def over(self) -> list[object]:
        return list(self.services.endings)


def over_http1(tls: str | None = None) -> Slow:
    browser = Slow(tls)
    browser.bring(ONE)
    return browser


def over_http2(tls: str | None = None, said: bytes = b"", streams: int = 1) -> Slow:
    browser = Slow(tls)
    browser.bring(PREFACE + (said or settings() + window_update(0, 1 << 24)))
    for number in range(streams):
        browser.bring(headers(2 * number + 1, GET))
    browser.take()
    return browser


def take_everything(browser: Slow) -> bytes:
    """All that foyer has to say now: what waits for the transport too."""
    taken = b""
    while piece := browser.take():
        taken += piece
    return taken


def take_a_byte(browser: Slow) -> None:
    assert len(browser.transport.take(1)) == 1
    browser.turn()


def open_the_window_by_a_byte(browser: Slow) -> None:
    browser.take()
    browser.bring(window_update(1, 1))
    browser.take()


SHAPES = [
    pytest.param(lambda: over_http1(), take_a_byte, id="h1"),
    pytest.param(lambda: over_http1("http/1.1"), take_a_byte, id="h1-tls"),
    pytest.param(lambda: over_http2(said=WIDE), take_a_byte, id="h2-transport"),
    pytest.param(lambda: over_http2("h2", WIDE), take_a_byte, id="h2-tls-transport"),
    pytest.param(lambda: over_http2(), open_the_window_by_a_byte, id="h2-window"),
    pytest.param(lambda: over_http2("h2"), open_the_window_by_a_byte, id="h2-tls-window"),
]
"""A connection with a request, and the least that its browser can take."""

shapes = pytest.mark.parametrize(("connect", "take_a_little"), SHAPES)
Connect = Callable[[], Slow]
Take = Callable[[Slow], None]


@shapes
def test_a_browser_that_takes_nothing_for_its_time_is_cut_and_upstream_is_left(
    connect: Connect, take_a_little: Take
) -> None:
    browser = connect()
    browser.respond()
    assert browser.upstream(0).paused
    browser.wait(TIME - 1)
    assert browser.over() == []
    browser.wait(LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]
    assert browser.upstream(0).cancelled


@shapes
def test_a_browser_that_takes_a_byte_now_and_then_is_not(connect: Connect, take_a_little: Take) -> None:
    """However little it is: how long a response may be open is another bound."""
    browser = connect()
    browser.respond()
    for _ in range(12):
        browser.wait(TIME - 5)
        take_a_little(browser)
    assert browser.over() == []
    assert not browser.upstream(0).cancelled
    browser.wait(TIME + LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]


@shapes
def test_a_decoder_behind_a_stalled_browser_is_cut_too(connect: Connect, take_a_little: Take) -> None:
    browser = connect()
    browser.respond(content=gzip.compress(bytes(40_000_000), 9)[:WINDOW], coded=True)
    assert browser.exchanges[0].browser.queued <= 64 * 1024
    browser.wait(TIME + LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]


@shapes
def test_with_off_nobody_is_cut_for_taking_nothing(connect: Connect, take_a_little: Take) -> None:
    browser = connect()
    browser.respond()
    browser.exchanges[0].browser.write_timeout = None
    browser.wait(1800)
    assert browser.over() == []
    assert not browser.is_ended()


@shapes
def test_a_watch_that_has_brought_nothing_is_not_a_stall(connect: Connect, take_a_little: Take) -> None:
    browser = connect()
    browser.upstream(0).answer(ResponseHead(200, []))
    browser.upstream(0).content(b"event\n")
    browser.take()
    browser.wait(600)
    assert browser.over() == []


@shapes
def test_each_stall_has_the_whole_time(connect: Connect, take_a_little: Take) -> None:
    """One that took all there was, and then takes nothing of what comes next."""
    browser = connect()
    browser.respond(content=bytes(50_000))
    browser.wait(TIME - 5)
    for _ in range(10):
        browser.take()
    assert browser.exchanges[0].browser.queued == 0
    browser.wait(30)
    browser.upstream(0).content(bytes(WINDOW))
    browser.turn()
    browser.wait(TIME - 1)
    assert browser.over() == []
    browser.wait(LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]


@shapes
def test_what_is_to_be_delivered_before_an_abort_waits_no_longer(
    connect: Connect, take_a_little: Take
) -> None:
    """The API server failed: what had arrived is delivered first, to whoever takes it."""
    browser = connect()
    browser.respond()
    browser.upstream(0).fail(Failure.RESET)
    browser.turn()
    browser.wait(TIME - 1)
    assert browser.over() == []
    browser.wait(LATE)
    assert browser.over() == [CutShort(Cause.UPSTREAM, Failure.RESET)], "why it was cut at first"


@shapes
def test_an_end_that_is_not_taken_is_a_stall_too(connect: Connect, take_a_little: Take) -> None:
    browser = connect()
    browser.respond()
    browser.upstream(0).end()
    browser.wait(TIME + LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]


@pytest.mark.parametrize("tls", [None, "http/1.1"])
def test_over_http1_the_connection_ends_short_and_without_a_goodbye(tls: str | None) -> None:
    browser = over_http1(tls)
    browser.respond()
    browser.wait(TIME + LATE)
    assert browser.transport.aborted and browser.transport.lost
    assert browser.left == 1
    assert len(browser.offline.wheel) == 0


@pytest.mark.parametrize("tls", [None, "h2"])
def test_over_http2_a_stream_is_reset_and_its_siblings_go_on(tls: str | None) -> None:
    browser = over_http2(tls, streams=3)
    browser.respond(0)
    browser.upstream(1).answer(ResponseHead(200, []))
    take_everything(browser)
    for number in range(TIME + LATE):
        browser.upstream(1).content(b"event %d\n" % number)
        browser.turn()
        said = list(frames(take_everything(browser)))
        assert [frame.payload for frame in said if frame.stream == 3] == [b"event %d\n" % number]
        if browser.over():
            break
        browser.wait(1)
    assert [str(frame) for frame in said if frame.stream == 1] == ["RST_STREAM 1 INTERNAL_ERROR"]
    assert [browser.cut(number) for number in range(3)] == [Cause.WRITE_TIMEOUT, None, None]
    browser.respond(2, b"late")
    late = [str(frame) for frame in frames(take_everything(browser))]
    assert late == ["HEADERS 5", "DATA 5"]
    assert not browser.is_ended()


@pytest.mark.parametrize("tls", [None, "h2"])
def test_a_connection_that_takes_nothing_at_all_is_closed_whole(tls: str | None) -> None:
    """It could not even take the resets of its streams."""
    browser = over_http2(tls, WIDE, streams=3)
    for number in range(3):
        browser.respond(number)
    browser.wait(TIME + LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)] * 3
    assert browser.transport.aborted and browser.transport.lost
    assert len(browser.offline.wheel) == 0


def test_a_connection_that_takes_nothing_stays_for_a_response_that_has_longer() -> None:
    browser = over_http2(said=WIDE, streams=2)
    for number in range(2):
        browser.respond(number)
    browser.exchanges[1].browser.write_timeout = None
    browser.wait(TIME + LATE)
    assert [browser.cut(number) for number in range(2)] == [Cause.WRITE_TIMEOUT, None]
    assert not browser.is_ended()


def test_a_stall_takes_no_siblings_tail_with_it() -> None:
    """The sibling is whole and in the transport, which a slow browser is still reading."""
    said = settings({INITIAL_WINDOW_SIZE: 10}) + window_update(0, 1 << 20)
    browser = over_http2(said=said, streams=2)
    browser.respond(0)
    browser.take()
    browser.wait(TIME - 4)
    browser.bring(window_update(3, 1 << 20))
    browser.respond(1, ANSWER[:60_000])
    browser.upstream(1).end()
    browser.turn()
    browser.transport.take(26_000)
    browser.turn()
    assert browser.over() == [Complete(200)]
    assert browser.connection.wire.congested
    browser.wait(LATE + 3)
    assert browser.cut(0) is Cause.WRITE_TIMEOUT
    assert not browser.transport.aborted
    arrived = list(frames(browser.take()[-9 - 4 :]))
    assert [str(frame) for frame in arrived] == ["RST_STREAM 1 INTERNAL_ERROR"]


def test_a_slow_transport_is_no_sign_of_life_of_a_stream_whose_window_is_shut() -> None:
    """What it takes byte by byte is the sibling's."""
    said = settings({INITIAL_WINDOW_SIZE: 10}) + window_update(0, 1 << 20)
    browser = over_http2(said=said, streams=2)
    browser.respond(0)
    browser.take()
    browser.wait(2)
    browser.bring(window_update(3, 1 << 20))
    browser.respond(1)
    for _ in range(TIME + LATE):
        take_a_byte(browser)
        browser.wait(1)
    assert [browser.cut(number) for number in range(2)] == [Cause.WRITE_TIMEOUT, None]


def test_what_is_on_its_way_to_a_slow_browser_is_taken_as_it_goes() -> None:
    """The window is shut because all that it let through is in the transport, whose every byte counts."""
    browser = over_http2(said=settings({INITIAL_WINDOW_SIZE: 30_000}) + window_update(0, 1 << 20))
    browser.respond()
    assert browser.connection.codec is not None and browser.connection.codec.window(1) == 0
    for _ in range(10):
        browser.wait(TIME - 5)
        assert len(browser.transport.take(2000)) == 2000
    assert browser.over() == []
    browser.take()
    browser.wait(TIME + LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]


def test_each_stream_has_a_time_of_its_own() -> None:
    browser = over_http2(streams=3)
    for number, seconds in enumerate((10.0, 20.0, None)):
        browser.respond(number)
        browser.exchanges[number].browser.write_timeout = seconds
    browser.take()
    for seconds, cut in ((9, 0), (LATE, 1), (19 - 9 - LATE, 1), (LATE, 2), (3600, 2)):
        browser.wait(seconds)
        assert len(browser.over()) == cut


# foyer's own answers


@pytest.mark.parametrize("tls", [None, "h2"])
@pytest.mark.parametrize("size", [1, 100_000])
def test_an_answer_of_foyers_own_has_60_seconds_with_a_window_of_nothing(tls: str | None, size: int) -> None:
    """INITIAL_WINDOW_SIZE 0: it would be the cheapest way to have answers pile up."""
    browser = Slow(tls)
    browser.own_answer = Answer(200, [], bytes(size))
    browser.bring(PREFACE + settings({INITIAL_WINDOW_SIZE: 0}) + headers(1, GET))
    browser.take()
    browser.wait(59)
    assert browser.over() == []
    browser.wait(LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]
    assert str(list(frames(browser.take()))[-1]) == "RST_STREAM 1 INTERNAL_ERROR"


@pytest.mark.parametrize("tls", [None, "http/1.1"])
def test_and_so_it_has_over_http1(tls: str | None) -> None:
    browser = Slow(tls)
    browser.own_answer = Answer(200, [], ANSWER)
    browser.bring(ONE)
    browser.wait(59)
    assert browser.over() == []
    browser.wait(LATE)
    assert browser.over() == [CutShort(Cause.WRITE_TIMEOUT)]
    assert browser.transport.lost


def test_a_window_that_opens_in_time_lets_the_answer_through() -> None:
    browser = Slow()
    browser.own_answer = Answer(200, [], b"hello")
    browser.bring(PREFACE + settings({INITIAL_WINDOW_SIZE: 0}) + headers(1, GET))
    browser.take()
    browser.wait(50)
    browser.bring(window_update(1, 5))
    assert [frame.payload for frame in frames(browser.take()) if frame.kind == Kind.DATA] == [b"hello"]
    assert browser.over() == [Complete(200)]
    browser.wait(30)
    assert not browser.is_ended()

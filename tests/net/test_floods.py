"""Floods on connections: others have their turn, nothing piles up, and an end is an end (spec 03)."""

from itertools import count

import pytest

from foyer.exchange.ports import BrowserSide
from foyer.net.browser import (
    HEAD_TIME,
    KNOWN_AFTER,
    SHORT_LINGER_TIME,
    UPLOAD_STEP,
    UPLOAD_TIME,
    BrowserConnection,
)
from foyer.net.connection import TURN_BYTES
from foyer.net.wire import CHOKED, Wire
from foyer.protocol.events import RequestHead, ResponseHead
from foyer.protocol.floods import HEAD_WORK, TURN_WORK, Flood
from tests.net.offline import Offline, Transport
from tests.support.raw_frames import GET, POST, PREFACE, Kind, data, frame, frames, headers, settings

PING = frame(Kind.PING, 0, bytes(8))
NOTHING = frame(0xBE, 0)
HEAD = [(b":method", b"HEAD"), *GET[1:]]


class Exchange:
    """A request, as whoever answers has it."""

    def __init__(self, side: BrowserSide, head: RequestHead) -> None:
        self.side = side
        self.method = head.method
        self.content = bytearray()
        self.gone = False

    def answer(self) -> None:
        self.side.send_head(
            ResponseHead(204, [(b"set-cookie", bytes(1_000).replace(b"\0", b"x"))], ended=True)
        )

    def request_body(self, data: bytes) -> None:
        self.content += data

    def request_end(self) -> None: ...
    def browser_drained(self) -> None: ...
    def browser_stalled(self) -> None: ...
    def browser_sent(self) -> None: ...
    def browser_gone(self) -> None:
        self.gone = True


class Browsers:
    """Connections to an application that answers HEAD at once and leaves the others open."""

    def __init__(self) -> None:
        self.offline = Offline()
        self.exchanges: list[Exchange] = []
        self.floods: list[str] = []
        self._streams = count(3, 2)

    def connect(self, opening: bytes = PREFACE + settings()) -> Transport:
        """A browser's connection, its settings exchanged."""
        connection = BrowserConnection(self, self.offline.turn, self.offline.wheel, lambda _: None)
        transport = Transport(self.offline.loop, connection.attach(Wire(connection)))
        transport.connection = connection  # type: ignore[attr-defined]
        transport.bring(opening)
        self.offline.run()
        transport.take()
        return transport

    def another_head(self) -> bytes:
        """A request on a stream that no other has."""
        return headers(next(self._streams), HEAD)

    def turn(self) -> None:
        """One turn of the loop."""
        soon, self.offline.loop._soon = self.offline.loop._soon, []
        for call in soon:
            call()
        assert self.offline.loop.faults == []

    # The application.

    def begin(self, side: BrowserSide, head: RequestHead) -> Exchange:
        exchange = Exchange(side, head)
        side.receiver = exchange
        self.exchanges.append(exchange)
        if head.method == b"HEAD":
            exchange.answer()
        return exchange

    def unreadable(self, reason: str) -> None:
        raise AssertionError(reason)

    def flood(self, kind: str) -> None:
        self.floods.append(kind)


def held(transport: Transport) -> int:
    """Bytes that were read and wait for a turn."""
    codec = transport.connection.codec  # type: ignore[attr-defined]
    return codec.held if codec is not None else 0


def test_another_browser_is_served_while_one_floods() -> None:
    browsers = Browsers()
    flooding, other = browsers.connect(), browsers.connect()
    flooding.bring(NOTHING * 900)
    other.bring(headers(1, HEAD))
    browsers.turn()
    browsers.turn()
    assert [str(each) for each in frames(other.take())] == ["HEADERS 1 END_STREAM"]
    assert held(flooding) > 700 * len(NOTHING)
    browsers.offline.run()
    assert held(flooding) == 0


def test_in_how_many_reads_a_flood_comes_makes_no_difference() -> None:
    browsers = Browsers()
    flooding = browsers.connect()
    connection = flooding.connection  # type: ignore[attr-defined]
    for _ in range(6):  # as a read of TLS brings it, a record at a time
        connection.received(NOTHING * (HEAD_WORK - 2))
    assert held(flooding) == (6 * (HEAD_WORK - 2) - HEAD_WORK) * len(NOTHING)
    browsers.offline.run()
    assert held(flooding) == 0


def test_however_many_flood_they_have_one_turns_work_in_a_turn() -> None:
    browsers = Browsers()
    flooding = [browsers.connect() for _ in range(10)]
    for each in flooding:
        each.bring(NOTHING * 200)
    waiting = sum(map(held, flooding))
    while waiting:
        browsers.turn()
        left = sum(map(held, flooding))
        assert waiting - left <= HEAD_WORK * len(NOTHING)
        waiting = left
    assert all(each.reads for each in flooding)


def test_they_take_turns() -> None:
    browsers = Browsers()
    flooding = [browsers.connect() for _ in range(3)]
    for each in flooding:
        each.bring(NOTHING * 10 * HEAD_WORK)
    for _ in range(6):
        browsers.turn()
    assert max(map(held, flooding)) - min(map(held, flooding)) <= HEAD_WORK * len(NOTHING)


def begun_in_a_turn(browsers: Browsers, browser: Transport) -> list[int]:
    """Of twenty requests that come at once, how many each turn begins."""
    before = len(browsers.exchanges)
    browser.bring(b"".join(browsers.another_head() for _ in range(20)))
    begun = [len(browsers.exchanges) - before]
    while sum(begun) < 20:
        browsers.turn()
        begun.append(len(browsers.exchanges) - before - sum(begun))
    browsers.offline.run()
    browser.take()
    return [count for count in begun if count]


def test_a_newcomers_requests_begin_one_a_turn_and_in_batches_once_it_is_known() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    assert begun_in_a_turn(browsers, browser) == [1] * 20
    begun_in_a_turn(browsers, browser)
    assert len(browsers.exchanges) > KNOWN_AFTER
    begun = begun_in_a_turn(browsers, browser)
    assert begun[0] == -(-TURN_WORK // HEAD_WORK)
    assert set(begun[1:-1]) == {-(-(TURN_WORK // 2) // HEAD_WORK)}


def test_of_one_who_broke_the_protocol_the_rest_is_read_and_not_looked_at() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    for _ in range(5):
        browser.bring(PING * 200)
        browsers.offline.run()
    assert browsers.floods == ["ping"]
    browser.take()
    codec = browser.connection.codec  # type: ignore[attr-defined]
    for _ in range(100):
        browser.bring(bytes(TURN_BYTES))
        assert not browser.reads, "a turn's worth"
        browsers.offline.run()
    assert (codec.held, browser.take()) == (0, b"")
    browser.end()
    browsers.offline.run()
    assert browser.closing


def test_what_waits_for_a_turn_is_not_added_to() -> None:
    browsers = Browsers()
    flooding = browsers.connect()
    flooding.bring(NOTHING * 100)
    assert not flooding.reads
    browsers.offline.run()
    assert flooding.reads


def test_requests_that_waited_for_their_turn_are_begun_in_order() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    browser.bring(
        b"".join(
            headers(stream, POST, end=False) + data(stream, b"%d" % stream) for stream in range(1, 61, 2)
        )
    )
    browsers.offline.run()
    assert [bytes(each.content) for each in browsers.exchanges] == [
        b"%d" % stream for stream in range(1, 61, 2)
    ]


def test_no_more_is_read_in_a_turn_than_the_others_can_wait_for() -> None:
    """uvloop reads on, up to 32 times, from a peer who fills its buffer."""
    browsers = Browsers()
    browser = browsers.connect()
    browser.bring(headers(1, POST, end=False))
    browsers.offline.run()
    for _ in range(4):
        browser.bring(data(1, bytes(16_000)))
    reading = [browser.reads]
    browser.bring(data(1, bytes(TURN_BYTES - 64_000)))
    reading.append(browser.reads)
    browsers.offline.run()
    assert [*reading, browser.reads] == [True, False, True]


def test_a_flood_is_told_why_once_and_its_requests_are_over() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    browser.bring(headers(1, GET) + headers(3, POST, end=False))
    browsers.offline.run()
    for _ in range(5):
        browser.bring(PING * 200)
        browsers.offline.run()
    assert browsers.floods == ["ping"]
    assert [each.gone for each in browsers.exchanges] == [True, True]
    last = list(frames(browser.take()))[-1]
    assert str(last) == "GOAWAY 0 3 ENHANCE_YOUR_CALM"
    assert browser.ended
    browser.bring(PING * 1_000)
    browsers.offline.run()
    assert browser.take() == b""


def test_who_goes_on_flooding_has_a_second_to_read_why() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    browser.bring(PING * 1_000)
    browsers.offline.run()
    browsers.offline.pass_time(SHORT_LINGER_TIME + 1)
    assert browser.aborted
    assert browsers.floods == ["ping"]


def test_a_pipelined_flood_has_an_answer_that_says_close() -> None:
    browsers = Browsers()
    head = b"HEAD /a HTTP/1.1\r\nHost: f\r\n\r\n"
    browser = browsers.connect(head)
    said = bytearray()
    browser.bring(head * 3_000)
    while browsers.offline.loop.run():
        said += browser.take()
    assert browsers.floods == ["pipeline"]
    # And the two that waited for no other: the first, and the first of the rest.
    assert len(browsers.exchanges) == Flood.PIPELINE.burst + 2
    assert said.count(b"HTTP/1.1 204") == Flood.PIPELINE.burst + 1
    assert b"connection: close" in said


# A peer that never reads.


def flood_without_reading(browsers: Browsers, browser: Transport) -> None:
    """Requests whose answers have no content, as long as anything is read of them."""
    for _ in range(CHOKED // 1_000 + 1):
        if browser.reads:
            browser.bring(browsers.another_head())
            browsers.offline.run()
    assert held(browser) == 0
    assert not browser.reads


def test_who_takes_nothing_is_not_read_on() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    flood_without_reading(browsers, browser)
    assert len(browser.sent) < CHOKED + 1_024
    browser.take()
    browsers.offline.run()
    assert browser.reads


def test_what_was_read_of_who_takes_nothing_waits_as_well() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    flood_without_reading(browsers, browser)
    browser.take()
    browsers.offline.run()
    browser._wire.write(bytes(CHOKED + 1))
    assert not browser.reads
    browser._wire._owner.received(NOTHING * 900)  # of the same read
    browsers.offline.run()
    assert held(browser) == (900 - TURN_WORK) * len(NOTHING)
    browser.take()
    browsers.offline.run()
    assert held(browser) == 0
    assert browser.reads


def test_who_takes_nothing_while_a_response_is_open_is_ended() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    browser.bring(headers(1, GET))
    browsers.offline.run()
    flood_without_reading(browsers, browser)
    browsers.offline.pass_time(2 * HEAD_TIME + 75)
    assert browsers.floods == ["never_reads"]
    assert browser.lost
    assert browsers.exchanges[0].gone


def test_who_takes_nothing_and_owes_nothing_is_ended_as_idle() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    flood_without_reading(browsers, browser)
    browsers.offline.pass_time(75 + 12)
    assert browser.lost


def test_who_takes_a_little_now_and_then_is_not_ended() -> None:
    browsers = Browsers()
    browser = browsers.connect()
    browser.bring(headers(1, GET))
    browsers.offline.run()
    for _ in range(20):
        flood_without_reading(browsers, browser)
        browsers.offline.pass_time(HEAD_TIME - 1)
        browser.take()
        browsers.offline.run()
    assert browsers.floods == []


# Slow uploads.


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_an_upload_that_drips_is_one_that_stands_still(version: str) -> None:
    browsers = Browsers()
    browser = uploading(browsers, version)
    for _ in range(int(UPLOAD_TIME)):
        if browsers.exchanges[0].gone:
            break
        browser.bring(b"x" if version == "h1" else data(1, b"x"))
        browsers.offline.pass_time(2)
    assert browsers.exchanges[0].gone
    assert browsers.floods == []


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_a_slow_upload_goes_on_as_long_as_it_moves(version: str) -> None:
    browsers = Browsers()
    browser = uploading(browsers, version)
    for _ in range(20):
        piece = bytes(UPLOAD_STEP // 2)
        browser.bring(piece if version == "h1" else data(1, piece))
        browsers.offline.pass_time(UPLOAD_TIME / 2 - 1)
    assert not browsers.exchanges[0].gone


def uploading(browsers: Browsers, version: str) -> Transport:
    if version == "h1":
        return browsers.connect(b"POST /a HTTP/1.1\r\nHost: f\r\nContent-Length: 1000000\r\n\r\n")
    browser = browsers.connect()
    browser.bring(headers(1, POST, end=False))
    browsers.offline.run()
    return browser


@pytest.mark.parametrize("size", [600, 1000, 5000])
def test_an_upload_of_which_more_is_read_than_a_newcomer_has_work_for_goes_on(size: int) -> None:
    browsers = Browsers()
    browser = browsers.connect(b"POST /a HTTP/1.1\r\nHost: f\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n%b\r\n" % (size, bytes(size))
    rest = chunk * (1_000_000 // size)
    while rest:
        assert browser.reads, "it has stopped for good"
        while rest and browser.reads:
            rest = rest[browser.bring(rest) :]
        browsers.offline.run()
    assert len(browsers.exchanges[0].content) == size * (1_000_000 // size)


def test_so_does_one_that_comes_with_its_head_in_one_read_of_tls() -> None:
    """It is told a record at a time, and the head is a newcomer's whole work."""
    browsers = Browsers()
    browser = browsers.connect(b"P")
    connection = browser.connection  # type: ignore[attr-defined]
    connection.received(b"OST /a HTTP/1.1\r\nHost: f\r\nContent-Length: 96000\r\n\r\n")
    for _ in range(6):
        connection.received(bytes(16_000))
    assert not browser.reads
    browsers.offline.run()
    assert len(browsers.exchanges[0].content) == 96_000
    assert browser.reads

"""A stream's place on the wire: its head, its frames, its heartbeats, slow browsers and its ends."""

from collections import Counter
from itertools import pairwise

import pytest

from foyer.exchange.endings import BrowserGone, Cause, Complete, CutShort
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import HIGH_WATER
from foyer.protocol.events import RequestHead
from foyer.streams import errors
from foyer.streams.errors import StreamError
from foyer.streams.sse import HEARTBEAT, HEARTBEAT_INTERVAL
from foyer.streams.stream import Stream, refused
from tests.exchange.sides import Admission, Browser, Services, Told
from tests.streams.following import opening
from tests.streams.staged import Clocked
from tests.streams.wires import events

REFUSED = errors.forbidden("no")


class Feed:
    """A feed that is the test, and counts what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def pause(self) -> None:
        self.told.append("pause")

    def resume(self) -> None:
        self.told.append("resume")

    def cancel(self) -> None:
        self.told.append("cancel")


class Fed:
    """A stream that a test feeds."""

    def __init__(self, clocked: Clocked | None = None) -> None:
        self.clocked = clocked or Clocked()
        self.services = Services()
        self.browser = Browser()
        self.exchange = Exchange(
            self.services, self.browser, RequestHead(b"GET", b"/stream/v1", [], ended=True)
        )
        self.exchange.admission = self.admission = Admission()
        self.opening = opening()
        self.stream = Stream(self.clocked.common, self.exchange, self.opening)
        self.feed = Feed()
        self.stream.wait_for(self.feed)
        self.stream.admitted()

    def take(self) -> bytes:
        """Whatever the browser takes now."""
        before = len(self.browser.taken)
        self.browser.take(1 << 40)
        return bytes(self.browser.taken[before:])


def test_the_head_is_an_event_streams_that_nothing_between_may_hold_back() -> None:
    fed = Fed()
    assert fed.browser.head is not None
    assert (fed.browser.head.status, fed.browser.head.ended) == (200, False)
    assert dict(fed.browser.head.fields) == {
        b"content-type": b"text/event-stream",
        b"x-krm-stream-protocol": b"1",
        b"cache-control": b"no-store, no-transform",
        b"x-accel-buffering": b"no",
        b"x-content-type-options": b"nosniff",
        b"content-security-policy": b"default-src 'none'; sandbox",
        b"referrer-policy": b"no-referrer",
    }
    assert fed.browser.write_timeout == fed.clocked.common.write_timeout


def test_a_frame_is_its_head_and_its_tail() -> None:
    fed = Fed()
    fed.stream.write(b"head", b"tail\n\n")
    fed.stream.write(b"another", b"\n\n")
    assert fed.take() == b"headtail\n\nanother\n\n"


# Heartbeats.


def test_a_heart_beats_at_least_every_twenty_seconds_whatever_else_is_sent() -> None:
    fed = Fed()
    beats = [fed.clocked.now]
    for _ in range(200):
        fed.clocked.wait(1)
        fed.stream.write(b"frame", b"\n\n")
        if HEARTBEAT in fed.take():
            beats.append(fed.clocked.now)
    assert len(beats) > 10
    assert all(after - before <= HEARTBEAT_INTERVAL for before, after in pairwise(beats))
    assert all(after - before >= HEARTBEAT_INTERVAL - 1 for before, after in pairwise(beats[1:]))


def test_hearts_of_streams_that_open_at_once_do_not_beat_at_once() -> None:
    clocked = Clocked()
    streams = [Fed(clocked) for _ in range(190)]
    for _ in range(3):
        at_once: Counter[int] = Counter()
        for second in range(int(HEARTBEAT_INTERVAL)):
            clocked.wait(1)
            at_once[second] = sum(fed.take() == HEARTBEAT for fed in streams)
        assert at_once.total() == 190
        assert max(at_once.values()) <= 10 + 1


def test_no_heart_beats_for_a_browser_that_takes_nothing() -> None:
    fed = Fed()
    fed.stream.write(b"x" * HIGH_WATER, b"x\n\n")
    fed.clocked.wait(100)
    assert HEARTBEAT not in fed.take()
    fed.clocked.wait(HEARTBEAT_INTERVAL)
    assert fed.take() == HEARTBEAT


# Slow browsers.


def test_a_browser_that_is_slow_has_its_feed_wait_once_until_it_takes_more() -> None:
    fed = Fed()
    fed.stream.write(b"x" * HIGH_WATER, b"")
    assert fed.feed.told == []
    fed.stream.write(b"x", b"")
    fed.stream.write(b"x", b"")
    assert fed.feed.told == ["pause"]
    fed.browser.take(HIGH_WATER // 2)
    assert fed.feed.told == ["pause"]
    fed.browser.take(HIGH_WATER // 2)
    assert fed.feed.told == ["pause", "resume"]
    fed.stream.write(b"x" * HIGH_WATER, b"x")
    assert fed.feed.told == ["pause", "resume", "pause"]


# Ends.


@pytest.mark.parametrize("why", [REFUSED, errors.unavailable("later", 5), errors.internal("no")])
def test_an_end_is_clean_and_told_once(why: StreamError) -> None:
    fed = Fed()
    fed.stream.write(b"the error", b"\n\n")
    fed.stream.end(why)
    fed.stream.end(why)
    assert fed.take() == b"the error\n\n"
    assert fed.browser.told is Told.FINISHED
    assert fed.services.endings == [Complete(200)]
    assert fed.clocked.ended == [(fed.opening, why)]
    assert fed.feed.told == ["cancel"]
    assert (len(fed.clocked.wheel), fed.admission.closed) == (0, 1)


@pytest.mark.parametrize("cause", Cause)
def test_a_cut_leaves_the_feed_at_once_and_no_end_follows_it(cause: Cause) -> None:
    fed = Fed()
    fed.stream.write(b"frame", b"\n\n")
    fed.exchange.cut(cause)
    assert fed.feed.told == ["cancel"]
    fed.stream.write(b"more", b"\n\n")
    fed.stream.end(REFUSED)
    fed.stream.drained()
    fed.take()
    assert fed.browser.told is Told.ABORTED
    assert fed.services.endings == [CutShort(cause)]
    assert fed.clocked.ended == []
    assert fed.feed.told == ["cancel"]
    assert (len(fed.clocked.wheel), fed.admission.closed) == (0, 1)


def test_a_browser_that_leaves_is_told_nothing_more() -> None:
    fed = Fed()
    fed.browser.leave()
    fed.stream.write(b"more", b"\n\n")
    fed.stream.end(REFUSED)
    assert fed.services.endings == [BrowserGone()]
    assert (fed.feed.told, fed.clocked.ended) == (["cancel"], [])
    assert (len(fed.clocked.wheel), fed.admission.closed) == (0, 1)


def test_a_fault_cuts_it() -> None:
    fed = Fed()
    fault = RuntimeError()
    fed.stream.failed(fault)
    assert fed.services.faults == [fault]
    assert fed.services.endings == [CutShort(Cause.INTERNAL)]
    assert fed.feed.told == ["cancel"]


def test_a_logout_cuts_an_end_too_that_has_not_been_taken() -> None:
    fed = Fed()
    fed.stream.write(b"the error", b"\n\n")
    fed.stream.end(REFUSED)
    fed.exchange.session_ended()
    assert fed.browser.told is Told.ABORTED
    assert fed.take() == b""


def test_one_that_is_refused_as_it_opens_is_a_whole_answer_of_one_event() -> None:
    answer = refused(errors.scope_invalid("no such field"))
    assert answer.status == 200
    assert dict(answer.fields)[b"content-type"] == b"text/event-stream"
    [event] = events(answer.content)
    assert (event["code"], event["terminal"]) == ("SCOPE_INVALID", True)

"""One exchange between two sides: every way it can end, once."""

import gzip
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from foyer.exchange.endings import BrowserGone, Cause, Complete, CutShort, Ending, Interrupted
from foyer.exchange.exchange import Exchange, State
from foyer.exchange.ports import HIGH_WATER, LOW_WATER, Answer, ResponseBounds
from foyer.interruption import Interruption, Reason
from foyer.protocol.events import Failure, ResponseHead
from tests.exchange.scene import GZIP, Scene, asked
from tests.exchange.sides import WINDOW, Browser, Pool, Services, Told

HELD_BACK = Interruption(Reason.UPSTREAM_CONTENT_HELD_BACK, "held back")

INCOMPRESSIBLE = random.Random(1).randbytes(100_000)


# The way through.


def test_an_answer_passes_whole() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, []))
    scene.upstream.content(b"one")
    scene.upstream.content(b"two")
    scene.upstream.end()
    assert scene.services.endings == []
    scene.browser.take(1 << 20)
    assert (bytes(scene.browser.taken), scene.browser.told) == (b"onetwo", Told.FINISHED)
    assert not scene.upstream.cancelled
    scene.assert_ended(Complete(200))


def test_the_head_and_each_piece_pass_at_once() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, []))
    assert scene.browser.head is not None and scene.browser.head.status == 200
    scene.upstream.content(b"an event\n")
    assert scene.browser.queued == 9


def test_each_member_of_a_gzip_watch_passes_at_once() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, GZIP))
    for number in range(5):
        scene.upstream.content(gzip.compress(b"event %d\n" % number))
        scene.browser.take(1 << 20)
        assert scene.browser.taken.endswith(b"event %d\n" % number)


def test_content_that_comes_before_a_place_upstream_waits_and_goes_up_in_order() -> None:
    scene = Scene(asked(b"POST", ended=False), at_once=False)
    assert scene.browser.paused
    scene.exchange.request_body(b"one")
    scene.exchange.request_body(b"two")
    scene.exchange.request_end()
    scene.pool.place()
    scene.upstream.take(1 << 20)
    assert (bytes(scene.upstream.got), scene.upstream.finished) == (b"onetwo", True)
    assert not scene.browser.paused


def test_once_all_of_its_content_has_come_a_browser_that_waits_is_read_and_seen_to_leave() -> None:
    scene = Scene(asked(b"POST", ended=False), at_once=False)
    scene.exchange.request_body(b"one")
    before = scene.browser.paused
    scene.exchange.request_end()
    assert (before, scene.browser.paused) == (True, False)
    scene.browser.leave()
    assert scene.pool.cancelled
    assert scene.services.endings == [BrowserGone()]


def test_the_browser_is_told_to_go_on_once_its_content_has_a_place_to_go() -> None:
    request = asked(b"POST", ended=False, fields=[(b"expect", b"100-Continue")])
    scene = Scene(request, at_once=False)
    assert scene.browser.informational == []
    scene.pool.place()
    assert scene.browser.informational == [100]


def test_an_upload_waits_for_a_slow_upstream() -> None:
    scene = Scene(asked(b"POST", ended=False))
    scene.exchange.request_body(bytes(HIGH_WATER + 1))
    assert scene.browser.paused
    scene.upstream.take(HIGH_WATER)
    assert not scene.browser.paused


# foyer's own answers.


def test_an_answer_of_foyers_own_is_whole_and_said_to_be() -> None:
    services, browser = Services(), Browser()
    exchange = Exchange(services, browser, asked())
    exchange.answer(Answer(200, [(b"content-type", b"text/plain")], b"hello"))
    assert browser.head is not None
    assert browser.head.all(b"content-length") == [b"5"]
    assert services.endings == []
    browser.take(100)
    assert bytes(browser.taken) == b"hello"
    assert services.endings == [Complete(200)]


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_to_head_has_the_length_and_no_content(status: int) -> None:
    browser = Browser()
    Exchange(Services(), browser, asked(b"HEAD")).answer(Answer(status, [], b"hello"))
    assert browser.head is not None and browser.head.ended
    assert browser.head.all(b"content-length") == [b"5"]
    assert browser.queued == 0


def test_a_204_has_no_length() -> None:
    browser = Browser()
    Exchange(Services(), browser, asked(b"POST")).answer(Answer(204, []))
    assert browser.head is not None and browser.head.ended
    assert browser.head.all(b"content-length") == []


def test_work_that_waits_is_given_up_when_the_browser_leaves() -> None:
    services, browser, work = Services(), Browser(), Pool()
    exchange = Exchange(services, browser, asked())
    exchange.wait_for(work)
    browser.leave()
    assert work.cancelled
    exchange.answer(Answer(200, [], b"too late"))
    assert browser.head is None
    assert services.endings == [BrowserGone()]


# The ways to end early.


def test_a_browser_that_leaves_is_cancelled_upstream_at_once() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, []))
    scene.browser.leave()
    assert scene.upstream.cancelled
    scene.assert_ended(BrowserGone())


def test_a_browser_that_leaves_before_there_is_a_place_waits_no_more() -> None:
    scene = Scene(at_once=False)
    scene.browser.leave()
    assert scene.pool.cancelled
    scene.assert_ended(BrowserGone())


def test_the_end_of_a_session_drops_what_is_queued_and_cancels_upstream_in_the_same_call() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, []))
    scene.upstream.content(b"secret")
    scene.exchange.session_ended()
    assert (scene.browser.queued, scene.browser.told) == (0, Told.ABORTED)
    assert scene.upstream.cancelled
    scene.assert_ended(CutShort(Cause.SESSION_ENDED))


def test_the_end_of_a_session_drops_what_a_failed_upstream_left_behind() -> None:
    """What is delivered before an abort is the old session's too: nothing of it leaves after a logout."""
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, []))
    scene.upstream.content(b"secret")
    scene.upstream.fail(Failure.RESET)
    assert scene.browser.queued == 6
    scene.exchange.session_ended()
    assert scene.browser.queued == 0
    scene.assert_ended(CutShort(Cause.UPSTREAM, Failure.RESET))


def test_the_end_of_a_session_cuts_an_answer_that_was_whole_and_not_yet_taken() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, []))
    scene.upstream.content(b"secret")
    scene.upstream.end()
    scene.exchange.session_ended()
    assert (scene.browser.queued, scene.browser.told) == (0, Told.ABORTED)
    scene.assert_ended(CutShort(Cause.SESSION_ENDED))


@pytest.mark.parametrize("stage", ["waiting", "sent", "relaying"])
def test_a_cut_works_at_every_stage(stage: str) -> None:
    scene = Scene(at_once=stage != "waiting")
    if stage == "relaying":
        scene.upstream.answer(ResponseHead(200, []))
    scene.exchange.cut(Cause.SHUTDOWN)
    assert scene.pool.cancelled if stage == "waiting" else scene.upstream.cancelled
    assert scene.browser.told is Told.ABORTED
    scene.assert_ended(CutShort(Cause.SHUTDOWN))


UNSENT = {
    Failure.TARGET_FULL: Reason.TARGET_TIMEOUT,
    Failure.NOT_ADMITTED: Reason.ADMISSION_TIMED_OUT,
}
"""Of requests that foyer kept to itself, for the load there was."""


@pytest.mark.parametrize("failure", [failure for failure in Failure if failure not in UNSENT])
def test_trouble_before_the_head_is_an_interruption_that_names_its_kind(failure: Failure) -> None:
    for scene in (Scene(), Scene(at_once=False)):
        if scene.pool.side is None:
            scene.pool.fail(failure)
        else:
            scene.upstream.fail(failure)
        assert scene.browser.head is not None and scene.browser.head.status == 502
        scene.browser.take(1 << 20)
        [ending] = scene.services.endings
        assert isinstance(ending, Interrupted)
        assert ending.interruption.reason is Reason.UPSTREAM_UNAVAILABLE
        assert ending.interruption.failure == failure.value


@pytest.mark.parametrize(("failure", "reason"), UNSENT.items())
def test_a_request_that_had_to_wait_too_long_is_told_that_it_was_not_sent(
    failure: Failure, reason: Reason
) -> None:
    scene = Scene(at_once=False, bounds=ResponseBounds(1 << 40, 60.0, retry_after=7))
    scene.pool.fail(failure)
    scene.browser.take(1 << 20)
    [ending] = scene.services.endings
    assert isinstance(ending, Interrupted)
    interruption = ending.interruption
    assert interruption.reason is reason
    waits = failure is Failure.NOT_ADMITTED
    assert interruption.retry_after == (7 if waits else None), "of a full target nobody knows when"
    assert interruption.limit == ("concurrency" if waits else None)
    assert "othing was sent" in interruption.message


def test_trouble_after_the_head_is_an_abort_after_what_had_arrived() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, []))
    scene.upstream.content(b"[1,")
    scene.upstream.fail(Failure.TRUNCATED)
    scene.browser.take(1 << 20)
    assert (bytes(scene.browser.taken), scene.browser.told) == (b"[1,", Told.ABORTED)
    scene.assert_ended(CutShort(Cause.UPSTREAM, Failure.TRUNCATED))


@pytest.mark.parametrize(
    "head", [ResponseHead(204, []), ResponseHead(304, []), ResponseHead(200, [])], ids=repr
)
def test_content_where_none_may_be_is_not_waited_for(head: ResponseHead) -> None:
    """Over HTTP/1.1 it would be read as the head of the next answer."""
    scene = Scene(asked(b"HEAD") if head.status == 200 else asked())
    scene.upstream.answer(head)
    assert scene.browser.head is not None and scene.browser.head.ended
    assert scene.upstream.cancelled  # so nothing more of it arrives
    scene.browser.take(0)
    scene.assert_ended(Complete(head.status))


def test_a_held_back_answer_is_not_read_on() -> None:
    scene = Scene()
    scene.services.held_back = HELD_BACK
    scene.upstream.answer(ResponseHead(200, []))
    assert scene.upstream.cancelled
    scene.browser.take(1 << 20)
    scene.assert_ended(Interrupted(HELD_BACK))


def test_a_fault_of_foyers_own_cuts_the_exchange_and_is_told() -> None:
    scene = Scene()
    scene.services.failing = RuntimeError()
    scene.upstream.answer(ResponseHead(200, []))
    assert scene.services.faults == [scene.services.failing]
    assert scene.browser.told is Told.ABORTED
    assert scene.upstream.cancelled
    assert scene.services.endings == [CutShort(Cause.INTERNAL)]


@pytest.mark.parametrize("at", ["in the head", "in the content", "in the trailer", "at the start"])
def test_gzip_that_stops_within_a_member_is_an_abort_after_what_was_good(at: str) -> None:
    content = INCOMPRESSIBLE[:90_000]
    encoded = gzip.compress(content)
    size = {
        "at the start": 1,
        "in the head": 5,
        "in the content": 40_000,
        "in the trailer": len(encoded) - 1,
    }[at]
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, GZIP))
    scene.upstream.content(encoded[:size])
    scene.upstream.end()
    while not scene.services.endings:
        scene.browser.take(10_000)
    assert content.startswith(scene.browser.taken)
    assert scene.browser.told is Told.ABORTED
    scene.assert_ended(CutShort(Cause.UPSTREAM, Failure.PROTOCOL))


def test_a_gzip_bomb_waits_encoded_while_the_browser_does_not_read() -> None:
    scene = Scene()
    scene.upstream.answer(ResponseHead(200, GZIP))
    scene.upstream.content(gzip.compress(bytes(16 << 20)))
    assert scene.upstream.paused
    assert scene.browser.queued <= 2 * HIGH_WATER
    scene.upstream.end()
    while not scene.services.endings:
        scene.browser.take(1 << 20)
    assert scene.browser.most_queued <= 2 * HIGH_WATER
    assert len(scene.browser.taken) == 16 << 20
    scene.assert_ended(Complete(200))


# Everything at any time.

CAUSES = st.sampled_from(
    [Cause.SESSION_ENDED, Cause.RESPONSE_DURATION, Cause.WRITE_TIMEOUT, Cause.SHUTDOWN, Cause.INTERNAL]
)
SIZES = st.sampled_from([1, 500, LOW_WATER, HIGH_WATER - 1, HIGH_WATER, HIGH_WATER + 1, 50_000, WINDOW])


class Life(RuleBasedStateMachine):
    """The life of one exchange between a browser and an upstream that do anything at any time.

    For `peace` steps nothing goes wrong, so that trouble comes at every stage. `whole` is what the
    browser must have been given when its response ended cleanly.
    """

    scene: Scene

    def __init__(self) -> None:
        super().__init__()
        self.peace = 0
        self.encoded = b""
        self.ends_of_members: dict[int, int] = {}
        self.plain = b""
        self.gzip = False
        self.broken = False
        self.sent = 0
        self.whole: bytes | None = None
        self.limit = 1 << 40
        self.disturbed = False
        self.upload = bytearray()
        self.upload_ended = True
        self.early = 0

    @initialize(
        peace=st.sampled_from([0, 4, 8, 16, 1000]),
        uploads=st.booleans(),
        at_once=st.booleans(),
        coded=st.booleans(),
        sizes=st.lists(SIZES, max_size=5),
        damage=st.sampled_from([None, None, None, "crc", "junk", "truncated"]),
        over=st.sampled_from([None, None, -1, 0, 1, 1000, 40_000, 100_000]),
    )
    def begins(
        self,
        peace: int,
        uploads: bool,
        at_once: bool,
        coded: bool,
        sizes: list[int],
        damage: str | None,
        over: int | None,
    ) -> None:
        """`over` is by how much the content is longer than a response may be, if anything bounds it."""
        self.plain = b"".join(INCOMPRESSIBLE[size:][:size] * 2 for size in sizes)
        if over is not None:
            self.limit = max(1, len(self.plain) - over)
        request = asked(b"POST", ended=False) if uploads else asked()
        self.scene = Scene(request, at_once=at_once, bounds=ResponseBounds(self.limit, 60.0))
        self.peace = peace
        self.upload_ended = not uploads
        self.gzip = coded
        if not coded:
            self.encoded = self.plain
            return
        decoded = 0
        self.ends_of_members[0] = 0
        for size in sizes:
            member = INCOMPRESSIBLE[size:][:size] * 2
            self.encoded += gzip.compress(member, 1)
            decoded += len(member)
            self.ends_of_members[len(self.encoded)] = decoded
        self.broken = damage is not None and bool(sizes)
        if self.broken and damage == "crc":
            del self.ends_of_members[len(self.encoded)]
            crc = bytes(byte ^ 255 for byte in self.encoded[-8:-4])
            self.encoded = self.encoded[:-8] + crc + self.encoded[-4:]
        elif self.broken and damage == "truncated":
            del self.ends_of_members[len(self.encoded)]
            self.encoded = self.encoded[:-4]
        elif self.broken:
            self.encoded += b"junk"

    # The state of things.

    def war(self) -> bool:
        return self.peace <= 0

    def closed(self) -> bool:
        return bool(self.scene.services.endings)

    def waits(self) -> bool:
        return self.scene.pool.waiting is not None

    def asked(self) -> bool:
        side = self.scene.pool.side
        return side is not None and not side.answered and not side.over

    def relays(self) -> bool:
        side = self.scene.pool.side
        return side is not None and side.answered and not side.over

    def has_sent_all(self) -> bool:
        return self.sent == len(self.encoded)

    def may_upload(self) -> bool:
        return not (self.upload_ended or self.closed()) and (
            not self.scene.browser.paused or self.early < WINDOW
        )

    # The browser.

    @precondition(may_upload)
    @rule(size=SIZES)
    def uploads(self, size: int) -> None:
        self.peace -= 1
        if self.scene.browser.paused:
            size = min(size, WINDOW - self.early)
            self.early += size
        self.upload += INCOMPRESSIBLE[:size]
        self.scene.exchange.request_body(INCOMPRESSIBLE[:size])

    @precondition(may_upload)
    @rule()
    def ends_the_upload(self) -> None:
        self.upload_ended = True
        self.scene.exchange.request_end()

    @rule(size=SIZES)
    def takes(self, size: int) -> None:
        self.peace -= 1
        self.scene.browser.take(size)

    @precondition(war)
    @rule()
    def leaves(self) -> None:
        self.disturbed = True
        self.scene.browser.leave()
        assert self.closed()

    # foyer.

    @precondition(war)
    @rule(cause=CAUSES)
    def is_cut(self, cause: Cause) -> None:
        self.disturbed = True
        self.scene.exchange.cut(cause)
        # Nothing waits for a browser that does not read, and nothing of a session outlives it.
        assert self.closed()
        assert self.scene.browser.queued == 0

    # The API server.

    @precondition(waits)
    @rule()
    def has_a_place(self) -> None:
        self.scene.pool.place()

    @precondition(lambda self: self.war() and self.waits())
    @rule(failure=st.sampled_from(Failure))
    def has_no_place(self, failure: Failure) -> None:
        self.disturbed = True
        self.scene.pool.fail(failure)

    @precondition(lambda self: self.scene.pool.side is not None)
    @rule(size=SIZES)
    def takes_the_upload(self, size: int) -> None:
        self.scene.upstream.take(size)
        assert self.upload.startswith(self.scene.upstream.got)

    @precondition(asked)
    @rule(empty=st.booleans(), held_back=st.booleans())
    def answers(self, empty: bool, held_back: bool) -> None:
        if self.war() and held_back:
            self.disturbed = True
            self.scene.services.held_back = HELD_BACK
        ended = self.war() and empty
        if ended:
            self.whole = b""
        self.scene.upstream.answer(ResponseHead(200, GZIP if self.gzip else [], ended=ended))

    @precondition(lambda self: self.relays() and not self.has_sent_all())
    @rule(size=SIZES)
    def sends(self, size: int) -> None:
        self.peace -= 1
        piece = self.encoded[self.sent : self.sent + min(size, self.scene.upstream.window)]
        if piece:
            self.sent += len(piece)
            self.scene.upstream.content(piece)

    @precondition(lambda self: self.relays() and (self.war() or self.has_sent_all()))
    @rule()
    def ends(self) -> None:
        if not self.gzip:
            self.whole = self.plain[: self.sent]
        elif self.sent in self.ends_of_members:
            self.whole = self.plain[: self.ends_of_members[self.sent]]
        else:
            self.broken = True
        self.scene.upstream.end()

    @precondition(lambda self: self.war() and (self.asked() or self.relays()))
    @rule(failure=st.sampled_from(Failure))
    def fails(self, failure: Failure) -> None:
        self.disturbed = True
        self.scene.upstream.fail(failure)

    # What always holds.

    @invariant()
    def nothing_failed_in_foyer(self) -> None:
        assert self.scene.services.faults == []

    @invariant()
    def it_ends_at_most_once_and_gives_everything_back(self) -> None:
        ended = len(self.scene.services.endings)
        assert ended <= 1
        assert self.scene.admission.closed == ended
        assert (self.scene.exchange.state is State.CLOSED) == bool(ended)

    @invariant()
    def nothing_goes_on_upstream_once_it_is_over(self) -> None:
        if self.closed() or self.scene.browser.told is Told.ABORTED:
            assert not self.waits()
            assert self.scene.pool.side is None or self.scene.pool.side.over

    @invariant()
    def what_the_browser_was_told_and_the_ending_agree(self) -> None:
        browser = self.scene.browser
        for ending in self.scene.services.endings:
            match ending:
                case Complete() | Interrupted():
                    assert browser.told is Told.FINISHED
                case CutShort():
                    assert browser.told is Told.ABORTED
                case BrowserGone():
                    assert browser.gone

    @invariant()
    def a_part_never_passes_for_the_whole(self) -> None:
        browser = self.scene.browser
        if browser.head is None or browser.head.status != 200:
            return
        assert self.plain.startswith(browser.taken)
        assert len(browser.taken) + browser.queued <= self.limit
        if browser.told is Told.FINISHED:
            assert self.whole is not None
            assert browser.gone or len(browser.taken) + browser.queued == len(self.whole)

    @invariant()
    def a_browser_that_does_not_read_holds_little(self) -> None:
        assert self.scene.browser.most_queued <= HIGH_WATER + (HIGH_WATER if self.gzip else WINDOW)

        if self.relays() and self.scene.browser.queued > HIGH_WATER:
            assert self.scene.upstream.paused

    @invariant()
    def an_upload_is_not_held_up_by_anyone_but_a_slow_upstream(self) -> None:
        side = self.scene.pool.side
        if side is not None and not side.over:
            assert not self.scene.browser.paused or side.queued >= LOW_WATER
            assert side.finished == self.upload_ended

    def teardown(self) -> None:
        """Everybody does what is left to do: then it must end, and whole if nothing was wrong."""
        if not hasattr(self, "scene"):
            return
        if self.waits():
            self.has_a_place()
        if self.may_upload():
            self.ends_the_upload()
        if self.asked():
            self.scene.upstream.answer(ResponseHead(200, GZIP if self.gzip else []))
        for _ in range(10_000):
            if self.closed():
                break
            self.scene.browser.take(50_000)
            if self.relays():
                self.sends(WINDOW) if not self.has_sent_all() else self.ends()
        assert self.closed(), "a transfer came to a standstill"
        self.it_ends_at_most_once_and_gives_everything_back()
        self.what_the_browser_was_told_and_the_ending_agree()
        self.a_part_never_passes_for_the_whole()
        if self.disturbed or self.broken:
            return
        if self.whole is None or len(self.whole) > self.limit:
            assert self.scene.services.endings == [CutShort(Cause.RESPONSE_BYTES)]
            assert bytes(self.scene.browser.taken) == self.plain[: self.limit]
        else:
            assert self.scene.services.endings == [Complete(200)]
            assert bytes(self.scene.browser.taken) == self.whole


Life.TestCase.settings = settings(max_examples=250, stateful_step_count=30, deadline=None)
TestLife = Life.TestCase


@pytest.mark.parametrize(
    ("end", "ending"),
    [
        ("gone", BrowserGone()),
        ("logged out", CutShort(Cause.SESSION_ENDED)),
        ("stalled", CutShort(Cause.WRITE_TIMEOUT)),
    ],
)
def test_an_interruption_that_nobody_took_is_on_record_beside_the_ending(end: str, ending: Ending) -> None:
    services, browser = Services(), Browser()
    exchange = Exchange(services, browser, asked())
    interruption = Interruption(Reason.UNAUTHORIZED, "You are not signed in.")
    exchange.refuse(interruption)
    {"gone": browser.leave, "logged out": exchange.session_ended, "stalled": exchange.browser_stalled}[end]()
    assert exchange.interruption is interruption
    assert services.endings == [ending]


class Flowing:
    """A flow that only counts what it is told."""

    def __init__(self, *, endless: bool = True) -> None:
        self.endless = endless
        self.drains = 0
        self.cancelled = 0

    def drained(self) -> None:
        self.drains += 1

    def cancel(self) -> None:
        self.cancelled += 1


class Stream:
    """An exchange that flows."""

    def __init__(self) -> None:
        self.services, self.browser, self.flow = Services(), Browser(), Flowing()
        self.exchange = Exchange(self.services, self.browser, asked())
        self.exchange.begin_flow(ResponseHead(200, []), self.flow, 10.0)


def test_a_flow_is_written_as_it_goes_and_ends_cleanly_when_it_says_so() -> None:
    stream = Stream()
    stream.exchange.write(b"one")
    stream.browser.take(10)
    stream.exchange.write(b"two")
    stream.exchange.end_flow()
    stream.exchange.write(b"never")
    stream.browser.take(10)
    assert (bytes(stream.browser.taken), stream.browser.told) == (b"onetwo", Told.FINISHED)
    assert (stream.services.endings, stream.flow.cancelled) == ([Complete(200)], 0)
    assert stream.browser.write_timeout == 10.0


def test_a_flow_is_told_when_its_browser_takes_more() -> None:
    stream = Stream()
    stream.exchange.write(bytes(HIGH_WATER + 1))
    assert stream.flow.drains == 0
    stream.browser.take(HIGH_WATER)
    assert stream.flow.drains == 1


@pytest.mark.parametrize(
    "cause", [Cause.SESSION_ENDED, Cause.RESPONSE_DURATION, Cause.WRITE_TIMEOUT, Cause.SHUTDOWN]
)
def test_a_flow_that_is_cut_writes_no_more(cause: Cause) -> None:
    stream = Stream()
    stream.exchange.write(b"waits")
    stream.exchange.cut(cause)
    stream.exchange.write(b"never")
    stream.exchange.end_flow()
    assert (stream.browser.told, bytes(stream.browser.taken)) == (Told.ABORTED, b"")
    assert (stream.services.endings, stream.flow.cancelled) == ([CutShort(cause)], 1)


def test_a_flow_whose_browser_has_gone_is_cancelled() -> None:
    stream = Stream()
    stream.browser.leave()
    stream.exchange.write(b"never")
    assert (stream.services.endings, stream.flow.cancelled) == ([BrowserGone()], 1)


def test_a_flow_may_still_be_cut_while_its_end_is_being_taken() -> None:
    stream = Stream()
    stream.exchange.write(b"all of it")
    stream.exchange.end_flow()
    stream.exchange.session_ended()
    assert stream.browser.told is Told.ABORTED
    assert stream.services.endings == [CutShort(Cause.SESSION_ENDED)]


class Promised:
    """An exchange whose flow has yet to begin its answer."""

    def __init__(self) -> None:
        self.services, self.browser, self.flow = Services(), Browser(), Flowing()
        self.exchange = Exchange(self.services, self.browser, asked())
        self.exchange.wait_for_flow(self.flow)


def test_a_flow_that_is_waited_for_may_begin() -> None:
    promised = Promised()
    assert promised.browser.head is None
    promised.exchange.begin_flow(ResponseHead(200, []), promised.flow, 10.0)
    promised.exchange.write(b"one")
    promised.exchange.end_flow()
    promised.browser.take(10)
    assert bytes(promised.browser.taken) == b"one"
    assert (promised.services.endings, promised.flow.cancelled) == ([Complete(200)], 0)


def test_or_refuse_and_is_then_cancelled() -> None:
    promised = Promised()
    interruption = Interruption(Reason.ADMISSION_TIMED_OUT, "not now")
    promised.exchange.refuse(interruption)
    promised.browser.take(100)
    assert promised.services.endings == [Interrupted(interruption)]
    assert promised.flow.cancelled == 1


def test_whoever_leaves_or_is_cut_while_it_is_waited_for_has_it_cancelled() -> None:
    gone, cut = Promised(), Promised()
    gone.browser.leave()
    cut.exchange.session_ended()
    assert (gone.flow.cancelled, gone.services.endings) == (1, [BrowserGone()])
    assert (cut.flow.cancelled, cut.services.endings) == (1, [CutShort(Cause.SESSION_ENDED)])


def test_an_exchange_that_waits_for_a_flow_without_an_end_is_endless_by_then() -> None:
    assert Promised().exchange.endless


@pytest.mark.parametrize("endless", [True, False])
def test_an_exchange_is_endless_while_a_flow_without_an_end_writes_it(endless: bool) -> None:
    exchange = Exchange(Services(), Browser(), asked())
    exchange.begin_flow(ResponseHead(200, []), Flowing(endless=endless), None)
    assert exchange.endless is endless


def test_an_exchange_whose_flow_has_ended_is_endless_no_more() -> None:
    stream = Stream()
    stream.exchange.end_flow()
    assert not stream.exchange.endless


def test_a_flow_whose_head_is_all_of_it_is_complete_and_never_asked_for_more() -> None:
    services, browser, flow = Services(), Browser(), Flowing()
    exchange = Exchange(services, browser, asked(b"HEAD"))
    exchange.begin_flow(ResponseHead(200, [(b"content-length", b"7")], ended=True), flow, 10.0)
    browser.take(10)
    assert (services.endings, bytes(browser.taken)) == ([Complete(200)], b"")
    assert (flow.drains, flow.cancelled) == (0, 0)

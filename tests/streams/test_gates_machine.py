"""Streams of both kinds, their sources and the gates of one target, whatever happens to any of them.

What is held is reckoned here from what the sources are doing, after each step: a place and memory for each
that asks for a snapshot or shows one, memory for each cache and for each large event until it has been taken,
a slot for each request without an answer; and nothing for anybody else. Behind the last one every count is
back at zero.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from foyer.admission.reads import Read as ReadAdmitted
from foyer.exchange.endings import Cause
from foyer.protocol.events import Failure, ResponseHead
from foyer.streams.gates import UNFINISHED, _Held, _Room
from foyer.streams.reading import State as Read
from foyer.streams.source import Source
from foyer.streams.source import State as Asking
from foyer.streams.watch import FREE_BYTES
from tests.exchange.sides import Upstream
from tests.streams.following import COMPLETE, CONFIGMAPS, added, config_map, deleted, error, page, status
from tests.streams.gated import Gated, is_look
from tests.streams.sharing import MAY, Stage, Visitor, refused
from tests.streams.staged import JSON, Place, Staged

T = TypeVar("T")

POOL = 400_000
SCOPES = (CONFIGMAPS, CONFIGMAPS + b"&labelSelector=a")
NUMBER = st.integers(0, 1000)
PIECE = st.sampled_from((1, 5000, 50_000, 66_000, 70_000, 95_000, 200_000))
"""Bytes of a line that come at once."""


class Streams(RuleBasedStateMachine):
    """People, an API server that a test is, and others who read there too."""

    gated: Gated
    stage: Stage
    own: list[Staged]
    rests: dict[Upstream, bytes]

    @initialize(at_once=st.booleans(), streaming=st.booleans(), reads=st.integers(1, 3))
    def begin(self, at_once: bool, streaming: bool, reads: int) -> None:
        self.gated = Gated(at_once=at_once, reads=reads, slots=3, pool=POOL)
        self.stage = Stage(clocked=self.gated)
        self.own = []
        self.rests = {}  # of lines that have begun
        if not streaming:
            self.gated.without_streaming.add(("demo", "", "v1"))

    def settle(self) -> None:
        self.stage.settle()

    # People.

    @rule(scope=st.sampled_from(SCOPES))
    def one_opens_a_stream_of_their_own(self, scope: bytes) -> None:
        if len(self.own) < 8:
            self.own.append(Staged(scope, clocked=self.gated))

    @rule(scope=st.sampled_from(SCOPES), who=st.sampled_from(("ada", "bob", "eve")), fast=st.booleans())
    def one_opens_a_shared_stream(self, scope: bytes, who: str, fast: bool) -> None:
        if len(self.stage.visitors) < 12:
            self.stage.open(scope, who, fast=fast)

    @rule(which=NUMBER)
    def one_leaves(self, which: int) -> None:
        for each in some(self.people, which):
            each.browser.leave()

    @rule(which=NUMBER, cause=st.sampled_from(Cause))
    def one_is_cut(self, which: int, cause: Cause) -> None:
        for each in some(self.people, which):
            each.exchange.cut(cause)

    @rule(which=NUMBER, size=st.integers(0, 200_000))
    def one_takes_some(self, which: int, size: int) -> None:
        for each in some(self.people, which):
            each.browser.take(size)

    @rule(who=st.sampled_from(("ada", "bob")))
    def one_may_no_more_or_may_again(self, who: str) -> None:
        denied = self.stage.reviewer.denied
        if denied.pop(who, None) is None:
            denied[who] = "revoked"

    @rule()
    def reviews_fail_or_come_again(self) -> None:
        answers = self.stage.reviewer.answers
        if answers.pop(MAY, None) is None:
            answers[MAY] = refused(500)

    # The API server.

    @rule(which=NUMBER)
    def a_connection_is_found(self, which: int) -> None:
        for place in some(self.waiting, which):
            place.find()

    @rule(which=NUMBER)
    def no_connection_is_found(self, which: int) -> None:
        for place in some(self.waiting, which):
            place.fail()

    @rule(which=NUMBER, size=st.sampled_from((0, 50, 9000, 30_000)), remaining=st.integers(0, 20))
    def it_answers(self, which: int, size: int, remaining: int) -> None:
        for side in some(self.unanswered, which):
            self.answer(side, [item(which, size)] * (which % 3), remaining, whole=which % 4 > 0)

    @rule(which=NUMBER, size=st.sampled_from((50, 9000)), steps=st.integers(1, 4))
    def all_goes_well(self, which: int, size: int, steps: int) -> None:
        for _ in range(steps):
            for place in self.waiting:
                place.find()
            for side in self.unanswered:
                self.answer(side, [item(which, size)], 0, whole=True)
            self.settle()

    @rule(scope=st.sampled_from(SCOPES))
    def one_opens_a_stream_of_their_own_and_all_goes_well(self, scope: bytes) -> None:
        self.one_opens_a_stream_of_their_own(scope)
        self.all_goes_well(0, 50, 4)
        for each in self.people:
            each.browser.take(1 << 20)

    def answer(self, side: Upstream, items: list[bytes], remaining: int, *, whole: bool) -> None:
        assert side.head is not None
        side.answer(ResponseHead(200, JSON))
        if is_look(side.head):
            listed = page(items[:1], token="more" * (remaining > 0))
            counted = b'"metadata":{"remainingItemCount":%d,' % remaining
            end(side, listed.replace(b'"metadata":{', counted, 1))
        elif b"watch=1" not in side.head.target:
            (end if whole else send)(side, page(items, token="more" * (remaining % 4 == 1)))
        elif b"sendInitialEvents" in side.head.target:
            send(side, b"".join(added(item) + b"\n" for item in items) + (COMPLETE + b"\n") * whole)

    @rule(which=NUMBER, code=st.sampled_from((401, 403, 404, 410, 422, 429, 500, 503)), whole=st.booleans())
    def it_refuses(self, which: int, code: int, whole: bool) -> None:
        for side in some(self.unanswered, which):
            side.answer(ResponseHead(code, JSON))
            content = status(code, "sendInitialEvents" if code == 422 else "no")
            (end if whole else send)(side, content)

    @rule(which=NUMBER, size=st.sampled_from((0, 4000, 20_000)), what=st.sampled_from("adcgp"))
    def it_goes_on(self, which: int, size: int, what: str) -> None:
        for side in some(self.answered, which):
            body = config_map(f"u{which % 4}", str(2000 + which), b'{"a":"%b"}' % (b"x" * size))
            lines = {"a": added(body), "d": deleted(body), "c": COMPLETE, "g": error(410)}
            send(side, added(body)[:-3] if what == "p" else lines[what] + b"\n")

    @rule(most=st.integers(1, 6), size=st.sampled_from((60_000, 90_000, 160_000)), piece=PIECE)
    def large_events_begin(self, most: int, size: int, piece: int) -> None:
        line = added(config_map("u1", "3000", b'{"a":"%b"}' % (b"x" * size))) + b"\n"
        watches = [side for side in self.answered if b"watch=1" in target(side) and side not in self.rests]
        for side in watches[-most:]:
            self.rests[side] = line
            self.goes_on(side, piece)

    @rule(piece=PIECE)
    def more_of_them_comes(self, piece: int) -> None:
        for side in [side for side in self.rests if not side.over]:
            self.goes_on(side, piece)

    def goes_on(self, side: Upstream, size: int) -> None:
        """A line that has begun, by so much or as much as the window lets through."""
        rest = self.rests.pop(side)
        came = send(side, rest[:size])
        if came < len(rest) and not side.over:
            self.rests[side] = rest[came:]

    @rule(which=NUMBER)
    def an_answer_ends(self, which: int) -> None:
        for side in some(self.answered, which):
            side.end()

    @rule(which=NUMBER, failure=st.sampled_from((Failure.RESET, Failure.CONNECTION)))
    def an_answer_is_broken_off(self, which: int, failure: Failure) -> None:
        for side in some(self.sides, which):
            side.fail(failure)

    @rule()
    def another_server_goes_by_its_name(self) -> None:
        authority = b"other.test" if self.gated.real.authority == b"api.test" else b"api.test"
        self.gated.real = replace(self.gated.real, authority=authority)
        self.gated.server = replace(self.gated.server, gates=self.gated.real, authority=authority)

    # Others, and time.

    @rule(count=st.integers(1, 3), share=st.integers(0, 4))
    def others_read(self, count: int, share: int) -> None:
        self.gated.crowd(count)
        size = (POOL - self.gated.pool.reserved) * share // 4
        if size and not self.gated.pool.waiting:
            self.gated.fill(size)

    @rule()
    def they_leave(self) -> None:
        self.gated.leave()

    @rule(seconds=st.sampled_from((1, 2, 5, 12, 40)))
    def time_passes(self, seconds: int) -> None:
        self.stage.wait(seconds)

    @rule()
    def the_loop_turns(self) -> None:
        self.settle()

    # What there is.

    @property
    def everybody(self) -> list[Staged | Visitor]:
        return [*self.own, *self.stage.visitors]

    @property
    def people(self) -> list[Staged | Visitor]:
        return [each for each in self.everybody if not each.services.endings]

    @property
    def waiting(self) -> list[Place]:
        return [place for place in self.gated.places if place.waits]

    @property
    def sides(self) -> list[Upstream]:
        sides = [place.side for place in self.gated.places if place.side is not None]
        return [side for side in sides if not side.over]

    @property
    def unanswered(self) -> list[Upstream]:
        return [side for side in self.sides if not side.answered]

    @property
    def answered(self) -> list[Upstream]:
        return [side for side in self.sides if side.answered]

    @property
    def sources(self) -> list[Source]:
        shared = [watch._source for watch in self.stage.shared._watches.values()]
        return [staged.source for staged in self.own] + [source for source in shared if source is not None]

    @invariant()
    def nothing_is_held_but_by_who_reads(self) -> None:
        gated = self.gated
        self.settle()
        assert gated.pool.reserved == sum(map(held_by, self.sources)) + sum(map(memory, gated._others))
        states = [source._reading.state for source in self.sources if source._reading is not None]
        coming = sum(state in (Read.COMING, Read.COME) for state in states)
        entering, others = states.count(Read.ENTERING), len(gated._others)
        assert coming <= gated.limit.admitted <= coming + entering + others
        assert gated.limit.admitted + gated.limit.waiting <= coming + entering + others + len(gated._entries)
        assert gated.pool.reserved <= POOL
        assert (gated.pool.reserved > 0) >= bool(coming or Read.KEPT in states)
        assert (gated.pool.passing < POOL) == (Read.KEPT in states)
        assert gated.pool.waiting <= entering

    @invariant()
    def what_has_come_of_an_event_is_reserved_but_for_a_little(self) -> None:
        for source in self.sources:
            assert source.waiting <= FREE_BYTES or held_by(source) >= source.waiting * UNFINISHED
            if source.state is Asking.OVER:
                assert (source.waiting, held_by(source)) == (0, 0)
            elif not source._paused:
                assert (source._room is not None) == (
                    source._keeper is None
                    and not source._reflector.in_snapshot
                    and source.waiting > FREE_BYTES
                )

    @invariant()
    def a_slot_is_held_by_each_request_until_its_answer(self) -> None:
        kept = [side for side in self.answered if side.head is not None and b"limit=" in side.head.target]
        assert self.gated.cap.in_flight == len(self.waiting) + len(self.unanswered) + len(kept)

    @invariant()
    def who_is_slow_holds_what_has_come_and_who_is_let_in_has_been_sent_a_head(self) -> None:
        for source in self.sources:
            reading = source._reading
            assert (source.state is Asking.ENTERING) == (
                reading is not None and reading.state is Read.ENTERING
            )
            if reading is not None:
                assert reading.state is not Read.OVER
                assert source._paused or reading.state is not Read.COME
                assert source._reflector.in_snapshot == (reading.state in (Read.ENTERING, Read.COMING))
        for staged in self.own:
            if staged.browser.head is None:
                assert staged.source.state in (Asking.ENTERING, Asking.OVER)
        for each in self.everybody:
            assert each.services.faults == []

    def teardown(self) -> None:
        if not hasattr(self, "gated"):
            return
        gated = self.gated
        for each in self.people:
            if not each.browser.gone:
                each.exchange.cut(Cause.SHUTDOWN)
            each.browser.leave()
        gated.leave()
        self.settle()
        self.stage.assert_nothing_is_left()
        for staged in self.own:
            staged.assert_nothing_is_left()
        assert gated.watches == {"user": 0}
        self.stage.close()


def item(which: int, size: int) -> bytes:
    return config_map(f"u{which % 3}", str(10 + which), b'{"a":"%b"}' % (b"x" * size))


def some(of: Sequence[T], which: int) -> Sequence[T]:
    """One of them, where there is any: what a step does must not depend on what another run had by now."""
    return [of[which % len(of)]] if of else []


def end(side: Upstream, content: bytes) -> None:
    """All of an answer."""
    send(side, content)
    if not side.over:
        side.end()


def send(side: Upstream, content: bytes) -> int:
    """As much of it as the window lets through, while anybody reads: how much that was."""
    came = 0
    while came < len(content) and not side.over and side.window > 0:
        piece = content[came : came + side.window]
        came += len(piece)
        side.content(piece)
    return came


def target(side: Upstream) -> bytes:
    """What was asked."""
    assert side.head is not None
    return side.head.target


def memory(read: ReadAdmitted) -> int:
    """What a read holds of the pool."""
    return 0 if read.memory is None else read.memory.size


def held_by(source: Source) -> int:
    """What a source does, for its cycle and for an event."""
    snapshot = None if source._reading is None else source._reading._snapshot
    held = 0
    if snapshot is not None:
        assert isinstance(snapshot, _Held)
        held += memory(snapshot._read)
    if source._room is not None:
        assert isinstance(source._room, _Room) and source._room._memory is not None
        held += source._room._memory.size
    return held


TestStreams = Streams.TestCase
TestStreams.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)

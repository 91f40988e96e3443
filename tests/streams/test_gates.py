"""A stream's snapshot as a read: what lets it in, what it holds, and how long (spec 06, Read admission)."""

from dataclasses import replace
from math import ceil

import pytest

from foyer.exchange.endings import Cause, CutShort, Interrupted
from foyer.exchange.ports import HIGH_WATER, LOW_WATER
from foyer.interruption import Reason
from foyer.protocol.events import Failure, Fields, ResponseHead
from foyer.streams import sse
from foyer.streams.gates import PASSED_ON, STEP, UNFINISHED
from foyer.streams.reflector import STALL
from foyer.streams.source import WHOLE, State
from foyer.streams.watch import FREE_BYTES, MAX_EVENT_BYTES
from tests.exchange.sides import WINDOW, Told, Upstream
from tests.streams.following import COMPLETE, added, config_map, error, modified, page, status
from tests.streams.gated import MIB, RETRY_AFTER, WAIT, Gated
from tests.streams.staged import JSON, TOKEN, Staged

SCOPE = b"version=v1&resource=configmaps&namespace=app"
LINE = added(config_map()) + b"\n"
SNAPSHOT = LINE + COMPLETE + b"\n"


def big(size: int, uid: str = "u1") -> bytes:
    """A line with an object of about so many bytes."""
    return added(config_map(uid, data=b'{"a":"%b"}' % (b"x" * size))) + b"\n"


def let_in(clocked: Gated | None = None, query: bytes = SCOPE, size: int = 0) -> Staged:
    """A stream of a scope that seems to have `size` bytes, and whose snapshot is asked for."""
    clocked = clocked or Gated()
    staged = Staged(query, clocked=clocked)
    clocked.look(config_map(data=b'{"a":"%b"}' % (b"x" * size)))
    assert staged.source.state is State.ASKED
    return staged


def live(clocked: Gated | None = None) -> Staged:
    """Behind its snapshot."""
    staged = let_in(clocked)
    staged.respond(SNAPSHOT)
    assert staged.types == ["reset", "added", "synced"]
    return staged


def gated(staged: Staged) -> Gated:
    assert isinstance(staged.clocked, Gated)
    return staged.clocked


def answered(staged: Staged) -> int | None:
    """The status of its head, once that was sent."""
    head = staged.browser.head
    return None if head is None else head.status


def send(staged: Staged, content: bytes) -> None:
    """More of the newest answer, in the pieces that the window lets through, while anybody reads it."""
    feed(staged.side, content)


def feed(side: Upstream, content: bytes) -> None:
    """The same of an answer that others may have asked behind."""
    while content and not side.over:
        piece, content = content[: side.window], content[side.window :]
        side.content(piece)


# The way in.


def test_nothing_is_sent_before_it_is_let_in_and_then_the_head_is_there_at_once() -> None:
    clocked = Gated(reads=1)
    clocked.crowd(1)
    staged = Staged(clocked=clocked)
    assert answered(staged) is None
    assert (staged.source.state, clocked.places) == (State.ENTERING, [])
    clocked.leave()
    clocked.look(b"{}")
    assert answered(staged) == 200
    assert staged.wire == b""


def test_both_waits_together_may_take_longer_than_a_snapshot_may_be_silent() -> None:
    clocked = Gated(reads=1, pool=MIB)
    clocked.crowd(1)
    staged = Staged(clocked=clocked)
    clocked.wait(WAIT - 1)
    clocked.leave()
    clocked.fill(MIB)
    clocked.look(config_map())
    clocked.wait(WAIT - 1)
    assert staged.source.state is State.ENTERING
    clocked.leave()
    clocked.wait(1)
    assert (staged.source.state, answered(staged)) == (State.ASKED, 200)


def test_heartbeats_begin_with_the_head() -> None:
    clocked = Gated(reads=1)
    clocked.crowd(1)
    staged = Staged(clocked=clocked)
    clocked.wait(WAIT - 1)
    clocked.leave()
    clocked.look(b"{}")
    assert sse.HEARTBEAT not in staged.wire
    clocked.wait(25)
    assert sse.HEARTBEAT in staged.wire


def test_who_waits_for_too_long_at_the_first_gate_is_answered_so() -> None:
    clocked = Gated(reads=1)
    clocked.crowd(1)
    staged = Staged(clocked=clocked)
    clocked.wait(WAIT + 2)
    [ending] = staged.services.endings or [staged.exchange.ending]
    assert isinstance(ending, Interrupted)
    interruption = ending.interruption
    assert (interruption.reason, interruption.limit) == (Reason.ADMISSION_TIMED_OUT, "concurrency")
    assert interruption.retry_after == RETRY_AFTER
    assert answered(staged) == 503
    assert clocked.refused == {"concurrency": 1}
    assert clocked.places == []
    finished(staged)


def test_who_waits_for_too_long_at_the_second_one_is_answered_so() -> None:
    clocked = Gated(pool=MIB)
    clocked.fill(MIB)
    staged = Staged(clocked=clocked)
    clocked.look(config_map())
    assert answered(staged) is None
    assert clocked.limit.admitted == 1  # it keeps its place there
    clocked.wait(WAIT + 2)
    assert isinstance(staged.exchange.ending, Interrupted)
    assert staged.exchange.ending.interruption.limit == "memory"
    assert clocked.refused == {"memory": 1}
    finished(staged)


def test_a_snapshot_larger_than_the_whole_pool_is_told_how_to_be_less() -> None:
    clocked = Gated(pool=MIB)
    staged = Staged(clocked=clocked)
    clocked.look(config_map(), remaining=10_000)
    assert isinstance(staged.exchange.ending, Interrupted)
    interruption = staged.exchange.ending.interruption
    assert interruption.reason is Reason.READ_TOO_LARGE
    assert "Narrow the scope" in interruption.message
    assert "-memory-pool" in interruption.message
    assert interruption.retry_after is None
    assert answered(staged) == 422
    assert clocked.refused == {"too-large": 1}
    assert len(clocked.places) == len(clocked.looks) == 2
    finished(staged)


def finished(staged: Staged) -> None:
    """Its answer is taken, and nothing is left of it."""
    clocked = gated(staged)
    staged.browser.take(1 << 40)
    clocked.leave()
    staged.assert_nothing_is_left()


@pytest.mark.parametrize("gate", ["concurrency", "a look", "memory"])
@pytest.mark.parametrize("how", ["leaves", "session", "duration"])
def test_whoever_leaves_while_it_waits_leaves_both_gates_in_the_same_turn(gate: str, how: str) -> None:
    clocked = Gated(reads=1 if gate == "concurrency" else 2, pool=MIB)
    if gate == "concurrency":
        clocked.crowd(1)
    if gate == "memory":
        clocked.fill(MIB)
    staged = Staged(clocked=clocked)
    if gate == "memory":
        clocked.look(config_map())
    assert staged.source.state is State.ENTERING
    match how:
        case "leaves":
            staged.browser.leave()
        case "session":
            staged.exchange.session_ended()
        case _:
            staged.exchange.duration_reached()
    if how != "leaves":
        assert staged.browser.told is Told.ABORTED
    clocked.leave()
    assert clocked.refused == {}
    staged.assert_nothing_is_left()


def test_one_that_waits_is_a_stream_to_whoever_ends_the_replica() -> None:
    clocked = Gated(reads=1)
    clocked.crowd(1)
    staged = Staged(clocked=clocked)
    assert staged.exchange.endless
    staged.exchange.cut(Cause.SHUTDOWN)
    clocked.leave()
    staged.assert_nothing_is_left()
    assert staged.services.endings == [CutShort(Cause.SHUTDOWN)]


def test_a_fault_as_it_comes_to_the_gates_leaves_nothing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, token: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("foyer.streams.look.Look.start", broken)
    staged = Staged(clocked=Gated())
    assert [type(fault) for fault in staged.services.faults] == [ZeroDivisionError]
    staged.assert_nothing_is_left()


def test_a_fault_on_the_way_in_is_the_streams_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Gated()
    staged = Staged(clocked=clocked)

    def broken(content: bytes) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr("foyer.streams.look.seen", broken)
    clocked.look(config_map())
    assert [type(fault) for fault in staged.services.faults] == [ZeroDivisionError]
    staged.assert_nothing_is_left()


# How much it is expected to take.


def test_a_scope_that_nobody_knows_is_looked_at_with_the_sessions_token_and_no_more_than_that() -> None:
    clocked = Gated()
    Staged(SCOPE + b"&labelSelector=a%3Db", clocked=clocked)
    [look] = clocked.looks
    assert look.head is not None
    assert look.head.target == b"/api/v1/namespaces/app/configmaps?limit=1&labelSelector=a%3Db"
    assert look.head.fields[0] == (b"authorization", b"Bearer " + TOKEN)
    assert clocked.cap.in_flight == 1
    assert clocked.pool.reserved == 0


def test_it_holds_a_slot_until_it_has_been_read() -> None:
    clocked = Gated()
    Staged(clocked=clocked)
    clocked.looks[0].answer(ResponseHead(200, JSON))
    assert clocked.cap.in_flight == 1


def test_its_first_item_times_all_there_are_is_reserved() -> None:
    clocked = Gated()
    staged = Staged(clocked=clocked)
    item = config_map()
    clocked.look(item, remaining=99)
    assert clocked.pool.reserved == ceil(100 * len(item) * PASSED_ON)
    assert staged.source.state is State.ASKED
    assert clocked.cap.in_flight == 1  # the look's is given back


def test_a_list_of_one_is_as_large_as_that_and_an_empty_one_takes_next_to_nothing() -> None:
    for items, size in (([config_map()], len(config_map())), ([], 0)):
        clocked = Gated()
        Staged(clocked=clocked)
        clocked.look(*items)
        assert clocked.pool.reserved == max(1, ceil(size * PASSED_ON))


NO_ANSWERS: dict[str, tuple[int, bytes, Fields]] = {
    "a refusal": (403, status(403, "no"), JSON),
    "no list": (200, b"{}", JSON),
    "no JSON": (200, page([config_map()]), [(b"content-type", b"text/html")]),
    "compressed": (200, page([config_map()]), [*JSON, (b"content-encoding", b"gzip")]),
    "a part of one": (200, page([config_map()])[:-9], JSON),
    "unsaid how many": (200, page([config_map()], token="more"), JSON),
    "too long": (200, b"x" * 96 * 1024, [*JSON, (b"content-length", b"2000000")]),
    "nothing": (200, b"", JSON),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_a_look_that_comes_to_nothing_is_a_guess_and_tells_nobody_anything(name: str) -> None:
    clocked = Gated()
    staged = Staged(clocked=clocked)
    code, content, fields = NO_ANSWERS[name]
    side = clocked.looks[-1]
    side.answer(ResponseHead(code, fields, ended=not content))
    if content and not side.over:
        side.content(content)
    if not side.over:
        side.end()
    clocked.go_on()
    assert clocked.pool.reserved == ceil(MIB * PASSED_ON)
    staged.respond(SNAPSHOT)
    assert staged.types == ["reset", "added", "synced"]


@pytest.mark.parametrize("how", ["no connection", "broken off", "never", "beyond its bound"])
def test_so_is_one_without_a_whole_answer(how: str) -> None:
    clocked = Gated(at_once=how != "no connection")
    staged = Staged(clocked=clocked)
    match how:
        case "no connection":
            clocked.places[0].fail()
        case "broken off":
            clocked.looks[0].answer(ResponseHead(200, JSON))
            clocked.looks[0].fail(Failure.RESET)
        case "never":
            clocked.wait(5)
            assert clocked.looks[0].cancelled
        case _:
            clocked.looks[0].answer(ResponseHead(200, JSON))
            while not clocked.looks[0].over:
                clocked.looks[0].content(b"x" * 64 * 1024)
    clocked.go_on()
    assert clocked.pool.reserved == ceil(MIB * PASSED_ON)
    assert staged.source.state is (State.OPENING if how == "no connection" else State.ASKED)
    staged.browser.leave()
    staged.assert_nothing_is_left()


def test_a_guess_is_never_too_large() -> None:
    clocked = Gated(pool=1000)
    staged = Staged(clocked=clocked)
    clocked.look(config_map(), remaining=None)
    assert clocked.pool.reserved == 1000
    assert staged.source.state is State.ASKED


def test_one_look_serves_all_who_wait_to_read_a_scope() -> None:
    clocked = Gated(reads=8)
    streams = [Staged(clocked=clocked) for _ in range(5)]
    assert len(clocked.looks) == 1
    clocked.look(config_map())
    assert [staged.source.state for staged in streams] == [State.ASKED] * 5
    assert len(clocked.looks) == 1
    assert clocked.pool.reserved == 5 * ceil(len(config_map()) * PASSED_ON)


def test_where_looks_come_to_nothing_who_waits_for_one_is_let_in_once_another_has_read_it() -> None:
    clocked = Gated(reads=8)
    first, *others = [Staged(clocked=clocked) for _ in range(5)]
    clocked.look(config_map(), remaining=None)
    snapshot = next(place.side for place in clocked.places if place.side and place.side not in clocked.looks)
    snapshot.answer(ResponseHead(200, JSON))
    snapshot.content(SNAPSHOT)
    clocked.go_on()
    assert first.types == ["reset", "added", "synced"]
    assert [staged.source.state for staged in others] == [State.ASKED] * 4
    assert len(clocked.looks) == 2
    assert clocked.looks[1].cancelled


def test_what_a_scope_took_is_what_the_next_one_reserves_and_nobody_looks() -> None:
    clocked = Gated()
    live(clocked)
    Staged(clocked=clocked)
    assert len(clocked.looks) == 1
    assert clocked.pool.reserved == ceil(len(SNAPSHOT) * PASSED_ON)


def test_of_another_server_that_goes_by_the_name_of_the_same_target_nothing_is_known() -> None:
    clocked = Gated()
    live(clocked)
    clocked.server = replace(clocked.server, gates=replace(clocked.real, authority=b"other.test"))
    Staged(clocked=clocked)
    assert len(clocked.looks) == 2


def test_another_selector_is_another_scope() -> None:
    clocked = Gated()
    live(clocked)
    Staged(SCOPE + b"&labelSelector=a", clocked=clocked)
    assert len(clocked.looks) == 2


def test_two_projections_are_one_scope() -> None:
    clocked = Gated()
    live(clocked)
    Staged(SCOPE + b"&projection=krm-raw%2Fv1", clocked=clocked)
    assert len(clocked.looks) == 1


def test_of_a_list_what_its_pages_took_together_is_remembered() -> None:
    clocked = Gated()
    clocked.without_streaming.add(("demo", "", "v1"))
    staged = let_in(clocked)
    pages = [page([config_map("u1")], token="more"), page([config_map("u2")])]
    for content in pages:
        staged.answer(content)
        clocked.go_on()
    assert staged.types == ["reset", "added", "added", "synced"]
    assert clocked.estimates.known(clocked.real.key(staged.stream._opening.scope)) == sum(map(len, pages))


# What it holds, and for how long.


def test_its_place_and_its_memory_are_given_back_once_it_has_been_delivered() -> None:
    staged = let_in()
    clocked = gated(staged)
    assert (clocked.limit.admitted, clocked.pool.reserved > 0, clocked.cap.in_flight) == (1, True, 1)
    staged.respond(LINE)
    assert (clocked.limit.admitted, clocked.pool.reserved > 0, clocked.cap.in_flight) == (1, True, 0)
    send(staged, COMPLETE + b"\n")
    assert staged.source.state is State.WATCHING
    clocked.assert_nothing_is_held()


def test_what_a_slow_browser_has_yet_to_take_is_not_delivered() -> None:
    staged = let_in(size=2 * HIGH_WATER)
    clocked = gated(staged)
    staged.respond()
    send(staged, big(HIGH_WATER + 10) + COMPLETE + b"\n")
    assert (clocked.limit.admitted, clocked.pool.reserved > 0) == (1, True)
    staged.browser.take(staged.browser.queued - LOW_WATER + 1)
    clocked.assert_nothing_is_held()


def test_what_was_reserved_beyond_what_came_is_not_held_by_a_slow_browser() -> None:
    staged = let_in(size=HIGH_WATER * 3 // 2)
    clocked = gated(staged)
    content = big(HIGH_WATER + 10) + COMPLETE + b"\n"
    staged.respond()
    send(staged, content)
    assert clocked.limit.admitted == 1
    assert clocked.pool.reserved == ceil(len(content) * PASSED_ON)


def test_what_comes_before_it_has_been_taken_is_no_part_of_it_any_more() -> None:
    clocked = Gated(pool=90_000)
    staged = let_in(clocked, size=HIGH_WATER)
    staged.respond()
    send(staged, big(HIGH_WATER + 10) + COMPLETE + b"\n")
    late = modified(config_map("u2", "11", b'{"a":"%b"}' % (b"x" * 40_000))) + b"\n"
    send(staged, late)  # what was under way as it was paused
    assert clocked.refused == {}
    assert staged.types == ["reset", "added", "synced", "modified"]
    clocked.assert_nothing_is_held()


def test_the_watch_behind_a_list_is_no_part_of_it() -> None:
    clocked = Gated()
    clocked.without_streaming.add(("demo", "", "v1"))
    staged = let_in(clocked)
    assert clocked.cap.in_flight == 1
    staged.respond(page([config_map("u1")]))
    assert clocked.cap.in_flight == 1  # of an answer that is read whole, until it is
    staged.side.end()
    assert clocked.limit.admitted == 0
    assert clocked.pool.reserved == 0
    assert clocked.cap.in_flight == 1  # the watch's, until its head
    staged.respond()
    clocked.assert_nothing_is_held()


def test_whichever_request_of_it_waits_tells_the_limit() -> None:
    clocked = Gated(reads=4)
    let_in(clocked)
    assert clocked.limit.limit == 5
    slow = Gated(reads=4, at_once=False)
    Staged(clocked=slow)
    slow.wait(5)
    assert slow.limit.limit == 2  # the look was given up, and it had waited for too long


@pytest.mark.parametrize("how", ["leaves", "cut", "fails", "refused", "unreadable"])
def test_however_it_ends_before_that_both_are_given_back(how: str) -> None:
    staged = let_in()
    match how:
        case "leaves":
            staged.respond(LINE)
            staged.browser.leave()
        case "cut":
            staged.exchange.cut(Cause.SESSION_ENDED)
        case "fails":
            staged.side.fail(Failure.CONNECTION)
        case "refused":
            staged.answer(status(403, "no"), 403)
        case _:
            staged.respond(b"nonsense\n")
    gated(staged).assert_nothing_is_held()
    staged.browser.take(1 << 40)
    staged.assert_nothing_is_left()


# What takes more than was expected.


def test_what_takes_more_takes_more_memory_at_once_and_in_steps() -> None:
    staged = let_in()
    clocked = gated(staged)
    before = clocked.pool.reserved
    staged.respond()
    send(staged, big(3000))
    assert clocked.pool.reserved == before + STEP
    send(staged, big(3000, "u2"))
    assert clocked.pool.reserved == before + STEP
    send(staged, big(MIB, "u3"))
    assert clocked.pool.reserved >= MIB * PASSED_ON


def test_it_takes_the_last_of_what_there_is() -> None:
    clocked = Gated(pool=int(5000 * PASSED_ON))
    staged = let_in(clocked)
    staged.respond()
    send(staged, big(3000))
    assert clocked.pool.reserved < clocked.pool.size
    assert staged.types == ["reset", "added"]


def test_with_none_left_the_stream_is_unavailable_and_what_it_had_taken_is_remembered() -> None:
    clocked = Gated(pool=10_000)
    staged = let_in(clocked)
    staged.respond()
    send(staged, big(4000) + big(3000, "u2"))
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    [last] = staged.events
    assert last["terminal"] is False
    assert str(last["retryAfterMs"]) == str(1000 * RETRY_AFTER)
    assert staged.browser.told is Told.FINISHED
    assert clocked.refused == {"memory": 1}
    staged.assert_nothing_is_left()
    again = Staged(clocked=clocked)
    assert isinstance(again.exchange.ending, Interrupted)  # it is known by now to be too large
    assert again.exchange.ending.interruption.reason is Reason.READ_TOO_LARGE
    finished(again)


def test_a_page_that_outgrows_it_is_read_no_further() -> None:
    clocked = Gated(pool=10_000)
    clocked.without_streaming.add(("demo", "", "v1"))
    staged = let_in(clocked)
    staged.respond(page([config_map(data=b'{"a":"%b"}' % (b"x" * 9000))])[:8000])
    assert staged.types == ["UPSTREAM_UNAVAILABLE"]
    staged.assert_nothing_is_left()


def test_what_comes_behind_the_snapshot_is_passed_on_and_counts_for_nothing() -> None:
    clocked = Gated(pool=10_000)
    staged = live(clocked)
    clocked.fill(10_000)
    send(staged, modified(config_map(version="11", data=b'{"a":"%b"}' % (b"x" * 20_000))) + b"\n")
    assert staged.types[-1] == "modified"
    clocked.leave()
    clocked.assert_nothing_is_held()


def test_a_refusal_is_no_part_of_a_snapshot() -> None:
    clocked = Gated(pool=1000)
    staged = let_in(clocked)
    staged.answer(status(403, "x" * 5000), 403)
    assert staged.types == ["FORBIDDEN"]


# Later cycles.

LOSSES = {"an end": b"", "gone": error(410) + b"\n"}


def lose(staged: Staged, how: str = "an end") -> None:
    """Continuity is lost."""
    staged.clocked.wait(2)
    if LOSSES[how]:
        send(staged, LOSSES[how])
    else:
        staged.side.end()


@pytest.mark.parametrize("how", LOSSES)
def test_a_later_cycle_passes_the_gates_again(how: str) -> None:
    staged = live()
    clocked = gated(staged)
    clocked.crowd(clocked.limit.limit)
    lose(staged, how)
    assert staged.source.state is State.ENTERING
    assert staged.types[3:] == ["RESYNC_REQUIRED"]
    clocked.leave()
    assert clocked.limit.admitted == 1
    staged.respond(SNAPSHOT)
    assert staged.types[4:] == ["reset", "added", "synced"]
    clocked.assert_nothing_is_held()


def test_one_that_was_lost_on_its_way_is_another_read() -> None:
    staged = let_in()
    clocked = gated(staged)
    staged.respond(LINE)
    clocked.crowd(clocked.limit.limit)  # one of whom waits until this one has left
    lose(staged)
    assert staged.source.state is State.ENTERING
    assert clocked.pool.reserved == 0
    clocked.go_on()
    assert (clocked.limit.admitted, clocked.limit.waiting) == (clocked.limit.limit, 1)


def test_a_stall_that_begins_the_snapshot_again_is_another_read_too() -> None:
    staged = let_in()
    clocked = gated(staged)
    staged.respond(LINE)
    clocked.wait(14)
    clocked.crowd(clocked.limit.limit)
    clocked.wait(3)
    assert staged.source.state is State.ENTERING
    clocked.leave()
    clocked.look(config_map())
    assert staged.target.endswith(b"?limit=500")
    assert clocked.limit.admitted == 1


def test_a_server_without_streaming_lists_is_asked_for_the_list_by_the_same_read() -> None:
    staged = let_in()
    clocked = gated(staged)
    clocked.crowd(clocked.limit.limit)
    staged.answer(status(422, "sendInitialEvents is forbidden", "Invalid"), 422)
    clocked.go_on()
    assert staged.target.endswith(b"?limit=500")
    assert staged.source.state is State.ASKED


def test_later_the_same_refusals_are_events() -> None:
    staged = live()
    clocked = gated(staged)
    clocked.crowd(clocked.limit.limit)
    lose(staged)
    clocked.wait(WAIT + 2)
    assert staged.types[3:] == ["RESYNC_REQUIRED", "UPSTREAM_UNAVAILABLE"]
    assert str(staged.events[-1]["retryAfterMs"]) == str(1000 * RETRY_AFTER)
    assert clocked.refused == {"concurrency": 1}
    finished(staged)


def test_later_one_that_is_too_large_is_a_terminal_event() -> None:
    staged = live()
    clocked = gated(staged)
    clocked.estimates.took(clocked.real.key(staged.stream._opening.scope), clocked.pool.size)
    lose(staged)
    assert staged.types[3:] == ["RESYNC_REQUIRED", "INTERNAL"]
    assert staged.events[-1]["terminal"] is True
    assert "-memory-pool" in staged.events[-1]["message"]
    assert staged.browser.told is Told.FINISHED
    finished(staged)


def test_a_cycle_for_a_browser_that_is_slow_begins_when_it_takes_more() -> None:
    staged = live()
    clocked = gated(staged)
    clocked.wait(2)
    send(staged, modified(config_map(version="11", data=b'{"a":"%b"}' % (b"x" * 40_000))) + b"\n")
    staged.side.end()
    assert staged.source.state is State.HELD
    clocked.assert_nothing_is_held()
    staged.browser.take(1 << 40)
    assert clocked.limit.admitted == 1


# A large event behind the snapshot.

LARGE = modified(config_map(version="11", data=b'{"a":"%b"}' % (b"x" * 300_000))) + b"\n"
UNAVAILABLE = "UPSTREAM_UNAVAILABLE"


def following(pool: int = 10 * MIB) -> tuple[Staged, Gated]:
    """A stream behind its snapshot that takes all it is shown, and holds nothing."""
    clocked = Gated(pool=pool)
    staged = live(clocked)
    clocked.assert_nothing_is_held()
    return staged, clocked


def slow(staged: Staged, rest: bytes) -> None:
    """Its browser takes nothing for a while; `rest` was under way by then."""
    send(staged, big(HIGH_WATER - 2000, "u2"))
    staged.side.content(big(3000, "u3") + rest)
    assert staged.browser.queued > HIGH_WATER


def reserved(size: int) -> int:
    """For so many bytes of an event."""
    return ceil(size * UNFINISHED)


def test_an_ordinary_event_holds_nothing_wherever_it_is_cut_and_however_full_the_pool_is() -> None:
    staged, clocked = following(pool=MIB)
    clocked.fill(MIB)
    line = modified(config_map(version="11", data=b'{"a":"%b"}' % (b"x" * (FREE_BYTES - 500)))) + b"\n"
    for at in range(0, len(line), 1000):
        send(staged, line[at : at + 1000])
        assert clocked.pool.reserved == MIB
    assert staged.types[-1] == "modified"


def test_a_large_one_takes_memory_in_doublings_and_gives_it_back_once_it_has_been_taken() -> None:
    staged, clocked = following()
    held, line = [0], LARGE[:-1]
    for at in range(0, len(line), 10_000):
        send(staged, line[at : at + 10_000])
        if clocked.pool.reserved != held[-1]:
            held.append(clocked.pool.reserved)
        waiting = staged.source.waiting
        assert clocked.pool.reserved >= reserved(waiting) or waiting <= FREE_BYTES
    assert held == [0, reserved(140_000), reserved(300_000), reserved(2 * len(line))]
    send(staged, b"\n")
    assert clocked.pool.reserved == held[-1]  # the frame is on its way to the browser
    assert staged.types[-1] == "modified"
    clocked.assert_nothing_is_held()


def test_one_that_a_page_is_not_shown_holds_nothing_as_soon_as_it_is_whole() -> None:
    staged, clocked = following()
    send(staged, LARGE)
    assert staged.types[-1] == "modified"
    again = LARGE.replace(b'"resourceVersion":"11"', b'"resourceVersion":"12"')
    send(staged, again[:200_000])
    assert clocked.pool.reserved > 0
    send(staged, again[200_000:])
    clocked.assert_nothing_is_held()
    assert (staged.browser.queued, staged.types[3:]) == (0, ["modified"])


def test_the_largest_asks_seven_times_and_one_byte_more_is_too_large() -> None:
    staged, clocked = following(pool=20 * MIB)
    held = {0}
    for _ in range(MAX_EVENT_BYTES // 16_384):
        send(staged, b" " * 16_384)
        held.add(clocked.pool.reserved)
    assert len(held) == 8
    assert max(held) == reserved(MAX_EVENT_BYTES)
    send(staged, b" ")
    assert staged.types[-1] == "INTERNAL"
    clocked.assert_nothing_is_held()
    finished(staged)


def test_what_a_slow_browser_has_yet_to_take_of_it_is_still_held() -> None:
    staged, clocked = following()
    send(staged, LARGE[:200_000])
    send(staged, LARGE[200_000:])
    assert staged.browser.queued > 300_000
    assert clocked.pool.reserved >= reserved(300_000)
    staged.browser.take(staged.browser.queued - LOW_WATER)
    assert clocked.pool.reserved >= reserved(300_000)
    staged.browser.take(1)
    clocked.assert_nothing_is_held()


def test_with_no_room_the_stream_is_unavailable_until_later_and_whoever_waits_keeps_their_turn() -> None:
    staged, clocked = following(pool=3 * MIB)
    side = staged.side
    clocked.fill(3 * MIB)
    waiting = Staged(SCOPE + b"&labelSelector=a", clocked=clocked)
    clocked.look(config_map())
    assert clocked.pool.waiting == 1
    feed(side, b" " * FREE_BYTES)
    assert not side.over
    feed(side, b" ")
    assert staged.types[3:] == [UNAVAILABLE]
    assert staged.events[-1]["terminal"] is False
    assert str(staged.events[-1]["retryAfterMs"]) == str(1000 * RETRY_AFTER)
    assert clocked.refused == {"memory": 1}
    assert (clocked.pool.reserved, clocked.pool.waiting) == (3 * MIB, 1)
    clocked.leave()
    assert waiting.source.state is State.ASKED
    waiting.browser.leave()
    finished(staged)


def test_who_waits_in_line_waits_on_while_an_event_takes_what_is_free() -> None:
    staged, clocked = following(pool=MIB)
    side = staged.side
    clocked.fill(MIB // 2)
    waiting = Staged(SCOPE + b"&labelSelector=a", clocked=clocked)
    clocked.look(config_map(), remaining=3000)
    assert clocked.pool.waiting == 1
    feed(side, LARGE[:100_000])
    assert clocked.pool.reserved == MIB // 2 + reserved(min(200_000, 2 * WINDOW))
    feed(side, LARGE[100_000:])
    assert staged.types[-1] == "modified"
    assert (clocked.pool.reserved, clocked.pool.waiting) == (MIB // 2, 1)
    clocked.leave()
    assert waiting.source.state is State.ASKED


def test_where_there_is_no_room_for_twice_as_much_there_may_be_for_what_has_come() -> None:
    staged, clocked = following(pool=reserved(150_000))
    send(staged, LARGE[:90_000])
    assert clocked.pool.reserved == reserved(90_000)
    send(staged, LARGE[90_000:150_000])
    assert clocked.pool.reserved == clocked.pool.size
    send(staged, LARGE[150_000:-1])
    assert staged.types[-1] == UNAVAILABLE
    clocked.assert_nothing_is_held()


ENDS = ("leaves", "cut", "broken off", "unreadable", "an end", "gone", "not whole")


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("how", ENDS)
def test_however_the_watch_ends_within_it_nothing_of_it_is_held(how: str, is_slow: bool) -> None:
    staged, clocked = following()
    clocked.wait(2)
    if is_slow:
        slow(staged, b" " * 70_000)
    else:
        send(staged, b" " * 70_000)
    assert clocked.pool.reserved == reserved(140_000)
    match how:
        case "leaves":
            staged.browser.leave()
        case "cut":
            staged.exchange.cut(Cause.SESSION_ENDED)
        case "broken off":
            staged.side.fail(Failure.RESET)
        case "unreadable":
            staged.side.content(b"}\n")
        case "an end":
            staged.side.end()
        case "gone":
            staged.side.content(error(410) + b"\n")
        case _:
            staged.side.content(added(b"{}") + b"\n")
    if how in ("leaves", "cut", "unreadable"):
        clocked.assert_nothing_is_held()
        finished(staged)
        return
    if is_slow:
        assert staged.source.state is State.HELD  # and what waits for its browser may be as large
        assert clocked.pool.reserved == reserved(140_000)
    assert "RESYNC_REQUIRED" in staged.types
    assert (clocked.limit.admitted, staged.source.state) == (1, State.ASKED)
    assert clocked.pool.reserved == ceil(len(SNAPSHOT) * PASSED_ON)  # the next cycle's


def test_one_that_stands_still_is_given_up_as_a_snapshot_is_and_a_small_one_is_not() -> None:
    staged, clocked = following()
    send(staged, b" " * FREE_BYTES)
    clocked.wait(100)
    assert not staged.side.over
    send(staged, b" ")
    for _ in range(3):
        clocked.wait(STALL - 1)
        send(staged, b" ")
    assert clocked.pool.reserved == reserved(2 * (FREE_BYTES + 1))
    clocked.wait(STALL + 2)
    assert staged.types[3:] == [UNAVAILABLE]
    clocked.assert_nothing_is_held()
    finished(staged)


def drip(staged: Staged, seconds: float) -> None:
    """For so long a byte is sent in time for no stall, and nothing more."""
    clocked = gated(staged)
    until = clocked.now + seconds
    while clocked.now < until and not staged.side.over:
        staged.side.content(b" ")
        clocked.wait(min(STALL - 2, until - clocked.now))


def test_one_that_comes_byte_by_byte_holds_memory_for_its_time_and_no_longer() -> None:
    staged, clocked = following()
    drip(staged, 10 * WHOLE)  # within what is held for nothing
    send(staged, b" " * FREE_BYTES)
    assert clocked.pool.reserved > 0
    drip(staged, WHOLE - 2)
    assert not staged.side.over
    drip(staged, 4)
    assert staged.types[3:] == [UNAVAILABLE]
    clocked.assert_nothing_is_held()
    finished(staged)


def test_the_next_one_has_a_time_of_its_own_though_it_came_with_the_end_of_the_one_before() -> None:
    staged, clocked = following()
    send(staged, LARGE[:-1])
    drip(staged, WHOLE - 10)
    staged.side.window = 1 << 20
    send(staged, b"\n" + b" " * (FREE_BYTES + 1))
    assert staged.types[3:] == ["modified"]  # which its browser has taken at once
    drip(staged, WHOLE - 2)
    assert not staged.side.over
    drip(staged, 4)
    assert staged.types[3:] == ["modified", UNAVAILABLE]
    clocked.assert_nothing_is_held()
    finished(staged)


def test_the_time_of_a_slow_browser_is_no_standing_still_and_a_whole_one_leaves_no_deadline() -> None:
    staged, clocked = following()
    slow(staged, LARGE[:70_000])
    clocked.wait(100)
    assert not staged.side.over
    staged.browser.take(1 << 40)
    send(staged, LARGE[70_000:])
    assert staged.types[-1] == "modified"
    clocked.wait(100)
    assert not staged.side.over
    assert staged.source.slot < 0
    clocked.assert_nothing_is_held()


def test_within_a_snapshot_it_is_counted_once_as_all_that_comes_is() -> None:
    clocked = Gated()
    staged = Staged(clocked=clocked)
    clocked.look(config_map(), remaining=3000)
    before = clocked.pool.reserved
    assert before > len(LARGE) * PASSED_ON
    staged.respond()
    send(staged, LARGE[:-1])
    assert (clocked.pool.reserved, staged.source._room) == (before, None)
    send(staged, b"\n" + COMPLETE + b"\n")
    assert staged.types == ["reset", "added", "synced"]
    clocked.assert_nothing_is_held()


def test_behind_one_that_a_slow_browser_has_yet_to_take_a_large_event_counts_by_itself() -> None:
    staged = let_in(size=2 * HIGH_WATER)
    clocked = gated(staged)
    staged.respond()
    rest = COMPLETE + b"\n" + LARGE[:70_000]
    slow(staged, rest)
    snapshot = len(big(HIGH_WATER - 2000, "u2") + big(3000, "u3") + rest)
    assert clocked.pool.reserved == ceil(snapshot * PASSED_ON) + reserved(140_000)
    staged.browser.take(1 << 40)
    assert clocked.pool.reserved == reserved(140_000)
    send(staged, LARGE[70_000:])
    assert staged.types[-1] == "modified"
    clocked.assert_nothing_is_held()


def test_lines_that_never_end_take_no_more_than_the_pool_and_what_is_free_for_each() -> None:
    clocked = Gated(reads=64, pool=4 * MIB)
    streams, sides = [live(clocked)], [clocked.places[-1].side]
    for _ in range(29):
        streams.append(Staged(clocked=clocked))
        sides.append(streams[-1].side)
        streams[-1].respond(SNAPSHOT)
        assert streams[-1].types == ["reset", "added", "synced"]
    for _ in range(40):
        for side in sides:
            assert side is not None
            feed(side, b" " * 16_000)
        assert clocked.pool.reserved <= clocked.pool.size
        waiting = [staged.source.waiting for staged in streams]
        assert sum(size for size in waiting if size > FREE_BYTES) * UNFINISHED <= clocked.pool.reserved
    ended = [staged for staged in streams if staged.source.state is State.OVER]
    assert 0 < len(ended) < len(streams)
    assert {staged.types[-1] for staged in ended} == {UNAVAILABLE}
    assert clocked.refused == {"memory": len(ended)}
    for staged in streams:
        staged.browser.leave()
    clocked.assert_nothing_is_held()

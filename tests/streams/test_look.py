"""A look at a scope's first item: once more where one object's word would be a refusal (spec 06, Memory)."""

from dataclasses import replace
from math import ceil

import pytest

from foyer.exchange.endings import Interrupted
from foyer.interruption import Reason
from foyer.protocol.events import Failure, ResponseHead
from foyer.streams import look
from foyer.streams.gates import PASSED_ON
from foyer.streams.source import State
from tests.streams.following import config_map, page, status
from tests.streams.gated import MIB, Gated
from tests.streams.staged import JSON, TOKEN, Staged

LARGE = config_map("large", data=b'{"a":"%b"}' % (b"x" * 40_000))
SMALL = config_map("small")


def listed(*items: bytes, remaining: int | None = None, token: str = "more") -> bytes:
    """A list that goes on, and says how many remain if it does."""
    said = b"" if remaining is None else b'"remainingItemCount":%d,' % remaining
    return page(items, token=token).replace(b'"metadata":{', b'"metadata":{' + said, 1)


def large_first(remaining: int = 150) -> tuple[Gated, Staged]:
    """A stream of a scope that its first item makes larger than all there is."""
    clocked = Gated(pool=MIB // 2)
    staged = Staged(clocked=clocked)
    clocked.answer_look(listed(LARGE, remaining=remaining))
    return clocked, staged


def assert_too_large(staged: Staged) -> None:
    ending = staged.exchange.ending
    assert isinstance(ending, Interrupted)
    assert ending.interruption.reason is Reason.READ_TOO_LARGE
    staged.browser.take(1 << 40)
    staged.assert_nothing_is_left()


def test_a_large_object_before_small_ones_is_no_refusal_for_the_next_one_speaks_for_the_rest() -> None:
    clocked, staged = large_first()
    assert staged.exchange.ending is None
    first, second = clocked.looks
    assert first.head is not None and second.head is not None
    assert second.head.target == first.head.target + b"&continue=more"
    assert second.head.fields[0] == (b"authorization", b"Bearer " + TOKEN)
    assert (clocked.limit.admitted, clocked.cap.in_flight) == (1, 1)
    clocked.answer_look(listed(SMALL, remaining=149))
    assert clocked.pool.reserved == ceil((len(LARGE) + 150 * len(SMALL)) * PASSED_ON)
    assert staged.source.state is State.ASKED


def test_so_is_it_where_the_next_one_is_the_last() -> None:
    clocked, staged = large_first(remaining=9)
    clocked.answer_look(page([SMALL]))
    assert clocked.pool.reserved == ceil((len(LARGE) + len(SMALL)) * PASSED_ON)
    assert staged.source.state is State.ASKED


def test_what_two_say_is_the_last_word() -> None:
    clocked, staged = large_first()
    clocked.answer_look(listed(LARGE, remaining=149))
    assert len(clocked.looks) == 2
    assert_too_large(staged)


@pytest.mark.parametrize("how", ["refused", "gone", "no list", "unsaid", "broken off", "too late"])
def test_a_second_look_that_says_nothing_leaves_the_word_to_the_first(how: str) -> None:
    clocked, staged = large_first()
    second = clocked.looks[-1]
    match how:
        case "refused" | "gone":
            second.answer(ResponseHead(403 if how == "refused" else 410, JSON))
            if not second.over:
                second.content(status(410))
        case "no list":
            clocked.answer_look(b"{}")
        case "unsaid":
            clocked.answer_look(listed(SMALL))
        case "broken off":
            second.fail(Failure.RESET)
        case _:
            clocked.wait(5)
            assert second.cancelled
    clocked.go_on()
    assert_too_large(staged)


def test_what_fits_is_not_looked_at_again_and_neither_is_what_cannot_be_gone_on_from() -> None:
    clocked = Gated(pool=MIB // 2)
    Staged(clocked=clocked)
    clocked.answer_look(listed(SMALL, remaining=150))
    assert len(clocked.looks) == 1
    clocked = Gated(pool=MIB // 2)
    staged = Staged(clocked=clocked)
    clocked.answer_look(listed(LARGE, remaining=150, token="x" * 9000))
    assert len(clocked.looks) == 1
    assert_too_large(staged)


def test_what_takes_exactly_all_there_is_needs_no_second_look() -> None:
    size = 20 * len(SMALL)
    for pool, looks in ((ceil(size * PASSED_ON), 1), (ceil(size * PASSED_ON) - 1, 2)):
        clocked = Gated(pool=pool)
        Staged(clocked=clocked)
        clocked.answer_look(listed(SMALL, remaining=19))
        assert len(clocked.looks) == looks


def test_the_second_one_is_read_as_far_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "MOST", len(listed(LARGE, remaining=150)))
    clocked, staged = large_first()
    clocked.answer_look(listed(SMALL, remaining=149))
    assert staged.source.state is State.ASKED


def test_whoever_leaves_during_the_second_one_leaves_everything() -> None:
    clocked, staged = large_first()
    staged.browser.leave()
    assert clocked.looks[-1].cancelled
    staged.assert_nothing_is_left()


def test_all_who_wait_are_told_what_both_have_found() -> None:
    clocked = Gated(pool=MIB // 2)
    streams = [Staged(clocked=clocked) for _ in range(2)]
    clocked.answer_look(listed(LARGE, remaining=150))
    clocked.answer_look(listed(SMALL, remaining=149))
    assert len(clocked.looks) == 2
    assert [staged.source.state for staged in streams] == [State.ASKED] * 2


def test_of_an_answer_no_more_is_read_than_one_object_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "MOST", 100_000)
    clocked = Gated()
    Staged(clocked=clocked)
    clocked.looks[0].answer(ResponseHead(200, JSON))
    clocked.looks[0].content(b"x" * 60_000)
    assert not clocked.looks[0].over
    clocked.looks[0].content(b"x" * 60_000)
    assert clocked.looks[0].cancelled
    Staged(clocked=clocked)
    clocked.looks[-1].answer(ResponseHead(200, [*JSON, (b"content-length", b"100001")]))
    assert clocked.looks[-1].cancelled


def test_nor_than_any_answer_may_have() -> None:
    clocked = Gated()
    clocked.server = replace(clocked.server, gates=replace(clocked.real, look_bytes=50_000))
    Staged(clocked=clocked)
    clocked.looks[0].answer(ResponseHead(200, JSON))
    clocked.looks[0].content(b"x" * 50_001)
    assert clocked.looks[0].cancelled

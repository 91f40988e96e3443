"""A whole answer or a failure: bounded, timed, and given up when nobody waits."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

from foyer.exchange.ports import Answer, FetchFailed
from foyer.net.whole import whole_answer
from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead
from tests.exchange.sides import Pool, Upstream

LIMIT = 10
LONG = 3600.0

Scene = Callable[[Pool, "asyncio.Task[Answer]"], Any]


def asked(scene: Scene, content: bytes = b"", *, timeout: float = LONG, at_once: bool = True) -> Answer:
    """The outcome of one question, whose upstream `scene` plays."""

    async def run() -> Answer:
        pool = Pool(at_once=at_once)
        head = RequestHead(b"POST", b"/path", [(b"accept", b"a/b")], authority=b"server", ended=False)
        task = asyncio.create_task(
            whole_answer(pool.open, head, content, limit=LIMIT, timeout=timeout), name="question"
        )
        await asyncio.sleep(0)
        scene(pool, task)
        return await task

    return asyncio.run(run())


def failure(scene: Scene, *, timeout: float = LONG, at_once: bool = True) -> Failure:
    with pytest.raises(FetchFailed) as failed:
        asked(scene, timeout=timeout, at_once=at_once)
    return failed.value.failure


def upstream(pool: Pool) -> Upstream:
    assert pool.side is not None
    return pool.side


def answering(status: int, fields: Fields, *pieces: bytes) -> Scene:
    """An upstream that answers in these pieces and ends."""

    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        side = upstream(pool)
        side.answer(ResponseHead(status, fields, ended=not pieces))
        for piece in pieces:
            if not side.over:
                side.content(piece)
        if not side.over:
            side.end()

    return scene


def test_an_answer_comes_whole_whatever_its_status() -> None:
    fields: Fields = [(b"content-type", b"a/b")]
    answer = asked(answering(404, fields, b"no", b"", b"t here"))
    assert (answer.status, answer.fields, answer.content) == (404, fields, b"not here")


def test_an_answer_may_be_its_head_alone() -> None:
    assert asked(answering(204, [])) == Answer(204, [], b"")


def test_the_request_goes_up_with_its_length_and_asks_for_no_coding() -> None:
    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        side = upstream(pool)
        side.take(100)
        head = side.head
        assert head is not None
        assert (head.method, head.target, head.authority) == (b"POST", b"/path", b"server")
        assert sorted(head.fields) == [
            (b"accept", b"a/b"),
            (b"accept-encoding", b"identity"),
            (b"content-length", b"4"),
        ]
        assert (head.ended, bytes(side.got), side.finished) == (False, b"body", True)
        answering(200, [])(pool, task)

    asked(scene, b"body")


def test_a_request_without_content_is_its_head_alone() -> None:
    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        head = upstream(pool).head
        assert head is not None
        assert head.ended
        assert not head.all(b"content-length")
        answering(200, [])(pool, task)

    asked(scene)


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT])
@pytest.mark.parametrize("told", [True, False])
def test_the_limit_itself_passes(size: int, told: bool) -> None:
    length = [(b"content-length", b"%d" % size)] if told else []
    assert asked(answering(200, length, b"a" * size)).content == b"a" * size


@pytest.mark.parametrize("length", [b"11", b"9" * 5000, b"-1", b"", b"1,1", b"0x1"])
def test_a_length_past_the_limit_is_dropped_unread(length: bytes) -> None:
    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        upstream(pool).answer(ResponseHead(200, [(b"content-length", length)]))
        assert upstream(pool).cancelled

    assert failure(scene) is Failure.TOO_LARGE


def test_content_past_the_limit_is_dropped_there() -> None:
    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        side = upstream(pool)
        side.answer(ResponseHead(200, []))
        side.content(b"a" * LIMIT)
        assert not side.cancelled
        side.content(b"a")
        assert side.cancelled

    assert failure(scene) is Failure.TOO_LARGE


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"identity, gzip", b""])
def test_a_coding_nobody_asked_for_is_a_failure(coding: bytes) -> None:
    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        upstream(pool).answer(ResponseHead(200, [(b"content-encoding", coding)]))
        assert upstream(pool).cancelled

    assert failure(scene) is Failure.PROTOCOL


def test_no_coding_by_its_name_is_none() -> None:
    assert asked(answering(200, [(b"content-encoding", b"Identity")], b"a")).content == b"a"


@pytest.mark.parametrize("why", [Failure.CONNECTION, Failure.RESET, Failure.TRUNCATED, Failure.GOAWAY])
def test_half_an_answer_is_none(why: Failure) -> None:
    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        side = upstream(pool)
        side.answer(ResponseHead(200, []))
        side.content(b"half")
        side.fail(why)

    assert failure(scene) is why


def test_without_a_connection_there_is_none() -> None:
    assert failure(lambda pool, task: pool.fail(Failure.TLS), at_once=False) is Failure.TLS


def test_nothing_of_a_question_that_failed_waits_for_a_collection() -> None:
    def questions() -> int:
        return sum(type(each).__name__ == "_Call" for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = questions()
        assert failure(lambda pool, task: pool.fail(Failure.TLS), at_once=False) is Failure.TLS
        assert questions() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("at_once", [True, False])
def test_past_its_time_it_is_given_up(at_once: bool) -> None:
    pools: list[Pool] = []
    found = failure(lambda pool, task: pools.append(pool), timeout=0.0, at_once=at_once)
    assert found is Failure.TIMEOUT
    [pool] = pools
    assert pool.cancelled
    assert not at_once or upstream(pool).cancelled


@pytest.mark.parametrize("at_once", [True, False])
def test_who_asks_no_more_gives_it_up(at_once: bool) -> None:
    pools: list[Pool] = []

    def scene(pool: Pool, task: "asyncio.Task[Answer]") -> None:
        pools.append(pool)
        task.cancel()

    with pytest.raises(asyncio.CancelledError):
        asked(scene, at_once=at_once)
    [pool] = pools
    assert pool.cancelled
    assert not at_once or upstream(pool).cancelled

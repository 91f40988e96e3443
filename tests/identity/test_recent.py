"""Asked once for many checks: by token, for half a minute, shared, bounded."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from foyer.identity import recent
from foyer.identity.recent import MAX_KEPT, REUSE, Recent
from foyer.k8s.reviews import Unusable, UserInfo
from foyer.session.seal import IdToken
from tests.support.clock import Clock

ADA, BOB = IdToken(b"ada's"), IdToken(b"bob's")


class Kubernetes:
    """Answers each question when a test says so, or at once."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.asked: list[IdToken] = []
        self.open: list[asyncio.Future[Any]] = []
        self.cancelled = 0
        self.answer: UserInfo | Unusable = {"username": "ada"}
        self._at_once = at_once

    async def __call__(self, token: IdToken) -> Any:
        self.asked.append(token)
        if self._at_once:
            return self.answer
        question: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.open.append(question)
        try:
            return await question
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


class Scene:
    def __init__(self, *, at_once: bool = True) -> None:
        self.clock = Clock()
        self.kubernetes = Kubernetes(at_once=at_once)
        self.recent = Recent(self.kubernetes, self.clock)

    def asking(self, token: IdToken = ADA) -> "asyncio.Task[Any]":
        return asyncio.get_running_loop().create_task(self.recent.who(token))


async def settle() -> None:
    """Until everything that is ready to run has run."""
    for _ in range(10):
        await asyncio.sleep(0)


def running(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    return run


@running
async def test_an_answer_is_used_for_thirty_seconds_from_the_question() -> None:
    scene = Scene()
    for _ in range(3):
        assert await scene.recent.who(ADA) == {"username": "ada"}
    scene.clock.advance(REUSE - 0.001)
    await scene.recent.who(ADA)
    assert len(scene.kubernetes.asked) == 1
    scene.clock.advance(0.001)
    await scene.recent.who(ADA)
    assert len(scene.kubernetes.asked) == 2


@running
async def test_the_time_that_an_answer_took_counts() -> None:
    scene = Scene(at_once=False)
    asking = scene.asking()
    await settle()
    scene.clock.advance(9.0)
    scene.kubernetes.open[0].set_result({"username": "ada"})
    await asking
    scene.clock.advance(REUSE - 9.0)
    late = scene.asking()
    await settle()
    assert len(scene.kubernetes.asked) == 2
    late.cancel()


@running
async def test_a_clock_set_back_makes_no_answer_last() -> None:
    scene = Scene()
    await scene.recent.who(ADA)
    scene.clock.now -= 3600
    await scene.recent.who(ADA)
    assert len(scene.kubernetes.asked) == 2


@running
async def test_each_token_has_its_own_answer() -> None:
    scene = Scene()
    await scene.recent.who(ADA)
    scene.kubernetes.answer = {"username": "bob"}
    assert await scene.recent.who(BOB) == {"username": "bob"}
    assert await scene.recent.who(ADA) == {"username": "ada"}
    assert scene.kubernetes.asked == [ADA, BOB]


@running
async def test_no_token_is_kept() -> None:
    scene = Scene()
    await scene.recent.who(ADA)
    assert bytes(ADA) not in repr(vars(scene.recent)).encode()
    assert all(len(key) == 32 for key in scene.recent._kept)


@running
async def test_a_failure_is_told_and_not_kept() -> None:
    scene = Scene()
    scene.kubernetes.answer = Unusable("timeout")
    assert await scene.recent.who(ADA) == Unusable("timeout")
    scene.kubernetes.answer = {"username": "ada"}
    assert await scene.recent.who(ADA) == {"username": "ada"}
    assert len(scene.recent) == 1


@running
async def test_who_asks_the_same_at_once_shares_one_call() -> None:
    scene = Scene(at_once=False)
    asking = [scene.asking() for _ in range(100)]
    other = scene.asking(BOB)
    await settle()
    assert scene.kubernetes.asked == [ADA, BOB]
    scene.kubernetes.open[0].set_result({"username": "ada"})
    assert await asyncio.gather(*asking) == [{"username": "ada"}] * 100
    assert not other.done()
    other.cancel()


@running
async def test_a_shared_failure_is_everybodys_and_the_next_asks_again() -> None:
    scene = Scene(at_once=False)
    asking = [scene.asking() for _ in range(2)]
    await settle()
    scene.kubernetes.open[0].set_result(Unusable("tls"))
    assert await asyncio.gather(*asking) == [Unusable("tls")] * 2
    again = scene.asking()
    await settle()
    assert len(scene.kubernetes.asked) == 2
    again.cancel()


@running
async def test_who_leaves_leaves_the_call_to_the_others() -> None:
    scene = Scene(at_once=False)
    first, second = scene.asking(), scene.asking()
    await settle()
    first.cancel()
    await settle()
    assert scene.kubernetes.cancelled == 0
    scene.kubernetes.open[0].set_result({"username": "ada"})
    assert await second == {"username": "ada"}


@running
async def test_the_call_ends_with_the_last_and_the_next_begins_another() -> None:
    scene = Scene(at_once=False)
    first, second = scene.asking(), scene.asking()
    await settle()
    first.cancel()
    second.cancel()
    third = scene.asking()
    await settle()
    assert scene.kubernetes.cancelled == 1
    scene.kubernetes.open[1].set_result({"username": "ada"})
    assert await third == {"username": "ada"}
    assert len(scene.kubernetes.asked) == 2


@running
async def test_a_fault_reaches_everybody_and_is_not_kept() -> None:
    scene = Scene(at_once=False)
    asking = [scene.asking() for _ in range(2)]
    await settle()
    scene.kubernetes.open[0].set_exception(ZeroDivisionError())
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 2
    again = scene.asking()
    await settle()
    assert len(scene.kubernetes.asked) == 2
    again.cancel()


def test_it_is_ten_thousand_that_are_kept() -> None:
    assert MAX_KEPT == 10_000


def test_however_long_its_answers_are_an_api_server_has_no_more_kept_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[UserInfo] = [{"username": "x" * size} for size in (1000, 10, 1000, 2000, 10)]
    monkeypatch.setattr(recent, "MAX_KEPT_BYTES", 3000)

    async def run() -> None:
        scene = Scene()
        for number, answer in enumerate(answers):
            scene.kubernetes.answer = answer
            await scene.recent.who(IdToken(b"%d" % number))
        assert len(scene.recent) == 2
        assert await scene.recent.who(IdToken(b"3")) == answers[3]
        assert len(scene.kubernetes.asked) == len(answers)
        await scene.recent.who(IdToken(b"2"))
        assert len(scene.kubernetes.asked) == len(answers) + 1

    asyncio.run(run())


def test_an_answer_that_is_asked_again_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_KEPT_BYTES", 100)

    async def run() -> None:
        scene = Scene()
        await scene.recent.who(BOB)
        for _ in range(9):
            await scene.recent.who(ADA)
            scene.clock.now += REUSE
        assert len(scene.recent) == 1
        await scene.recent.who(BOB)
        await scene.recent.who(ADA)
        assert len(scene.recent) == 2

    asyncio.run(run())


def test_past_the_bound_the_oldest_answer_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_KEPT", 3)

    async def run() -> None:
        scene = Scene()
        for number in range(5):
            await scene.recent.who(IdToken(b"%d" % number))
            assert len(scene.recent) <= 3
        await scene.recent.who(IdToken(b"4"))
        assert len(scene.kubernetes.asked) == 5
        await scene.recent.who(IdToken(b"0"))
        assert len(scene.kubernetes.asked) == 6

    asyncio.run(run())


@running
async def test_what_is_too_old_goes_as_others_come() -> None:
    scene = Scene()
    for number in range(5):
        await scene.recent.who(IdToken(b"%d" % number))
    scene.clock.advance(REUSE)
    await scene.recent.who(ADA)
    assert len(scene.recent) == 1

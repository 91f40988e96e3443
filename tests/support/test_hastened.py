"""The loop that is put forward: what was to come by then comes, once and in its order, and nothing else."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from tests.support.pairings import Hastened


def run(told: Callable[[Hastened, list[str]], Coroutine[object, object, None]]) -> list[str]:
    """What was taken down on such a loop."""
    said: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Hastened)
        await told(loop, said)

    with asyncio.Runner(loop_factory=Hastened) as runner:
        runner.run(main())
    return said


def test_timers_whose_time_has_come_are_called_in_their_order_and_no_others() -> None:
    async def told(loop: Hastened, said: list[str]) -> None:
        for seconds in (300, 20, 10):
            loop.call_later(seconds, said.append, f"{seconds} s")
        loop.call_at(loop.time() + 15, said.append, "at 15 s")
        loop.call_later(5, said.append, "never").cancel()
        loop.put_forward(60)
        await asyncio.sleep(0)

    assert run(told) == ["10 s", "at 15 s", "20 s"]


def test_a_timer_is_called_once_whichever_way_its_time_comes() -> None:
    async def told(loop: Hastened, said: list[str]) -> None:
        over = asyncio.Event()
        loop.call_later(0.001, said.append, "by itself")
        loop.call_later(0.001, over.set)
        loop.call_later(10, said.append, "put forward")
        await over.wait()
        for _ in range(2):
            loop.put_forward(10)
            await asyncio.sleep(0)

    assert run(told) == ["by itself", "put forward"]


def test_sleeps_and_timeouts_are_over_as_well() -> None:
    async def told(loop: Hastened, said: list[str]) -> None:
        async def wait() -> None:
            await asyncio.sleep(3600)
            said.append("slept")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(3600):
                    await asyncio.Event().wait()
            said.append("timed out")

        waiting = loop.create_task(wait())
        while not waiting.done():
            await asyncio.sleep(0)
            loop.put_forward(3600)

    assert run(told) == ["slept", "timed out"]

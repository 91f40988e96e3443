"""What fleet reads do in one turn of the loop is bounded, however many there are and of how many targets."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from foyer.fleet.pace import STEPS, WHOLE, Pace
from tests.fleet.fleets import Fleet, Server, note


class Turns:
    """A loop's, counted."""

    def __init__(self) -> None:
        self.count = 0
        self.pace = Pace(asyncio.get_running_loop().call_soon)
        self._next()

    def _next(self) -> None:
        self.count += 1
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def stop(self) -> None:
        self._handle.cancel()


def in_turns(test: Callable[[Turns], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        turns = Turns()
        try:
            await test(turns)
        finally:
            turns.stop()

    asyncio.run(run())


def test_of_many_steps_so_many_are_in_one_turn_and_in_their_order() -> None:
    async def test(turns: Turns) -> None:
        taken: list[tuple[int, int]] = []

        async def step(number: int) -> None:
            await turns.pace.step()
            taken.append((turns.count, number))

        await asyncio.gather(*[step(number) for number in range(5 * STEPS)])
        assert set(Counter(turn for turn, _ in taken).values()) == {STEPS}
        assert [number for _, number in taken] == list(range(5 * STEPS))

    in_turns(test)


def test_who_is_alone_waits_for_nothing() -> None:
    async def test(turns: Turns) -> None:
        for _ in range(STEPS):
            await turns.pace.step()
        assert turns.count == 1

    in_turns(test)


def test_a_whole_answer_is_the_last_step_of_its_turn() -> None:
    async def test(turns: Turns) -> None:
        taken: list[int] = []

        async def step(count: int) -> None:
            await turns.pace.step(count)
            taken.append(turns.count)

        await asyncio.gather(step(WHOLE), step(WHOLE), step(1))
        assert len(set(taken)) == 3

    in_turns(test)


def test_who_has_been_cancelled_takes_nobodys_step() -> None:
    async def test(turns: Turns) -> None:
        taken: list[int] = []

        async def step() -> None:
            await turns.pace.step()
            taken.append(turns.count)

        first = asyncio.ensure_future(turns.pace.step(WHOLE))
        waiting = [asyncio.ensure_future(step()) for _ in range(3 * STEPS)]
        await asyncio.sleep(0)
        for number, waiter in enumerate(waiting):
            if number % 3:
                waiter.cancel()
        await asyncio.wait([first, *waiting])
        assert (len(taken), len(set(taken))) == (STEPS, 1)

    in_turns(test)


def test_reads_of_many_targets_at_once_ask_few_of_them_in_one_turn() -> None:
    async def test(turns: Turns) -> None:
        asked: Counter[int] = Counter()

        class Counted(Server):
            async def enter(self, until: float) -> Any:
                asked[turns.count] += 1
                return await super().enter(until)

        fleet = Fleet()
        for number in range(40):
            fleet.servers[f"t{number}"] = Counted([note("one")], name=f"t{number}", gates=fleet.gates)
        found = await asyncio.gather(*[fleet.reading().read() for _ in range(5)])
        assert sum(asked.values()) == 200
        assert max(asked.values()) <= STEPS
        for read in found:
            read.held.close()  # type: ignore[union-attr]

    in_turns(test)

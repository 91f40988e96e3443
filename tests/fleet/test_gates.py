"""Read admission as a fleet read passes it: coroutines over gates that call back."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from foyer.exchange.ports import Answer
from foyer.fleet.gates import Entrance, MemoryGate
from foyer.fleet.ports import NotAdmitted
from foyer.net.whole import whole_answer
from foyer.protocol.events import RequestHead
from tests.admission.worlds import MIB, WAIT, Replica, Target

HEAD = RequestHead(b"GET", b"/api/v1/pods", [], authority=b"kubernetes.test")
LATER = 1e9
"""A deadline that is nobody's."""


class Scene:
    """One target with a place for one read, and a pool of 10 MiB."""

    def __init__(self) -> None:
        self.replica = Replica(pool_size=10 * MIB)
        self.target = Target(self.replica, 1)
        self.entrance = Entrance(b"kubernetes.test", self.target.reads, whole_answer)
        self.gate = MemoryGate(self.replica.memory)
        self.looks = 0

    async def turns(self) -> None:
        """Of the loop, and what the gates put off to another."""
        for _ in range(5):
            await asyncio.sleep(0)
            self.replica.world.turn()

    async def measure(self) -> int | None:
        self.looks += 1
        await asyncio.sleep(0)
        return 2 * MIB

    async def started(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work)
        await self.turns()
        return task

    @property
    def held(self) -> tuple[int, int]:
        """Places and bytes."""
        return self.target.limit.admitted, self.replica.pool.reserved


def run(dialogue: Callable[[Scene], Awaitable[None]]) -> None:
    async def running() -> None:
        scene = Scene()
        await dialogue(scene)
        assert scene.held == (0, 0)
        assert (scene.target.limit.waiting, scene.replica.pool.waiting, scene.target.cap.in_flight) == (
            0,
            0,
            0,
        )

    asyncio.run(running())


def test_a_read_has_its_place_until_it_is_closed_and_the_next_one_waits_for_it() -> None:
    async def dialogue(scene: Scene) -> None:
        first = await scene.entrance.enter(LATER)
        second = await scene.started(scene.entrance.enter(LATER))
        assert (scene.held, second.done()) == ((1, 0), False)
        first.close()
        first.close()
        await scene.turns()
        assert second.done()
        (await second).close()

    run(dialogue)


@pytest.mark.parametrize("gate", ["concurrency", "memory"])
@pytest.mark.parametrize("sooner", [False, True], ids=["as long as it may", "until its deadline"])
def test_one_that_waits_in_vain_is_not_admitted(gate: str, sooner: bool) -> None:
    async def dialogue(scene: Scene) -> None:
        scene.gate.took("pods", 8 * MIB)  # of ten: a second one waits

        def way(until: float) -> Coroutine[Any, Any, Any]:
            if gate == "concurrency":
                return scene.entrance.enter(until)
            return scene.gate.reserve("pods", scene.measure, until)

        wait = 2 if sooner else WAIT
        first = await way(LATER)
        second = await scene.started(way(scene.replica.world.clock.now + 2 if sooner else LATER))
        scene.replica.world.wait(wait - 1)
        await scene.turns()
        assert not second.done()
        scene.replica.world.wait(2)
        await scene.turns()
        assert second.done()
        with pytest.raises(NotAdmitted) as refused:
            await second
        assert refused.value.gate == gate
        assert scene.replica.refusals[gate] == 1
        first.close()

    run(dialogue)


@pytest.mark.parametrize("first", ["granted", "cancelled", "both in one turn"])
def test_one_that_is_cancelled_holds_nothing_whichever_comes_first(first: str) -> None:
    async def dialogue(scene: Scene) -> None:
        before = await scene.entrance.enter(LATER)
        waits = await scene.started(scene.entrance.enter(LATER))
        match first:
            case "granted":
                before.close()
                scene.replica.world.turn()  # the gate has granted it, and the task has not gone on
                waits.cancel()
            case "cancelled":
                waits.cancel()
                await scene.turns()
                before.close()
            case "both in one turn":
                waits.cancel()
                before.close()
                scene.replica.world.turn()
        await scene.turns()
        assert waits.cancelled()

    run(dialogue)


def test_one_that_is_cancelled_as_it_is_turned_away_is_cancelled() -> None:
    async def dialogue(scene: Scene) -> None:
        before = await scene.entrance.enter(LATER)
        waits = await scene.started(scene.entrance.enter(LATER))
        waits.cancel()
        scene.replica.world.wait(WAIT + 1)
        await scene.turns()
        assert waits.cancelled()
        before.close()

    run(dialogue)


def test_its_requests_go_through_its_targets_cap_until_their_answers_are_whole() -> None:
    async def dialogue(scene: Scene) -> None:
        read = await scene.entrance.enter(LATER)
        asked = await scene.started(read.ask(HEAD, b"", limit=10, timeout=30.0))
        [request] = scene.target.connections.asked
        request.open()
        request.head()
        assert scene.target.cap.in_flight == 1
        request.end()
        answer = await asked
        assert isinstance(answer, Answer)
        assert (answer.status, scene.target.cap.in_flight) == (200, 0)
        assert scene.target.measures.wait.count == 1
        read.close()

    run(dialogue)


def test_memory_is_measured_once_and_then_what_the_list_took() -> None:
    async def dialogue(scene: Scene) -> None:
        assert scene.gate.pool == 10 * MIB
        first = await (await scene.started(scene.gate.reserve("scope", scene.measure, LATER)))
        assert (first.size, scene.looks) == (2 * MIB, 1)
        scene.gate.took("scope", 3 * MIB)
        second = await scene.gate.reserve("scope", scene.measure, LATER)
        assert (second.size, scene.looks) == (3 * MIB, 1)
        assert second.grow(MIB) and not second.grow(5 * MIB)
        for reservation in (first, second):
            reservation.close()

    run(dialogue)


def test_a_list_larger_than_the_pool_has_all_of_it_and_is_cut_later() -> None:
    async def dialogue(scene: Scene) -> None:
        scene.gate.took("scope", 100 * MIB)
        reservation = await scene.gate.reserve("scope", scene.measure, LATER)
        assert reservation.size == 10 * MIB
        reservation.close()

    run(dialogue)


def test_memory_that_is_not_there_in_time_is_not_admitted() -> None:
    async def dialogue(scene: Scene) -> None:
        scene.gate.took("scope", 10 * MIB)
        all_of_it = await scene.gate.reserve("scope", scene.measure, LATER)
        waits = await scene.started(scene.gate.reserve("scope", scene.measure, LATER))
        scene.replica.world.wait(WAIT + 1)
        with pytest.raises(NotAdmitted) as refused:
            await waits
        assert refused.value.gate == "memory"
        all_of_it.close()

    run(dialogue)


def test_a_read_that_is_cancelled_while_it_measures_looks_no_more() -> None:
    async def dialogue(scene: Scene) -> None:
        given_up = False

        async def measure() -> int | None:
            nonlocal given_up
            try:
                return await asyncio.Future()
            finally:
                given_up = True

        waits = await scene.started(scene.gate.reserve("scope", measure, LATER))
        waits.cancel()
        await scene.turns()
        assert (waits.cancelled(), given_up) == (True, True)

    run(dialogue)

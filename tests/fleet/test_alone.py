"""Memory where nothing else reads."""

import asyncio

from foyer.fleet.alone import FIRST, Alone


async def _unmeasured() -> int | None:
    raise AssertionError("nothing is measured")


def test_a_read_may_take_the_whole_pool_and_no_more() -> None:
    memory = Alone(2 * FIRST)
    share = asyncio.run(memory.reserve("scope", _unmeasured, 0.0))
    assert share.size == FIRST
    assert share.grow(FIRST)
    assert not share.grow(1)
    memory.took("scope", share.size)
    share.close()
    assert share.size == 0


def test_a_small_pool_is_less_than_a_read_begins_with() -> None:
    assert asyncio.run(Alone(7).reserve("scope", _unmeasured, 0.0)).size == 7

"""Admission where nothing else reads."""

import asyncio

from foyer.fleet.alone import FIRST, Alone


async def _unmeasured() -> int | None:
    raise AssertionError("nothing is measured")


def test_a_read_is_let_in_and_may_take_the_whole_pool_and_no_more() -> None:
    admission = Alone(2 * FIRST)
    asyncio.run(admission.enter("eu", 0.0)).close()
    share = asyncio.run(admission.reserve("scope", _unmeasured, 0.0))
    assert share.size == FIRST
    assert share.grow(FIRST)
    assert not share.grow(1)
    admission.took("scope", share.size)
    share.close()
    assert share.size == 0


def test_a_small_pool_is_less_than_a_read_begins_with() -> None:
    assert asyncio.run(Alone(7).reserve("scope", _unmeasured, 0.0)).size == 7

"""Work that waits on other people, for an exchange that owns it: a login, a review.

The one place where a coroutine of an exchange's becomes a task. The exchange holds it, and cancels
it when nobody is left to answer; a fault in it cuts that exchange and nothing else.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from foyer.exchange.exchange import Exchange


def start(exchange: Exchange, coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs `coroutine`, which answers `exchange`."""
    task = asyncio.get_running_loop().create_task(_contained(exchange, coroutine))
    # Of one that is cancelled before its first step nothing else would know that it is over.
    task.add_done_callback(lambda _: coroutine.close())
    exchange.wait_for(task)


async def _contained(exchange: Exchange, coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        await coroutine
    except Exception as error:  # the outermost, as for what an exchange is told at once
        exchange.failed(error)

"""A coroutine that an exchange owns: it answers, is cancelled, or fails, and nothing of it stays behind."""

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from foyer.exchange.endings import BrowserGone, Cause, Complete, CutShort
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import Answer
from foyer.front import work
from foyer.protocol.events import RequestHead
from tests.exchange.sides import Browser, Services


class Scene:
    """An exchange that waits for work."""

    def __init__(self) -> None:
        self.services = Services()
        self.browser = Browser()
        self.exchange = Exchange(
            self.services, self.browser, RequestHead(b"GET", b"/auth/whoami", [], ended=True)
        )
        self.steps: list[str] = []

    async def answer(self) -> None:
        self.steps.append("begun")
        await asyncio.sleep(0)
        self.steps.append("answered")
        self.exchange.answer(Answer(200, [], b"you"))

    async def fail(self) -> None:
        raise ZeroDivisionError


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def running(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            asyncio.run(test())

    return run


@running
async def test_it_answers() -> None:
    scene = Scene()
    work.start(scene.exchange, scene.answer())
    await settle()
    scene.browser.take(100)
    assert scene.services.endings == [Complete(200)]


@running
async def test_a_fault_cuts_its_exchange() -> None:
    scene = Scene()
    work.start(scene.exchange, scene.fail())
    await settle()
    assert scene.services.endings == [CutShort(Cause.INTERNAL)]


@running
async def test_it_is_cancelled_when_the_browser_leaves() -> None:
    scene = Scene()
    work.start(scene.exchange, scene.answer())
    await asyncio.sleep(0)
    scene.browser.leave()
    await settle()
    assert scene.steps == ["begun"]
    assert scene.services.endings == [BrowserGone()]


@pytest.mark.filterwarnings("error")
def test_one_that_is_cancelled_before_its_first_step_never_begins_and_is_no_warning() -> None:
    async def leaves_at_once() -> list[str]:
        scene = Scene()
        work.start(scene.exchange, scene.answer())
        scene.browser.leave()
        await settle()
        return scene.steps

    assert asyncio.run(leaves_at_once()) == []

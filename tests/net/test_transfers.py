"""Pauses and windows: whatever comes when, a transfer is neither held up for ever nor held in memory."""

import gzip as gzip_module
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.exchange.endings import Cause, Complete
from foyer.exchange.ports import HIGH_WATER, LOW_WATER
from foyer.net.connection import QUANTUM
from tests.net.transfers import Line, World

NOISE = random.Random(2).randbytes(300_000)

SIZES = st.sampled_from(
    [
        1,
        9,
        1000,
        LOW_WATER - 1,
        LOW_WATER,
        HIGH_WATER - 1,
        HIGH_WATER,
        HIGH_WATER + 1,
        QUANTUM + 1,
        70_000,
        200_000,
    ]
)
CONTENTS = st.builds(
    lambda start, size, times: NOISE[start : start + size] * times,
    st.integers(0, 9),
    SIZES,
    st.sampled_from([1, 1, 3]),
)
UPLOADS = st.one_of(st.none(), CONTENTS)

Act = Callable[[World, Line, int], object]

ACTS: dict[str, Act] = {
    "sends": lambda world, line, size: line.send(size),
    "brings": lambda world, line, size: line.bring(size),
    "takes": lambda world, line, size: line.take(size),
    "opens": lambda world, line, size: line.open_windows(),
    "turn": lambda world, line, size: world.offline.run(),
}

STEPS = st.lists(st.tuples(st.sampled_from([*ACTS]), st.integers(0, 5), SIZES), max_size=60)

both = pytest.mark.parametrize("upstream", ["h1", "h2"])
pairings = pytest.mark.parametrize("browser", ["h1", "h2"])


def act(world: World, steps: list[tuple[str, int, int]]) -> None:
    for name, which, size in steps:
        line = world.lines[which % len(world.lines)]
        ACTS[name](world, line, size)
        assert not world.offline.loop.faults, world.offline.loop.faults[0]


@both
@pairings
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_transfer_always_comes_to_its_end(browser: str, upstream: str, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 3), "exchanges")
    contents = data.draw(st.lists(CONTENTS, min_size=number, max_size=number), "downloads")
    uploads = data.draw(st.lists(UPLOADS, min_size=number, max_size=number), "uploads")
    gzip = data.draw(st.booleans(), "gzip")
    world = World(
        browser,
        upstream,
        downloads=[gzip_module.compress(content, 1) if gzip else content for content in contents],
        uploads=uploads,
        gzip=gzip,
        window=data.draw(st.sampled_from([1000, 65_535, 1 << 20]), "window"),
    )
    act(world, data.draw(STEPS, "steps"))
    world.settle(data.draw(st.sampled_from([3000, 50_000, 1 << 20]), "size"))
    assert world.services.faults == []
    for answer, ask, content, upload in zip(world.asks, world.answers, contents, uploads, strict=True):
        assert (bytes(answer.got), answer.whole) == (content, True)
        assert (bytes(ask.got), ask.whole) == (upload or b"", True)
    assert world.services.endings == [Complete(200)] * number


DISTURBANCES: dict[str, Act] = {
    "the browser gives up": lambda world, line, number: give_up(world.browsers, number),
    "the upstream gives up": lambda world, line, number: give_up(world.upstreams, number),
    "the session ends": lambda world, line, number: cut(world, number),
}


def give_up(lines: list[Line], number: int) -> None:
    lines[number % len(lines)].give_up(number)


def cut(world: World, number: int) -> None:
    if number in world.exchanges:
        world.exchanges[number].cut(Cause.SESSION_ENDED)


@both
@pairings
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_one_that_is_given_up_holds_up_no_other(browser: str, upstream: str, data: st.DataObject) -> None:
    """Not by a pause that nobody undoes, nor by windows that nobody gives back."""
    contents = data.draw(st.lists(CONTENTS, min_size=3, max_size=3), "downloads")
    uploads = data.draw(st.lists(UPLOADS, min_size=3, max_size=3), "uploads")
    world = World(browser, upstream, downloads=list(contents), uploads=uploads)
    world.arrive()
    lost = set()
    for _ in range(data.draw(st.integers(1, 2), "disturbances")):
        act(world, data.draw(STEPS, "steps"))
        name, number = data.draw(st.sampled_from([*DISTURBANCES])), data.draw(st.integers(0, 2), "number")
        DISTURBANCES[name](world, world.browsers[0], number)
        lost.add(number)
    world.settle()
    assert world.services.faults == []
    assert not any(world.windows())
    for number in {0, 1, 2} - lost:
        assert (bytes(world.asks[number].got), world.asks[number].whole) == (contents[number], True)
        assert bytes(world.answers[number].got) == (uploads[number] or b"")


@pytest.mark.parametrize("size", [7000, HIGH_WATER + 1, 200_000])
@pytest.mark.parametrize("gzip", [False, True], ids=["plain", "gzip"])
@both
@pairings
def test_a_browser_that_does_not_read_costs_little(
    browser: str, upstream: str, gzip: bool, size: int
) -> None:
    """Spec 03: at most 256 KiB a response, what waits encoded included."""
    content = NOISE * 4
    download = gzip_module.compress(content, 1) if gzip else content
    world = World(browser, upstream, downloads=[download], uploads=[None], gzip=gzip, window=1 << 20)
    world.arrive()
    upwards = world.upstreams[0]
    while upwards.send(size) | upwards.bring(1 << 20) | upwards.take(1 << 20):
        world.offline.run()
        assert world.held <= 256 * 1024
    assert upwards.towards or world.answers[0].content, "nothing was held back"
    world.settle()
    assert bytes(world.asks[0].got) == content


@both
@pairings
def test_an_upstream_that_does_not_read_costs_little(browser: str, upstream: str) -> None:
    world = World(browser, upstream, downloads=[b"done"], uploads=[NOISE * 4])
    world.arrive()
    downwards = world.browsers[0]
    while downwards.send(50_000) | downwards.bring(1 << 20) | downwards.take(1 << 20):
        world.offline.run()
        assert world.held_for_upstream <= 256 * 1024
    assert downwards.towards or world.asks[0].content, "nothing was held back"
    world.settle()
    assert bytes(world.answers[0].got) == NOISE * 4


@both
@pairings
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_what_was_held_back_of_one_goes_back_to_all(browser: str, upstream: str, disturbance: str) -> None:
    """RFC 9113 section 6.9: unread bytes count against the connection's window until acknowledged."""
    for download, upload in ((NOISE, None), (b"done", NOISE)):
        world = World(browser, upstream, downloads=[download, b"small"], uploads=[upload, None])
        world.arrive()
        for _ in range(50):
            for line in world.lines:
                line.send(50_000)
                line.bring(1 << 20)
                world.offline.run()
            for line in world.browsers if upload else world.upstreams:
                line.take(1 << 20)
        DISTURBANCES[disturbance](world, world.browsers[0], 0)
        world.settle()
        assert not any(world.windows())
        assert (bytes(world.asks[1].got), world.asks[1].whole) == (b"small", True)

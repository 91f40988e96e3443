"""The public conformance data through the whole gateway, over sockets: watch in, exact events out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from foyer.target import Target
from tests.streams import conformance
from tests.streams.conformance import Cycle, Scenario
from tests.streams.following import TARGETS, error, status
from tests.streams.test_conformance import compared
from tests.streams.wires import Event
from tests.support.pairings import JSON, Pairing
from tests.support.script import Whole
from tests.support.streams import Page, opened
from tests.support.upstreams import Request

Play = Callable[[Pairing, Request, Cycle], Request]

SCENARIOS = list(conformance.scenarios())
EVERY = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


class OneServer:
    """The targets of the data, which are all one API server: the test's."""

    names = TARGETS

    def __init__(self, target: Target) -> None:
        self.by_name = dict.fromkeys(sorted(TARGETS.names), target)


@contextmanager
def targets_of_the_data(pairing: Pairing) -> Iterator[None]:
    """They are there, and nothing is known of any."""
    service, target = pairing.product._foyer._service, pairing.product.target()
    assert service is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service._streaming, "_targets", OneServer(target))
        pairing.product.ask(target.server.without_streaming.clear)
        yield
        pairing.product.ask(target.server.without_streaming.clear)


@pytest.fixture(autouse=True)
def targets(pairing: Pairing) -> Iterator[None]:
    with targets_of_the_data(pairing):
        yield


def test_there_is_conformance_data() -> None:
    conformance.required()
    assert len(SCENARIOS) >= 10


def streamed(pairing: Pairing, request: Request, cycle: Cycle) -> Request:
    """A cycle by a streaming list, in two pieces that are cut anywhere."""
    assert b"sendInitialEvents=true" in request.target
    content = conformance.bytes_of(cycle)
    request.respond(200, JSON)
    request.send(content[: len(content) // 3])
    request.send(content[len(content) // 3 :])
    return request


def listed(pairing: Pairing, request: Request, cycle: Cycle) -> Request:
    """A cycle by pages of one object each, and a watch."""
    if b"sendInitialEvents=true" in request.target:
        request.answer(422, JSON, status(422, "sendInitialEvents"))
        request = pairing.upstream.expect()
    for number in range(max(len(cycle.listed), 1)):
        more = str(number + 1) if number + 1 < len(cycle.listed) else ""
        request.answer(200, JSON, conformance.page_of(cycle.listed[number : number + 1], "9", more))
        request = pairing.upstream.expect()
    assert b"watch=1&resourceVersion=9&" in request.target
    request.respond(200, JSON)
    request.send(b"".join(cycle.lines))
    return request


@EVERY
@pytest.mark.parametrize("play", [streamed, listed])
def test_a_scenario_gives_exactly_its_events(pairing: Pairing, scenario: Scenario, play: Play) -> None:
    found: list[Event] = []
    for cycles in scenario.connections():
        stream, request = opened(pairing, f"/stream/v1?{scenario.query.decode()}")
        for number, cycle in enumerate(cycles):
            if number:
                pairing.product.pass_time(2)
                request = again(pairing, request, cycles[number - 1])
            request = play(pairing, request, cycle)
        found += everything(pairing, stream, request, cycles[-1])
    assert found == scenario.events


def again(pairing: Pairing, request: Request, before: Cycle) -> Request:
    """The request of the next cycle: the one before is broken, or ends."""
    if not before.broken:
        request.end()
    return pairing.upstream.expect()


def everything(pairing: Pairing, stream: Page, request: Request, cycle: Cycle) -> list[Event]:
    """All that comes on one connection, which a refusal ends: nothing comes behind that."""
    if cycle.broken:
        pairing.upstream.expect().answer(403, JSON, status(403))
    else:
        request.send(error(403) + b"\n")
    assert isinstance(stream.exchange.read_until_end(), Whole)
    found = compared(stream.wire)
    assert found.pop()["code"] == "FORBIDDEN"
    return found

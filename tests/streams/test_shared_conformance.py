"""The public conformance data through a shared watch: the same events out, for everybody."""

import pytest

from tests.streams import conformance
from tests.streams.conformance import Cycle, Scenario
from tests.streams.sharing import Stage, Visitor
from tests.streams.test_conformance import compared
from tests.streams.wires import Event

SCENARIOS = list(conformance.scenarios())
EVERY = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


def shared(scenario: Scenario, cycles: list[Cycle], *, streaming: bool) -> list[Event]:
    """One connection's events, which are the same on those of two others."""
    stage = Stage(lenient=False)
    query = scenario.query
    resources = {part.partition(b"=")[2] for part in query.split(b"&") if part.startswith(b"resource=")}
    groups = {part.partition(b"=")[2] for part in query.split(b"&") if part.startswith(b"group=")}
    [resource] = resources
    [group] = groups or {b""}
    stage.shared.resources = frozenset((f"{resource.decode()}.{group.decode()}".rstrip("."),))
    if not streaming:
        stage.clocked.without_streaming.update(
            (target, group.decode(), version)
            for target in ("demo", "prod")
            for version in ("v1", "v1alpha1", "v1beta1")
        )
    visitors = [stage.open(query, who) for who in ("ada", "bob", "eve")]
    for number, cycle in enumerate(cycles):
        _play(stage, cycle, streaming=streaming, last=number == len(cycles) - 1)
    found = [_whole(visitor) for visitor in visitors]
    assert found[0] == found[1] == found[2]
    stage.close()
    return found[0]


def _play(stage: Stage, cycle: Cycle, *, streaming: bool, last: bool) -> None:
    if streaming:
        stage.respond()
        stage.send(conformance.bytes_of(cycle))
    else:
        stage.answer(conformance.page_of(cycle.listed, "9"))
        stage.respond()
        stage.send(b"".join(cycle.lines))
    stage.clocked.now += 5
    if not cycle.broken and not last:
        stage.side.end()
        stage.settle()


def _whole(visitor: Visitor) -> list[Event]:
    return compared(bytes(visitor.browser.taken))


@EVERY
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "list and watch"])
def test_a_scenario_gives_exactly_its_events_on_every_stream(scenario: Scenario, streaming: bool) -> None:
    found = [
        event for cycles in scenario.connections() for event in shared(scenario, cycles, streaming=streaming)
    ]
    assert found == scenario.events

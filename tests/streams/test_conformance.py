"""The public conformance data, scripted watch in and exact events out (spec 05)."""

import json
from itertools import pairwise
from typing import Any

import pytest

from foyer.streams import errors, scope, sse
from foyer.streams.errors import Code, StreamError
from foyer.streams.reflector import Step
from foyer.streams.scope import Opening
from tests.streams import conformance, schema
from tests.streams.conformance import Cycle, Scenario
from tests.streams.following import COMPLETE, TARGETS, Following, added, config_map, deleted
from tests.streams.wires import Event, events

SCENARIOS = list(conformance.scenarios())
SCOPES = conformance.scopes()
EVERY = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


def test_there_is_conformance_data() -> None:
    conformance.required()
    assert len(SCENARIOS) >= 10
    assert len(SCOPES) >= 10


def compared(wire: bytes) -> list[Event]:
    """The events without what is free in them: a message's words."""
    found = events(wire)
    for event in found:
        if event["type"] == "error":
            assert isinstance(event.pop("message"), str)
            event.pop("retryAfterMs", None)
    return found


def streamed(query: bytes, cycles: list[Cycle], cuts: list[int]) -> bytes:
    """One connection whose upstream has streaming lists, each answer cut at `cuts`."""
    following = Following(query)
    for number, cycle in enumerate(cycles):
        assert b"sendInitialEvents=true" in following.reflector.target
        step = fed(following, conformance.bytes_of(cycle), cuts)
        step = ended(following, step, cycle, last=number == len(cycles) - 1)
    return following.wire


def listed(query: bytes, cycles: list[Cycle], cuts: list[int], size: int) -> bytes:
    """One connection whose upstream has none: pages of `size` objects and a watch."""
    following = Following(query, streaming=False)
    for number, cycle in enumerate(cycles):
        step = Step.REQUEST
        for first in range(0, max(len(cycle.listed), 1), size):
            assert step is Step.REQUEST
            more = str(first + size) if first + size < len(cycle.listed) else ""
            step = following.answer(200, conformance.page_of(cycle.listed[first : first + size], "9", more))
        if step is Step.REQUEST:
            assert b"watch=1&resourceVersion=9&" in following.reflector.target
            step = fed(following, b"".join(cycle.lines), cuts)
        step = ended(following, step, cycle, last=number == len(cycles) - 1)
    return following.wire


def fed(following: Following, content: bytes, cuts: list[int]) -> Step:
    places = [0, *cuts, len(content)]
    for begin, end in pairwise(places):
        step = following.reflector.received(content[begin:end], following.now)
        if step is not Step.READ:
            return step
    return Step.READ


def ended(following: Following, step: Step, cycle: Cycle, *, last: bool) -> Step:
    """A cycle ends as it says, or because another follows."""
    if step is Step.READ and not last:
        assert not cycle.broken
        step = following.end()
    following.wait(10)
    assert step is Step.CYCLE or last
    return step


@EVERY
def test_a_scenario_gives_exactly_its_events_over_a_streaming_list(scenario: Scenario) -> None:
    wires = [streamed(scenario.query, cycles, []) for cycles in scenario.connections()]
    assert [event for wire in wires for event in compared(wire)] == scenario.events


@EVERY
@pytest.mark.parametrize("size", [1, 500])
def test_a_scenario_gives_exactly_its_events_over_a_list_and_a_watch(scenario: Scenario, size: int) -> None:
    wires = [listed(scenario.query, cycles, [], size) for cycles in scenario.connections()]
    assert [event for wire in wires for event in compared(wire)] == scenario.events


@EVERY
def test_a_scenario_gives_the_same_bytes_wherever_its_own_are_cut(scenario: Scenario) -> None:
    for cycles in scenario.connections():
        whole = streamed(scenario.query, cycles, [])
        longest = max(len(conformance.bytes_of(cycle)) for cycle in cycles)
        for at in range(1, longest):
            assert streamed(scenario.query, cycles, [at]) == whole
        every = list(range(1, longest))
        assert streamed(scenario.query, cycles, every) == whole
        assert listed(scenario.query, cycles, every, 500) == listed(scenario.query, cycles, [], 500)


@pytest.mark.parametrize(
    ("scenario", "transcript"),
    [
        (scenario, found)
        for scenario in SCENARIOS
        if (found := conformance.transcript(scenario.name)) is not None
    ],
    ids=lambda value: value.name if isinstance(value, Scenario) else "",
)
def test_a_scenario_gives_the_events_of_its_transcript(scenario: Scenario, transcript: list[bytes]) -> None:
    wires = [streamed(scenario.query, cycles, []) for cycles in scenario.connections()]
    assert [compared(wire) for wire in wires] == [compared(wire) for wire in transcript]


def test_every_event_is_as_the_protocols_schema_has_it() -> None:
    demanded = conformance.schema()
    wires = [
        played
        for scenario in SCENARIOS
        for cycles in scenario.connections()
        for played in (streamed(scenario.query, cycles, []), listed(scenario.query, cycles, [], 500))
    ]
    gone = Following()
    gone.reflector.received(b"\n".join((added(config_map()), COMPLETE, deleted(config_map()), b"")), gone.now)
    wires.append(gone.wire)  # of which the scenarios have none
    refused = [scope.read(case["query"].encode(), TARGETS) for case in SCOPES if "code" in case]
    wires += [sse.refusal(why) for why in refused if isinstance(why, StreamError)]
    words = [errors.forbidden, errors.unauthenticated, errors.scope_invalid, errors.internal, errors.resync]
    wires += [sse.refusal(why) for why in (*(made("why") for made in words), errors.unavailable("why", 1.5))]
    found = [
        json.loads(frame.removeprefix(b"data: ")) for wire in wires for frame in wire.split(b"\n\n")[:-1]
    ]
    assert {event["type"] for event in found} == {kind.value for kind in sse.Type}
    for event in found:
        assert schema.fits(event, demanded, demanded), event
        for name in ("seq", "type", "object", "redacted", "identity", "code", "terminal"):
            less = {part: value for part, value in event.items() if part != name}
            assert less == event or not schema.fits(less, demanded, demanded)


@pytest.mark.parametrize("case", SCOPES, ids=lambda case: case["id"])
def test_a_scope_is_what_its_query_means(case: dict[str, Any]) -> None:
    found = scope.read(case["query"].encode(), TARGETS)
    if "code" in case:
        assert isinstance(found, StreamError)
        assert (found.code, found.terminal) == (Code(case["code"]), True)
        return
    assert isinstance(found, Opening)
    asked = found.scope._replace(target=found.asked_target)
    assert asked.fields() == case["scope"]
    assert asked.query() == case["canonical"]
    assert scope.read(asked.query().encode(), TARGETS) == found

"""The public conformance data through shared watches, over sockets: the same events for all who read one."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.pairings.test_stream_conformance import (
    EVERY,
    SCENARIOS,
    Play,
    listed,
    streamed,
    targets_of_the_data,
)
from tests.streams.conformance import Scenario
from tests.streams.following import error, status
from tests.streams.test_conformance import compared
from tests.streams.wires import Event
from tests.support.pairings import JSON, Pairing
from tests.support.script import Whole
from tests.support.shared_streams import Reviews
from tests.support.streams import Page

TOKEN = b"the.shared-watch.token"


def resource(scenario: Scenario) -> str:
    """As kubectl names it."""
    fields = parse_qs(scenario.query.decode())
    return ".".join((*fields["resource"], *fields.get("group", [])))


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("shared") / "token"
    file.write_bytes(TOKEN)
    return file


@pytest.fixture
def flags(token_file: Path) -> dict[str, str]:
    return {
        "shared-watch-resources": ",".join({resource(scenario) for scenario in SCENARIOS} or {"configmaps"}),
        "shared-watch-token-file": str(token_file),
        "shared-watch-qps": "100000",
    }


@pytest.fixture(autouse=True)
def targets(pairing: Pairing) -> Iterator[None]:
    with targets_of_the_data(pairing):
        yield


@EVERY
@pytest.mark.parametrize("play", [streamed, listed])
def test_a_scenario_gives_exactly_its_events_to_all_who_share_its_watch(
    pairing: Pairing, scenario: Scenario, play: Play
) -> None:
    reviews = Reviews(pairing, TOKEN)
    found: list[list[Event]] = [[], []]
    for cycles in scenario.connections():
        target = f"/stream/v1?{scenario.query.decode()}"
        streams = [reviews.open(target)]
        request = reviews.until_watched()
        streams.append(reviews.open(target, pairing.signed_in()))
        subscribed(pairing, reviews, len(streams))
        for number, cycle in enumerate(cycles):
            if number:
                reviews.pass_time(2)
                if not cycles[number - 1].broken:
                    request.end()
                request = reviews.until_watched()
            request = play(pairing, request, cycle)
        if cycles[-1].broken:
            reviews.until_watched().answer(403, JSON, status(403))
        else:
            request.send(error(403) + b"\n")
        for events, stream in zip(found, streams, strict=True):
            events += whole(stream)
    assert found == [scenario.events] * 2


def subscribed(pairing: Pairing, reviews: Reviews, count: int) -> None:
    """Waits until so many read the watch, answering reviews."""
    measures = pairing.product.measures

    def are() -> bool:
        reviews.answer()
        return pairing.product.ask(lambda: measures.shared_subscriptions_open) == count

    pairing.script.until(are, f"{count} subscriptions")


def whole(stream: Page) -> list[Event]:
    """All that came, behind which foyer's own identity was refused."""
    assert isinstance(stream.exchange.read_until_end(), Whole)
    found = compared(stream.wire)
    assert found.pop()["code"] == "INTERNAL"
    return found

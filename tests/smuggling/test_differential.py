"""Spec 03, Body: browser and API server read the same requests, whatever a browser sends (A14).

foyer alone between them. `make e2e` puts nginx and HAProxy before it and behind it.
"""

from collections.abc import Iterator

import pytest

from tests.smuggling.chain import Chain, Day, foyer_before, fuzzed_bytes, fuzzed_streams
from tests.smuggling.recorder import Recorder
from tests.smuggling.streams import streams
from tests.smuggling.tricks import tricks


@pytest.fixture(scope="module", params=["h1", "h2"], ids=lambda version: f"upstream-{version}")
def chain(
    request: pytest.FixtureRequest, day: Day, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Chain]:
    recorder = Recorder(request.param)
    day.run(recorder.start())
    product = foyer_before(tmp_path_factory.mktemp("smuggling") / "foyer", recorder.port)
    yield Chain(day, product, recorder, {"h1": product.port, "h2": product.port})
    product.stop()
    day.run(recorder.stop())


def test_every_public_trick_is_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_bytes(tricks()) == []


def test_every_trick_with_streams_is_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_streams(streams()) == []


def test_near_misses_are_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_bytes(fuzzed_bytes(400)) == []


def test_near_misses_of_streams_are_one_sequence_of_requests(chain: Chain) -> None:
    assert chain.findings_of_streams(fuzzed_streams(200)) == []

"""The loop of the visits."""

from collections.abc import Iterator

import pytest

from tests.smuggling.chain import Day


@pytest.fixture(scope="session")
def day() -> Iterator[Day]:
    day = Day()
    yield day
    day.close()

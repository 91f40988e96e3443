"""What the demo's tests share."""

import pytest

from tests.demo.fakes import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """An API server with two empty namespaces."""
    return Cluster()

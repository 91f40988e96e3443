"""Hypothesis without a deadline: a busy machine is no failure. Its own `ci` profile holds under CI.

And the order of the tests: the long ones first.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("foyer", deadline=None)
if "CI" not in os.environ:
    settings.load_profile("foyer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # xdist hands them out in this order, and what one core began last the others would wait for.
    items.sort(key=lambda item: item.get_closest_marker("long") is None)

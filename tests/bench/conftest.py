"""What the bench starts is not measured for coverage.

It runs foyer and looks at no answer of it, so that a line it reaches is not one that is tested; and its quick
run took half as long again.
"""

import pytest


@pytest.fixture(autouse=True)
def _uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)

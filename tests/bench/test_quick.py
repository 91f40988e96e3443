"""`python -m bench`: that it measures everything and says so. No test looks at a figure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def printed() -> str:
    """What a quick run prints, having ended well. Without the yardstick, which a machine may have."""
    environment = {**os.environ, "FOYER_GOREF": "no-such-program"}
    command = [sys.executable, "-m", "bench", "--quick"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize(
    "row",
    [
        "exchange / codecs",
        "exchange and what decides / codecs",
        "a browser's over h1",
        "a browser's over h2",
        "KiB over h1",
        "KiB over h2",
        "foyer / the same in memory",
        "goref, the yardstick, is not here",
        "foyer, plain",
        "foyer, from gzip",
        "foyer_native",
        "cookie, open, still live",
    ],
)
def test_every_measurement_is_printed(printed: str, row: str) -> None:
    assert row in printed


def test_a_bound_says_whether_it_holds(printed: str) -> None:
    assert printed.count(": holds") + printed.count(": MISSED") >= 6

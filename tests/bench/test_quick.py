"""`python -m bench`: that it measures everything and says so. No test looks at a figure."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import PARTS
from bench.kinds import KINDS, MOST, Attacker
from foyer.protocol.floods import Flood

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A quick run, without what a machine may have to stand beside foyer."""
    environment = {**os.environ, "FOYER_GOREF": "no-such-program", "FOYER_NGINX": "no-such-program"}
    command = [sys.executable, "-m", "bench", "--quick", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


ROWS = [
    "exchange / codecs",
    "exchange and what decides / codecs",
    "a browser's over h1",
    "a browser's over h2",
    "KiB over h1",
    "KiB over h2",
    "KiB more over h2, from gzip",
    "foyer / the same in memory",
    "goref, the yardstick, is not here",
    "nginx, the floor, is not here",
    "foyer, 401, no session",
    "foyer, plain",
    "foyer, from gzip",
    "foyer_native",
    "cookie, open, still live",
    "99 of 100, what foyer ran of that",
    "of that where it lives",
    *(kind.name for kind in KINDS),
]
"""What some rows of what is printed begin with, in every part."""


@pytest.mark.long
def test_a_run_of_everything_prints_each_measurement_and_writes_what_it_prints(tmp_path: Path) -> None:
    """One test, for one run: it takes half a minute."""
    path = tmp_path / "folder" / "bench.json"
    ended = bench("--json", str(path))
    assert ended.returncode == 0, ended.stderr
    printed, found = ended.stdout, json.loads(path.read_text())
    assert [row for row in ROWS if row not in printed] == []
    assert_aims_are_judged(printed, found)
    assert_file_holds_what_is_printed(printed, found)


def assert_aims_are_judged(printed: str, found: dict[str, Any]) -> None:
    rows = [row for table in found["tables"] for row in table["rows"] if row["aim"]]
    assert len(rows) >= 15
    assert printed.count(": holds") + printed.count(": MISSED") == len(rows)
    assert all(isinstance(row["holds"], bool) for row in rows)


def assert_file_holds_what_is_printed(printed: str, found: dict[str, Any]) -> None:
    assert found["quick"] is True
    assert len(found["tables"]) >= len(PARTS)
    for table in found["tables"]:
        assert table["title"] in printed
        for row in table["rows"]:
            assert row["label"] in printed
            assert len(row["values"]) == len(table["columns"])
            assert any(value is not None for value in row["values"])


def test_a_part_that_there_is_not_is_refused() -> None:
    ended = bench("no-such-part")
    assert ended.returncode == 2
    assert "no-such-part" in ended.stderr


def test_every_kind_of_flood_has_something_to_say() -> None:
    attacker = Attacker("cookie=a", "token", "https://foyer.example.test")
    for kind in KINDS:
        said = kind.says(attacker)
        assert kind.name == "handshakes alone" or said
        assert sum(map(len, said)) < 2 * MOST


def test_every_flood_that_is_counted_is_measured() -> None:
    said = {
        Flood.RESETS: "rapid reset",
        Flood.BREACHES: "made reset",
        Flood.LATE: "on a stream that is over",
        Flood.HEADERS: "header bomb",
        Flood.CONTINUATION: "block without end",
        Flood.SETTINGS: "SETTINGS",
        Flood.PING: "PING",
        Flood.PRIORITY: "PRIORITY",
        Flood.USELESS: "unknown frames",
        Flood.EMPTY: "empty content",
        Flood.SMALL: "by the octet",
        Flood.WINDOWS: "windows opened",
        Flood.PIPELINE: "pipeline",
        Flood.NEVER_READS: "never read",
    }
    # Python's ssl sends no KeyUpdate: tests/net makes them by hand, a record at a time.
    assert set(said) | {Flood.KEY_UPDATE} == set(Flood)
    for part in said.values():
        assert any(part in kind.name for kind in KINDS)

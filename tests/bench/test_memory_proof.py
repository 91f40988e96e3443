"""`python -m bench.memory_proof`: foyer outlives more people than its memory is enough for, with a few."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["all", "odd"])
def test_a_foyer_held_to_its_memory_refuses_what_does_not_fit_and_gives_the_rest(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "memory.json"
    command = [sys.executable, "-m", "bench.memory_proof", "--quick", "--json", str(file), kind]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    [table] = json.loads(file.read_text())["tables"]
    for people in ("who read had it", "who did not read was told"):
        assert sum(row["values"][0] for row in table["rows"] if row["label"].startswith(people)) == 4

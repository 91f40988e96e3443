"""The rehearsal before a real API server and issuer, with a tenth of the people (spec 04, The rehearsal).

It has a control plane of its own, for it counts what is open there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["watch", "shared"])
def test_everything_is_delivered_cut_and_given_back(kind: str, tmp_path: Path) -> None:
    if not os.environ.get("FOYER_CLUSTER"):
        pytest.skip("no cluster: FOYER_CLUSTER names no folder with the scripts that start one")
    command = [sys.executable, "-m", "bench.rehearsal", "--json", str(tmp_path / "rehearsal.json"), kind]
    environment = {**os.environ, "REAL": "1", "SIZE": "20", "HOLD": "0"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "a kube-apiserver and Dex" in ended.stdout

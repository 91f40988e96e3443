"""An API server over HTTP/1.1 whose machine is gone: TCP finds out, whatever it is asked (A4)."""

import subprocess
import sys

import pytest

from tests.e2e.harness.vanishing import IDLE, INTERVAL, LONGEST, PROBES

APART = ["unshare", "--map-root-user", "--net"]


@pytest.mark.parametrize("what", ["waits", "asks"])
def test_a_connection_to_a_machine_that_is_gone_is_lost_in_seconds(what: str) -> None:
    """Where something was sent nobody is probed, and its retransmissions went on for a quarter of an hour."""
    if subprocess.run([*APART, "true"], capture_output=True).returncode:
        pytest.skip("no network of its own can be had here (unshare)")
    command = [*APART, sys.executable, "-m", "tests.e2e.harness.vanishing", what]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST + 10)
    assert ended.returncode == 0, ended.stderr
    # TCP's timers are its own: the limit is looked at when something would be sent again.
    assert IDLE <= float(ended.stdout) <= 3 * (IDLE + INTERVAL * PROBES)

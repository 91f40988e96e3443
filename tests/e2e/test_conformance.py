"""HTTP/2 as others understand it: h2spec's whole suite, and load that is honest, against the TLS listener.

`run` looks for the programs in the peers beside the project (`FOYER_PEERS` names their folder); what is
not there is skipped.
"""

import re
import shutil
import subprocess

import pytest


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on PATH (`build {name}` of the peers puts it there)")
    return found


def test_h2spec_finds_nothing(demo: str) -> None:
    """RFC 9113 and 7541 section by section; strict, so that what they only recommend counts as well."""
    port = demo.rpartition(":")[2]
    command = [program("h2spec"), "--tls", "--insecure", "--strict", "--host", "127.0.0.1", "--port", port]
    done = subprocess.run(
        [*command, "--timeout", "5"], capture_output=True, text=True, timeout=300, check=False
    )
    (counts,) = re.findall(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", done.stdout)
    tests, passed, skipped, failed = map(int, counts)
    assert (skipped, failed) == (0, 0), done.stdout
    assert tests == passed >= 146


@pytest.mark.parametrize(
    "how", [["-c", "1", "-m", "32"], ["-c", "4", "-m", "100"], ["-c", "8", "-m", "1", "--h1"]], ids=" ".join
)
def test_ten_thousand_requests_as_fast_as_they_go_are_no_flood(demo: str, how: list[str]) -> None:
    command = [program("h2load"), "-n", "10000", *how, f"{demo}/healthz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "10000 succeeded, 0 failed, 0 errored, 0 timeout" in done.stdout, done.stdout


@pytest.mark.parametrize(("option", "version"), [("--http1.1", "1.1"), ("--http2", "2")])
def test_curl_speaks_both_versions(demo: str, option: str, version: str) -> None:
    command = [
        program("curl"),
        "--silent",
        "--insecure",
        option,
        "--write-out",
        " %{http_version} %{http_code}",
    ]
    done = subprocess.run(
        [*command, f"{demo}/healthz"], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.split()[1:] == [version, "200"]

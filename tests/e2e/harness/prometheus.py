"""A real Prometheus that scrapes one foyer, several times a second, and evaluates rules once."""

import json
import math
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.harness.serving import free_port
from tests.e2e.harness.waiting import wait_for

CONFIGURATION = """\
global: {{scrape_interval: {every}, scrape_timeout: {every}, evaluation_interval: 1s}}
rule_files: {rules}
scrape_configs:
  - job_name: foyer
    static_configs: [{{targets: ["{target}"]}}]
"""


def program(name: str) -> str:
    """A program of Debian's package `prometheus`."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on PATH")
    return found


class Prometheus:
    """One process, with its data in `folder`."""

    def __init__(self, folder: Path, target: str, rules: Sequence[Path] = (), every: str = "100ms") -> None:
        """`target` is what is scraped, and `every` how often; `rules` are files of rules."""
        names = json.dumps([str(file) for file in rules])
        (folder / "prometheus.yml").write_text(CONFIGURATION.format(target=target, rules=names, every=every))
        self._log = folder / "prometheus.log"
        self.address = f"127.0.0.1:{free_port()}"
        command = [
            program("prometheus"),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={self.address}",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._client = httpx.Client(base_url=f"http://{self.address}", trust_env=False)
        wait_for("Prometheus to be ready", self._ready, within=30)

    def _ready(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        try:
            return self._client.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    def _get(self, path: str, **parameters: str) -> Any:
        answer = self._client.get(f"/api/v1/{path}", params=parameters).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> dict[str, float]:
        """What a query says now: a number for each series of its result, by its labels' values."""
        found = self._get("query", query=expression)
        assert found["resultType"] == "vector"
        return {
            ",".join(value for _, value in sorted(series["metric"].items())): float(series["value"][1])
            for series in found["result"]
        }

    def numbers(self, expression: str) -> dict[str, float]:
        """The same without what is no number: a part of nothing."""
        return {series: value for series, value in self.query(expression).items() if not math.isnan(value)}

    def types(self) -> dict[str, str]:
        """Each metric's type, as Prometheus has understood it."""
        return {name: entries[0]["type"] for name, entries in self._get("metadata").items()}

    def rules(self) -> list[dict[str, Any]]:
        """Every rule with its health, and the alerts that are pending or firing."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def last_error(self) -> str:
        """Why the last scrape failed; empty when it did not."""
        (target,) = self._get("targets")["activeTargets"]
        return str(target["lastError"])

    def close(self) -> None:
        """SIGTERM, to this process alone."""
        self._client.close()
        self._process.terminate()
        self._process.wait(20)

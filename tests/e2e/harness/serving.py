"""`foyer serve` as a process: started with flags, ready when `/readyz` says so, ended by signal."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.waiting import wait_for

FOYER = str(Path(sys.executable).with_name("foyer"))
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("FOYER_")}
"""foyer takes what is FOYER_ for its flags (spec 01, Process), and these tests' own for a mistake."""

ENVIRONMENT["FOYER_METRICS_LISTEN"] = ""  # of many at once, only one could have the port that is the default

LogLine = dict[str, Any]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Foyer:
    """One foyer process. `restart` starts another with the same flags on the same port."""

    def __init__(self, flags: dict[str, str], origin: str, ca_file: str, leaks: Leaks) -> None:
        self._command = [FOYER, "serve", *(word for name, value in flags.items() for word in (name, value))]
        self.origin = origin
        self._ca_file = ca_file
        self._leaks = leaks
        self.log: list[LogLine] = []
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
        )
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def wait_until(self, status: int) -> None:
        """Until `/readyz` answers this: 200 once the issuer is discovered, 503 before; 0 for no answer."""
        try:
            wait_for(f"/readyz to answer {status}", lambda: self._readyz() == status, within=40)
        except AssertionError:
            self.signal(signal.SIGKILL)
            raise

    def _readyz(self) -> int:
        assert self._process.poll() is None, f"foyer exited {self._process.poll()}: {self.log}"
        context = ssl.create_default_context(cafile=self._ca_file)
        try:
            return httpx.get(f"{self.origin}/readyz", verify=context, trust_env=False).status_code
        except httpx.TransportError:
            return 0

    def _read_log(self) -> None:
        """Each line is searched for secrets, and is one JSON object (spec 01, Process)."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._leaks.saw("foyer's log", line)
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.log.append({"msg": "not JSON", "line": line.decode(errors="replace")})

    def logged(self, what: str, matches: Callable[[LogLine], bool], since: int = 0) -> LogLine:
        """The first line from index `since` on that matches; waits for it."""
        return wait_for(
            f"the log line {what}",
            lambda: next((line for line in self.log[since:] if matches(line)), None),
            5,
        )

    def signal(self, number: signal.Signals) -> None:
        """To this process alone, by its ID."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def exit_code(self, within: float = 10.0) -> int:
        """Wait for its end, and for the rest of its log."""
        code = self._process.wait(within)
        self._reader.join(5)
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code

    def stop(self) -> int:
        """SIGTERM, and again where something open holds it up: its exit code."""
        try:
            for patience in (1.0, 10.0):
                self.signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    return self.exit_code(patience)
            raise AssertionError("foyer did not end on its second SIGTERM")
        finally:
            self.signal(signal.SIGKILL)

    def restart(self) -> None:
        """Stop it and start it again with the same flags, as an update of the deployment does."""
        self.stop()
        self._start()
        self.wait_until(200)

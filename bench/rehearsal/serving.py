"""The server that is rehearsed: foyer as it is served, with its own defaults, or the yardstick beside it."""

import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from signal import SIGTERM, SIGUSR2
from typing import Any, Protocol

from bench.processes import PATIENCE, Bench, Lost, Running
from bench.rehearsal.kinds import Kind
from bench.rehearsal.signing_in import SignedIn, sign_in
from bench.rehearsal.surroundings import Surroundings
from bench.servers import goref_cookie

CHECK_INTERVAL = 5.0
"""Seconds: foyer's default for `-session-check-interval`, and the yardstick's."""

A_MOMENT = 0.5


class Rehearsed(Protocol):
    """A server in its place."""

    running: Running

    def sign_in(self, count: int) -> list[SignedIn]:
        """So many people."""


class Foyer:
    """`foyer serve` over TLS, with every bound at its default."""

    def __init__(self, bench: Bench, around: Surroundings, kind: Kind) -> None:
        self._bench = bench
        self._around = around
        self._flags = {**around.flags(), **_shared(around, kind)}
        self._flags |= {"listen": around.listen, "metrics-listen": "127.0.0.1:0"}
        self.running = self._start()

    def _start(self) -> Running:
        log = self._bench.path(f"foyer-{time.monotonic_ns()}.log")
        command = [sys.executable, "-m", "bench.rehearsal.observed", *_arguments(self._flags)]
        with log.open("w") as stderr:
            running = self._bench.start("foyer", command, stdout=subprocess.PIPE, stderr=stderr)
        self._log = log
        self._metrics = _eventually(lambda: self._port("metrics listening"), running)
        running.port = _eventually(lambda: self._port("listening"), running)
        _eventually(lambda: '"msg":"ready"' in log.read_text(), running)
        return running

    def sign_in(self, count: int) -> list[SignedIn]:
        """Through the issuer's form, each of them."""
        people = self._around.people(count)
        return sign_in(people, self._around.ca_file, self._around.origin, self.running.port)

    def restart(self) -> None:
        """As a deployment does that does not wait: a second signal aborts what the first would drain."""
        self._flags["listen"] = f"127.0.0.1:{self.running.port}"
        self.running.signal(SIGTERM)
        if self._ended(A_MOMENT) is None:  # streams end at once, and with them foyer
            self.running.signal(SIGTERM)
        if (code := self._ended(PATIENCE)) != 0:
            raise Lost(f"foyer, as it was to end: {code}\n{self._log.read_text()[-4000:]}")
        self._bench.end(self.running)
        self.running = self._start()

    def _ended(self, seconds: float) -> int | None:
        try:
            return self.running.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def tally(self) -> dict[str, Any]:
        """What it has in memory (`bench.rehearsal.observed`)."""
        self.running.signal(SIGUSR2)
        found: dict[str, Any] = self.running.line()
        return found

    def metric(self, series: str) -> float:
        """One series of a scrape."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics") as answer:
            text = answer.read().decode()
        found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
        if found is None:
            raise Lost(f"the series {series}")
        return float(found[1])

    def _port(self, msg: str) -> int:
        found = re.search(rf'"msg":"{msg}","address":"[^"]*:(\d+)"', self._log.read_text())
        return int(found[1]) if found else 0


class Goref:
    """The yardstick. Its sessions are sealed here: it knows no key of the issuer's kind."""

    def __init__(self, bench: Bench, program: str, around: Surroundings, kind: Kind) -> None:
        self._bench = bench
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        flags = {**around.flags(), **_shared(around, kind)} | {
            "listen": f"127.0.0.1:{port}",
            "ca-file": around.ca_file,
        }
        for name in ("oidc-ca-file", "kubernetes-ca-file"):
            del flags[name]
        self.running = bench.start("goref", [program, *_arguments(flags)], stderr=subprocess.DEVNULL)
        self.running.port = port
        _eventually(lambda: _answers(port), self.running)

    def sign_in(self, count: int) -> list[SignedIn]:
        """Sessions like those of as many people."""
        sessions = [self._bench.session(number) for number in range(1, count + 1)]
        return [SignedIn(goref_cookie(one, self._bench.key), one.csrf_token) for one in sessions]


def _shared(around: Surroundings, kind: Kind) -> dict[str, str]:
    if kind is not Kind.SHARED:
        return {}
    return {"shared-watch-resources": "configmaps", "shared-watch-token-file": around.shared_token}


def _arguments(flags: Mapping[str, str]) -> list[str]:
    return [f"-{name}={value}" for name, value in flags.items()]


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _eventually(found: Callable[[], int], running: Running) -> int:
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        if running.process.poll() is not None or time.monotonic() > deadline:
            raise Lost(running.name)
        time.sleep(0.02)  # a log file can only be read again
    return value

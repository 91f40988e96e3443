"""The processes of a measurement, and what the kernel says of them.

Everything is on 127.0.0.1 and on ports of the kernel's choice, in a folder that is gone afterwards.
"""

import base64
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.browsers import Task
from bench.limits import cpu_clock, raise_file_limit
from bench.sessions import session
from foyer.demo.certificates import make
from foyer.session.seal import Session

PATIENCE = 60.0
"""Seconds for a process to say what it is asked for."""


class Lost(Exception):
    """A process ended, or said nothing, where something was expected."""


@dataclass(slots=True)
class Running:
    """A process, and what it costs."""

    name: str
    process: "subprocess.Popen[str]"
    port: int = 0
    cookie: str = ""
    log: Path = Path(os.devnull)
    """What it has said on stderr, where that is kept."""

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far, user and system, of all its threads."""
        return time.clock_gettime(cpu_clock(self.process.pid))

    @property
    def rss(self) -> float:
        """Resident KiB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1024

    def line(self, seconds: float = PATIENCE) -> Any:
        """The next line on its stdout, as JSON."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline() if self.has_said(seconds) else ""
        if not said:
            raise Lost(self.name)
        return json.loads(said)

    def has_said(self, seconds: float) -> bool:
        """Whether it says something within so many seconds."""
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def say(self, what: object) -> None:
        """A line on its stdin, as JSON."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def pin(self, cores: set[int], *, behind: bool = False) -> None:
        """Keeps it, and what threads it will start, to some cores, perhaps behind all others there.

        Behind by its class and not by a nice value: since Linux 6.6 whoever runs ends a slice of milliseconds
        before one who wakes up has the core, however nice. Only that class gives it up at once.
        """
        os.sched_setaffinity(self.process.pid, cores)
        if behind:
            os.sched_setscheduler(self.process.pid, os.SCHED_IDLE, os.sched_param(0))

    def signal(self, number: int) -> None:
        """Sends a signal."""
        self.process.send_signal(number)

    def end(self) -> None:
        """Ends it, and waits."""
        self.process.kill()
        self.process.communicate()


class Bench:
    """A folder with certificates and keys, and the processes started with it."""

    def __init__(self) -> None:
        raise_file_limit()
        self._folder = tempfile.TemporaryDirectory(prefix="foyer-bench-")
        self.key = os.urandom(32)
        self._running: list[Running] = []
        self._sessions: dict[int, Session] = {}
        certificates = make((), time.time())
        for name, content in {
            "tls.crt": certificates.certificate,
            "tls.key": certificates.key,
            "ca.crt": certificates.authority,
            "keys": base64.b64encode(self.key),
            "secret": b"unused",
        }.items():
            self.path(name).write_bytes(content)

    def path(self, name: str) -> Path:
        """A file of this run."""
        return Path(self._folder.name, name)

    def close(self) -> None:
        """Ends what is still running."""
        for running in reversed(self._running):
            running.end()
        self._folder.cleanup()

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self, name: str, command: list[str], **options: Any) -> Running:
        """Starts a process."""
        # foyer would take the yardstick's variable for one of its own flags.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FOYER_")}
        environment["FOYER_METRICS_LISTEN"] = ""  # of two foyers, one would not get the port
        running = Running(name, subprocess.Popen(command, text=True, env=environment, **options))
        self._running.append(running)
        return running

    def end(self, running: Running) -> None:
        """Ends one of them now."""
        self._running.remove(running)
        running.end()

    def python(self, module: str, *arguments: str) -> Running:
        """Starts one of this folder's programs, to talk to it in lines."""
        command = [sys.executable, "-m", module, *arguments]
        return self.start(module, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def api(self, version: str) -> Running:
        """A stand-in API server that speaks `version`."""
        running = self.python("bench.api", self._folder.name, version)
        running.port = running.line()
        return running

    def browsers(
        self,
        server: Running,
        version: str,
        target: str,
        connections: int,
        *,
        signed_in: bool = True,
        **more: int,
    ) -> Running:
        """Light browsers, their first answers whole."""
        cookie = server.cookie if signed_in else ""
        task = Task(server.port, version, target, cookie, connections, **more)
        running = self.python("bench.browsers", json.dumps(asdict(task)))
        running.line()
        return running

    def session(self, number: int = 1) -> Session:
        """One of many people, who signed in at the beginning."""
        if number not in self._sessions:
            now = int(time.time())
            self._sessions[number] = session(number)._replace(issued_at=now, ends_at=now + 3600)
        return self._sessions[number]


def change(api: Running) -> None:
    """One more event on every watch."""
    api.signal(signal.SIGUSR1)

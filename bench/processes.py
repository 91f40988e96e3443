"""The processes of a measurement: foyer as it is served, what is beside it, and what /proc says of them.

Everything is on 127.0.0.1 and on ports of the kernel's choice, in a folder that is gone afterwards.
"""

import base64
import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.browsers import Task
from bench.limits import raise_file_limit
from bench.sessions import session
from foyer.demo.certificates import make
from foyer.session import spelling
from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, Session, seal

PATIENCE = 60.0
"""Seconds for a process to say what it is asked for."""

ORIGIN = "https://foyer.example.test"

_TICK = 1 / os.sysconf("SC_CLK_TCK")


class Lost(Exception):
    """A process ended, or said nothing, where something was expected."""


@dataclass(slots=True)
class Running:
    """A process, and what it costs."""

    name: str
    process: "subprocess.Popen[str]"
    port: int = 0
    cookie: str = ""

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far, user and system, in ticks of 10 ms."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK

    @property
    def rss(self) -> float:
        """Resident KiB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1024

    def line(self) -> Any:
        """The next line on its stdout, as JSON."""
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        said = self.process.stdout.readline() if readable else ""
        if not said:
            raise Lost(self.name)
        return json.loads(said)

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
        self._key = os.urandom(32)
        self._running: list[Running] = []
        certificates = make((), time.time())
        for name, content in {
            "tls.crt": certificates.certificate,
            "tls.key": certificates.key,
            "ca.crt": certificates.authority,
            "keys": base64.b64encode(self._key),
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

    def _start(self, name: str, command: list[str], **options: Any) -> Running:
        # foyer would take the yardstick's variable for one of its own flags.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FOYER_")}
        running = Running(name, subprocess.Popen(command, text=True, env=environment, **options))
        self._running.append(running)
        return running

    def _python(self, module: str, *arguments: str) -> Running:
        command = [sys.executable, "-m", module, *arguments]
        return self._start(module, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def api(self, version: str) -> Running:
        """A stand-in API server that speaks `version`."""
        running = self._python("bench.api", self._folder.name, version)
        running.port = running.line()
        return running

    def browsers(self, server: Running, version: str, target: str, connections: int, **more: int) -> Running:
        """Light browsers, their first answers whole."""
        task = Task(server.port, version, target, server.cookie, connections, **more)
        running = self._python("bench.browsers", json.dumps(asdict(task)))
        running.line()
        return running

    # The servers measured.

    def foyer(self, api: Running) -> Running:
        """`foyer serve` in front of `api`, in a process of its own."""
        log = self.path("foyer.log")
        with log.open("w") as stderr:
            flags = self._flags(api, 0) | {
                "oidc-ca-file": str(self.path("ca.crt")),
                "kubernetes-ca-file": str(self.path("ca.crt")),
            }
            arguments = [f"-{name}={value}" for name, value in flags.items()]
            running = self._start(
                "foyer", [sys.executable, "-m", "foyer.cli", "serve", *arguments], stderr=stderr
            )
        running.port = _eventually(lambda: _listening(log.read_text()), running)
        _eventually(lambda: '"msg":"ready"' in log.read_text(), running)
        running.cookie = f"{COOKIE}={seal(self._session(), Keyring([self._key]))}"
        return running

    def goref(self, program: str, api: Running) -> Running:
        """The yardstick, in the same place."""
        port = _free_port()
        flags = self._flags(api, port) | {
            "ca-file": str(self.path("ca.crt")),
            "max-response-bytes": str(10**9),
        }
        arguments = [f"-{name}={value}" for name, value in flags.items()]
        running = self._start("goref", [program, *arguments], stderr=subprocess.DEVNULL)
        running.port = port
        _eventually(lambda: _connects(port), running)
        running.cookie = _goref_cookie(self._session(), self._key)
        return running

    def _flags(self, api: Running, port: int) -> dict[str, str]:
        url = f"https://127.0.0.1:{api.port}"
        return {
            "listen": f"127.0.0.1:{port}",
            "tls-cert-file": str(self.path("tls.crt")),
            "tls-key-file": str(self.path("tls.key")),
            "public-url": ORIGIN,
            "oidc-issuer": url,
            "oidc-client-id": "foyer",
            "oidc-client-secret-file": str(self.path("secret")),
            "kubernetes-server": url,
            "session-keys-file": str(self.path("keys")),
        }

    def _session(self) -> Session:
        now = int(time.time())
        return session(1)._replace(issued_at=now, ends_at=now + 3600)

    def end(self, running: Running) -> None:
        """Ends one of them now."""
        self._running.remove(running)
        running.end()


def goref() -> str | None:
    """The yardstick's program, where there is one: `goref` on PATH, or as FOYER_GOREF says."""
    return shutil.which(os.environ.get("FOYER_GOREF") or "goref")


def change(api: Running) -> None:
    """One more event on every watch."""
    api.signal(signal.SIGUSR1)


def _goref_cookie(signed_in: Session, key: bytes) -> str:
    """A session as goref seals one: JSON under the file's own key."""
    name, nonce = "__Host-goref-session", os.urandom(12)
    parts = {
        "Sub": signed_in.subject,
        "Email": signed_in.email,
        "Name": signed_in.display_name,
        "Token": bytes(signed_in.id_token).decode(),
        "ID": signed_in.session_id,
        "CSRF": signed_in.csrf_token,
        "Ends": signed_in.ends_at,
    }
    sealed = nonce + AESGCM(key).encrypt(nonce, json.dumps(parts).encode(), name.encode())
    return f"{name}={spelling.encode(sealed)}"


def _listening(log: str) -> int:
    for line in log.splitlines(keepends=True):
        if line.endswith("\n") and (said := json.loads(line))["msg"] == "listening":
            return int(said["address"].rpartition(":")[2])
    return 0


def _eventually(found: Callable[[], int], running: Running) -> int:
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        if running.process.poll() is not None or time.monotonic() > deadline:
            raise Lost(running.name)
        time.sleep(0.02)
    return value


def _free_port() -> int:
    """goref does not say which port it has got, so it is given one that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True

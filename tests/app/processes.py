"""`foyer serve`, and the API server and issuer it needs, as processes with log lines and exit codes."""

import base64
import json
import os
import resource
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeAlias, TypeVar

import httpx

from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, IdToken, Session, SessionID, seal
from tests.support.browsers import H1Browser, H2Browser
from tests.support.certs import ORIGIN_HOST, write_certificate
from tests.support.script import Fields

PATIENCE = 20.0
"""Seconds after which something is taken never to happen: a bound for a failing test on a busy machine."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("FOYER_")}
"""Whoever runs the tests may have configured a foyer of their own."""

ENVIRONMENT["FOYER_METRICS_LISTEN"] = ""  # of many at once, only one could have the port that is the default

CONFIG_MAPS = "/api/v1/namespaces/demo/configmaps"

LogLine = dict[str, Any]
Found = TypeVar("Found")


class Lines:
    """A stream's lines, taken by a thread as they come, so that its writer never waits."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.taken: list[bytes] = []
        self._more = threading.Condition()
        self._ended = False
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            with self._more:
                self.taken.append(line)
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def find(self, look: Callable[[list[bytes]], Found | None], what: str) -> Found:
        """What `look` finds in the lines so far, or as soon as more have come."""
        deadline = time.monotonic() + PATIENCE
        with self._more:
            while (found := look(self.taken)) is None:
                left = deadline - time.monotonic()
                assert left > 0 and not self._ended, f"not written: {what}; but {self.taken}"
                self._more.wait(left)
            return found

    def close(self) -> None:
        """The writer has ended: take the rest."""
        self._thread.join(PATIENCE)
        self._stream.close()


class Served:
    """One `foyer serve`. At its end every line it wrote is looked at."""

    def __init__(
        self, arguments: Sequence[str], *, terminal: int | None = None, before: Sequence[str] = ()
    ) -> None:
        """`terminal` is the descriptor of a terminal to be its own; `before` its command's first words."""
        command = [*before, sys.executable, "-m", "foyer.cli", "serve", *arguments]
        if terminal is not None:
            take_it = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
            command[1:1] = ["-c", take_it + "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            start_new_session=terminal is not None,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self._out, self._err = Lines(self._process.stdout), Lines(self._process.stderr)

    @property
    def log(self) -> list[LogLine]:
        """The lines so far: each is one JSON object, or this fails (spec 01, Process)."""
        return [_logged(line) for line in list(self._err.taken)]

    def logged(self, msg: str, count: int = 1) -> LogLine:
        """Waits for the line of this `msg`, or for as many as `count`, and returns the last of them."""

        def look(lines: list[bytes]) -> LogLine | None:
            found = [line for line in map(_logged, lines) if line["msg"] == msg]
            return found[count - 1] if len(found) >= count else None

        return self._err.find(look, msg)

    def said(self, *messages: str) -> list[str]:
        """Which of these were logged, in their order, as often as they were."""
        return [line["msg"] for line in self.log if line["msg"] in messages]

    @property
    def files(self) -> tuple[int, int]:
        """How many it may have open: the limit that holds, and the most that it could be."""
        return resource.prlimit(self._process.pid, resource.RLIMIT_NOFILE)

    @property
    def port(self) -> int:
        """Where it listens, by its own account. From then on it takes signals."""
        return int(self.logged("listening")["address"].rpartition(":")[2])

    def signal(self, number: signal.Signals) -> None:
        """To this process alone."""
        self._process.send_signal(number)

    def exit_code(self) -> int:
        """Waits for its end, and checks what it has written."""
        code = self._process.wait(PATIENCE)
        self._out.close()
        self._err.close()
        assert self._out.taken == [], "serve writes nothing to stdout"
        assert all(line.endswith(b"\n") and line.isascii() for line in self._err.taken)
        assert all({"time", "level", "msg"} <= line.keys() for line in self.log)
        return code

    def stop(self) -> int:
        """The exit code after SIGTERM."""
        self.signal(signal.SIGTERM)
        return self.exit_code()

    def __enter__(self) -> "Served":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)
        self._out.close()
        self._err.close()


def _logged(line: bytes) -> LogLine:
    found = json.loads(line)
    assert isinstance(found, dict), line
    return found


class Cluster:
    """An API server and an issuer as one process of their own. `more` are arguments of its."""

    def __init__(self, *more: str) -> None:
        command = [sys.executable, "-m", "foyer.demo.apiserver", "--issuer-listen", "127.0.0.1:0", *more]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT)
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        self.url, self.issuer, self.ca_file = said["url"], said["issuer"], said["caFile"]
        self.token, self.client_id, self.secret = said["adminToken"], said["clientId"], said["clientSecret"]

    def create(self, name: str) -> None:
        """A ConfigMap, created without foyer."""
        answer = httpx.post(
            self.url + CONFIG_MAPS,
            json={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}},
            headers={"Authorization": f"Bearer {self.token}"},
            verify=ssl.create_default_context(cafile=self.ca_file),
            trust_env=False,
        )
        assert answer.status_code == 201, answer.text

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == 0


class Setting:
    """The files and flags of a foyer before a cluster, and sessions in it."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.folder = folder
        self.key = os.urandom(32)
        self._token = cluster.token
        self._issuer = cluster.issuer
        self.keys_file = folder / "keys"
        self.keys_file.write_bytes(base64.b64encode(self.key))
        (folder / "secret").write_text(cluster.secret)
        self.certificate, self.private_key = write_certificate(folder, ORIGIN_HOST)
        self.flags = {
            "-listen": "127.0.0.1:0",
            "-public-url": f"https://{ORIGIN_HOST}",
            "-oidc-issuer": cluster.issuer,
            "-oidc-client-id": cluster.client_id,
            "-oidc-client-secret-file": str(folder / "secret"),
            "-oidc-ca-file": cluster.ca_file,
            "-kubernetes-server": cluster.url,
            "-kubernetes-ca-file": cluster.ca_file,
            "-session-keys-file": str(self.keys_file),
            "-tls-cert-file": str(self.certificate),
            "-tls-key-file": str(self.private_key),
        }

    def serve(self, **changes: str) -> Served:
        """A foyer, not waited for. `changes` are flags, as identifiers."""
        flags = self.flags | {"-" + name.replace("_", "-"): value for name, value in changes.items()}
        return Served([word for flag in flags.items() for word in flag])

    def session(self, key: bytes | None = None, *, issued: int = 0) -> Fields:
        """What a page that is signed in sends with a change. Its token may do everything.

        `issued` is when it signed in, in seconds from now.
        """
        now = int(time.time())
        session = Session(
            issuer=self._issuer,
            subject="admin",
            email="ada@example.test",
            display_name="Ada",
            groups=(),
            connector=None,
            id_token=IdToken(self._token.encode()),
            session_id=SessionID(os.urandom(16).hex()),
            csrf_token="proof",
            issued_at=now + issued,
            ends_at=now + 3600,
        )
        cookie = f"{COOKIE}={seal(session, Keyring([key or self.key]))}"
        return [
            (b"Cookie", cookie.encode()),
            (b"X-CSRF-Token", b"proof"),
            (b"Origin", f"https://{ORIGIN_HOST}".encode()),
        ]


Connect: TypeAlias = Callable[[Served, str], H1Browser | H2Browser]
"""A browser's connection to a foyer, in an HTTP version."""

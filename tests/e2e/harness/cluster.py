"""The control plane behind foyer: etcd, kube-apiserver and Dex, run by the cluster's own scripts.

`up` starts what is not running, so breaking a part and `up` again is the way to test failures.
Processes end by the process ID that `up` wrote down.
"""

import json
import os
import re
import signal
import ssl
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.harness.audit import AuditLog
from tests.e2e.harness.serving import free_port
from tests.e2e.harness.waiting import wait_for

CORE = "/api/v1/namespaces/demo"
QUIZ = "/apis/examples.foyer.dev/v1/namespaces/demo/quizsubmissions"


class Cluster:
    """One cluster in one folder, and an administrator at its API server who goes past foyer."""

    def __init__(self, scripts: Path, folder: Path, *, trusts: "Cluster | None" = None) -> None:
        """Its API server takes the sign-ins of the one that it `trusts` as well: one login for both."""
        self._scripts = scripts
        self._folder = folder
        self._options = [] if trusts is None else ["--trust", str(trusts._folder)]
        self.env: dict[str, str] = {}
        # A second origin where Dex lets people sign in: a foyer behind an ingress.
        self.ingress_url = f"https://127.0.0.1:{free_port()}"
        self._admin: httpx.Client | None = None
        self.up()

    # Life and death

    def up(self) -> None:
        """Start what is not running; ports, keys and data stay."""
        self._script("up", "--public-url", self.ingress_url, *self._options)
        lines = (self._folder / "env").read_text().splitlines()
        self.env = dict(line.split("=", 1) for line in lines)
        # Ready is not all: for a moment after its start an API server answers 429 to lists whose
        # storage is still being read.
        for path in (f"{CORE}/configmaps", QUIZ, "/api/v1/namespaces/large/configmaps"):
            wait_for(f"a list of {path}", lambda: self.admin.get(path).status_code == 200)  # noqa: B023

    def down(self, *names: str) -> None:
        """End all of it, or the named processes, as an orderly shutdown does."""
        self._script("down", *names)

    def close(self) -> None:
        """End all of it, for good."""
        if self._admin is not None:
            self._admin.close()
        self.down()

    def signal_apiserver(self, number: signal.Signals) -> None:
        """SIGKILL for a crash, SIGTERM for an orderly end, SIGSTOP for one that falls silent."""
        pid = int(self.env["APISERVER_PID"])
        os.kill(pid, number)
        if number is signal.SIGSTOP:  # each thread hears of it by itself, and one may answer meanwhile
            wait_for("all of it to stop", lambda: _states(pid) == {"T"})

    @contextmanager
    def without_streaming_lists(self) -> Iterator[None]:
        """The same API server with the feature switched off, as older ones are, until the block ends."""
        command = Path(f"/proc/{self.env['APISERVER_PID']}/cmdline").read_bytes().decode().split("\0")[:-1]
        self.down("apiserver")
        with subprocess.Popen(
            [*command, "--feature-gates=WatchList=false"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as server:
            try:
                wait_for("the API server", self._is_ready, 30)
                yield
            finally:
                server.terminate()
                server.wait(30)
                self.up()

    def _is_ready(self) -> bool:
        try:
            return self.admin.get(f"{CORE}/configmaps").status_code == 200
        except httpx.TransportError:
            return False

    @contextmanager
    def id_token_ttl(self, ttl: str) -> Iterator[None]:
        """Dex signs ID tokens that live this long (`8s`), until the block ends."""
        configuration = self._folder / "dex.yaml"
        original = configuration.read_text()
        try:
            self._restart_dex(re.sub(r"idTokens: \w+", f"idTokens: {ttl}", original))
            yield
        finally:
            self._restart_dex(original)

    def _restart_dex(self, configuration: str) -> None:
        self.down("dex")
        (self._folder / "dex.yaml").write_text(configuration)
        self.up()

    # People

    def mint(self, email: str, *, groups: str, ttl: int = 3600) -> str:
        """An ID token of the minting issuer, which the API server trusts as it does Dex."""
        line = self._script("users", "--user", email, "--groups", groups, "--ttl", str(ttl))
        return line.strip().split("\t")[1]

    # The API server, past foyer

    @property
    def admin(self) -> httpx.Client:
        """A client with the administrator's certificate: the other hand that changes things."""
        if self._admin is None:
            context = ssl.create_default_context(cafile=self.env["CA_FILE"])
            context.load_cert_chain(self.env["ADMIN_CERT_FILE"], self.env["ADMIN_KEY_FILE"])
            self._admin = httpx.Client(base_url=self.env["KUBE_URL"], verify=context, trust_env=False)
        return self._admin

    def get(self, path: str) -> Any:
        """The object or list at `path`, as the administrator sees it."""
        answer = self.admin.get(path)
        answer.raise_for_status()
        return answer.json()

    def set_data(self, name: str, **data: str) -> None:
        """Change a ConfigMap of the demo namespace from elsewhere."""
        self._patch(name, data)

    def tick(self, name: str) -> str:
        """Change it so that every watch of it gets an event: the new value of `tick` in its data."""
        tick = uuid.uuid4().hex
        self._patch(name, {"tick": tick})
        return tick

    def _patch(self, name: str, data: dict[str, str]) -> None:
        patch = json.dumps({"data": data})
        headers = {"Content-Type": "application/merge-patch+json"}
        self.admin.patch(f"{CORE}/configmaps/{name}", content=patch, headers=headers).raise_for_status()

    def audit(self) -> AuditLog:
        """The audit log from here on."""
        return AuditLog(Path(self.env["AUDIT_LOG"]))

    def _script(self, name: str, *arguments: str) -> str:
        command = [str(self._scripts / name), str(self._folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return done.stdout


def _states(pid: int) -> set[str]:
    """In which states the threads of a process are (proc_pid_stat(5))."""
    stats = (task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/stat"))
    return {stat.rpartition(") ")[2][0] for stat in stats}

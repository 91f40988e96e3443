"""The real surroundings: kube-apiserver and Dex, run by scripts that are not this project's.

`FOYER_CLUSTER` names their folder; without it they are looked for beside the project, as by the end-to-end
tests.
"""

import http.client
import json
import os
import re
import ssl
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bench.processes import Bench
from bench.rehearsal.objects import MARK, NAME, PATH, small_object

_WATCHES = re.compile(
    r'^apiserver_longrunning_requests\{[^}]*resource="configmaps"[^}]*verb="WATCH"[^}]*\} (\S+)$',
    re.MULTILINE,
)

_REVIEWS = re.compile(
    r'^apiserver_request_total\{[^}]*resource="subjectaccessreviews"[^}]*\} (\S+)$', re.MULTILINE
)


def scripts() -> Path | None:
    """Their folder, where there is one."""
    folder = Path(os.environ.get("FOYER_CLUSTER") or "../shared/cluster")
    return folder if (folder / "up").exists() else None


class Cluster:
    """One control plane for one rehearsal, with as many people in Dex as are wanted."""

    name = "kube-apiserver and Dex"

    def __init__(self, bench: Bench, folder: Path, people: int) -> None:
        self._bench = bench
        self._scripts = folder
        self._state = bench.path("cluster")
        self._script("up", "--users", str(people))
        lines = (self._state / "env").read_text().splitlines()
        self._env = dict(line.split("=", 1) for line in lines)
        self.ca_file = self._env["CA_FILE"]
        self.shared_token = self._env["WATCH_TOKEN_FILE"]
        self.origin = self._env["PUBLIC_URL"]
        self.listen = urlsplit(self.origin).netloc
        self._admin = self._connect()
        self._make()
        self._others = self._counted(_WATCHES)

    def close(self) -> None:
        """Ends all of it."""
        self._script("down")

    def flags(self) -> Mapping[str, str]:
        env = self._env
        return {
            "tls-cert-file": env["SERVER_CERT_FILE"],
            "tls-key-file": env["SERVER_KEY_FILE"],
            "public-url": self.origin,
            "oidc-issuer": env["OIDC_ISSUER"],
            "oidc-client-id": env["OIDC_CLIENT_ID"],
            "oidc-client-secret-file": env["OIDC_CLIENT_SECRET_FILE"],
            "oidc-ca-file": self.ca_file,
            "oidc-scopes": "openid,email,profile,groups",
            "kubernetes-server": env["KUBE_URL"],
            "kubernetes-ca-file": self.ca_file,
            "session-keys-file": str(self._bench.path("keys")),
        }

    def people(self, count: int) -> Sequence[Mapping[str, str]]:
        names = [f"user-{number:04}@example.com" for number in range(1, count + 1)]
        return [{"login": name, "password": "password"} for name in names]

    def change(self, mark: str) -> int:
        began = time.monotonic_ns()
        metadata = {"annotations": {MARK: mark}}
        self._ask("PATCH", f"{PATH}/{NAME}", {"metadata": metadata}, "application/merge-patch+json")
        return began

    def watches(self) -> int:
        return self._counted(_WATCHES) - self._others

    def reviews(self) -> int:
        return self._counted(_REVIEWS)

    def cpu(self) -> float:
        # As clock_getcpuclockid(3) makes the clock of another process: all its threads, in nanoseconds.
        return time.clock_gettime((~int(self._env["APISERVER_PID"]) << 3) | 2)

    def _make(self) -> None:
        thing = small_object("none")
        thing["metadata"] = {"name": NAME, "labels": {"app": "rehearsal"}}
        self._ask("POST", PATH, thing, "application/json")

    def _counted(self, series: re.Pattern[str]) -> int:
        return sum(int(float(count)) for count in series.findall(self._ask("GET", "/metrics")))

    def _ask(self, method: str, path: str, content: object = None, kind: str = "") -> str:
        body = None if content is None else json.dumps(content)
        self._admin.request(method, path, body, {"content-type": kind} if kind else {})
        answer = self._admin.getresponse()
        text = answer.read().decode()
        assert answer.status // 100 == 2, f"{method} {path}: {answer.status} {text[:300]}"
        return text

    def _connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=self.ca_file)
        context.load_cert_chain(self._env["ADMIN_CERT_FILE"], self._env["ADMIN_KEY_FILE"])
        server = urlsplit(self._env["KUBE_URL"])
        return http.client.HTTPSConnection(server.hostname or "", server.port, context=context, timeout=30)

    def _script(self, name: str, *arguments: str) -> None:
        command = [str(self._scripts / name), str(self._state), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

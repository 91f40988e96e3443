"""Other people's clients at foyer's TLS listener: curl, Go's net/http, Node.js and Chromium; wrk and h2load.

Each does the same: small GETs, a change with and without its proof, a list of 3 MB, a watch that it follows
and leaves, refusals, and once more a GET. A client whose program is not there is skipped.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.processes import Cluster, Setting
from tests.e2e.harness.chromium import chromium, visitor
from tests.e2e.harness.serving import free_port
from tests.support.certs import write_authority, write_certificate
from tests.support.pairings import ROOMY

CLIENTS = Path(__file__).parent / "harness" / "clients"

OBJECTS = "/k8s/api/v1/namespaces/demo/configmaps"
SMALL = f"{OBJECTS}/filler-000000"

EXPECTED = {
    "small": [200],
    "unproven": 403,
    "created": 201,
    "twice": 409,
    "listed": True,
    "watched": ["ADDED", "DELETED"],
    "ending": "AbortError",
    "missing": 404,
    "odd": 400,
    "nobody": 401,
    "after": 200,
}


@dataclass(frozen=True)
class SignedIn:
    """What a client is told: where foyer is, and how to be somebody there."""

    origin: str
    cookie: str
    csrf: str
    ca_file: str

    def task(self, name: str, **more: object) -> dict[str, object]:
        """For a program of ours. `name` is of the object that it makes."""
        told = {"origin": self.origin, "cookie": self.cookie, "csrf": self.csrf, "caFile": self.ca_file}
        return {**told, "name": name, **more}


@pytest.fixture(scope="module")
def signed_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedIn]:
    """Before a foyer that has, at its end, nothing left to wait for, and logged no fault of its own."""
    folder = tmp_path_factory.mktemp("clients")
    cluster = Cluster("--seed", "300", "--seed-bytes", "10000")
    setting = Setting(folder, cluster)
    certificate, key = write_certificate(folder, "127.0.0.1")
    address = f"127.0.0.1:{free_port()}"
    flags = {name.replace("-", "_"): value for name, value in ROOMY.items()}
    flags |= {"listen": address, "public_url": f"https://{address}"}
    flags |= {"tls_cert_file": str(certificate), "tls_key_file": str(key)}
    (_, cookie), (_, csrf), *_ = setting.session()
    with setting.serve(**flags) as foyer:
        foyer.logged("ready")
        ca_file = write_authority(folder)
        yield SignedIn(f"https://{address}", cookie.decode(), csrf.decode(), str(ca_file))
        assert foyer.stop() == 0
        assert foyer.said("internal error", "response cut short") == []
    cluster.stop()


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on PATH")
    return found


def said(command: list[str], **environment: str) -> str:
    """What a program writes, within a minute and a half."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=90, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def reported(command: list[str], **environment: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(said(command, **environment))
    return report


# Programs of ours, over the clients of others


@pytest.mark.parametrize(("protocol", "connections"), [("HTTP/1.1", 3), ("HTTP/2.0", 1)])
def test_go_net_http(signed_in: SignedIn, protocol: str, connections: int, tmp_path: Path) -> None:
    """Over HTTP/1.1 the watch has a connection to itself, and a change refused before it is read ends one."""
    built = tmp_path / "client"
    said([program("go"), "build", "-o", str(built), str(CLIENTS / "client.go")], GOTOOLCHAIN="local")
    task = signed_in.task(f"go-{protocol[5]}", http2=protocol == "HTTP/2.0")
    report = reported([str(built), json.dumps(task)])
    assert report == EXPECTED | {"protocol": protocol, "connections": connections}


def test_node_http2(signed_in: SignedIn) -> None:
    command = [program("node"), str(CLIENTS / "http2.mjs"), json.dumps(signed_in.task("node-http2"))]
    assert reported(command, NODE_EXTRA_CA_CERTS=signed_in.ca_file) == EXPECTED


def test_node_fetch(signed_in: SignedIn) -> None:
    """Which is undici, and HTTP/1.1."""
    source = (CLIENTS / "fetch.js").read_text()
    task = json.dumps(signed_in.task("node-fetch"))
    script = f"({source.strip().rstrip(';')})({task}).then((report) => console.log(JSON.stringify(report)))"
    # The comment at the source's front ends with a line.
    command = [program("node"), "--eval", script.replace("(//", "(\n//", 1)]
    assert reported(command, NODE_EXTRA_CA_CERTS=signed_in.ca_file) == EXPECTED


def test_chromium(signed_in: SignedIn, http_version: str, tmp_path: Path) -> None:
    arguments = ["--disable-http2"] if http_version == "HTTP/1.1" else []
    name, _, value = signed_in.cookie.partition("=")
    protocol = "performance.getEntriesByType('resource').map((entry) => entry.nextHopProtocol)"
    with chromium(*arguments) as browser, visitor(browser, tmp_path, "last", scripted=True) as page:
        page.context.add_cookies([{"name": name, "value": value, "url": signed_in.origin, "secure": True}])
        page.goto(f"{signed_in.origin}/healthz")
        task = signed_in.task(f"chromium-{http_version[5]}") | {"cookie": None}
        report = page.evaluate((CLIENTS / "fetch.js").read_text(), task)
        protocols = set(page.evaluate(protocol))
    assert report == EXPECTED
    assert protocols == {"h2" if http_version == "HTTP/2" else "http/1.1"}


# curl, which is told everything


@pytest.fixture(params=["--http1.1", "--http2"])
def curl(request: pytest.FixtureRequest, signed_in: SignedIn) -> "Curl":
    return Curl(request.param, signed_in)


class Curl:
    """curl in one version of HTTP."""

    def __init__(self, option: str, signed_in: SignedIn) -> None:
        self.version = {"--http1.1": "1.1", "--http2": "2"}[option]
        self.signed_in = signed_in
        self._command = [program("curl"), "--silent", "--show-error", "--cacert", signed_in.ca_file, option]

    def command(self, path: str, *more: str) -> list[str]:
        """As the person who is signed in, unless `more` has another cookie."""
        cookie = [] if "--cookie" in more else ["--cookie", self.signed_in.cookie]
        return [*self._command, *cookie, *more, self.signed_in.origin + path]

    def asks(self, path: str, *more: str) -> list[tuple[str, int, int]]:
        """Version, status and new connections of each transfer."""
        wrote = "%{http_version} %{http_code} %{num_connects}\\n"
        output = said(self.command(path, "--output", "/dev/null", "--write-out", wrote, *more))
        found = [line.split() for line in output.splitlines()]
        return [(version, int(status), int(connects)) for version, status, connects in found]

    def status(self, path: str, *more: str) -> int:
        ((version, status, _),) = self.asks(path, *more)
        assert version == self.version
        return status

    def changes(self, method: str, path: str, *more: str) -> int:
        """The status of a change with its proof."""
        proof = [
            "--header",
            f"X-CSRF-Token: {self.signed_in.csrf}",
            "--header",
            f"Origin: {self.signed_in.origin}",
        ]
        return self.status(path, "--request", method, *proof, *more)


def test_curl_keeps_its_connection(curl: Curl) -> None:
    assert curl.asks(f"{SMALL}?n=[1-30]") == [(curl.version, 200, 1), *[(curl.version, 200, 0)] * 29]


def test_curl_asks_for_many_at_a_time(curl: Curl) -> None:
    answers = curl.asks(f"{SMALL}?n=[1-40]", "--parallel")
    assert [answer[:2] for answer in answers] == [(curl.version, 200)] * 40


def test_curl_gets_a_large_list_whole(curl: Curl) -> None:
    listed = json.loads(said(curl.command(OBJECTS)))
    assert len(listed["items"]) >= 300


def test_curl_is_refused_what_anybody_is(curl: Curl) -> None:
    statuses = [
        curl.status(f"{OBJECTS}/none"),
        curl.status("/k8s/api/v1//pods"),
        curl.status(OBJECTS, "--cookie", "none=there"),
        curl.status(OBJECTS, "--data", "{}"),
    ]
    assert statuses == [404, 400, 401, 403]
    if curl.version == "1.1":  # over HTTP/2 curl sends no Upgrade
        assert curl.status(SMALL, "--header", "Connection: upgrade", "--header", "Upgrade: websocket") == 501


def test_curl_changes_and_watches_until_it_leaves(curl: Curl) -> None:
    name = f"curl-{curl.version[0]}"
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    content = ["--header", "Content-Type: application/json", "--data", body]
    assert curl.changes("POST", OBJECTS, *content) == 201
    chunked = ["--header", "Transfer-Encoding: chunked"] if curl.version == "1.1" else []
    assert curl.changes("POST", OBJECTS, *content, *chunked) == 409
    assert curl.changes("POST", OBJECTS, *content, "--header", "Expect: 100-continue") == 409
    one = f"{OBJECTS}?watch=1&fieldSelector=metadata.name%3D{name}"
    with subprocess.Popen(curl.command(one, "--no-buffer"), stdout=subprocess.PIPE) as watch:
        assert watch.stdout is not None
        events = (json.loads(line)["type"] for line in watch.stdout)
        assert next(events) == "ADDED"
        assert curl.changes("DELETE", f"{OBJECTS}/{name}") == 200
        assert next(events) == "DELETED"
        assert watch.poll() is None
        watch.terminate()
    assert curl.status(SMALL) == 200


# Load


def test_wrk_s_load_is_answered(signed_in: SignedIn) -> None:
    command = [program("wrk"), "--threads", "1", "--connections", "8", "--duration", "2s"]
    output = said([*command, "--header", f"Cookie: {signed_in.cookie}", signed_in.origin + SMALL])
    (answered,) = re.findall(r"(\d+) requests in", output)
    assert int(answered) > 100
    assert "Non-2xx" not in output, output
    assert "Socket errors" not in output, output


LOADS = {
    "small ones over HTTP/2": (SMALL, 2000, ["-c", "4", "-m", "16"]),
    "small ones over HTTP/1.1": (SMALL, 1000, ["-c", "8", "--h1"]),
    "large ones over HTTP/2": (OBJECTS, 32, ["-c", "2", "-m", "4"]),
    "large ones over HTTP/1.1": (OBJECTS, 16, ["-c", "4", "--h1"]),
}


@pytest.mark.parametrize(("path", "count", "how"), LOADS.values(), ids=LOADS)
def test_h2load_s_load_is_answered(signed_in: SignedIn, path: str, count: int, how: list[str]) -> None:
    header = ["-H", f"cookie: {signed_in.cookie}"]
    output = said([program("h2load"), "-n", str(count), *how, *header, signed_in.origin + path])
    assert f"{count} succeeded, 0 failed, 0 errored, 0 timeout" in output, output
    assert f"status codes: {count} 2xx" in output, output

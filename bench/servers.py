"""The servers that are measured: foyer as it is served and, where they are installed, what stands beside it.

`goref` is a plain Go server that does the same work, without bounds, metrics or log; nginx a TLS reverse
proxy that opens no session and decodes nothing, and so the floor for a server of this kind.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.messages import H1
from bench.processes import PATIENCE, Bench, Lost, Running
from foyer.session import spelling
from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, Session, seal

ORIGIN = "https://foyer.example.test"

WITHOUT_BOUNDS = {
    "session-request-rate": "100000",
    "session-request-burst": "1000000",
    "max-session-concurrent-requests": "10000",
    "max-concurrent-requests": "10000",
    "max-response-bytes": "1GiB",
}
"""Flags with which one session can bring a load that is many people's."""

_PEERS = Path(os.environ.get("FOYER_PEERS_CACHE") or Path.home() / ".cache/foyer-peers", "bin")
_SEARCHED = os.pathsep.join((os.environ.get("PATH", os.defpath), str(_PEERS), "/usr/sbin"))


def goref() -> str | None:
    """The yardstick's program, where there is one: as FOYER_GOREF says, or `goref` on PATH."""
    return shutil.which(os.environ.get("FOYER_GOREF") or "goref", path=_SEARCHED)


def nginx() -> str | None:
    """nginx's, likewise; FOYER_NGINX."""
    return shutil.which(os.environ.get("FOYER_NGINX") or "nginx", path=_SEARCHED)


def absent() -> list[str]:
    """What a run has to do without, and how to have it."""
    missing = []
    if goref() is None:
        missing.append("goref, the yardstick, is not here: put it on PATH or name it in FOYER_GOREF")
    if nginx() is None:
        missing.append("nginx, the floor, is not here: put it on PATH or name it in FOYER_NGINX")
    return missing


def servers(bench: Bench, api: Running, version: str) -> list[Running]:
    """foyer and what there is beside it, in front of an `api` that speaks `version`; nginx only HTTP/1.1."""
    found = [start_foyer(bench, api)]
    if program := goref():
        found.append(start_goref(bench, program, api))
    if version == H1 and (program := nginx()):
        found.append(start_nginx(bench, program, api))
    return found


def start_foyer(
    bench: Bench,
    api: Running,
    bounds: dict[str, str] = WITHOUT_BOUNDS,
    targets: Mapping[str, int] | None = None,
    before: Sequence[str] = (),
) -> Running:
    """`foyer serve` in front of `api`, with its own defaults but for `bounds`.

    With `targets`, ports by name, those are its API servers, and `api` is the issuer alone. `before` are the
    words that its command begins with.
    """
    log = bench.path(f"foyer-{time.monotonic_ns()}.log")
    ca_file = str(bench.path("ca.crt"))
    flags = _flags(bench, api, 0) | {"oidc-ca-file": ca_file, "kubernetes-ca-file": ca_file, **bounds}
    if targets is not None:
        del flags["kubernetes-server"], flags["kubernetes-ca-file"]
        flags["targets-file"] = _targets_file(bench, targets, ca_file)
    command = [*before, sys.executable, "-m", "foyer.cli", "serve", *_arguments(flags)]
    with log.open("w") as stderr:
        running = bench.start("foyer", command, stderr=stderr)
    running.log = log
    running.port = _eventually(lambda: listening(running), running)
    _eventually(lambda: '"msg":"ready"' in log.read_text(), running)
    running.cookie = foyer_cookie(bench, bench.session())
    return running


def _targets_file(bench: Bench, targets: Mapping[str, int], ca_file: str) -> str:
    token = bench.path("shared-token")  # used only where resources are shared
    token.write_text("shared")
    more = {"caFile": ca_file, "sharedWatchTokenFile": str(token)}
    listed = [{"name": name, "server": f"https://127.0.0.1:{port}", **more} for name, port in targets.items()]
    file = bench.path(f"targets-{time.monotonic_ns()}.yaml")
    file.write_text(json.dumps({"targets": listed}))  # which is YAML as well
    return str(file)


def foyer_cookie(bench: Bench, signed_in: Session) -> str:
    """A session as foyer seals it."""
    return f"{COOKIE}={seal(signed_in, Keyring([bench.key]))}"


def start_goref(bench: Bench, program: str, api: Running) -> Running:
    """The yardstick, in the same place."""
    port = _free_port()
    flags = _flags(bench, api, port) | {
        "ca-file": str(bench.path("ca.crt")),
        "max-response-bytes": str(10**9),
    }
    running = bench.start("goref", [program, *_arguments(flags)], stderr=subprocess.DEVNULL)
    running.port = port
    _eventually(lambda: _connects(port), running)
    running.cookie = goref_cookie(bench.session(), bench.key)
    return running


_NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 10000; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream api {{ server 127.0.0.1:{api}; keepalive 64; keepalive_requests 10000000; }}
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {folder}/tls.crt; ssl_certificate_key {folder}/tls.key;
    ssl_protocols TLSv1.3; http2_max_concurrent_streams 128;
    keepalive_requests 10000000; keepalive_timeout 300;
    location /k8s/ {{
      proxy_pass https://api/; proxy_http_version 1.1; proxy_buffering off; proxy_read_timeout 300;
      proxy_ssl_trusted_certificate {folder}/ca.crt; proxy_ssl_verify on; proxy_ssl_name localhost;
      proxy_set_header Connection ""; proxy_set_header Cookie "";
      proxy_set_header Authorization "Bearer {token}";
    }}
  }}
}}
"""


def start_nginx(bench: Bench, program: str, api: Running) -> Running:
    """nginx, a process alone, which passes the same requests on with one person's token."""
    port = _free_port()
    session = bench.session()
    config = bench.path("nginx.conf")
    token = bytes(session.id_token).decode()
    config.write_text(_NGINX.format(folder=config.parent, api=api.port, port=port, token=token))
    running = bench.start(
        "nginx", [program, "-c", str(config), "-p", str(config.parent)], stderr=subprocess.DEVNULL
    )
    running.port = port
    _eventually(lambda: _connects(port), running)
    running.cookie = foyer_cookie(bench, session)  # of the size that the others are sent
    return running


def goref_cookie(signed_in: Session, key: bytes) -> str:
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


def _flags(bench: Bench, api: Running, port: int) -> dict[str, str]:
    url = f"https://127.0.0.1:{api.port}"
    return {
        "listen": f"127.0.0.1:{port}",
        "tls-cert-file": str(bench.path("tls.crt")),
        "tls-key-file": str(bench.path("tls.key")),
        "public-url": ORIGIN,
        "oidc-issuer": url,
        "oidc-client-id": "foyer",
        "oidc-client-secret-file": str(bench.path("secret")),
        "kubernetes-server": url,
        "session-keys-file": str(bench.path("keys")),
    }


def _arguments(flags: dict[str, str]) -> list[str]:
    return [f"-{name}={value}" for name, value in flags.items()]


def listening(foyer: Running, msg: str = "listening") -> int:
    """The port of its listener, or of what another `msg` of its log tells of; 0 until it does."""
    for line in foyer.log.read_text().splitlines(keepends=True):
        if line.endswith("\n") and (said := json.loads(line))["msg"] == msg:
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
    """For a server that does not say which port it has got: one that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True

"""Real nginx and HAProxy, before foyer and behind it: configured to pass on as much as they ever would.

Each writes a line a request: method, target, status, and the number that its upstream's answer had.
"""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.e2e.harness.serving import free_port
from tests.e2e.harness.waiting import wait_for
from tests.smuggling.account import Logged
from tests.support.certs import write_certificate

NGINX = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log notice;
events {{ worker_connections 1024; }}
http {{
  log_format seen escape=none 'nginx\t$request_method\t$request_uri\t$status\t$upstream_http_audit_id';
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  ssl_certificate {certificate};
  ssl_certificate_key {key};
  underscores_in_headers on;
  ignore_invalid_headers off;
  large_client_header_buffers 4 32k;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_buffering off;
  proxy_request_buffering off;
  client_max_body_size 0;
  upstream recorder {{ server 127.0.0.1:{recorder}; keepalive 8; }}
  upstream foyer {{ server 127.0.0.1:{foyer}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{before_h1};
    access_log {folder}/before seen;
    location / {{ proxy_pass http://foyer; }}
  }}
  server {{
    listen 127.0.0.1:{before_h2} http2;
    access_log {folder}/before seen;
    location / {{ proxy_pass http://foyer; }}
  }}
  server {{
    listen 127.0.0.1:{behind_h1} ssl;
    access_log {folder}/behind seen;
    location / {{ proxy_pass https://recorder; }}
  }}
  server {{
    listen 127.0.0.1:{behind_h2} ssl http2;
    access_log {folder}/behind seen;
    location / {{ proxy_pass https://recorder; }}
  }}
}}
"""

# One thread: with two the line of a request that was answered was missing in one run of nine, as of two that
# log at once one may go on without; with one in none of 45.
HAPROXY = """
global
  nbthread 1
  log stdout len 65535 format raw local0 info
  tune.bufsize 65536
defaults
  mode http
  log global
  retries 0
  option dontlognull
  option accept-invalid-http-request
  http-reuse always
  timeout connect 5s
  timeout client 5s
  timeout server 5s
  timeout http-request 5s
frontend before_h1
  bind 127.0.0.1:{before_h1}
  default_backend foyer_h1
{seen}
frontend before_h2
  bind 127.0.0.1:{before_h2} proto h2
  default_backend foyer_h2
{seen}
frontend behind_h1
  bind 127.0.0.1:{behind_h1} ssl crt {pem} alpn http/1.1
  default_backend recorder
{seen}
frontend behind_h2
  bind 127.0.0.1:{behind_h2} ssl crt {pem} alpn h2
  default_backend recorder
{seen}
backend foyer_h1
  server foyer 127.0.0.1:{foyer}
backend foyer_h2
  server foyer 127.0.0.1:{foyer} proto h2
backend recorder
  server recorder 127.0.0.1:{recorder} ssl verify none alpn http/1.1
"""

SEEN = r"""
  http-request set-var(txn.target) pathq
  http-response set-var(txn.serial) res.hdr(audit-id)
  log-format "%f\t%HM\t%[var(txn.target)]\t%ST\t%[var(txn.serial)]"
"""

PORTS = ("before_h1", "before_h2", "behind_h1", "behind_h2")


class ProxyLog:
    """A file that a proxy adds a line to for each request. `only` is what the lines to be read begin with."""

    def __init__(self, file: Path, only: bytes) -> None:
        self._file = file
        self._only = only
        self._start = 0

    def forget(self) -> None:
        self._start = self._file.stat().st_size if self._file.exists() else 0

    def lines(self) -> list[Logged]:
        with self._file.open("rb") as file:
            file.seek(self._start)
            whole = file.read().split(b"\n")[:-1]
        return [_logged(line) for line in whole if line.startswith(self._only)]


def _logged(line: bytes) -> Logged:
    # As HAProxy writes a `#`. foyer refuses one in a target, and nginx knows no method with one.
    _, method, rest = line.replace(b"#23", b"#").split(b"\t", 2)
    target, status, serial = rest.rsplit(b"\t", 2)
    return Logged(method, target, int(status), int(serial) if serial.isdigit() else None)


class Proxy:
    """One proxy process. `ports` are where it takes requests: before foyer plain, behind it by TLS."""

    before: ProxyLog
    behind: ProxyLog

    def __init__(self, name: str, command: list[str], folder: Path, ports: dict[str, int]) -> None:
        self.ports = ports
        self._said = folder / "said"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        wait_for(f"{name} to listen", self._listens)

    def _listens(self) -> bool:
        assert self._process.poll() is None, self._said.read_text()
        return all(_is_open(port) for port in self.ports.values())

    def close(self) -> None:
        """SIGTERM, to this process alone."""
        self._process.terminate()
        self._process.wait(10)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Nginx(Proxy):
    """nginx, which speaks HTTP/1.1 to its upstreams whatever it is spoken to."""

    def __init__(self, folder: Path, *, foyer: int, recorder: int) -> None:
        program = program_of("nginx")
        ports = {name: free_port() for name in PORTS}
        certificate, key = write_certificate(folder, "127.0.0.1")
        configuration = folder / "nginx.conf"
        here = {**ports, "recorder": recorder, "foyer": foyer, "certificate": certificate, "key": key}
        configuration.write_text(NGINX.format(folder=folder, **here))
        self.before, self.behind = [ProxyLog(folder / name, b"nginx") for name in ("before", "behind")]
        command = [program, "-c", str(configuration), "-p", str(folder), "-e", str(folder / "error.log")]
        super().__init__("nginx", command, folder, ports)


class HAProxy(Proxy):
    """HAProxy, which speaks to foyer what it is spoken to, and HTTP/1.1 to the recorder.

    Over HTTP/2 its version 2.6 ends an upload that was given up by END_STREAM, and resets it only then: to
    whoever reads the one before the other it was whole.
    """

    def __init__(self, folder: Path, *, foyer: int, recorder: int) -> None:
        program = program_of("haproxy")
        ports = {name: free_port() for name in PORTS}
        certificate, key = write_certificate(folder, "127.0.0.1")
        pem = folder / "both.pem"
        pem.write_bytes(certificate.read_bytes() + key.read_bytes())
        configuration = folder / "haproxy.cfg"
        here = {**ports, "recorder": recorder, "foyer": foyer, "pem": pem, "seen": SEEN}
        configuration.write_text(HAPROXY.format(**here))
        said = folder / "said"
        self.before, self.behind = [ProxyLog(said, name) for name in (b"before", b"behind")]
        super().__init__("HAProxy", [program, "-db", "-f", str(configuration)], folder, ports)


def program_of(name: str) -> str:
    """Where a program is, or this test is skipped."""
    # Debian keeps it where an ordinary user's PATH does not look.
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        pytest.skip(f"no {name}: its command is not there")
    return found

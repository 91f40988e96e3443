"""A real nginx before foyer and an application: the external-auth arrangement of spec 02, The check.

What is written here is what an operator would write: foyer's prefixes to foyer, everything else to
the application, once `auth_request` has asked foyer about it.
"""

import json
import os
import shutil
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.harness.waiting import wait_for

CONFIGURATION = r"""
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log notice;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;

  # A session goes to foyer alone: the application gets its own cookies.
  map $http_cookie $cookies_of_the_application {{
    default $http_cookie;
    "~^(?<before>.*?)__Host-krm-foyer-session=[^;]*;?\s*(?<after>.*)$" $before$after;
  }}

  upstream foyer {{ server 127.0.0.1:{foyer}; keepalive 8; }}
  upstream application {{ server 127.0.0.1:{application}; }}

  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    proxy_http_version 1.1;
    proxy_set_header Connection "";

    location ~ ^/(auth|k8s|stream|fleet|targets|_foyer|healthz|readyz)(/|$) {{
      proxy_pass http://foyer;
      proxy_buffering off;
      proxy_request_buffering off;
    }}

    location / {{
      auth_request /foyer-check;
      auth_request_set $identity $upstream_http_krm_foyer_identity;
      error_page 401 403 = @foyer_answers;
      proxy_set_header Krm-Foyer-Identity $identity;
      proxy_set_header Cookie $cookies_of_the_application;
      proxy_pass http://application;
    }}

    # Content-Length goes with the content, which stays here.
    location = /foyer-check {{
      internal;
      proxy_pass http://foyer/auth/check?identity=true;
      proxy_pass_request_body off;
      proxy_set_header Connection "";
      proxy_set_header Content-Length "";
      proxy_set_header X-Forwarded-Method $request_method;
      proxy_set_header X-Forwarded-Uri $request_uri;
      proxy_buffer_size 16k;
      proxy_buffers 8 16k;
    }}

    # auth_request keeps nothing of a refusal but its status: what foyer has to say is asked for again.
    location @foyer_answers {{
      rewrite ^ /auth/check?redirect=true? break;
      proxy_method GET;
      proxy_pass http://foyer;
      proxy_pass_request_body off;
      proxy_set_header Connection "";
      proxy_set_header Content-Length "";
      proxy_set_header X-Forwarded-Method $request_method;
      proxy_set_header X-Forwarded-Uri $request_uri;
    }}
  }}
}}
"""


@dataclass
class Received:
    """One request as the application got it: field names in lower case."""

    method: str
    target: str
    fields: list[tuple[str, str]]
    content: bytes = field(repr=False)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


class Application:
    """An application that knows nothing of sign-ins: it greets, and keeps what it received."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length", 0)))
                fields = [(name.lower(), value) for name, value in self.headers.items()]
                received.append(Received(self.command, self.path, fields, content))
                body = json.dumps({"hello": self.path}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815  http.server's names

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class Nginx:
    """One nginx process. `origin` is where browsers find it."""

    def __init__(
        self, folder: Path, *, origin: str, certificate: str, key: str, foyer: int, application: int
    ) -> None:
        # Debian keeps it where an ordinary user's PATH does not look.
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if program is None:
            pytest.skip("no nginx: its command is not there")
        self.origin = origin
        configuration = folder / "nginx.conf"
        configuration.write_text(
            CONFIGURATION.format(
                folder=folder,
                port=origin.rpartition(":")[2],
                certificate=certificate,
                key=key,
                foyer=foyer,
                application=application,
            )
        )
        self._log = folder / "error.log"
        self._log.touch()
        self._process = subprocess.Popen(
            [program, "-c", str(configuration), "-p", str(folder), "-e", self._log]
        )
        wait_for("nginx to run", self._runs)

    def _runs(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        return (self._log.parent / "nginx.pid").exists()

    def close(self) -> None:
        """SIGTERM, to this process alone."""
        self._process.terminate()
        self._process.wait(10)

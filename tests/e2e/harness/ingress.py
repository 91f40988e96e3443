"""A real nginx before foyer and an application: the external-auth arrangement of spec 02, The check.

Its configuration is the one of docs/ingress.md, read from there, so what operators are told is what runs.
"""

import json
import os
import re
import shutil
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.harness.waiting import wait_for

DOCUMENT = Path(__file__).parents[3] / "docs" / "ingress.md"

AROUND = """
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
{documented}
}}
"""


def documented(here: dict[str, str]) -> str:
    """The arrangement as the document has it, with each place it names once replaced by one of `here`."""
    (found,) = re.findall(r"^```nginx\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    text = str(found)
    for there, place in here.items():
        assert text.count(there) == 1, there
        text = text.replace(there, place)
    return text


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
        here = {
            "server foyer:8080;": f"server 127.0.0.1:{foyer};",
            "server application:8080;": f"server 127.0.0.1:{application};",
            "listen 443 ": f"listen 127.0.0.1:{origin.rpartition(':')[2]} ",
            "tls.crt": certificate,
            "tls.key": key,
        }
        configuration.write_text(AROUND.format(folder=folder, documented=documented(here)))
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

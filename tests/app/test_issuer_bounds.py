"""What foyer reads from an issuer, over real sockets: at most 1 MiB, from nowhere else (spec 02, Login)."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

import pytest

from tests.app.processes import Cluster, Served, Setting
from tests.support.certs import server_context, write_authority

LIMIT = 1024 * 1024
DISCOVERY = "/.well-known/openid-configuration"

MORE_THAN_SOCKETS_HOLD = 64 * LIMIT


class Asked(BaseHTTPRequestHandler):
    """One request to the issuer, answered as the test says."""

    protocol_version = "HTTP/1.1"
    server: "ScriptedIssuer"

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.answer(self)

    def log_request(self, code: object = None, size: object = None) -> None:
        """Nothing on stderr."""

    def head(self, status: int, **fields: str) -> None:
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()


Answer: TypeAlias = Callable[[Asked], None]


class ScriptedIssuer(ThreadingHTTPServer):
    """An issuer over TLS, whose every answer is one function's."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.socket = server_context("http/1.1").wrap_socket(self.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server_address[1]}"
        self.asked: list[str] = []
        self.answer: Answer = found
        self.cut_off = threading.Event()
        self._thread = threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True)
        self._thread.start()

    def document(self) -> bytes:
        """A discovery document that can be taken."""
        return json.dumps(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
            }
        ).encode()

    def stop(self) -> None:
        self.shutdown()
        self._thread.join(10)
        self.server_close()


def found(asked: Asked, content: bytes | None = None) -> None:
    """The document, or other content."""
    content = asked.server.document() if content is None else content
    asked.head(200, Content_Type="application/json", Content_Length=str(len(content)))
    asked.wfile.write(content)


def of_the_largest_size(asked: Asked) -> None:
    found(asked, asked.server.document().ljust(LIMIT))


def longer_by_its_length(asked: Asked) -> None:
    """It need not be read to be refused: there is none."""
    asked.head(200, Content_Type="application/json", Content_Length=str(LIMIT + 1))


def longer_without_a_length(asked: Asked) -> None:
    """The document, and white space for as long as anybody reads."""
    asked.head(200, Content_Type="application/json", Connection="close")
    asked.close_connection = True
    sent = asked.wfile.write(asked.server.document())
    try:
        while sent < MORE_THAN_SOCKETS_HOLD:
            sent += asked.wfile.write(b" " * 65536)
    except OSError:
        asked.server.cut_off.set()


def elsewhere(asked: Asked) -> None:
    asked.head(302, Location=f"{asked.server.url}/moved{DISCOVERY}", Content_Length="0")


@pytest.fixture
def issuer() -> Iterator[ScriptedIssuer]:
    issuer = ScriptedIssuer()
    yield issuer
    issuer.stop()


def serve(setting: Setting, issuer: ScriptedIssuer) -> Served:
    roots = write_authority(setting.folder)
    return setting.serve(oidc_issuer=issuer.url, oidc_ca_file=str(roots))


def failure(foyer: Served) -> object:
    return foyer.logged("issuer unavailable")["failure"]


def test_a_document_of_exactly_1_mib_is_taken(setting: Setting, issuer: ScriptedIssuer) -> None:
    issuer.answer = of_the_largest_size
    with serve(setting, issuer) as foyer:
        foyer.logged("ready")
        assert foyer.stop() == 0


@pytest.mark.parametrize("answer", [longer_by_its_length, longer_without_a_length])
def test_a_longer_document_is_refused_and_not_read_to_its_end(
    answer: Answer, setting: Setting, issuer: ScriptedIssuer
) -> None:
    issuer.answer = answer
    with serve(setting, issuer) as foyer:
        assert failure(foyer) == "too_large"
        if answer is longer_without_a_length:
            assert issuer.cut_off.wait(10)
        assert foyer.said("ready") == []
        issuer.answer = found
        foyer.logged("ready")  # at the next try
        assert foyer.stop() == 0


def test_a_redirect_is_not_followed(setting: Setting, issuer: ScriptedIssuer) -> None:
    issuer.answer = elsewhere
    with serve(setting, issuer) as foyer:
        assert foyer.logged("issuer unavailable", 2)["failure"] == "redirect"
        assert set(issuer.asked) == {DISCOVERY}
        assert foyer.said("ready") == []
        assert foyer.stop() == 0


def test_a_certificate_that_nothing_vouches_for_is_refused(
    cluster: Cluster, setting: Setting, issuer: ScriptedIssuer
) -> None:
    with setting.serve(oidc_issuer=issuer.url, oidc_ca_file=cluster.ca_file) as foyer:
        assert failure(foyer) == "tls"
        assert issuer.asked == []
        assert foyer.stop() == 0

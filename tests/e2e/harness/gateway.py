"""A scripted foyer for pages that follow streams: each stream is written byte by byte by its test.

foyer.js and the session are answered at once. HTTP/1.1 in the clear, one connection a stream, so that what a
test cuts is cut and what a page leaves is seen to be left.
"""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from foyer.pages.assets import ASSETS

STREAM_FIELDS = {
    "Content-Type": "text/event-stream",
    "X-KRM-Stream-Protocol": "1",
    "Cache-Control": "no-store",
}
PATIENCE = 15.0
"""Seconds in which a page opens or leaves a stream, in a browser that shares its machine."""


class Opened:
    """A stream that a page has asked for, and what the test answers."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.query = dict(parse_qsl(urlsplit(handler.path).query, strict_parsing=True))
        self.headers = handler.headers
        self.answered = threading.Event()
        self._handler = handler
        self._seq = 0

    def begin(self, **fields: str) -> "Opened":
        """The head of a stream."""
        self._head(200, STREAM_FIELDS | fields | {"Transfer-Encoding": "chunked"})
        return self

    def send(self, content: bytes) -> None:
        """Content, in a chunk of its own; a page that has left takes nothing."""
        with suppress(ConnectionError):
            self._handler.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))

    def frame(self, kind: str, **fields: Any) -> bytes:
        """The next event, as bytes to send."""
        self._seq += 1
        text = json.dumps({"seq": self._seq, "type": kind, **fields}, ensure_ascii=False)
        return f"data: {text}\n\n".encode()

    def event(self, kind: str, **fields: Any) -> None:
        """The next event, sent."""
        self.send(self.frame(kind, **fields))

    def snapshot(self, *objects: Any) -> None:
        """A whole cycle."""
        self.event("reset")
        for shown in objects:
            self.event("added", object=shown, redacted=[])
        self.event("synced")

    def end(self) -> None:
        """The stream is whole."""
        self.send(b"")
        self._close()

    def cut(self) -> None:
        """It breaks off."""
        self._close()

    def answer(self, status: int, content: str = "", **fields: str) -> None:
        """Another answer than a stream."""
        encoded = content.encode()
        named = {name.replace("_", "-"): value for name, value in fields.items()}
        self._head(
            status, {"Content-Type": "application/json"} | named | {"Content-Length": str(len(encoded))}
        )
        self._handler.wfile.write(encoded)
        self._close()

    def refuse(self, status: int, reason: str, **fields: str) -> None:
        """An interruption of foyer's."""
        said = {"kind": "Status", "reason": reason, "message": f"It was {reason}."}
        self.answer(status, json.dumps(said), Krm_Foyer_Interruption=reason, **fields)

    def left(self) -> None:
        """Waits until the page has left it."""
        self._handler.connection.settimeout(PATIENCE)
        with suppress(ConnectionError):
            assert self._handler.connection.recv(1) == b"", "a browser says nothing more on it"
        self.answered.set()

    def _head(self, status: int, fields: dict[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in (fields | {"Connection": "close"}).items():
            self._handler.send_header(name, value)
        with suppress(ConnectionError):
            self._handler.end_headers()

    def _close(self) -> None:
        self.answered.set()


class Gateway:
    """The origin. `person` is who is signed in; None: nobody. With a `session_status` but 200 it is down."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.person: str | None = "ada"
        self.session_status = 200
        self.asked = 0
        self._streams: queue.Queue[Opened] = queue.Queue()
        self._over = threading.Event()

    def stream(self) -> Opened:
        """The next stream that the page opens."""
        return self._streams.get(timeout=PATIENCE)

    def nothing_opened(self) -> bool:
        """Whether the page has opened no stream that the test has not taken."""
        return self._streams.empty()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """One request."""
        path = urlsplit(handler.path).path
        if path == "/stream/v1":
            opened = Opened(handler)
            self._streams.put(opened)
            while not opened.answered.wait(0.1) and not self._over.is_set():
                pass
            return
        status, kind, content = self._answer(path)
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        asset = ASSETS.get(path.encode())
        if asset is not None:
            return 200, asset.content_type.decode(), asset.content
        if path == "/auth/session":
            return self._session()
        return 200, "text/html", b"<!doctype html><title>A page</title>"

    def _session(self) -> tuple[int, str, bytes]:
        self.asked += 1
        if self.session_status != 200:
            return self.session_status, "application/json", b'{"kind": "Status"}'
        if self.person is None:
            return 401, "application/json", b'{"authenticated": false}'
        found = {"authenticated": True, "issuer": "https://issuer.test", "subject": self.person}
        return 200, "application/json", json.dumps(found).encode()

    def close(self) -> None:
        """Whatever is open ends."""
        self._over.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    gateway: Gateway


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """One request: a browser that has gone is nobody's fault."""
        with suppress(ConnectionError):
            self.server.gateway.serve(self)

    def log_message(self, *args: object) -> None:
        """Nothing: the test says what went wrong."""


@contextmanager
def running_gateway() -> Iterator[Gateway]:
    """A gateway on a port of its own."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.gateway = Gateway(f"http://127.0.0.1:{server.server_port}")
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        serving.start()
        try:
            yield server.gateway
        finally:
            server.gateway.close()
            server.shutdown()
            serving.join()

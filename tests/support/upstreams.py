"""Scripted API servers, HTTP/1.1 and HTTP/2, with one interface.

    upstream = H1Upstream(script)
    request = upstream.expect()
    assert request.target == b"/api/v1/pods?limit=5"
    request.respond(200, JSON)
    request.send(b'{"items":[')
    request.close()

A test answers each request by hand and sees the bytes that came. A request that no test
expected is kept in `unclaimed`, and fails it. What looks at the first item of a list, for its size, is
answered at once: there is nothing in it. A test that is about such looks says so by `expects_looks`.
"""

import socket
import ssl
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from selectors import EVENT_READ

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
from h2.settings import SettingCodes

from tests.support.certs import server_context
from tests.support.frames import Goodbyes, Outbox
from tests.support.messages import Framing, Message, Reader, chunk, delimited_by, head
from tests.support.script import Fields, Script
from tests.support.wire import End, Wire

NOTHING = b'{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}'
"""A list of it."""

CANCEL = int(h2.errors.ErrorCodes.CANCEL)


class Request(ABC):
    """One request as it reached the upstream, and what the script answers."""

    method: bytes
    target: bytes
    authority: bytes
    fields: Fields

    def __init__(self, connection: "Connection") -> None:
        self.connection = connection
        self.content = bytearray()
        self.trailers: Fields = []
        self.ended = False
        self.cancelled: int | End | None = None
        self._read = 0

    @property
    def script(self) -> Script:
        return self.connection.upstream.script

    def all(self, name: str) -> list[bytes]:
        """Every value of a field, by lower-case name."""
        return [value for key, value in self.fields if key.lower() == name.encode()]

    # -- what the test reads

    def read_some(self) -> bytes:
        """Wait for content that no earlier call returned. Empty at the end."""
        self.script.until(
            lambda: len(self.content) > self._read or self.ended or self.cancelled is not None,
            "request content",
        )
        start, self._read = self._read, len(self.content)
        return bytes(self.content[start:])

    def read_exactly(self, size: int) -> bytes:
        """Wait for `size` bytes that no earlier call returned."""
        self.script.until(lambda: len(self.content) >= self._read + size, f"{size} bytes of the request")
        start, self._read = self._read, self._read + size
        return bytes(self.content[start : self._read])

    def read_until_end(self, seconds: float = 5.0) -> bytes:
        """Wait until the request is whole, and return its whole content."""
        self.script.until(lambda: self.ended, "the end of the request", seconds)
        return bytes(self.content)

    def expect_cancelled(self) -> None:
        """Wait for foyer to give this request up: RST_STREAM CANCEL, or the connection's close."""
        self.script.until(lambda: self.cancelled is not None, "the request to be cancelled")
        if isinstance(self.cancelled, int):
            assert self.cancelled == CANCEL, f"RST_STREAM {self.cancelled}, not CANCEL"

    def expect_given_up(self) -> None:
        """Wait for foyer to stop an upload that was answered before its end, whatever its reset says."""
        self.script.until(lambda: self.cancelled is not None, "the upload to be given up")
        assert not self.ended

    # -- what the test does

    def answer(self, status: int, fields: Fields | None = None, content: bytes = b"") -> None:
        """A whole answer with its length, or with the length its HEAD is told of."""
        fields = list(fields or [])
        if status != 204 and status != 304:
            fields.append((b"content-length", b"%d" % len(content)))
        bare = self.method == b"HEAD" or not content
        self.respond(status, fields, end=bare)
        if not bare:
            self.send(content)
            self.end()

    @abstractmethod
    def inform(self, status: int, fields: Fields | None = None) -> None:
        """A 1xx head."""

    @abstractmethod
    def respond(
        self, status: int, fields: Fields | None = None, *, end: bool = False, until_close: bool = False
    ) -> None:
        """The final head. On HTTP/1.1 content is chunked unless a length is given, or `until_close`."""

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Queue content: one chunk on HTTP/1.1."""

    @abstractmethod
    def end(self, trailers: Fields | None = None) -> None:
        """End the response."""

    @abstractmethod
    def reset(self, code: int = int(h2.errors.ErrorCodes.INTERNAL_ERROR)) -> None:
        """RST_STREAM, or a reset connection on HTTP/1.1."""

    @property
    @abstractmethod
    def unsent(self) -> int:
        """Bytes of content that foyer has not let us send."""

    @abstractmethod
    def stop_reading(self) -> None:
        """Take no more request content."""

    @abstractmethod
    def go_on_reading(self) -> None:
        """Read on."""

    def close(self) -> None:
        """End the connection properly (close_notify, FIN) once what is queued is sent."""
        self.connection.wire.finish()

    def drop(self) -> None:
        """Reset the connection."""
        self.connection.wire.drop()


class Connection(ABC):
    """One connection from foyer."""

    def __init__(self, upstream: "Upstream", sock: socket.socket) -> None:
        self.upstream = upstream
        self.requests: list[Request] = []
        self.wire = Wire(upstream.script, sock, self._received, self._ended, tls=upstream.context)

    @property
    def closed(self) -> End | None:
        """How foyer ended the connection, once it has."""
        return None if self.wire.end is End.OPEN else self.wire.end

    def expect_closed(self) -> None:
        """Wait for foyer to close this connection."""
        self.upstream.script.until(lambda: self.closed is not None, "foyer to close an upstream connection")

    def retire(self) -> None:
        """Close our half and wait until foyer has closed its own: it will not be used again."""
        self.wire.reading = True
        self.wire.finish()
        try:
            if self.wire.fileno() >= 0:
                self.expect_closed()
        finally:
            self.wire.close()

    @abstractmethod
    def _received(self, data: bytes) -> None: ...

    @abstractmethod
    def _ended(self, end: End) -> None: ...


class Upstream(ABC):
    """A listener on an ephemeral port, and every request that came to it."""

    version: str
    alpn: str

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self.script = script
        self.context = tls or server_context(self.alpn)
        self.connections: list[Connection] = []
        self.arrived: deque[Request] = deque()
        self.expects_looks = False
        self.silent = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        script.add(self)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def expect(self, seconds: float = 5.0) -> Request:
        """Wait for the next request's head."""
        self.script.until(lambda: bool(self.arrived), "a request to reach the upstream", seconds)
        return self.arrived.popleft()

    def arrives(self, request: Request) -> None:
        """A request's head is here."""
        if self.expects_looks or b"limit=1" not in request.target.partition(b"?")[2].split(b"&"):
            self.arrived.append(request)
        else:
            request.answer(200, [(b"content-type", b"application/json")], NOTHING)

    def expect_nothing(self) -> None:
        """No request is here, nor in what has already been sent.

        Meant for after an answer was read: whatever foyer sent up, it sent before that.
        """
        while self.script.turn():
            pass
        assert not self.arrived, f"{self.arrived[0].method!r} {self.arrived[0].target!r} reached the upstream"

    def retire(self) -> None:
        """Close every connection, and see foyer close its half."""
        self.expects_looks = False
        while self.connections:
            self.connections.pop().retire()

    def close(self) -> None:
        """Stop listening and drop every connection."""
        for connection in self.connections:
            connection.wire.close()
        self.script.remove(self)
        self._listener.close()

    @contextmanager
    def not_listening(self) -> Iterator[None]:
        """Refuse connections to the port, and listen on it again afterwards."""
        address = self._listener.getsockname()
        self.script.remove(self)
        self._listener.close()
        # Bound and not listening, so that nothing else on this machine takes the port meanwhile.
        with socket.socket() as held:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(address)
            yield
        self._listener = socket.create_server(address, backlog=128)
        self._listener.setblocking(False)
        self.script.add(self)

    @contextmanager
    def certified(self, context: ssl.SSLContext) -> Iterator[None]:
        """Show the certificate of another context to connections from now on."""
        kept, self.context = self.context, context
        yield
        self.context = kept

    # -- a Part of the script

    def fileno(self) -> int:
        return self._listener.fileno()

    def wants(self) -> int:
        return 0 if self.silent else EVENT_READ

    def ready(self, events: int) -> None:
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        self.connections.append(self._connection(sock))

    @abstractmethod
    def _connection(self, sock: socket.socket) -> Connection: ...


# -- HTTP/1.1


class H1Request(Request):
    """A request in the order of its connection."""

    connection: "H1Connection"

    def __init__(self, connection: "H1Connection", message: Message) -> None:
        super().__init__(connection)
        self.method, self.target, _ = message.start.split(b" ")
        self.message = message
        self.fields = message.fields
        self.authority = message.all(b"host")[0]
        self.content = message.content
        self.answered = False
        self._chunked = False
        self._until_close = False

    def inform(self, status: int, fields: Fields | None = None) -> None:
        self.send_raw(head(b"HTTP/1.1 %d Informational" % status, fields or []))

    def respond(
        self, status: int, fields: Fields | None = None, *, end: bool = False, until_close: bool = False
    ) -> None:
        fields = list(fields or [])
        self._until_close = until_close
        has_length = any(name.lower() == b"content-length" for name, _ in fields)
        bodiless = self.method == b"HEAD" or status in (204, 304)
        self._chunked = not (has_length or until_close or bodiless)
        if self._chunked:
            fields.append((b"Transfer-Encoding", b"chunked"))
        self.send_raw(head(b"HTTP/1.1 %d Answer" % status, fields))
        if end:
            self.end()

    def send(self, data: bytes) -> None:
        self.send_raw(chunk(data) if self._chunked and data else data)

    def send_raw(self, data: bytes) -> None:
        """Send exactly these bytes on the connection."""
        self.connection.wire.send(data)

    def end(self, trailers: Fields | None = None) -> None:
        if self._chunked:
            self.send_raw(head(b"0", trailers or []))
        elif self._until_close:
            self.close()
        self.answered = True
        self.connection.advance()

    def reset(self, code: int = 0) -> None:
        self.drop()

    @property
    def unsent(self) -> int:
        return self.connection.wire.unsent

    def stop_reading(self) -> None:
        self.connection.wire.reading = False

    def go_on_reading(self) -> None:
        self.connection.wire.reading = True


class H1Connection(Connection):
    """Requests one after another. The next is read when the last was answered (foyer does not pipeline)."""

    requests: list[H1Request]  # type: ignore[assignment]

    def __init__(self, upstream: Upstream, sock: socket.socket) -> None:
        self._reader = Reader()
        super().__init__(upstream, sock)

    @property
    def surplus(self) -> bytes:
        """Bytes behind the last request read."""
        return self._reader.rest

    def advance(self) -> None:
        """Read on in the request at hand, or in the next."""
        current = self.requests[-1] if self.requests else None
        if current and not current.ended:
            self._reader.go_on(current.message)
            self._note(current)
        if current and not (current.ended and current.answered):
            return
        message = self._reader.next_message()
        if message is not None:
            self._begin(message)

    def _begin(self, message: Message) -> None:
        request = H1Request(self, message)
        self.requests.append(request)
        self._reader.expect_content(message, delimited_by(message) or Framing.NONE)
        self._note(request)
        self.upstream.arrives(request)

    def _note(self, request: H1Request) -> None:
        request.ended, request.trailers = request.message.ended, request.message.trailers

    def _received(self, data: bytes) -> None:
        self._reader.receive(data)
        self.advance()

    def _ended(self, end: End) -> None:
        for request in self.requests:
            if not (request.ended and request.answered):
                request.cancelled = end


# -- HTTP/2


class H2Request(Request):
    """A stream."""

    connection: "H2Connection"

    def __init__(self, connection: "H2Connection", stream: int, fields: Fields) -> None:
        super().__init__(connection)
        self.stream = stream
        pseudo = dict(fields)
        self.method, self.target = pseudo[b":method"], pseudo[b":path"]
        self.authority = pseudo.get(b":authority", b"")
        self.fields = [(name, value) for name, value in fields if not name.startswith(b":")]
        self.out = Outbox(connection.h2, stream)
        self.owed = 0
        self.reading = True

    def inform(self, status: int, fields: Fields | None = None) -> None:
        self.connection.h2.send_headers(self.stream, [(b":status", b"%d" % status), *(fields or [])])
        self.connection.flush()

    def respond(
        self, status: int, fields: Fields | None = None, *, end: bool = False, until_close: bool = False
    ) -> None:
        lower = [(name.lower(), value) for name, value in fields or []]
        self.connection.h2.send_headers(self.stream, [(b":status", b"%d" % status), *lower], end_stream=end)
        if end:
            self.out.close()
        self.connection.flush()

    def send(self, data: bytes) -> None:
        self.out.send(data)
        self.connection.push()

    def end(self, trailers: Fields | None = None) -> None:
        self.out.end(trailers)
        self.connection.push()

    def reset(self, code: int = int(h2.errors.ErrorCodes.INTERNAL_ERROR)) -> None:
        self.out.close()
        self.connection.h2.reset_stream(self.stream, code)
        self.connection.flush()

    @property
    def unsent(self) -> int:
        return len(self.out) + self.connection.wire.unsent

    def stop_reading(self) -> None:
        self.reading = False

    def go_on_reading(self) -> None:
        self.reading = True
        self.connection.acknowledge(self)


class H2Connection(Connection):
    """HTTP/2 over the h2 library."""

    requests: list[H2Request]  # type: ignore[assignment]

    def __init__(self, upstream: "H2Upstream", sock: socket.socket) -> None:
        config = h2.config.H2Configuration(
            client_side=False,
            header_encoding=False,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.h2 = h2.connection.H2Connection(config)
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=upstream.settings)
        self.goodbyes = Goodbyes(preface=24)
        self._streams: dict[int, H2Request] = {}
        super().__init__(upstream, sock)
        self.h2.initiate_connection()
        self.flush()

    def goaway(self, last: H2Request | None = None, code: int = 0) -> None:
        """GOAWAY: nothing after `last` was or will be looked at (none at all without one)."""
        # As frames, because the h2 library refuses to go on with a connection it has said goodbye on.
        last_stream = last.stream if last else 0
        payload = last_stream.to_bytes(4, "big") + code.to_bytes(4, "big")
        self.send_frames(b"\0\0\x08\x07\0\0\0\0\0" + payload)

    def send_frames(self, data: bytes) -> None:
        """Send exactly these bytes, unknown to the h2 library."""
        self.flush()
        self.wire.send(data)

    def acknowledge(self, request: H2Request) -> None:
        """Open the windows by what was received, when the script lets them."""
        if request.reading and request.owed:
            owed, request.owed = request.owed, 0
            self.h2.acknowledge_received_data(owed, request.stream)
            self.flush()

    def push(self) -> None:
        """Send content as far as the windows go."""
        for request in self._streams.values():
            request.out.push()
        self.flush()

    def flush(self) -> None:
        """Write what the h2 library has to say, unless our half has been closed."""
        data = self.h2.data_to_send()
        if data and not self.wire.finishing:
            self.wire.send(data)

    def _received(self, data: bytes) -> None:
        for event in self.h2.receive_data(self.goodbyes.without(data)):
            self._event(event)
        self.push()

    def _event(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived():
                fields = [(bytes(name), bytes(value)) for name, value in event.headers]
                request = self._streams[event.stream_id] = H2Request(self, event.stream_id, fields)
                self.requests.append(request)
                self.upstream.arrives(request)
            case h2.events.DataReceived():
                request = self._streams[event.stream_id]
                request.content += event.data
                request.owed += event.flow_controlled_length
                self.acknowledge(request)
            case h2.events.TrailersReceived():
                self._streams[event.stream_id].trailers = [(bytes(k), bytes(v)) for k, v in event.headers]
            case h2.events.StreamEnded():
                self._streams[event.stream_id].ended = True
            case h2.events.StreamReset():
                request = self._streams[event.stream_id]
                request.out.close()
                request.cancelled = int(event.error_code)
            case _:
                pass

    def _ended(self, end: End) -> None:
        for request in self.requests:
            request.out.close()
            if request.cancelled is None:
                request.cancelled = end


class H1Upstream(Upstream):
    """An API server that speaks HTTP/1.1."""

    version = "h1"
    alpn = "http/1.1"

    def _connection(self, sock: socket.socket) -> Connection:
        return H1Connection(self, sock)


class H2Upstream(Upstream):
    """An API server that speaks HTTP/2. `settings` are for connections to come."""

    version = "h2"
    alpn = "h2"

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self.settings: dict[SettingCodes, int] = {SettingCodes.MAX_CONCURRENT_STREAMS: 250}
        super().__init__(script, tls=tls)

    def _connection(self, sock: socket.socket) -> Connection:
        return H2Connection(self, sock)


UPSTREAMS: dict[str, type[H1Upstream] | type[H2Upstream]] = {"h1": H1Upstream, "h2": H2Upstream}

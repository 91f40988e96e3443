"""Scripted browsers, HTTP/1.1 and HTTP/2, with one interface.

    browser = H2Browser(script, port)
    exchange = browser.request("GET", "/k8s/api")
    status, fields = exchange.read_head()
    assert exchange.read_until_end() == Whole(b"{}")

They do nothing that a script did not say: the HTTP/2 browser opens its windows only while it
reads, and what either has received is kept in `seen` for the scan of spec 02.
"""

import socket
from abc import ABC, abstractmethod
from collections import deque

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
from h2.settings import SettingCodes

from tests.support.certs import ORIGIN_HOST, browser_context
from tests.support.frames import Goodbyes, Outbox
from tests.support.messages import Framing, MalformedError, Message, Reader, chunk, delimited_by, head
from tests.support.script import Aborted, Fields, How, Outcome, Script, Whole
from tests.support.wire import End, Wire

SMALL = 16 * 1024
"""A socket buffer that fills at once, for tests of stalls: the default takes megabytes on loopback."""


class NoAnswerError(AssertionError):
    """The exchange ended without a response head."""


class Exchange(ABC):
    """One request of a browser and what has come back."""

    def __init__(self, browser: "Browser", method: bytes) -> None:
        self.browser = browser
        self.method = method
        self.status = 0
        self.fields: Fields = []
        self.informational: list[int] = []
        self.trailers: Fields = []
        self.outcome: Outcome | None = None
        self.content = bytearray()
        self._read = 0

    # -- what the test reads

    def read_head(self) -> tuple[int, Fields]:
        """Wait for the final head. Raises `NoAnswerError` when the exchange ends without."""
        self.browser.script.until(lambda: bool(self.status or self.outcome), "a response head")
        if not self.status:
            raise NoAnswerError(str(self.outcome))
        return self.status, self.fields

    def read_some(self) -> bytes:
        """Wait for content that no earlier call returned. Empty at the end, proper or not."""
        self.browser.script.until(
            lambda: len(self.content) > self._read or self.outcome is not None, "more content"
        )
        start, self._read = self._read, len(self.content)
        return bytes(self.content[start:])

    def read_exactly(self, size: int) -> bytes:
        """Wait for `size` bytes that no earlier call returned."""
        self.browser.script.until(
            lambda: len(self.content) >= self._read + size or self.outcome is not None, f"{size} bytes"
        )
        start, self._read = self._read, self._read + size
        return bytes(self.content[start : self._read])

    def read_until_end(self, seconds: float = 5.0) -> Outcome:
        """Wait for the end, and say which, with the whole content from its first byte."""
        self.browser.script.until(lambda: self.outcome is not None, "the end of a response", seconds)
        assert self.outcome is not None
        return self.outcome

    def all(self, name: str) -> list[bytes]:
        """Every value of a response field, by lower-case name."""
        return [value for key, value in self.fields if key.lower() == name.encode()]

    # -- what the test does

    @abstractmethod
    def send_body(self, data: bytes) -> None:
        """Queue request content; it leaves as the connection takes it."""

    @abstractmethod
    def end(self, trailers: Fields | None = None) -> None:
        """End the request's content."""

    @property
    @abstractmethod
    def unsent(self) -> int:
        """Bytes of request content that the connection has not taken."""

    @abstractmethod
    def reset(self) -> None:
        """Give the exchange up: RST_STREAM CANCEL, or a reset connection on HTTP/1.1."""


class Browser(ABC):
    """One connection to foyer."""

    version: str
    alpn: str

    def __init__(
        self,
        script: Script,
        port: int,
        *,
        tls: bool = True,
        receive_buffer: int | None = None,
        seen: list[bytes] | None = None,
    ) -> None:
        self.script = script
        self.seen = [] if seen is None else seen
        self.closed: End | None = None
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.connect(("127.0.0.1", port))
        self.wire = Wire(
            script,
            sock,
            self._received,
            self._ended,
            tls=browser_context(self.alpn) if tls else None,
            hostname=ORIGIN_HOST,
        )
        script.until(lambda: self.wire.established or self.closed is not None, "the TLS handshake")
        assert not tls or self.wire.alpn == self.alpn, f"ALPN chose {self.wire.alpn}"

    @abstractmethod
    def request(
        self,
        method: str | bytes,
        target: str | bytes,
        fields: Fields | None = None,
        body: bytes | None = None,
        *,
        end: bool = True,
    ) -> Exchange:
        """Send a request. `body` is whole, with its length; without `end` content follows by `send_body`."""

    @abstractmethod
    def stop_reading(self) -> None:
        """Take no more response content: do not read the socket, or open no window."""

    @abstractmethod
    def go_on_reading(self) -> None:
        """Read on after `stop_reading`."""

    def close(self) -> None:
        """Close the connection at once."""
        self.wire.close()

    def drop(self) -> None:
        """Reset the connection."""
        self.wire.drop()

    def read_connection_end(self) -> End:
        """Wait for foyer to close the connection."""
        self.script.until(lambda: self.closed is not None, "the connection to be closed")
        assert self.closed is not None
        return self.closed

    @abstractmethod
    def _received(self, data: bytes) -> None: ...

    @abstractmethod
    def _ended(self, end: End) -> None: ...


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


# -- HTTP/1.1


class H1Exchange(Exchange):
    """A request in the order of its connection."""

    browser: "H1Browser"

    def __init__(self, browser: "H1Browser", method: bytes, chunked: bool) -> None:
        super().__init__(browser, method)
        self.chunked = chunked
        self.message: Message | None = None

    def send_body(self, data: bytes) -> None:
        self.browser.wire.send(chunk(data) if self.chunked and data else data)

    def end(self, trailers: Fields | None = None) -> None:
        if self.chunked:
            self.browser.wire.send(head(b"0", trailers or []))

    @property
    def unsent(self) -> int:
        return self.browser.wire.unsent

    def reset(self) -> None:
        self.browser.drop()


class H1Browser(Browser):
    """HTTP/1.1, pipelining whatever a script sends before it reads."""

    version = "h1"
    alpn = "http/1.1"

    def __init__(self, *arguments, **options) -> None:  # type: ignore[no-untyped-def]
        self._reader = Reader()
        self._waiting: deque[H1Exchange] = deque()
        super().__init__(*arguments, **options)

    def request(
        self,
        method: str | bytes,
        target: str | bytes,
        fields: Fields | None = None,
        body: bytes | None = None,
        *,
        end: bool = True,
    ) -> H1Exchange:
        fields = list(fields or [])
        names = {name.lower() for name, _ in fields}
        chunked = not end and b"content-length" not in names
        if b"host" not in names:
            fields.insert(0, (b"Host", ORIGIN_HOST.encode()))
        if chunked:
            fields.append((b"Transfer-Encoding", b"chunked"))
        elif body is not None and b"content-length" not in names:
            fields.append((b"Content-Length", b"%d" % len(body)))
        exchange = self.expect_answer(method, chunked=chunked)
        self.wire.send(head(_bytes(method) + b" " + _bytes(target) + b" HTTP/1.1", fields))
        if body is not None:
            exchange.send_body(body)
        return exchange

    def send_raw(self, data: bytes) -> None:
        """Send exactly these bytes."""
        self.wire.send(data)

    def expect_answer(self, method: str | bytes = "GET", *, chunked: bool = False) -> H1Exchange:
        """The exchange of the next answer on this connection, for a request sent raw."""
        exchange = H1Exchange(self, _bytes(method), chunked)
        if self.closed is None:
            self._waiting.append(exchange)
        else:
            exchange.outcome = Aborted(b"", How.IN_HEAD)
        return exchange

    def stop_reading(self) -> None:
        self.wire.reading = False

    def go_on_reading(self) -> None:
        self.wire.reading = True

    @property
    def surplus(self) -> bytes:
        """Bytes received that belong to no answer."""
        return self._reader.rest

    def _received(self, data: bytes) -> None:
        self.seen.append(data)
        self._reader.receive(data)
        while self._waiting and self._advance(self._waiting[0]):
            pass

    def _advance(self, exchange: H1Exchange) -> bool:
        """Read on in the answer at the front. True when more may be read at once."""
        if exchange.message is None:
            message = self._reader.next_message()
            if message is None:
                return False
            return self._head(exchange, message)
        self._reader.go_on(exchange.message)
        return self._content(exchange, exchange.message)

    def _head(self, exchange: H1Exchange, message: Message) -> bool:
        version, code, *_ = message.start.split(b" ", 2)
        if version != b"HTTP/1.1" or len(code) != 3:
            raise MalformedError(f"status line {message.start!r}")
        status = int(code)
        if 100 <= status < 200:
            exchange.informational.append(status)
            return True
        exchange.message, exchange.status, exchange.fields = message, status, message.fields
        framing = delimited_by(message)
        if exchange.method == b"HEAD" or status in (204, 304):
            framing = Framing.NONE
        self._reader.expect_content(message, framing or Framing.CLOSE)
        return self._content(exchange, message)

    def _content(self, exchange: H1Exchange, message: Message) -> bool:
        exchange.content, exchange.trailers = message.content, message.trailers
        if message.ended:
            exchange.outcome = Whole(bytes(message.content))
            self._waiting.popleft()
        return message.ended

    def _ended(self, end: End) -> None:
        self.closed = end
        while self._waiting:
            exchange = self._waiting.popleft()
            if exchange.message is None:
                exchange.outcome = Aborted(b"", How.IN_HEAD)
                continue
            self._reader.connection_ended(exchange.message, end)
            content = bytes(exchange.message.content)
            broken = exchange.message.broken
            exchange.outcome = Aborted(content, broken) if broken else Whole(content)


# -- HTTP/2


class H2Exchange(Exchange):
    """A stream."""

    browser: "H2Browser"

    def __init__(self, browser: "H2Browser", method: bytes, stream: int) -> None:
        super().__init__(browser, method)
        self.stream = stream
        self.out = Outbox(browser.h2, stream)
        self.owed = 0
        self.reading = True

    def send_body(self, data: bytes) -> None:
        self.out.send(data)
        self.browser.push()

    def end(self, trailers: Fields | None = None) -> None:
        self.out.end(trailers)
        self.browser.push()

    @property
    def unsent(self) -> int:
        return len(self.out)

    def reset(self) -> None:
        self.browser.reset(self)

    def stop_reading(self) -> None:
        """Open no window for this stream."""
        self.reading = False

    def go_on_reading(self) -> None:
        """Acknowledge what was withheld, and go on."""
        self.reading = True
        self.browser.acknowledge(self)


class H2Browser(Browser):
    """HTTP/2 over the h2 library, its windows opened by hand."""

    version = "h2"
    alpn = "h2"

    def __init__(  # type: ignore[no-untyped-def]
        self, *arguments, window: int = 65_535, settings: dict[SettingCodes, int] | None = None, **options
    ) -> None:
        config = h2.config.H2Configuration(
            client_side=True,
            header_encoding=False,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.h2 = h2.connection.H2Connection(config)
        self.streams: dict[int, H2Exchange] = {}
        self.goodbyes = Goodbyes()
        self._reading = True
        super().__init__(*arguments, **options)
        self.h2.local_settings = h2.settings.Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: window,
                SettingCodes.MAX_HEADER_LIST_SIZE: 65_536,
                **(settings or {}),
            },
        )
        self.h2.initiate_connection()
        self.flush()

    def request(
        self,
        method: str | bytes,
        target: str | bytes,
        fields: Fields | None = None,
        body: bytes | None = None,
        *,
        end: bool = True,
    ) -> H2Exchange:
        fields = [(name.lower(), value) for name, value in fields or []]
        pseudo: Fields = [
            (b":method", _bytes(method)),
            (b":scheme", b"https"),
            (b":authority", ORIGIN_HOST.encode()),
            (b":path", _bytes(target)),
        ]
        if body is not None and end and not any(name == b"content-length" for name, _ in fields):
            fields.append((b"content-length", b"%d" % len(body)))
        exchange = self.open([*pseudo, *fields], end=end and body is None)
        if body is not None:
            exchange.send_body(body)
            if end:
                exchange.end()
        return exchange

    def open(self, fields: Fields, *, end: bool = True) -> H2Exchange:
        """Open a stream with exactly these fields, pseudo-header fields included."""
        stream = self.h2.get_next_available_stream_id()
        method = dict(fields).get(b":method", b"")
        exchange = self.streams[stream] = H2Exchange(self, method, stream)
        self.h2.send_headers(stream, fields, end_stream=end)
        self.flush()
        return exchange

    def reset(self, exchange: H2Exchange, code: int = h2.errors.ErrorCodes.CANCEL) -> None:
        """RST_STREAM."""
        exchange.out.close()
        self.h2.reset_stream(exchange.stream, code)
        exchange.outcome = exchange.outcome or Aborted(bytes(exchange.content), How.RST_STREAM, code)
        self.acknowledge(exchange)
        self.flush()

    def stop_reading(self) -> None:
        self._reading = False

    def go_on_reading(self) -> None:
        self._reading = True
        for exchange in self.streams.values():
            self.acknowledge(exchange)

    def stop_reading_the_socket(self) -> None:
        """Not even frames: as a peer whose machine hangs."""
        self.wire.reading = False

    def acknowledge(self, exchange: H2Exchange) -> None:
        """Open the windows by what was received, when the script lets them."""
        if self._reading and exchange.reading and exchange.owed:
            owed, exchange.owed = exchange.owed, 0
            self.h2.acknowledge_received_data(owed, exchange.stream)
            self.flush()

    def push(self) -> None:
        """Send request content as far as the windows go."""
        for exchange in self.streams.values():
            exchange.out.push()
        self.flush()

    def flush(self) -> None:
        """Write what the h2 library has to say, unless our half has been closed."""
        data = self.h2.data_to_send()
        if data and not self.wire.finishing:
            self.wire.send(data)

    def send_frames(self, data: bytes) -> None:
        """Send exactly these bytes, unknown to the h2 library."""
        self.wire.send(data)

    def _received(self, data: bytes) -> None:
        for event in self.h2.receive_data(self.goodbyes.without(data)):
            self._event(event)
        self.push()

    def _event(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.InformationalResponseReceived():
                self.streams[event.stream_id].informational.append(_status(event.headers))
            case h2.events.ResponseReceived():
                exchange = self.streams[event.stream_id]
                exchange.status = _status(event.headers)
                exchange.fields = [(bytes(k), bytes(v)) for k, v in event.headers if not k.startswith(b":")]
                self.seen.append(b"\n".join(b"%b: %b" % (k, v) for k, v in event.headers))
            case h2.events.TrailersReceived():
                self.streams[event.stream_id].trailers = [(bytes(k), bytes(v)) for k, v in event.headers]
            case h2.events.DataReceived():
                exchange = self.streams[event.stream_id]
                exchange.content += event.data
                exchange.owed += event.flow_controlled_length
                self.seen.append(event.data)
                self.acknowledge(exchange)
            case h2.events.StreamEnded():
                exchange = self.streams[event.stream_id]
                exchange.outcome = exchange.outcome or Whole(bytes(exchange.content))
            case h2.events.StreamReset():
                exchange = self.streams[event.stream_id]
                exchange.out.close()
                exchange.outcome = exchange.outcome or Aborted(
                    bytes(exchange.content), How.RST_STREAM, int(event.error_code)
                )
            case _:
                pass

    def _ended(self, end: End) -> None:
        self.closed = end
        for exchange in self.streams.values():
            exchange.outcome = exchange.outcome or Aborted(bytes(exchange.content), How.CONNECTION_CLOSED)


def _status(fields: object) -> int:
    return int(dict(fields)[b":status"])  # type: ignore[call-overload]


BROWSERS: dict[str, type[H1Browser] | type[H2Browser]] = {"h1": H1Browser, "h2": H2Browser}

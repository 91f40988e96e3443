"""An API server that takes requests strictly, answers each with what it has read, and keeps a record.

HTTP/1.1 is read by the tests' own reference, octet by octet, HTTP/2 by the h2 library with all that it
checks. Each request gets a number, and its answer carries it as `Audit-Id`: so whoever reads the answer,
foyer, a browser or a proxy's log, can say which request it was for.
"""

import asyncio
import json
import re
import ssl
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from tests.support import reference_http1 as reference
from tests.support.certs import server_context
from tests.support.script import Fields

_TOKEN = re.compile(rb"\r\nauthorization: ?Bearer ([^\r]*)\r\n", re.IGNORECASE)


@dataclass(frozen=True)
class Recorded:
    """One whole request. `serial` is its number."""

    serial: int
    method: bytes
    target: bytes
    fields: Fields = field(repr=False)
    content: bytes

    @property
    def token(self) -> bytes:
        """Whose it is: the one bearer token, or something that is nobody's."""
        bearers = [value for name, value in self.fields if name == b"authorization"]
        return b"|".join(bearers).removeprefix(b"Bearer ")

    @property
    def echo(self) -> bytes:
        """What the answer says."""
        read = {"method": self.method, "target": self.target, "content": self.content}
        text = {name: value.decode("latin-1") for name, value in read.items()}
        return json.dumps({"serial": self.serial, **text}).encode()


class Recorder:
    """Where it listens, and all that it was sent."""

    def __init__(self, version: str) -> None:
        self.forget()
        self._version = version
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        kind = {"h1": _H1, "h2": _H2}[self._version]
        context: ssl.SSLContext = server_context({"h1": "http/1.1", "h2": "h2"}[self._version])
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: kind(self), "127.0.0.1", 0, ssl=context)

    def forget(self) -> None:
        """Begin a new record."""
        self.requests: list[Recorded] = []
        self.unfinished: list[bytes] = []
        self.malformed: list[bytes] = []

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def record(self, method: bytes, target: bytes, fields: Fields, content: bytes) -> Recorded:
        """A whole request has come."""
        request = Recorded(len(self.requests), method, target, fields, content)
        self.requests.append(request)
        return request

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()


def bearer(head: bytes) -> bytes:
    """The token in what there is of an HTTP/1.1 request, or nothing."""
    found = _TOKEN.search(head)
    return found[1] if found else b""


class _H1(asyncio.Protocol):
    """One connection of HTTP/1.1."""

    _transport: asyncio.Transport

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._buffer = b""
        self._refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._buffer and not self._refused:
            match reference.request(self._buffer):
                case reference.Message() as message:
                    self._buffer = self._buffer[message.size :]
                    self._answer(message)
                case reference.Verdict.REFUSED:
                    self._refused = True
                    self._recorder.malformed.append(self._buffer)
                    self._transport.abort()
                case _:
                    return

    def _answer(self, message: reference.Message) -> None:
        method, target, _ = message.start.split(b" ")
        request = self._recorder.record(method, target, list(message.fields), message.content)
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nAudit-Id: %d\r\n\r\n"
        )
        self._transport.write(head % (len(request.echo), request.serial))
        if method != b"HEAD":
            self._transport.write(request.echo)

    def connection_lost(self, error: Exception | None) -> None:
        if self._buffer and not self._refused:
            self._recorder.unfinished.append(self._buffer)


class _H2(asyncio.Protocol):
    """One connection of HTTP/2."""

    _transport: asyncio.Transport

    def __init__(self, recorder: Recorder) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding=None)
        self._h2 = h2.connection.H2Connection(config)
        self._recorder = recorder
        self._open: dict[int, tuple[Fields, bytearray]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._h2.initiate_connection()
        transport.write(self._h2.data_to_send())

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._h2.receive_data(data):
                self._happened(event)
        except h2.exceptions.ProtocolError as error:
            self._recorder.malformed.append(f"{error!r}: {data!r}".encode())
            self._transport.abort()
        else:
            self._transport.write(self._h2.data_to_send())

    def _happened(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived(stream_id=stream, headers=fields):
                self._open[stream] = [(bytes(name), bytes(value)) for name, value in fields], bytearray()
            case h2.events.DataReceived(stream_id=stream, data=content, flow_controlled_length=length):
                self._open[stream][1].extend(content)
                self._h2.acknowledge_received_data(length, stream)
            case h2.events.StreamEnded(stream_id=stream):
                self._answer(stream, *self._open.pop(stream))
            case h2.events.StreamReset(stream_id=stream):
                self._left(stream)

    def _answer(self, stream: int, fields: Fields, content: bytearray) -> None:
        pseudo = dict(fields)
        method, target = pseudo[b":method"], pseudo[b":path"]
        request = self._recorder.record(method, target, fields, bytes(content))
        head = [
            (b":status", b"200"),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(request.echo)),
            (b"audit-id", b"%d" % request.serial),
        ]
        try:
            self._h2.send_headers(stream, head, end_stream=method == b"HEAD")
            if method != b"HEAD":
                self._h2.send_data(stream, request.echo, end_stream=True)
        except h2.exceptions.ProtocolError:
            pass  # whoever asked has left meanwhile, in the same read: it was whole nevertheless

    def _left(self, stream: int) -> None:
        if stream in self._open:
            fields, _ = self._open.pop(stream)
            self._recorder.unfinished.append(b"".join(b"\r\n%b: %b\r\n" % pair for pair in fields))

    def connection_lost(self, error: Exception | None) -> None:
        for stream in list(self._open):
            self._left(stream)

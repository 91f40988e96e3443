"""HTTP/2 as a browser speaks it, as an httpx transport over the h2 library.

httpx has one of its own, but three things that browsers do cannot be seen through it: a response
is read while two watches wait on the same connection (its readers queue behind each other), an
answer is taken that comes before the upload ends, and streams go on after a GOAWAY that spares
them (RFC 9113 section 6.8).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import httpx

_CONNECTION_ONLY = {b"host", b"connection", b"transfer-encoding", b"keep-alive"}
"""Fields that HTTP/2 has other means for (RFC 9113 section 8.2.2)."""


class Stream(httpx.AsyncByteStream):
    """One request's stream: its head, then its content until it ends or is broken."""

    def __init__(self, connection: "Connection", number: int) -> None:
        self.number = number
        self.head: asyncio.Future[h2.events.ResponseReceived] = asyncio.get_running_loop().create_future()
        self.writable = asyncio.Event()
        self.over = False
        self._connection = connection
        self._content: asyncio.Queue[bytes | httpx.TransportError | None] = asyncio.Queue()
        self._sending: asyncio.Task[None] | None = None

    def upload(self, content: AsyncIterator[bytes]) -> None:
        """Send the request's content while the response is waited for."""
        self._sending = asyncio.get_running_loop().create_task(self._upload(content))

    async def _upload(self, content: AsyncIterator[bytes]) -> None:
        try:
            async for part in content:
                await self._connection.send(self, part)
            await self._connection.send(self, b"", end=True)
        except h2.exceptions.ProtocolError:
            self.over = True  # The server has answered and wants no more (RFC 9113 section 8.1).

    def received(self, data: bytes) -> None:
        self._content.put_nowait(data)

    def ended(self, error: httpx.TransportError | None = None) -> None:
        """Cleanly, or broken with `error`."""
        self.over = True
        self.writable.set()
        self._content.put_nowait(error)
        if not self.head.done():
            self.head.set_exception(error or httpx.RemoteProtocolError("ended without a head"))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self._content.get()) is not None:
            if isinstance(part, httpx.TransportError):
                raise part
            yield part

    async def aclose(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
        self._connection.leave(self)


class Connection(asyncio.Protocol):
    """One connection and the streams on it."""

    def __init__(self) -> None:
        config = h2.config.H2Configuration(
            header_encoding=False, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self._h2 = h2.connection.H2Connection(config)
        self._streams: dict[int, Stream] = {}
        self._transport: asyncio.Transport | None = None
        self.usable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._h2.initiate_connection()
        self._flush()

    def open(self, fields: list[tuple[bytes, bytes]], *, end: bool) -> Stream:
        """Send a request's head."""
        stream = Stream(self, self._h2.get_next_available_stream_id())
        self._streams[stream.number] = stream
        self._h2.send_headers(stream.number, fields, end_stream=end)
        self._flush()
        return stream

    async def send(self, stream: Stream, data: bytes, *, end: bool = False) -> None:
        """Send content as the window allows. ProtocolError when the stream takes none any more."""
        while data and not stream.over:
            room = min(self._h2.local_flow_control_window(stream.number), self._h2.max_outbound_frame_size)
            if room <= 0:
                stream.writable.clear()
                await stream.writable.wait()
                continue
            part, data = data[:room], data[room:]
            self._h2.send_data(stream.number, part)
            self._flush()
        if end and not stream.over:
            self._h2.end_stream(stream.number)
            self._flush()

    def leave(self, stream: Stream) -> None:
        """Give a stream up that is not over, as a browser does whose page has gone."""
        if self._streams.pop(stream.number, None) is not None and self.usable and not stream.over:
            self._h2.reset_stream(stream.number, h2.errors.ErrorCodes.CANCEL)
            self._flush()

    def close(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            self._happened(event)
        self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        for stream in self._streams.values():
            if not stream.over:
                stream.ended(httpx.ReadError(f"the connection was closed: {error}"))

    def _happened(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.WindowUpdated() | h2.events.RemoteSettingsChanged():
                for stream in self._streams.values():
                    stream.writable.set()
            case h2.events.ConnectionTerminated():
                self._said_goodbye(event)
            case h2.events.DataReceived(stream_id=number, data=data, flow_controlled_length=length):
                assert data is not None
                assert length is not None
                if length:
                    self._h2.acknowledge_received_data(length, number)
                if number in self._streams:
                    self._streams[number].received(data)
            case h2.events.ResponseReceived(stream_id=number) if number in self._streams:
                self._streams[number].head.set_result(event)
            case h2.events.StreamEnded(stream_id=number) if number in self._streams:
                self._streams[number].ended()
            case h2.events.StreamReset(stream_id=number) if number in self._streams:
                if not self._streams[number].over:
                    code = h2.errors.ErrorCodes(event.error_code or 0)
                    self._streams[number].ended(httpx.RemoteProtocolError(f"RST_STREAM {code.name}"))

    def _said_goodbye(self, goodbye: h2.events.ConnectionTerminated) -> None:
        self.usable = False
        for stream in self._streams.values():
            if stream.number > (goodbye.last_stream_id or 0) and not stream.over:
                stream.ended(httpx.RemoteProtocolError("GOAWAY before this stream"))

    def _flush(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(self._h2.data_to_send())


class HTTP2Transport(httpx.AsyncBaseTransport):
    """Everything goes over one connection, and over a new one when that can take no more."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._context.set_alpn_protocols(["h2"])
        self._connections: list[Connection] = []
        self._connecting = asyncio.Lock()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        connection = await self._connection(request.url)
        bodiless = not {"content-length", "transfer-encoding"} & request.headers.keys()
        stream = connection.open(_fields(request), end=bodiless)
        if not bodiless:
            stream.upload(aiter(request.stream))
        async with asyncio.timeout(request.extensions["timeout"]["read"]):
            head = await stream.head
        assert head.headers is not None
        (_, status), *fields = [(bytes(name), bytes(value)) for name, value in head.headers]
        extensions = {"http_version": b"HTTP/2", "stream_id": stream.number}
        return httpx.Response(int(status), headers=fields, stream=stream, extensions=extensions)

    async def _connection(self, url: httpx.URL) -> Connection:
        async with self._connecting:
            if not self._connections or not self._connections[-1].usable:
                loop = asyncio.get_running_loop()
                try:
                    _, connection = await loop.create_connection(
                        Connection, url.host, url.port or 443, ssl=self._context
                    )
                except OSError as error:
                    raise httpx.ConnectError(str(error)) from error
                self._connections.append(connection)
            return self._connections[-1]

    async def aclose(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()


def _fields(request: httpx.Request) -> list[tuple[bytes, bytes]]:
    authority = request.headers["host"].encode()
    fields = [
        (b":method", request.method.encode()),
        (b":scheme", b"https"),
        (b":authority", authority),
        (b":path", request.extensions["target"]),
    ]
    return fields + [
        (name.lower(), value) for name, value in request.headers.raw if name.lower() not in _CONNECTION_ONLY
    ]

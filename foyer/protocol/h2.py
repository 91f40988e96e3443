"""HTTP/2 in both roles: frames walked one by one, then h2 (RFC 9113).

h2 is given exactly one whole frame at a time, and what it makes of it is passed on before the
next: so its state never runs ahead of the events, a fault loses nothing that came before it,
and floods can be counted before h2 does any work. GOAWAY stays here in both directions, since
h2 takes either for the end of the connection, while RFC 9113 section 6.8 lets the streams
below the last one finish.
"""

import re
from collections.abc import Iterable

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import hpack
import hyperframe.frame
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from hpack import NeverIndexedHeaderTuple

from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead, Sink
from foyer.protocol.fault import ProtocolFault

MAX_HEADER_LIST = 32 * 1024
"""Bytes of a request's header list (advertised, spec 03). Decoding 60 KB of legal Huffman costs 15 ms."""

MAX_STREAMS = 128
"""Streams a browser may have open: one session's 64 requests and 32 streams, and room for a second tab."""

BROWSER_WINDOW = 64 * 1024
"""A request stream's window: what an upload may have in flight while upstream is slow."""

UPSTREAM_WINDOW = 96 * 1024
"""A response stream's window. With `HIGH_WATER` queued behind it, and what a transport holds, a stalled
browser keeps under 256 KiB (spec 03)."""

_FRAME_HEADER = 9
_MAX_FRAME = 16384
_GOAWAY = 7
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_METHOD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}")
_SECRET = frozenset((b"authorization", b"set-cookie", b"cookie"))
# Differ with every message, so that indexing them only pushes the useful entries out of the table.
_FLEETING = frozenset((b"audit-id", b"content-length"))

# h2 builds repr(frame), a hex dump of the whole payload, for each frame it receives even with its
# log off: 18 of the 29 us that 16 KiB of DATA cost. A patch of a library class; a test fails when
# h2 stops doing it.
hyperframe.frame.Frame.__repr__ = lambda self: type(self).__name__  # type: ignore[method-assign]


class _PlainEncoder(hpack.Encoder):
    """HPACK without Huffman coding: coding a bearer token costs 630 us, sending it plain a few bytes more."""

    def encode(self, headers: Iterable[object], huffman: bool = True) -> bytes:
        return super().encode(headers, huffman=False)  # type: ignore[arg-type]


class _Machine(h2.connection.H2Connection):
    # h2's own 65,536 remembered streams are 7 MiB a connection. Too few and late frames of a
    # stream that we reset become a connection error (seen with 4).
    MAX_CLOSED_STREAMS = 1024

    def __init__(self, config: h2.config.H2Configuration, settings: dict[SettingCodes, int]) -> None:
        super().__init__(config)
        self.encoder = _PlainEncoder()
        self.local_settings = Settings(client=config.client_side, initial_values=settings)
        self.decoder.max_header_list_size = settings[SettingCodes.MAX_HEADER_LIST_SIZE]


class _H2:
    """What both roles share: the walk over frames, windows, resets and GOAWAY."""

    multiplexed = True

    __slots__ = ("_goodbye", "_held", "_preface", "_sink", "closing", "machine", "unread")

    def __init__(
        self, sink: Sink, settings: dict[SettingCodes, int], *, client: bool, stream_window: int
    ) -> None:
        config = h2.config.H2Configuration(
            client_side=client,
            header_encoding=None,
            validate_outbound_headers=False,  # made by us, from names and values that were checked
            normalize_outbound_headers=False,
        )
        self.machine = _Machine(config, settings)
        self.machine.initiate_connection()
        # Wide enough for every stream to be paused at once: a stalled one never holds up its siblings,
        # and what is buffered is bounded by the streams' own windows.
        self.machine.increment_flow_control_window(MAX_STREAMS * stream_window)
        self._sink = sink
        self._held = b""
        self._preface = b"" if client else _PREFACE
        self._goodbye = b""
        self.closing = False
        self.unread = False  # the peer broke the protocol: closing at once could lose it the GOAWAY

    # What came in.

    def receive(self, data: bytes) -> None:
        """Takes what the peer sent, a frame at a time. Raises `ProtocolFault`, with the GOAWAY queued."""
        if self._held:
            data = self._held + data
        position = self._take_preface(data)
        end = len(data)
        while end - position >= _FRAME_HEADER and not self.closing:
            length = int.from_bytes(data[position : position + 3], "big")
            if length > _MAX_FRAME:
                # Before its payload is read: h2 would buffer it first.
                raise self._fault("a frame larger than 16 KiB", ErrorCodes.FRAME_SIZE_ERROR)
            stop = position + _FRAME_HEADER + length
            if stop > end:
                break
            self._frame(data[position + 3], data[position:stop])
            position = stop
        self._held = data[position:]

    def _take_preface(self, data: bytes) -> int:
        if not self._preface:
            return 0
        if not data.startswith(self._preface):
            if self._preface.startswith(data):
                return 0
            raise self._fault("not an HTTP/2 preface", ErrorCodes.PROTOCOL_ERROR)
        self.machine.receive_data(self._preface)
        taken, self._preface = len(self._preface), b""
        return taken

    def _frame(self, kind: int, frame: bytes) -> None:
        if kind == _GOAWAY:
            self._going_away(frame)
            return
        try:
            events = self.machine.receive_data(frame)
        except h2.exceptions.ProtocolError as error:
            self.closing = self.unread = True
            raise ProtocolFault(f"not HTTP/2 that can be read ({type(error).__name__})") from None
        for event in events:
            self._received(event)

    def _received(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.DataReceived():
                self._sink.content(event.stream_id, event.data, event.flow_controlled_length)
                if event.stream_ended:
                    self._sink.end(event.stream_id)
            case h2.events.WindowUpdated():
                self._sink.window(event.stream_id or 0)
            case h2.events.RequestReceived() | h2.events.ResponseReceived():
                self._headed(event)
            case h2.events.TrailersReceived():
                self._sink.end(event.stream_id)
            case h2.events.StreamReset():
                self._sink.reset(event.stream_id, Failure.RESET)
            case h2.events.RemoteSettingsChanged():
                self._sink.ready()
                self._sink.window(0)
            case _:
                # Settings acknowledged, PING, PRIORITY, 1xx, StreamEnded (said by the event before it).
                pass

    def _headed(self, event: h2.events.RequestReceived | h2.events.ResponseReceived) -> None:
        raise NotImplementedError  # pragma: no cover - each role has its own

    def _going_away(self, frame: bytes) -> None:
        if len(frame) < _FRAME_HEADER + 8 or frame[5:9] != b"\0\0\0\0":
            raise self._fault("a malformed GOAWAY", ErrorCodes.FRAME_SIZE_ERROR)
        last = int.from_bytes(frame[9:13], "big") & 0x7FFFFFFF
        self._sink.going_away()
        self._give_up_after(last)

    def _give_up_after(self, last: int) -> None:
        """Streams of ours above `last` were never looked at by the peer."""

    def _fault(self, message: str, code: ErrorCodes) -> ProtocolFault:
        self.closing = self.unread = True
        self._goodbye += self._goaway(code)
        return ProtocolFault(message)

    def _goaway(self, code: ErrorCodes) -> bytes:
        frame = hyperframe.frame.GoAwayFrame(0)
        frame.last_stream_id = self.machine.highest_inbound_stream_id
        frame.error_code = code
        return frame.serialize()

    def eof(self, clean: bool) -> None:
        """The peer's end of the connection: nothing on it can become whole."""
        self.closing = True

    # What goes out.

    def window(self, stream: int) -> int:
        """Bytes that the peer's windows let through now; nothing on a stream that is gone."""
        try:
            return self.machine.local_flow_control_window(stream)
        except h2.exceptions.ProtocolError:
            return 0

    def send_data(self, stream: int, data: bytes, end: bool) -> None:
        """Frames content that the window lets through."""
        machine = self.machine
        size = min(machine.max_outbound_frame_size, _MAX_FRAME)
        if len(data) <= size:
            machine.send_data(stream, data, end_stream=end)
            return
        for at in range(0, len(data), size):
            machine.send_data(stream, data[at : at + size], end_stream=end and at + size >= len(data))

    def acknowledge(self, stream: int, flow: int) -> None:
        """Opens the peer's windows by `flow` bytes, the connection's alone where the stream has gone."""
        if flow and not self.closing:
            self.machine.acknowledge_received_data(flow, stream)

    def is_open(self, stream: int) -> bool:
        """Whether anything may still be sent on the stream."""
        found = self.machine.streams.get(stream)
        return found is not None and not found.closed

    def _reset(self, stream: int, code: ErrorCodes) -> None:
        # h2's state may be ahead: END_STREAM in both directions, or a reset that crossed ours.
        if self.is_open(stream) and not self.closing:
            self.machine.reset_stream(stream, code)

    def go_away(self) -> None:
        """Takes no more streams; those open go on (RFC 9113 section 6.8)."""
        self._goodbye += self._goaway(ErrorCodes.NO_ERROR)

    def take(self) -> bytes:
        """What is to be written."""
        data = self.machine.data_to_send()
        if self._goodbye:
            data, self._goodbye = data + self._goodbye, b""
        return data


class H2Server(_H2):
    """A browser's connection."""

    __slots__ = ("_last",)

    def __init__(self, sink: Sink) -> None:
        super().__init__(
            sink,
            {
                SettingCodes.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
                SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEADER_LIST,
                SettingCodes.INITIAL_WINDOW_SIZE: BROWSER_WINDOW,
            },
            client=False,
            stream_window=BROWSER_WINDOW,
        )
        self._last = 0  # the last stream that a GOAWAY of ours promised to answer, once sent

    @property
    def begun(self) -> bool:
        """A first request has come."""
        return self.machine.highest_inbound_stream_id > 0

    @property
    def held(self) -> int:
        """Bytes of an unfinished frame."""
        return len(self._held)

    def _headed(self, event: h2.events.RequestReceived | h2.events.ResponseReceived) -> None:
        stream = event.stream_id
        if self._last and stream > self._last:
            self._reset(stream, ErrorCodes.REFUSED_STREAM)
            return
        pseudo = {b":method": b"", b":path": b"", b":authority": b"", b":protocol": b""}
        fields: Fields = []
        for name, value in event.headers:
            if name[:1] == b":":
                pseudo[name] = value
            else:
                fields.append((name, value))
        if not _METHOD.fullmatch(pseudo[b":method"]):
            # h2 takes anything; over HTTP/1.1 upstream a space in it would end the method early.
            self._reset(stream, ErrorCodes.PROTOCOL_ERROR)
            return
        head = RequestHead(
            pseudo[b":method"],
            pseudo[b":path"],
            fields,
            authority=pseudo[b":authority"],
            ended=event.stream_ended is not None,
            protocol=pseudo[b":protocol"],
        )
        self._sink.head(stream, head)

    def send_informational(self, stream: int, status: int) -> None:
        """A 1xx head."""
        self.machine.send_headers(stream, [(b":status", b"%d" % status)])

    def send_head(self, stream: int, head: ResponseHead) -> None:
        """The final head. With `ended`, the whole response."""
        fields = [(b":status", b"%d" % head.status)]
        fields += [
            NeverIndexedHeaderTuple(*field) if field[0] in _FLEETING or field[0] in _SECRET else field
            for field in head.fields
        ]
        self.machine.send_headers(stream, fields, end_stream=head.ended)

    def reset(self, stream: int, *, no_error: bool = False) -> None:
        """RST_STREAM: INTERNAL_ERROR for a response cut short, NO_ERROR after one before its upload's end."""
        self._reset(stream, ErrorCodes.NO_ERROR if no_error else ErrorCodes.INTERNAL_ERROR)

    def proceed(self) -> None:
        """HTTP/2 has nothing that waits for a response's end."""

    def refuse(self, fault: ProtocolFault) -> None:
        """The GOAWAY is queued already: h2 or the walk made it."""

    def go_away(self) -> None:
        """GOAWAY naming the last stream that came: any later one was not looked at, and may be sent again."""
        super().go_away()
        self._last = self.machine.highest_inbound_stream_id or 1


class H2Client(_H2):
    """A connection to the API server."""

    __slots__ = ("_settled",)

    def __init__(self, sink: Sink) -> None:
        super().__init__(
            sink,
            {
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.MAX_HEADER_LIST_SIZE: 2 * MAX_HEADER_LIST,
                SettingCodes.INITIAL_WINDOW_SIZE: UPSTREAM_WINDOW,
            },
            client=True,
            stream_window=UPSTREAM_WINDOW,
        )

    @property
    def capacity(self) -> int:
        """Streams that the API server takes at once on this connection, of the ids that are left."""
        if (
            self.closing
            or self.machine.highest_outbound_stream_id > self.machine.HIGHEST_ALLOWED_STREAM_ID // 2
        ):
            return 0
        return min(self.machine.remote_settings.max_concurrent_streams, MAX_STREAMS)

    def open(self) -> int:
        """The next exchange's stream."""
        return self.machine.get_next_available_stream_id()

    def _headed(self, event: h2.events.RequestReceived | h2.events.ResponseReceived) -> None:
        status = 0
        fields: Fields = []
        for name, value in event.headers:
            if name == b":status":
                status = int(value) if value.isdigit() and len(value) == 3 else 0
            else:
                fields.append((name, value))
        self._sink.head(event.stream_id, ResponseHead(status, fields, ended=event.stream_ended is not None))

    def _give_up_after(self, last: int) -> None:
        for stream in [s for s in self.machine.streams if s > last]:
            self._sink.reset(stream, Failure.GOAWAY)

    def send_head(self, stream: int, head: RequestHead) -> None:
        """The request's head. The token is never indexed: 200 people's would push each other out."""
        fields = [
            (b":method", head.method),
            (b":scheme", b"https"),
            (b":authority", head.authority),
            (b":path", head.target),
        ]
        fields += [
            NeverIndexedHeaderTuple(*field) if field[0] in _SECRET or field[0] in _FLEETING else field
            for field in head.fields
        ]
        self.machine.send_headers(stream, fields, end_stream=head.ended)

    def reset(self, stream: int, *, no_error: bool = False) -> None:
        """RST_STREAM CANCEL."""
        self._reset(stream, ErrorCodes.CANCEL)

    def settle(self) -> None:
        """Called when an exchange has left: a connection with other streams goes on."""

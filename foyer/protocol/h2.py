"""HTTP/2 in both roles: frames walked one by one, then h2 (RFC 9113).

h2 is given exactly one whole frame at a time, and what it makes of it is passed on before the
next: so its state never runs ahead of the events, a fault loses nothing that came before it,
floods are counted before h2 does any work, and the walk can stop at any frame to go on in another
turn. GOAWAY stays here in both directions, since h2 takes either for the end of the connection,
while RFC 9113 section 6.8 lets the streams below the last one finish.
"""

from collections.abc import Iterable, Iterator

import h2.events
import h2.exceptions
import hyperframe.frame
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from h2.stream import StreamState
from hpack import NeverIndexedHeaderTuple

from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead, Sink
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.fields import NO_CONTENT, are_trailers, request_head, response_head
from foyer.protocol.floods import (
    ALL,
    HEAD_WORK,
    MAX_INFORMATIONAL,
    OPENED_AFTER,
    USEFUL_PIECE,
    Flood,
    FloodFault,
    Floods,
)
from foyer.protocol.framing import MAX_FIELDS, MAX_RESPONSE_FIELDS
from foyer.protocol.machine import Machine

MAX_HEADER_LIST = 32 * 1024
"""Bytes of a request's header list (advertised, spec 03). Decoding 60 KB of legal Huffman costs 15 ms."""

MAX_REQUEST_FIELDS = 256
"""Field lines of a request's head: 100 as on HTTP/1.1 (spec 03), and each cookie that browsers send apart.
A list of 32 KiB has room for 1,000, each a byte on the wire and 4 us to read."""

MAX_STREAMS = 128
"""Streams a browser may have open: one session's 64 requests and 32 streams, and room for a second tab."""

BROWSER_WINDOW = 64 * 1024
"""A request stream's window: what an upload may have in flight while upstream is slow."""

UPSTREAM_WINDOW = 96 * 1024
"""A response stream's window. With `HIGH_WATER` queued behind it, and what a transport holds, a stalled
browser keeps under 256 KiB (spec 03)."""

AHEAD = 256
"""Frames that are looked at ahead of the work for streams that are given up again in them."""

_FIELDS_WORK = 32  # fields of a response that take as long to read as one of the cheaper frames
_FRAME_HEADER = 9
_MAX_FRAME = 16384  # what everybody takes, and nobody need take more (RFC 9113 section 4.2)
_DATA, _HEADERS, _RST_STREAM, _PUSH_PROMISE, _GOAWAY, _CONTINUATION = 0, 1, 3, 5, 7, 9
RESETS_AT_ONCE = MAX_STREAMS + int(Flood.RESETS.burst)
"""RST_STREAM frames waiting to be read, beyond which they are a rapid reset whatever else they are: of these
no more than were open can have had an answer, and the others are more than the bucket holds."""

_RESET_HEADER = b"\0\0\4\3"  # the length of a RST_STREAM and its type
_END_HEADERS = 4
_STREAM = 0x7FFFFFFF  # without the reserved bit
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Never indexed: secrets, and what differs with every message, which would only push the useful
# entries out of the table.
_UNINDEXED = frozenset((b"authorization", b"set-cookie", b"cookie", b"audit-id", b"content-length"))
_NONE: frozenset[int] = frozenset()
_SENDABLE = (StreamState.OPEN, StreamState.HALF_CLOSED_REMOTE)


def _stream(frame: bytes) -> int:
    return int.from_bytes(frame[5:9], "big") & _STREAM


def _indexed(fields: Fields) -> Iterable[tuple[bytes, bytes]]:
    return (NeverIndexedHeaderTuple(*field) if field[0] in _UNINDEXED else field for field in fields)


class _H2:
    """What both roles share: the walk over frames, windows, resets and GOAWAY."""

    multiplexed = True

    __slots__ = (
        "_block",
        "_continued",
        "_given_up",
        "_goodbye",
        "_held",
        "_now",
        "_preface",
        "_promised",
        "_sink",
        "_untold",
        "closing",
        "floods",
        "machine",
        "unfinished",
        "unread",
        "work",
    )

    def __init__(
        self,
        sink: Sink,
        settings: dict[SettingCodes, int],
        *,
        client: bool,
        stream_window: int,
        max_fields: int,
    ) -> None:
        self.machine = Machine(settings, client=client, max_fields=max_fields)
        self.machine.initiate_connection()
        # Wide enough for every stream to be paused at once: a stalled one never holds up its siblings,
        # and what is buffered is bounded by the streams' own windows.
        self.machine.increment_flow_control_window(MAX_STREAMS * stream_window)
        self._sink = sink
        self._held = b""
        self._preface = b"" if client else _PREFACE
        self.floods = Floods()
        self._now = 0.0
        self._block = 0  # bytes so far of a header block that has not ended
        self._continued = 0  # CONTINUATION frames of it
        self._given_up: frozenset[int] = _NONE  # streams whose reset has come, and waits to be read
        self._untold: frozenset[int] = _NONE  # streams that were given up before they were told
        self._goodbye = b""
        self._promised: int | None = None  # the last stream that a GOAWAY of ours named
        self.closing = False
        self.unfinished = False  # frames have come whole, and wait for `proceed`
        self.work = ALL  # how much may be done, in frames of the cheaper kinds: whoever has others sets it
        self.unread = False  # the peer may still be sending: closing at once could lose it what we said last

    # What came in.

    def receive(self, data: bytes, now: float = 0.0) -> None:
        """Takes what the peer sent, a frame at a time. Raises `ProtocolFault`, with the GOAWAY queued.

        `now` is in seconds, and the same clock's as ever. Frames beyond `work` wait for `proceed`.
        """
        if self.closing:
            return
        self._held = self._held + data if self._held else data
        if not self.unfinished:
            self.proceed(now)

    def proceed(self, now: float = 0.0) -> None:
        """Goes on with frames that wait. Raises `ProtocolFault`, with the GOAWAY queued."""
        if self.closing or not self._held:
            return
        self._now = now
        data = self._held
        position = self._take_preface(data)
        self._given_up = self._resets_ahead(data, position)
        try:
            self._held = data[self._walk(data, position) :]
        except FloodFault:
            self._leave(ErrorCodes.ENHANCE_YOUR_CALM)
            raise

    def _walk(self, data: bytes, position: int) -> int:
        """Reads frames as far as they are whole and `work` goes; where that is."""
        self.unfinished = False
        end = len(data)
        while end - position >= _FRAME_HEADER and not self._preface and not self.closing:
            length = int.from_bytes(data[position : position + 3], "big")
            if length > _MAX_FRAME:
                # Before its payload is read: h2 would buffer it first.
                raise self._fault("a frame larger than 16 KiB", ErrorCodes.FRAME_SIZE_ERROR)
            stop = position + _FRAME_HEADER + length
            if stop > end:
                break
            if self.work <= 0:
                self.unfinished = True
                break
            kind = data[position + 3]
            self.work -= 1 if kind != _HEADERS else HEAD_WORK + length // 1024
            frame = data[position:stop]
            self._count(kind, frame)
            if kind or frame[4] or not self._plain_data(frame):
                self._frame(kind, frame)
            position = stop
        return position

    def _resets_ahead(self, data: bytes, position: int) -> frozenset[int]:
        """Streams that are given up further on in what has come. Their requests need not even begin."""
        if data.find(_RESET_HEADER, position, position + _MAX_FRAME) < 0:
            return _NONE
        found: list[int] = []
        for _ in range(AHEAD):
            if len(data) - position < _FRAME_HEADER + 4:
                break
            if data.startswith(_RESET_HEADER, position):
                found.append(int.from_bytes(data[position + 5 : position + 9], "big") & _STREAM)
            position += _FRAME_HEADER + int.from_bytes(data[position : position + 3], "big")
        return frozenset(found)

    def _take_preface(self, data: bytes) -> int:
        if not self._preface or (len(data) < len(self._preface) and self._preface.startswith(data)):
            return 0
        if not data.startswith(self._preface):
            raise self._fault("not an HTTP/2 preface", ErrorCodes.PROTOCOL_ERROR)
        self.machine.receive_data(self._preface)
        taken, self._preface = len(self._preface), b""
        return taken

    def _plain_data(self, frame: bytes) -> bool:
        """Passes on a DATA frame without flags, if there is nothing about it for h2 to judge."""
        stream = int.from_bytes(frame[5:9], "big") & _STREAM
        size = len(frame) - _FRAME_HEADER
        if self._block or stream in self._untold or not self.machine.take_plain_data(stream, size):
            return False
        self._sink.content(stream, frame[_FRAME_HEADER:], size)
        return True

    def _frame(self, kind: int, frame: bytes) -> None:
        if kind == _CONTINUATION and not self._block:
            # RFC 9113 section 6.10. h2 passes over one on a stream that is over, and we would think ourselves
            # within a block that never ends.
            raise self._fault("a CONTINUATION of no header block", ErrorCodes.PROTOCOL_ERROR)
        if kind in (_HEADERS, _PUSH_PROMISE, _CONTINUATION):
            self._count_block(kind, frame)
        elif kind == _GOAWAY and not self._block:
            self._going_away(frame)
            return
        try:
            events = self.machine.receive_data(frame)
        except h2.exceptions.ProtocolError as error:
            if error.error_code is ErrorCodes.ENHANCE_YOUR_CALM:
                raise FloodFault(Flood.HEADERS) from None  # a list or a block beyond what the machine takes
            message = f"not HTTP/2 that can be read ({type(error).__name__})"
            raise self._fault(message, error.error_code) from None
        for event in events:
            if self._untold and getattr(event, "stream_id", None) in self._untold:
                self._pass_over(event)
            else:
                self._received(event)

    def _count(self, kind: int, frame: bytes) -> None:
        """Counts a frame before any work is done for it. Raises `FloodFault`."""
        if kind not in (_DATA, _HEADERS):
            self.floods.frame(kind, frame, self._now)

    def _count_block(self, kind: int, frame: bytes) -> None:
        """A header block is no longer than the header list may be: h2 would gather 64 frames of it first."""
        if kind == _CONTINUATION:
            self._block += len(frame)
            self._continued += 1
        else:
            self._block, self._continued = len(frame), 0
        if self._block > self.machine.decoder.max_header_list_size:
            raise FloodFault(Flood.HEADERS)
        if self._continued > Flood.CONTINUATION.burst:
            raise FloodFault(Flood.CONTINUATION)
        if frame[4] & _END_HEADERS:
            self.floods.block(self._block, self._now)
            self._block = 0

    def _pass_over(self, event: h2.events.Event) -> None:
        """What comes on a stream whose request nobody was told of."""
        if isinstance(event, h2.events.DataReceived):
            self.acknowledge(event.stream_id, event.flow_controlled_length)
        elif isinstance(event, h2.events.StreamReset):
            self._untold -= {event.stream_id}

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
                if are_trailers(event.headers):
                    self._sink.end(event.stream_id)
                else:
                    self._malformed(event.stream_id)
            case h2.events.StreamReset():
                if event.remote_reset:
                    self._sink.reset(event.stream_id, Failure.RESET)
                else:
                    self._malformed(event.stream_id)
            case h2.events.RemoteSettingsChanged():
                self._sink.ready()
                self._sink.window(0)
            case _:
                # Settings acknowledged, PING, PRIORITY, 1xx, StreamEnded (said by the event before it).
                pass

    def _headed(self, event: h2.events.RequestReceived | h2.events.ResponseReceived) -> None:
        raise NotImplementedError  # pragma: no cover - each role has its own

    def _malformed(self, stream: int) -> None:
        """The peer's message on `stream` is malformed: the end of the stream (RFC 9113 section 8.1.1)."""
        self._reset(stream, ErrorCodes.PROTOCOL_ERROR)
        self._sink.reset(stream, Failure.PROTOCOL)

    def _going_away(self, frame: bytes) -> None:
        if len(frame) < _FRAME_HEADER + 8:
            raise self._fault("a malformed GOAWAY", ErrorCodes.FRAME_SIZE_ERROR)
        if int.from_bytes(frame[5:9], "big") & _STREAM:
            raise self._fault("a GOAWAY on a stream", ErrorCodes.PROTOCOL_ERROR)
        last = int.from_bytes(frame[9:13], "big") & _STREAM
        self._sink.going_away()
        self._give_up_after(last)

    def _give_up_after(self, last: int) -> None:
        """Streams of ours above `last` were never looked at by the peer."""

    def _fault(self, message: str, code: ErrorCodes) -> ProtocolFault:
        self._leave(code)
        return ProtocolFault(message)

    def _leave(self, code: ErrorCodes) -> None:
        """The peer's fault: the connection is over, and what else it has sent is not looked at."""
        if not self.closing:
            self.closing = self.unread = True
            self.unfinished = False
            self._held, self._block = b"", 0
            self._goodbye += self._goaway(code)

    def _goaway(self, code: ErrorCodes) -> bytes:
        if self._promised is None:
            # Never raised afterwards: the peer has sent the streams above it elsewhere (section 6.8).
            self._promised = self.machine.highest_inbound_stream_id
        frame = hyperframe.frame.GoAwayFrame(0)
        frame.last_stream_id = self._promised
        frame.error_code = code
        return frame.serialize()

    def eof(self, clean: bool) -> None:
        """The peer's end of the connection: nothing on it can become whole."""
        self.closing = True

    # What goes out. An exchange may speak after its stream, or the whole connection, has ended: that
    # is lost, as it would be on its way.

    def window(self, stream: int) -> int:
        """Bytes that the peer's windows let through now; nothing on a stream that is gone."""
        found = self.machine.streams.get(stream)
        if found is None:
            return 0
        own, all_of_them = found.outbound_flow_control_window, self.machine.outbound_flow_control_window
        window = own if own < all_of_them else all_of_them
        # Below zero when the peer has shrunk what it had granted (RFC 9113 section 6.9.2).
        return window if window > 0 else 0

    def send_data(self, stream: int, data: bytes, end: bool) -> None:
        """Frames content that the window lets through."""
        if not self._sendable(stream):
            return
        self.floods.pieces += (len(data) >= USEFUL_PIECE) + len(data) // OPENED_AFTER
        last = max(0, len(data) - 1) // _MAX_FRAME * _MAX_FRAME if end else len(data)
        for at in range(0, last, _MAX_FRAME):
            self.machine.send_plain_data(stream, data[at : at + _MAX_FRAME])
        if end:
            self.machine.send_data(stream, data[last:], end_stream=True)

    def acknowledge(self, stream: int, flow: int) -> None:
        """Opens the peer's windows by `flow` bytes, the connection's alone where the stream has gone."""
        if flow and not self.closing:
            self.machine.acknowledge_received_data(flow, stream)

    def is_open(self, stream: int) -> bool:
        """Whether the stream is open, in either direction."""
        found = self.machine.streams.get(stream)
        return found is not None and not found.closed

    def _sendable(self, stream: int) -> bool:
        found = self.machine.streams.get(stream)
        return found is not None and not self.closing and found.state_machine.state in _SENDABLE

    def _reset(self, stream: int, code: ErrorCodes) -> None:
        # h2's state may be ahead: END_STREAM in both directions, or a reset that crossed ours.
        if self.is_open(stream) and not self.closing:
            self.machine.reset_stream(stream, code)

    def go_away(self) -> None:
        """Takes no more streams; those open go on (RFC 9113 section 6.8)."""
        if self._promised is None:
            self._goodbye += self._goaway(ErrorCodes.NO_ERROR)

    def take(self) -> bytes:
        """What is to be written."""
        data = self.machine.data_to_send()
        if self._goodbye:
            data, self._goodbye = data + self._goodbye, b""
        return data


class H2Server(_H2):
    """A browser's connection."""

    __slots__ = ()

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
            max_fields=MAX_REQUEST_FIELDS,
        )

    def receive(self, data: bytes, now: float = 0.0) -> None:
        """As any peer's; but a rapid reset that has come whole is ended before its first head is read."""
        waiting = self._held + data
        if waiting.count(_RESET_HEADER) > RESETS_AT_ONCE and not self.closing:
            resets = sum(kind == _RST_STREAM for kind in self._kinds(waiting))
            if resets > RESETS_AT_ONCE:
                self._leave(ErrorCodes.ENHANCE_YOUR_CALM)
                raise FloodFault(Flood.RESETS)
        super().receive(data, now)

    def _kinds(self, data: bytes) -> Iterator[int]:
        """The kind of each frame that has come, whole or not."""
        position = len(self._preface)
        while len(data) - position >= _FRAME_HEADER:
            yield data[position + 3]
            position += _FRAME_HEADER + int.from_bytes(data[position : position + 3], "big")

    @property
    def held(self) -> int:
        """Bytes of an unfinished frame or header block, and of frames that wait."""
        return len(self._held) + self._block

    def _count(self, kind: int, frame: bytes) -> None:
        if kind == _DATA:
            self.floods.data(frame, self._now)
            self._count_late(frame)
        elif kind == _HEADERS:
            if _stream(frame) <= self.machine.highest_inbound_stream_id:
                self._count_late(frame)
        elif kind == _RST_STREAM:
            self._count_reset(_stream(frame))
        else:
            super()._count(kind, frame)

    def _count_late(self, frame: bytes) -> None:
        if not self.is_open(_stream(frame)):
            self.floods.count(Flood.LATE, self._now)

    def _count_reset(self, stream: int) -> None:
        """Whoever has had a head gave it the time that it took: with that in hand nobody resets rapidly."""
        found = self.machine.streams.get(stream)
        if found is None or found.closed or not found.state_machine.headers_sent:
            self.floods.count(Flood.RESETS, self._now)

    def _malformed(self, stream: int) -> None:
        super()._malformed(stream)
        self.floods.count(Flood.BREACHES, self._now)

    def _headed(self, event: h2.events.RequestReceived | h2.events.ResponseReceived) -> None:
        stream = event.stream_id
        if self._promised is not None and stream > self._promised:
            # Our GOAWAY crossed it: not looked at, so that the browser may send it again.
            self._reset(stream, ErrorCodes.REFUSED_STREAM)
            return
        if len(self.machine.streams) > MAX_STREAMS:  # h2 has just dropped the closed ones
            self._reset(stream, ErrorCodes.REFUSED_STREAM)
            self.floods.count(Flood.BREACHES, self._now)
            return
        head = request_head(event.headers, event.stream_ended is not None)
        if head is None:
            self._reset(stream, ErrorCodes.PROTOCOL_ERROR)
            self.floods.count(Flood.BREACHES, self._now)
            return
        if stream in self._given_up:
            self._untold |= {stream}
            return
        self._sink.head(stream, head)

    def send_informational(self, stream: int, status: int) -> None:
        """A 1xx head; nothing once the final one was sent."""
        if self._sendable(stream) and not self.machine.streams[stream].state_machine.headers_sent:
            self.machine.send_headers(stream, [(b":status", b"%d" % status)])

    def send_head(self, stream: int, head: ResponseHead) -> None:
        """The final head. With `ended`, the whole response."""
        if self._sendable(stream):
            self.floods.heads += 1
            self.unread = self._promised is not None  # the next request can have been on its way
            fields = [(b":status", b"%d" % head.status), *_indexed(head.fields)]
            self.machine.send_headers(stream, fields, end_stream=head.ended)

    def reset(self, stream: int, *, no_error: bool = False) -> None:
        """RST_STREAM: INTERNAL_ERROR for a response cut short, NO_ERROR after one before its upload's end."""
        self._reset(stream, ErrorCodes.NO_ERROR if no_error else ErrorCodes.INTERNAL_ERROR)

    def refuse(self, fault: ProtocolFault) -> None:
        """The GOAWAY is queued already."""


class H2Client(_H2):
    """A connection to the API server."""

    __slots__ = ("_informed", "_refusing")

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
            max_fields=MAX_RESPONSE_FIELDS,
        )
        self._refusing = False  # a GOAWAY came: the API server takes no more streams
        self._informed: dict[int, int] = {}  # 1xx heads, of streams whose final one has not come

    @property
    def capacity(self) -> int:
        """Streams that the API server takes at once on this connection, of the ids that are left."""
        if (
            self.closing
            or self._refusing
            or self.machine.highest_outbound_stream_id > self.machine.HIGHEST_ALLOWED_STREAM_ID // 2
        ):
            return 0
        return min(self.machine.remote_settings.max_concurrent_streams, MAX_STREAMS)

    def open(self) -> int:
        """The next exchange's stream."""
        return self.machine.get_next_available_stream_id()

    def _count(self, kind: int, frame: bytes) -> None:
        if kind == _DATA:
            self.floods.empty(frame, self._now)
        else:
            super()._count(kind, frame)

    def _frame(self, kind: int, frame: bytes) -> None:
        if kind in (_DATA, _HEADERS, _RST_STREAM) and not self._block and not self.is_open(_stream(frame)):
            if kind == _DATA and self.machine.take_late_data(_stream(frame), len(frame) - _FRAME_HEADER):
                return
            self.floods.count(Flood.LATE, self._now)
        super()._frame(kind, frame)

    def _received(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.InformationalResponseReceived):
            self._inform(event.stream_id, len(event.headers))
        else:
            super()._received(event)

    def _inform(self, stream: int, fields: int) -> None:
        """A 1xx head. None passes, and there is an end to them."""
        told = self._informed.get(stream, 0) + 1
        if told > MAX_INFORMATIONAL or fields > MAX_FIELDS:
            self._malformed(stream)
            return
        if len(self._informed) > MAX_STREAMS:  # some were given up
            self._informed = {s: number for s, number in self._informed.items() if self.is_open(s)}
        self._informed[stream] = told

    def _headed(self, event: h2.events.RequestReceived | h2.events.ResponseReceived) -> None:
        if isinstance(event, h2.events.RequestReceived):
            # On an even stream, without a promise; h2 takes it for a server's.
            raise self._fault("a request from a server", ErrorCodes.PROTOCOL_ERROR)
        stream = event.stream_id
        self.work -= len(event.headers) // _FIELDS_WORK
        self._informed.pop(stream, None)
        method = self.machine.streams[stream].request_method or b""
        head = response_head(event.headers, event.stream_ended is not None, method)
        if head is None:
            self._malformed(stream)
            return
        if head.status in NO_CONTENT and not head.ended:
            self.machine.expect_no_content(stream)
        self._sink.head(stream, head)

    def _give_up_after(self, last: int) -> None:
        self._refusing = True
        for stream in [s for s in self.machine.streams if s > last and self.is_open(s)]:
            self._reset(stream, ErrorCodes.CANCEL)  # whatever it says on them now, they are over
            self._sink.reset(stream, Failure.GOAWAY)

    def send_head(self, stream: int, head: RequestHead) -> None:
        """The request's head. The token is never indexed: 200 people's would push each other out."""
        if self.closing:
            return
        self.floods.heads += 1
        fields = [
            (b":method", head.method),
            (b":scheme", b"https"),
            (b":authority", head.authority),
            (b":path", head.target),
            *_indexed(head.fields),
        ]
        self.machine.send_headers(stream, fields, end_stream=head.ended)

    def reset(self, stream: int, *, no_error: bool = False) -> None:
        """RST_STREAM CANCEL. What was in flight then is passed over, as far as the stream's window went."""
        self._reset(stream, ErrorCodes.CANCEL)

    def ping(self) -> None:
        """Asks whether the API server is there: whatever it says next will do (RFC 9113 section 6.7)."""
        if not self.closing:
            self.machine.ping(bytes(8))

    def settle(self) -> None:
        """Called when an exchange has left: a connection with other streams goes on."""

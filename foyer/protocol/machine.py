"""h2's connection, with what foyer needs of it to be otherwise.

h2 keeps the state of streams, windows, settings and HPACK. What is changed here: what it costs
(`repr`, Huffman both ways, what one header block can ask for, remembered streams, the encoder's
table), who says GOAWAY (the codec alone), and
that a message whose content does not fit its Content-Length, or a stream too many, is the end of
that stream and not of the connection (RFC 9113 sections 8.1.1 and 5.1.2). These are overrides of a
library's inner methods: `pyproject.toml` bounds its version, and each has a test that fails when h2
goes another way.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from struct import Struct

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.stream
import hpack
import hpack.hpack
import hyperframe.frame
from h2.connection import ConnectionInputs
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from h2.stream import StreamState
from hpack import NeverIndexedHeaderTuple
from hpack.hpack import encode_integer
from hpack.table import HeaderTable

from foyer_native import huffman

_LENGTH = re.compile(rb"[0-9]{1,15}")

_ENTRY = 32  # what a field counts for besides its octets (RFC 7541 section 4.1)

MAX_ENCODER_TABLE = 4096
"""Bytes of HPACK's table for what we send (RFC 7541 section 4.2 lets us take less than the peer offers,
which may be 4 GiB): h2 searches it from end to end for each field."""

# h2 builds repr(frame), a hex dump of the whole payload, for each frame it receives even with its
# log off: 18 of the 29 us that 16 KiB of DATA cost. A patch of a library class; a test fails when
# h2 stops doing it.
hyperframe.frame.Frame.__repr__ = lambda self: type(self).__name__  # type: ignore[method-assign]

# All that is sent is octets already; h2 would make every field anew to be sure: 3 % of a small request.
h2.stream.utf8_encode_headers = lambda headers: headers  # type: ignore[attr-defined,assignment,return-value]


def _decode_huffman(coded: bytes) -> bytes:
    text = huffman.decode(coded)
    if text is None:
        raise hpack.HPACKDecodingError("not a Huffman coding")
    return text


# The other patch: in Python it is 170 ns an octet, and 4 ms for the longest list a browser may send.
hpack.hpack.decode_huffman = _decode_huffman  # type: ignore[assignment,attr-defined]


def _expected_length(stream: h2.stream.H2Stream, fields: Iterable[tuple[bytes, bytes]]) -> None:
    stream._expected_content_length = 0 if stream.request_method == b"HEAD" else None
    if stream._expected_content_length is None:
        lengths = [value for name, value in fields if name == b"content-length"]
        if len(lengths) == 1 and _LENGTH.fullmatch(lengths[0]):
            stream._expected_content_length = int(lengths[0])


# A table's row that h2 lacks: for it a 1xx head that was in flight as we reset its stream is the connection's
# end, and everybody's responses on it. As a final head that comes so late, it is answered by another reset.
h2.stream._transitions[StreamState.CLOSED, h2.stream.StreamInputs.RECV_INFORMATIONAL_HEADERS] = (
    h2.stream.H2StreamStateMachine.recv_on_closed_stream,
    StreamState.CLOSED,
)

# And the last: h2 ends the whole connection for a Content-Length that is no number or stands twice. Behind
# an ingress one client would end everybody's responses: `foyer.protocol.fields` refuses that head alone.
h2.stream.H2Stream._initialize_content_length = _expected_length  # type: ignore[method-assign,assignment]

MAX_SIZE_UPDATES = 2
"""Changes of the table's size that a header block may begin with: the smallest since the last block, and the
present one (RFC 7541 section 4.2). A block of nothing else would hold the loop for 24 ms."""

# RFC 7541 section 6: the first octet's bits of each representation, and how many are left for a number.
_INDEXED = (0x80, 7)
_LITERAL_INDEXED = (0x40, 6)
_LITERAL_NEVER_INDEXED = (0x10, 4)


@lru_cache(1024)
def _number(value: int, form: tuple[int, int]) -> bytes:
    """A number behind the first octet's bits (RFC 7541 section 5.1): indices and lengths, few of them."""
    bits, left = form
    encoded = encode_integer(value, left)
    encoded[0] |= bits
    return bytes(encoded)


@lru_cache(1024)
def _name(name: bytes, form: tuple[int, int]) -> bytes:
    """The beginning of a literal field. Names are foyer's own, and few."""
    known = HeaderTable.STATIC_TABLE_MAPPING.get(name)
    return _number(known[0], form) if known else _number(0, form) + _number(len(name), (0, 7)) + name


class _Encoder(hpack.Encoder):
    """HPACK as hpack has it, with its table, but a dict's look-up for each field and no Huffman coding.

    hpack looks through its table for each field, and logs it: 16 µs for the head of an answer,
    against 4. Huffman coding a bearer token costs 630; sending it plain a few octets more.
    """

    def __init__(self) -> None:
        super().__init__()
        self._order: dict[tuple[bytes, bytes], int] = {}  # of every field that was put into the table
        self._put = 0  # fields so far

    def encode(self, headers: Iterable[tuple[bytes, bytes]], huffman: bool = False) -> bytes:  # type: ignore[override]
        """The header block of `headers` (RFC 7541): known fields by their index, others as they are."""
        table = self.header_table
        block: list[bytes] = []
        if table.resized:
            block.append(self._encode_table_size_change())
            table.resized = False
        for field in headers:
            name, value = field
            if type(field) is NeverIndexedHeaderTuple:
                block += (_name(name, _LITERAL_NEVER_INDEXED), _number(len(value), (0, 7)), value)
                continue
            index = self._index(name, value)
            if index:
                block.append(_number(index, _INDEXED))
                continue
            block += (_name(name, _LITERAL_INDEXED), _number(len(value), (0, 7)), value)
            self._add(name, value)
        return b"".join(block)

    def _index(self, name: bytes, value: bytes) -> int:
        """Where a field is in the tables (RFC 7541 section 2.3.3), or 0."""
        known = HeaderTable.STATIC_TABLE_MAPPING.get(name)
        if known and (index := known[1].get(value)):
            return index
        order = self._order.get((name, value))
        if order is None:
            return 0
        later = self._put - 1 - order
        return (
            HeaderTable.STATIC_TABLE_LENGTH + 1 + later
            if later < len(self.header_table.dynamic_entries)
            else 0
        )

    def _add(self, name: bytes, value: bytes) -> None:
        self.header_table.add(name, value)
        self._order[name, value] = self._put
        self._put += 1
        if len(self._order) > 2 * len(self.header_table.dynamic_entries) + 64:
            # Those that were pushed out: without this a field that changes makes it grow for ever.
            oldest = self._put - len(self.header_table.dynamic_entries)
            self._order = {field: order for field, order in self._order.items() if order >= oldest}

    @property
    def header_table_size(self) -> int:
        """Bytes of the table."""
        return self.header_table.maxsize

    @header_table_size.setter
    def header_table_size(self, value: int) -> None:
        self.header_table.maxsize = min(value, MAX_ENCODER_TABLE)
        if self.header_table.resized:
            # The smallest since the last block, then the present one (RFC 7541 section 4.2). All of
            # them, as hpack keeps them, is a list that a flood of SETTINGS makes as long as it likes.
            changes = [*self.table_size_changes, self.header_table.maxsize]
            self.table_size_changes = [min(changes), changes[-1]]


class _Decoder(hpack.Decoder):
    """HPACK with a bound on what one block can ask for, where hpack bounds how large its list is and no more.

    And without a call for each field that is one octet: nearly all are.
    """

    def __init__(self, *, max_list: int, max_fields: int) -> None:
        super().__init__(max_list)
        self._max_fields = max_fields

    def decode(self, data: bytes, raw: bool = False) -> list[tuple[bytes, bytes]]:  # type: ignore[override]
        """The fields of a whole block, as octets whatever `raw` says. Raises `hpack.HPACKError`."""
        fields: list[tuple[bytes, bytes]] = []
        table, block = self.header_table, memoryview(data)
        updates = size = at = 0
        while at < len(data):
            first = data[at]
            if 0x80 < first < 0xFF:
                field, taken = table.get_by_index(first & 0x7F), 1
            elif first & 0xE0 == 0x20:
                updates += 1
                if fields or updates > MAX_SIZE_UPDATES:
                    raise hpack.HPACKDecodingError("a change of the table's size out of place")
                at += self._update_encoding_context(block[at:])
                continue
            elif first & 0x80:
                field, taken = self._decode_indexed(block[at:])
            else:
                field, taken = self._decode_literal(block[at:], bool(first & 0x40))
            at += taken
            fields.append(field)
            size += len(field[0]) + len(field[1]) + _ENTRY
            if size > self.max_header_list_size or len(fields) > self._max_fields:
                raise hpack.OversizedHeaderListError("a header list larger than it may be")
        self._assert_valid_table_size()
        return fields


_DATA_HEADER = Struct(">LBL")
"""A frame's length and its type, which is 0 for DATA, then flags and the stream (RFC 9113 section 4.1)."""

MAX_RESET_STREAMS = 256
"""Streams of a client's for which what their windows let through is remembered when it resets them: all that
may be open, and as many again. It is in flight for a moment."""

_RECEIVING = (StreamState.OPEN, StreamState.HALF_CLOSED_LOCAL)


class Machine(h2.connection.H2Connection):
    """The state of one HTTP/2 connection."""

    # h2's own 65,536 remembered streams are 7 MiB a connection. Too few and late frames of a
    # stream that we reset become a connection error (seen with 4).
    MAX_CLOSED_STREAMS = 1024

    def __init__(self, settings: dict[SettingCodes, int], *, client: bool, max_fields: int) -> None:
        super().__init__(
            h2.config.H2Configuration(
                client_side=client,
                header_encoding=None,
                validate_inbound_headers=False,  # `fields` does, and joins the cookies
                normalize_inbound_headers=False,
                validate_outbound_headers=False,  # made by us, from names and values that were checked
                normalize_outbound_headers=False,
            )
        )
        self.encoder = _Encoder()
        self.local_settings = Settings(client=client, initial_values=settings)
        self.decoder = _Decoder(max_list=settings[SettingCodes.MAX_HEADER_LIST_SIZE], max_fields=max_fields)
        self._late: dict[int, int] = {}  # of streams that we reset: octets that may be in flight

    @property
    def open_inbound_streams(self) -> int:
        """Streams that the peer has open, as far as h2's own limit is concerned."""
        # A stream too many is refused by the codec (RFC 9113 section 5.1.2); h2 would end the connection.
        return min(super().open_inbound_streams, self.local_settings.max_concurrent_streams - 1)

    def release(self) -> None:
        """The connection is gone. h2 keeps a table of its own methods: a cycle, with HPACK's tables in it."""
        self._frame_dispatch_table.clear()

    def expect_no_content(self, stream: int) -> None:
        """A final response head came that has no content after it: any would be malformed."""
        self.streams[stream]._expected_content_length = 0

    # Content is most of what there is to do, and h2 makes a frame, four events and eleven calls of each.
    # Where h2's answer to a DATA frame could only be yes, its counters are charged directly; the tests
    # hold both ways to the same state.

    def take_plain_data(self, stream: int, size: int) -> bool:
        """Charges a received DATA frame without padding or END_STREAM; False: it is for h2 to judge."""
        found = self.streams.get(stream)
        if found is None or found.state_machine.state not in _RECEIVING:
            return False
        expected, actual = found._expected_content_length, found._actual_content_length + size
        window, own = self._inbound_flow_control_window_manager, found._inbound_window_manager
        if (
            not found.state_machine.headers_received
            or size > min(window.current_window_size, own.current_window_size)
            or (expected is not None and expected < actual)
        ):
            return False
        window.current_window_size -= size
        own.current_window_size -= size
        found._actual_content_length = actual
        return True

    def reset_stream(self, stream_id: int, error_code: ErrorCodes | int = 0) -> None:
        """As h2's. A client remembers what of the stream's window the server has not used."""
        found = self.streams.get(stream_id)
        if self.config.client_side and found is not None and found.state_machine.state in _RECEIVING:
            self._late[stream_id] = found._inbound_window_manager.current_window_size
            if len(self._late) > MAX_RESET_STREAMS:
                del self._late[next(iter(self._late))]
        super().reset_stream(stream_id, error_code)

    def take_late_data(self, stream: int, size: int) -> bool:
        """Passes over a DATA frame that was in flight as we reset its stream; False: it was not.

        h2 answers each with another RST_STREAM, and for those there are limits in servers: the small events
        of a hundred watches that were given up at once are thousands.
        """
        left = self._late.get(stream, 0) - size
        window = self._inbound_flow_control_window_manager
        if not size or left < 0 or size > window.current_window_size:
            return False
        self._late[stream] = left
        window.current_window_size -= size
        self.acknowledge_received_data(size, stream)
        return True

    def send_plain_data(self, stream: int, data: bytes) -> None:
        """Frames content that the windows let through, on a stream that may send, without its end."""
        found, size = self.streams[stream], len(data)
        assert size <= found.outbound_flow_control_window and size <= self.outbound_flow_control_window
        found.outbound_flow_control_window -= size
        self.outbound_flow_control_window -= size
        self._data_to_send += _DATA_HEADER.pack(size << 8, 0, stream) + data

    def acknowledge_received_data(self, acknowledged_size: int, stream_id: int) -> None:
        """As h2's; at once where neither window is due to be opened by it."""
        found = self.streams.get(stream_id)
        if found is not None:
            managers = self._inbound_flow_control_window_manager, found._inbound_window_manager
            for manager in managers:
                processed = manager._bytes_processed + acknowledged_size
                if processed >= manager.max_window_size // 2 or not manager.current_window_size:
                    break
            else:
                for manager in managers:
                    manager._bytes_processed += acknowledged_size
                return
        super().acknowledge_received_data(acknowledged_size, stream_id)

    def _terminate_connection(self, error_code: ErrorCodes) -> None:
        # The GOAWAY is the codec's to write: h2's would take back what an earlier one promised.
        self.state_machine.process_input(ConnectionInputs.SEND_GOAWAY)

    def _receive_headers_frame(
        self, frame: hyperframe.frame.HeadersFrame
    ) -> tuple[list[hyperframe.frame.Frame], list[h2.events.Event]]:
        stream = self.streams.get(frame.stream_id)
        expected = None if stream is None else stream._expected_content_length
        frames, events = super()._receive_headers_frame(frame)
        # h2 forgets the length that was declared when trailers come.
        if (
            stream is not None
            and expected is not None
            and isinstance(events[0], h2.events.TrailersReceived)
            and expected != stream._actual_content_length
        ):
            return frames, self._malformed(frame.stream_id)
        return frames, events

    def _receive_data_frame(
        self, frame: hyperframe.frame.DataFrame
    ) -> tuple[list[hyperframe.frame.Frame], list[h2.events.Event]]:
        try:
            return super()._receive_data_frame(frame)
        except h2.exceptions.InvalidBodyLengthError:
            events = self._malformed(frame.stream_id)
            self.acknowledge_received_data(frame.flow_controlled_length, frame.stream_id)
            return [], events

    def _malformed(self, stream: int) -> list[h2.events.Event]:
        if not self.streams[stream].closed:
            self.reset_stream(stream, ErrorCodes.PROTOCOL_ERROR)
        return [
            h2.events.StreamReset(stream_id=stream, error_code=ErrorCodes.PROTOCOL_ERROR, remote_reset=False)
        ]

"""The short ways past h2 and hpack, against the libraries' own."""

import hpack
import pytest
from h2.connection import H2Connection
from h2.events import DataReceived
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from hpack import NeverIndexedHeaderTuple
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.protocol.machine import MAX_SIZE_UPDATES, Machine

SETTINGS = {SettingCodes.MAX_HEADER_LIST_SIZE: 4096, SettingCodes.INITIAL_WINDOW_SIZE: 65536}

names = st.sampled_from([b":status", b"content-type", b"audit-id", b"cache-control", b"x"])
values = st.one_of(
    st.sampled_from([b"", b"200", b"application/json"]),
    st.binary(max_size=200),
    st.integers(0, 60).map(b"%d".__mod__),
)
fields = st.tuples(names, values).flatmap(
    lambda field: st.sampled_from([field, NeverIndexedHeaderTuple(*field)])
)
blocks = st.lists(
    st.tuples(st.lists(fields, max_size=6), st.none() | st.sampled_from([0, 40, 300, 4096, 65536]))
)


def machine(*, client: bool = True) -> Machine:
    made = Machine(dict(SETTINGS), client=client, max_fields=1000)
    made.initiate_connection()
    return made


@given(blocks)
def test_what_is_encoded_hpack_decodes(blocks: list[tuple[list[tuple[bytes, bytes]], int | None]]) -> None:
    encoder, decoder = machine().encoder, hpack.Decoder()
    for block, table_size in blocks:
        if table_size is not None:
            encoder.header_table_size = table_size
        decoded = decoder.decode(encoder.encode(block), raw=True)
        assert [tuple(field) for field in decoded] == [tuple(field) for field in block]
        assert decoder.header_table.dynamic_entries == encoder.header_table.dynamic_entries


def size_updates(block: bytes) -> int:
    """How many changes of the table's size a block begins with (RFC 7541 section 6.3), read by hand."""
    count = at = 0
    while at < len(block) and block[at] & 0xE0 == 0x20:
        count += 1
        more = block[at] & 0x1F == 0x1F  # the size goes on in octets of seven bits, while the eighth is set
        at += 1
        while more and at < len(block):
            more = bool(block[at] & 0x80)
            at += 1
    return count


@example([b"\x20\x20\x20"])
@example([b"\x20\x3f\x61\x88"])
@given(st.lists(st.one_of(st.binary(max_size=60), st.lists(st.tuples(names, values), max_size=6))))
def test_a_block_is_decoded_as_hpack_decodes_it(sent: list[bytes | list[tuple[bytes, bytes]]]) -> None:
    ours, theirs, encoder = machine().decoder, hpack.Decoder(max_header_list_size=4096), hpack.Encoder()
    for block in sent:
        data = block if isinstance(block, bytes) else encoder.encode(block)
        outcomes: list[object] = []
        for decoder in (ours, theirs):
            try:
                outcomes.append([tuple(field) for field in decoder.decode(data, raw=True)])
            except (hpack.HPACKError, IndexError, UnicodeDecodeError) as error:
                outcomes.append(isinstance(error, hpack.OversizedHeaderListError))
        if size_updates(data) > MAX_SIZE_UPDATES:
            assert outcomes[0] is False  # RFC 7541 section 4.2: hpack takes any number, and their time
        else:
            assert outcomes[0] == outcomes[1]
        if isinstance(outcomes[0], bool):
            return  # the connection ends
        assert ours.header_table.dynamic_entries == theirs.header_table.dynamic_entries


def opened(length: int | None) -> tuple[Machine, Machine]:
    """A client with a response begun on stream 1, and its server."""
    client, server = machine(), machine(client=False)
    client.send_headers(1, [(b":method", b"GET"), (b":path", b"/")], end_stream=True)
    server.receive_data(client.data_to_send())
    declared = [] if length is None else [(b"content-length", b"%d" % length)]
    server.send_headers(1, [(b":status", b"200"), *declared])
    client.receive_data(server.data_to_send())
    client.data_to_send()
    return client, server


def counters(machine: Machine) -> tuple[object, ...]:
    stream = machine.streams[1]
    return (
        machine._inbound_flow_control_window_manager.current_window_size,
        stream._inbound_window_manager.current_window_size,
        stream._actual_content_length,
        stream.state_machine.state,
        machine.state_machine.state,
        machine.outbound_flow_control_window,
        stream.outbound_flow_control_window,
        bytes(machine._data_to_send),
    )


@given(st.lists(st.integers(0, 16384), max_size=8), st.none() | st.integers(0, 70_000))
def test_plain_data_is_taken_as_h2_takes_it_or_left_to_h2(sizes: list[int], length: int | None) -> None:
    short, whole = opened(length)[0], opened(length)[0]
    for size in sizes:
        frame = size.to_bytes(3, "big") + b"\0\0" + b"\0\0\0\1" + bytes(size)
        taken = short.take_plain_data(1, size)
        try:
            events = whole.receive_data(frame)
        except ProtocolError:
            assert not taken
            return
        assert taken == isinstance(events[0], DataReceived)
        if not taken:
            return
        assert counters(short) == counters(whole)


@given(st.lists(st.integers(1, 16384), max_size=12))
def test_what_is_acknowledged_opens_the_windows_as_h2_would(sizes: list[int]) -> None:
    short, whole = opened(None)[0], opened(None)[0]
    for size in sizes:
        frame = size.to_bytes(3, "big") + b"\0\0" + b"\0\0\0\1" + bytes(size)
        short.receive_data(frame)
        whole.receive_data(frame)
        short.acknowledge_received_data(size, 1)
        H2Connection.acknowledge_received_data(whole, size, 1)
        assert counters(short) == counters(whole)


@given(st.lists(st.integers(1, 16384), max_size=4))
def test_plain_data_is_sent_as_h2_sends_it(sizes: list[int]) -> None:
    short, whole = opened(None)[1], opened(None)[1]
    for size in sizes:
        if size > short.local_flow_control_window(1):
            return
        short.send_plain_data(1, bytes(size))
        whole.send_data(1, bytes(size))
        assert counters(short) == counters(whole)


def test_data_before_a_head_is_for_h2_to_judge() -> None:
    client = machine()
    client.send_headers(1, [(b":method", b"GET"), (b":path", b"/")], end_stream=True)
    assert not client.take_plain_data(1, 5)
    assert not client.take_plain_data(3, 5)
    with pytest.raises(ProtocolError):
        client.receive_data(b"\0\0\5\0\0\0\0\0\1hello")

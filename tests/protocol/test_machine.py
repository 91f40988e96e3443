"""What foyer changes in h2, each with a test that fails when h2 goes another way."""

from collections.abc import Iterator

import h2.exceptions
import hpack
import hpack.hpack
import hyperframe.frame
import pytest
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamReset, TrailersReceived
from h2.settings import SettingCodes
from hypothesis import given
from hypothesis import strategies as st

from foyer.protocol.machine import MAX_ENCODER_TABLE, MAX_SIZE_UPDATES, Machine, _Decoder
from tests.support.raw_frames import (
    GET,
    OK,
    POST,
    PREFACE,
    Kind,
    data,
    frame,
    frames,
    headers,
    reset,
    settings,
    window_update,
)
from tests.support.script import Fields

LENGTH_5 = (b"content-length", b"5")


def machine(*, client: bool = False) -> Machine:
    """One with both SETTINGS exchanged, and nothing to say."""
    limits = {SettingCodes.MAX_CONCURRENT_STREAMS: 8, SettingCodes.MAX_HEADER_LIST_SIZE: 32 * 1024}
    made = Machine(limits, client=client, max_fields=100)
    made.initiate_connection()
    made.receive_data((b"" if client else PREFACE) + settings())
    made.data_to_send()
    return made


def said(made: H2Connection) -> list[str]:
    return [str(each) for each in frames(made.data_to_send())]


@pytest.fixture
def shown() -> Iterator[list[str]]:
    """The frames whose `repr` was asked for."""
    asked: list[str] = []

    def note(self: hyperframe.frame.Frame) -> str:
        asked.append(type(self).__name__)
        return ""

    plain = hyperframe.frame.Frame.__repr__
    hyperframe.frame.Frame.__repr__ = note  # type: ignore[method-assign]
    yield asked
    hyperframe.frame.Frame.__repr__ = plain  # type: ignore[method-assign]


def test_h2_still_asks_for_the_repr_of_each_frame(shown: list[str]) -> None:
    """When this fails, the patch of `Frame.__repr__` has had its day: drop it."""
    machine().receive_data(frame(Kind.PING, 0, bytes(8)))
    assert "PingFrame" in shown


def test_a_frames_repr_holds_nothing_of_its_payload() -> None:
    made = hyperframe.frame.DataFrame(1, b"secret" * 1000)
    assert repr(made) == "DataFrame"


def test_nothing_sent_is_huffman_coded() -> None:
    made = machine()
    made.receive_data(headers(1, GET))
    made.send_headers(1, [(b":status", b"200"), (b"x-a", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")])
    assert b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" in made.data_to_send()


def test_the_encoders_table_is_no_larger_than_ours_whatever_the_peer_offers() -> None:
    made = machine()
    made.receive_data(settings({SettingCodes.HEADER_TABLE_SIZE: 2**32 - 1}))
    assert made.encoder.header_table_size == MAX_ENCODER_TABLE
    decoder = hpack.Decoder()
    for stream in range(1, 401, 2):
        made.receive_data(headers(stream, GET))
        made.send_headers(stream, [(b":status", b"200"), (b"x-%d" % stream, b"y" * 100)], end_stream=True)
        for each in frames(made.data_to_send()):
            if each.kind == Kind.HEADERS:
                decoder.decode(each.payload)
    assert len(made.encoder.header_table.dynamic_entries) < 40


def test_a_smaller_table_is_used_and_announced_to_the_peers_decoder() -> None:
    made = machine()
    decoder = hpack.Decoder()
    decoder.max_allowed_table_size = 4096
    for number, size in enumerate((100, 4096, 0, 50, 4096)):
        made.receive_data(settings({SettingCodes.HEADER_TABLE_SIZE: size}))
        stream = 2 * number + 1
        made.receive_data(headers(stream, GET))
        made.send_headers(stream, [(b":status", b"200"), (b"x-a", b"b" * 60)], end_stream=True)
        payload = next(each.payload for each in frames(made.data_to_send()) if each.kind == Kind.HEADERS)
        assert (b"x-a", b"b" * 60) in [tuple(field) for field in decoder.decode(payload, raw=True)]
        assert decoder.header_table_size == size


def test_a_flood_of_table_sizes_leaves_two() -> None:
    made = machine()
    for size in range(1000):
        made.receive_data(settings({SettingCodes.HEADER_TABLE_SIZE: 4000 - size}))
    made.receive_data(settings({SettingCodes.HEADER_TABLE_SIZE: 4096}))
    assert made.encoder.table_size_changes == [3001, 4096]


def test_few_closed_streams_are_remembered() -> None:
    made = machine()
    for stream in range(1, 2 * 1200, 2):
        made.receive_data(headers(stream, GET, end=False))
        made.reset_stream(stream, 8)
    assert len(made.streams) + len(made._closed_streams) <= Machine.MAX_CLOSED_STREAMS + 1
    made.data_to_send()
    made.receive_data(data(2 * 1100 - 1, b"late"))
    assert said(made) == ["RST_STREAM 2199 STREAM_CLOSED"]


def test_the_goaway_is_not_h2s_to_say() -> None:
    made = machine()
    with pytest.raises(h2.exceptions.ProtocolError) as raised:
        made.receive_data(window_update(0, 0))
    assert raised.value.error_code
    assert said(made) == []


def test_a_stream_too_many_is_the_codecs_to_refuse() -> None:
    made = machine()
    for stream in range(1, 2 * 20, 2):
        made.receive_data(headers(stream, GET, end=False))
    assert len(made.streams) == 20


@pytest.mark.parametrize(
    ("content", "end"), [(b"hello!", False), (b"hello!", True), (b"hell", True), (b"", True)]
)
def test_content_that_does_not_fit_its_length_is_the_end_of_its_stream_alone(
    content: bytes, end: bool
) -> None:
    made = machine()
    made.receive_data(headers(1, [*POST, LENGTH_5], end=False) + headers(3, POST, end=False))
    (event,) = made.receive_data(data(1, content, end=end))
    assert isinstance(event, StreamReset)
    assert (event.stream_id, event.remote_reset) == (1, False)
    assert said(made) == ["RST_STREAM 1 PROTOCOL_ERROR"]
    assert isinstance(made.receive_data(data(3, b"x"))[0], DataReceived)


def test_malformed_content_gives_its_bytes_back_to_the_connection() -> None:
    made = machine()
    for stream in range(1, 41, 2):
        made.receive_data(headers(stream, [*POST, LENGTH_5], end=False))
        made.receive_data(data(stream, bytes(16_000)))
    updates = [each.number for each in frames(made.data_to_send()) if each.kind == Kind.WINDOW_UPDATE]
    assert sum(updates) > 20 * 16_000 - 65_535


def test_a_length_holds_where_trailers_end_the_message() -> None:
    for content, fits in ((b"hello", True), (b"hell", False)):
        made = machine()
        made.receive_data(headers(1, [*POST, LENGTH_5], end=False) + data(1, content))
        event = made.receive_data(headers(1, [(b"x-t", b"u")]))[0]
        assert isinstance(event, TrailersReceived if fits else StreamReset)


def test_content_behind_a_head_that_has_none_is_malformed() -> None:
    made = machine(client=True)
    made.send_headers(1, GET, end_stream=True)
    made.receive_data(headers(1, [(b":status", b"204")], end=False))
    made.expect_no_content(1)
    assert isinstance(made.receive_data(data(1, b"x"))[0], StreamReset)


def test_h2_leaves_heads_as_they_came() -> None:
    """`fields` reads them: h2 must neither refuse nor mend what it finds there."""
    odd: Fields = [(b":status", b"20"), (b"Odd Name", b" b\n"), (b"cookie", b"a=1"), (b"cookie", b"b=2")]
    (event, *_) = machine().receive_data(headers(1, [*GET, *odd]))
    assert isinstance(event, RequestReceived)
    assert [tuple(field) for field in event.headers] == [*GET, *odd]
    asked = machine(client=True)
    asked.send_headers(1, GET, end_stream=True)
    (answered, *_) = asked.receive_data(headers(1, [*OK, (b"connection", b"x")]))
    assert not isinstance(answered, StreamReset)


def test_a_reset_that_crosses_ours_is_nothing() -> None:
    made = machine()
    made.receive_data(headers(1, GET, end=False))
    made.reset_stream(1, 8)
    assert made.receive_data(reset(1)) == []


# What one header block can ask for.


def decoded(decoder: hpack.Decoder, block: bytes) -> list[hpack.HeaderTuple] | str:
    """The fields, or that there are none: which of its errors it is makes no difference."""
    try:
        return list(decoder.decode(block, raw=True))
    except (hpack.HPACKError, IndexError):
        return "refused"


octets = st.binary(max_size=30)
lists = st.lists(st.tuples(octets, octets, st.booleans()), max_size=8)
changes = st.lists(st.integers(0, 4096), max_size=2)


@given(st.lists(st.tuples(changes, lists, st.booleans()), max_size=6), st.binary(max_size=40))
def test_the_decoder_reads_what_hpacks_own_reads(
    blocks: list[tuple[list[int], list[tuple[bytes, bytes, bool]], bool]], last: bytes
) -> None:
    ours, theirs, encoder = _Decoder(max_list=65_536, max_fields=100), hpack.Decoder(65_536), hpack.Encoder()
    for sizes, fields, huffman in blocks:
        for size in sizes:
            encoder.header_table_size = size
        encoder.table_size_changes = encoder.table_size_changes[-MAX_SIZE_UPDATES:]
        block = encoder.encode(fields, huffman=huffman)
        assert decoded(ours, block) == decoded(theirs, block)
        assert ours.header_table.dynamic_entries == theirs.header_table.dynamic_entries
    assert decoded(ours, last) == decoded(theirs, last) or last.count(b" ") > MAX_SIZE_UPDATES


def test_a_secret_that_must_not_be_indexed_stays_one() -> None:
    block = hpack.Encoder().encode([hpack.NeverIndexedHeaderTuple(b"cookie", b"a=1")])
    (field,) = _Decoder(max_list=100, max_fields=1).decode(block)
    assert isinstance(field, hpack.NeverIndexedHeaderTuple)


@pytest.mark.parametrize("within", [True, False])
def test_a_list_has_so_many_octets_and_so_many_fields(within: bool) -> None:
    for fields, most in ((3, 3), (2, 2)):
        block = b"\x00\x01a\x00" * (fields if within else fields + 1)
        assert (decoded(_Decoder(max_list=65_536, max_fields=most), block) != "refused") is within
    block = hpack.Encoder().encode([(b"a", b"b" * (67 if within else 68))])
    assert (decoded(_Decoder(max_list=100, max_fields=9), block) != "refused") is within


def test_a_block_changes_the_tables_size_twice_at_most() -> None:
    assert decoded(_Decoder(max_list=100, max_fields=9), b"\x20\x3f\xe1\x1f\x82") == [(b":method", b"GET")]
    assert decoded(_Decoder(max_list=100, max_fields=9), b"\x20\x20\x3f\xe1\x1f\x82") == "refused"
    assert decoded(_Decoder(max_list=100, max_fields=9), b"\x82\x20") == "refused"


def test_hpack_still_decodes_huffman_by_the_name_that_was_given_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When this fails, the patch of `hpack.hpack.decode_huffman` does nothing any more."""
    asked: list[bytes] = []

    def note(coded: bytes) -> bytes:
        asked.append(coded)
        return b"x"

    monkeypatch.setattr(hpack.hpack, "decode_huffman", note)
    coded = hpack.Encoder().encode([*GET, (b"x-a", b"bbbb")])
    machine().receive_data(frame(Kind.HEADERS, 1, coded, flags=5))
    assert asked


def test_what_is_no_huffman_coding_is_the_end_of_the_connection() -> None:
    with pytest.raises(h2.exceptions.ProtocolError):
        machine().receive_data(frame(Kind.HEADERS, 1, b"\x00\x81\xff\x00", flags=5))

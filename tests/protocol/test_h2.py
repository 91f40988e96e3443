"""HTTP/2 as a dialogue: frames in, events told, frames out (A16, A19, A22, A23; spec 03, Transport)."""

import hpack
import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from foyer.protocol.events import Fields, RequestHead, ResponseHead
from foyer.protocol.floods import Flood
from foyer.protocol.h2 import (
    BROWSER_WINDOW,
    MAX_HEADER_LIST,
    MAX_STREAMS,
    UPSTREAM_WINDOW,
    H2Client,
    H2Server,
)
from tests.support.raw_frames import (
    END_HEADERS,
    END_STREAM,
    GET,
    OK,
    PADDED,
    POST,
    PREFACE,
    PRIORITY,
    Frame,
    Kind,
    block,
    data,
    frame,
    frames,
    goaway,
    headers,
    reset,
    settings,
    window_update,
)
from tests.support.talk import Talk, answer, joined

TOKEN = (b"authorization", b"Bearer " + b"eyJhbGciOiJSUzI1NiJ9." * 40)


def server() -> Talk[H2Server]:
    """One that has heard a browser's preface and SETTINGS, and has said its own."""
    talk = Talk(H2Server)
    assert talk.hears(PREFACE + settings()) == ["ready", "window 0"]
    talk.says()
    return talk


def client(*requests: RequestHead) -> Talk[H2Client]:
    """One that has exchanged SETTINGS and sent these requests' heads."""
    talk = Talk(H2Client)
    assert talk.hears(settings()) == ["ready", "window 0"]
    for request in requests:
        ask(talk, request)
    talk.says()
    return talk


def ask(talk: Talk[H2Client], request: RequestHead) -> int:
    stream = talk.codec.open()
    talk.codec.send_head(stream, request)
    return stream


def a_get(method: bytes = b"GET", *, ended: bool = True, fields: Fields | None = None) -> RequestHead:
    return RequestHead(method, b"/a", fields or [], authority=b"api", ended=ended)


def said(talk: Talk[H2Server] | Talk[H2Client]) -> list[str]:
    return [str(each) for each in frames(talk.says())]


def in_pieces(wire: bytes, size: int) -> list[bytes]:
    return [wire[at : at + size] for at in range(0, len(wire), size)]


# The beginning.


def test_a_server_says_its_settings_and_opens_the_connections_window() -> None:
    first, second = frames(Talk(H2Server).says())
    assert first.kind == Kind.SETTINGS
    values = {
        int.from_bytes(first.payload[at : at + 2], "big"): int.from_bytes(
            first.payload[at + 2 : at + 6], "big"
        )
        for at in range(0, len(first.payload), 6)
    }
    assert values[SettingCodes.MAX_CONCURRENT_STREAMS] == MAX_STREAMS
    assert values[SettingCodes.MAX_HEADER_LIST_SIZE] == MAX_HEADER_LIST == 32 * 1024
    assert values[SettingCodes.INITIAL_WINDOW_SIZE] == BROWSER_WINDOW
    assert values.get(SettingCodes.ENABLE_CONNECT_PROTOCOL, 0) == 0
    assert (second.kind, second.stream) == (Kind.WINDOW_UPDATE, 0)
    assert second.number == MAX_STREAMS * BROWSER_WINDOW


def test_a_client_begins_with_the_preface_and_takes_no_push() -> None:
    wire = Talk(H2Client).says()
    assert wire.startswith(PREFACE)
    assert b"\0\x02\0\0\0\0" in next(frames(wire)).payload
    talk = client(a_get())
    talk.refuses(frame(Kind.PUSH_PROMISE, 1, (2).to_bytes(4, "big") + block(GET), flags=END_HEADERS))


WHOLE = PREFACE + settings() + headers(1, POST, end=False) + data(1, b"hello", end=True) + headers(3, GET)
EVENTS = ["ready", "window 0", "1 POST /a", "1 content hello", "1 end", "3 GET /a ended"]


@pytest.mark.parametrize("size", [1, 2, 5, 9, 10, 24, 25, 1000])
def test_what_comes_in_pieces_is_heard_as_what_comes_whole(size: int) -> None:
    assert Talk(H2Server).hears(*in_pieces(WHOLE, size)) == EVENTS


def test_what_is_cut_anywhere_is_heard_as_what_comes_whole() -> None:
    for cut in range(1, len(WHOLE)):
        assert Talk(H2Server).hears(WHOLE[:cut], WHOLE[cut:]) == EVENTS


@pytest.mark.parametrize("cut", [1, 5, 9, 14, 20, 23])
def test_what_is_no_preface_is_refused_as_soon_as_it_differs(cut: int) -> None:
    talk = Talk(H2Server)
    talk.hears(PREFACE[:cut])
    assert talk.refuses(b"X" + bytes(40)) == []
    assert said(talk)[-1] == "GOAWAY 0 0 PROTOCOL_ERROR"


def test_a_frame_that_is_too_large_is_refused_before_its_payload_comes() -> None:
    talk = server()
    header = frame(Kind.DATA, 1, bytes(16_385))[:9]
    assert talk.refuses(header) == []
    assert said(talk) == ["GOAWAY 0 0 FRAME_SIZE_ERROR"]
    talk = server()
    talk.hears(headers(1, POST, end=False))
    assert talk.hears(data(1, bytes(16_384)))[0].startswith("1 content")


# Requests.


def test_a_request_is_told_and_answered() -> None:
    talk = server()
    assert talk.hears(headers(1, [*GET, (b"x-a", b"b")])) == ["1 GET /a ended"]
    head = talk.heads[1]
    assert isinstance(head, RequestHead)
    assert (head.authority, head.fields) == (b"f", [(b"x-a", b"b")])
    answer(talk.codec, 1)
    assert said(talk) == ["HEADERS 1", "DATA 1 END_STREAM"]


def test_a_response_without_content_is_one_frame() -> None:
    talk = server()
    talk.hears(headers(1, GET))
    talk.codec.send_head(1, ResponseHead(204, [], ended=True))
    assert said(talk) == ["HEADERS 1 END_STREAM"]
    assert not talk.codec.is_open(1)


def test_100_is_a_head_of_its_own() -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False))
    talk.codec.send_informational(1, 100)
    talk.codec.send_head(1, ResponseHead(200, []))
    talk.codec.send_informational(1, 100)
    talk.codec.send_data(1, b"", True)
    assert said(talk) == ["HEADERS 1", "HEADERS 1", "DATA 1 END_STREAM"]


def test_trailers_end_a_request_and_never_pass() -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False) + data(1, b"x"))
    assert talk.hears(headers(1, [(b"x-t", b"u")])) == ["1 end"]


def test_an_extended_connect_is_told_as_one() -> None:
    """A23: it is the application that refuses it."""
    talk = server()
    talk.hears(headers(1, [(b":method", b"CONNECT"), *GET[1:], (b":protocol", b"websocket")], end=False))
    head = talk.heads[1]
    assert isinstance(head, RequestHead)
    assert (head.method, head.protocol) == (b"CONNECT", b"websocket")


MALFORMED: dict[str, Fields] = {
    "no path": [GET[0], GET[1], GET[2]],
    "a repeated path": [*GET, (b":path", b"/b")],
    "another host": [*GET, (b"host", b"g")],
    "a connection field": [*GET, (b"connection", b"close")],
    "an upper-case name": [*GET, (b"X-A", b"b")],
    "CR LF in a value": [*GET, (b"x-a", b"b\r\nc: d")],
    "a control character in a value": [*GET, (b"x-a", b"b\x0bc")],
    "a method that is no token": [(b":method", b"GET / HTTP/1.1\r\nx:"), *GET[1:]],
    "a length that is not met": [*GET, (b"content-length", b"5")],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_is_reset_and_its_siblings_go_on(fields: Fields) -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False))
    assert talk.hears(headers(3, fields)) == []
    assert said(talk) == ["RST_STREAM 3 PROTOCOL_ERROR"]
    assert talk.hears(data(1, b"x", end=True) + headers(5, GET)) == ["1 content x", "1 end", "5 GET /a ended"]


@pytest.mark.parametrize("fields", [[(b":path", b"/b")], [(b"X-T", b"u")], [(b"x-t", b"u\n")]])
def test_malformed_trailers_are_no_end(fields: Fields) -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False))
    assert talk.hears(headers(1, fields)) == ["1 reset protocol"]
    assert said(talk) == ["RST_STREAM 1 PROTOCOL_ERROR"]


@pytest.mark.parametrize("length", [b"x", b"-3", b"+3", b"3,3", b"", b"0x3", b"3_0", b"1" * 20])
def test_a_length_that_is_no_number_is_the_end_of_its_stream_alone(length: bytes) -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False))
    assert talk.hears(headers(3, [*POST, (b"content-length", length)], end=False)) == []
    assert said(talk) == ["RST_STREAM 3 PROTOCOL_ERROR"]
    assert talk.hears(data(1, b"x", end=True)) == ["1 content x", "1 end"]


def test_content_beyond_its_length_is_the_end_of_its_stream_alone() -> None:
    talk = server()
    talk.hears(headers(1, [*POST, (b"content-length", b"5")], end=False) + headers(3, POST, end=False))
    assert talk.hears(data(1, b"hello!")) == ["1 reset protocol"]
    assert talk.hears(data(3, b"x")) == ["3 content x"]


def test_a_connection_ends_when_too_many_of_its_streams_are_malformed() -> None:
    """MadeYouReset (CVE-2025-8671): resets that the peer makes us send cost it the connection."""
    talk = server()
    for number in range(int(Flood.BREACHES.burst)):
        stream = 2 * number + 1
        talk.hears(headers(stream, POST, end=False))
        assert talk.hears(window_update(stream, 2**31 - 1)) == [f"{stream} reset protocol"]
    stream = 2 * int(Flood.BREACHES.burst) + 1
    talk.hears(headers(stream, POST, end=False))
    assert talk.refuses(window_update(stream, 2**31 - 1)) == [f"{stream} reset protocol"]
    assert said(talk)[-1] == f"GOAWAY 0 {stream} ENHANCE_YOUR_CALM"


def test_a_stream_beyond_the_limit_is_refused_and_may_be_sent_again() -> None:
    talk = server()
    for number in range(MAX_STREAMS):
        talk.hears(headers(2 * number + 1, POST, end=False))
    over = 2 * MAX_STREAMS + 1
    assert talk.hears(headers(over, GET)) == []
    assert said(talk) == [f"RST_STREAM {over} REFUSED_STREAM"]
    talk.hears(reset(1))
    assert talk.hears(headers(over + 2, GET)) == [f"{over + 2} GET /a ended"]


# Header blocks (A16).


def continued(*parts: bytes, kind: int = Kind.HEADERS) -> bytes:
    first, *more = parts
    whole = frame(kind, 1, first, flags=END_STREAM)
    for number, part in enumerate(more, 1):
        whole += frame(Kind.CONTINUATION, 1, part, flags=END_HEADERS if number == len(more) else 0)
    return whole


def test_a_block_in_many_frames_is_one_head() -> None:
    whole = block([*GET, (b"x-a", b"b" * 20_000)])
    talk = server()
    assert talk.hears(continued(*in_pieces(whole, 1_000))) == ["1 GET /a ended"]


def test_a_list_of_32_kib_is_read_and_a_larger_one_ends_the_connection() -> None:
    used = sum(len(name) + len(value) + 32 for name, value in GET)
    room = MAX_HEADER_LIST - used - 32 - 3
    assert server().hears(continued(*in_pieces(block([*GET, (b"x-a", b"b" * room)]), 16_000))) == [
        "1 GET /a ended"
    ]
    talk = server()
    assert talk.refuses(continued(*in_pieces(block([*GET, (b"x-a", b"b" * (room + 1))]), 16_000))) == []
    assert said(talk) == ["GOAWAY 0 0 ENHANCE_YOUR_CALM"]


@pytest.mark.parametrize("over", ["never begun", "over"])
def test_a_continuation_of_no_header_block_ends_the_connection(over: str) -> None:
    for talk in (server(), client(RequestHead(b"GET", b"/a", [], authority=b"a.test"))):
        if over == "over":
            first = headers(1, GET) if isinstance(talk.codec, H2Server) else headers(1, OK)
            talk.hears(first + reset(1))
        talk.refuses(frame(Kind.CONTINUATION, 1, bytes(10)))
        assert said(talk)[-1].startswith("GOAWAY")


def test_a_block_without_end_is_refused_before_it_is_gathered() -> None:
    talk = server()
    talk.hears(frame(Kind.HEADERS, 1, bytes(16_000)) + frame(Kind.CONTINUATION, 1, bytes(16_000)))
    talk.refuses(frame(Kind.CONTINUATION, 1, bytes(16_000)))
    assert said(talk) == ["GOAWAY 0 0 ENHANCE_YOUR_CALM"]


def test_empty_continuations_without_end_are_refused() -> None:
    talk = server()
    flood = frame(Kind.HEADERS, 1) + frame(Kind.CONTINUATION, 1) * 10_000
    assert talk.refuses(flood) == []
    assert said(talk)[-1].startswith("GOAWAY 0 0 ")


def test_a_field_indexed_thousands_of_times_is_refused() -> None:
    encoder = hpack.Encoder()
    encoder.encode([(b"x-a", b"b" * 3_900)])
    bomb = encoder.encode([(b"x-a", b"b" * 3_900)]) * 4_000
    talk = server()
    talk.hears(headers(1, GET))
    literal = hpack.Encoder().encode([*GET, (b"x-a", b"b" * 3_900)], huffman=False)
    talk.hears(frame(Kind.HEADERS, 3, literal, flags=END_HEADERS | END_STREAM))
    assert talk.refuses(frame(Kind.HEADERS, 5, bomb, flags=END_HEADERS | END_STREAM)) == []
    assert said(talk) == ["GOAWAY 0 3 ENHANCE_YOUR_CALM"]


def test_twenty_thousand_empty_fields_are_refused() -> None:
    talk = server()
    assert talk.refuses(continued(*in_pieces(block([*GET]) + b"\x00\x01a\x00" * 20_000, 16_000))) == []
    assert said(talk)[-1].endswith("ENHANCE_YOUR_CALM")


@pytest.mark.parametrize(
    "between", [goaway(0), frame(Kind.PING, 0, bytes(8)), headers(3, GET), data(1, b"x"), settings()]
)
def test_nothing_comes_between_the_frames_of_a_block(between: bytes) -> None:
    talk = server()
    assert talk.refuses(frame(Kind.HEADERS, 1, block(GET)[:5]) + between) == []


# Secrets and what they cost.


def test_a_token_is_never_indexed_and_never_huffman_coded() -> None:
    talk = client()
    decoder = hpack.Decoder()
    for _ in range(2):
        ask(talk, a_get(fields=[TOKEN, (b"accept", b"*/*")]))
        (head,) = frames(talk.says())
        fields = decoder.decode(head.payload, raw=True)
        (token,) = (field for field in fields if field[0] == b"authorization")
        assert isinstance(token, hpack.NeverIndexedHeaderTuple)
        assert TOKEN[1] in head.payload
        # RFC 7541 section 6.2.3: 0001 and the static table's index 23.
        assert b"\x1f\x08\x7f" in head.payload
    assert all(name != b"authorization" for name, _ in decoder.header_table.dynamic_entries)
    assert any(name == b"accept" for name, _ in decoder.header_table.dynamic_entries)


@pytest.mark.parametrize("name", [b"set-cookie", b"audit-id", b"content-length"])
def test_what_is_secret_or_differs_each_time_stays_out_of_the_table(name: bytes) -> None:
    talk = server()
    talk.hears(headers(1, GET))
    talk.codec.send_head(1, ResponseHead(200, [(name, b"77"), (b"x-a", b"b")], ended=True))
    decoder = hpack.Decoder()
    (head,) = frames(talk.says())
    decoder.decode(head.payload)
    assert [entry[0] for entry in decoder.header_table.dynamic_entries] == [b"x-a"]


# Responses.


def test_a_request_goes_out_and_its_answer_is_told() -> None:
    talk = client()
    assert ask(talk, a_get(b"POST", ended=False)) == 1
    talk.codec.send_data(1, b"hello", True)
    assert said(talk) == ["HEADERS 1", "DATA 1 END_STREAM"]
    heard = talk.hears(headers(1, [*OK, (b"x-a", b"b")], end=False) + data(1, b"ok", end=True))
    assert heard == ["1 200", "1 content ok", "1 end"]
    assert talk.heads[1].fields == [(b"x-a", b"b")]
    assert ask(talk, a_get()) == 3


def test_a_1xx_never_passes() -> None:
    talk = client(a_get())
    assert talk.hears(headers(1, [(b":status", b"103"), (b"link", b"</a>")], end=False)) == []
    assert talk.hears(headers(1, OK)) == ["1 200 ended"]


RESPONSES: dict[str, bytes] = {
    "no status": headers(1, [(b"x-a", b"b")]),
    "a status that is none": headers(1, [(b":status", b"2x0")]),
    "two": headers(1, [(b":status", b"200"), (b":status", b"200")]),
    "a connection field": headers(1, [*OK, (b"connection", b"close")], end=False),
    "a control character in a value": headers(1, [*OK, (b"warning", b"a\x0bb")], end=False),
    "an end before its length": headers(1, [*OK, (b"content-length", b"5")]),
    "lengths that are equal": headers(
        1, [*OK, (b"content-length", b"5"), (b"content-length", b"5")], end=False
    ),
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_a_malformed_response_ends_its_stream_and_no_others(response: bytes) -> None:
    talk = client(a_get(), a_get())
    assert talk.hears(response) == ["1 reset protocol"]
    assert talk.hears(headers(3, OK)) == ["3 200 ended"]
    assert not talk.codec.closing


@pytest.mark.parametrize(
    ("method", "status", "length", "sent"),
    [
        (b"GET", b"200", b"5", [b"hell"]),
        (b"GET", b"200", b"5", [b"hello", b"!"]),
        (b"GET", b"200", b"5", []),
        (b"HEAD", b"200", b"5", [b"hello"]),
        (b"GET", b"204", None, [b"x"]),
        (b"GET", b"304", b"5", [b"hello"]),
    ],
)
def test_content_that_is_not_what_the_head_says_never_passes_for_whole(
    method: bytes, status: bytes, length: bytes | None, sent: list[bytes]
) -> None:
    """A4: its last stretch at the latest is a reset, of this stream alone."""
    fields: Fields = [(b":status", status)] + ([] if length is None else [(b"content-length", length)])
    talk = client(a_get(method), a_get())
    wire = headers(1, fields, end=False) + b"".join(data(1, piece) for piece in sent) + data(1, b"", end=True)
    heard = talk.hears(wire)
    assert heard[-1] == "1 reset protocol"
    assert "1 end" not in heard
    assert talk.hears(headers(3, OK)) == ["3 200 ended"]


def test_trailers_do_not_end_content_that_is_not_whole() -> None:
    talk = client(a_get(), a_get())
    head = headers(1, [*OK, (b"content-length", b"5")], end=False)
    assert talk.hears(head + data(1, b"hell") + headers(1, [(b"x-t", b"u")])) == [
        "1 200",
        "1 content hell",
        "1 reset protocol",
    ]
    assert talk.hears(headers(3, OK, end=False) + headers(3, [(b"x-t", b"u")])) == ["3 200", "3 end"]


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_an_empty_last_frame_ends_a_response_without_content(method: bytes) -> None:
    talk = client(a_get(method))
    fields = (
        [(b":status", b"200"), (b"content-length", b"5")] if method == b"HEAD" else [(b":status", b"304")]
    )
    heard = talk.hears(headers(1, fields, end=False) + data(1, b"", end=True))
    assert joined(heard) == [f"1 {fields[0][1].decode()}", "1 end"]


def test_a_server_cannot_ask() -> None:
    talk = client(a_get())
    assert talk.refuses(headers(2, GET)) == []
    assert said(talk)[-1] == "GOAWAY 0 2 PROTOCOL_ERROR"


def test_a_reset_is_told_whatever_its_code() -> None:
    """A4, A19: without END_STREAM before it, NO_ERROR is no end either."""
    talk = client(a_get(), a_get(b"POST", ended=False), a_get(b"POST", ended=False))
    assert talk.hears(headers(1, OK, end=False) + data(1, b"x") + reset(1, 0)) == [
        "1 200",
        "1 content x",
        "1 reset reset",
    ]
    assert talk.hears(reset(3, ErrorCodes.REFUSED_STREAM)) == ["3 reset reset"]
    assert talk.hears(headers(5, OK, end=False) + data(5, b"x", end=True) + reset(5, 0)) == [
        "5 200",
        "5 content x",
        "5 end",
        "5 reset reset",
    ]


def test_the_end_and_a_reset_in_one_read_find_a_sink_that_gave_up_already() -> None:
    """h2's state is ahead of its events: END_STREAM came with the DATA that made the sink give up."""
    talk = client(a_get(), a_get(b"POST", ended=False))
    talk.at_once = lambda event, stream: talk.codec.reset(stream) if "content" in event else None
    talk.hears(headers(1, OK, end=False) + data(1, b"x", end=True) + reset(1))
    assert said(talk) == []
    talk.hears(headers(3, OK, end=False) + data(3, b"x", end=True) + reset(3))
    assert said(talk) == ["RST_STREAM 3 CANCEL"]


def test_resets_that_cross_are_one_end() -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False))
    talk.codec.reset(1)
    talk.codec.reset(1)
    assert talk.hears(data(1, b"late") + reset(1)) == []
    assert said(talk)[0] == "RST_STREAM 1 INTERNAL_ERROR"
    assert talk.hears(headers(3, GET)) == ["3 GET /a ended"]


def test_a_cut_response_is_internal_error_and_one_before_its_uploads_end_no_error() -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False) + headers(3, POST, end=False))
    answer(talk.codec, 1)
    talk.codec.reset(1, no_error=True)
    talk.codec.send_head(3, ResponseHead(200, []))
    talk.codec.send_data(3, b"part", False)
    talk.codec.reset(3)
    assert said(talk) == [
        "HEADERS 1",
        "DATA 1 END_STREAM",
        "RST_STREAM 1 NO_ERROR",
        "HEADERS 3",
        "DATA 3",
        "RST_STREAM 3 INTERNAL_ERROR",
    ]


def test_who_speaks_after_the_end_of_its_stream_says_nothing() -> None:
    for ending in (reset(1), b""):
        talk = server()
        talk.hears(headers(1, GET) + ending)
        if not ending:
            answer(talk.codec, 1)
        talk.says()
        talk.codec.send_informational(1, 100)
        talk.codec.send_head(1, ResponseHead(200, []))
        talk.codec.send_data(1, b"late", True)
        talk.codec.acknowledge(1, 10)
        talk.codec.reset(1)
        assert talk.codec.window(99) == 0
        assert said(talk) == []


@pytest.mark.parametrize(
    "broken", [frame(Kind.GOAWAY, 0, bytes(7)), window_update(0, 0), frame(Kind.DATA, 0, b"x")]
)
def test_who_speaks_after_the_end_of_the_connection_says_nothing(broken: bytes) -> None:
    talk = server()
    talk.hears(headers(1, GET) + headers(3, POST, end=False))
    talk.refuses(broken)
    assert [line.split()[0] for line in said(talk)] == ["GOAWAY"]
    for stream in (1, 3):
        talk.codec.send_informational(stream, 100)
        talk.codec.send_head(stream, ResponseHead(200, [], ended=True))
        talk.codec.send_data(stream, b"late", True)
        talk.codec.acknowledge(stream, 10)
        talk.codec.reset(stream)
    assert said(talk) == []
    asking = client(a_get())
    asking.refuses(broken)
    asking.says()
    asking.codec.send_head(3, a_get())
    asking.codec.send_data(1, b"late", True)
    asking.codec.reset(1)
    assert said(asking) == []
    assert asking.codec.capacity == 0


# Windows.


def test_content_waits_for_the_peers_windows() -> None:
    talk = server()
    talk.hears(settings({SettingCodes.INITIAL_WINDOW_SIZE: 100}) + headers(1, GET))
    talk.codec.send_head(1, ResponseHead(200, []))
    assert talk.codec.window(1) == 100
    talk.codec.send_data(1, bytes(100), False)
    assert talk.codec.window(1) == 0
    assert talk.hears(window_update(1, 50)) == ["window 1"]
    assert talk.codec.window(1) == 50
    assert talk.hears(settings({SettingCodes.INITIAL_WINDOW_SIZE: 0}))[-1] == "window 0"
    assert talk.codec.window(1) == 0, "below zero is nothing"
    talk.codec.send_data(1, b"", True)
    assert said(talk)[-1] == "DATA 1 END_STREAM"


def test_content_leaves_in_frames_that_every_peer_takes() -> None:
    talk = server()
    talk.hears(settings({SettingCodes.MAX_FRAME_SIZE: 2**24 - 1}) + headers(1, GET))
    talk.codec.send_head(1, ResponseHead(200, []))
    talk.says()
    talk.codec.send_data(1, bytes(40_000), True)
    assert [(str(each), len(each.payload)) for each in frames(talk.says())] == [
        ("DATA 1", 16_384),
        ("DATA 1", 16_384),
        ("DATA 1 END_STREAM", 40_000 - 2 * 16_384),
    ]


def test_padding_counts_in_the_flow_and_not_in_the_content() -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False))
    assert talk.hears(data(1, b"x", padding=200)) == ["1 content x"]
    assert talk.flow[1] == 202


def test_a_paused_stream_stops_its_peer_and_no_other() -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False) + headers(3, POST, end=False))
    for _ in range(4):
        talk.hears(data(1, bytes(16_384)))
    talk.hears(data(3, b"x"))
    talk.codec.acknowledge(3, 1)
    talk.refuses(data(1, b"x"))


def test_a_connection_takes_what_all_its_streams_may_send_at_once() -> None:
    talk = server()
    for number in range(MAX_STREAMS):
        talk.hears(headers(2 * number + 1, POST, end=False))
        for _ in range(BROWSER_WINDOW // 16_384):
            talk.hears(data(2 * number + 1, bytes(16_384)))
    assert not talk.codec.closing


# GOAWAY (A22).


def test_a_servers_goaway_ends_the_streams_above_it_and_no_others() -> None:
    talk = client(a_get(), a_get(), a_get())
    assert talk.hears(headers(1, OK, end=False) + goaway(3)) == ["1 200", "going away", "5 reset goaway"]
    assert talk.hears(data(1, b"x")) == ["1 content x"]
    assert talk.hears(headers(3, OK)) == ["3 200 ended"]
    talk.codec.acknowledge(1, 1)
    assert talk.hears(data(1, b"y", end=True)) == ["1 content y", "1 end"]


def test_after_a_servers_goaway_it_takes_no_more_and_answers_none_that_it_gave_up() -> None:
    talk = client(a_get(), a_get())
    talk.hears(goaway(1))
    assert talk.codec.capacity == 0
    assert said(talk) == ["RST_STREAM 3 CANCEL"]
    assert talk.hears(headers(3, OK, end=False) + data(3, b"x", end=True)) == []
    assert talk.hears(settings({SettingCodes.MAX_CONCURRENT_STREAMS: 9})) == ["ready", "window 0"]
    assert talk.codec.capacity == 0
    assert talk.hears(headers(1, OK)) == ["1 200 ended"]


def test_goaways_may_come_one_after_another() -> None:
    talk = client(a_get(), a_get())
    assert talk.hears(goaway(2**31 - 1)) == ["going away"]
    assert talk.hears(goaway(1)) == ["going away", "3 reset goaway"]
    assert talk.hears(headers(1, OK)) == ["1 200 ended"]


def test_a_browsers_goaway_leaves_its_streams_alone() -> None:
    talk = server()
    assert talk.hears(headers(1, POST, end=False) + goaway(0)) == ["1 POST /a", "going away"]
    assert talk.hears(data(1, b"x", end=True)) == ["1 content x", "1 end"]
    answer(talk.codec, 1)
    assert said(talk)[-1] == "DATA 1 END_STREAM"


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (frame(Kind.GOAWAY, 0, bytes(7)), "FRAME_SIZE_ERROR"),
        (frame(Kind.GOAWAY, 1, bytes(8)), "PROTOCOL_ERROR"),
    ],
)
def test_a_malformed_goaway_is_refused(broken: bytes, code: str) -> None:
    talk = server()
    assert talk.refuses(broken) == []
    assert said(talk) == [f"GOAWAY 0 0 {code}"]


def test_a_servers_own_goaway_finishes_what_it_has_and_refuses_what_comes_later() -> None:
    talk = server()
    talk.hears(headers(1, POST, end=False))
    talk.codec.go_away()
    assert said(talk) == ["GOAWAY 0 1 NO_ERROR"]
    assert talk.hears(headers(3, GET)) == []
    assert talk.hears(headers(5, POST, end=False) + data(5, b"late")) == []
    assert said(talk)[:2] == ["RST_STREAM 3 REFUSED_STREAM", "RST_STREAM 5 REFUSED_STREAM"]
    assert talk.hears(data(1, b"x", end=True)) == ["1 content x", "1 end"]
    answer(talk.codec, 1)
    assert said(talk) == ["HEADERS 1", "DATA 1 END_STREAM"]


def test_a_goaway_before_any_stream_refuses_the_first_too() -> None:
    talk = server()
    talk.codec.go_away()
    assert said(talk) == ["GOAWAY 0 0 NO_ERROR"]
    assert talk.hears(headers(1, GET)) == []
    assert said(talk) == ["RST_STREAM 1 REFUSED_STREAM"]


def test_a_goaway_is_never_taken_back() -> None:
    """RFC 9113 section 6.8: its last stream never grows, neither in a second one nor in that of a fault."""
    talk = server()
    talk.hears(headers(1, GET))
    talk.codec.go_away()
    talk.hears(headers(3, GET))
    talk.codec.go_away()
    talk.refuses(window_update(0, 0))
    assert [line for line in said(talk) if line.startswith("GOAWAY")] == [
        "GOAWAY 0 1 NO_ERROR",
        "GOAWAY 0 1 PROTOCOL_ERROR",
    ]


def test_a_clients_own_goaway_names_no_stream() -> None:
    talk = client(a_get())
    talk.codec.go_away()
    assert said(talk) == ["GOAWAY 0 0 NO_ERROR"]
    assert talk.hears(headers(1, OK)) == ["1 200 ended"]


def test_a_goaway_with_an_error_is_told_like_any() -> None:
    talk = client(a_get())
    assert talk.hears(goaway(0, ErrorCodes.ENHANCE_YOUR_CALM)) == ["going away", "1 reset goaway"]


# What is left.


def test_a_clients_capacity_is_the_servers_and_ends_with_the_connection() -> None:
    talk = client()
    assert talk.codec.capacity == MAX_STREAMS
    assert talk.hears(settings({SettingCodes.MAX_CONCURRENT_STREAMS: 3})) == ["ready", "window 0"]
    assert talk.codec.capacity == 3
    talk.codec.eof(True)
    assert talk.codec.capacity == 0


def test_a_connection_whose_stream_ids_run_out_takes_no_more() -> None:
    talk = client()
    talk.codec.machine.highest_outbound_stream_id = 2**30 + 1
    assert talk.codec.capacity == 0


def test_an_unfinished_frame_is_held() -> None:
    talk = server()
    first = headers(1, GET)
    talk.hears(first[:12])
    assert talk.codec.held == 12
    talk.hears(first[12:])
    assert talk.codec.held == 0


def test_a_thousand_resets_of_ours_leave_a_connection_that_works() -> None:
    talk = server()
    for number in range(1_200):
        stream = 2 * number + 1
        talk.hears(headers(stream, POST, end=False))
        talk.codec.reset(stream)
    assert talk.hears(data(2_399, b"late") + headers(2_399, [(b"x-t", b"u")])) == []
    assert talk.hears(headers(2_401, GET)) == ["2401 GET /a ended"]
    assert len(talk.codec.machine._closed_streams) <= 1_024


def test_a_priority_and_padding_on_a_head_change_nothing() -> None:
    talk = server()
    payload = bytes([3]) + bytes(4) + bytes([15]) + block(GET) + bytes(3)
    flags = END_HEADERS | END_STREAM | PADDED | PRIORITY
    assert talk.hears(frame(Kind.HEADERS, 1, payload, flags=flags)) == ["1 GET /a ended"]


def test_what_is_none_of_our_business_is_passed_over() -> None:
    talk = server()
    unknown = (
        frame(0xBE, 0, b"grease") + frame(0x0A, 0, bytes(2)) + frame(Kind.PRIORITY, 7, bytes(4) + b"\x0f")
    )
    assert talk.hears(unknown + frame(Kind.PING, 0, b"12345678")) == []
    (ping,) = frames(talk.says())
    assert ping == Frame(Kind.PING, 1, 0, b"12345678")


def test_a_responses_window_is_what_a_stalled_browser_may_hold() -> None:
    first, _ = frames(Talk(H2Client).says())
    assert b"\0\x04" + UPSTREAM_WINDOW.to_bytes(4, "big") in first.payload


def test_a_client_asks_whether_the_server_is_there() -> None:
    talk = client(a_get())
    talk.codec.ping()
    assert said(talk) == ["PING 0"]
    talk.refuses(data(0, b"x"))
    talk.says()
    talk.codec.ping()
    assert said(talk) == []


@pytest.mark.parametrize("status", [b"102", b"200"])
def test_a_head_that_was_in_flight_as_its_stream_was_given_up_ends_nobody_elses(status: bytes) -> None:
    talk = client(a_get(), a_get())
    talk.codec.reset(1)
    assert talk.hears(*[headers(1, [(b":status", status)], end=False)] * 2, headers(3, OK)) == ["3 200 ended"]


def test_an_answer_behind_a_goaway_is_given_time_to_be_read() -> None:
    """The next request may be on its way, and a close in its face takes the answer along."""
    talk = server()
    talk.hears(headers(1, GET), headers(3, GET))
    answer(talk.codec, 1)
    assert not talk.codec.unread
    talk.codec.go_away()
    assert not talk.codec.unread
    answer(talk.codec, 3)
    assert talk.codec.unread

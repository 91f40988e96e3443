"""Floods: each kind has its bucket, floods end soon, honest peers meet no limit (A15, A16; spec 03)."""

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count, islice, pairwise
from pathlib import Path

import hpack
import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.protocol.events import RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.floods import (
    ALL,
    HEAD_WORK,
    LARGE_HEAD,
    MAX_INFORMATIONAL,
    TURN_WORK,
    Flood,
    FloodFault,
    Floods,
)
from foyer.protocol.framing import CHECKED_CHUNKS, MAX_FIELDS
from foyer.protocol.h1 import H1Client, H1Server
from foyer.protocol.h2 import (
    AHEAD,
    MAX_REQUEST_FIELDS,
    MAX_STREAMS,
    RESETS_AT_ONCE,
    UPSTREAM_WINDOW,
    H2Client,
    H2Server,
)
from foyer.protocol.machine import MAX_RESET_STREAMS
from tests.support.raw_frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    GET,
    OK,
    POST,
    PREFACE,
    Kind,
    block,
    data,
    frame,
    frames,
    goaway,
    headers,
    reset,
    window_update,
)
from tests.support.raw_frames import settings as settings_frame
from tests.support.talk import Talk, answer, joined

HEAD = b"GET /a HTTP/1.1\r\nHost: f\r\n\r\n"
UPLOAD = b"POST /a HTTP/1.1\r\nHost: f\r\nTransfer-Encoding: chunked\r\n\r\n"


def server() -> Talk[H2Server]:
    """One that has heard a browser's preface and SETTINGS, and has said its own."""
    talk = Talk(H2Server)
    talk.hears(PREFACE + settings_frame({SettingCodes.ENABLE_PUSH: 0}))
    talk.says()
    return talk


def said(talk: Talk[H2Server] | Talk[H2Client]) -> list[str]:
    return [str(each) for each in frames(talk.says())]


# The buckets.

KINDS = [flood for flood in Flood if flood.burst]


@pytest.mark.parametrize("flood", KINDS, ids=lambda flood: flood.word)
def test_so_many_at_once_and_not_one_more(flood: Flood) -> None:
    floods = Floods()
    floods.count(flood, 5.0, flood.burst)
    with pytest.raises(FloodFault) as raised:
        floods.count(flood, 5.0)
    assert raised.value.flood is flood


@pytest.mark.parametrize(
    "flood", [flood for flood in KINDS if flood.per_second], ids=lambda flood: flood.word
)
def test_time_empties_a_bucket_at_its_rate_and_no_further(flood: Flood) -> None:
    floods = Floods()
    floods.count(flood, 5.0, flood.burst)
    floods.count(flood, 7.0, 2 * flood.per_second)
    with pytest.raises(FloodFault):
        floods.count(flood, 7.0, 0.01)
    floods.count(flood, 1e9, flood.burst)
    floods.count(flood, 1e9, flood.burst)
    with pytest.raises(FloodFault):
        floods.count(flood, 1e9, flood.burst)


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 3), st.integers(0, 3)), max_size=60),
)
def test_over_any_time_a_flood_gets_two_bursts_and_what_it_earned(
    flood: Flood, steps: list[tuple[float, int, int]]
) -> None:
    floods = Floods()
    unit = flood.burst / 8
    now = begun = 100.0
    taken = answers = pieces = 0.0
    try:
        for seconds, answered, sent in steps:
            now += seconds
            floods.heads += answered
            floods.pieces += sent
            answers, pieces = answers + answered, pieces + sent
            floods.count(flood, now, unit)
            taken += unit
    except FloodFault:
        pass
    earned = (now - begun) * flood.per_second + answers * flood.per_head + pieces * flood.per_piece
    assert taken <= 2 * flood.burst + earned


@given(st.sampled_from(KINDS), st.lists(st.floats(0, 5), max_size=60))
def test_who_keeps_to_the_rate_is_never_refused(flood: Flood, pauses: list[float]) -> None:
    floods, now = Floods(), 0.0
    floods.count(flood, now, flood.burst)
    for pause in pauses:
        now += pause
        floods.count(flood, now, pause * flood.per_second * 0.999)


def test_buckets_are_apart() -> None:
    floods = Floods()
    for flood in KINDS:
        floods.count(flood, 0.0, flood.burst)


def test_large_pieces_pay_for_small_ones_but_not_for_later_ones() -> None:
    floods = Floods()
    floods.content(1 << 30, 0.0)
    for _ in range(2000):
        floods.content(1, 0.0)
        floods.content(1023, 0.0)
    floods.count(Flood.SMALL, 0.0, Flood.SMALL.burst - 1)


# HTTP/2: floods. Each is what is sent first, and then again and again.

Units = Callable[[], Iterator[bytes]]


def repeated(unit: bytes) -> Units:
    return lambda: iter(lambda: unit, None)


def each_stream(unit: Callable[[int], bytes], first: int = 1) -> Units:
    return lambda: (unit(stream) for stream in count(first, 2))


def bomb(stream: int) -> bytes:
    """As many fields as a head may have, each an octet, and one that is as long as a list may be."""
    return frame(Kind.HEADERS, stream, block(GET) + b"\x90" * 200, flags=END_HEADERS | END_STREAM)


LONG = hpack.Encoder().encode([hpack.NeverIndexedHeaderTuple(b"x-a", b"b" * 30_000)], huffman=True)


def long_head(stream: int) -> bytes:
    whole = block(GET) + LONG
    first = frame(Kind.HEADERS, stream, whole[:16_000], flags=END_STREAM)
    return first + frame(Kind.CONTINUATION, stream, whole[16_000:], flags=END_HEADERS)


CONTENT = headers(1, POST, end=False)

FLOODS: dict[str, tuple[Flood, bytes, Units]] = {
    "rapid reset in pairs": (Flood.RESETS, b"", each_stream(lambda s: headers(s, GET) + reset(s))),
    "rapid reset of uploads": (
        Flood.RESETS,
        b"",
        each_stream(lambda s: headers(s, POST, end=False) + data(s, b"x") + reset(s)),
    ),
    "resets of one stream": (Flood.RESETS, CONTENT, repeated(reset(1))),
    "made resets by windows": (
        Flood.BREACHES,
        b"",
        each_stream(lambda s: headers(s, GET) + window_update(s, 2**31 - 1)),
    ),
    "made resets by content behind the end": (
        Flood.BREACHES,
        b"",
        each_stream(lambda s: headers(s, GET) + data(s, b"x")),
    ),
    "made resets by trailers behind the end": (
        Flood.BREACHES,
        b"",
        each_stream(lambda s: headers(s, GET) + headers(s, [(b"x-t", b"u")])),
    ),
    "made resets by malformed heads": (
        Flood.BREACHES,
        b"",
        each_stream(lambda s: headers(s, [*GET, (b"connection", b"close")])),
    ),
    "made resets by lengths": (
        Flood.BREACHES,
        b"",
        each_stream(
            lambda s: headers(s, [*POST, (b"content-length", b"1")], end=False) + data(s, b"xx", end=True)
        ),
    ),
    "made resets by too many streams": (
        Flood.BREACHES,
        b"",
        each_stream(lambda s: headers(s, POST, end=False)),
    ),
    "content on a stream that is over": (Flood.LATE, CONTENT + reset(1), repeated(data(1, b"x" * 600))),
    "trailers on a stream that is over": (
        Flood.LATE,
        CONTENT + reset(1),
        repeated(headers(1, [(b"x-t", b"u")])),
    ),
    "a block without end": (
        Flood.CONTINUATION,
        frame(Kind.HEADERS, 1),
        repeated(frame(Kind.CONTINUATION, 1)),
    ),
    "a block without end, in large pieces": (
        Flood.HEADERS,
        frame(Kind.HEADERS, 1),
        repeated(frame(Kind.CONTINUATION, 1, bytes(2_000))),
    ),
    "long heads": (Flood.HEADERS, b"", each_stream(lambda s: long_head(s) + window_update(s, 1))),
    "long heads that are given up": (Flood.RESETS, b"", each_stream(lambda s: bomb(s) + reset(s))),
    "SETTINGS": (Flood.SETTINGS, b"", repeated(settings_frame())),
    "SETTINGS of many": (
        Flood.SETTINGS,
        b"",
        repeated(frame(Kind.SETTINGS, 0, b"\0\x04\0\0\xff\xff" * 2_000)),
    ),
    "SETTINGS acknowledged": (Flood.SETTINGS, b"", repeated(frame(Kind.SETTINGS, 0, flags=ACK))),
    "PING": (Flood.PING, b"", repeated(frame(Kind.PING, 0, bytes(8)))),
    "PING acknowledged": (Flood.PING, b"", repeated(frame(Kind.PING, 0, bytes(8), flags=ACK))),
    "PRIORITY": (Flood.PRIORITY, b"", repeated(frame(Kind.PRIORITY, 1, bytes(4) + b"\x0f"))),
    "PRIORITY of idle streams": (
        Flood.PRIORITY,
        b"",
        each_stream(lambda s: frame(Kind.PRIORITY, s, bytes(4) + b"\x0f")),
    ),
    "unknown frames": (Flood.USELESS, b"", repeated(frame(0xBE, 0, b"grease"))),
    "PRIORITY_UPDATE": (Flood.USELESS, b"", repeated(frame(0x10, 0, b"\0\0\0\x01u=1"))),
    "GOAWAY": (Flood.USELESS, b"", repeated(goaway(0))),
    "empty content": (Flood.EMPTY, CONTENT, repeated(data(1, b""))),
    "padding alone": (Flood.EMPTY, CONTENT, repeated(data(1, b"", padding=255))),
    "an octet of content": (Flood.SMALL, CONTENT, repeated(data(1, b"x"))),
    "an octet of content in 255 of padding": (Flood.SMALL, CONTENT, repeated(data(1, b"x", padding=255))),
    "an octet of content a stream": (
        Flood.SMALL,
        CONTENT,
        lambda: (data(1, b"x") + data(1, bytes(300)) for _ in count()),
    ),
    "windows opened by one": (Flood.WINDOWS, b"", repeated(window_update(0, 1))),
    "a stream's window opened by one": (Flood.WINDOWS, headers(1, GET), repeated(window_update(1, 1))),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_ends_its_connection_after_so_many_frames(name: str) -> None:
    """At one instant, with everything acknowledged at once, and never more than its bucket holds."""
    flood, opening, units = FLOODS[name]
    talk = server()
    talk.at_once = lambda event, stream: _take(talk, event, stream)
    talk.hears(opening)
    sent, seen = _flood(talk, islice(units(), 20_000))
    assert seen is flood
    assert sent <= 2 * flood.burst + 130, "and the streams that may be open"
    assert said(talk)[-1].startswith("GOAWAY") and talk.codec.closing
    assert talk.codec.held == 0


def _take(talk: Talk[H2Server], event: str, stream: int) -> None:
    """As a connection does that gives content on at once."""
    if " content " in event:
        flow, talk.flow[stream] = talk.flow[stream], 0
        talk.codec.acknowledge(stream, flow)


def _flood(
    talk: Talk[H2Server] | Talk[H2Client] | Talk[H1Server], units: Iterator[bytes], seconds: float = 0.0
) -> tuple[int, Flood]:
    """Sends units until there is a fault; how many they were, and of what it was."""
    now = 100.0
    for number, unit in enumerate(units):
        now += seconds
        try:
            talk.codec.receive(unit, now)
        except FloodFault as fault:
            return number, fault.flood
    raise AssertionError("it never ended")


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_told_to_calm_down(name: str) -> None:
    flood, opening, units = FLOODS[name]
    talk = server()
    talk.at_once = lambda event, stream: _take(talk, event, stream)
    talk.hears(opening)
    _flood(talk, islice(units(), 20_000), seconds=0.1 / max(flood.per_second, 1.0))
    last = list(frames(talk.says()))[-1]
    assert (last.kind, last.code) == (Kind.GOAWAY, ErrorCodes.ENHANCE_YOUR_CALM)


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_takes_no_memory(name: str) -> None:
    """A16: less than a few hundred KiB, though nothing that it makes us say is ever taken."""
    _, opening, units = FLOODS[name]
    talk = server()
    talk.hears(opening)
    sending = list(islice(units(), 2_000))
    tracemalloc.start()
    try:
        for unit in sending:
            talk.codec.receive(unit, 100.0)
            talk.heard.clear()
            talk.heads.clear()
    except ProtocolFault:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 400 * 1024


def test_a_stream_given_up_in_the_same_read_never_begins() -> None:
    """A15: almost no request goes up."""
    talk = server()
    pairs = b"".join(headers(s, GET) + reset(s) for s in range(1, 201, 2))
    assert talk.hears(pairs + headers(201, GET)) == ["201 GET /a ended"]
    heads = b"".join(headers(s, GET) for s in range(203, 303, 2))
    resets = b"".join(reset(s) for s in range(203, 303, 2))
    assert talk.hears(heads + resets) == []
    assert talk.codec.machine.open_inbound_streams == 1


def test_what_a_stream_given_up_has_sent_is_passed_over_and_its_window_given_back() -> None:
    talk = server()
    begun, rest = headers(1, POST, end=False) + data(1, b"x"), data(1, b"y") + reset(1)
    assert talk.hears(begun, rest) == [
        "1 POST /a",
        "1 content x",
        "1 content y",
        "1 reset reset",
    ]
    for stream in range(3, 83, 2):
        upload = headers(stream, POST, end=False) + data(stream, bytes(16_000))
        ends = b"" if stream % 4 == 1 else headers(stream, [(b"x-t", b"u")])
        assert talk.hears(upload + ends + reset(stream)) == []
    updates = [
        each.number for each in frames(talk.says()) if (each.kind, each.stream) == (Kind.WINDOW_UPDATE, 0)
    ]
    assert talk.codec.machine.inbound_flow_control_window + sum(updates) > 0
    assert talk.codec._untold == frozenset()
    assert talk.hears(headers(83, POST, end=False) + data(83, b"z", end=True))[-1] == "83 end"


def test_it_looks_ahead_by_so_many_frames_alone() -> None:
    talk = server()
    between = frame(0xBE, 0) * AHEAD
    assert talk.hears(headers(1, GET) + between + reset(1)) == ["1 GET /a ended", "1 reset reset"]


@pytest.mark.parametrize("content", [b"\0\0\4\3\0\0\0\0\3\0\0\0\0", b"\0\0\4\3" * 9])
def test_content_that_looks_like_a_reset_is_none(content: bytes) -> None:
    talk = server()
    heard = talk.hears(headers(1, POST, end=False) + data(1, content) + headers(3, GET))
    assert [event for event in heard if "content" not in event] == ["1 POST /a", "3 GET /a ended"]


def test_whoever_has_had_a_head_may_give_up_as_often_as_it_likes() -> None:
    talk = server()
    for stream in range(1, 4_001, 2):
        talk.hears(headers(stream, GET))
        talk.codec.send_head(stream, ResponseHead(200, []))
        assert talk.hears(reset(stream)) == [f"{stream} reset reset"]
        talk.says()


def test_a_head_has_so_many_fields_and_no_more() -> None:
    most: list[tuple[bytes, bytes]] = [
        (b"x-%d" % number, b"") for number in range(MAX_REQUEST_FIELDS - len(GET))
    ]
    assert server().hears(headers(1, [*GET, *most])) == ["1 GET /a ended"]
    talk = server()
    assert talk.refuses(headers(1, [*GET, *most, (b"x", b"")])) == []
    assert said(talk) == ["GOAWAY 0 0 ENHANCE_YOUR_CALM"]


# What an API server sends.

OPENED = headers(1, OK, end=False)

SERVER_FLOODS: dict[str, tuple[Flood, bytes, Units]] = {
    **{name: FLOODS[name] for name in ("SETTINGS", "PING", "PRIORITY", "unknown frames", "GOAWAY")},
    "empty content": (Flood.EMPTY, OPENED, repeated(data(1, b""))),
    "padding alone": (Flood.EMPTY, OPENED, repeated(data(1, b"", padding=255))),
    "resets of one stream": (Flood.LATE, OPENED, repeated(reset(1))),
    "content behind the end": (Flood.LATE, headers(1, OK), repeated(data(1, b"x" * 600))),
    "content on a stream that it gave up": (Flood.LATE, OPENED + reset(1), repeated(data(1, b"x"))),
    "trailers on a stream that is over": (
        Flood.LATE,
        OPENED + reset(1),
        repeated(headers(1, [(b"x-t", b"u")])),
    ),
    "windows opened by one": (Flood.WINDOWS, b"", repeated(window_update(0, 1))),
    "a block without end": (
        Flood.CONTINUATION,
        frame(Kind.HEADERS, 1),
        repeated(frame(Kind.CONTINUATION, 1)),
    ),
}


def client(*, upload: bool = False) -> Talk[H2Client]:
    """One that has exchanged SETTINGS, and asked on stream 1."""
    talk = Talk(H2Client)
    talk.hears(settings_frame())
    asks(talk, upload=upload)
    talk.says()
    return talk


def asks(talk: Talk[H2Client], *, upload: bool = False) -> int:
    stream = talk.codec.open()
    talk.codec.send_head(stream, RequestHead(b"GET", b"/a", [], authority=b"api", ended=not upload))
    return stream


@pytest.mark.parametrize("name", SERVER_FLOODS)
def test_an_api_server_floods_nobody_either(name: str) -> None:
    flood, opening, units = SERVER_FLOODS[name]
    talk = client()
    talk.codec.receive(opening, 100.0)
    sent, seen = _flood(talk, islice(units(), 20_000))
    assert (seen, sent <= 2 * flood.burst + 4) == (flood, True)
    assert said(talk)[-1] == "GOAWAY 0 0 ENHANCE_YOUR_CALM"


def test_an_api_server_may_send_as_small_pieces_as_it_likes() -> None:
    """A watch is small pieces, for as long as it is open."""
    talk = client()
    talk.hears(headers(1, OK, end=False))
    for _ in range(10_000):
        talk.codec.receive(data(1, b"x"))
        talk.codec.acknowledge(1, 1)


def test_the_events_of_a_hundred_watches_given_up_at_once_are_passed_over_in_silence() -> None:
    """What was in flight: thousands of frames, and servers too count the resets that they are sent."""
    talk = client()
    streams = [1, *(asks(talk) for _ in range(99))]
    talk.hears(*(headers(stream, OK, end=False) for stream in streams))
    for stream in streams:
        talk.codec.reset(stream)
    talk.says()
    for _ in range(100):
        assert talk.hears(*(data(stream, b"x" * 150) for stream in streams)) == []
    assert {each.kind for each in frames(talk.says())} <= {Kind.WINDOW_UPDATE}
    assert talk.hears(headers(asks(talk), OK)) == [f"{streams[-1] + 2} 200 ended"]


def test_more_than_a_streams_window_let_through_is_not_what_was_in_flight() -> None:
    talk = client()
    talk.hears(headers(1, OK, end=False), data(1, bytes(16_000)))
    talk.codec.reset(1)
    talk.says()
    for left in range(UPSTREAM_WINDOW - 16_000, 0, -16_000):
        talk.hears(data(1, bytes(min(left, 16_000))))
    assert not any(each.startswith("RST_STREAM") for each in said(talk))
    talk.hears(data(1, b"x"))
    assert said(talk) == ["RST_STREAM 1 STREAM_CLOSED"]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 16_384)), max_size=60))
def test_what_was_in_flight_is_given_back_to_the_connections_window(sent: list[tuple[int, int]]) -> None:
    talk = client()
    streams = [1, *(asks(talk) for _ in range(3))]
    talk.hears(*(headers(stream, OK, end=False) for stream in streams))
    for stream in streams:
        talk.codec.reset(stream)
    talk.says()
    window = talk.codec.machine._inbound_flow_control_window_manager
    for which, size in sent:
        talk.hears(data(streams[which], bytes(size)))
    assert window.current_window_size + window._bytes_processed == window.max_window_size


def test_of_streams_given_up_so_many_are_remembered() -> None:
    talk = client()
    for _ in range(3 * MAX_RESET_STREAMS):
        talk.codec.reset(asks(talk))
    assert len(talk.codec.machine._late) == MAX_RESET_STREAMS


def test_1xx_heads_have_an_end() -> None:
    """The request's own, with no flood said: one more is no response any more."""
    talk = client()
    stream = asks(talk)
    early = [(b":status", b"103"), (b"link", b"</style.css>")]
    assert talk.hears(*[headers(1, early, end=False)] * MAX_INFORMATIONAL) == []
    assert talk.hears(headers(1, early, end=False)) == ["1 reset protocol"]
    assert said(talk)[-1] == "RST_STREAM 1 PROTOCOL_ERROR"
    assert talk.hears(headers(stream, early, end=False), headers(stream, OK)) == [f"{stream} 200 ended"]


def test_1xx_heads_are_counted_for_each_request() -> None:
    talk = client()
    informing = headers(1, [(b":status", b"102")], end=False)
    for number in range(300):
        stream = 2 * number + 1
        heads = informing.replace(b"\0\0\0\1", stream.to_bytes(4, "big")) * (MAX_INFORMATIONAL - 1)
        assert talk.hears(heads) == []
        if number % 2:
            talk.codec.reset(stream)
        else:
            assert talk.hears(headers(stream, OK)) == [f"{stream} 200 ended"]
        asks(talk)
    assert len(talk.codec._informed) <= MAX_STREAMS + 1


def test_a_1xx_head_has_few_fields() -> None:
    talk = client()
    many: list[tuple[bytes, bytes]] = [(b"x-%d" % number, b"") for number in range(MAX_FIELDS)]
    assert talk.hears(headers(1, [(b":status", b"103"), *many], end=False)) == ["1 reset protocol"]


# Honest servers, at one instant.


def answers(talk: Talk[H2Server] | Talk[H2Client], stream: int) -> None:
    """A list with as many warnings as Kubernetes sends, each connection's own frames beside it."""
    warning = (b"warning", b'299 - "' + b"x" * 8 * 1024 + b'"')
    talk.codec.receive(headers(stream, [*OK, warning], end=False) + data(stream, b"{}") + data(stream, b""))
    talk.codec.receive(frame(Kind.PING, 0, bytes(8)) + data(stream, b"", end=True))


def gives_up(talk: Talk[H2Client], stream: int) -> None:
    """A response that fails, which was half read, and whose reset meets ours."""
    talk.codec.receive(headers(stream, OK, end=False) + data(stream, b"{"))
    talk.codec.reset(stream)
    talk.codec.receive(data(stream, b"}") + reset(stream))


def informs(talk: Talk[H2Client], stream: int) -> None:
    talk.codec.receive(headers(stream, [(b":status", b"100")], end=False) + headers(stream, OK))


@given(st.lists(st.tuples(st.sampled_from([answers, gives_up, informs]), st.integers(1, 200)), max_size=6))
@settings(max_examples=40, deadline=None)
def test_an_honest_server_is_never_a_flood(said: list[tuple[Callable[..., None], int]]) -> None:
    talk = client()
    stream = 1
    for shape, times in said:
        for _ in range(times):
            shape(talk, stream)
            talk.says()
            stream = asks(talk)


def test_a_server_that_reads_an_upload_piece_by_piece_is_no_flood() -> None:
    """Go's opens both windows for each 4 KiB."""
    talk = client(upload=True)
    for _ in range(3_000):
        talk.codec.send_data(1, bytes(16_384), False)
        talk.says()
        talk.codec.receive((window_update(0, 4096) + window_update(1, 4096)) * 4)


# HTTP/1.1.


def test_a_pipeline_without_end_is_refused() -> None:
    talk = Talk(H1Server)
    talk.at_once = lambda event, stream: answer(talk.codec, stream) if event.endswith("ended") else None
    heard = talk.refuses(HEAD * 3_000)
    assert len(heard) == Flood.PIPELINE.burst + 1
    assert talk.codec.closing


def test_one_request_after_the_other_is_no_pipeline() -> None:
    talk = Talk(H1Server)
    for stream in range(1, 3_000):
        assert talk.hears(HEAD) == [f"{stream} GET /a ended"]
        answer(talk.codec, stream)
        talk.says()
        talk.codec.proceed()


@pytest.mark.parametrize("size", [1, 10, 100, 200])
def test_small_chunks_are_refused_after_so_many(size: int) -> None:
    talk = Talk(H1Server)
    talk.hears(UPLOAD)
    piece = b"%x\r\n%b\r\n" % (size, b"x" * size)
    sent, flood = _flood(talk, islice(iter(lambda: piece * 10, None), 2_000))
    assert flood is Flood.SMALL
    assert 10 * sent <= 2 * Flood.SMALL.burst
    assert talk.codec.closing


def test_an_upload_an_octet_a_read_is_refused() -> None:
    talk = Talk(H1Server)
    talk.hears(b"POST /a HTTP/1.1\r\nHost: f\r\nContent-Length: 100000\r\n\r\n")
    sent, flood = _flood(talk, islice(iter(lambda: b"x", None), 10_000))
    assert (flood, sent) == (Flood.SMALL, int(Flood.SMALL.burst / (1 - 1 / 512)))


def test_many_fields_are_refused_before_h11_reads_them() -> None:
    talk = Talk(H1Server)
    assert talk.refuses(b"GET / HTTP/1.1\r\nHost: f\r\n" + b"a:\r\n" * 8_000 + b"\r\n", status=431) == []


def test_a_trick_behind_many_chunks_is_found_when_its_turn_comes() -> None:
    """What came with a head is looked at first (A14), but no flood of chunks is."""
    for chunks, heard in ((CHECKED_CHUNKS - 1, 0), (CHECKED_CHUNKS + 1, 1)):
        talk = Talk(H1Server)
        events = talk.refuses(UPLOAD + b"1\r\nx\r\n" * chunks + b"5;a\r\n" + HEAD)
        assert (len(events) > 0) is bool(heard)
        assert not any("GET" in event for event in events)


# Work in slices.

ANSWERED = (
    b"HTTP/1.1 102 Processing\r\n\r\n" * 20
    + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%b\r\n" % (size, b"x" * size) for size in (1, 2, 3, 700, 1, 1) * 9)
    + b"0\r\n\r\n"
)
SERVED = (
    settings_frame()
    + headers(1, [(b":status", b"102")], end=False) * 20
    + headers(1, OK, end=False)
    + b"".join(data(1, b"%d" % number) for number in range(50))
    + frame(Kind.PING, 0, bytes(8))
    + headers(3, [*OK, *((b"x-%d" % number, b"") for number in range(200))])
    + data(1, b"", end=True)
)
PIPELINED = (
    HEAD
    + UPLOAD
    + b"".join(b"%x\r\n%b\r\n" % (size, b"x" * size) for size in (1, 2, 3, 700, 1, 1))
    + b"0\r\n\r\n"
    + HEAD * 3
)
MULTIPLEXED = (
    PREFACE
    + settings_frame()
    + headers(1, POST, end=False)
    + b"".join(data(1, b"%d" % number) for number in range(20))
    + b"".join(headers(stream, GET) for stream in range(3, 23, 2))
    + frame(Kind.PING, 0, bytes(8))
    + headers(23, GET)
    + reset(23)
    + data(1, b"", end=True)
)


@given(st.lists(st.integers(1, len(PIPELINED)), max_size=6), st.integers(1, 40))
def test_pipelined_work_in_slices_is_the_same_work(cuts: list[int], work: int) -> None:
    def told(work: int, pieces: list[bytes]) -> list[str]:
        talk = Talk(H1Server)
        for piece in pieces:
            talk.codec.work = work
            talk.codec.receive(piece)
        for _ in range(200):
            if not talk.codec._answered and talk.codec._walk.done:
                answer(talk.codec, talk.codec.stream)
            talk.codec.work = work
            talk.codec.proceed()
        assert talk.codec.held == 0
        return talk.heard

    assert told(work, _cut(PIPELINED, cuts)) == told(ALL, [PIPELINED])


@given(st.lists(st.integers(1, len(MULTIPLEXED)), max_size=6), st.integers(1, 40))
def test_frames_in_slices_are_the_same_frames(cuts: list[int], work: int) -> None:
    talk = Talk(H2Server)
    for piece in _cut(MULTIPLEXED, cuts):
        talk.codec.work = work
        talk.codec.receive(piece)
    while talk.codec.unfinished:
        talk.codec.work = work
        talk.codec.proceed()
    assert talk.codec.held == 0
    whole = Talk(H2Server)
    whole.codec.receive(MULTIPLEXED)
    # Whether a stream that is given up was told of depends on what was read at once, and nothing else does.
    assert [e for e in talk.heard if not e.startswith("23 ")] == [
        e for e in whole.heard if not e.startswith("23 ")
    ]


@given(
    st.sampled_from([(H1Client, ANSWERED), (H2Client, SERVED)]),
    st.lists(st.integers(1, len(SERVED)), max_size=6),
    st.integers(1, 40),
)
def test_a_servers_answers_in_slices_are_the_same_answers(
    served: tuple[Callable[..., H1Client | H2Client], bytes], cuts: list[int], work: int
) -> None:
    kind, wire = served

    def asked() -> Talk[H1Client | H2Client]:
        talk = Talk(kind)
        for _ in range(2 if kind is H2Client else 1):
            talk.codec.send_head(talk.codec.open(), RequestHead(b"GET", b"/a", [], authority=b"api"))
        return talk

    talk, whole = asked(), asked()
    for piece in _cut(wire, [min(cut, len(wire)) for cut in cuts]):
        talk.codec.work = work
        talk.codec.receive(piece)
    while talk.codec.unfinished:
        talk.codec.work = work
        before = len(talk.codec._held)
        talk.codec.proceed()
        assert len(talk.codec._held) < before
    whole.codec.receive(wire)
    assert len(talk.codec._held) == 0
    assert joined(talk.heard) == joined(whole.heard)
    assert whole.heard[-1] == "1 end"


def _cut(wire: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cuts), len(wire)]
    return [wire[begin:end] for begin, end in pairwise(at)]


def test_a_turns_work_is_so_many_frames_or_so_few_heads() -> None:
    talk = server()
    talk.codec.work = TURN_WORK
    talk.hears(*[frame(0xBE, 0) * 10] * 10)
    assert talk.codec.unfinished
    assert talk.codec.held == (100 - TURN_WORK) * 9
    talk = server()
    talk.codec.work = TURN_WORK
    heard = talk.hears(b"".join(headers(stream, GET) for stream in range(1, 33, 2)))
    assert len(heard) == -(-TURN_WORK // HEAD_WORK)
    talk = server()
    talk.codec.work = TURN_WORK
    turns = [len(talk.hears(b"".join(long_head(stream) for stream in range(1, 33, 2))))]
    while talk.codec.unfinished:
        before, talk.codec.work = len(talk.heard), TURN_WORK
        talk.codec.proceed()
        turns.append(len(talk.heard) - before)
    assert max(turns) == 1
    assert sum(turns) == 16
    pipelined = Talk(H1Server)
    pipelined.codec.work = TURN_WORK
    pipelined.hears(UPLOAD + b"1\r\nx\r\n" * 100)
    assert pipelined.codec.unfinished
    assert len(pipelined.heard) - 1 <= TURN_WORK - HEAD_WORK


def test_a_turns_work_on_what_a_server_sends_is_so_many_chunks_heads_or_fields() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 100
    talk = Talk(H1Client)
    talk.codec.work = TURN_WORK
    talk.codec.send_head(talk.codec.open(), RequestHead(b"GET", b"/a", [], authority=b"api"))
    assert len(talk.hears(chunked)) - 1 <= TURN_WORK - HEAD_WORK
    assert talk.codec.unfinished
    many: list[tuple[bytes, bytes]] = [(b"x-%d" % number, b"") for number in range(32 * TURN_WORK)]
    served = client()
    served.codec.work = TURN_WORK
    asks(served)
    assert served.hears(headers(1, [*OK, *many[:2_000]]) + headers(3, OK)) == ["1 200 ended"]
    assert served.codec.unfinished


# Honest traffic, in the shapes that clients give it, all at one instant: nothing of it may be a flood.


def chromium(talk: Talk[H2Server], stream: int, size: int) -> None:
    """Says a request's priority, then again; opens windows as half of them is used; grease now and then."""
    more = frame(0x10, 0, stream.to_bytes(4, "big") + b"u=1, i")
    talk.hears(headers(stream, GET) + more + frame(0xBA, 0, b"grease"))
    _send(talk, stream, size, lambda sent: window_update(0, sent) if sent else more)


def go(talk: Talk[H2Server], stream: int, size: int) -> None:
    """Opens both windows for each 4 KiB; closes a body that it has not read to its end, with a PING."""
    talk.hears(headers(stream, GET))
    _send(
        talk,
        stream,
        size,
        lambda sent: (window_update(0, 4096) + window_update(stream, 4096)) * (sent // 4096),
    )
    talk.hears(reset(stream) + frame(Kind.PING, 0, bytes(8)))


def library(talk: Talk[H2Server], stream: int, size: int) -> None:
    """Opens both windows for each frame, be it a watch's event."""
    talk.hears(headers(stream, GET))
    _send(
        talk, stream, size, lambda sent: window_update(0, sent) + window_update(stream, sent) if sent else b""
    )


def uploader(talk: Talk[H2Server], stream: int, size: int) -> None:
    """Content in frames as large as they go, and an empty one that ends it."""
    talk.hears(headers(stream, POST, end=False))
    for at in range(0, size, 16_384):
        piece = bytes(min(16_384, size - at))
        talk.hears(data(stream, piece))
        talk.codec.acknowledge(stream, len(piece))
    talk.hears(data(stream, b"", end=True))
    answer(talk.codec, stream)


def refused_uploader(talk: Talk[H2Server], stream: int, size: int) -> None:
    """Had its answer before its end: what was in flight comes after the reset."""
    talk.hears(headers(stream, POST, end=False))
    answer(talk.codec, stream)
    talk.codec.reset(stream, no_error=True)
    for at in range(0, min(size, 65_536), 16_384):
        talk.hears(data(stream, bytes(min(16_384, size - at))))
    talk.hears(reset(stream))


def _send(talk: Talk[H2Server], stream: int, size: int, hears: Callable[[int], bytes]) -> None:
    """A response of `size` octets in frames of 16 KiB or, where it is a watch's, an event each."""
    talk.codec.send_head(stream, ResponseHead(200, []))
    while size:
        piece = min(size, 16_384 if size > 2_000 else 500, talk.codec.window(stream))
        talk.codec.send_data(stream, bytes(piece), False)
        size -= piece
        talk.says()
        talk.codec.receive(hears(piece))
        if not talk.codec.window(stream):
            talk.codec.receive(window_update(0, 65_535) + window_update(stream, 65_535))
    talk.codec.send_data(stream, b"", True)
    talk.codec.receive(hears(0))
    talk.says()


SHAPES = [chromium, go, library, uploader, refused_uploader]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(SHAPES), st.integers(1, 40), st.sampled_from([0, 1, 700, 1_999, 20_000, 70_000])
        ),
        max_size=8,
    )
)
@settings(max_examples=40, deadline=None)
def test_honest_traffic_is_never_a_flood(asked: list[tuple[Callable[..., None], int, int]]) -> None:
    talk = server()
    streams = count(1, 2)
    for shape, times, size in asked:
        for _ in range(times):
            shape(talk, next(streams), size)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_honest_traffic_is_no_flood_however_long_it_lasts(shape: Callable[..., None]) -> None:
    talk = server()
    for number in range(1_500):
        shape(talk, 2 * number + 1, 1_000)


def test_a_load_of_requests_is_no_flood() -> None:
    """h2load: 32 streams at once, thousands of requests."""
    talk = server()
    streams = count(1, 2)
    for _ in range(100):
        batch = list(islice(streams, 32))
        assert len(talk.hears(b"".join(headers(stream, GET) for stream in batch))) == 32
        for stream in batch:
            answer(talk.codec, stream)
        talk.says()


def test_a_page_that_leaves_and_the_next_one_give_up_all_their_streams() -> None:
    talk = server()
    streams = count(1, 2)
    for _ in range(2):
        page = list(islice(streams, 128))
        talk.hears(*(headers(stream, GET) for stream in page))
        talk.hears(*(reset(stream) for stream in page))
    assert talk.hears(headers(next(streams), GET))


def test_cookies_of_8_kib_with_each_of_128_requests_at_once_are_no_flood() -> None:
    talk = server()
    cookie = (b"cookie", b"a" * (8 * 1024 + LARGE_HEAD - 100))
    for stream in range(1, 257, 2):
        talk.hears(headers(stream, [*GET, cookie]))
    for stream in range(1, 257, 2):
        answer(talk.codec, stream)
    talk.says()
    for stream in range(257, 2_257, 2):
        talk.hears(headers(stream, [*GET, cookie]))
        answer(talk.codec, stream)


# What is said about them.


def test_the_docs_have_each_kind_with_its_limit() -> None:
    table = (Path(__file__).parents[2] / "docs" / "defences.md").read_text()
    for flood in Flood:
        assert f"`{flood.word}`" in table
        assert f"{flood.burst:,.0f}" in table or flood is Flood.HEADERS


def test_a_fault_names_its_kind_and_nothing_of_the_peers() -> None:
    for flood in Flood:
        assert str(FloodFault(flood)) == "a flood: " + flood.word.replace("_", " ")


def test_a_rapid_reset_that_has_come_whole_is_ended_before_its_first_request() -> None:
    talk = server()
    before = [*talk.heard]
    pairs = b"".join(headers(2 * n + 1, GET) + reset(2 * n + 1) for n in range(RESETS_AT_ONCE + 1))
    with pytest.raises(FloodFault) as fault:
        talk.codec.receive(pairs)
    assert fault.value.flood is Flood.RESETS
    assert talk.heard == before
    assert list(frames(talk.says()))[-1].code == ErrorCodes.ENHANCE_YOUR_CALM


def test_content_that_looks_like_resets_is_content() -> None:
    talk = server()
    looks = reset(1) * (RESETS_AT_ONCE + 100)
    heard = talk.hears(headers(1, POST, end=False) + data(1, looks, end=True))
    assert heard[-1] == "1 end"
    assert talk.flow[1] == len(looks)

"""HTTP/1.1 as a dialogue: what a codec hears, what its sink is told, what it says (A14, A19 to A21, A23)."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foyer.protocol.events import Fields, RequestHead, ResponseHead
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.floods import MAX_INFORMATIONAL
from foyer.protocol.h1 import H1Client, H1Server, whole_response
from tests.support.talk import Talk, answer, joined

GET = b"GET /a HTTP/1.1\r\nHost: f\r\n\r\n"
NEXT = b"GET /b HTTP/1.1\r\nHost: f\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: f\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: f\r\nTransfer-Encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.fixture
def server() -> Talk[H1Server]:
    return Talk(H1Server)


# The server.


def test_a_request_is_told_and_answered(server: Talk[H1Server]) -> None:
    assert server.hears(GET) == ["1 GET /a ended"]
    answer(server.codec, 1)
    assert server.says() == OK
    assert not server.codec.closing


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        (GET, []),
        (GET, [(b"content-length", b"1000")]),
        (GET.replace(b"HTTP/1.1", b"HTTP/1.0"), []),
    ],
    ids=["chunked", "a length", "until close"],
)
@given(
    pieces=st.lists(st.integers(0, 5), max_size=4),
    then=st.sampled_from(["more", "a reset", "the end", "another stream"]),
    taken=st.booleans(),
)
def test_a_piece_that_is_taken_alone_is_framed_as_any(
    asked: bytes, fields: Fields, pieces: list[int], then: str, taken: bool
) -> None:
    assume(then != "the end" or not fields)
    said = []
    for alone in (False, True):
        codec = heard(asked)
        codec.send_head(1, ResponseHead(200, fields))
        out = codec.take() if taken else b""

        def piece(stream: int, size: int, codec: H1Server = codec, alone: bool = alone) -> bytes:
            if alone:
                return codec.take_alone(stream, b"hello"[:size])
            codec.send_data(stream, b"hello"[:size], False)
            return codec.take()

        out += b"".join([piece(1, size) for size in pieces])
        if then == "a reset":
            codec.reset(1)
        elif then == "the end":
            codec.send_data(1, b"", True)
        said.append(out + piece(2 if then == "another stream" else 1, 5))
    assert said[0] == said[1]


def heard(asked: bytes) -> H1Server:
    """A codec that has been asked this."""
    talk = Talk(H1Server)
    talk.hears(asked)
    return talk.codec


def test_a_head_has_its_fields_in_lower_case_and_its_host_apart(server: Talk[H1Server]) -> None:
    server.hears(b"GET /a?b HTTP/1.1\r\nHost:  f:1 \r\nX-A: B \r\nX-A:\r\n\r\n")
    head = server.heads[1]
    assert isinstance(head, RequestHead)
    assert head.fields == [(b"host", b"f:1"), (b"x-a", b"B"), (b"x-a", b"")]
    assert (head.authority, head.target, head.protocol) == (b"f:1", b"/a?b", b"")


def test_a_connection_is_kept_for_the_next_request(server: Talk[H1Server]) -> None:
    for stream in (1, 2, 3):
        assert server.hears(GET) == [f"{stream} GET /a ended"]
        answer(server.codec, stream)
        assert server.says() == OK
    assert server.hears(POST + b"hello") == ["4 POST /a", "4 content hello", "4 end"]
    answer(server.codec, 4)
    assert server.says() == OK
    assert not server.codec.closing


def test_pipelined_requests_wait_for_the_answer_before_them(server: Talk[H1Server]) -> None:
    assert server.hears(POST + b"hello" + NEXT + NEXT) == ["1 POST /a", "1 content hello", "1 end"]
    assert server.codec.held == 2 * len(NEXT)
    for stream in (1, 2):
        answer(server.codec, stream)
        server.codec.proceed()
        assert server.heard[-1] == f"{stream + 1} GET /b ended"
    answer(server.codec, 3)
    assert server.says() == OK * 3
    assert server.codec.held == 0


def test_pipelined_requests_are_answered_in_order_by_a_sink_that_answers_at_once(
    server: Talk[H1Server],
) -> None:
    def at_once(event: str, stream: int) -> None:
        if event.endswith("ended") or event.endswith("end"):
            answer(server.codec, stream, b"%d" % stream)

    server.at_once = at_once
    server.hears(GET + POST + b"hello" + NEXT + CHUNKED + b"0\r\n\r\n" + NEXT)
    said = server.says()
    assert [said.index(b"\r\n\r\n%d" % stream) for stream in range(1, 6)] == sorted(
        said.index(b"\r\n\r\n%d" % stream) for stream in range(1, 6)
    )
    assert b"connection: close" not in said
    assert not server.codec.closing


@pytest.mark.parametrize("event", ["1 POST /a", "1 content hello", "1 end"])
def test_an_answer_at_once_leaves_the_connection_in_step(server: Talk[H1Server], event: str) -> None:
    """Whenever it comes: the next request is read as a request, or not at all and the head says so."""
    server.at_once = lambda told, stream: answer(server.codec, stream) if told == event else None
    server.hears(POST + b"hello")
    said = server.says()
    assert (b"connection: close" in said) == server.codec.closing
    server.at_once = lambda told, stream: None
    expected = [] if server.codec.closing else ["2 GET /b ended"]
    assert server.hears(NEXT) == expected


def test_an_answer_before_the_uploads_end_closes_the_connection(server: Talk[H1Server]) -> None:
    """A19, A20: what follows is not a request."""
    server.hears(POST + b"he")
    answer(server.codec, 1, status=413)
    assert b"connection: close\r\n" in server.says().lower()
    assert server.codec.closing
    assert server.codec.unread
    assert server.hears(b"llo" + NEXT) == []


def test_an_upload_goes_on_beside_its_early_answer(server: Talk[H1Server]) -> None:
    server.hears(POST + b"he")
    server.codec.send_head(1, ResponseHead(200, []))
    assert server.hears(b"llo") == ["1 content llo", "1 end"]
    server.codec.send_data(1, b"ok", True)
    assert server.says().endswith(b"2\r\nok\r\n0\r\n\r\n")
    assert server.codec.closing
    assert server.hears(NEXT) == []


@pytest.mark.parametrize("status", [204, 304])
def test_a_response_without_content_has_no_framing(server: Talk[H1Server], status: int) -> None:
    server.hears(GET)
    server.codec.send_head(1, ResponseHead(status, [], ended=True))
    said = server.says()
    assert said.endswith(b"\r\n\r\n")
    assert b"content-length" not in said.lower()
    assert b"transfer-encoding" not in said.lower()
    assert server.hears(NEXT) == ["2 GET /b ended"]


def test_the_answer_to_head_has_the_length_and_no_content(server: Talk[H1Server]) -> None:
    server.hears(b"HEAD /a HTTP/1.1\r\nHost: f\r\n\r\n")
    server.codec.send_head(1, ResponseHead(200, [(b"content-length", b"5")], ended=True))
    assert server.says() == b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
    assert server.hears(NEXT) == ["2 GET /b ended"]


def test_an_empty_response_says_that_it_is(server: Talk[H1Server]) -> None:
    server.hears(GET)
    server.codec.send_head(1, ResponseHead(200, [], ended=True))
    assert server.says() == b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


def test_content_of_unknown_length_is_chunked(server: Talk[H1Server]) -> None:
    server.hears(GET)
    server.codec.send_head(1, ResponseHead(200, []))
    server.codec.send_data(1, b"hello", False)
    assert server.says() == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    server.codec.send_data(1, b"", True)
    assert server.says() == b"0\r\n\r\n"
    assert server.hears(NEXT) == ["2 GET /b ended"]


@pytest.mark.parametrize(
    "head",
    [
        b"GET /a HTTP/1.0\r\n\r\n",
        b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: f\r\nConnection: close\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: f\r\nConnection: x, Close\r\n\r\n",
    ],
)
def test_the_last_request_of_a_connection_is_the_last(server: Talk[H1Server], head: bytes) -> None:
    assert server.hears(head + NEXT) == ["1 GET /a ended"]
    answer(server.codec, 1)
    assert b"connection: close" in server.says().lower()
    assert server.codec.closing
    server.codec.proceed()
    assert server.hears(NEXT) == []


def test_http_1_0_reads_content_of_unknown_length_to_the_close(server: Talk[H1Server]) -> None:
    server.hears(b"GET /a HTTP/1.0\r\n\r\n")
    server.codec.send_head(1, ResponseHead(200, []))
    assert server.codec.until_close
    server.codec.send_data(1, b"hello", True)
    said = server.says()
    assert said.endswith(b"\r\n\r\nhello")
    assert b"chunked" not in said
    assert server.codec.closing


def test_a_length_is_an_end_for_http_1_0_too(server: Talk[H1Server]) -> None:
    server.hears(b"GET /a HTTP/1.0\r\n\r\n")
    answer(server.codec, 1)
    assert not server.codec.until_close


def test_100_is_sent_once_and_only_to_who_waits_for_it(server: Talk[H1Server]) -> None:
    """A20: never late, never unasked."""
    server.hears(b"POST /a HTTP/1.1\r\nHost: f\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
    server.codec.send_informational(1, 100)
    server.codec.send_informational(1, 100)
    assert server.says() == b"HTTP/1.1 100 Continue\r\n\r\n"
    server.hears(b"hello")
    answer(server.codec, 1)
    server.says()
    server.hears(POST)
    server.codec.send_informational(2, 100)
    assert server.says() == b""


@pytest.mark.parametrize("content", [b"", b"he"])
def test_100_is_not_sent_after_content_or_an_answer(server: Talk[H1Server], content: bytes) -> None:
    server.hears(
        b"POST /a HTTP/1.1\r\nHost: f\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n" + content
    )
    if not content:
        answer(server.codec, 1, status=403)
        assert server.says().startswith(b"HTTP/1.1 403")
        assert server.codec.closing
    server.codec.send_informational(1, 100)
    assert server.says() == b""


@pytest.mark.parametrize(
    "asked",
    [
        b"GET /a HTTP/1.1\r\nHost: f\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: f\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"CONNECT f:443 HTTP/1.1\r\nHost: f\r\n\r\n",
    ],
)
def test_what_follows_a_refused_upgrade_is_a_request(server: Talk[H1Server], asked: bytes) -> None:
    """A23: no open pipe is left."""
    assert len(server.hears(asked + NEXT)) == 1
    answer(server.codec, 1, status=501)
    assert server.says().startswith(b"HTTP/1.1 501")
    server.codec.proceed()
    assert server.heard[1:] == ([] if server.codec.closing else ["2 GET /b ended"])


@pytest.mark.parametrize("status", [200, 204, 299])
def test_no_tunnel_is_ever_opened(server: Talk[H1Server], status: int) -> None:
    """Behind a 2xx to CONNECT no content can be framed (RFC 9110 section 9.3.6): nobody may say one."""
    server.hears(b"CONNECT f:443 HTTP/1.1\r\nHost: f\r\n\r\n")
    with pytest.raises(AssertionError, match="tunnel"):
        server.codec.send_head(1, ResponseHead(status, []))
    assert server.says() == b""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_requests_in_pieces_are_heard_as_whole_ones(server: Talk[H1Server], size: int) -> None:
    server.at_once = lambda event, stream: (
        answer(server.codec, stream) if event.endswith(("end", "ended")) else None
    )
    data = POST + b"hello" + CHUNKED + b"3\r\nabc\r\n01\r\nd\r\n0\r\nX-T: u\r\n\r\n" + GET
    heard = server.hears(*(data[at : at + size] for at in range(0, len(data), size)))
    assert joined(heard) == [
        "1 POST /a",
        "1 content hello",
        "1 end",
        "2 POST /a",
        "2 content abcd",
        "2 end",
        "3 GET /a ended",
    ]


def test_nothing_of_a_message_is_kept_once_it_was_passed_on(server: Talk[H1Server]) -> None:
    server.hears(b"GET /a HTTP/1.1\r\nHost: f\r\nX-A: " + b"y" * 60_000 + b"\r\n\r\n")
    assert server.codec.held == 0
    assert server.codec._h11.trailing_data == (b"", False)
    answer(server.codec, 1)
    server.hears(CHUNKED + b"FFFF\r\n" + b"y" * 0xFFFF + b"\r\n")
    assert server.codec.held == 0
    assert server.codec._h11.trailing_data == (b"", False)


# What is answered unread.


class TurningAway:
    """An application that turns everything away but `/open`."""

    def __init__(self) -> None:
        self.targets: list[bytes] = []
        self.talk: Talk[H1Server] = Talk(lambda sink: H1Server(sink, self.unread))

    def unread(self, target: bytes) -> bytes:
        self.targets.append(target)
        return b"" if target == b"/open" else BUSY


BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy"
OPEN = b"GET /open HTTP/1.1\r\nHost: f\r\n\r\n"


def test_a_request_that_is_not_worth_reading_is_answered_and_nobody_is_told() -> None:
    server = TurningAway()
    assert server.talk.hears(b"GET /a?b HTTP/1.1\r\nHost: f\r\nCookie: c\r\n\r\n") == []
    assert (server.targets, server.talk.says()) == ([b"/a?b"], BUSY)


def test_the_connection_goes_on_as_if_nothing_had_been_asked() -> None:
    server = TurningAway()
    for _ in range(3):
        assert server.talk.hears(GET) == []
        assert server.talk.says() == BUSY
        assert not server.talk.codec.closing
        assert not server.talk.codec.unread
    assert server.talk.hears(OPEN) == ["1 GET /open ended"]
    answer(server.talk.codec, 1)
    assert server.talk.says() == OK
    assert server.talk.hears(GET) == []
    assert server.talk.says() == BUSY


def test_pipelined_requests_are_turned_away_and_read_in_their_order() -> None:
    server = TurningAway()
    assert server.talk.hears(GET + NEXT + OPEN + GET) == ["1 GET /open ended"]
    assert server.talk.says() == BUSY * 2
    answer(server.talk.codec, 1)
    server.talk.codec.proceed()
    assert server.talk.says() == OK + BUSY
    assert server.targets == [b"/a", b"/b", b"/open", b"/a"]


def test_a_head_that_comes_byte_by_byte_is_turned_away_when_it_is_whole() -> None:
    server = TurningAway()
    assert server.talk.hears(*(bytes([octet]) for octet in GET)) == []
    assert (server.targets, server.talk.says()) == ([b"/a"], BUSY)


@pytest.mark.parametrize(
    "request_",
    [
        POST + b"hello",
        CHUNKED + b"0\r\n\r\n",
        b"HEAD /a HTTP/1.1\r\nHost: f\r\n\r\n",
        b"GET /a HTTP/1.0\r\nHost: f\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: f\r\nConnection: close\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: f\r\nCONNECTION:keep-alive, Upgrade\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: f\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
    ],
)
def test_what_asks_for_another_answer_is_read(request_: bytes) -> None:
    """Content, a HEAD, HTTP/1.0 and a close: the application turns it away, if it does, in its own form."""
    server = TurningAway()
    assert server.talk.hears(request_)[0].split()[2] == "/a"
    assert (server.targets, server.talk.says()) == ([], b"")


@pytest.mark.parametrize("says", [b"keep-alive", b" Keep-Alive\t", b"\tkeep-alive"])
def test_what_asks_for_no_more_than_the_usual_is_not(says: bytes) -> None:
    server = TurningAway()
    assert server.talk.hears(b"GET /a HTTP/1.1\r\nHost: f\r\nConnection:" + says + b"\r\n\r\n") == []
    assert server.talk.says() == BUSY


@pytest.mark.parametrize("broken", [b"GET /a\x7f HTTP/1.1\r\nHost: f\r\n\r\n", b"GET  /a HTTP/1.1\r\n\r\n"])
def test_what_cannot_be_read_is_a_fault_before_it_is_anything_else(broken: bytes) -> None:
    server = TurningAway()
    assert server.talk.refuses(broken) == []
    assert server.targets == []


def test_a_connection_that_is_to_end_says_so_with_its_last_answer() -> None:
    server = TurningAway()
    server.talk.codec.go_away()
    assert server.talk.hears(GET) == ["1 GET /a ended"]
    answer(server.talk.codec, 1)
    assert b"connection: close" in server.talk.says()


def test_a_whole_response_is_what_h11_makes_of_it(server: Talk[H1Server]) -> None:
    server.hears(GET)
    fields: Fields = [(b"content-length", b"5"), (b"a", b"b"), (b"retry-after", b"1")]
    server.codec.send_head(1, ResponseHead(503, fields))
    server.codec.send_data(1, b"hello", True)
    assert server.says() == whole_response(503, fields[1:], b"hello")


def test_a_request_that_cannot_be_read_is_refused_and_the_connection_closed(server: Talk[H1Server]) -> None:
    assert server.refuses(b"GET /a HTTP/1.1\nHost: f\n\n" + NEXT) == []
    server.codec.refuse(ProtocolFault("a reason", 400))
    said = server.says()
    assert said.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert said.endswith(b"connection: close\r\n\r\na reason\n")
    assert server.codec.closing
    assert server.codec.unread, "closing at once could lose it the answer"


@pytest.mark.parametrize("status", [431, 501, 400, 499])
def test_a_refusal_has_the_status_of_its_fault(server: Talk[H1Server], status: int) -> None:
    server.codec.refuse(ProtocolFault("a reason", status))
    assert server.says().startswith(b"HTTP/1.1 %d " % status)


def test_a_pipelined_request_that_cannot_be_read_is_refused_in_its_turn(server: Talk[H1Server]) -> None:
    assert server.hears(GET + b"BAD\r\n\r\n") == ["1 GET /a ended"]
    answer(server.codec, 1)
    with pytest.raises(ProtocolFault) as raised:
        server.codec.proceed()
    server.codec.refuse(raised.value)
    assert server.says().startswith(OK + b"HTTP/1.1 400 ")


def test_a_fault_behind_content_comes_after_the_content(server: Talk[H1Server]) -> None:
    assert server.hears(CHUNKED) == ["1 POST /a"]
    assert server.refuses(b"5\r\nhelloXX" + NEXT) == ["1 content hello"]


def test_a_trick_that_came_with_its_head_goes_nowhere(server: Talk[H1Server]) -> None:
    assert server.refuses(CHUNKED + b"5\r\nhelloXX" + NEXT) == []
    assert server.codec.stream == 0


def test_a_fault_after_the_response_began_is_answered_by_no_second_one(server: Talk[H1Server]) -> None:
    server.hears(CHUNKED)
    server.codec.send_head(1, ResponseHead(200, []))
    server.codec.send_data(1, b"x", False)
    server.says()
    server.refuses(b"XX\r\n")
    server.codec.refuse(ProtocolFault("a reason"))
    assert server.says() == b""
    assert server.codec.closing
    assert server.codec.cut, "it ends short, and not as if it were whole"


def test_a_response_cut_short_ends_with_the_connection_and_without_a_last_chunk(
    server: Talk[H1Server],
) -> None:
    server.hears(GET + NEXT)
    server.codec.send_head(1, ResponseHead(200, []))
    server.codec.send_data(1, b"hello", False)
    server.codec.reset(1)
    server.codec.send_data(1, b"", True)
    server.codec.proceed()
    assert server.says().endswith(b"5\r\nhello\r\n")
    assert server.codec.closing
    assert server.codec.cut
    assert server.heard == ["1 GET /a ended"]


def test_who_speaks_after_its_response_has_ended_is_not_heard_in_the_next_one(
    server: Talk[H1Server],
) -> None:
    server.hears(GET)
    answer(server.codec, 1)
    server.hears(NEXT)
    server.says()
    server.codec.send_head(1, ResponseHead(200, [], ended=True))
    server.codec.send_data(1, b"late", True)
    server.codec.send_informational(1, 100)
    server.codec.reset(1)
    server.codec.acknowledge(1, 5)
    assert server.says() == b""
    assert not server.codec.closing
    answer(server.codec, 2)
    assert server.says() == OK


def test_after_going_away_the_next_response_is_the_last(server: Talk[H1Server]) -> None:
    server.hears(GET + NEXT)
    server.codec.go_away()
    answer(server.codec, 1)
    assert b"connection: close" in server.says()
    assert server.codec.closing
    server.codec.proceed()
    assert server.heard == ["1 GET /a ended"]


def test_an_unfinished_head_is_held(server: Talk[H1Server]) -> None:
    server.hears(GET[:10])
    assert server.codec.held == 10
    server.hears(GET[10:])
    assert server.codec.held == 0


# The client.


def asking(
    method: bytes = b"GET",
    *,
    ended: bool = True,
    fields: Fields | None = None,
    talk: Talk[H1Client] | None = None,
) -> Talk[H1Client]:
    """A client that has sent a request's head."""
    talk = talk or Talk(H1Client)
    head = RequestHead(method, b"/a", fields or [], authority=b"api", ended=ended)
    talk.codec.send_head(talk.codec.open(), head)
    return talk


def test_a_request_goes_out_with_its_host_and_is_answered() -> None:
    client = asking(fields=[(b"accept", b"*/*")])
    assert client.says() == b"GET /a HTTP/1.1\r\nhost: api\r\naccept: */*\r\n\r\n"
    assert client.hears(OK) == ["1 200", "1 content ok", "1 end"]
    client.codec.settle()
    assert client.codec.capacity == 1


def test_a_connection_is_used_again_once_the_exchange_has_left() -> None:
    client = asking()
    for stream in (1, 2, 3):
        assert client.hears(OK) == [f"{stream} 200", f"{stream} content ok", f"{stream} end"]
        client.codec.settle()
        asking(talk=client)
    assert client.says() == b"GET /a HTTP/1.1\r\nhost: api\r\n\r\n" * 4


@pytest.mark.parametrize("length", [True, False])
def test_content_goes_out_by_its_length_or_chunked(length: bool) -> None:
    fields: Fields = [(b"content-length", b"5")] if length else []
    client = asking(b"POST", ended=False, fields=fields)
    client.codec.send_data(1, b"hello", False)
    client.codec.send_data(1, b"", True)
    said = client.says()
    assert said.endswith(b"\r\n\r\nhello" if length else b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
    client.hears(OK)
    client.codec.settle()
    assert client.codec.capacity == 1


@pytest.mark.parametrize(
    ("method", "response"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        (b"HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_a_response_without_content_ends_with_its_head(method: bytes, response: bytes) -> None:
    client = asking(method)
    assert client.hears(response) == [f"1 {response[9:12].decode()} ended"]
    client.codec.settle()
    asking(talk=client)
    assert client.hears(OK) == ["2 200", "2 content ok", "2 end"]


def test_a_1xx_never_passes() -> None:
    client = asking()
    assert client.hears(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") == []
    assert client.hears(OK) == ["1 200", "1 content ok", "1 end"]


def test_101_is_a_fault() -> None:
    """A23: nothing was offered that could be switched to."""
    client = asking()
    assert client.refuses(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n") == []
    assert client.codec.closing


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_chunked_response_in_pieces_is_heard_whole(size: int) -> None:
    client = asking()
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: u\r\n\r\n"
    heard = client.hears(*(data[at : at + size] for at in range(0, len(data), size)))
    assert joined(heard) == ["1 200", "1 content hello", "1 end"]
    client.codec.settle()
    assert client.codec.capacity == 1


@pytest.mark.parametrize("clean", [True, False])
def test_content_until_the_close_is_whole_after_a_clean_one_alone(clean: bool) -> None:
    """Without close_notify anyone on the way could have ended it."""
    client = asking()
    assert client.hears(b"HTTP/1.1 200 OK\r\n\r\nhello") == ["1 200", "1 content hello"]
    client.codec.eof(clean)
    assert client.heard[2:] == (["1 end"] if clean else ["1 reset truncated"])
    assert client.codec.capacity == 0


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (b"", "1 reset connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "1 reset connection"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "1 reset connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "1 reset truncated"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "1 reset truncated"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n", "1 reset truncated"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n0\r\n", "1 reset truncated"),
    ],
)
@pytest.mark.parametrize("clean", [True, False])
def test_a_connection_that_ends_within_a_response_is_no_end_of_it(
    response: bytes, told: str, clean: bool
) -> None:
    client = asking()
    client.hears(response)
    client.codec.eof(clean)
    assert client.heard[-1] == told
    assert "1 end" not in client.heard
    client.codec.eof(clean)
    assert client.heard.count(told) == 1


def test_an_idle_connections_end_is_told_to_nobody() -> None:
    client = asking()
    client.hears(OK)
    client.codec.settle()
    client.codec.eof(True)
    assert client.heard == ["1 200", "1 content ok", "1 end"]
    assert client.codec.capacity == 0


def test_what_an_idle_connection_receives_is_nobodys_answer() -> None:
    """A21, and the response queue poisoning of CVE-2021-33193's kind."""
    client = asking()
    client.hears(OK)
    client.codec.settle()
    assert client.refuses(OK) == []
    assert client.codec.capacity == 0


def test_bytes_behind_a_response_are_never_the_next_ones() -> None:
    """Even to a sink that asks again within the response's end."""
    for response in (OK, b"HTTP/1.1 204 -\r\n\r\n"):
        client: Talk[H1Client] = asking()

        def at_once(event: str, stream: int, client: Talk[H1Client] = client) -> None:
            if event.endswith(("end", "ended")):
                client.codec.settle()
                if client.codec.capacity:
                    asking(talk=client)

        client.at_once = at_once
        heard = client.hears(response + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        assert heard[-1] in ("1 end", "1 204 ended")
        assert client.codec.capacity == 0
        assert not any("evil" in event for event in client.heard)


def test_an_answer_before_the_requests_end_leaves_a_connection_that_is_not_used_again() -> None:
    """A19: what was not sent will not be."""
    client = asking(b"POST", ended=False)
    client.codec.send_data(1, b"hello", False)
    client.says()
    assert client.hears(b"HTTP/1.1 413 -\r\nContent-Length: 2\r\n\r\nno") == [
        "1 413",
        "1 content no",
        "1 end",
    ]
    client.codec.settle()
    assert client.codec.capacity == 0
    client.codec.send_data(1, b"more", True)
    assert client.says() == b""


def test_a_request_goes_on_beside_its_early_answer() -> None:
    client = asking(b"POST", ended=False)
    assert client.hears(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no") == ["1 200", "1 content o"]
    client.codec.send_data(1, b"hello", True)
    assert client.says().endswith(b"5\r\nhello\r\n0\r\n\r\n")
    assert client.hears(b"k") == ["1 content k", "1 end"]
    client.codec.settle()
    assert client.codec.capacity == 1


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_a_connection_that_the_server_will_close_is_not_used_again(head: bytes) -> None:
    client = asking()
    assert client.hears(head + b"ok")[-1] == "1 end"
    client.codec.settle()
    assert client.codec.capacity == 0


def test_a_response_to_a_request_that_was_given_up_is_heard_by_nobody() -> None:
    client = asking()
    client.codec.reset(1)
    assert client.codec.capacity == 0
    assert client.hears(OK) == []


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 099 -\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n",
        b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\r\n\r\n",
    ],
)
def test_a_response_that_cannot_be_read_is_a_fault(response: bytes) -> None:
    client = asking()
    assert client.refuses(response) == []
    assert client.codec.closing


def test_a_leaving_exchange_that_has_sent_nothing_leaves_the_connection_as_it_was() -> None:
    client: Talk[H1Client] = Talk(H1Client)
    client.codec.settle()
    assert client.codec.capacity == 1


def test_a_client_that_goes_away_finishes_what_it_has() -> None:
    client = asking()
    client.codec.go_away()
    assert client.hears(OK)[-1] == "1 end"
    client.codec.go_away()
    assert client.codec.capacity == 0


def test_who_speaks_after_the_end_of_the_connection_is_not_heard() -> None:
    client = asking(b"POST", ended=False)
    client.says()
    client.codec.eof(False)
    client.codec.send_data(1, b"hello", True)
    client.codec.reset(1)
    client.codec.acknowledge(1, 5)
    asking(talk=client)
    assert client.says() == b""


# 1xx heads.


def test_1xx_heads_have_an_end() -> None:
    talk = asking()
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    assert talk.hears(early * MAX_INFORMATIONAL) == []
    assert talk.refuses(early) == []
    assert talk.codec.closing


def test_1xx_heads_are_counted_for_each_request() -> None:
    talk = asking()
    early = b"HTTP/1.1 102 Processing\r\n\r\n"
    for stream in range(1, 10):
        if stream > 1:
            talk.codec.settle()
            asking(talk=talk)
        assert talk.hears(early * MAX_INFORMATIONAL + OK) == [
            f"{stream} 200",
            f"{stream} content ok",
            f"{stream} end",
        ]


# The last octet of a message with a length.


def test_the_last_octet_of_a_request_waits_for_the_requests_end() -> None:
    """Over HTTP/2 more may follow, or a reset (RFC 9113 section 8.1.1), and it would have been whole."""
    talk = uploading(b"5")
    talk.says()
    talk.codec.send_data(1, b"hel", False)
    assert talk.says() == b"hel"
    talk.codec.send_data(1, b"lo", False)
    assert talk.says() == b"l"
    talk.codec.send_data(1, b"", True)
    assert talk.says() == b"o"


def test_a_request_of_no_content_is_not_whole_before_its_end() -> None:
    talk = uploading(b"0")
    head = talk.says()
    assert head.endswith(b"content-length: 0\r\n\r")
    talk.codec.send_data(1, b"", True)
    assert talk.says() == b"\n"
    assert talk.hears(OK)[-1] == "1 end"
    talk.codec.settle()
    assert not talk.codec.closing


def test_a_request_that_is_given_up_before_its_end_is_not_whole() -> None:
    for length, pieces in ((b"0", []), (b"5", [b"hello"])):
        talk = uploading(length)
        for piece in pieces:
            talk.codec.send_data(1, piece, False)
        talk.codec.reset(1)
        assert talk.codec.closing
        talk.codec.send_data(1, b"", True)
        assert not talk.says().endswith((b"\r\n\r\n", b"hello"))


def test_the_last_octet_of_a_response_waits_for_the_responses_end(server: Talk[H1Server]) -> None:
    server.hears(GET)
    server.codec.send_head(1, ResponseHead(200, [(b"content-length", b"2")]))
    server.codec.send_data(1, b"ok", False)
    assert server.says() == OK[:-1]
    server.codec.send_data(1, b"", True)
    assert server.says() == OK[-1:]
    server.hears(GET)
    server.codec.send_head(2, ResponseHead(200, [(b"content-length", b"2")]))
    server.codec.send_data(2, b"ok", False)
    server.codec.reset(2)
    assert server.says() == OK[:-1] and server.codec.cut


def uploading(length: bytes) -> Talk[H1Client]:
    return asking(b"PUT", ended=False, fields=[(b"content-length", length)])


def test_an_answer_that_says_the_close_is_given_time_to_be_read(server: Talk[H1Server]) -> None:
    """The next request may be on its way, and a close in its face takes the answer along."""
    server.hears(GET)
    server.codec.go_away()
    before = server.codec.unread
    answer(server.codec, 1)
    assert (before, server.codec.unread) == (False, True)
    assert b"connection: close" in server.says()


def test_who_asked_for_the_close_sends_no_more(server: Talk[H1Server]) -> None:
    server.hears(b"GET /a HTTP/1.1\r\nHost: f\r\nConnection: close\r\n\r\n")
    answer(server.codec, 1)
    assert server.codec.closing and not server.codec.unread

"""The framing guard, held to a slow reader of RFC 9112 and to h11 behind it (A14)."""

import time
from collections.abc import Callable

import h11
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from foyer.protocol.fault import ProtocolFault
from foyer.protocol.framing import (
    MAX_FIELDS,
    MAX_HEAD,
    MAX_RESPONSE_FIELDS,
    MAX_TRAILERS,
    Content,
    ContentWalk,
    head_end,
    request_content,
    response_content,
)
from tests.support import reference_http1 as reference
from tests.support.near_misses import GLUED, REQUESTS, RESPONSES
from tests.support.reference_http1 import Message, Verdict


def guarded(pieces: list[bytes], method: bytes | None = None) -> int | Verdict:
    """Where the guard finds the end of a request, or of a response to `method`."""
    held, searched, size = b"", 0, 0
    walk: ContentWalk | None = None
    try:
        for piece in pieces:
            held += piece
            if walk is None:
                end = head_end(held, searched)
                searched = len(held)
                if not end:
                    continue
                head, held, size = held[:end], held[end:], end
                framed = request_content(head) if method is None else response_content(head, method)
                walk = ContentWalk(*framed)
            while held and not walk.done:
                taken = walk.walk(held)
                held, size = held[taken:], size + taken
    except ProtocolFault:
        return Verdict.REFUSED
    ended = walk is not None and (walk.done or walk.until_close)
    return size if ended else Verdict.UNFINISHED


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def in_two(data: bytes) -> list[list[bytes]]:
    return [[data[:at], data[at:]] for at in range(1, len(data))]


def assert_agree(verdict: int | Verdict, known: Message | Verdict) -> None:
    event(f"guard: {verdict if isinstance(verdict, Verdict) else 'accepted'}")
    if isinstance(known, Message):
        assert verdict == known.size
    elif verdict is Verdict.UNFINISHED:
        # Within a line the guard waits for the rest; the reference has seen the wrong octet.
        assert known in (Verdict.UNFINISHED, Verdict.REFUSED)
    else:
        assert verdict is known


@settings(max_examples=250)
@given(REQUESTS)
def test_a_request_is_accepted_just_where_the_reference_reads_one(data: bytes) -> None:
    assert_agree(guarded([data]), reference.request(data))


@settings(max_examples=250)
@given(RESPONSES, st.sampled_from([b"GET", b"HEAD"]))
def test_a_response_is_accepted_just_where_the_reference_reads_one(data: bytes, method: bytes) -> None:
    assert_agree(guarded([data], method), reference.response(data, method))


@settings(max_examples=250)
@given(REQUESTS, st.data())
def test_a_request_split_anywhere_ends_where_it_ends_whole(data: bytes, draw: st.DataObject) -> None:
    whole = guarded([data])
    cuts = sorted(draw.draw(st.sets(st.integers(0, len(data)), max_size=8)))
    assert guarded([data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]) == whole
    assert guarded(byte_by_byte(data)) == whole


@settings(max_examples=250)
@given(RESPONSES, st.sampled_from([b"GET", b"HEAD"]))
def test_a_response_split_anywhere_ends_where_it_ends_whole(data: bytes, method: bytes) -> None:
    assert guarded(byte_by_byte(data), method) == guarded([data], method)


Read = tuple[tuple[object, ...], tuple[tuple[bytes, bytes], ...], bytes, bytes]


def read_by(connection: h11.Connection, data: bytes, *, ended: bool = False) -> Read | None:
    """A message as h11 reads it, with what it leaves; None when it refuses."""
    content = b""
    start: tuple[object, ...] = ()
    fields: tuple[tuple[bytes, bytes], ...] = ()
    try:
        connection.receive_data(data)
        if ended:
            connection.receive_data(b"")
        while True:
            found = connection.next_event()
            if isinstance(found, h11.Request):
                start, fields = (found.method, found.target, found.http_version), tuple(found.headers)
            elif isinstance(found, h11.Response):
                start, fields = (found.status_code, found.http_version), tuple(found.headers)
            elif isinstance(found, h11.Data):
                content += bytes(found.data)
            elif isinstance(found, h11.EndOfMessage):
                return start, fields, content, connection.trailing_data[0]
            else:
                raise AssertionError(f"h11 did not find the end: {found}")
    except h11.RemoteProtocolError:
        return None


@settings(max_examples=250)
@given(REQUESTS)
def test_an_accepted_request_is_the_same_to_h11(data: bytes) -> None:
    size = guarded([data])
    if isinstance(size, Verdict):
        return
    known = reference.request(data)
    assert isinstance(known, Message)
    read = read_by(h11.Connection(h11.SERVER), data)
    event("h11 refuses" if read is None else "h11 agrees")
    if read is None:
        return  # refused either way
    start, fields, content, rest = read
    method, target, version = known.start.split(b" ")
    assert start == (method, target, version.removeprefix(b"HTTP/"))
    assert sorted(fields) == sorted(lowered_coding(known))
    assert (content, rest) == (known.content, data[size:])


@settings(max_examples=250)
@given(RESPONSES, st.sampled_from([b"GET", b"HEAD"]))
def test_an_accepted_response_is_the_same_to_h11(data: bytes, method: bytes) -> None:
    size = guarded([data], method)
    known = reference.response(data, method)
    if isinstance(size, Verdict) or not isinstance(known, Message) or known.start.split(b" ")[1] < b"200":
        return
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method=method, target=b"/", headers=[(b"host", b"f")]))
    connection.send(h11.EndOfMessage())
    read = read_by(connection, data, ended=True)
    event("h11 refuses" if read is None else "h11 agrees")
    if read is None:
        return
    start, fields, content, rest = read
    version, status = known.start.split(b" ")
    assert start == (int(status), version.removeprefix(b"HTTP/"))
    assert sorted(fields) == sorted(lowered_coding(known))
    assert (content, rest) == (known.content, data[size:])


def lowered_coding(message: Message) -> list[tuple[bytes, bytes]]:
    """The fields, with the one value that h11 shows in lower case."""
    return [
        (name, value.lower() if name == b"transfer-encoding" else value) for name, value in message.fields
    ]


# Examples: the tricks by name.

POST = b"POST /a HTTP/1.1\r\nHost: f\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"

TRICKS: dict[str, bytes] = {
    "a bare LF": POST + b"X-A: b\n\r\n",
    "bare LFs alone": b"GET / HTTP/1.1\nHost: f\n\n",
    "a bare CR": POST + b"X-A: b\rc\r\n\r\n",
    "a NUL": POST + b"X-A: b\0c\r\n\r\n",
    "obs-fold": POST + b"X-A: b\r\n c\r\n\r\n",
    "obs-fold by a tab": POST + b"X-A: b\r\n\tc\r\n\r\n",
    "a length and chunked": POST + b"Content-Length: 5\r\n" + CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunked and a length": POST + CHUNKED + b"Content-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "equal lengths": POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "differing lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "a list of lengths": POST + b"Content-Length: 5, 5\r\n\r\nhello",
    "a signed length": POST + b"Content-Length: +5\r\n\r\nhello",
    "a hexadecimal length": POST + b"Content-Length: 0x5\r\n\r\nhello",
    "an empty length": POST + b"Content-Length:\r\n\r\nhello",
    "another coding": POST + b"Transfer-Encoding: gzip\r\n\r\n",
    "another coding, then chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": POST + CHUNKED + CHUNKED + b"\r\n0\r\n\r\n",
    "chunked over HTTP/1.0": b"POST / HTTP/1.0\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "a blank before a colon": POST + b"Content-Length : 5\r\n\r\nhello",
    "a chunk extension": POST + CHUNKED + b"\r\n5;a=b\r\nhello\r\n0\r\n\r\n",
    "a chunk extension with a bare LF": POST + CHUNKED + b"\r\n5;a=\nb\r\nhello\r\n0\r\n\r\n",
    "a signed chunk size": POST + CHUNKED + b"\r\n+5\r\nhello\r\n0\r\n\r\n",
    "a chunk size with its base": POST + CHUNKED + b"\r\n0x5\r\nhello\r\n0\r\n\r\n",
    "a blank behind a chunk size": POST + CHUNKED + b"\r\n5 \r\nhello\r\n0\r\n\r\n",
    "seventeen digits": POST + CHUNKED + b"\r\n00000000000000005\r\nhello\r\n0\r\n\r\n",
    "an empty chunk size": POST + CHUNKED + b"\r\n\r\nhello\r\n0\r\n\r\n",
    "a chunk size ended by a bare LF": POST + CHUNKED + b"\r\n5\nhello\r\n0\r\n\r\n",
    "junk in the place of a chunk's CRLF": POST + CHUNKED + b"\r\n5\r\nhelloXX0\r\n\r\n",
    "a chunk ended by a bare LF": POST + CHUNKED + b"\r\n5\r\nhello\n0\r\n\r\n",
    "a trailer ended by a bare LF": POST + CHUNKED + b"\r\n0\r\nX-A: b\n\r\n",
    "a folded trailer": POST + CHUNKED + b"\r\n0\r\nX-A: b\r\n c\r\n\r\n",
    "a last chunk ended by a bare LF": POST + CHUNKED + b"\r\n0\n\r\n",
}


@pytest.mark.parametrize("data", TRICKS.values(), ids=TRICKS)
def test_a_trick_is_refused_however_it_is_split(data: bytes) -> None:
    assert guarded([data + GLUED]) is Verdict.REFUSED
    assert all(guarded(pieces) is Verdict.REFUSED for pieces in in_two(data + GLUED))
    assert reference.request(data) is Verdict.REFUSED


FRAMED: dict[str, bytes] = {
    "no content": b"GET /a HTTP/1.1\r\nHost: f\r\n\r\n",
    "a length": POST + b"Content-Length:\t5 \r\n\r\nhello",
    "a length of nothing": POST + b"Content-Length: 0\r\n\r\n",
    "chunks": POST + b"Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n1\r\n\n\r\n00\r\n\r\n",
    "chunks and a trailer": POST + CHUNKED + b"\r\n0005\r\nhello\r\n0\r\nX-A: b\r\nX-B:\r\n\r\n",
    "sixteen digits": POST + CHUNKED + b"\r\n0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n",
    "HTTP/1.0": b"GET /a HTTP/1.0\r\n\r\n",
}


@pytest.mark.parametrize("data", FRAMED.values(), ids=FRAMED)
def test_a_request_ends_at_its_end_whatever_is_behind_it(data: bytes) -> None:
    for pieces in ([data + GLUED], byte_by_byte(data + GLUED), *in_two(data + GLUED)):
        assert guarded(pieces) == len(data)
    for cut in range(1, len(data)):
        assert guarded([data[:cut]]) is Verdict.UNFINISHED


def refusal(step: Callable[[], object]) -> int:
    with pytest.raises(ProtocolFault) as raised:
        step()
    return raised.value.status


def padded(size: int) -> bytes:
    start = b"GET / HTTP/1.1\r\nHost: f\r\nX-A: "
    return start + b"b" * (size - len(start) - 4) + b"\r\n\r\n"


def test_a_head_of_64_kib_is_read_and_one_byte_more_is_431() -> None:
    assert head_end(padded(MAX_HEAD), 0) == MAX_HEAD
    assert head_end(padded(MAX_HEAD) + GLUED, 0) == MAX_HEAD
    assert refusal(lambda: head_end(padded(MAX_HEAD + 1), 0)) == 431
    assert head_end(padded(MAX_HEAD)[:-1], 0) == 0
    assert refusal(lambda: head_end(padded(MAX_HEAD + 1)[:-1], 0)) == 431


def test_a_hundred_fields_are_read_and_one_more_is_431() -> None:
    lines = [b"X-%d: y\r\n" % number for number in range(MAX_FIELDS + 1)]
    assert request_content(b"".join([b"GET / HTTP/1.1\r\n", *lines[1:], b"\r\n"])) == (Content.LENGTH, 0)
    assert refusal(lambda: request_content(b"".join([b"GET / HTTP/1.1\r\n", *lines, b"\r\n"]))) == 431


def test_a_response_has_as_many_fields_as_http2_has_room_for() -> None:
    lines = [b"Warning: y\r\n"] * (MAX_RESPONSE_FIELDS + 1)
    head = b"".join([b"HTTP/1.1 200\r\n", *lines[1:], b"\r\n"])
    assert response_content(head, b"GET") == (Content.UNTIL_CLOSE, 0)
    assert refusal(lambda: response_content(b"".join([b"HTTP/1.1 200\r\n", *lines, b"\r\n"]), b"GET")) == 431


def test_a_trailer_section_is_bounded() -> None:
    def walked(section: bytes, step: int) -> Verdict | int:
        data = POST + CHUNKED + b"\r\n0\r\n" + section
        return guarded([data[at : at + step] for at in range(0, len(data), step)])

    for step in (1000, 1 << 20):
        assert isinstance(walked(b"X-A: " + b"y" * 8000 + b"\r\n\r\n", step), int)
        assert walked(b"X-A: " + b"y" * MAX_TRAILERS + b"\r\n\r\n", step) is Verdict.REFUSED
        assert walked(b"X-A: " + b"y" * MAX_TRAILERS, step) is Verdict.REFUSED
        assert walked(b"X: y\r\n" * 99 + b"\r\n", step) != Verdict.REFUSED
        assert walked(b"X: y\r\n" * 100 + b"\r\n", step) is Verdict.REFUSED


def test_what_is_in_order_before_a_fault_has_its_way_first() -> None:
    walk = ContentWalk(Content.CHUNKED, 0)
    data = b"5\r\nhelloXX"
    assert walk.walk(data) == len(b"5\r\nhello")
    assert refusal(lambda: walk.walk(b"XX")) == 400
    assert refusal(lambda: walk.walk(b"\r\n")) == 400  # and for good


def test_a_look_ahead_finds_a_fault_behind_bytes_in_order() -> None:
    assert refusal(lambda: ContentWalk(Content.CHUNKED, 0).check(b"5\r\nhelloXX")) == 400
    ContentWalk(Content.CHUNKED, 0).check(b"5\r\nhello\r\n0\r\n\r\n" + b"\0")
    ContentWalk(Content.CHUNKED, 0).check(b"5\r\nhel")


@pytest.mark.parametrize(
    ("status", "method", "framed"),
    [
        (b"200", b"GET", (Content.LENGTH, 5)),
        (b"200", b"HEAD", (Content.LENGTH, 0)),
        (b"204", b"GET", (Content.LENGTH, 0)),
        (b"304", b"GET", (Content.LENGTH, 0)),
        (b"103", b"GET", (Content.LENGTH, 0)),
    ],
)
def test_some_responses_have_no_content_whatever_their_length_says(
    status: bytes, method: bytes, framed: tuple[Content, int]
) -> None:
    head = b"HTTP/1.1 %b -\r\nContent-Length: 5\r\n\r\n" % status
    assert response_content(head, method) == framed


def test_a_response_with_neither_length_nor_coding_ends_with_its_connection() -> None:
    walk = ContentWalk(*response_content(b"HTTP/1.1 200 OK\r\n\r\n", b"GET"))
    assert walk.until_close
    assert not walk.done
    assert walk.walk(GLUED) == len(GLUED)
    assert not walk.done


# What hostile bytes cost.


class Looked(bytearray):
    """A buffer that counts the bytes a search goes over."""

    total = 0

    def find(self, *arguments: object) -> int:
        self.total += self._span(arguments)
        return super().find(*arguments)  # type: ignore[arg-type]

    def count(self, *arguments: object) -> int:
        self.total += self._span(arguments)
        return super().count(*arguments)  # type: ignore[arg-type]

    def _span(self, arguments: tuple[object, ...]) -> int:
        start = arguments[1] if len(arguments) > 1 else 0
        assert isinstance(start, int)
        return len(self) - start


def test_a_head_that_comes_byte_by_byte_is_looked_at_about_once() -> None:
    head = padded(MAX_HEAD)
    held = Looked()
    for octet in byte_by_byte(head):
        searched = len(held)
        held += octet
        assert head_end(held, searched) == (MAX_HEAD if len(held) == MAX_HEAD else 0)
    assert held.total < 10 * MAX_HEAD


def cost(step: Callable[[], object]) -> float:
    """Seconds of processor time, the least of several tries."""
    took = []
    for _ in range(7):
        began = time.process_time()
        step()
        took.append(time.process_time() - began)
    return min(took)


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "blanks within a length": lambda size: POST + b"Content-Length: 1" + b" " * size + b"1\r\n\r\n",
    "tabs within a coding": lambda size: POST + b"Transfer-Encoding: a" + b"\t" * size + b"a\r\n\r\n",
    "one long name": lambda size: POST + b"a" * size + b"\r\n\r\n",
    "one long value that ends wrongly": lambda size: POST + b"X-A: " + b"a" * size + b"\0\r\n\r\n",
    "blanks alone": lambda size: POST + b"X-A:" + b" " * size + b"\0\r\n\r\n",
    "tiny lines, the last one wrong": lambda size: POST + b"a:\r\n" * (size // 4) + b"a\r\n\r\n",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_head_costs_as_much_as_it_is_long(hostile: Callable[[int], bytes]) -> None:
    small, large = hostile(4_000), hostile(32_000)
    ratio = cost(lambda: refusal(lambda: request_content(large))) / cost(
        lambda: refusal(lambda: request_content(small))
    )
    assert ratio < 24, "eight times as long; were it quadratic, 64 times as dear"


def test_tiny_chunks_cost_as_much_as_they_are_many() -> None:
    def walked(count: int) -> None:
        data = b"1\r\na\r\n" * count
        assert ContentWalk(Content.CHUNKED, 0).walk(data) == len(data)

    assert cost(lambda: walked(4_000)) / cost(lambda: walked(500)) < 24

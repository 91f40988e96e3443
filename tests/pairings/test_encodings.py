"""Spec 03: bodies arrive decoded, each gzip member as it comes, and a broken one is never a whole one."""

import gzip
import random
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Pairing
from tests.support.script import Aborted, Fields, Whole
from tests.support.upstreams import Request

GZIP: Fields = [*JSON, (b"content-encoding", b"gzip")]

contents = st.binary(max_size=300)

roundtrips = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def begun(pairing: Pairing, fields: Fields = GZIP) -> tuple[Exchange, Request]:
    """A response whose head has passed."""
    exchange = pairing.get("/k8s/api/v1/pods?watch=1")
    request = pairing.upstream.expect()
    request.respond(200, fields)
    assert exchange.read_head()[0] == 200
    return exchange, request


def ended_in(pairing: Pairing, encoded: bytes) -> Whole | Aborted:
    """What becomes of a whole response with this encoded content."""
    exchange, request = begun(pairing)
    request.send(encoded)
    request.end()
    return exchange.read_until_end()


def event(number: int) -> bytes:
    return b'{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"%d"}}}\n' % number


def test_gzip_is_decoded_and_its_fields_are_dropped(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    content = b'{"items":[]}' * 1000
    pairing.upstream.expect().answer(200, GZIP, gzip.compress(content))
    assert exchange.read_until_end() == Whole(content)
    assert exchange.all("content-encoding") == []
    assert exchange.all("content-length") == []


@roundtrips
@given(members=st.lists(contents, min_size=1, max_size=4), data=st.data())
def test_members_are_delivered_whole_and_in_order_however_they_are_split(
    pairing: Pairing, members: list[bytes], data: st.DataObject
) -> None:
    encoded = b"".join(gzip.compress(member) for member in members)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded)), max_size=5)))
    exchange, request = begun(pairing)
    for start, end in zip([0, *cuts], [*cuts, len(encoded)], strict=True):
        if end > start:
            request.send(encoded[start:end])
    request.end()
    assert exchange.read_until_end() == Whole(b"".join(members))


def test_each_event_of_a_watch_of_one_member_an_event_passes_at_once(pairing: Pairing) -> None:
    exchange, request = begun(pairing)
    for number in range(10):
        request.send(gzip.compress(event(number)))
        assert exchange.read_some() == event(number)
    request.end()
    assert exchange.read_until_end() == Whole(b"".join(map(event, range(10))))


def test_each_event_of_a_flushed_stream_passes_at_once(pairing: Pairing) -> None:
    exchange, request = begun(pairing)
    stream = zlib.compressobj(wbits=31)
    for number in range(10):
        request.send(stream.compress(event(number)) + stream.flush(zlib.Z_SYNC_FLUSH))
        assert exchange.read_some() == event(number)
    request.send(stream.flush())
    request.end()
    assert exchange.read_until_end() == Whole(b"".join(map(event, range(10))))


def test_an_event_split_within_its_member_passes_once_it_is_there(pairing: Pairing) -> None:
    exchange, request = begun(pairing)
    member = gzip.compress(event(1))
    for octet in member:
        request.send(bytes([octet]))
    assert exchange.read_exactly(len(event(1))) == event(1)
    request.end()
    assert exchange.read_until_end() == Whole(event(1))


def test_a_megabyte_of_gzip_is_decoded_whole(pairing: Pairing) -> None:
    content = bytes(random.Random(3).choices(range(64), k=3_000_000))
    assert ended_in(pairing, gzip.compress(content)) == Whole(content)


def test_empty_content_is_empty(pairing: Pairing) -> None:
    assert ended_in(pairing, b"") == Whole(b"")


def test_an_empty_answer_of_known_length_is_empty(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    pairing.upstream.expect().answer(200, GZIP)
    assert exchange.read_until_end() == Whole(b"")


def test_a_member_of_nothing_is_nothing(pairing: Pairing) -> None:
    members = gzip.compress(b"a") + gzip.compress(b"") + gzip.compress(b"b")
    assert ended_in(pairing, members) == Whole(b"ab")


def test_the_answer_to_a_head_is_not_decoded(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods", method="HEAD")
    pairing.upstream.expect().answer(200, GZIP, gzip.compress(b"{}"))
    assert exchange.read_head()[0] == 200
    assert exchange.read_until_end() == Whole(b"")
    assert exchange.all("content-length") == []


GOOD = event(1)
MEMBER = gzip.compress(GOOD)

BROKEN = {
    "a truncated trailer": MEMBER[:-3],
    "no trailer": MEMBER[:-8],
    "a truncated head": MEMBER + b"\x1f\x8b\x08",
    "a wrong CRC": MEMBER[:-8] + bytes([MEMBER[-8] ^ 1]) + MEMBER[-7:],
    "a wrong length": MEMBER[:-4] + bytes([MEMBER[-4] ^ 1]) + MEMBER[-3:],
    "junk behind the end": MEMBER + b"junk",
    "zeros behind the end": MEMBER + bytes(8),
}


@pytest.mark.parametrize("encoded", BROKEN.values(), ids=BROKEN)
def test_broken_gzip_is_an_abort_after_what_was_good(pairing: Pairing, encoded: bytes) -> None:
    outcome = ended_in(pairing, encoded)
    assert isinstance(outcome, Aborted)
    assert outcome.cut_short
    assert outcome.content == GOOD


def test_what_is_not_gzip_at_all_is_an_abort_after_nothing(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    request = pairing.upstream.expect()
    request.respond(200, GZIP)
    request.send(b'{"items":[]}')
    request.end()
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert outcome.content == b""


def test_a_corrupt_block_is_an_abort_after_what_was_good(pairing: Pairing) -> None:
    exchange, request = begun(pairing)
    request.send(MEMBER)
    assert exchange.read_some() == GOOD
    request.send(MEMBER[:10] + b"\x07" + MEMBER[11:])
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert outcome.cut_short
    assert outcome.content == GOOD
    request.expect_cancelled()


def test_the_end_between_two_members_is_a_clean_one(pairing: Pairing) -> None:
    exchange, request = begun(pairing)
    request.send(MEMBER + MEMBER)
    assert exchange.read_exactly(2 * len(GOOD)) == GOOD + GOOD
    request.end()
    assert exchange.read_until_end() == Whole(GOOD + GOOD)


def test_the_end_within_a_member_is_an_abort(pairing: Pairing) -> None:
    exchange, request = begun(pairing)
    request.send(MEMBER + MEMBER[:15])
    request.end()
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert outcome.cut_short
    assert outcome.content.startswith(GOOD)


@pytest.mark.parametrize(
    "encodings",
    [[b"deflate"], [b"br"], [b"zstd"], [b"identity"], [b""], [b"gzip, gzip"], [b"gzip", b"gzip"], [b"gzip,"]],
    ids=str,
)
def test_any_other_or_repeated_encoding_is_held_back(pairing: Pairing, encodings: list[bytes]) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    fields = [*JSON, *((b"content-encoding", encoding) for encoding in encodings)]
    pairing.upstream.expect().answer(200, fields, b"{}")
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamContentHeldBack"]
    exchange.read_until_end()


def test_a_bomb_against_a_browser_that_does_not_read_waits(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    request = pairing.upstream.expect()
    pairing.browser.stop_reading()
    zeros = 40_000_000  # several times what sockets hold
    request.respond(200, GZIP)
    request.send(gzip.compress(bytes(zeros), 9))
    request.end()
    pairing.script.until_still()
    pairing.browser.go_on_reading()
    assert exchange.read_until_end(seconds=20) == Whole(bytes(zeros))

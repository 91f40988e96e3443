"""What one response may be: its bytes, how long it is open, and how long its browser may take nothing
(spec 04, Bytes, Duration, Session check, Both blocked directions; A3, A4, A5, A17).
"""

import gzip
import json

import pytest

from foyer_native.inflate import Inflater
from tests.pairings.counts import Counted
from tests.support.browsers import SMALL, Exchange
from tests.support.kernel import in_flight
from tests.support.pairings import JSON, TEXT, Pairing, SignedIn
from tests.support.script import Aborted, Fields, Whole
from tests.support.upstreams import Request

LIST = "/k8s/api/v1/pods"
WATCH = "/k8s/api/v1/pods?watch=1"
DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document")]

LIMIT = 100_000
CONTENT = bytes(range(256)) * 391  # a little more, and no two windows of it alike
GZIP: Fields = [(b"content-encoding", b"gzip")]

BYTES: dict[str, str] = {"max-response-bytes": str(LIMIT)}
MEBIBYTE: dict[str, str] = {"max-response-bytes": "1MiB"}
SHORT: dict[str, str] = {"max-response-duration": "10s", "response-write-timeout": "off"}
IMPATIENT: dict[str, str] = {"response-write-timeout": "5s"}

BUFFERED = 256 * 1024
RECORDS = 1 + 31 / 16_384


def flags(values: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("flags", [values], ids=[",".join(values)])


# Bytes


def send(request: Request, form: str, content: bytes) -> None:
    """The API server's answer, as far as it is let."""
    match form:
        case "known":
            request.respond(200, [*TEXT, (b"content-length", b"%d" % len(content))])
            request.send(content)
        case "unknown":
            request.respond(200, TEXT)
            for at in range(0, len(content), 30_000):
                request.send(content[at : at + 30_000])
        case "until close":
            request.respond(200, TEXT, until_close=True)
            request.send(content)
        case "gzip":
            encoded = gzip.compress(content)
            request.respond(200, [*TEXT, *GZIP, (b"content-length", b"%d" % len(encoded))])
            request.send(encoded)
        case "gzip in members":
            request.respond(200, [*TEXT, *GZIP])
            for at in range(0, len(content), 30_000):
                request.send(gzip.compress(content[at : at + 30_000]))
    if request.cancelled is None:
        request.end()


FORMS = pytest.mark.parametrize("form", ["known", "unknown", "until close", "gzip", "gzip in members"])


@flags(BYTES)
@FORMS
@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT])
def test_up_to_its_limit_a_response_passes_whole(pairing: Pairing, form: str, length: int) -> None:
    counted = Counted(pairing)
    exchange = pairing.get(LIST)
    send(pairing.upstream.expect(), form, CONTENT[:length])
    assert exchange.read_until_end() == Whole(CONTENT[:length])
    counted.expect({})
    assert counted.moved("used")["used", "response_bytes"] == 1


@flags(BYTES)
@FORMS
def test_a_byte_more_is_a_502_where_it_is_known_and_else_an_abort_after_exactly_the_limit(
    pairing: Pairing, form: str
) -> None:
    counted = Counted(pairing)
    exchange = pairing.get(LIST)
    request = pairing.upstream.expect()
    send(request, form, CONTENT[: LIMIT + 1])
    outcome = exchange.read_until_end()
    if form != "known":
        assert isinstance(outcome, Aborted)
        assert (exchange.status, outcome.content, outcome.cut_short) == (200, CONTENT[:LIMIT], True)
        [line] = pairing.logged("response cut short")
        assert (line["cause"], line["user"], line["path"]) == ("response_bytes", "ada@example.test", LIST)
        counted.expect({("reached", "response_bytes"): 1, ("cut short", "response_bytes"): 1})
        assert counted.moved("used")["used", "response_bytes"] == 1
        return
    assert exchange.status == 502
    assert exchange.all("krm-foyer-interruption") == [b"ResponseTooLarge"]
    assert exchange.all("retry-after") == []
    status = json.loads(outcome.content)
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 502, "ResponseTooLarge")
    causes = [{"reason": "BoundReached", "field": "response_bytes", "message": str(LIMIT)}]
    assert status["details"]["causes"] == causes
    [line] = pairing.logged("interruption")
    assert (line["reason"], line["status"], line["path"]) == ("ResponseTooLarge", 502, LIST)
    counted.expect({("reached", "response_bytes"): 1, ("interrupted", "ResponseTooLarge"): 1})
    assert ("used", "response_bytes") not in counted.moved("used"), "an answer of foyer's own used none"


@flags(BYTES)
@pytest.mark.parametrize("form", ["unknown", "gzip", "gzip in members"])
def test_upstream_is_left_as_soon_as_there_is_too_much(pairing: Pairing, form: str) -> None:
    exchange = pairing.get(LIST)
    request = pairing.upstream.expect()
    content = CONTENT[: LIMIT + 1]
    request.respond(200, TEXT if form == "unknown" else [*TEXT, *GZIP])
    request.send(content if form == "unknown" else gzip.compress(content))  # and the answer goes on
    request.expect_cancelled()
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted) and outcome.content == CONTENT[:LIMIT]


@flags(BYTES)
def test_the_refusal_of_a_response_is_a_page_for_who_navigates(pairing: Pairing) -> None:
    exchange = pairing.get(LIST, DOCUMENT)
    pairing.upstream.expect().respond(200, [*TEXT, (b"content-length", b"%d" % (LIMIT + 1))])
    page = exchange.read_until_end().content
    assert (exchange.status, exchange.all("krm-foyer-interruption")) == (502, [b"ResponseTooLarge"])
    assert page.lower().startswith(b"<!doctype html>") and b"response_bytes" in page


@flags(BYTES)
@pytest.mark.parametrize("fields", [[], GZIP], ids=["plain", "gzip"])
def test_an_answer_to_head_is_never_too_large(pairing: Pairing, fields: Fields) -> None:
    exchange = pairing.get(LIST, method="HEAD")
    length = (b"content-length", b"%d" % (LIMIT * 1000))
    pairing.upstream.expect().respond(200, [*JSON, *fields, length], end=True)
    assert exchange.read_until_end() == Whole(b"")
    assert exchange.status == 200
    assert exchange.all("content-length") == ([length[1]] if not fields else [])


@flags(BYTES)
def test_a_change_whose_answer_is_too_large_has_been_sent_once(pairing: Pairing) -> None:
    exchange = pairing.post(LIST, JSON, b"{}")
    request = pairing.upstream.expect()
    assert request.read_until_end() == b"{}"
    request.respond(201, [*JSON, (b"content-length", b"%d" % (LIMIT + 1))])
    exchange.read_until_end()
    assert exchange.status == 502
    pairing.upstream.expect_nothing()


# Bombs


class Decoded(Inflater):
    """The decoder, and what all of them have decoded."""

    everything = 0

    def step(self, limit: int) -> bytes:
        piece = super().step(limit)
        Decoded.everything += len(piece)
        return piece


BOMB = gzip.compress(bytes(64 << 20), 9)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> type[Decoded]:
    monkeypatch.setattr("foyer.exchange.exchange.Inflater", Decoded)
    Decoded.everything = 0
    return Decoded


@flags(MEBIBYTE)
def test_of_a_bomb_the_limit_is_delivered_and_a_step_more_is_decoded(
    pairing: Pairing, decoded: type[Decoded]
) -> None:
    exchange = pairing.get(LIST)
    request = pairing.upstream.expect()
    request.respond(200, [*JSON, *GZIP])
    request.send(BOMB)
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert (outcome.content, outcome.cut_short) == (bytes(1 << 20), True)
    request.expect_cancelled()
    assert decoded.everything <= (1 << 20) + 32 * 1024


def test_of_a_bomb_that_nobody_reads_a_quarter_of_a_mebibyte_waits(
    pairing: Pairing, decoded: type[Decoded]
) -> None:
    pairing.connect(receive_buffer=SMALL)
    exchange = pairing.get(LIST)
    request = pairing.upstream.expect()
    request.respond(200, [*JSON, *GZIP])
    assert exchange.read_head()[0] == 200
    pairing.browser.stop_reading()
    request.send(BOMB)
    pairing.script.until_still()
    sockets = in_flight(pairing.browser.wire.socket, towards_peer=False) + pairing.browser.wire.undecrypted
    waiting = decoded.everything - len(exchange.content) - sockets / RECORDS
    assert waiting <= BUFFERED, f"{waiting:.0f} bytes wait"
    log_out(pairing, pairing.me)
    request.expect_cancelled()
    pairing.browser.go_on_reading()
    assert isinstance(exchange.read_until_end(), Aborted)


# Duration


@flags(SHORT)
def test_a_response_is_cut_when_it_has_been_open_for_its_duration(pairing: Pairing) -> None:
    counted = Counted(pairing)
    exchange, request = watching(pairing)
    pairing.product.pass_time(8)
    request.send(b"more\n")
    assert exchange.read_exactly(5) == b"more\n"
    pairing.product.pass_time(3)
    assert_cut(exchange, request, b"event\nmore\n")
    [line] = pairing.logged("response cut short")
    assert (line["cause"], line["path"]) == ("response_duration", LIST)
    counted.expect({("reached", "response_duration"): 1, ("cut short", "response_duration"): 1})
    assert counted.moved("used")["used", "response_duration"] == 1


@flags(SHORT)
def test_a_silent_upstream_is_left_and_the_browser_gets_an_abort_and_no_status(pairing: Pairing) -> None:
    """Counted from the gate: waiting for a head is part of it."""
    exchange = pairing.get(LIST)
    request = pairing.upstream.expect()
    pairing.product.pass_time(11)
    assert isinstance(exchange.read_until_end(), Aborted)
    assert exchange.status == 0
    request.expect_cancelled()
    assert [line["cause"] for line in pairing.logged("response cut short")] == ["response_duration"]


@flags(SHORT)
def test_a_browser_that_has_stopped_reading_is_cut_too(pairing: Pairing) -> None:
    exchange, request = stalled(pairing)
    pairing.product.pass_time(11)
    request.expect_cancelled()
    exchange.browser.go_on_reading()
    assert isinstance(exchange.read_until_end(), Aborted)
    assert [line["cause"] for line in pairing.logged("response cut short")] == ["response_duration"]


@flags(SHORT)
def test_an_upload_that_goes_on_and_on_is_cut(pairing: Pairing) -> None:
    exchange = pairing.post(LIST, JSON, b"{", end=False)
    request = pairing.upstream.expect()
    assert request.read_exactly(1) == b"{"
    pairing.product.pass_time(11)
    assert isinstance(exchange.read_until_end(), Aborted)
    request.expect_cancelled()


@flags(SHORT)
@pytest.mark.parametrize(
    "target", ["/auth/whoami", "/auth/check?identity=true", "/_foyer/access?namespace=n"]
)
def test_what_waits_for_the_api_server_is_cut(pairing: Pairing, target: str) -> None:
    exchange = pairing.get(target)
    request = pairing.upstream.expect()
    # Its review is given 10 s, and what is open may be open as long: whichever is first is an end.
    pairing.product.pass_time(11)
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted) or exchange.status >= 500
    request.expect_cancelled()


@flags(SHORT)
def test_a_response_is_cut_by_its_own_duration_and_not_by_its_neighbours(pairing: Pairing) -> None:
    first, first_request = watching(pairing)
    pairing.product.pass_time(6)
    second, second_request = watching(pairing)
    pairing.product.pass_time(5)
    assert_cut(first, first_request)
    second_request.send(b"more\n")
    assert second.read_exactly(5) == b"more\n"
    second_request.end()
    assert second.read_until_end() == Whole(b"event\nmore\n")


# The session's end


def test_what_an_expired_session_has_open_is_cut_within_the_interval_and_nothing_of_anothers(
    pairing: Pairing,
) -> None:
    counted = Counted(pairing)
    someone = pairing.signed_in(ends_at=2**31 - 1)
    mine = [watching(pairing, pairing.me) for _ in range(3)]
    unanswered = pairing.connect().request("GET", WATCH, pairing.me.fields)
    unanswered_request = pairing.upstream.expect()
    theirs = [watching(pairing, someone) for _ in range(3)]
    with pairing.product.later(3601):
        pairing.product.pass_time(5)
        for exchange, request in mine:
            assert_cut(exchange, request)
        assert isinstance(unanswered.read_until_end(), Aborted)
        unanswered_request.expect_cancelled()
        assert pairing.connect().request("GET", WATCH, pairing.me.fields).read_head()[0] == 401
    for exchange, request in theirs:
        request.send(b"more\n")
        assert exchange.read_exactly(5) == b"more\n"
        request.end()
        assert exchange.read_until_end() == Whole(b"event\nmore\n")
    assert [line["cause"] for line in pairing.logged("response cut short")] == ["session_ended"] * 4
    counted.expect({("cut short", "session_ended"): 4, ("interrupted", "Unauthorized"): 1})


def test_a_session_that_ends_cuts_what_its_browser_does_not_read(pairing: Pairing) -> None:
    exchange, request = stalled(pairing)
    with pairing.product.later(3601):
        pairing.product.pass_time(5)
        request.expect_cancelled()
    exchange.browser.go_on_reading()
    assert isinstance(exchange.read_until_end(), Aborted)


# Browsers that take nothing


@flags(IMPATIENT)
def test_a_browser_that_takes_nothing_for_its_time_is_cut(pairing: Pairing) -> None:
    counted = Counted(pairing)
    exchange, request = stalled(pairing)
    pairing.product.pass_time(8)
    request.expect_cancelled()
    [line] = pairing.logged("response cut short")
    assert (line["cause"], line["route"]) == ("write_timeout", "/k8s")
    exchange.browser.go_on_reading()
    assert isinstance(exchange.read_until_end(), Aborted)
    counted.expect({("cut short", "write_timeout"): 1})


@flags(IMPATIENT)
def test_a_browser_that_reads_on_in_time_is_not(pairing: Pairing) -> None:
    exchange, request = stalled(pairing)
    for _ in range(4):
        pairing.product.pass_time(3)
        pairing.browser.go_on_reading()
        exchange.read_exactly(500_000)
        pairing.browser.stop_reading()
        pairing.script.until_still(0.05)
    pairing.browser.go_on_reading()
    request.end()
    assert exchange.read_until_end(seconds=30) == Whole(bytes(10_000_000))


@flags(IMPATIENT)
def test_a_quiet_watch_is_not_a_stall(pairing: Pairing) -> None:
    exchange, request = watching(pairing)
    pairing.product.pass_time(12)
    request.send(b"more\n")
    assert exchange.read_exactly(5) == b"more\n"
    request.end()
    assert exchange.read_until_end() == Whole(b"event\nmore\n")


def watching(pairing: Pairing, person: SignedIn | None = None) -> tuple[Exchange, Request]:
    """A watch that has brought an event, on a connection of its own."""
    exchange = pairing.connect().request("GET", WATCH, (person or pairing.me).fields)
    request = pairing.upstream.expect()
    request.respond(200, JSON)
    request.send(b"event\n")
    assert exchange.read_exactly(6) == b"event\n"
    return exchange, request


def stalled(pairing: Pairing) -> tuple[Exchange, Request]:
    """A long response that its browser stopped reading after the head."""
    pairing.connect(receive_buffer=SMALL)
    exchange = pairing.get(LIST)
    request = pairing.upstream.expect()
    request.respond(200, TEXT)
    assert exchange.read_head()[0] == 200
    pairing.browser.stop_reading()
    request.send(bytes(10_000_000))
    pairing.script.until_still()
    return exchange, request


def assert_cut(exchange: Exchange, request: Request, content: bytes = b"event\n") -> None:
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert (outcome.content, outcome.cut_short) == (content, True)
    request.expect_cancelled()


def log_out(pairing: Pairing, person: SignedIn) -> None:
    exchange = pairing.connect().request("POST", "/auth/logout", person.change)
    assert exchange.read_head()[0] == 204

"""How streams end that upstream does not end, and browsers that are slow to take one.

Spec 05; spec 04, Abort, Duration, Session check, Both blocked directions; spec 01, Process; A3.
"""

import pytest

from tests.pairings.counts import Counted
from tests.streams.following import config_map, error, page, status
from tests.support.browsers import SMALL, H2Browser, H2Exchange
from tests.support.kernel import in_flight
from tests.support.pairings import JSON, Pairing, SignedIn
from tests.support.remains import OF_EXCHANGES, left
from tests.support.script import Aborted, Whole
from tests.support.streams import STREAM, SYNCED, Page, line, live, opened, shows, unheard_of
from tests.support.upstreams import Request

WATCH = "/k8s/api/v1/namespaces/n/pods?watch=1"
PATIENT: dict[str, str] = {"stream-write-timeout": "10m"}
BUFFERED = 256 * 1024
RECORDS = 1 + 31 / 16_384
"""TLS and frames around the content: 22 bytes a record of 16 KiB, and 9 a frame."""


def assert_cut(pairing: Pairing, stream: Page, request: Request, cause: str) -> None:
    outcome = stream.exchange.read_until_end()
    assert isinstance(outcome, Aborted)
    assert outcome.cut_short
    request.expect_cancelled()
    assert {line["cause"] for line in pairing.logged("response cut short")} == {cause}


def log_out(pairing: Pairing, person: SignedIn) -> None:
    exchange = pairing.connect().request("POST", "/auth/logout", person.change)
    assert exchange.read_head()[0] == 204


# Ends


def test_a_logout_cuts_the_sessions_streams_and_nobody_elses(pairing: Pairing) -> None:
    counted = Counted(pairing)
    someone = pairing.signed_in()
    mine = [live(pairing) for _ in range(3)]
    theirs = [live(pairing, person=someone) for _ in range(3)]
    watch = pairing.connect().request("GET", WATCH, pairing.me.fields)
    watched = pairing.upstream.expect()
    log_out(pairing, pairing.me)
    for stream, request in mine:
        assert_cut(pairing, stream, request, "session_ended")
    assert isinstance(watch.read_until_end(), Aborted)
    watched.expect_cancelled()
    for stream, request in theirs:
        request.send(line("MODIFIED", version="11", data=b"{}"))
        stream.expect("modified")
    logged = pairing.logged("response cut short")
    assert sorted(str(each["route"]) for each in logged) == ["/k8s", *["/stream/v1"] * 3]
    assert counted.moved("cut short") == {("cut short", "session_ended"): 4}
    again, _ = live(pairing)
    assert again.events, "a copied cookie opens streams that are not cut"


def test_a_logout_cuts_one_that_has_no_answer_yet_and_one_that_nobody_reads(pairing: Pairing) -> None:
    unanswered, first = opened(pairing)
    unread, second = stalled(pairing)
    log_out(pairing, pairing.me)
    assert_cut(pairing, unanswered, first, "session_ended")
    second.expect_cancelled()
    unread.exchange.browser.go_on_reading()
    assert isinstance(unread.exchange.read_until_end(), Aborted)


def test_an_expired_session_and_a_long_life_cut_a_stream_as_any_response(pairing: Pairing) -> None:
    someone = pairing.signed_in(ends_at=2**31 - 1)
    mine, theirs = live(pairing), live(pairing, person=someone)
    with pairing.product.later(3601):
        pairing.product.pass_time(5)
        assert_cut(pairing, *mine, "session_ended")
    theirs[1].send(line("MODIFIED", version="11", data=b"{}"))
    theirs[0].expect("modified")


@pytest.mark.parametrize("flags", [{"max-response-duration": "10s"}], ids=["ten seconds"])
def test_a_stream_is_cut_when_it_has_been_open_for_its_duration(pairing: Pairing) -> None:
    counted = Counted(pairing)
    stream, request = live(pairing)
    pairing.product.pass_time(11)
    assert_cut(pairing, stream, request, "response_duration")
    assert counted.moved("used")["used", "response_duration"] == 1
    assert ("used", "response_bytes") not in counted.moved("used")


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_browser_that_leaves_leaves_the_api_server(pairing: Pairing, how: str) -> None:
    at = {
        "unanswered": opened(pairing),
        "in a snapshot": opened(pairing),
        "live": live(pairing),
        "in a page": opened(pairing),
    }
    at["in a snapshot"][1].respond(200, JSON)
    at["in a snapshot"][1].send(line("ADDED"))
    at["in a snapshot"][0].expect("reset", "added")
    at["in a page"][1].respond(422, JSON)
    at["in a page"][1].send(b'{"kind":')
    for stream, request in at.values():
        if how == "reset":
            stream.exchange.reset()
        else:
            stream.exchange.browser.close()
        request.expect_cancelled()
    foyer = pairing.product._foyer
    nothing = {what: count for what, count in OF_EXCHANGES.items() if what not in ("tasks", "deadlines")}
    pairing.script.until(lambda: not pairing.product.ask(lambda: left(foyer, nothing)), "nothing to be left")
    assert pairing.product.measures.watches_open["user"] == 0


def test_a_fault_of_foyers_own_cuts_its_stream_alone(
    pairing: Pairing, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairing.fault_expected = True
    failing, request = live(pairing)
    going, other = live(pairing)
    with monkeypatch.context() as broken:
        broken.setattr("foyer.streams.view.project", lambda *_, **__: 1 // 0)
        request.send(line("MODIFIED", version="11"))
        assert_cut(pairing, failing, request, "internal")
    assert pairing.logged("internal error")[0]["error"] == "ZeroDivisionError"
    other.send(line("MODIFIED", version="11", data=b"{}"))
    going.expect("modified")


def test_a_shutdown_aborts_streams_at_once_and_lets_everything_else_end(own_pairing: Pairing) -> None:
    pairing = own_pairing
    streams = [live(pairing), opened(pairing)]
    watch = pairing.connect().request("GET", WATCH, pairing.me.fields)
    request = pairing.upstream.expect()
    stopped = pairing.product.stop_serving(drain=60.0)
    for stream, watched in streams:
        assert_cut(pairing, stream, watched, "shutdown")
    request.respond(200, JSON)
    request.send(b"event\n")
    assert watch.read_exactly(6) == b"event\n"
    request.end()
    assert watch.read_until_end() == Whole(b"event\n")
    for exchange in (watch, *(stream.exchange for stream, _ in streams)):
        exchange.browser.close()
    pairing.script.until(stopped.done, "foyer to stop")
    stopped.result()


# Slow browsers


def many(first: int) -> bytes:
    """5 MB of events, of versions from `first` on."""
    versions = range(first, first + BATCH)
    return b"".join(
        line("MODIFIED", "u1", str(each), b'{"%d":"%b"}' % (each, b"x" * 20_000)) for each in versions
    )


BATCH = 250


def fill(pairing: Pairing, request: Request) -> int:
    """Events from version 11 on, until no more is taken: the version behind the last."""
    behind = 11
    while not request.unsent:
        request.send(many(behind))
        behind += BATCH
        pairing.script.until_still()
    return behind


def shown(pairing: Pairing, stream: Page, text: bytes) -> None:
    """Waits for an event that has `text` in it, where it is to be the last."""
    content = stream.exchange.content
    pairing.script.until(lambda: text in content[-30_000:] and content.endswith(b"\n\n"), "every event", 30)


def wait(pairing: Pairing, seconds: int) -> None:
    """Time passes, and whoever is asked whether they are there has time to answer."""
    for _ in range(0, seconds, 5):
        pairing.product.pass_time(5)
        pairing.script.until_still(0.01)


def until_cut(pairing: Pairing, request: Request) -> None:
    """Time passes until the API server is left, not all at once: at first the kernel may still take some."""
    for _ in range(30):
        pairing.product.pass_time(1)
        pairing.script.until_still(0.01)
        if request.cancelled is not None:
            return
    request.expect_cancelled()


def stalled(pairing: Pairing) -> tuple[Page, Request]:
    """A stream whose browser stopped reading with a great deal on its way."""
    stream, request = live(pairing, receive_buffer=SMALL)
    stream.exchange.browser.stop_reading()
    fill(pairing, request)
    return stream, request


@pytest.mark.parametrize("flags", [PATIENT], ids=["patient"])
def test_a_slow_browser_keeps_the_api_server_waiting_and_then_gets_everything(pairing: Pairing) -> None:
    stream, request = live(pairing, receive_buffer=SMALL)
    browser = stream.exchange.browser
    browser.stop_reading()
    behind = fill(pairing, request)
    sent = sum(len(many(first)) for first in range(11, behind, BATCH)) - request.unsent
    upstream = in_flight(request.connection.wire.socket, towards_peer=True)
    taken = in_flight(browser.wire.socket, towards_peer=False) + browser.wire.undecrypted
    held = sent - len(stream.exchange.content) - (upstream + taken) / RECORDS
    assert held <= BUFFERED, f"foyer holds {held:.0f} bytes"
    browser.go_on_reading()
    shown(pairing, stream, b'"resourceVersion":"%d"' % (behind - 1))
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in stream.events[3:]]
    assert versions == list(range(11, behind))


@pytest.mark.parametrize("flags", [PATIENT], ids=["patient"])
def test_a_slow_browser_is_no_stalled_snapshot(pairing: Pairing) -> None:
    stream, request = opened(pairing, receive_buffer=SMALL)
    request.respond(200, JSON)
    request.send(line("ADDED"))
    stream.expect("reset", "added")
    stream.exchange.browser.stop_reading()
    behind = fill(pairing, request)
    wait(pairing, 100)
    stream.exchange.browser.go_on_reading()
    request.send(SYNCED)
    shown(pairing, stream, b'"synced"')
    assert [event["type"] for event in stream.events] == ["reset", *["added"] * (behind - 10), "synced"]
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("flags", [PATIENT], ids=["patient"])
def test_a_page_is_not_shown_to_a_browser_that_takes_nothing(pairing: Pairing) -> None:
    stream, request = opened(pairing, unheard_of(), receive_buffer=SMALL)
    request.answer(422, JSON, status(422, "sendInitialEvents"))
    large = b'{"a":"%b"}' % (b"x" * 40_000)
    stream.exchange.read_head()
    stream.exchange.browser.stop_reading()
    listing = pairing.upstream.expect()
    listing.answer(200, JSON, page([config_map(f"u{number}", data=large) for number in range(300)]))
    pairing.script.until_still()
    pairing.upstream.expect_nothing()
    stream.exchange.browser.go_on_reading()
    pairing.upstream.expect().respond(200, JSON)
    shown(pairing, stream, b'"synced"')
    assert len(stream.events) == 302


def test_a_browser_that_takes_nothing_for_its_time_is_cut(pairing: Pairing) -> None:
    counted = Counted(pairing)
    stream, request = stalled(pairing)
    until_cut(pairing, request)
    [logged] = pairing.logged("response cut short")
    assert (logged["cause"], logged["route"]) == ("write_timeout", "/stream/v1")
    stream.exchange.browser.go_on_reading()
    assert isinstance(stream.exchange.read_until_end(), Aborted)
    counted.expect({("cut short", "write_timeout"): 1})


def test_a_quiet_stream_is_none_of_those(pairing: Pairing) -> None:
    stream, request = live(pairing)
    wait(pairing, 120)
    request.send(line("MODIFIED", version="11", data=b"{}"))
    stream.expect("modified")


def test_one_stalled_stream_holds_up_no_other_of_its_connection_and_is_cut_alone(pairing: Pairing) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("several exchanges share a connection on HTTP/2 alone")
    browser = pairing.connect()
    assert isinstance(browser, H2Browser)
    browser.h2.increment_flow_control_window(10_000_000)
    browser.flush()
    streams = []
    for _ in range(2):
        stream = Page(browser.request("GET", STREAM, pairing.me.fields))
        request = pairing.upstream.expect()
        shows(stream, request)
        streams.append((stream, request))
    (stuck, flood), (going, calm) = streams
    assert isinstance(stuck.exchange, H2Exchange)
    stuck.exchange.stop_reading()
    fill(pairing, flood)
    calm.send(line("MODIFIED", version="11", data=b"{}"))
    going.expect("modified")
    until_cut(pairing, flood)
    assert isinstance(stuck.exchange.read_until_end(), Aborted)
    calm.send(line("MODIFIED", version="12", data=b'{"a":"3"}'))
    going.expect("modified")


def test_the_last_event_is_delivered_to_a_browser_that_takes_it_late(pairing: Pairing) -> None:
    stream, request = live(pairing, receive_buffer=SMALL)
    stream.exchange.browser.stop_reading()
    request.send(error(403, "no") + b"\n")
    request.expect_cancelled()
    pairing.script.until_still()
    stream.exchange.browser.go_on_reading()
    stream.expect("FORBIDDEN")
    assert isinstance(stream.end(), Whole)

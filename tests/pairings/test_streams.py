"""`/stream/v1` over sockets, in each pairing: what goes up, and what comes down (spec 05, Wire, Upstream)."""

import pytest

from tests.support.browsers import H2Browser
from tests.support.pairings import JSON, Pairing
from tests.support.script import Fields
from tests.support.streams import (
    STREAM,
    STREAMING_LIST,
    SYNCED,
    Page,
    line,
    live,
    opened,
    shows,
)


def watches_open(pairing: Pairing) -> int:
    return pairing.product.ask(lambda: pairing.product.measures.watches_open["user"])


def test_a_stream_is_a_snapshot_and_then_what_changes(pairing: Pairing) -> None:
    page, request = opened(pairing)
    assert (request.method, request.target) == (b"GET", STREAMING_LIST)
    request.respond(200, JSON)
    request.send(line("ADDED"))
    page.expect("reset", "added")
    request.send(SYNCED)
    page.expect("synced")
    request.send(line("MODIFIED", version="11", data=b'{"a":"2"}'))
    [event] = page.expect("modified")
    assert event["object"]["data"] == {"a": "2"}
    assert event["object"]["metadata"]["resourceVersion"] == "11"
    request.send(line("DELETED", version="12"))
    page.expect("deleted")
    page.exchange.browser.close()
    request.expect_cancelled()


def test_its_head_keeps_everything_between_from_holding_it_back(pairing: Pairing) -> None:
    browser = pairing.connect()
    stream = Page(browser.request("GET", STREAM, [*pairing.me.fields, (b"Accept-Encoding", b"gzip, br")]))
    assert stream.exchange.read_head()[0] == 200, "before the API server has said anything"
    for name, value in {
        "content-type": b"text/event-stream",
        "x-krm-stream-protocol": b"1",
        "cache-control": b"no-store, no-transform",
        "x-accel-buffering": b"no",
        "x-content-type-options": b"nosniff",
        "content-security-policy": b"default-src 'none'; sandbox",
    }.items():
        assert stream.exchange.all(name) == [value]
    assert stream.exchange.all("content-encoding") == stream.exchange.all("content-length") == []
    pairing.upstream.expect()


def test_of_the_browsers_request_nothing_goes_up_but_who_it_is_of(pairing: Pairing) -> None:
    mine: Fields = [
        (b"Accept", b"text/event-stream"),
        (b"User-Agent", b"a browser"),
        (b"Last-Event-ID", b"7"),
        (b"Accept-Encoding", b"gzip"),
        (b"Authorization", b"Bearer another"),
        (b"X-Forwarded-For", b"192.0.2.1"),
        (b"Impersonate-User", b"root"),
    ]
    pairing.connect().request("GET", STREAM, [*pairing.me.fields, *mine])
    request = pairing.upstream.expect()
    fields = [field for field in request.fields if field[0].lower() not in (b"host", b":authority")]
    assert [(name.lower(), value) for name, value in fields if not name.startswith(b":")] == [
        (b"authorization", b"Bearer " + pairing.me.token),
        (b"accept", b"application/json"),
        (b"accept-encoding", b"identity"),
        (b"user-agent", b"foyer"),
    ]


def test_each_event_leaves_in_the_turn_that_brought_it(pairing: Pairing) -> None:
    stream, request = live(pairing)
    for version in range(11, 40):
        request.send(line("MODIFIED", version=str(version), data=b'{"a":"%d"}' % version))
        stream.expect("modified")


def test_a_scope_that_is_not_there_is_framed_all_the_same(pairing: Pairing) -> None:
    stream, request = opened(pairing, f"{STREAM}&name=absent")
    assert request.target.endswith(b"&fieldSelector=metadata.name%3Dabsent")
    request.respond(200, JSON)
    request.send(SYNCED)
    [reset, _] = stream.expect("reset", "synced")
    assert reset["scope"]["name"] == "absent"
    assert (reset["target"], reset["scope"]["target"]) == ("", "")


def test_a_secrets_values_never_leave(pairing: Pairing) -> None:
    target = "/stream/v1?version=v1&resource=secrets&namespace=app"
    stream, request = opened(pairing, target)
    request.respond(200, JSON)
    pairing.leaks.secret(b"aHVudGVyMg==", "a Secret's value")
    request.send(line("ADDED", data=b'{"a":"aHVudGVyMg=="}') + SYNCED)
    [_, event, _] = stream.expect("reset", "added", "synced")
    assert "data" not in event["object"]
    assert [record["path"] for record in event["redacted"]] == ["/data/a"]


def test_many_streams_share_an_http2_connection(pairing: Pairing) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("several exchanges share a connection on HTTP/2 alone")
    browser = pairing.browser
    assert isinstance(browser, H2Browser)
    streams = []
    for _ in range(9):
        stream = Page(browser.request("GET", STREAM, pairing.me.fields))
        request = pairing.upstream.expect()
        shows(stream, request)
        streams.append((stream, request))
    for stream, request in reversed(streams):
        request.send(line("MODIFIED", version="11", data=b"{}"))
        stream.expect("modified")
        stream.exchange.reset()
        request.expect_cancelled()


# Heartbeats.


def test_a_heart_beats_every_twenty_seconds(pairing: Pairing) -> None:
    stream, _ = live(pairing)
    for beats in range(1, 4):
        pairing.product.pass_time(20)
        pairing.script.until(lambda n=beats: stream.wire.count(b": heartbeat\n\n") >= n, "a heartbeat")  # type: ignore[misc]
    assert stream.wire.count(b": heartbeat\n\n") <= 5


# Watches are counted.


def test_an_open_watch_is_counted_as_long_as_it_is_one(pairing: Pairing) -> None:
    before = watches_open(pairing)
    stream, request = opened(pairing)
    assert watches_open(pairing) == before
    shows(stream, request)
    assert watches_open(pairing) == before + 1
    pairing.product.pass_time(2)
    request.end()
    again = pairing.upstream.expect()
    assert watches_open(pairing) == before, "the stream is open, and no watch"
    shows_again = again.respond
    stream.expect("RESYNC_REQUIRED")
    shows_again(200, JSON)
    again.send(SYNCED)
    stream.expect("reset", "synced")
    assert watches_open(pairing) == before + 1
    stream.exchange.reset()
    again.expect_cancelled()
    assert watches_open(pairing) == before

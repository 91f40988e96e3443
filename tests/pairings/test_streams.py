"""`/stream/v1` over sockets, in each pairing: what goes up, what comes down, and what upstream's answers become
(spec 05; A25, A26).
"""

import pytest

from tests.pairings.counts import Counted
from tests.streams.following import error, page, status
from tests.support.browsers import H2Browser
from tests.support.pairings import JSON, TEXT, Pairing, SignedIn
from tests.support.script import Fields, Whole
from tests.support.streams import SCOPE, STREAM, SYNCED, Page, line, live, opened, shows, unheard_of
from tests.support.upstreams import Request

STREAMING_LIST = (
    b"/api/v1/namespaces/app/configmaps"
    b"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
)
NO_STREAMING_LISTS = status(422, "sendInitialEvents: Forbidden: not supported", "Invalid")


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


# Refusals at opening and on the open watch: the table of spec 05.

TABLE = [
    (403, "FORBIDDEN", True, "the server's words"),
    (401, "UNAUTHENTICATED", True, None),
    (404, "SCOPE_INVALID", True, None),
    (400, "SCOPE_INVALID", True, "the server's words"),
    (422, "SCOPE_INVALID", True, "the server's words"),
    (302, "INTERNAL", True, None),
    (429, "UPSTREAM_UNAVAILABLE", False, None),
    (500, "UPSTREAM_UNAVAILABLE", False, None),
    (503, "UPSTREAM_UNAVAILABLE", False, None),
]
LOGGED = {"FORBIDDEN", "UNAUTHENTICATED", "SCOPE_INVALID"}


def assert_refused(pairing: Pairing, stream: Page, code: str, terminal: bool, message: str | None) -> None:
    [event] = stream.expect(code)
    assert event["terminal"] is terminal
    assert message is None or event["message"] == message
    assert ("retryAfterMs" in event) is (not terminal)
    assert isinstance(stream.end(), Whole)
    pairing.upstream.expect_nothing()
    if code in LOGGED:
        [logged] = pairing.logged("refused")
        told = [logged[name] for name in ("by", "user", "route", "method", "path", "reason", "scope")]
        mine = "ada@example.test"
        assert told[:-1] == ["kubernetes", mine, "/stream/v1", "GET", "/stream/v1", code]
        assert str(told[-1]).startswith("target=default&version=v1&resource=configmaps")
    assert not any("the server's words" in str(logged) for logged in pairing.log)


@pytest.mark.parametrize(("status_code", "code", "terminal", "message"), TABLE)
def test_an_answer_that_is_none_is_the_only_event(
    pairing: Pairing, status_code: int, code: str, terminal: bool, message: str | None
) -> None:
    stream, request = opened(pairing)
    fields = [*JSON, (b"location", b"https://elsewhere.test/")] if status_code == 302 else JSON
    request.answer(status_code, fields, status(status_code, "the server's words"))
    assert_refused(pairing, stream, code, terminal, message)


@pytest.mark.parametrize(
    ("status_code", "code", "terminal", "message"), [row for row in TABLE if row[0] != 302]
)
def test_so_it_is_on_the_open_watch(
    pairing: Pairing, status_code: int, code: str, terminal: bool, message: str | None
) -> None:
    stream, request = live(pairing)
    request.send(error(status_code, "the server's words") + b"\n")
    assert_refused(pairing, stream, code, terminal, message)
    request.expect_cancelled()


def test_the_hint_is_the_servers_own(pairing: Pairing) -> None:
    stream, request = opened(pairing)
    request.answer(429, [*TEXT, (b"retry-after", b"3")], b"too many requests")
    [event] = stream.expect("UPSTREAM_UNAVAILABLE")
    assert str(event["retryAfterMs"]) == "3000"


def test_no_connection_is_unavailable(pairing: Pairing) -> None:
    with pairing.upstream.not_listening():
        stream = Page(pairing.connect().request("GET", STREAM, pairing.me.fields))
        stream.expect("UPSTREAM_UNAVAILABLE")
        assert isinstance(stream.end(), Whole)


@pytest.mark.parametrize(
    "fields",
    [TEXT, [], [*JSON, (b"content-encoding", b"gzip")]],
    ids=["another type", "no type", "compressed"],
)
def test_what_is_no_plain_json_is_no_answer(pairing: Pairing, fields: Fields) -> None:
    stream, request = opened(pairing)
    request.respond(200, fields)
    request.send(line("ADDED"))
    stream.expect("UPSTREAM_UNAVAILABLE")
    assert isinstance(stream.end(), Whole)
    request.expect_cancelled()


# Where there are no streaming lists.


def note(uid: str, version: str) -> bytes:
    """An item as a list of a built-in type has it."""
    return b'{"metadata":{"name":"n","uid":"%b","resourceVersion":"%b"}}' % (uid.encode(), version.encode())


def listed(pairing: Pairing, target: str, *pages: bytes) -> tuple[Page, Request]:
    """A stream whose server lists in `pages`, and the request behind them."""
    stream, request = opened(pairing, target)
    request.answer(422, JSON, NO_STREAMING_LISTS)
    for content in pages:
        request = pairing.upstream.expect()
        assert b"limit=500" in request.target
        request.answer(200, JSON, content)
    return stream, pairing.upstream.expect()


def test_then_it_is_listed_in_pages_and_watched_and_the_next_stream_asks_no_more(pairing: Pairing) -> None:
    target = unheard_of()
    more = page([note("u1", "5")], token="more", kind="NoteList")
    last = page([note("u2", "6")], kind="NoteList")
    stream, request = listed(pairing, target, more, last)
    _, first, _, _ = stream.expect("reset", "added", "added", "synced")
    assert (first["object"]["kind"], first["object"]["apiVersion"]) == ("Note", "v1")
    assert request.target.endswith(b"?watch=1&resourceVersion=100&allowWatchBookmarks=true")
    request.respond(200, JSON)
    request.send(line("ADDED", "u3"))
    stream.expect("added")
    _, again = opened(pairing, target)
    assert again.target.endswith(b"?limit=500")


# Continuity (A25, A26).


@pytest.mark.parametrize("how", ["ends", "is reset", "is broken off", "says 410", "sends no object"])
def test_a_watch_that_is_lost_is_one_resync_and_a_fresh_cycle(pairing: Pairing, how: str) -> None:
    stream, request = live(pairing)
    pairing.product.pass_time(2)
    match how:
        case "ends":
            request.end()
        case "is reset":
            request.reset()
        case "is broken off":
            request.drop()
        case "says 410":
            request.send(error(410) + b"\n")
        case _:
            request.send(b'{"type":"MODIFIED","object":{"metadata":{}}}\n')
    [event] = stream.expect("RESYNC_REQUIRED")
    assert event["terminal"] is False
    again = pairing.upstream.expect()
    assert again.target == STREAMING_LIST
    shows(stream, again)
    again.send(line("DELETED", version="11"))
    stream.expect("deleted")
    pairing.upstream.expect_nothing()


def test_410_for_ever_is_asked_for_twice(pairing: Pairing) -> None:
    stream, request = opened(pairing)
    request.answer(410, JSON, status(410))
    pairing.upstream.expect().answer(410, JSON, status(410))
    _, event = stream.expect("RESYNC_REQUIRED", "UPSTREAM_UNAVAILABLE")
    assert str(event["retryAfterMs"]) == "30000"
    assert isinstance(stream.end(), Whole)
    pairing.upstream.expect_nothing()


def test_a_page_whose_token_expired_begins_the_list_anew(pairing: Pairing) -> None:
    target = unheard_of()
    first = page([note("u1", "5")], token="more", kind="NoteList")
    stream, request = listed(pairing, target, first)
    assert b"&continue=more" in request.target
    request.answer(410, JSON, status(410, reason="Expired"))
    request = pairing.upstream.expect()
    assert request.target.endswith(b"?limit=500")
    request.answer(200, JSON, page([], kind="NoteList"))
    stream.expect("reset", "added", "RESYNC_REQUIRED", "reset", "synced")
    pairing.upstream.expect().respond(200, JSON)


def test_a_first_watch_whose_version_is_gone_begins_anew_as_well(pairing: Pairing) -> None:
    stream, request = listed(pairing, unheard_of(), page([], kind="NoteList"))
    request.answer(410, JSON, status(410))
    pairing.upstream.expect().answer(200, JSON, page([], kind="NoteList"))
    stream.expect("reset", "synced", "RESYNC_REQUIRED", "reset", "synced")
    pairing.upstream.expect().answer(410, JSON, status(410))
    stream.expect("UPSTREAM_UNAVAILABLE")
    pairing.upstream.expect_nothing()


def ends_at_once(request: Request) -> None:
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    request.end()


def test_watches_that_all_end_at_once_are_begun_anew_once_each(pairing: Pairing) -> None:
    streams = [opened(pairing) for _ in range(30)]
    for _, request in streams:
        ends_at_once(request)
    for _ in streams:
        ends_at_once(pairing.upstream.expect())
    for stream, _ in streams:
        assert isinstance(stream.exchange.read_until_end(), Whole)
        kinds = [event.get("code", event["type"]) for event in stream.events]
        cycle = ["reset", "added", "synced"]
        assert kinds == [*cycle, "RESYNC_REQUIRED", *cycle, "UPSTREAM_UNAVAILABLE"]
    pairing.upstream.expect_nothing()


# Stalls.


def test_a_snapshot_that_stalls_falls_back_to_a_list_once(pairing: Pairing) -> None:
    stream, request = opened(pairing, unheard_of())
    request.respond(200, JSON)
    request.send(line("ADDED"))
    stream.expect("reset", "added")
    pairing.product.pass_time(17)
    request.expect_cancelled()
    stream.expect("RESYNC_REQUIRED")
    again = pairing.upstream.expect()
    assert again.target.endswith(b"?limit=500")
    pairing.product.pass_time(17)
    again.expect_cancelled()
    stream.expect("UPSTREAM_UNAVAILABLE")
    assert isinstance(stream.end(), Whole)


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


# What is no scope.

INVALID = [
    ("", "version=v1&resource=configmaps&token=", "version=v1&resource=configmaps"),
    ("", "version=v1&resource=ConfigMap", "version=v1"),
    (
        "",
        "version=v1&resource=configmaps&namespace=a&namespace=b",
        "version=v1&resource=configmaps&namespace=a",
    ),
    ("", "resource=configmaps", "resource=configmaps"),
    ("", f"{SCOPE}&target=elsewhere", SCOPE),
    ("", f"{SCOPE}&projection=krm-none/v1", SCOPE),
    ("", "", ""),
]


@pytest.mark.parametrize(("_", "query", "shown"), INVALID)
def test_a_scope_that_cannot_be_read_is_an_event_and_asks_nothing(
    pairing: Pairing, _: str, query: str, shown: str
) -> None:
    secret = "eyJhbGciOi.sRtK.Xy"
    query = query + secret if query.endswith("token=") else query
    stream = Page(pairing.get(f"/stream/v1?{query}"))
    [event] = stream.expect("SCOPE_INVALID")
    assert event["terminal"] is True
    assert isinstance(stream.end(), Whole)
    assert stream.exchange.all("content-type") == [b"text/event-stream"]
    assert stream.exchange.all("x-krm-stream-protocol") == [b"1"]
    pairing.upstream.expect_nothing()
    [logged] = pairing.logged("refused")
    assert (logged["by"], logged["reason"], logged["scope"]) == ("foyer", "SCOPE_INVALID", shown)
    assert secret not in str(pairing.log)


# The gate's refusals are interruptions.


def asked_as(
    pairing: Pairing, person: SignedIn | None, method: str = "GET"
) -> tuple[int, list[bytes], list[bytes]]:
    exchange = pairing.connect().request(method, STREAM, person.fields if person else [])
    exchange.read_until_end()
    assert exchange.all("content-type") in ([b"application/json"], [])
    return exchange.status, exchange.all("krm-foyer-interruption"), exchange.all("allow")


def test_without_a_session_and_by_another_method_there_is_no_stream(pairing: Pairing) -> None:
    assert asked_as(pairing, None) == (401, [b"Unauthorized"], [])
    for method in ("HEAD", "POST", "OPTIONS"):
        assert asked_as(pairing, pairing.me, method) == (405, [b"MethodNotAllowed"], [b"GET"])
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("flags", [{"max-session-streams": "2", "max-streams": "3"}], ids=["few streams"])
def test_streams_have_limits_of_their_own_in_a_session_and_in_the_replica(pairing: Pairing) -> None:
    counted = Counted(pairing)
    mine = [live(pairing), live(pairing)]
    assert asked_as(pairing, pairing.me) == (429, [b"TooManyStreams"], [])
    someone = pairing.signed_in()
    live(pairing, person=someone)
    assert asked_as(pairing, someone) == (429, [b"TooManyStreams"], [])
    assert counted.moved("reached") == {("reached", "session_streams"): 1, ("reached", "streams"): 1}
    assert pairing.product.ask(lambda: pairing.product.measures.streams_open()) == 3
    pairing.connect().request("GET", "/k8s/api/v1/pods", pairing.me.fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    mine[0][0].exchange.reset()
    mine[0][1].expect_cancelled()
    live(pairing, person=someone)


@pytest.mark.parametrize(
    "flags", [{"session-request-rate": "0.5", "session-request-burst": "2"}], ids=["slow"]
)
def test_a_stream_and_a_request_draw_on_one_rate(pairing: Pairing) -> None:
    live(pairing)
    pairing.connect().request("GET", "/k8s/api/v1/pods", pairing.me.fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert asked_as(pairing, pairing.me) == (429, [b"RequestRateExceeded"], [])


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

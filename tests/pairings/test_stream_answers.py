"""What becomes of the API server's answers to a stream, over sockets (spec 05, Upstream; A25, A26)."""

import pytest

from tests.streams.following import error, page, status
from tests.support.pairings import JSON, TEXT, Pairing
from tests.support.script import Fields, Whole
from tests.support.streams import (
    STREAM,
    STREAMING_LIST,
    SYNCED,
    Page,
    line,
    live,
    opened,
    shows,
    unheard_of,
)
from tests.support.upstreams import Request

NO_STREAMING_LISTS = status(422, "sendInitialEvents: Forbidden: not supported", "Invalid")

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

"""`/stream/v1` over sockets, in each pairing: what goes up, and what comes down (spec 05)."""

from tests.streams.following import bookmark, change, config_map
from tests.support.pairings import JSON, Pairing
from tests.support.streams import Page
from tests.support.upstreams import Request

SCOPE = "version=v1&resource=configmaps&namespace=app"
STREAM = f"/stream/v1?{SCOPE}"
STREAMING_LIST = (
    b"/api/v1/namespaces/app/configmaps"
    b"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
)
SYNCED = bookmark(complete=True) + b"\n"


def line(kind: str, uid: str = "u1", version: str = "10", data: bytes = b'{"a":"1"}') -> bytes:
    return change(kind, config_map(uid, version, data)) + b"\n"


def opened(pairing: Pairing, target: str = STREAM) -> tuple[Page, Request]:
    """A stream whose request has reached the API server."""
    page = Page(pairing.connect().request("GET", target, pairing.me.fields))
    return page, pairing.upstream.expect()


def live(pairing: Pairing, target: str = STREAM) -> tuple[Page, Request]:
    """A stream of one object, behind its snapshot."""
    page, request = opened(pairing, target)
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    page.expect("reset", "added", "synced")
    return page, request


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

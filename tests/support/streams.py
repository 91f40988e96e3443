"""A page's stream, read off a browser as it comes, and what an API server sends for it, over sockets."""

import itertools

from tests.streams.following import bookmark, change, config_map
from tests.streams.wires import Event, events
from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Pairing, SignedIn
from tests.support.script import Outcome
from tests.support.upstreams import Request

SCOPE = "version=v1&resource=configmaps&namespace=app"
STREAM = f"/stream/v1?{SCOPE}"
STREAMING_LIST = (
    b"/api/v1/namespaces/app/configmaps"
    b"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
)
"""What the API server is asked for it first."""

SYNCED = bookmark(complete=True) + b"\n"

_numbers = itertools.count()


def unheard_of() -> str:
    """A stream of a group that no foyer knows anything of yet, such as whether it has streaming lists."""
    return f"/stream/v1?group=g{next(_numbers)}.example.com&version=v1&resource=notes"


def line(kind: str, uid: str = "u1", version: str = "10", data: bytes = b'{"a":"1"}') -> bytes:
    """One line of a watch."""
    return change(kind, config_map(uid, version, data)) + b"\n"


class Page:
    """What a page of one stream has seen so far."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._taken = 0
        self._read = 0
        self._events: list[Event] = []

    @property
    def wire(self) -> bytes:
        """Every whole frame that has come, heartbeats among them."""
        content = bytes(self.exchange.content)
        return content[: content.rfind(b"\n\n") + 2] if b"\n\n" in content else b""

    @property
    def events(self) -> list[Event]:
        """Every event that has come, without its `seq`, which is looked at."""
        wire = self.wire
        if len(wire) > self._read:
            self._read, self._events = len(wire), events(wire)
        return self._events

    def next(self) -> Event:
        """Waits for the event that no earlier call returned."""
        taken, self._taken = self._taken, self._taken + 1
        script = self.exchange.browser.script
        script.until(
            lambda: self.wire.count(b"data: ") > taken or self.exchange.outcome is not None, "an event"
        )
        found = self.events
        assert len(found) > taken, f"the stream ended: {self.exchange.outcome}"
        return found[taken]

    def expect(self, *types: str) -> list[Event]:
        """Waits for events of these types, errors by their code."""
        found = [self.next() for _ in types]
        assert [event.get("code", event["type"]) for event in found] == list(types), found
        return found

    def end(self) -> Outcome:
        """Waits for the end; every event must have been taken before it."""
        outcome = self.exchange.read_until_end()
        assert len(self.events) == self._taken, self.events[self._taken :]
        return outcome


def opened(
    pairing: Pairing,
    target: str = STREAM,
    person: SignedIn | None = None,
    *,
    receive_buffer: int | None = None,
) -> tuple[Page, Request]:
    """A stream on a connection of its own, whose request has reached the API server."""
    browser = pairing.connect(receive_buffer=receive_buffer)
    page = Page(browser.request("GET", target, (person or pairing.me).fields))
    return page, pairing.upstream.expect()


def live(
    pairing: Pairing,
    target: str = STREAM,
    person: SignedIn | None = None,
    *,
    receive_buffer: int | None = None,
) -> tuple[Page, Request]:
    """One of one object, behind its snapshot."""
    page, request = opened(pairing, target, person, receive_buffer=receive_buffer)
    shows(page, request)
    return page, request


def shows(page: Page, request: Request) -> None:
    """The whole snapshot of one object."""
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    page.expect("reset", "added", "synced")

"""A stream of foyer's as a page reads it: Server-Sent Events, an event at a time."""

import json
from typing import Any

from tests.e2e.harness.browser import Browser, Ending, Watch

Event = dict[str, Any]


class Stream:
    """An open `/stream/v1`, whose frames are checked for their form and their `seq` as they are taken."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.headers = watch.headers
        self._seq = 0

    def event(self, within: float = 5.0) -> Event:
        """The next event, past heartbeats."""
        while not (line := self.watch.line(within)).startswith("data: "):
            assert line in ("", ": heartbeat"), line
        event: Event = json.loads(line.removeprefix("data: "))
        self._seq += 1
        assert event.pop("seq") == self._seq
        return event

    def cycle(self, within: float = 15.0) -> list[Event]:
        """The objects of a whole snapshot, which comes next."""
        first = self.event(within)
        assert first["type"] == "reset", first
        events: list[Event] = []
        while (event := self.event(within))["type"] != "synced":
            assert event["type"] == "added"
            events.append(event["object"])
        return events

    def error(self, within: float = 5.0) -> Event:
        """The next event, which is an error."""
        event = self.event(within)
        assert event["type"] == "error", event
        return event

    def ending(self, within: float = 5.0) -> Ending:
        """How it ends."""
        return self.watch.ending(within)


def stream(browser: Browser, resource: str, **scope: str) -> Stream:
    """Opens one; `scope` has further parameters of its query."""
    query = "&".join(
        f"{name}={value}" for name, value in ({"version": "v1", "resource": resource} | scope).items()
    )
    return Stream(browser.watch(f"/stream/v1?{query}"))

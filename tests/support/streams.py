"""A page's stream, read off a browser as it comes, for tests that speak over sockets."""

from tests.streams.wires import Event, events
from tests.support.browsers import Exchange
from tests.support.script import Outcome


class Page:
    """What a page of one stream has seen so far."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._taken = 0

    @property
    def wire(self) -> bytes:
        """Every whole frame that has come, heartbeats among them."""
        content = bytes(self.exchange.content)
        return content[: content.rfind(b"\n\n") + 2] if b"\n\n" in content else b""

    @property
    def events(self) -> list[Event]:
        """Every event that has come, without its `seq`, which is looked at."""
        return events(self.wire)

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

"""What a stream puts on the wire, read as strictly as a browser and a client of the protocol would."""

from collections.abc import Iterable
from typing import Any

from tests.support.jsontext_twin import Spelled, decode

Event = dict[str, Any]
"""One event, its numbers `Spelled`."""

FIELDS = {
    "reset": {"target", "scope", "projection"},
    "added": {"object", "redacted"},
    "modified": {"object", "redacted"},
    "deleted": {"identity"},
    "synced": set(),
    "error": {"code", "message", "terminal"},
}


def events(wire: bytes) -> list[Event]:
    """Every event of one connection from its first; fails on whatever is no frame, or out of sequence."""
    assert b"\r" not in wire
    assert not wire or wire.endswith(b"\n\n")
    found: list[Event] = []
    for frame in wire.split(b"\n\n")[:-1]:
        if frame == b": heartbeat":
            continue
        assert frame.startswith(b'data: {"seq":'), frame[:80]
        assert b"\n" not in frame
        event = decode(frame.removeprefix(b"data: "))
        assert event.pop("seq") == Spelled(len(found) + 1)
        optional = {"retryAfterMs"} if event["type"] == "error" else set()
        assert event.keys() - optional == {"type"} | FIELDS[event["type"]]
        found.append(event)
    return found


class Client:
    """A page's client that keeps to the protocol, and notices where the wire does not."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.redacted: dict[str, dict[str, int]] = {}
        self.synced = False
        self.ended = False
        self._cycle = False
        self._unseen: set[str] = set()
        self._versions: dict[str, int] = {}

    def take(self, wire: Iterable[Event]) -> None:
        """The next events."""
        for event in wire:
            assert not self.ended, "something comes after the last event"
            getattr(self, f"_{event['type']}")(event)

    def _reset(self, event: Event) -> None:
        assert not self._cycle, "a cycle begins within a cycle"
        self._cycle, self.synced = True, False
        self._unseen = set(self.objects)
        self._versions = {}

    def _added(self, event: Event) -> None:
        assert self._cycle, "an object outside a cycle"
        metadata = event["object"]["metadata"]
        uid = metadata["uid"]
        version = int(metadata["resourceVersion"])
        assert version >= self._versions.get(uid, 0), "a uid goes back"
        self._versions[uid] = version
        self.objects[uid] = event["object"]
        self.redacted[uid] = {record["path"]: int(record["rev"]) for record in event["redacted"]}
        assert list(self.redacted[uid]) == sorted(self.redacted[uid])
        self._unseen.discard(uid)

    def _modified(self, event: Event) -> None:
        assert self.synced, "a snapshot's are all added"
        self._added(event)

    def _deleted(self, event: Event) -> None:
        assert self._cycle, "an object outside a cycle"
        uid = event["identity"]["uid"]
        self.objects.pop(uid, None)
        self.redacted.pop(uid, None)
        self._unseen.discard(uid)

    def _synced(self, event: Event) -> None:
        assert self._cycle and not self.synced, "synced twice"
        self.synced = True
        for uid in self._unseen:
            del self.objects[uid], self.redacted[uid]

    def _error(self, event: Event) -> None:
        if event["code"] == "RESYNC_REQUIRED":
            assert event["terminal"] is False
            self._cycle = self.synced = False
        else:
            assert event["terminal"] is (event["code"] != "UPSTREAM_UNAVAILABLE")
            self.ended = True

"""The public krm-stream project's scenarios, as a page in Chromium sees them through follow().

What a page must make of a wire is computed here from the events by the rules of the protocol, and compared
with what it was told after each event. Where the data has a wire as bytes, those are sent.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.harness.chromium import visitor
from tests.e2e.harness.followed import Followed
from tests.e2e.harness.gateway import Gateway, Opened, running_gateway
from tests.streams.conformance import folder, transcript

DATA = folder()
FIXTURES = json.loads((DATA / "fixtures.json").read_bytes()) if DATA else []
BODIES = json.loads((DATA / "bodies.json").read_bytes()) if DATA else {}
WIRES = [fixture["id"] for fixture in FIXTURES if transcript(fixture["id"])]
NAMES = ("target", "group", "version", "resource", "namespace", "name", "labelSelector")


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running_gateway() as gateway:
        yield gateway


@pytest.fixture
def page(gateway: Gateway, visits: Browser, tmp_path: Path) -> Iterator[Page]:
    errors: list[str] = []
    with visitor(visits, tmp_path, "last") as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.clock.install(time=0)
        page.goto(f"{gateway.origin}/blank")
        page.clock.pause_at(3600)
        yield page
    assert errors == []


class Reference:
    """What is shown after each event: a cycle takes the place of what was shown once it is whole."""

    def __init__(self) -> None:
        self.shown: dict[str, Any] = {}
        self.redacted: dict[str, Any] = {}
        self.state = "connecting"
        self._cycle: dict[str, tuple[Any, Any]] | None = None

    def take(self, event: dict[str, Any]) -> None:
        """The next event."""
        match event["type"]:
            case "reset":
                self._cycle = {}
                self.state = "stale" if self.state != "connecting" else "connecting"
            case "added" | "modified":
                whole = (event["object"], event["redacted"])
                if self._cycle is None:
                    self._show(*whole)
                else:
                    self._cycle[event["object"]["metadata"]["uid"]] = whole
            case "deleted":
                gone = event["identity"]["uid"]
                (self.shown if self._cycle is None else self._cycle).pop(gone, None)
            case "synced":
                assert self._cycle is not None
                self.shown, self.redacted, self.state = {}, {}, "live"
                for whole in self._cycle.values():
                    self._show(*whole)
                self._cycle = None
            case "error":
                assert event["code"] == "RESYNC_REQUIRED"
                self.state = "stale"

    def _show(self, object_: Any, redacted: Any) -> None:
        uid = object_["metadata"]["uid"]
        self.shown[uid] = object_
        self.redacted.pop(uid, None)
        if redacted:
            self.redacted[uid] = redacted


def events_of(fixture: Any) -> list[dict[str, Any]]:
    """Its events as they are on the wire, without `seq`."""
    events = []
    for listed in fixture["events"]:
        event = dict(listed)
        if event["type"] in ("added", "modified"):
            event = {"redacted": [], **event, "object": BODIES[event.pop("body")]}
        elif event["type"] == "deleted":
            event = (
                {**event, "identity": identity_of(BODIES[event.pop("body")])} if "body" in event else event
            )
        events.append(event)
    return events


def identity_of(body: Any) -> dict[str, Any]:
    metadata = body["metadata"]
    return {
        "uid": metadata["uid"],
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "name": metadata["name"],
    }


def scope_of(fixture: Any) -> dict[str, str]:
    asked = fixture.get("scope", {"version": "v1", "resource": "configmaps"})
    return {name: asked[name] for name in NAMES if name in asked}


def agrees(page: Page, reference: Reference) -> None:
    """Waits until the page was told just that."""
    told = json.dumps([reference.state, reference.shown, reference.redacted])
    page.wait_for_function(
        """(told) => {
            const sorted = (value) => JSON.stringify(value, (_, each) =>
                each && typeof each === "object" && !Array.isArray(each)
                    ? Object.fromEntries(Object.entries(each).sort()) : each);
            const { state, objects, redacted } = followed.calls.at(-1) ?? {};
            return sorted([state, objects, redacted]) === sorted(JSON.parse(told));
        }""",
        arg=told,
    )


def test_the_scenarios_for_pages_are_there() -> None:
    if DATA is None:
        pytest.skip("the conformance data is not beside the project")
    assert sum("client" in fixture["suites"] for fixture in FIXTURES) >= 10
    assert len(WIRES) >= 10


@pytest.mark.parametrize("connections", ["on one connection", "each cycle on a connection of its own"])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture["id"])
def test_after_each_event_a_page_shows_what_it_should(
    page: Page, gateway: Gateway, fixture: Any, connections: str
) -> None:
    followed = Followed(page, scope_of(fixture))
    stream = gateway.stream().begin()
    assert stream.query == scope_of(fixture)
    reference = Reference()
    for i, event in enumerate(events_of(fixture)):
        if i and event["type"] == "reset" and connections != "on one connection":
            stream = next_connection(page, gateway, followed, stream)
        fields = {name: value for name, value in event.items() if name != "type"}
        stream.event(event["type"], **fields)
        reference.take(event)
        agrees(page, reference)
    expected = fixture.get("client", {}).get("expect", {}).get("uids")
    if expected is not None:
        assert sorted(followed.calls()[-1]["objects"]) == sorted(expected)


def next_connection(page: Page, gateway: Gateway, followed: Followed, stream: Opened) -> Opened:
    calls = len(followed.calls())
    stream.cut()
    page.clock.run_for(followed.until("waiting", after=calls)["wait"] + 1)
    return gateway.stream().begin()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", WIRES)
def test_its_bytes_show_the_same_however_they_are_cut(
    page: Page, gateway: Gateway, name: str, seed: int
) -> None:
    """The transcripts of the data, in pieces of a byte up to two hundred."""
    chance = random.Random(seed)
    followed = Followed(page)
    reference = Reference()
    stream = gateway.stream().begin()
    for i, content in enumerate(transcript(name) or []):
        if i:
            stream = next_connection(page, gateway, followed, stream)
        for frame in content.split(b"\n\n")[:-1]:
            reference.take(json.loads(frame.removeprefix(b"data: ")))
        while content:
            size = chance.choice((1, 1, 2, 3, 50, 200))
            stream.send(content[:size])
            content = content[size:]
        agrees(page, reference)

"""The public krm-stream project's conformance data: its scenarios as scripts, its scopes.

The data is not part of this project: it is read from the folder that `FOYER_CONFORMANCE_DATA` names
(`make conformance DATA=…`), or from beside the project where it is there. `scenarios()` gives each with
its upstream as cycles, for whoever can play an API server: `bytes_of` and `page_of` are its parts.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.streams.wires import Event
from tests.support.jsontext_twin import decode, encode

ROOT = Path(__file__).parent.parent.parent
BESIDE = ROOT.parent / "shared" / "krm-stream"

PARTIAL = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}


def folder() -> Path | None:
    """Where the data is; None: it is not there. Fails where it was named and is not there."""
    named = os.environ.get("FOYER_CONFORMANCE_DATA")
    found = Path(named) if named else BESIDE
    there = (found / "fixtures.json").is_file()
    assert there or not named, f"there is no conformance data in {named}"
    return found if there else None


def required() -> Path:
    """Where the data is, or the test is skipped."""
    found = folder()
    if found is None:
        pytest.skip("the conformance data is not beside the project: make conformance DATA=<folder>")
    return found


@dataclass(frozen=True)
class Cycle:
    """What the API server has when it is asked anew, and what it then tells, as objects and event lines.

    `broken`: the last of `lines` is what continuity is lost by, or else the watch ends where another
    cycle follows. `connection` counts the browser's from 0.
    """

    connection: int
    listed: list[Any]
    lines: list[bytes] = field(default_factory=list)
    broken: bool = False


@dataclass(frozen=True)
class Scenario:
    """One scenario: `query` opens its scope, `events` are all that must be on the wire, without `seq`."""

    name: str
    query: bytes
    cycles: list[Cycle]
    events: list[Event]

    def connections(self) -> list[list[Cycle]]:
        """The cycles of each of the browser's connections."""
        count = self.cycles[-1].connection + 1
        return [[cycle for cycle in self.cycles if cycle.connection == one] for one in range(count)]


def scenarios(suite: str = "gateway") -> Iterator[Scenario]:
    """The scenarios for `suite`; none where there is no data."""
    data = folder()
    if data is None:
        return
    bodies = decode((data / "bodies.json").read_bytes())
    for fixture in decode((data / "fixtures.json").read_bytes()):
        if suite in fixture["suites"]:
            yield Scenario(
                fixture["id"],
                _query(fixture),
                _cycles(fixture["watch"], bodies),
                [_event(event, fixture, bodies) for event in fixture["events"]],
            )


def scopes() -> list[dict[str, Any]]:
    """The scopes; none where there is no data."""
    data = folder()
    found: list[dict[str, Any]] = decode((data / "scopes.json").read_bytes()) if data else []
    return found


def schema() -> Any:
    """The JSON Schema of every event, for `tests.streams.schema`."""
    return json.loads((required() / "events.schema.json").read_bytes())


def transcript(name: str) -> list[bytes] | None:
    """The scenario's bytes on each of the browser's connections, where the data has them."""
    data = folder()
    path = data / "sse" / f"{name}.sse" if data else None
    if path is None or not path.is_file():
        return None
    connections: list[bytes] = []
    for frame in path.read_bytes().split(b"\n\n"):
        if frame.startswith(b": connection"):
            connections.append(b"")
        elif frame.strip():
            connections[-1] += frame.strip() + b"\n\n"
    return connections


def bytes_of(cycle: Cycle) -> bytes:
    """A streaming list of the cycle: its snapshot, the bookmark behind it, its events."""
    lines = [line("ADDED", each) for each in cycle.listed]
    return b"".join((*lines, COMPLETE, *cycle.lines))


def page_of(objects: list[Any], version: str, token: str = "") -> bytes:
    """A page of a list. Its items have no kind and no version, as those of built-in types."""
    items = [
        {name: part for name, part in each.items() if name not in ("kind", "apiVersion")} for each in objects
    ]
    kind = objects[0]["kind"] if objects else "ConfigMap"
    api_version = objects[0]["apiVersion"] if objects else "v1"
    metadata = {"resourceVersion": version} | ({"continue": token} if token else {})
    return encode({"kind": f"{kind}List", "apiVersion": api_version, "metadata": metadata, "items": items})


def line(kind: str, body: Any) -> bytes:
    """One line of a watch."""
    return encode({"type": kind, "object": body}) + b"\n"


def bookmark(version: str, annotations: dict[str, str] | None = None) -> bytes:
    """One bookmark's line."""
    metadata = {"resourceVersion": version, "creationTimestamp": None}
    more = {"annotations": annotations} if annotations else {}
    return line("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata | more})


COMPLETE = bookmark("1", {"k8s.io/initial-events-end": "true"})
GONE = line(
    "ERROR", {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
)


def _query(fixture: dict[str, Any]) -> bytes:
    given = fixture["scope"] | {"projection": fixture["projection"]}
    return "&".join(f"{name}={value}" for name, value in given.items()).encode("ascii")


def _cycles(watch: list[dict[str, Any]], bodies: dict[str, Any]) -> list[Cycle]:
    cycles: list[Cycle] = []
    connection = 0
    for step in watch:
        match step["op"]:
            case "list":
                cycles.append(Cycle(connection, [bodies[each] for each in step["bodies"]]))
                continue
            case "disconnect":
                connection += 1
                continue
            case "relist" if "bodies" in step:
                cycles[-1] = _broken(cycles[-1], GONE)
                cycles.append(Cycle(connection, [bodies[each] for each in step["bodies"]]))
                continue
            case "relist":
                cycles[-1] = _broken(cycles[-1], GONE)
                continue
            case "tombstone":
                cycles[-1] = _broken(cycles[-1], line("DELETED", _without_uid(bodies[step["body"]])))
                continue
            case "partial":
                body = bodies[step["body"]]
                partial = PARTIAL | {"metadata": body["metadata"]}
                cycles[-1] = _broken(cycles[-1], line("MODIFIED", partial))
                continue
            case "bookmark":
                cycles[-1].lines.append(bookmark(step["resourceVersion"]))
            case "added" | "modified" | "deleted" as kind:
                cycles[-1].lines.append(line(kind.upper(), bodies[step["body"]]))
            case other:
                raise AssertionError(f"an unknown step: {other}")
    return cycles


def _broken(cycle: Cycle, last: bytes) -> Cycle:
    return Cycle(cycle.connection, cycle.listed, [*cycle.lines, last], broken=True)


def _without_uid(body: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: part for name, part in body["metadata"].items() if name != "uid"}
    return body | {"metadata": metadata}


def _event(event: Event, fixture: dict[str, Any], bodies: dict[str, Any]) -> Event:
    """An expected event as it must be on the wire; of an error what is not free."""
    match event["type"]:
        case "reset":
            scope = fixture["scope"]
            return event | {"target": scope["target"], "scope": scope, "projection": fixture["projection"]}
        case "added" | "modified":
            shown = {"type": event["type"], "object": bodies[event["body"]]}
            return shown | {"redacted": event.get("redacted", [])}
        case _:
            return event

"""One stream's wire: the order of its events, its `seq`, its revisions (spec 05, Wire)."""

from collections.abc import Callable

import pytest

from foyer.streams import errors, resource, revisions
from foyer.streams.cycle import State, Wire
from foyer.streams.projection import Projected, Projection, project
from foyer.streams.resource import Resource
from foyer.streams.sse import Frame, deleted
from tests.streams.following import config_map, opening, secret
from tests.streams.wires import events
from tests.support.jsontext_twin import decode


def made(text: bytes) -> Resource:
    found = resource.read(text)
    assert found is not None
    return found


def shown(text: bytes) -> Projected:
    return project(made(text), Projection.FULL)


def joined(*frames: Frame) -> bytes:
    return b"".join(head + tail for head, tail in frames)


def live() -> Wire:
    wire = Wire(opening())
    wire.reset()
    wire.synced()
    return wire


def test_a_cycle_is_numbered_from_one_without_a_gap() -> None:
    wire = Wire(opening())
    found = events(
        joined(
            wire.reset(),
            wire.show(shown(config_map("u1")), new=True),
            wire.synced(),
            wire.show(shown(config_map("u1", "11")), new=False),
            wire.delete(made(config_map("u1", "12"))),
            wire.error(errors.resync("lost")),
            wire.reset(),
            wire.synced(),
            wire.error(errors.forbidden("no")),
        )
    )
    assert [event["type"] for event in found] == [
        "reset",
        "added",
        "synced",
        "modified",
        "deleted",
        "error",
        "reset",
        "synced",
        "error",
    ]


def test_a_snapshots_are_all_added() -> None:
    wire = Wire(opening())
    wire.reset()
    head, _ = wire.show(shown(config_map()), new=False)
    assert b'"added"' in head
    wire.synced()
    assert b'"modified"' in wire.show(shown(config_map()), new=False)[0]
    assert b'"added"' in wire.show(shown(config_map()), new=True)[0]


def test_a_refusal_is_the_only_event() -> None:
    wire = Wire(opening())
    assert [event["code"] for event in events(joined(wire.error(errors.forbidden("no"))))] == ["FORBIDDEN"]
    assert wire.state is State.ENDED


CALLS: dict[str, Callable[[Wire], object]] = {
    "reset": Wire.reset,
    "show": lambda wire: wire.show(shown(config_map()), new=True),
    "delete": lambda wire: wire.delete(made(config_map())),
    "synced": Wire.synced,
    "resync": lambda wire: wire.error(errors.resync("lost")),
    "end": lambda wire: wire.error(errors.unavailable("later", 1)),
}

LEGAL = {
    State.FRESH: {"reset": State.SNAPSHOT, "resync": State.FRESH, "end": State.ENDED},
    State.SNAPSHOT: {
        "show": State.SNAPSHOT,
        "delete": State.SNAPSHOT,
        "synced": State.LIVE,
        "resync": State.FRESH,
        "end": State.ENDED,
    },
    State.LIVE: {"show": State.LIVE, "delete": State.LIVE, "resync": State.FRESH, "end": State.ENDED},
    State.ENDED: {},
}


def in_state(state: State) -> Wire:
    wire = Wire(opening())
    if state in (State.SNAPSHOT, State.LIVE):
        wire.reset()
    if state is State.LIVE:
        wire.synced()
    if state is State.ENDED:
        wire.error(errors.internal("over"))
    return wire


@pytest.mark.parametrize("state", list(State), ids=lambda state: state.value)
@pytest.mark.parametrize("call", list(CALLS))
def test_an_event_out_of_turn_is_a_fault_of_foyers_own(state: State, call: str) -> None:
    wire = in_state(state)
    assert wire.state is state
    if call in LEGAL[state]:
        CALLS[call](wire)
        assert wire.state is LEGAL[state][call]
    else:
        with pytest.raises(AssertionError, match=state.value):
            CALLS[call](wire)


def test_what_is_redacted_has_its_revision_across_cycles() -> None:
    wire = live()

    def redacted(text: bytes) -> list[tuple[str, str]]:
        event = decode(joined(wire.show(shown(text), new=True)).removeprefix(b"data: "))
        return [(record["path"], str(record["rev"])) for record in event["redacted"]]

    assert redacted(secret(data=b'{"b":"1","a":"1"}')) == [("/data/a", "1"), ("/data/b", "1")]
    assert redacted(secret(data=b'{"b":"2","a":"1"}')) == [("/data/a", "1"), ("/data/b", "2")]
    wire.error(errors.resync("lost"))
    wire.reset()
    assert redacted(secret(data=b'{"b":"3","a":"1"}')) == [("/data/a", "1"), ("/data/b", "3")]
    wire.synced()
    wire.delete(made(secret()))
    assert redacted(secret(data=b'{"b":"4","a":"1"}')) == [("/data/a", "1"), ("/data/b", "4")]


def test_a_tail_without_redactions_is_everybodys() -> None:
    projected = shown(config_map())
    wires = [live(), live()]
    assert all(wire.show(projected, new=False)[1] is projected.tail for wire in wires)
    gone = deleted(made(config_map()).identity())
    assert all(wire.delete_as("u1", gone)[1] is gone for wire in wires)


def test_revisions_of_what_is_gone_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "ABSENT_MOST", 1)
    wire = live()

    def revision(uid: str, value: bytes) -> int:
        tail = wire.show(shown(secret(uid, data=b'{"a":"%b"}' % value)), new=True)[1]
        return int(tail.rpartition(b'"rev":')[2].partition(b"}")[0])

    for uid in ("s1", "s2"):
        assert revision(uid, b"1") == 1
        wire.delete(made(secret(uid)))
    assert revision("s2", b"2") == 2
    assert revision("s1", b"2") == 1
    wire.error(errors.resync("lost"))
    wire.reset()
    wire.synced()
    assert revision("s1", b"3") == 2
    assert revision("s2", b"3") == 1

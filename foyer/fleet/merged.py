"""A fleet list: what the targets had, in order, and what is said of it (spec 06, Targets and fleet reads)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from foyer.fleet import position
from foyer.fleet.objects import Entry
from foyer.fleet.oldest import Oldest
from foyer.fleet.outcome import Kind, Outcome
from foyer.fleet.position import Position

_SEPARATORS = (",", ":")


@dataclass(frozen=True, slots=True)
class Merged:
    """The list. `after` is where the next one starts, None behind the last item.

    `truncated`: there was more than foyer could give at once, although nobody had asked for less.
    """

    outcomes: Mapping[str, Outcome]
    entries: list[Entry] = field(repr=False)
    after: Position | None
    truncated: bool

    @property
    def complete(self) -> bool:
        """Whether every target answered and nothing was cut but by the limit that was asked for."""
        return not self.truncated and all(found.kind is Kind.OK for found in self.outcomes.values())


def merge(outcomes: Mapping[str, Outcome], oldest: Oldest, limit: int | None) -> Merged:
    """The list of what is left in `oldest`, without the items of targets that failed after all."""
    cut = oldest.dropped is not None
    # The last that was looked at, shown or not: everybody else's items up to it have been given.
    after = oldest.entries[-1].position if cut and oldest.entries else None
    truncated = cut and (limit is None or len(oldest.entries) < limit)
    entries = [entry for entry in oldest.entries if outcomes[entry.position.target].kind is Kind.OK]
    return Merged(outcomes, entries, after, truncated)


def pieces(merged: Merged) -> Iterator[bytes]:
    """The JSON text of the list, in pieces; items as their API servers wrote them."""
    head: dict[str, object] = {
        "kind": "FleetList",
        "apiVersion": "foyer/v1",
        "complete": merged.complete,
        "metadata": {} if merged.after is None else {"continue": position.token(merged.after)},
    }
    yield _text(head)[:-1] + b',"items":['
    names = {name: _text(name) for name in merged.outcomes}
    given = dict.fromkeys(merged.outcomes, 0)
    comma = b""
    for entry in merged.entries:
        target = entry.position.target
        given[target] += 1
        yield b'%b{"target":%b,"object":' % (comma, names[target])
        yield entry.text
        yield b"}"
        comma = b","
    targets = [_target(name, found, given[name]) for name, found in merged.outcomes.items()]
    yield b'],"targets":%b}' % _text(targets)


def _target(name: str, outcome: Outcome, items: int) -> dict[str, object]:
    said: dict[str, object] = {"name": name, "outcome": outcome.kind.value}
    if outcome.status is not None:
        said["status"] = outcome.status
    said["items"] = items
    if outcome.error:
        said["error"] = outcome.error
    return said


def _text(value: object) -> bytes:
    return json.dumps(value, separators=_SEPARATORS).encode("ascii")

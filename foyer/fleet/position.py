"""Where an item stands in the merged list, and how `continue` says so (spec 06, Targets and fleet reads).

A position is what the list is ordered by, and nothing else: no version, no count, no secret. Whoever brings
one may have made it up, and gets what comes after it.
"""

import json
import re
from datetime import UTC, datetime
from typing import NamedTuple

from foyer.session import spelling

MAX_NAME = 1024
"""Characters of a name or a namespace. Kubernetes' own end at 253 but for a few kinds' (RBAC) that have no
end; each of them stands in a `continue`, and that in a URL."""

MAX_TOKEN = 20 * 1024
"""Bytes of a `continue`: two such names of characters that JSON spells with six each."""

_VERSION = 1

_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?")
_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class Position(NamedTuple):
    """An item's place: positions compare as the list is ordered.

    `time` is UTC as `2026-01-31T23:59:59`, with a fraction where there is one that is not zero, and "" where
    an object does not say when it was made: it comes first. `namespace` is "" for what has none.
    """

    time: str
    target: str
    namespace: str
    name: str


def moment(timestamp: str) -> str:
    """`creationTimestamp` as `Position.time`: spellings of one moment (RFC 3339) become one, others ""."""
    if len(timestamp) == 20 and timestamp[-1] == "Z" and _PLAIN.fullmatch(timestamp, 0, 19):
        return timestamp[:-1]  # as Kubernetes writes every one: taken as it stands
    found = _RFC3339.fullmatch(timestamp)
    if found is None:
        return ""
    day, time, fraction, offset = found.groups(default="")
    try:
        there = datetime.fromisoformat(f"{day}T{time}{offset.upper().replace('Z', '+00:00')}")
        here = there.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    fraction = fraction.rstrip("0")
    return here.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) + (fraction if fraction != "." else "")


def is_name(text: str) -> bool:
    """Whether a position can hold this name: short enough, and UTF-8 can spell it."""
    if len(text) > MAX_NAME:
        return False
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def token(position: Position) -> str:
    """The `continue` that starts after `position`, fit for a URL as it is."""
    said = json.dumps([_VERSION, *position], ensure_ascii=False, separators=(",", ":"))
    return spelling.encode(said.encode("utf-8"))


def read(given: bytes) -> Position | None:
    """The position that a `continue` says; None when it is none of ours."""
    if len(given) > MAX_TOKEN:
        return None
    said = spelling.decode(given)
    try:
        parts = json.loads(said.decode("utf-8")) if said is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(parts, list) or len(parts) != 5 or type(parts[0]) is not int or parts[0] != _VERSION:
        return None
    if not all(isinstance(part, str) and is_name(part) for part in parts[1:]):
        return None
    found = Position(*parts[1:])
    return found if not found.time or _PLAIN.fullmatch(found.time) else None

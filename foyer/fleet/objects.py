"""A listed object as a fleet list has it: its text and its place (spec 06, Targets and fleet reads)."""

from typing import NamedTuple

from foyer.fleet.position import Position, is_name, moment
from foyer.streams.resource import inner, string
from foyer_native.jsontext import members

_NAMES = ("kind", "apiVersion", "metadata")
_METADATA = ("name", "namespace", "creationTimestamp")


class Entry(NamedTuple):
    """One object. Entries compare as the list is ordered."""

    position: Position
    text: bytes

    def __repr__(self) -> str:
        return f"Entry({len(self.text)} bytes)"  # it may be a Secret


def read(text: bytes, target: str) -> Entry | None:
    """The object in `text`, which is compact JSON; None: it is none, or has no name to find it by."""
    if not text.startswith(b"{"):
        return None
    top = members(text, _NAMES)
    metadata = inner(text, top, "metadata", _METADATA)
    name, namespace = string(text, metadata.get("name")), string(text, metadata.get("namespace"))
    api_version = string(text, top.get("apiVersion"))
    if not (name and string(text, top.get("kind")) and api_version):
        return None
    if api_version.startswith("meta.k8s.io/"):
        return None  # metadata alone, without its object
    if not (is_name(name) and is_name(namespace)):
        return None
    time = moment(string(text, metadata.get("creationTimestamp")))
    return Entry(Position(time, target, namespace, name), text)

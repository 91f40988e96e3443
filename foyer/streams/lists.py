"""One page of a Kubernetes list, taken apart and not decoded (Kubernetes API concepts, "Resource lists").

Streams show such pages and fleet reads merge them; what else a page must have, each says for itself.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from foyer.protocol.events import Fields
from foyer.streams.resource import Members, inner, string
from foyer_native.jsontext import compact, elements, measure, members

MAX_TOKEN = 8 * 1024
"""Characters of the token that a page goes on with; the API server's own have some hundred."""

_MAX_COUNT_DIGITS = 12  # no list has as many items


_NAMES = ("kind", "apiVersion", "metadata", "items")
_METADATA = ("resourceVersion", "continue", "remainingItemCount")
_TYPED = ("kind", "apiVersion")


class Listed(NamedTuple):
    """A list of which every item is still a part of `text`; `metadata` is the list's own.

    How many items there are its server alone has decided, whatever `limit` it was given. So nothing is kept
    of each: three bytes of text make one, and its place in the text would take a hundred.
    """

    text: bytes
    metadata: Members
    at: int | None
    """Where its items begin; None where Go wrote a list of none as null."""
    typed: bytes
    """The members `kind` and `apiVersion` of an item that leaves them to its list."""

    @property
    def version(self) -> str:
        """Its resourceVersion, "" for none."""
        return string(self.text, self.metadata.get("resourceVersion"))

    @property
    def token(self) -> str:
        """What its next page continues with, "" behind the last."""
        return string(self.text, self.metadata.get("continue"))

    def goes_on(self, before: str) -> bool:
        """Whether its next page can be asked for, and is not itself again: `before` is what it continues."""
        token = self.token
        return len(token) <= MAX_TOKEN and not (before and token == before)

    @property
    def remaining(self) -> int | None:
        """How many items are on the pages behind this one, as far as the server says so."""
        where = self.metadata.get("remainingItemCount")
        said = b"" if where is None else self.text[where[1] : where[2]]
        return int(said) if said.isdigit() and len(said) <= _MAX_COUNT_DIGITS else None

    def items(self) -> Iterator[bytes]:
        """Each item once, in its order and each made as it is asked for: a text of its own, complete."""
        for begin, end in () if self.at is None else elements(self.text, self.at):
            yield _complete(self.text[begin:end], self.typed)

    def measure(self) -> tuple[int, int]:
        """How many items there are, and how many bytes they have as they stand here."""
        return (0, 0) if self.at is None else measure(self.text, self.at)


def read(content: bytes) -> Listed | None:
    """The list that `content` is; None when it is none: another kind, a table, or no JSON."""
    text = compact(content)
    if text is None or not text.startswith(b"{"):
        return None
    parts = members(text, _NAMES)
    kind, api_version = string(text, parts.get("kind")), string(text, parts.get("apiVersion"))
    where = parts.get("items")
    if not kind.endswith("List") or not api_version or where is None:
        return None
    at = where[1] if text.startswith(b"[", where[1]) else None
    if at is None and not text.startswith(b"null", where[1]):
        return None
    typed = {"kind": kind.removesuffix("List"), "apiVersion": api_version}
    metadata = inner(text, parts, "metadata", _METADATA)
    if _is_said(text, metadata.get("continue")) and not string(text, metadata["continue"]):
        return None  # it goes on, and nobody could ask for the rest: a part must not pass for the whole
    added = json.dumps(typed, separators=(",", ":")).encode("ascii")[1:-1]
    return Listed(text, metadata, at, added)


def _is_said(text: bytes, where: tuple[int, int, int] | None) -> bool:
    """Whether a member is there and more than the nothing that Go writes for it."""
    return where is not None and text[where[1] : where[2]] not in (b'""', b"null")


def _complete(item: bytes, typed: bytes) -> bytes:
    """`item` with a kind and a version: those of a built-in type leave them to their list."""
    if not item.startswith(b"{"):
        return item
    if len(members(item, _TYPED)) == len(_TYPED):
        return item
    # Where the server wrote one of them, the last of two members with one name is its own.
    return b"{%b%b%b" % (typed, b"," if item != b"{}" else b"", item[1:])


def is_json(fields: Fields) -> bool:
    """Whether the answer with these says to be JSON: in one `Content-Type`, whatever its parameters."""
    types = [value for name, value in fields if name == b"content-type"]
    return len(types) == 1 and types[0].partition(b";")[0].strip().lower() == b"application/json"

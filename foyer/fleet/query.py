"""What a fleet read asks for, from its query (spec 06, Targets and fleet reads).

    targets         names, by commas: those alone
    partial         true: what answered, without what did not
    labelSelector   fieldSelector       for each target to judge
    limit           items of the merged list
    continue        what a list before this one gave

Each at most once, and nothing else: a selector that was misspelt would show everything.
"""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from foyer.fleet import position
from foyer.fleet.position import Position
from foyer.interruption import Interruption, Reason
from foyer.login import query as parameters

PAGE_ITEMS = 500
"""Items of a target's page: client-go's own number, and a few milliseconds of work."""

_MAX_LIMIT_DIGITS = 9

_NAMES = ("targets", "partial", "labelSelector", "fieldSelector", "limit", "continue")


@dataclass(frozen=True, slots=True)
class Query:
    """A fleet read. `targets` are known ones, once each; `limit` is at least 1; after `after` it starts."""

    targets: tuple[str, ...]
    partial: bool
    label_selector: str
    field_selector: str
    limit: int | None
    after: Position | None

    def page(self, path: bytes, token: str = "", *, limit: int = PAGE_ITEMS) -> bytes:
        """The request target of a page of one target's list at `path`: the first, or what follows `token`."""
        options = {"limit": str(limit)}
        if self.label_selector:
            options["labelSelector"] = self.label_selector
        if self.field_selector:
            options["fieldSelector"] = self.field_selector
        if token:
            options["continue"] = token
        return path + b"?" + urlencode(options, quote_via=quote, safe="").encode("ascii")


def read(query: bytes, known: Collection[str]) -> Query | Interruption:
    """The read that `query` asks for of the targets `known`, in that order, or its refusal."""
    pairs = parameters.read(b"?" + query)
    if pairs is None:
        return _malformed("The query cannot be read: a broken escape, or too many parameters.")
    given: dict[str, str] = {}
    for key, value in pairs:
        name = next((name for name in _NAMES if name.encode("ascii") == key), None)
        if name is None:
            return _malformed(
                f"A fleet read takes {', '.join(_NAMES[:-1])} and {_NAMES[-1]}, and nothing else."
            )
        if name in given:
            return _malformed(f"{name} is given twice.")
        try:
            given[name] = value.decode("utf-8")
        except UnicodeDecodeError:
            return _malformed(f"{name} is not UTF-8.")
    return _asked(given, known)


def _asked(given: dict[str, str], known: Collection[str]) -> Query | Interruption:
    targets = _targets(given.get("targets"), known)
    if isinstance(targets, Interruption):
        return targets
    partial = given.get("partial", "false")
    if partial not in ("true", "false"):
        return _malformed("partial is true or false.")
    limit = given.get("limit")
    if limit is not None and not _is_limit(limit):
        return _malformed("limit is a whole number of items, at least 1.")
    given_position = given.get("continue", "")  # an empty one is none, as in Kubernetes
    after = position.read(given_position.encode("utf-8"))
    if given_position and after is None:
        return _malformed("continue is not what a fleet list gave.")
    return Query(
        targets,
        partial == "true",
        given.get("labelSelector", ""),
        given.get("fieldSelector", ""),
        None if limit is None else int(limit),
        after,
    )


def _targets(given: str | None, known: Collection[str]) -> tuple[str, ...] | Interruption:
    if given is None:
        return tuple(known)
    names = given.split(",")
    if len(set(names)) != len(names) or "" in names:
        return _malformed("targets are names separated by commas, each once.")
    if any(name not in known for name in names):
        return _NO_TARGET
    return tuple(name for name in known if name in names)


def _is_limit(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_LIMIT_DIGITS and int(text) > 0


def _malformed(why: str) -> Interruption:
    return Interruption(Reason.BAD_REQUEST, why)


_NO_TARGET = Interruption(Reason.NOT_FOUND, "There is no target of one of these names.")

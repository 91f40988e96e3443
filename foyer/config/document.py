"""YAML, read strictly: one document of mappings, lists and text (spec 01 Process, spec 02 Login parameters).

A scalar stays the text that was written. What `8h`, `0x10` or `no` means is for whoever asks, as on
the command line, so YAML 1.1's guesses (`no` is false, `1:30` is ninety) cannot change a value. What
two readers could take for two different things is refused: a key given twice, anchors, aliases and
merges, tags, a second document. Without aliases nothing can be larger than the file, and that and
its depth are bounded.

A refusal names the line or the key, and never what else is written there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from foyer.config.names import shown

MAX_BYTES = 64 * 1024
"""A hundred times what any configuration of ours needs; PyYAML takes half a second for it."""

MAX_DEPTH = 8
"""Twice the depth of the deepest value there is."""

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUES = frozenset(("true", "True", "TRUE"))
_FALSES = frozenset(("false", "False", "FALSE"))


@dataclass(frozen=True, slots=True)
class Text:
    """A scalar as it was written. `plain`: without quotes, so that it may be meant as another type."""

    text: str
    plain: bool

    @property
    def is_null(self) -> bool:
        """Whether it says that there is no value."""
        return self.plain and self.text in _NULLS

    @property
    def as_bool(self) -> bool | None:
        """The boolean it is, by YAML 1.2's spelling; None for any other text."""
        if not self.plain or self.text not in _TRUES | _FALSES:
            return None
        return self.text in _TRUES

    def __repr__(self) -> str:
        return "Text(hidden)"  # it may be a secret in the wrong place


Node: TypeAlias = "Text | list[Node] | dict[str, Node]"


def read(content: bytes) -> dict[str, Node]:
    """The mapping that a file's content is: an empty one where all of it is comments, or nothing.

    Raises `ValueError` in words that follow "the file".
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("should be UTF-8") from None
    document = members(_guarded(text))
    if document is None:
        raise ValueError("should be YAML with a mapping at its top: lines such as `key: value`")
    return document


def members(node: Node) -> dict[str, Node] | None:
    """The members of a mapping, and none of one with nothing below it (a comment each, perhaps).

    None for what is no mapping.
    """
    if isinstance(node, Text) and node.is_null:
        return {}
    return node if isinstance(node, dict) else None


def _guarded(text: str) -> Node:
    try:
        return _Reader(yaml.parse(text, Loader=yaml.SafeLoader)).document()
    except _Refused as refused:
        raise ValueError(str(refused)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f": line {mark.line + 1} cannot be read"
        raise ValueError(f"should be YAML{where}") from None
    except (yaml.YAMLError, ValueError, OverflowError):
        # PyYAML's own: a control character, an escape beyond Unicode, a version of 5,000 digits.
        raise ValueError("should be YAML, in printable characters") from None


class _Refused(Exception):
    """YAML, but more than is taken here."""

    def __init__(self, event: yaml.Event, problem: str) -> None:
        mark = event.start_mark
        super().__init__(problem if mark is None else f"is wrong at line {mark.line + 1}: {problem}")


class _Reader:
    """Builds nodes from PyYAML's events, which come one at a time: nothing is built ahead of its check."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events

    def document(self) -> Node:
        """The one document there is."""
        next(self._events)  # the stream's start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return Text("", plain=True)
        node = self._node(next(self._events), MAX_DEPTH)
        next(self._events)  # the document's end
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise _Refused(after, "should be one document alone")
        return node

    def _node(self, event: yaml.Event, depth: int) -> Node:
        assert isinstance(event, yaml.NodeEvent), "PyYAML's parser has checked the grammar"
        if event.anchor is not None:  # an alias has one as well
            raise _Refused(event, "anchors and aliases (& and *) are not taken: write the value itself")
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        if event.tag is not None:
            raise _Refused(event, "tags (!) are not taken: write the value alone")
        if isinstance(event, yaml.ScalarEvent):
            return Text(event.value, plain=event.style is None)
        if depth == 0:
            raise _Refused(event, f"nested deeper than {MAX_DEPTH}")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(depth - 1)
        return self._mapping(depth - 1)

    def _sequence(self, depth: int) -> list[Node]:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth))
        return items

    def _mapping(self, depth: int) -> dict[str, Node]:
        members: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth)
            if not isinstance(key, Text) or key.is_null:
                raise _Refused(event, "a key should be a name")
            if key.text in members:
                raise _Refused(event, f"the key {shown(key.text)} is given twice")
            members[key.text] = self._node(next(self._events), depth)
        return members

"""JSON objects from the issuer, read strictly (RFC 8259).

An answer that two readers can take for two different things is none: repeated names, NaN,
nesting that no such document has. Nor is one that would cost much more than its bytes: how many were fetched
is bounded elsewhere, and 16 MiB of them can be 400 MiB of objects and half a second in one turn.
"""

import json
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias, TypeGuard

Document: TypeAlias = dict[str, Any]

MAX_BYTES = 2 * 1024 * 1024
"""The longest is a list of somebody's rules: for five hundred, which a page shows, it is a tenth of this.
Numbers of thousands of digits take 20 ms a MiB."""

MAX_VALUES = 100_000
"""Brackets and commas, in strings too: there are no more values than that, and one. It is enough for 14,000
rules, and takes 15 ms and 10 MB whatever they are."""


def parse(content: bytes) -> Document | None:
    """The object that `content` is, or None. Never raises."""
    if len(content) > MAX_BYTES or sum(map(content.count, (b",", b"{", b"["))) > MAX_VALUES:
        return None
    try:
        # As text: `json` would guess UTF-16 and UTF-32 from bytes.
        document = json.loads(content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def is_text(value: object) -> TypeGuard[str]:
    """Whether `value` is a string that UTF-8 can say: JSON's escapes can spell half a surrogate pair."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: Iterable[tuple[str, Any]]) -> Document:
    document: Document = {}
    for name, value in pairs:
        if name in document:
            raise ValueError("a name is repeated")
        document[name] = value
    return document


def _refused(constant: str) -> NoReturn:
    raise ValueError("not a number")

"""JSON objects from the issuer, read strictly (RFC 8259).

An answer that two readers can take for two different things is none: repeated names, NaN,
nesting that no such document has. The size was bounded when it was fetched.
"""

import json
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias, TypeGuard

Document: TypeAlias = dict[str, Any]


def parse(content: bytes) -> Document | None:
    """The object that `content` is, or None. Never raises."""
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

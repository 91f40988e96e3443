"""What a session keeps of a verified ID token's claims (spec 02, Login parameters: `sessionClaims`).

A claim is found by JSON Pointer (RFC 6901). One that is missing or null is empty. One of another
type fails the login: a name or a group that foyer would have to guess is not the issuer's word.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from foyer.login import document
from foyer.login.document import Document

Pointer: TypeAlias = tuple[str, ...]
"""A JSON Pointer's reference tokens, unescaped."""


@dataclass(frozen=True, slots=True)
class SessionClaims:
    """Where the display claims are. A connector is kept only where a pointer to it is given."""

    display_name: Pointer = ("name",)
    groups: Pointer = ("groups",)
    connector: Pointer | None = None


@dataclass(frozen=True, slots=True)
class DisplayClaims:
    """What the application may show of the person. `connector` is None or not empty."""

    email: str
    display_name: str
    groups: tuple[str, ...]
    connector: str | None


def pointer(text: str) -> Pointer:
    """The pointer that `text` spells. Raises ValueError."""
    if not text.startswith("/"):
        raise ValueError("a JSON Pointer begins with /")
    tokens = text[1:].split("/")
    if any("~" in token.replace("~0", "").replace("~1", "") for token in tokens):
        raise ValueError("in a JSON Pointer, ~ is written ~0 and / is written ~1")
    # In this order: `~01` is the two characters `~1`.
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)


def displayed(claims: Document, where: SessionClaims) -> DisplayClaims | None:
    """The display claims, or None when one has another type than it must."""
    email = _text(claims.get("email"))
    name = _text(_at(claims, where.display_name))
    groups = _texts(_at(claims, where.groups))
    connector = _text(None if where.connector is None else _at(claims, where.connector))
    if email is None or name is None or groups is None or connector is None:
        return None
    return DisplayClaims(email, name, groups, connector or None)


def _text(value: object) -> str | None:
    """A string claim, "" for one that is missing; None for one of another type."""
    if value is None:
        return ""
    return value if document.is_text(value) else None


def _texts(value: object) -> tuple[str, ...] | None:
    """A list of strings, likewise."""
    if value is None:
        return ()
    if not isinstance(value, list):
        return None
    texts = tuple(text for text in value if document.is_text(text))
    return texts if len(texts) == len(value) else None


def _at(claims: object, where: Pointer) -> object:
    for reference in where:
        if isinstance(claims, dict):
            claims = claims.get(reference)
        elif isinstance(claims, list) and _is_index(reference) and int(reference) < len(claims):
            claims = claims[int(reference)]
        else:
            return None
    return claims


def _is_index(reference: str) -> bool:
    """RFC 6901 section 4: digits without a leading zero. Six of them are past any token's length."""
    return re.fullmatch("0|[1-9][0-9]{0,5}", reference) is not None

"""What a session keeps of a verified ID token's claims (spec 02, Login parameters: `sessionClaims`).

A claim is found by JSON Pointer (RFC 6901). One that is missing or null is empty. One of another
type fails the login: a name or a group that foyer would have to guess is not the issuer's word.
"""

import re
from dataclasses import dataclass
from enum import Enum
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


class ClaimFault(Enum):
    """Which claim has another type than it must: the cause in the log, by the name it is configured by."""

    EMAIL = "email"
    DISPLAY_NAME = "displayName"
    GROUPS = "groups"
    CONNECTOR = "connector"


def pointer(text: str) -> Pointer:
    """The pointer that `text` spells. Raises ValueError."""
    if not text.startswith("/"):
        raise ValueError("a JSON Pointer begins with /")
    tokens = text[1:].split("/")
    if any("~" in token.replace("~0", "").replace("~1", "") for token in tokens):
        raise ValueError("in a JSON Pointer, ~ is written ~0 and / is written ~1")
    # In this order: `~01` is the two characters `~1`.
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)


def displayed(claims: Document, where: SessionClaims) -> DisplayClaims | ClaimFault:
    """The display claims, or the first that has another type than it must."""
    if (email := _text(claims.get("email"))) is None:
        return ClaimFault.EMAIL
    if (name := _text(_at(claims, where.display_name))) is None:
        return ClaimFault.DISPLAY_NAME
    if (groups := _texts(_at(claims, where.groups))) is None:
        return ClaimFault.GROUPS
    if (connector := _text(None if where.connector is None else _at(claims, where.connector))) is None:
        return ClaimFault.CONNECTOR
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

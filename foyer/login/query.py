"""The query of a request target, read whole or not at all (spec 02, Login).

Form-encoded, as browsers and issuers write it (RFC 6749 section 4.1). Names are decoded too, so
that no other spelling of one escapes a rule, and bytes stay bytes: what a parameter means is for
whoever asks for it.
"""

import re
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

Query: TypeAlias = list[tuple[bytes, bytes]]

MAX_PARAMETERS = 64
"""Parameters of a query that is read: no link or issuer sends a tenth of it, and 32,000 empty ones held the
loop for 17 ms."""

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def read(target: bytes) -> Query | None:
    """Every parameter of `target`'s query in order, or None when an escape in it is broken."""
    found, whole = read_what_can_be(target)
    return found if whole else None


def read_what_can_be(target: bytes) -> tuple[Query, bool]:
    """Every parameter that can be read, in order, and whether that is all of them."""
    found = target.partition(b"?")[2].split(b"&", MAX_PARAMETERS)
    parameters = [parameter for parameter in found[:MAX_PARAMETERS] if parameter]
    sound = [parameter for parameter in parameters if not _BAD_ESCAPE.search(parameter)]
    pairs = [parameter.partition(b"=") for parameter in sound]
    whole = len(found) <= MAX_PARAMETERS and len(sound) == len(parameters)
    return [(_decoded(name), _decoded(value)) for name, _, value in pairs], whole


def given(query: Query, name: bytes) -> list[bytes]:
    """Every value of the parameter `name`, in order."""
    return [value for key, value in query if key == name]


def _decoded(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))

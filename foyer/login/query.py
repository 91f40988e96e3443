"""The query of a request target, read whole or not at all (spec 02, Login).

Form-encoded, as browsers and issuers write it (RFC 6749 section 4.1). Names are decoded too, so
that no other spelling of one escapes a rule, and bytes stay bytes: what a parameter means is for
whoever asks for it.
"""

import re
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

Query: TypeAlias = list[tuple[bytes, bytes]]

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def read(target: bytes) -> Query | None:
    """Every parameter of `target`'s query in order, or None when an escape in it is broken."""
    query = target.partition(b"?")[2]
    if _BAD_ESCAPE.search(query):
        return None
    pairs = [parameter.partition(b"=") for parameter in query.split(b"&") if parameter]
    return [(_decoded(name), _decoded(value)) for name, _, value in pairs]


def given(query: Query, name: bytes) -> list[bytes]:
    """Every value of the parameter `name`, in order."""
    return [value for key, value in query if key == name]


def _decoded(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))

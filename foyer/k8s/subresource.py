"""Subresources that need a protocol foyer does not carry (spec 03, What goes up: Path).

exec, attach, portforward and proxy open a two-way stream or answer with a workload's own content.
They are found where the API server would read one, by the rules of its request resolver, and
nowhere else: a ConfigMap named `proxy` or a namespace called `exec` is like any other.

    /api/{version}/…                      the core group
    /apis/{group}/{version}/…             every other
        proxy/{anything}                  the old verb: a proxy whatever follows
        watch/…                           the deprecated verb: read on as without it
        namespaces/{name}/{status|finalize}   a namespace's own subresource
        namespaces/{name}/{resource}/{name}/{subresource}
        {resource}/{name}/{subresource}
"""

import re

_UNSUPPORTED = frozenset((b"exec", b"attach", b"portforward", b"proxy"))
_NAMESPACE_SUBRESOURCES = frozenset((b"status", b"finalize"))

# Most paths have none of the words, and need no splitting to know.
_WORD = re.compile(rb"/(?:exec|attach|portforward|proxy)(?:/|\Z)")


def unsupported(path: bytes) -> str | None:
    """The name of the unsupported subresource (or verb) in `path`, or None.

    `path` is the API server's own and canonical: an escaped spelling such as `%65xec` has been
    refused before.
    """
    if not _WORD.search(path):
        return None
    parts = _resource_parts(path)
    if len(parts) > 1 and parts[0] == b"proxy":
        return "proxy"
    if len(parts) > 1 and parts[0] == b"watch":
        parts = parts[1:]
    if len(parts) > 2 and parts[0] == b"namespaces" and parts[2] not in _NAMESPACE_SUBRESOURCES:
        parts = parts[2:]
    if len(parts) > 2 and parts[2] in _UNSUPPORTED:
        return parts[2].decode("ascii")
    return None


def _resource_parts(path: bytes) -> list[bytes]:
    """The segments after the version; none for a path that names no resource."""
    segments = path[1:].split(b"/")
    match segments[0]:
        case b"api":
            return segments[2:]
        case b"apis":
            return segments[3:]
        case _:
            return []

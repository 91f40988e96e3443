"""The frames of the wire: Server-Sent Events whose data is one JSON object on one line (spec 05, Wire).

A frame is a head, which is a stream's own because `seq` is in it, and a tail, which can be everybody's:

    data: {"seq":7,"type":"modified"   ,"object":{…},"redacted":[]}⏎⏎

JSON that is compact has no line's end in it, and no other character ends a line in an event stream (HTML,
section 9.2.6): U+2028 does not, nor does anything that JSON must escape.
"""

import json
from collections.abc import Iterable
from enum import Enum
from typing import TypeAlias

from foyer.streams.errors import StreamError
from foyer.streams.scope import Opening

HEARTBEAT = b": heartbeat\n\n"
"""A comment: keeps the connection from looking idle to what is between."""

HEARTBEAT_INTERVAL = 20.0
"""Seconds from one to the next (spec 05, Wire)."""

Frame: TypeAlias = tuple[bytes, bytes]
"""A head and a tail; sent one behind the other they are the frame."""

SYNCED = b"}\n\n"


class Type(Enum):
    """The type of an event; `head` is the format that its `seq` goes into."""

    RESET = "reset"
    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    SYNCED = "synced"
    ERROR = "error"

    def __init__(self, word: str) -> None:
        self.head = b'data: {"seq":%%d,"type":"%b"' % word.encode("ascii")


def reset(opening: Opening) -> bytes:
    """The tail of a `reset`: what the stream was asked for, as it was asked."""
    scope = {"target": opening.asked_target} | opening.scope._replace(target="").fields()
    return _tail({"target": opening.asked_target, "scope": scope, "projection": opening.projection.value})


def deleted(identity: bytes) -> bytes:
    """The tail of a `deleted`."""
    return b',"identity":%b}\n\n' % identity


def error(why: StreamError) -> bytes:
    """The tail of an `error`."""
    fields: dict[str, object] = {"code": why.code.value, "message": why.message, "terminal": why.terminal}
    if why.retry_after is not None:
        fields["retryAfterMs"] = round(why.retry_after * 1000)
    return _tail(fields)


def refusal(why: StreamError) -> bytes:
    """All that a stream says which was refused as it opened."""
    return Type.ERROR.head % 1 + error(why)


def redacted(revisions: Iterable[tuple[bytes, int]]) -> bytes:
    """What `redacted` holds: a record for each path (a JSON string) and its revision."""
    return b",".join([b'{"path":%b,"rev":%d}' % revision for revision in revisions])


def _tail(fields: dict[str, object]) -> bytes:
    # ASCII, so that half a surrogate pair in a message stays an escape.
    return b",%b\n\n" % json.dumps(fields, separators=(",", ":")).encode("ascii")[1:]

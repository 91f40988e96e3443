"""Projections: what of an object a stream shows (spec 05, Projections).

What is made here is made once for everybody who looks at a scope through the same projection: the end of an
event's frame, ready to send, and digests that tell whether anything in it changed. What is a stream's own,
its `seq` and its revisions, comes later (`foyer.streams.cycle`).

What is shown is the object's text without some of its members; the rest is never looked into, however much
there is of it. Of those that are looked for the last of its name is shown: the others would be what a reader
never sees, and a second `data` of a Secret what nobody redacted.
"""

import json
import secrets
from enum import Enum
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from foyer.streams.redactions import SIZE, Redaction, Redactions
from foyer.streams.resource import Members, Resource, is_object
from foyer_native.jsontext import pairs, without

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# A digest says only whether two values of this process are equal. Without a key it would also say, to whoever
# reads it in a core dump, whether a guessed password is right.
_KEY = secrets.token_bytes(32)

_WITHHELD = ("data", "stringData")
_APART = ("resourceVersion", "annotations", "managedFields")

_NOTHING = Redactions()

VALUES_MOST = 4096
"""Values of a Secret's `data` that are named one by one; of more, all that there is has one name, as what is
no map of values has. Five bytes make a value, and to be withheld by itself it takes 450, and 1.5 us."""

END = b"]}\n\n"
"""What ends a frame behind what is redacted."""


class Projection(Enum):
    """A view of objects; its value is its name on the wire."""

    RAW = "krm-raw/v1"
    FULL = "krm-full/v1"
    SPEC = "krm-spec/v1"

    # Members are told apart by identity; Enum's own hash is a call of Python for every look-up.
    __hash__ = object.__hash__


class Projected(NamedTuple):
    """An object as a projection shows it.

    `tail` ends the frame of an `added` or `modified` event, up to what is redacted: the whole of it where
    nothing is. `digest` is equal for what a page would find unchanged: the content without
    `resourceVersion`, and what is redacted.
    """

    uid: str
    digest: bytes
    tail: bytes
    redactions: Redactions

    @property
    def object(self) -> bytes:
        """The object as it is shown, of which `foyer.streams.resource.read` makes a `Resource` again."""
        return self.tail[len(',"object":') : self.tail.rindex(b',"redacted":[')]

    def __repr__(self) -> str:
        return f"Projected(uid={self.uid!r})"  # it may be a Secret, raw


def project(resource: Resource, projection: Projection, *, secret: bool = False) -> Projected:
    """`resource` as `projection` shows it; `secret` when its scope says that it is a Secret."""
    text = resource.text
    left_out: tuple[str, ...] = ("metadata", "status") if projection is Projection.SPEC else ("metadata",)
    redactions = _NOTHING
    empty: list[bytes] = []
    if (secret or resource.is_secret) and projection is not Projection.RAW:
        redactions, empty = _redact(text, resource.members)
        left_out += _WITHHELD
    begin, _, end = resource.members["metadata"]
    before = without(text, left_out, 1, begin)
    after = _joined(without(text, left_out, end, len(text) - 1), *empty)
    metadata, version = _metadata(text, resource.members["metadata"], resource.metadata)
    digest = blake2b(b"%b{%b}%b" % (before, metadata, after), digest_size=SIZE, key=_KEY)
    if redactions:
        digest.update(redactions.packed)
    shown = _joined(before, b'"metadata":{%b}' % _joined(metadata, version), after)
    tail = b',"object":{%b},"redacted":[%b' % (shown, b"" if redactions else END)
    return Projected(resource.uid, digest.digest(), tail, redactions)


def _joined(*parts: bytes) -> bytes:
    """Members one behind the other, some of which there may be none of."""
    return b",".join([part for part in parts if part])


def _metadata(text: bytes, where: tuple[int, int, int], parts: Members) -> tuple[bytes, bytes]:
    """What is shown of an object's metadata without its member `resourceVersion`, and that ("" for none)."""
    others = without(text, _APART, where[1] + 1, where[2] - 1)
    annotations = parts.get("annotations")
    if annotations is not None:
        others = _joined(others, _annotations(text, *annotations))
    begin, _, end = parts.get("resourceVersion", (0, 0, 0))
    return others, text[begin:end]


def _annotations(text: bytes, begin: int, value: int, end: int) -> bytes:
    """The member `annotations` as it is shown; nothing when the projection empties it."""
    kept = without(text, (LAST_APPLIED,), value + 1, end - 1) if text.startswith(b"{", value) else None
    if kept is None or len(kept) == end - value - len("{}"):
        return text[begin:end]
    return b'"annotations":{%b}' % kept if kept else b""


def _redact(text: bytes, parts: Members) -> tuple[Redactions, list[bytes]]:
    """What is withheld of a Secret; and, as they were sent, its members with nothing to withhold in them."""
    withheld: list[tuple[str, bytes]] = []
    empty: list[bytes] = []
    for field in _WITHHELD:
        if field in parts:
            begin, value, end = parts[field]
            if text[value:end] in (b"{}", b"null"):
                empty.append(text[begin:end])
            else:
                withheld += _values(text, field, parts[field])
    return Redactions([_redaction(path, value) for path, value in sorted(withheld)]), empty


def _values(text: bytes, field: str, where: tuple[int, int, int]) -> list[tuple[str, bytes]]:
    """Each value below the member `field`, and its path; or all of it with one. None of it is shown."""
    _, begin, end = where
    found = list(islice(pairs(text, begin), VALUES_MOST + 1)) if is_object(text, where) else []
    if not 0 < len(found) <= VALUES_MOST:
        return [(f"/{field}", text[begin:end])]
    last = {key: text[first:behind] for key, first, behind in found}
    return [(f"/{field}/{_pointer(key)}", value) for key, value in last.items()]


def _redaction(path: str, value: bytes) -> Redaction:
    digest = blake2b(value, digest_size=SIZE, key=_KEY, person=b"redacted").digest()
    return Redaction(json.dumps(path).encode("ascii"), digest)


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")  # RFC 6901 section 3

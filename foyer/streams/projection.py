"""Projections: what of an object a stream shows (spec 05, Projections).

What is made here is made once for everybody who looks at a scope through the same projection: the end of an
event's frame, ready to send, and digests that tell whether anything in it changed. What is a stream's own,
its `seq` and its revisions, comes later (`foyer.streams.cycle`).

The parts that are shown are cut out of the object's text and joined; the rest is never looked into. Of
members with one name the last is shown: the others would be what a reader never sees, and a second `data`
of a Secret what nobody redacted.
"""

import json
import secrets
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

from foyer.streams.resource import Members, Resource, is_object
from foyer_native.jsontext import members

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# A digest says only whether two values of this process are equal. Without a key it would also say, to whoever
# reads it in a core dump, whether a guessed password is right.
_KEY = secrets.token_bytes(32)
_SIZE = 16

_WITHHELD = ("data", "stringData")

END = b"]}\n\n"
"""What ends a frame behind what is redacted."""


class Projection(Enum):
    """A view of objects; its value is its name on the wire."""

    RAW = "krm-raw/v1"
    FULL = "krm-full/v1"
    SPEC = "krm-spec/v1"

    # Members are told apart by identity; Enum's own hash is a call of Python for every look-up.
    __hash__ = object.__hash__


class Redaction(NamedTuple):
    """One value that is there and not shown: its JSON pointer as a JSON string, and the value's digest."""

    path: bytes
    digest: bytes


class Projected(NamedTuple):
    """An object as a projection shows it.

    `tail` ends the frame of an `added` or `modified` event, up to what is redacted: the whole of it where
    nothing is. `digest` is equal for what a page would find unchanged: the content without
    `resourceVersion`, and what is redacted.
    """

    uid: str
    digest: bytes
    tail: bytes
    redactions: tuple[Redaction, ...]

    @property
    def object(self) -> bytes:
        """The object as it is shown, of which `foyer.streams.resource.read` makes a `Resource` again."""
        return self.tail[len(',"object":') : self.tail.rindex(b',"redacted":[')]

    def __repr__(self) -> str:
        return f"Projected(uid={self.uid!r})"  # it may be a Secret, raw


def project(resource: Resource, projection: Projection, *, secret: bool = False) -> Projected:
    """`resource` as `projection` shows it; `secret` when its scope says that it is a Secret."""
    text, shown = resource.text, dict(resource.members)
    redactions: tuple[Redaction, ...] = ()
    if (secret or resource.is_secret) and projection is not Projection.RAW:
        redactions = _redact(text, shown)
    if projection is Projection.SPEC:
        shown.pop("status", None)
    version, metadata = _metadata(resource)
    before, after = _around(text, shown)
    digest = blake2b(before + metadata + after, digest_size=_SIZE, key=_KEY)
    for redaction in redactions:
        digest.update(redaction.path + redaction.digest)
    separator = b"," if version and metadata else b""
    end = b"" if redactions else END
    parts = (before, metadata, separator, version, after, end)
    tail = b',"object":{%b"metadata":{%b%b%b}%b},"redacted":[%b' % parts
    return Projected(resource.uid, digest.digest(), tail, redactions)


def _around(text: bytes, shown: Members) -> tuple[bytes, bytes]:
    """What is shown of an object before its metadata and behind it, with the commas between."""
    before: list[bytes] = []
    after: list[bytes] = []
    part = before
    for name, (begin, _, end) in shown.items():
        if name == "metadata":
            part = after
        else:
            part.append(text[begin:end])
    return b"".join([member + b"," for member in before]), b"".join([b"," + member for member in after])


def _metadata(resource: Resource) -> tuple[bytes, bytes]:
    """Of what is shown of an object's metadata the member `resourceVersion` ("" for none), and the others."""
    text = resource.text
    version, others = b"", []
    for name, (begin, value, end) in resource.metadata.items():
        if name == "resourceVersion":
            version = text[begin:end]
        elif name == "annotations":
            others += _annotations(text, begin, value, end)
        elif name != "managedFields":
            others.append(text[begin:end])
    return version, b",".join(others)


def _annotations(text: bytes, begin: int, value: int, end: int) -> list[bytes]:
    """The member `annotations` as it is shown; nothing when the projection empties it."""
    found = members(text, value) if text.startswith(b"{", value) else {}
    if found.pop(LAST_APPLIED, None) is None:
        return [text[begin:end]]
    kept = b",".join([text[first:last] for first, _, last in found.values()])
    return [b'"annotations":{%b}' % kept] if kept else []


def _redact(text: bytes, shown: Members) -> tuple[Redaction, ...]:
    """Takes a Secret's values out of what is shown, and says what they were."""
    withheld: list[tuple[str, bytes]] = []
    for field in _WITHHELD:
        where = shown.get(field)
        if where is None or text[where[1] : where[2]] in (b"{}", b"null"):
            continue  # there is nothing to withhold: as the server sent it
        del shown[field]
        if not is_object(text, where):
            withheld.append((f"/{field}", text[where[1] : where[2]]))  # whatever it is, it is not shown
            continue
        for key, (_, begin, end) in members(text, where[1]).items():
            withheld.append((f"/{field}/{_pointer(key)}", text[begin:end]))
    return tuple([_redaction(path, value) for path, value in sorted(withheld)])


def _redaction(path: str, value: bytes) -> Redaction:
    digest = blake2b(value, digest_size=_SIZE, key=_KEY, person=b"redacted").digest()
    return Redaction(json.dumps(path).encode("ascii"), digest)


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")  # RFC 6901 section 3

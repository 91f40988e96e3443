"""A Kubernetes object as the API server wrote it, with what a stream must know of it.

Its text is never decoded and so never respelled; `members` and `metadata` say where its parts are. It lives
as long as its event: what is kept of it is what a projection makes.
"""

from json import loads
from typing import NamedTuple, TypeAlias

from foyer.login.document import is_text
from foyer_native.jsontext import members

Members: TypeAlias = dict[str, tuple[int, int, int]]
"""Those that were asked for, by name: where the name's quote is in the text, where the value begins, where it
ends."""

LONGEST = 16 * 1024
"""Bytes of a string, as it is spelled, that is taken for a name, a uid, a version or a token. Kubernetes' own
have some hundred at most; the uids of what is gone are kept a thousand at a time, however long they are."""

SLICE_BYTES = 64 * 1024
"""Bytes of objects that are shown in one turn of the loop, however few they are: as many as are read of a
connection in one. An object may have as many as its page."""

_NAMES = ("kind", "apiVersion", "metadata", "data", "stringData")
_METADATA = ("uid", "name", "namespace", "resourceVersion", "annotations")


class Resource(NamedTuple):
    """A whole object: one that has a name, a kind and a uid. `version` is "" where there is none.

    `members` and `metadata` are where those parts are that somebody looks for.
    """

    text: bytes
    members: Members
    metadata: Members
    uid: str
    version: str
    is_secret: bool

    def identity(self) -> bytes:
        """Who it is, as JSON: for a `deleted` event."""
        text, top, metadata = self.text, self.members, self.metadata
        parts = [metadata["uid"], top["apiVersion"], top["kind"]]
        if string(text, metadata.get("namespace")):
            parts.append(metadata["namespace"])
        parts.append(metadata["name"])
        return b"{%b}" % b",".join([text[begin:end] for begin, _, end in parts])

    def __repr__(self) -> str:
        return f"Resource(uid={self.uid!r})"  # it may be a Secret


def read(text: bytes) -> Resource | None:
    """The object in `text`, which is compact JSON; None: it is not whole, or no object at all."""
    if not text.startswith(b"{"):
        return None
    top = members(text, _NAMES)
    where = top.get("metadata")
    if where is None or not is_object(text, where):
        return None
    metadata = members(text, _METADATA, where[1])
    kind, api_version = string(text, top.get("kind")), string(text, top.get("apiVersion"))
    uid = string(text, metadata.get("uid"))
    if not (uid and kind and api_version and string(text, metadata.get("name"))):
        return None
    if kind == "PartialObjectMetadata" or api_version.startswith("meta.k8s.io/"):
        return None  # it has a uid, and nothing else of its object
    version = string(text, metadata.get("resourceVersion"))
    return Resource(text, top, metadata, uid, version, kind == "Secret" and api_version == "v1")


def is_object(text: bytes, where: tuple[int, int, int]) -> bool:
    """Whether the value there is an object."""
    return text.startswith(b"{", where[1])


def inner(text: bytes, parts: Members, name: str, names: tuple[str, ...]) -> Members:
    """The members with these names of the object that the member `name` is; none when it is none."""
    where = parts.get(name)
    return members(text, names, where[1]) if where is not None and is_object(text, where) else {}


def string(text: bytes, where: tuple[int, int, int] | None) -> str:
    """The string that is the value there; "" for none, for anything else, and for what no UTF-8 can say.

    JSON's escapes can spell half a surrogate pair. One that is longer than `LONGEST` is none.
    """
    if where is None or not text.startswith(b'"', where[1]) or where[2] - where[1] > LONGEST:
        return ""  # undecoded: a number of thousands of digits would raise, and so would a deep array
    value = text[where[1] : where[2]]
    if b"\\" not in value:
        return value[1:-1].decode("utf-8")
    decoded: str = loads(value)
    return decoded if is_text(decoded) else ""

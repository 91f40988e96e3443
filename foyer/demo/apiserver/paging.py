"""Lists in pages: the continue token, and the page it begins (Kubernetes API concepts).

A token holds the version of the list it belongs to and the key to go on from, in the format of
kube-apiserver. All pages of a list come from one version; when the history has dropped that,
the refusal carries a token that goes on from the newest one instead.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from foyer.demo.apiserver import document
from foyer.demo.apiserver.options import EXACT, NOT_OLDER_THAN, ListOptions
from foyer.demo.apiserver.resources import Resource
from foyer.demo.apiserver.selection import Selection
from foyer.demo.apiserver.status import Refused, bad_request, expired, too_large_version
from foyer.demo.apiserver.store import Compacted, Entry, Key, Store

TOKEN_VERSION = "meta.k8s.io/v1"
INCONSISTENT = -1
"""The version in a token that goes on from whatever is newest."""

_TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent "
    "list - objects that were created, modified, or deleted between the time the first chunk was returned "
    "and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins: `start` is relative to the selection's prefix."""

    version: int
    start: Key

    def token(self) -> str:
        """As given to the client."""
        content = document.write({"v": TOKEN_VERSION, "rv": self.version, "start": f"/{self.start}"})
        return base64.urlsafe_b64encode(content).decode().rstrip("=")


def read_token(token: str) -> Position:
    """Raises `Refused` (400) for anything that no API server wrote."""
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        found = document.read(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, document.Malformed):
        raise _invalid_token("it is no encoded JSON") from None
    if not isinstance(found, dict) or found.get("v") != TOKEN_VERSION:
        raise _invalid_token("server does not recognize this encoded version")
    version, start = found.get("rv"), found.get("start")
    if not isinstance(version, int) or isinstance(version, bool) or version == 0 or version < INCONSISTENT:
        raise _invalid_token(f"incorrect encoded start resourceVersion (version {TOKEN_VERSION})")
    if not isinstance(start, str) or not start.strip("/") or ".." in start.split("/"):
        raise _invalid_token(f"encoded start key is empty or no key (version {TOKEN_VERSION})")
    return Position(version, start.removeprefix("/"))


def _invalid_token(why: str) -> Refused:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, or all of it. `remaining` is None where it would have to be counted out."""

    version: int
    entries: list[Entry]
    token: str = ""
    remaining: int | None = None

    def encode(self, resource: Resource) -> bytes:
        """The list object, as `application/json`."""
        if resource.custom:
            return self._encode_custom(resource)
        metadata = document.write(
            {"resourceVersion": str(self.version)}
            | ({"continue": self.token} if self.token else {})
            | ({"remainingItemCount": self.remaining} if self.remaining else {})
        )
        # Items of a built-in list come without kind and apiVersion.
        cut = len(resource.type_prefix)
        items = b",".join(b"{" + entry.encoded[cut:] for entry in self.entries)
        head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
        return head + metadata + b',"items":[' + items + b"]}\n"

    def _encode_custom(self, resource: Resource) -> bytes:
        metadata = document.write(
            {"continue": self.token}
            | ({"remainingItemCount": self.remaining} if self.remaining else {})
            | {"resourceVersion": str(self.version)}
        )
        items = b",".join(entry.encoded for entry in self.entries)
        head = f'{{"apiVersion":"{resource.api_version}","items":['.encode()
        return head + items + f'],"kind":"{resource.kind}List","metadata":'.encode() + metadata + b"}\n"


def list_page(store: Store, selection: Selection, options: ListOptions) -> Page:
    """The page that a list request asks for. Raises `Refused` (400, 410, 504)."""
    if options.token:
        return _continued(store, selection, options)
    version = options.version or 0
    if version > store.version:
        raise too_large_version(version, store.version)
    # A version with a limit but no match means exactly that version, for old clients' sake.
    legacy = version and options.limit and options.match != NOT_OLDER_THAN
    if options.match == EXACT or legacy:
        return _page_at(store, selection, Position(version, ""), options.limit)
    # "0" means any version and, as in Kubernetes, no limit.
    limit = 0 if options.version == 0 else options.limit
    return _newest(store, selection, "", limit)


def _continued(store: Store, selection: Selection, options: ListOptions) -> Page:
    position = read_token(options.token)
    if position.version == INCONSISTENT:
        return _newest(store, selection, position.start, options.limit)
    if position.version > store.version:
        raise too_large_version(position.version, store.version)
    try:
        return _page_at(store, selection, position, options.limit)
    except Refused as refusal:
        raise expired(_TOO_OLD_TOKEN, Position(INCONSISTENT, position.start).token()) from refusal


def _newest(store: Store, selection: Selection, start: Key, limit: int) -> Page:
    prefix = selection.prefix
    found = store.scan(selection.resource, prefix, prefix + start if start else "")
    return _cut(selection, Position(store.version, start), found, limit, store)


def _page_at(store: Store, selection: Selection, position: Position, limit: int) -> Page:
    if position.version == store.version:
        return _newest(store, selection, position.start, limit)
    try:
        then = store.at(selection.resource, position.version, selection.prefix)
    except Compacted:
        raise expired("The resourceVersion for the provided list is too old.") from None
    start = selection.prefix + position.start
    return _cut(selection, position, (entry for entry in then if entry.key >= start), limit, None)


def _cut(
    selection: Selection, position: Position, found: Iterable[Entry], limit: int, store: Store | None
) -> Page:
    """The first `limit` of what was found and matches, and a token for the rest."""
    matching = filter(selection.matches, found)
    if not limit:
        return Page(position.version, list(matching))
    entries = list(islice(matching, limit))
    following = next(matching, None)
    if following is None:
        return Page(position.version, entries)
    # The rest begins right after the last item given: a NUL sorts before anything longer.
    last = entries[-1].key.removeprefix(selection.prefix)
    token = Position(position.version, f"{last}\0").token()
    return Page(position.version, entries, token, _remaining(selection, following, matching, store))


def _remaining(
    selection: Selection, following: Entry, rest: Iterable[Entry], store: Store | None
) -> int | None:
    if selection.selects:
        return None
    if store is not None:
        return store.count(selection.resource, selection.prefix, following.key)
    return 1 + sum(1 for _ in rest)

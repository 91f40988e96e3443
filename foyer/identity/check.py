"""What an ingress's external-auth feature asks (spec 02, The check), as values.

An ingress sends the head of the request it is about to forward, with the method and the path in
fields of its own. They say which request is judged, and nothing else: no route, no host and no
other rule is ever chosen by them, so a client that gets a field of that name past its ingress
changes only how its own request is judged and where its own login returns.
"""

import re
from typing import NamedTuple
from urllib.parse import quote

from foyer.interruption import Interruption, Reason
from foyer.login import return_path
from foyer.protocol.events import RequestHead

_METHOD = re.compile(rb"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")
"""A token (RFC 9110 section 5.6.2), case kept: `get` is a change like any unknown method."""

_OPTIONS = (b"redirect=true", b"identity=true")


class Check(NamedTuple):
    """One check. `forwarded` is the request that is judged: its method, its path, the fields received."""

    forwarded: RequestHead
    redirect: bool
    identity: bool


def read(head: RequestHead, query: bytes) -> Check | Interruption:
    """What `head` asks, whose query is `query`, or its refusal as malformed."""
    options = query.split(b"&") if query else []
    if any(option not in _OPTIONS for option in options) or len(set(options)) != len(options):
        return _BAD_OPTION
    methods = head.all(b"x-forwarded-method") or [b"GET"]
    if len(methods) != 1 or not _METHOD.fullmatch(methods[0]):
        return _BAD_METHOD
    forwarded = RequestHead(methods[0], _path(head), head.fields)
    return Check(forwarded, _OPTIONS[0] in options, _OPTIONS[1] in options)


def login_location(check: Check, origin: str) -> str | None:
    """Where a signed-out page load signs in, if `check` is of one and asks for it: a URL of `origin`.

    A script is not sent to a login page that it could not use. Neither is a browser too old to say
    what it loads (no `Sec-Fetch-Mode`) refused one.
    """
    modes = check.forwarded.all(b"sec-fetch-mode")
    page_load = check.forwarded.method in (b"GET", b"HEAD") and modes in ([], [b"navigate"])
    if not check.redirect or not page_load:
        return None
    return f"{origin}/auth/login?return_to={quote(check.forwarded.target, safe='/')}"


def _path(head: RequestHead) -> bytes:
    """The path to come back to: `/` where it is not one that a login returns to."""
    paths = head.all(b"x-forwarded-uri") or head.all(b"x-original-uri")
    return paths[0] if len(paths) == 1 and return_path.is_local(paths[0]) else b"/"


_BAD_OPTION = Interruption(
    Reason.BAD_REQUEST,
    "The check takes redirect=true and identity=true, each at most once, and nothing else.",
)

_BAD_METHOD = Interruption(
    Reason.BAD_REQUEST,
    "The check takes the method of the request to be forwarded from one X-Forwarded-Method field.",
)

"""The route table, and everything else that the request line decides.

Spec 01, Routes; spec 04, Order of checks, 2. The order is the spec's: protocol, path, route, method,
subresource. Nothing but the method, the target and the presence of an `Upgrade` field is read: no
`Host`, no forwarded path or method.
"""

from enum import Enum
from typing import NamedTuple

from foyer.interruption import Interruption, Reason
from foyer.k8s import subresource
from foyer.pages.assets import ASSETS
from foyer.protocol.events import RequestHead
from foyer.protocol.path import carries, fault, split


class Route(Enum):
    """A route, named as log lines name it: by its path or, where it has many, its prefix."""

    START = "/"
    LOGIN = "/auth/login"
    CALLBACK = "/auth/callback"
    SESSION = "/auth/session"
    WHOAMI = "/auth/whoami"
    CHECK = "/auth/check"
    LOGOUT = "/auth/logout"
    LOGGED_OUT = "/auth/logged-out"
    K8S = "/k8s"
    TARGETS = "/targets"
    FLEET = "/fleet/v1"
    STREAM = "/stream/v1"
    ACCESS = "/_foyer/access"
    DEPENDENCIES = "/_foyer/dependencies"
    ASSET = "/_foyer"
    HEALTHZ = "/healthz"
    READYZ = "/readyz"


class Matched(NamedTuple):
    """A request whose line is in order.

    `path` is the target's without the query. `upstream_target` is what the API server is asked,
    byte for byte the target minus `/k8s` or `/targets/<name>/k8s`; of a fleet read, the path minus
    `/fleet/v1`; and empty on every other route.
    """

    route: Route
    path: bytes
    query: bytes
    upstream_target: bytes

    @property
    def named_target(self) -> str:
        """The name of an API server (a target in the other sense, spec 06) in the path; "" where none is."""
        return self.path.split(b"/", 3)[2].decode("ascii") if self.route is Route.TARGETS else ""


class _Methods(Enum):
    """The methods a route answers; the value is its `Allow`."""

    GET = "GET, HEAD"  # HEAD is GET without the content
    GET_ALONE = "GET"  # a stream has no end to say the length of
    POST = "POST"


_FIXED: dict[bytes, tuple[Route, _Methods]] = {
    b"/": (Route.START, _Methods.GET),
    b"/auth/login": (Route.LOGIN, _Methods.GET),
    b"/auth/callback": (Route.CALLBACK, _Methods.GET),
    b"/auth/session": (Route.SESSION, _Methods.GET),
    b"/auth/whoami": (Route.WHOAMI, _Methods.GET),
    b"/auth/check": (Route.CHECK, _Methods.GET),
    b"/auth/logout": (Route.LOGOUT, _Methods.POST),
    b"/auth/logged-out": (Route.LOGGED_OUT, _Methods.GET),
    b"/stream/v1": (Route.STREAM, _Methods.GET_ALONE),
    b"/_foyer/access": (Route.ACCESS, _Methods.GET),
    b"/_foyer/dependencies": (Route.DEPENDENCIES, _Methods.GET),
    b"/healthz": (Route.HEALTHZ, _Methods.GET),
    b"/readyz": (Route.READYZ, _Methods.GET),
    **dict.fromkeys(ASSETS, (Route.ASSET, _Methods.GET)),
}

_WITHOUT_SIGN_IN = frozenset((b"/", b"/healthz", b"/readyz", *ASSETS))

_K8S = b"/k8s"
_TARGETS = b"/targets/"
_FLEET = b"/fleet/v1"
_K8S_TREES = (b"/api/", b"/apis/", b"/openapi/")
_K8S_PATHS = frozenset((b"/api", b"/apis", b"/version"))
_FLEET_TREES = (b"/api/", b"/apis/")
_FLEET_PATHS = frozenset((b"/api", b"/apis"))


_PROBES = frozenset((b"/healthz", b"/readyz"))


def probes(target: bytes) -> bool:
    """Whether a request is an orchestrator's probe, by its path alone: no more is read of one too many."""
    return split(target)[0] in _PROBES


def named(head: RequestHead) -> str | None:
    """The route that a request's path belongs to, as log lines name it, whatever else is wrong with it."""
    path, _ = split(head.target)
    if path.startswith(b"/k8s/"):
        return Route.K8S.value
    if path.startswith(_TARGETS):
        return Route.TARGETS.value
    if path.startswith(b"/fleet/v1/"):
        return Route.FLEET.value
    entry = _FIXED.get(path)
    return None if entry is None else entry[0].value


def find(head: RequestHead) -> Matched | Interruption:
    """The route of `head`, or the refusal that its request line calls for."""
    if head.method == b"CONNECT" or head.protocol:
        return _CONNECT
    for name, _ in head.fields:
        if name == b"upgrade":
            return _UPGRADE
    path, query = split(head.target)
    if path.startswith(b"/k8s/"):
        return _find_k8s(Route.K8S, len(_K8S), head.target, path, query)
    if path.startswith(_TARGETS):
        # Behind a name: whose it is, if anybody's, only who has signed in is told.
        prefix = path.find(b"/", len(_TARGETS)) + len(_K8S)
        return _find_k8s(Route.TARGETS, prefix, head.target, path, query)
    if path.startswith(b"/fleet/v1/"):
        return _find_fleet(head.method, path, query)
    return _find_fixed(head.method, path, query)


def find_without_sign_in(head: RequestHead) -> Matched | Interruption:
    """`find` where nobody can sign in: the start page, the probes and the assets are all there is."""
    found = find(head)
    tunnel = isinstance(found, Interruption) and found.reason is Reason.UNSUPPORTED_PROTOCOL
    return found if tunnel or split(head.target)[0] in _WITHOUT_SIGN_IN else _NOT_FOUND


def _find_k8s(route: Route, prefix: int, target: bytes, path: bytes, query: bytes) -> Matched | Interruption:
    """Behind a prefix of so many bytes that ends in `/k8s`. Any method: what the API server makes of one is
    its own affair."""
    found = fault(path)
    if found:
        return _not_canonical(found.value)
    if not carries(query):
        return _QUERY
    api_path = path[prefix:]
    if not path.endswith(_K8S, 0, prefix):
        return _NOT_FOUND
    if not api_path.startswith(_K8S_TREES) and api_path not in _K8S_PATHS:
        return _NOT_FOUND
    name = subresource.unsupported(api_path)
    if name:
        return _unsupported_subresource(name)
    return Matched(route, path, query, target[prefix:])


def _find_fleet(method: bytes, path: bytes, query: bytes) -> Matched | Interruption:
    """What every API server is asked for, as behind `/k8s`, but nothing except a list has an answer."""
    found = fault(path)
    if found:
        return _not_canonical(found.value)
    api_path = path[len(_FLEET) :]
    if not api_path.startswith(_FLEET_TREES) and api_path not in _FLEET_PATHS:
        return _NOT_FOUND
    if method not in _ALLOWED[_Methods.GET]:
        return _NOT_ALLOWED[_Methods.GET]
    if not carries(query):
        return _QUERY
    name = subresource.unsupported(api_path)
    if name:
        return _unsupported_subresource(name)
    return Matched(Route.FLEET, path, query, api_path)


def _find_fixed(method: bytes, path: bytes, query: bytes) -> Matched | Interruption:
    """A path of the table is canonical as it stands, so only what could never be one is told apart."""
    if not path.startswith(b"/"):
        return _not_canonical("the request target is not a path (origin-form)")
    if b"#" in path:
        return _not_canonical("it has a fragment")
    entry = _FIXED.get(path)
    if entry is None:
        return _NOT_FOUND
    route, methods = entry
    if method not in _ALLOWED[methods]:
        return _NOT_ALLOWED[methods]
    if not carries(query):
        return _QUERY
    return Matched(route, path, query, b"")


def _not_canonical(why: str) -> Interruption:
    return Interruption(
        Reason.NON_CANONICAL_PATH,
        f"foyer forwards a path unchanged or not at all, and does not forward this one: {why}.",
    )


def _unsupported_subresource(name: str) -> Interruption:
    return Interruption(
        Reason.UNSUPPORTED_SUBRESOURCE,
        f"foyer does not carry {name}: exec, attach, portforward and proxy need a connection of their own.",
    )


_CONNECT = Interruption(Reason.UNSUPPORTED_PROTOCOL, "foyer opens no tunnels: CONNECT is not supported.")

_UPGRADE = Interruption(
    Reason.UNSUPPORTED_PROTOCOL,
    "foyer speaks HTTP/1.1 and HTTP/2 only: a request with an Upgrade field is not served.",
)

_QUERY = Interruption(
    Reason.BAD_REQUEST,
    "The query has a character that must be percent-encoded, or a fragment behind it.",
)

_NOT_FOUND = Interruption(Reason.NOT_FOUND, "There is nothing at this address.")

_ALLOWED = {methods: frozenset(methods.value.encode("ascii").split(b", ")) for methods in _Methods}

_NOT_ALLOWED = {
    methods: Interruption(
        Reason.METHOD_NOT_ALLOWED,
        f"This address answers {' and '.join(methods.value.split(', '))} only.",
        allow=methods.value,
    )
    for methods in _Methods
}

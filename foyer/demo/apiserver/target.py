"""What a request's method, path and query mean (kube-apiserver's RequestInfo).

`/api/v1/namespaces/demo/configmaps/x` is a get of one object, `/version` a path that is no
resource. Authorization and routing both read this, so that they never disagree.
"""

from dataclasses import dataclass
from urllib.parse import unquote

from foyer.demo.apiserver.options import Query, flag

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A request's aim. For a mere `path`, `verb` is the method and all the rest is empty.

    `name` is also the one name that a field selector admits. `extra` says that segments follow
    which no resource has.
    """

    path: str
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    extra: bool = False

    @property
    def is_resource(self) -> bool:
        """Whether this is about a resource."""
        return bool(self.resource)


def read_target(method: str, path: str, query: Query) -> Target:
    """The target of a request. `path` is as received, without the query."""
    decoded = unquote(path, errors="replace")
    verb = _VERBS.get(method, "")
    match [part for part in decoded.split("/") if part]:
        case ["api", version, *rest] if rest:
            return _resource(decoded, verb, ("", version), rest, query)
        case ["apis", group, version, *rest] if rest:
            return _resource(decoded, verb, (group, version), rest, query)
        case _:
            return Target(decoded, method.lower())


def _resource(path: str, verb: str, group_version: tuple[str, str], parts: list[str], query: Query) -> Target:
    # The deprecated form, /api/v1/watch/…, is still a watch.
    old_watch = parts[0] == "watch" and len(parts) > 1
    if old_watch:
        parts = parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in ("status", "finalize"):
            parts = parts[2:]
    resource, name, subresource, *more = [*parts, "", "", ""]
    if old_watch:
        verb = "watch" if verb == "get" else ""
    elif not name:
        verb = _collection_verb(verb, query)
    if not name and verb in ("list", "watch", "deletecollection"):
        name = _selected_name(query.get("fieldSelector", ""))
    return Target(path, verb, *group_version, resource, namespace, name, subresource, any(more))


def _collection_verb(verb: str, query: Query) -> str:
    match verb:
        case "get":
            return "watch" if flag(query, "watch") else "list"
        case "delete":
            return "deletecollection"
        case _:
            return verb


def _selected_name(field_selector: str) -> str:
    for term in field_selector.split(","):
        name, equals, value = term.partition("=")
        if equals and name == "metadata.name" and value:
            return value.removeprefix("=")
    return ""

"""Scope: what a stream shows, read from its query or refused (spec 05, Scope).

Nothing here is ever pasted: each field is checked as what Kubernetes says it is before a path is made of it,
and a parameter that tries to name another server, or brings a credential, is refused in any letter case.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlencode

from foyer.login import query as parameters
from foyer.streams import names, selector
from foyer.streams.errors import StreamError, scope_invalid
from foyer.streams.projection import Projection

REFUSED = frozenset(
    (
        b"server",
        b"apiserver",
        b"api-server",
        b"url",
        b"endpoint",
        b"host",
        b"kubeconfig",
        b"token",
        b"authorization",
        b"password",
    )
)
"""Parameters that supply an address or a credential."""

PAGE_ITEMS = 500
"""Items of one page of a list: client-go's own number, and a few milliseconds of work at once."""


class Scope(NamedTuple):
    """A scope; "" is an absent field. Equal scopes show the same objects to whoever may see them all."""

    target: str
    group: str
    version: str
    resource: str
    namespace: str
    name: str
    label_selector: str

    @property
    def kubectl_name(self) -> str:
        """The resource as kubectl names it: `configmaps`, `notes.example.com`."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def has_secrets(self) -> bool:
        """Whether its objects are Secrets."""
        return self.resource == "secrets" and not self.group

    def fields(self) -> dict[str, str]:
        """The fields by their names in the protocol and in its order, without the absent ones."""
        return {name: value for name, value in zip(_FIELDS, self, strict=True) if value}

    def query(self) -> str:
        """The one canonical spelling as a query."""
        return urlencode(self.fields())

    def streaming_list(self) -> bytes:
        """The target (path and query) of a watch that begins with the snapshot (KEP-3157)."""
        return self._target(
            watch="1",
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
        )

    def page(self, token: str = "", items: int = PAGE_ITEMS) -> bytes:
        """The target of a list's first page, or of the one that `token` continues with."""
        options = {"limit": str(items)}
        if token:
            options["continue"] = token
        return self._target(**options)

    def watch(self, version: str) -> bytes:
        """The target of a watch of what came after `version`."""
        return self._target(watch="1", resourceVersion=version, allowWatchBookmarks="true")

    def _target(self, **options: str) -> bytes:
        path = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespace:
            path += f"/namespaces/{self.namespace}"
        if self.name:
            options["fieldSelector"] = f"metadata.name={_field_value(self.name)}"
        if self.label_selector:
            options["labelSelector"] = self.label_selector
        return f"{path}/{self.resource}?{urlencode(options, quote_via=quote, safe='')}".encode("ascii")


_FIELDS = ("target", "group", "version", "resource", "namespace", "name", "labelSelector")
_PARAMETERS = {name.encode("ascii"): name for name in (*_FIELDS, "projection")}


class Targets(NamedTuple):
    """The names of the targets there are, and the one that a scope without `target` means."""

    names: frozenset[str]
    default: str


@dataclass(frozen=True, slots=True)
class Opening:
    """What a stream was opened for: the scope with its target resolved, and the view of it.

    `asked_target` is as it was written, "" where none was: a `reset` repeats it.
    """

    scope: Scope
    asked_target: str
    projection: Projection


def read(query: bytes, targets: Targets) -> Opening | StreamError:
    """What the query of a stream's request asks for, or a terminal `SCOPE_INVALID`."""
    pairs = parameters.read(b"?" + query)
    if pairs is None:
        return scope_invalid("The query cannot be read: a broken escape, or too many parameters.")
    for name, _ in pairs:
        if name.lower() in REFUSED:
            said = name.decode("ascii")
            return scope_invalid(f"A stream takes no address and no credential, so {said} is refused.")
    given: dict[str, str] = {}
    for name, value in pairs:
        field = _PARAMETERS.get(name)
        if field is None:
            continue
        if field in given:
            return scope_invalid(f"{field} is given twice.")
        try:
            given[field] = value.decode("utf-8")
        except UnicodeDecodeError:
            return scope_invalid(f"{field} is not UTF-8.")
    return _opening(given, targets)


def readable(query: bytes) -> str:
    """What of a query that was refused can be shown in a log: fields that are what they should be.

    Whatever else is in it may be a credential, pasted into the wrong place.
    """
    pairs, _ = parameters.read_what_can_be(b"?" + query)
    given: dict[str, str] = {}
    for name, value in pairs:
        field, text = _PARAMETERS.get(name), value.decode("utf-8", "replace")
        if field in _RULES and _RULES[field].holds(text):
            given.setdefault(field, text)
    return Scope(*(given.get(field, "") for field in _FIELDS)).query()


def _opening(given: dict[str, str], targets: Targets) -> Opening | StreamError:
    asked = Scope(*(given.get(field, "") for field in _FIELDS))
    why = _fault(asked)
    if why is not None:
        return scope_invalid(why)
    if asked.target and asked.target not in targets.names:
        return scope_invalid("There is no such target.")
    try:
        projection = Projection(given.get("projection") or Projection.FULL.value)
    except ValueError:
        known = ", ".join(each.value for each in Projection)
        return scope_invalid(f"There is no such projection; there are {known}.")
    return Opening(asked._replace(target=asked.target or targets.default), asked.target, projection)


class _Rule(NamedTuple):
    """What a field must be, and what to say when it is not."""

    holds: Callable[[str], bool]
    otherwise: str


_RULES = {
    "group": _Rule(names.is_subdomain, "group must be a DNS subdomain such as apps or notes.example.com."),
    "version": _Rule(names.is_letter_first_label, "version must be one version, such as v1 or v1beta1."),
    "resource": _Rule(
        names.is_letter_first_label,
        "resource must be the plural, lower-case name in the API (configmaps), not the kind (ConfigMap).",
    ),
    "namespace": _Rule(names.is_label, "namespace must be the name of one namespace."),
}
_CORE_NAME = _Rule(names.is_subdomain, "name must be the name of one object: a DNS subdomain.")
_OTHER_NAME = _Rule(names.is_path_segment, "name must be the name of one object: one segment of a path.")


def _fault(scope: Scope) -> str | None:
    if not scope.resource:
        return "resource is missing: the plural, lower-case name in the API, such as configmaps."
    if not scope.version:
        return "version is missing, and has no default: v1 and v1beta1 are different objects."
    for field, rule in (_RULES | {"name": _OTHER_NAME if scope.group else _CORE_NAME}).items():
        value: str = getattr(scope, field)
        if value and not rule.holds(value):
            return rule.otherwise
    why = selector.fault(scope.label_selector)
    return None if why is None else f"labelSelector cannot be read: {why}."


def _field_value(value: str) -> str:
    """Escaped as Kubernetes' field selectors are (`fields.EscapeValue`)."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")

"""Discovery: what is served, told in both of Kubernetes' ways.

The old one is a document for each group and version; the aggregated one (apidiscovery v2) tells
everything at `/api` and `/apis`. Both are read off the table in `resources`.
"""

from typing import Any

from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.resources import RESOURCES, REVIEWS, Resource, Review

VERSION = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.0+foyer.demo",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}
"""The Kubernetes whose semantics are served; everything Go about it would be untrue."""

STATUS_VERBS = ["get", "patch", "update"]


def groups() -> list[str]:
    """The named groups, in alphabetical order."""
    return sorted({row.group for row in (*RESOURCES, *REVIEWS)} - {""})


def legacy_versions() -> Object:
    """`/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    }


def group_list() -> Object:
    """`/apis`."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in groups()]}


def group_document(name: str) -> Object | None:
    """`/apis/<group>`."""
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name) if name in groups() else None


def _group(name: str) -> Object:
    # Every group served has the one version v1.
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def resource_list(group: str, version: str) -> Object | None:
    """`/api/v1` and `/apis/<group>/<version>`."""
    rows = [
        entry for row in RESOURCES if (row.group, row.version) == (group, version) for entry in _entries(row)
    ]
    rows += [_review_entry(row) for row in REVIEWS if (row.group, "v1") == (group, version)]
    if not rows:
        return None
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
    return head | {"groupVersion": f"{group}/{version}" if group else version, "resources": rows}


def _entries(row: Resource) -> list[Object]:
    entry: Object = {
        "name": row.plural,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": list(row.verbs),
    }
    if row.short_names:
        entry["shortNames"] = list(row.short_names)
    if not row.status:
        return [entry]
    status = {
        "name": f"{row.plural}/status",
        "singularName": "",
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": STATUS_VERBS,
    }
    return [entry, status]


def _review_entry(row: Review) -> Object:
    return {
        "name": row.plural,
        "singularName": row.singular,
        "namespaced": False,
        "kind": row.kind,
        "verbs": ["create"],
    }


def aggregated(*, named: bool) -> Object:
    """`/apis`, or without `named` groups `/api`, as an APIGroupDiscoveryList."""
    items = [_group_discovery(name) for name in (groups() if named else [""])]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _group_discovery(name: str) -> Object:
    resources = [_discovery(row) for row in RESOURCES if row.group == name]
    resources += [_review_discovery(row) for row in REVIEWS if row.group == name]
    return {
        "metadata": {"name": name} if name else {},
        "versions": [{"version": "v1", "resources": resources, "freshness": "Current"}],
    }


def _discovery(row: Resource) -> Object:
    kind = {"group": row.group, "version": row.version, "kind": row.kind}
    entry: Object = {
        "resource": row.plural,
        "responseKind": kind,
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": list(row.verbs),
    }
    if row.short_names:
        entry["shortNames"] = list(row.short_names)
    if row.status:
        entry["subresources"] = [{"subresource": "status", "responseKind": kind, "verbs": STATUS_VERBS}]
    return entry


def _review_discovery(row: Review) -> dict[str, Any]:
    return {
        "resource": row.plural,
        "responseKind": {"group": row.group, "version": "v1", "kind": row.kind},
        "scope": "Cluster",
        "singularResource": row.singular,
        "verbs": ["create"],
    }

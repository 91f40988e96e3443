"""OpenAPI: the schemas and operations of what is served, and of nothing else.

Small, and honest: the schemas are those that objects are validated against, an operation is
there when a request for it works, with the parameters that it reads. kubectl finds here how to
explain a kind and that `fieldValidation` is understood.
"""

import hashlib
from typing import Any

from foyer.demo.apiserver import document
from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.resources import RESOURCES, Resource

_LIST_PARAMETERS = {
    "labelSelector": "string",
    "fieldSelector": "string",
    "limit": "integer",
    "continue": "string",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "watch": "boolean",
    "allowWatchBookmarks": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
}
_WRITE_PARAMETERS = {"dryRun": "string", "fieldValidation": "string"}
_DELETE_PARAMETERS = {"dryRun": "string"}

_PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json")


def index() -> Object:
    """`/openapi/v3`: a document for each group and version, its hash in the URL as Kubernetes has it."""
    return {
        "paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={_hash(name)}"} for name in _roots()}
    }


def version3(name: str) -> Object | None:
    """`/openapi/v3/<name>`, such as `apis/example.com/v1`; None when there is none."""
    rows = _roots().get(name)
    if rows is None:
        return None
    schemas: Object = {}
    paths: Object = {}
    for row in rows:
        schemas |= _schemas(row, "#/components/schemas/")
        paths |= _paths(row)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.37"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def version2() -> Object:
    """`/openapi/v2`: the definitions of every kind, without operations, which v3 has."""
    definitions: Object = {}
    for row in RESOURCES:
        definitions |= _schemas(row, "#/definitions/")
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.37"},
        "paths": {},
        "definitions": definitions,
    }


def _roots() -> dict[str, list[Resource]]:
    roots: dict[str, list[Resource]] = {}
    for row in RESOURCES:
        roots.setdefault(row.path().strip("/").rsplit("/", 1)[0], []).append(row)
    return roots


def _hash(name: str) -> str:
    return hashlib.sha256(document.write(version3(name), ordered=True)).hexdigest().upper()


def _schema_name(row: Resource) -> str:
    reversed_group = ".".join(reversed(row.group.split("."))) if row.group else "io.k8s.api.core"
    return f"{reversed_group}.{row.version}.{row.kind}"


def _schemas(row: Resource, prefix: str) -> Object:
    name = _schema_name(row)
    list_schema = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "items": {"type": "array", "items": {"$ref": prefix + name}},
        },
    }
    return {
        name: row.whole_schema | {"x-kubernetes-group-version-kind": [_gvk(row)]},
        f"{name}List": list_schema | {"x-kubernetes-group-version-kind": [_gvk(row, "List")]},
    }


def _gvk(row: Resource, suffix: str = "") -> Object:
    return {"group": row.group, "kind": row.kind + suffix, "version": row.version}


def _paths(row: Resource) -> Object:
    collection = row.path("{namespace}") if row.namespaced else row.path()
    one = f"{collection}/{{name}}"
    paths = {collection: _collection(row), one: _one(row, delete=True)}
    if row.namespaced:
        paths[row.path()] = {"get": _operation(row, "list", _LIST_PARAMETERS, suffix="List")}
    if row.status:
        paths[f"{one}/status"] = _one(row, delete=False)
    return paths


def _collection(row: Resource) -> Object:
    operations: Object = {
        "get": _operation(row, "list", _LIST_PARAMETERS, suffix="List"),
        "post": _operation(row, "post", _WRITE_PARAMETERS, body=("application/json",)),
    }
    if "deletecollection" in row.verbs:
        operations["delete"] = _operation(row, "deletecollection", _DELETE_PARAMETERS, suffix="List")
    return operations | _path_parameters(row, named=False)


def _one(row: Resource, *, delete: bool) -> Object:
    operations: Object = {
        "get": _operation(row, "get", {"resourceVersion": "string"}),
        "put": _operation(row, "put", _WRITE_PARAMETERS, body=("application/json",)),
        "patch": _operation(row, "patch", _WRITE_PARAMETERS, body=_PATCH_TYPES),
    }
    if delete:
        operations["delete"] = _operation(row, "delete", _DELETE_PARAMETERS)
    return operations | _path_parameters(row, named=True)


def _path_parameters(row: Resource, *, named: bool) -> Object:
    names = (["namespace"] if row.namespaced else []) + (["name"] if named else [])
    return {"parameters": [_parameter(name, "string", "path") | {"required": True} for name in names]}


def _parameter(name: str, kind: str, place: str) -> Object:
    return {"name": name, "in": place, "schema": {"type": kind, "uniqueItems": True}}


def _operation(
    row: Resource, action: str, query: dict[str, str], *, suffix: str = "", body: tuple[str, ...] = ()
) -> Object:
    schema = {"$ref": f"#/components/schemas/{_schema_name(row)}{suffix}"}
    status = "201" if action == "post" else "200"
    operation: dict[str, Any] = {
        "parameters": [_parameter(name, kind, "query") for name, kind in query.items()],
        "responses": {
            status: {"description": "OK", "content": {"application/json": {"schema": schema}}},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(row),
    }
    if body:
        content: Object = {
            kind: {"schema": schema if action != "patch" else {"type": "object"}} for kind in body
        }
        operation["requestBody"] = {"content": content, "required": True}
    return operation

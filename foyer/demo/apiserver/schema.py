"""Structural schemas: the part of OpenAPI v3 that the kinds served here use.

Three walks over a value, as the API server does them on a custom resource: drop the fields
the schema does not know, fill in defaults, then say everything that is wrong. The schema is
the same document that `/openapi/v3` publishes.
"""

import re
from collections.abc import Iterator
from typing import Any

from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.status import Cause

STRING: Object = {"type": "string"}
INTEGER: Object = {"type": "integer"}
BOOLEAN: Object = {"type": "boolean"}
STRINGS: Object = {"type": "array", "items": STRING}
STRING_MAP: Object = {"type": "object", "additionalProperties": STRING}
FREE: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(properties: Object, *, required: tuple[str, ...] = ()) -> Object:
    """The schema of an object with these fields."""
    schema: Object = {"type": "object", "properties": properties}
    return schema | {"required": list(required)} if required else schema


METADATA = fields(
    {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "uid": STRING,
        "resourceVersion": STRING,
        "generation": INTEGER,
        "creationTimestamp": STRING,
        "deletionTimestamp": STRING,
        "deletionGracePeriodSeconds": INTEGER,
        "labels": STRING_MAP,
        "annotations": STRING_MAP,
        "ownerReferences": {
            "type": "array",
            "items": fields(
                {
                    "apiVersion": STRING,
                    "kind": STRING,
                    "name": STRING,
                    "uid": STRING,
                    "controller": BOOLEAN,
                    "blockOwnerDeletion": BOOLEAN,
                },
                required=("apiVersion", "kind", "name", "uid"),
            ),
        },
        "finalizers": STRINGS,
        "managedFields": {"type": "array", "items": FREE},
    }
)
"""ObjectMeta, in the order in which Kubernetes writes its fields."""


def prune(value: Any, schema: Object, path: str = "") -> tuple[Any, list[str]]:
    """The value without unknown fields, its keys in the schema's order, and the paths dropped."""
    dropped: list[str] = []
    return _pruned(value, schema, path, dropped), dropped


def _pruned(value: Any, schema: Object, path: str, dropped: list[str]) -> Any:
    if isinstance(value, list) and "items" in schema:
        return [_pruned(item, schema["items"], f"{path}[{i}]", dropped) for i, item in enumerate(value)]
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    known: Object = dict(schema.get("properties", {}))
    unknown = sorted(value.keys() - known.keys())
    if "additionalProperties" in schema:
        known |= dict.fromkeys(unknown, schema["additionalProperties"])
    else:
        dropped += [join(path, name) for name in unknown]
    return {
        name: _pruned(value[name], known[name], join(path, name), dropped) for name in known if name in value
    }


def fill(value: Any, schema: Object) -> Any:
    """The value with the schema's defaults where a field is missing, and without nulls."""
    if isinstance(value, list) and "items" in schema:
        return [fill(item, schema["items"]) for item in value]
    if not isinstance(value, dict):
        return value
    properties: Object = schema.get("properties", {})
    others: Object = schema.get("additionalProperties", {})
    present = {
        name: fill(item, properties.get(name, others)) for name, item in value.items() if item is not None
    }
    defaults = {
        name: field["default"]
        for name, field in properties.items()
        if "default" in field and name not in present
    }
    return present | defaults


def check(value: Any, schema: Object, path: str = "") -> Iterator[Cause]:
    """Everything about the value that the schema forbids."""
    wanted = schema.get("type")
    if wanted and not _is(value, wanted):
        found = _type_name(value)
        message = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
        yield Cause("FieldValueTypeInvalid", message, path)
        return
    if isinstance(value, str):
        yield from _check_string(value, schema, path)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from check(item, schema.get("items", {}), f"{path}[{i}]")
    elif isinstance(value, dict):
        yield from _check_object(value, schema, path)


def _check_object(value: Object, schema: Object, path: str) -> Iterator[Cause]:
    for name in schema.get("required", ()):
        if name not in value:
            yield Cause("FieldValueRequired", "Required value", join(path, name))
    properties: Object = schema.get("properties", {})
    others: Object = schema.get("additionalProperties", {})
    for name, item in value.items():
        yield from check(item, properties.get(name, others), join(path, name))


def _check_string(value: str, schema: Object, path: str) -> Iterator[Cause]:
    choices = schema.get("enum")
    if choices and value not in choices:
        supported = ", ".join(f'"{choice}"' for choice in choices)
        message = f'Unsupported value: "{value}": supported values: {supported}'
        yield Cause("FieldValueNotSupported", message, path)
    longest = schema.get("maxLength")
    if longest is not None and len(value) > longest:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {longest} bytes", path)
    shortest = schema.get("minLength", 0)
    if len(value) < shortest:
        message = f'Invalid value: "{value}": {path} in body should be at least {shortest} chars long'
        yield Cause("FieldValueInvalid", message, path)
    pattern = schema.get("pattern")
    if pattern and not re.search(pattern, value):
        yield Cause("FieldValueInvalid", f"Invalid value: {path} in body should match '{pattern}'", path)


def join(path: str, name: str) -> str:
    """A field's path below another's."""
    return f"{path}.{name}" if path else name


def _type_name(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"


def _is(value: Any, wanted: str) -> bool:
    found = _type_name(value)
    return found == wanted or (wanted == "number" and found == "integer")

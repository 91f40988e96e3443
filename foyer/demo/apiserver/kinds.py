"""What only one kind does: defaults, conversions and rules beyond its schema.

`prepare` makes a decoded object the one that is stored, `faults` says what is wrong with it;
the old object is None on create. Wording is Kubernetes'.
"""

import base64
import binascii
from collections.abc import Iterator

from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.names import config_key_faults, label_faults, subdomain_faults
from foyer.demo.apiserver.resources import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from foyer.demo.apiserver.status import Cause, bad_request

MAX_DATA = 1024 * 1024
"""Bytes of a ConfigMap's or Secret's values together."""


def name_faults(resource: Resource, name: str) -> list[str]:
    """What is wrong with a name for this kind."""
    return label_faults(name) if resource is NAMESPACES else subdomain_faults(name)


def prepare(resource: Resource, target: Object, old: Object | None) -> Object:
    """The object as it is stored. Raises `Refused` (400)."""
    if resource is NAMESPACES:
        return _prepare_namespace(target, old)
    if resource is SECRETS:
        return _prepare_secret(target)
    if resource is CONFIG_MAPS:
        _refuse_bad_base64(resource, target.get("binaryData", {}))
        return {name: value for name, value in target.items() if value != {}}
    return target


def faults(resource: Resource, target: Object, old: Object | None) -> Iterator[Cause]:
    """What is wrong with the prepared object."""
    if resource is CONFIG_MAPS:
        yield from _data_faults(target, old, ("data", "binaryData"))
    elif resource is SECRETS:
        yield from _data_faults(target, old, ("data",))
        if old is not None and old["type"] != target["type"]:
            yield _immutable("type", target["type"])


def _prepare_namespace(target: Object, old: Object | None) -> Object:
    metadata = target["metadata"]
    labels = metadata.get("labels", {}) | {"kubernetes.io/metadata.name": metadata.get("name", "")}
    fixed = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    if old is not None:
        fixed = {"spec": old["spec"], "status": old["status"]}
    return target | {"metadata": metadata | {"labels": labels}} | fixed


def _prepare_secret(target: Object) -> Object:
    _refuse_bad_base64(SECRETS, target.get("data", {}))
    prepared = {name: value for name, value in target.items() if name not in ("stringData", "data", "type")}
    # stringData is for writing only, and wins over data.
    encoded = {
        name: base64.b64encode(value.encode(errors="replace")).decode()
        for name, value in target.get("stringData", {}).items()
    }
    data = dict(sorted((target.get("data", {}) | encoded).items()))
    return prepared | ({"data": data} if data else {}) | {"type": target.get("type") or "Opaque"}


def _refuse_bad_base64(resource: Resource, data: Object) -> None:
    for value in data.values():
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            why = "illegal base64 data"
            version, kind = resource.version, resource.kind
            raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}') from None


def _data_faults(target: Object, old: Object | None, names: tuple[str, ...]) -> Iterator[Cause]:
    if old is not None and old.get("immutable"):
        if not target.get("immutable"):
            yield _forbidden("immutable")
        for name in names:
            if old.get(name, {}) != target.get(name, {}):
                yield _forbidden(name)
    for name in names:
        for key in target.get(name, {}):
            for fault in config_key_faults(key):
                yield Cause("FieldValueInvalid", f'Invalid value: "{key}": {fault}', f"{name}[{key}]")
    for key in sorted(target.get("data", {}).keys() & target.get("binaryData", {}).keys()):
        message = f'Invalid value: "{key}": duplicate of key present in binaryData'
        yield Cause("FieldValueInvalid", message, f"data[{key}]")
    if sum(len(value) for name in names for value in target.get(name, {}).values()) > MAX_DATA:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {MAX_DATA} bytes", "[]")


def _forbidden(field: str) -> Cause:
    return Cause("FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set", field)


def _immutable(field: str, value: str) -> Cause:
    return Cause("FieldValueInvalid", f'Invalid value: "{value}": field is immutable', field)

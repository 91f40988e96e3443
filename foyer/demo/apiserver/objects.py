"""From a request's body to the object that is stored.

Decoding (400), what the system alone decides (uid, version, generation, times), and validation
(422): the steps between a kube-apiserver's handler and its storage, without either.
"""

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from foyer.demo.apiserver import document, kinds
from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.names import finalizer_faults, label_key_faults, label_value_faults
from foyer.demo.apiserver.options import Validation
from foyer.demo.apiserver.resources import Resource
from foyer.demo.apiserver.schema import METADATA, check, fill, join, prune
from foyer.demo.apiserver.status import Cause, Refused, bad_request, invalid

MAX_ANNOTATIONS = 256 * 1024
"""Bytes of an object's annotations together."""

_SYSTEM_FIELDS = (
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Metadata that a client may repeat and never decides."""


def timestamp(now: float) -> str:
    """RFC 3339 in whole seconds, as Kubernetes writes times."""
    return datetime.datetime.fromtimestamp(int(now), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(content: bytes, kind: str) -> Object:
    """The object in a request's body. Raises `Refused` (400)."""
    why = "couldn't get version/kind; json parse error"
    try:
        value = document.read(content)
    except document.Malformed as fault:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {why}: {fault}"
        ) from None
    if not isinstance(value, dict):
        found = f"json: cannot unmarshal {document.go_type(value)} into Go value of type struct"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}: {found}")
    return value


def typed(resource: Resource, value: Object) -> Object:
    """The object as this resource's kind, of this version. Raises `Refused` (400, 422)."""
    kind, version = value.get("kind"), value.get("apiVersion")
    if resource.custom:
        _check_custom_type(resource, value)
    elif (kind or resource.kind, version or resource.api_version) != (resource.kind, resource.api_version):
        known = version == resource.api_version
        why = "unknown conversion" if known else f'no kind "{kind}" is registered for version "{version}"'
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')
    # Never null: absent metadata is empty metadata.
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    return value | head | {"metadata": value.get("metadata") or {}}


def _check_custom_type(resource: Resource, value: Object) -> None:
    kind, version = value.get("kind"), value.get("apiVersion")
    if not kind:
        message = (
            f"the object provided is unrecognized (must be of type {resource.kind}): Object 'Kind' is missing"
        )
        raise bad_request(message)
    if version != resource.api_version:
        expected = resource.api_version
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({expected})"
        )
    if kind != resource.kind:
        cause = Cause("FieldValueInvalid", f'Invalid value: "{kind}": must be {resource.kind}', "kind")
        raise invalid(_name(value), resource.group, str(kind), [cause])


def _mistyped(resource: Resource, why: str) -> Refused:
    kind = resource.kind
    return bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')


def decode(resource: Resource, value: Object, validation: Validation) -> tuple[Object, list[str]]:
    """The object with only what the schema knows, defaults filled in, and warnings about the rest.

    Raises `Refused` (400).
    """
    schema = resource.whole_schema
    pruned, unknown = prune(typed(resource, value), schema)
    faults = [f'unknown field "{path}"' for path in unknown]
    if faults and validation is Validation.STRICT:
        raise _mistyped(resource, f"strict decoding error: {', '.join(faults)}")
    target = fill(pruned, schema)
    # A wrong type is no object of this kind; in a custom one only metadata is decoded, the rest validated.
    _refuse_mistyped(resource, target["metadata"] if resource.custom else target)
    return target, faults if validation is Validation.WARN else []


def _refuse_mistyped(resource: Resource, value: Any) -> None:
    schema, root = (METADATA, "ObjectMeta") if resource.custom else (resource.whole_schema, resource.kind)
    for cause in check(value, schema):
        if cause.reason == "FieldValueTypeInvalid":
            why = f"cannot unmarshal into Go struct field {root}.{cause.field}: {cause.message}"
            raise _mistyped(resource, f"json: {why}")


def addressed(target: Object, resource: Resource, namespace: str, name: str = "") -> Object:
    """The object with its namespace, its name checked against the URL's. Raises `Refused` (400)."""
    metadata = target["metadata"]
    if metadata.get("namespace", namespace) not in (namespace, ""):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if name and not metadata.get("name"):
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if name and metadata["name"] != name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )
    return target | {"metadata": metadata | {"namespace": namespace}} if resource.namespaced else target


def created(resource: Resource, target: Object, uid: str, now: float) -> Object:
    """A new object with what the system decides. Raises `Refused` (400, 422)."""
    metadata = _without(target["metadata"], (*_SYSTEM_FIELDS, "managedFields"))
    metadata |= {"uid": uid, "creationTimestamp": timestamp(now)}
    if resource.custom:
        metadata["generation"] = 1
    fresh = target | {"metadata": metadata}
    # Where status is a subresource, nobody creates an object with one.
    fresh = kinds.prepare(resource, _without(fresh, ("status",)) if resource.status else fresh, None)
    return _validated(resource, fresh, None)


def updated(resource: Resource, target: Object, old: Object, *, status: bool) -> Object:
    """The next version of `old`: only its status, or all but that. Raises `Refused` (400, 422)."""
    given, kept = target["metadata"], old["metadata"]
    metadata = _without(given, (*_SYSTEM_FIELDS, "managedFields", "resourceVersion"))
    metadata |= {field: kept[field] for field in (*_SYSTEM_FIELDS, "resourceVersion") if field in kept}
    fresh = target | {"metadata": metadata}
    if status:
        fresh = _without(old, ("status",)) | _only(target, ("status",))
    elif resource.status:
        fresh = _without(fresh, ("status",)) | _only(old, ("status",))
    fresh = kinds.prepare(resource, fresh, old)
    if resource.custom and fresh.get("spec") != old.get("spec"):
        fresh = fresh | {"metadata": fresh["metadata"] | {"generation": kept["generation"] + 1}}
    faults = [
        Cause(
            "FieldValueInvalid", f'Invalid value: "{given[field]}": field is immutable', f"metadata.{field}"
        )
        for field in ("uid", "creationTimestamp", "deletionTimestamp")
        if given.get(field, kept.get(field)) != kept.get(field)
    ]
    if faults:
        raise invalid(kept["name"], resource.group, resource.kind, faults)
    return _validated(resource, fresh, old)


def _validated(resource: Resource, target: Object, old: Object | None) -> Object:
    """The object as it is stored, if nothing is wrong with it."""
    metadata = target["metadata"]
    faults = [*_metadata_faults(resource, metadata), *kinds.faults(resource, target, old)]
    if resource.custom:
        faults += check(_without(target, ("metadata", "kind", "apiVersion")), resource.schema)
    if faults:
        raise invalid(metadata.get("name", ""), resource.group, resource.kind, faults)
    return in_order(resource, target)


def in_order(resource: Resource, target: Object) -> Object:
    """The object with its fields in the order in which Kubernetes writes them, empty metadata left out."""
    ordered: Object = prune(target, resource.whole_schema)[0]
    metadata = {field: value for field, value in ordered["metadata"].items() if value or value == 0}
    return ordered | {"metadata": metadata}


def _metadata_faults(resource: Resource, metadata: Mapping[str, Any]) -> Iterator[Cause]:
    name = metadata.get("name", "")
    if not name:
        yield Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
    else:
        yield from _invalid("metadata.name", name, kinds.name_faults(resource, name))
    for key, value in metadata.get("labels", {}).items():
        yield from _invalid("metadata.labels", key, label_key_faults(key))
        yield from _invalid("metadata.labels", value, label_value_faults(value))
    annotations = metadata.get("annotations", {})
    for key in annotations:
        yield from _invalid("metadata.annotations", key, label_key_faults(key.lower()))
    if sum(len(key) + len(value) for key, value in annotations.items()) > MAX_ANNOTATIONS:
        message = f"Too long: may not be more than {MAX_ANNOTATIONS} bytes"
        yield Cause("FieldValueTooLong", message, "metadata.annotations")
    for i, finalizer in enumerate(metadata.get("finalizers", ())):
        yield from _invalid(f"metadata.finalizers[{i}]", finalizer, finalizer_faults(finalizer))
    for i, owner in enumerate(metadata.get("ownerReferences", ())):
        for field in METADATA["properties"]["ownerReferences"]["items"]["required"]:
            if not owner.get(field):
                yield Cause(
                    "FieldValueRequired", "Required value", join(f"metadata.ownerReferences[{i}]", field)
                )


def _invalid(field: str, value: str, faults: list[str]) -> Iterator[Cause]:
    for fault in faults:
        yield Cause("FieldValueInvalid", f'Invalid value: "{value}": {fault}', field)


def _name(value: Object) -> str:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _without(value: Object, names: tuple[str, ...]) -> Object:
    return {name: field for name, field in value.items() if name not in names}


def _only(value: Object, names: tuple[str, ...]) -> Object:
    return {name: value[name] for name in names if name in value}

"""Writes: create, update, patch, delete, and what follows from them.

A write is checked to its end before anything is stored. Finalizers hold a deleted object back,
a deleted namespace takes its objects with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foyer.demo.apiserver import document, objects
from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.options import Validation, WriteOptions, resource_version
from foyer.demo.apiserver.patch import MalformedPatch, PatchFailed, json_patch, merge_patch
from foyer.demo.apiserver.resources import NAMESPACES, RESOURCES, Resource
from foyer.demo.apiserver.selection import Selection, key_of
from foyer.demo.apiserver.status import (
    Cause,
    Refused,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
    success,
    unsupported_media_type,
)
from foyer.demo.apiserver.store import Entry, OutOfSpace, Store, stamp

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"

NAME_TRIES = 8
"""Names tried for a `generateName` before giving up, as in Kubernetes."""

NAME_PREFIX_LENGTH = 58
"""Characters of `generateName` that are used: five random ones follow, 63 in all."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a write goes: an object's name is empty on create, `status` is the subresource."""

    resource: Resource
    namespace: str
    name: str = ""
    status: bool = False

    @property
    def key(self) -> str:
        """Where the object is stored."""
        return key_of(self.resource, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Written:
    """What a write leaves: the object as it answers, and warnings for the client."""

    entry: Entry
    warnings: Sequence[str] = ()


class Writer:
    """Writes to one store.

    `new_uid` makes UIDs, `new_suffix` five characters for generated names.
    """

    def __init__(self, store: Store, new_uid: Callable[[], str], new_suffix: Callable[[], str]) -> None:
        self._store = store
        self._new_uid = new_uid
        self._new_suffix = new_suffix

    def create(self, place: Place, content: bytes, options: WriteOptions, now: float) -> Written:
        """A new object. Raises `Refused` (400, 403, 404, 409, 422)."""
        resource = place.resource
        value = objects.parse(content, resource.kind)
        decoded, warnings = objects.decode(resource, value, options.validation)
        if decoded["metadata"].get("resourceVersion"):
            # A 500 in Kubernetes too, and without a reason.
            raise Refused(500, "", "resourceVersion should not be set on objects to be created")
        named = self._named(resource, objects.addressed(decoded, resource, place.namespace), place.namespace)
        fresh = objects.created(resource, named, self._new_uid(), now)
        name = fresh["metadata"]["name"]
        self._require_namespace(place, name)
        key = key_of(resource, place.namespace, name)
        if self._store.get(resource, key) is not None:
            raise already_exists(name, resource.group, resource.plural)
        return Written(self._put(resource, key, fresh, options), warnings)

    def update(self, place: Place, content: bytes, options: WriteOptions) -> Written:
        """The object replaced. Raises `Refused` (400, 404, 409, 422)."""
        resource = place.resource
        value = objects.parse(content, resource.kind)
        decoded, warnings = objects.decode(resource, value, options.validation)
        given = objects.addressed(decoded, resource, place.namespace, place.name)
        old = self._existing(place)
        if resource.custom and not given["metadata"].get("resourceVersion"):
            message = "Invalid value: 0: must be specified for an update"
            cause = Cause("FieldValueInvalid", message, "metadata.resourceVersion")
            raise invalid(place.name, resource.group, resource.plural, [cause])
        self._refuse_other(place, given["metadata"], old)
        return Written(self._replace(place, given, old, options), warnings)

    def patch(self, place: Place, media_type: str, content: bytes, options: WriteOptions) -> Written:
        """The object changed by a patch. Raises `Refused` (400, 404, 409, 415, 422)."""
        resource = place.resource
        if media_type not in (JSON_PATCH, MERGE_PATCH):
            raise unsupported_media_type([JSON_PATCH, MERGE_PATCH])
        old = self._existing(place)
        value = _patched(old.object, media_type, content)
        decoded, warnings = _decoded_patch(resource, value, options)
        given = objects.addressed(decoded, resource, place.namespace, place.name)
        self._refuse_conflict(place, given["metadata"], old)
        return Written(self._replace(place, given, old, options), warnings)

    def delete(self, place: Place, content: bytes, options: WriteOptions, now: float) -> Entry | Object:
        """The Status of a deletion, or the object that waits for its finalizers.

        Raises `Refused` (400, 404, 409).
        """
        old = self._existing(place)
        self._check_preconditions(place, _delete_options(content), old)
        return self._remove(place.resource, old, options, now)

    def delete_collection(self, selection: Selection, options: WriteOptions, now: float) -> list[Entry]:
        """Every object of a selection; they are returned as they were."""
        found = [e for e in self._store.scan(selection.resource, selection.prefix) if selection.matches(e)]
        for entry in found:
            self._remove(selection.resource, entry, options, now)
        return found

    def _named(self, resource: Resource, target: Object, namespace: str) -> Object:
        """The object with its name, made from `generateName` when it has none."""
        metadata = target["metadata"]
        prefix = metadata.get("generateName")
        if metadata.get("name") or not prefix:
            return target
        for _ in range(NAME_TRIES):
            name = prefix[:NAME_PREFIX_LENGTH] + self._new_suffix()
            if self._store.get(resource, key_of(resource, namespace, name)) is None:
                break
        return target | {"metadata": metadata | {"name": name}}

    def _require_namespace(self, place: Place, name: str) -> None:
        resource = place.resource
        if not resource.namespaced:
            return
        namespace = self._store.get(NAMESPACES, place.namespace)
        if namespace is None:
            raise not_found(place.namespace, "", "namespaces")
        if "deletionTimestamp" in namespace.object["metadata"]:
            why = (
                f"unable to create new content in namespace {place.namespace} because it is being terminated"
            )
            message = f"namespace {place.namespace} is being terminated"
            cause = Cause("NamespaceTerminating", message, "metadata.namespace")
            raise forbidden(name, resource.group, resource.plural, why, [cause])

    def _existing(self, place: Place) -> Entry:
        entry = self._store.get(place.resource, place.key)
        if entry is None:
            raise not_found(place.name, place.resource.group, place.resource.plural)
        return entry

    def _refuse_other(self, place: Place, given: Object, old: Entry) -> None:
        """A PUT with a uid means that object and no later one of the same name."""
        uid = old.object["metadata"]["uid"]
        if given.get("uid", uid) != uid:
            why = f"Precondition failed: UID in precondition: {given['uid']}, UID in object meta: {uid}"
            raise conflict(place.name, place.resource.group, place.resource.plural, why)
        self._refuse_conflict(place, given, old)

    def _refuse_conflict(self, place: Place, given: Object, old: Entry) -> None:
        """A version in the request means that version and no other."""
        version = given.get("resourceVersion")
        if version and resource_version(version) != old.version:
            raise conflict(place.name, place.resource.group, place.resource.plural)

    def _replace(self, place: Place, given: Object, old: Entry, options: WriteOptions) -> Entry:
        resource = place.resource
        fresh = objects.updated(resource, given, old.object, status=place.status)
        if fresh == old.object:
            # Nothing changed: no new version, and no event.
            return old
        metadata = fresh["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers") and resource is not NAMESPACES:
            return self._released(resource, old, fresh, options)
        return self._put(resource, place.key, fresh, options)

    def _released(self, resource: Resource, old: Entry, fresh: Object, options: WriteOptions) -> Entry:
        """The last finalizer is gone, and with it the object."""
        answer = stamp(resource, old.key, fresh, old.version)
        if not options.dry_run:
            self._store.delete(resource, old.key, fresh)
            self._finish_namespace(fresh["metadata"].get("namespace", ""))
        return answer

    def _put(self, resource: Resource, key: str, fresh: Object, options: WriteOptions) -> Entry:
        if options.dry_run:
            return Entry(key, fresh, document.write(fresh, ordered=resource.custom), 0)
        try:
            return self._store.put(resource, key, fresh)
        except OutOfSpace:
            raise Refused(500, "", "etcdserver: mvcc: database space exceeded") from None

    def _check_preconditions(self, place: Place, wanted: Object, old: Entry) -> None:
        resource, metadata = place.resource, old.object["metadata"]
        uid, version = wanted.get("uid"), wanted.get("resourceVersion")
        if uid is not None and uid != metadata["uid"]:
            why = (
                f"the UID in the precondition ({uid}) does not match the UID in record ({metadata['uid']}). "
                "The object might have been deleted and then recreated"
            )
            raise conflict(place.name, resource.group, resource.kind, why)
        if version is not None and version != metadata["resourceVersion"]:
            why = (
                f"the ResourceVersion in the precondition ({version}) does not match "
                f"the ResourceVersion in record ({old.version}). The object might have been modified"
            )
            raise conflict(place.name, resource.group, resource.kind, why)

    def _remove(self, resource: Resource, old: Entry, options: WriteOptions, now: float) -> Entry | Object:
        metadata = old.object["metadata"]
        if resource is NAMESPACES:
            return self._terminate(old, options, now)
        if metadata.get("finalizers"):
            return self._mark_deleted(resource, old, options, now)
        if not options.dry_run:
            self._store.delete(resource, old.key)
        return success(metadata["name"], resource.group, resource.plural, metadata["uid"])

    def _mark_deleted(self, resource: Resource, old: Entry, options: WriteOptions, now: float) -> Entry:
        metadata = old.object["metadata"]
        if "deletionTimestamp" in metadata:
            return old
        deleted = {"deletionTimestamp": objects.timestamp(now), "deletionGracePeriodSeconds": 0}
        fresh = objects.in_order(resource, old.object | {"metadata": metadata | deleted})
        return self._put(resource, old.key, fresh, options)

    def _terminate(self, old: Entry, options: WriteOptions, now: float) -> Entry:
        """A namespace goes once all in it has gone: what the namespace controller does, at once."""
        metadata = old.object["metadata"] | {"deletionTimestamp": objects.timestamp(now)}
        ending = old.object | {"metadata": metadata, "status": {"phase": "Terminating"}}
        marked = self._put(NAMESPACES, old.key, objects.in_order(NAMESPACES, ending), options)
        if not options.dry_run:
            for resource in RESOURCES:
                if resource.namespaced:
                    self.delete_collection(Selection(resource, old.key), options, now)
            self._finish_namespace(old.key)
        return marked

    def _finish_namespace(self, name: str) -> None:
        namespace = self._store.get(NAMESPACES, name)
        if namespace is None or "deletionTimestamp" not in namespace.object["metadata"]:
            return
        if not any(self._store.count(row, f"{name}/") for row in RESOURCES if row.namespaced):
            self._store.delete(NAMESPACES, name)


def _patched(old: Object, media_type: str, content: bytes) -> Object:
    """The patched document. Raises `Refused` (400, 422)."""
    try:
        patch = document.read(content)
        if media_type == MERGE_PATCH:
            if not isinstance(patch, dict):
                raise MalformedPatch(f"json: cannot unmarshal {document.go_type(patch)} into a merge patch")
            value = merge_patch(old, patch)
        else:
            value = json_patch(old, patch)
    except document.Malformed:
        raise bad_request("invalid JSON patch") from None
    except MalformedPatch as fault:
        raise bad_request(f"error decoding patch: {fault}") from None
    except PatchFailed as fault:
        message = "the server rejected our request due to an error in our request"
        details = {"causes": [Cause("PatchFailed", str(fault)).document()]}
        raise Refused(422, "Invalid", message, details=details) from None
    if not isinstance(value, dict):
        raise bad_request("error decoding patch: the patched document is no object")
    return value


def _decoded_patch(resource: Resource, value: Object, options: WriteOptions) -> tuple[Object, list[str]]:
    """As `objects.decode`; what a patch made no object of its kind is the patch's fault (422)."""
    try:
        return objects.decode(resource, value, options.validation)
    except Refused as refusal:
        if options.validation is Validation.STRICT or refusal.code != 400:
            raise
        cause = Cause("FieldValueInvalid", f"Invalid value: {refusal.message}", "patch")
        raise invalid("", "", "", [cause]) from refusal


def _delete_options(content: bytes) -> Object:
    """The preconditions in a DELETE's body. Raises `Refused` (400)."""
    if not content:
        return {}
    body = objects.parse(content, "DeleteOptions")
    wanted = body.get("preconditions") or {}
    if not isinstance(wanted, dict) or not all(isinstance(value, str) for value in wanted.values()):
        raise bad_request("DeleteOptions: preconditions are an object of strings")
    return wanted

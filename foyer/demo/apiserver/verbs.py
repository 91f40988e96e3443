"""What can be done to a resource: each verb from a call to its answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from foyer.demo.apiserver import document
from foyer.demo.apiserver.answers import Answers, warning
from foyer.demo.apiserver.negotiation import compresses_watch, media_type, refuse_other_than_json, takes_gzip
from foyer.demo.apiserver.options import Query, list_options, resource_version, write_options
from foyer.demo.apiserver.paging import Page, list_page
from foyer.demo.apiserver.randomness import Randomness
from foyer.demo.apiserver.rbac import User
from foyer.demo.apiserver.resources import Resource
from foyer.demo.apiserver.selection import select
from foyer.demo.apiserver.status import method_not_allowed, not_found, too_large_version
from foyer.demo.apiserver.store import Entry, Store
from foyer.demo.apiserver.target import Target
from foyer.demo.apiserver.watch import Watch
from foyer.demo.apiserver.writing import Place, Writer, Written
from foyer.demo.handler import Request, Streaming
from foyer.exchange.ports import Answer


@dataclass(frozen=True, slots=True)
class Call:
    """One request, understood. `now` is in seconds since the epoch."""

    request: Request
    target: Target
    query: Query
    user: User
    now: float

    def field(self, name: bytes) -> str:
        """A field of the request."""
        return self.request.field(name)


Verb: TypeAlias = Callable[[Call, Resource], Answer | Streaming]


class Verbs:
    """The verbs over one store. Each raises `Refused`."""

    def __init__(self, store: Store, answers: Answers, randomness: Randomness, *, watch_list: bool) -> None:
        self._store = store
        self._answers = answers
        self._randomness = randomness
        self._watch_list = watch_list
        self._writer = Writer(store, randomness.uid, randomness.suffix)

    def find(self, call: Call) -> Verb:
        """The verb of a call, if it is one for this path. Raises `Refused` (405)."""
        target, method = call.target, call.request.method
        named = bool(target.name)
        match target.verb:
            # HEAD is authorized as a get and allowed nowhere, as in Kubernetes.
            case "get" if method == "GET":
                return self.get
            case "list" if method == "GET":
                return self.list
            case "watch" if method == "GET":
                return self.watch
            case "create" if not named:
                return self.create
            case "update" if named:
                return self.update
            case "patch" if named:
                return self.patch
            case "delete" if not target.subresource:
                return self.delete
            case "deletecollection":
                return self.delete_collection
            case _:
                raise method_not_allowed()

    def get(self, call: Call, resource: Resource) -> Answer:
        """One object, its status subresource being the same object."""
        wanted = resource_version(call.query.get("resourceVersion") or "0")
        if wanted > self._store.version:
            raise too_large_version(wanted, self._store.version)
        entry = self._store.get(resource, _place(call, resource).key)
        if entry is None:
            raise not_found(call.target.name, resource.group, resource.plural)
        return self._answers.json(call.request, 200, entry.encoded)

    def list(self, call: Call, resource: Resource) -> Answer:
        """A list, or a page of one."""
        options = list_options(call.query, watch=False, watch_list=self._watch_list)
        selection = select(resource, _namespace(call, resource), options)
        page = list_page(self._store, selection, options)
        return self._answers.json(call.request, 200, page.encode(resource))

    def watch(self, call: Call, resource: Resource) -> Streaming:
        """The changes from now, or from a version, on."""
        options = list_options(call.query, watch=True, watch_list=self._watch_list)
        selection = select(resource, _namespace(call, resource), options, call.target.name)
        gzipped = compresses_watch(options) and takes_gzip(call.field(b"accept-encoding"))
        lifetime = float(options.timeout or self._randomness.lifetime())
        watch = Watch(self._store, selection, options, gzipped=gzipped, lifetime=lifetime)
        return Streaming(200, self._answers.fields(gzipped=gzipped), watch)

    def create(self, call: Call, resource: Resource) -> Answer:
        """A new object."""
        if resource.namespaced and not call.target.namespace:
            raise method_not_allowed()
        options = write_options(call.query, "CreateOptions")
        refuse_other_than_json(call.field(b"content-type"))
        written = self._writer.create(_place(call, resource), call.request.content, options, call.now)
        return self._written(call, 201, written)

    def update(self, call: Call, resource: Resource) -> Answer:
        """An object, replaced."""
        options = write_options(call.query, "UpdateOptions")
        refuse_other_than_json(call.field(b"content-type"))
        written = self._writer.update(_place(call, resource), call.request.content, options)
        return self._written(call, 200, written)

    def patch(self, call: Call, resource: Resource) -> Answer:
        """An object, changed in places."""
        options = write_options(call.query, "PatchOptions")
        kind = media_type(call.field(b"content-type"))
        written = self._writer.patch(_place(call, resource), kind, call.request.content, options)
        return self._written(call, 200, written)

    def delete(self, call: Call, resource: Resource) -> Answer:
        """An object gone, or on its way."""
        options = write_options(call.query, "DeleteOptions")
        refuse_other_than_json(call.field(b"content-type"))
        left = self._writer.delete(_place(call, resource), call.request.content, options, call.now)
        content = left.encoded if isinstance(left, Entry) else document.write(left)
        return self._answers.json(call.request, 200, content)

    def delete_collection(self, call: Call, resource: Resource) -> Answer:
        """A selection gone; the answer lists what it was."""
        namespace = _namespace(call, resource)
        if "deletecollection" not in resource.verbs or not namespace or call.target.subresource:
            raise method_not_allowed()
        options = list_options(call.query, watch=False, watch_list=self._watch_list)
        writing = write_options(call.query, "DeleteOptions")
        deleted = self._writer.delete_collection(select(resource, namespace, options), writing, call.now)
        return self._answers.json(call.request, 200, Page(self._store.version, deleted).encode(resource))

    def _written(self, call: Call, status: int, written: Written) -> Answer:
        warnings = [warning(text) for text in written.warnings]
        return self._answers.json(call.request, status, written.entry.encoded, warnings)


def _namespace(call: Call, resource: Resource) -> str:
    # The target of a namespace itself names it twice: as the object and as where it is.
    return call.target.namespace if resource.namespaced else ""


def _place(call: Call, resource: Resource) -> Place:
    target = call.target
    return Place(resource, _namespace(call, resource), target.name, status=target.subresource == "status")

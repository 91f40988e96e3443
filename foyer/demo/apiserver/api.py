"""The API server: from a request to its answer.

In order: who is it (401), what does it ask (`target`), may they (403), and then the handler of
the verb. Whatever is refused on the way is answered as a Status.
"""

from foyer.demo.apiserver import discovery, document, objects, openapi, reviews
from foyer.demo.apiserver.answers import Answers
from foyer.demo.apiserver.authentication import Authenticator
from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.negotiation import AGGREGATED_TYPE, Representation, accepted, refuse_other_than_json
from foyer.demo.apiserver.options import read_query
from foyer.demo.apiserver.randomness import Randomness
from foyer.demo.apiserver.rbac import Attributes, Policy
from foyer.demo.apiserver.resources import RESOURCES, REVIEWS, Resource, Review
from foyer.demo.apiserver.status import (
    Refused,
    bad_request,
    entity_too_large,
    forbidden,
    forbidden_path,
    method_not_allowed,
    no_such_resource,
    unauthorized,
)
from foyer.demo.apiserver.store import Store
from foyer.demo.apiserver.target import Target, read_target
from foyer.demo.apiserver.verbs import Call, Verbs
from foyer.demo.handler import Request, Streaming
from foyer.exchange.ports import Answer

PROBES = ("/healthz", "/livez", "/readyz")
"""Paths that need no token."""


class API:
    """A `Handler`. `watch_list` is Kubernetes' feature gate of that name: streaming lists."""

    def __init__(
        self,
        store: Store,
        policy: Policy,
        authenticate: Authenticator,
        *,
        randomness: Randomness | None = None,
        watch_list: bool = True,
    ) -> None:
        randomness = randomness or Randomness()
        self._policy = policy
        self._authenticate = authenticate
        self._answers = Answers(randomness)
        self._verbs = Verbs(store, self._answers, randomness, watch_list=watch_list)
        self._resources = {(row.group, row.version, row.plural): row for row in RESOURCES}
        self._reviews = {(row.group, "v1", row.plural): row for row in REVIEWS}

    def __call__(self, request: Request, now: float) -> Answer | Streaming:
        """The answer to a request at `now`."""
        try:
            return self._answer(request, now)
        except Refused as refusal:
            return self._answers.refusal(refusal)
        except RecursionError:
            # A body nested deeper than any object: nothing has been stored yet.
            return self._answers.refusal(bad_request("the object is nested too deeply"))

    def too_large(self, limit: int) -> Answer:
        """The answer to content of more than `limit` bytes, which is not read."""
        return self._answers.refusal(entity_too_large(limit))

    def _answer(self, request: Request, now: float) -> Answer | Streaming:
        if request.path in PROBES:
            return self._answers.text(200, "ok")
        user = self._authenticate(request.field(b"authorization"), now)
        if user is None:
            raise unauthorized()
        query = read_query(request.query)
        call = Call(request, read_target(request.method, request.path, query), query, user, now)
        self._authorize(call)
        return self._resource(call) if call.target.is_resource else self._path(call)

    def _authorize(self, call: Call) -> None:
        target, user = call.target, call.user
        asked = _attributes(target)
        if self._policy.decide(user, asked).allowed:
            return
        if not target.is_resource:
            raise forbidden_path(f'User "{user.name}" cannot {asked.verb} path "{asked.path}"')
        where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        what = f'cannot {asked.verb} resource "{asked.full_resource}" in API group "{target.group}"'
        raise forbidden(target.name, target.group, target.resource, f'User "{user.name}" {what} {where}')

    def _resource(self, call: Call) -> Answer | Streaming:
        target = call.target
        address = (target.group, target.version, target.resource)
        if (review := self._reviews.get(address)) is not None:
            return self._review(call, review)
        resource = self._resources.get(address)
        if resource is None or not _served(resource, target):
            return self._answers.no_page()
        accepted(call.field(b"accept"))
        return self._verbs.find(call)(call, resource)

    def _review(self, call: Call, review: Review) -> Answer:
        if call.target.verb != "create" or call.target.name:
            raise method_not_allowed()
        accepted(call.field(b"accept"))
        refuse_other_than_json(call.field(b"content-type"))
        body = objects.parse(call.request.content, review.kind)
        answered = reviews.answer(review, body, call.user, self._policy, call.now)
        return self._answers.json(call.request, 201, document.write(answered))

    def _path(self, call: Call) -> Answer:
        match call.target.path.strip("/").split("/"):
            case ["version"]:
                return self._document(call, discovery.VERSION)
            case ["api"]:
                return self._discovery(call, discovery.legacy_versions(), named=False)
            case ["apis"]:
                return self._discovery(call, discovery.group_list(), named=True)
            case ["api", version]:
                if (found := discovery.resource_list("", version)) is None:
                    raise no_such_resource()
                return self._document(call, found)
            case ["apis", group]:
                return self._document(call, discovery.group_document(group))
            case ["apis", group, version]:
                return self._document(call, discovery.resource_list(group, version))
            case ["openapi", "v2"]:
                return self._document(call, openapi.version2())
            case ["openapi", "v3"]:
                return self._document(call, openapi.index())
            case ["openapi", "v3", *name]:
                return self._document(call, openapi.version3("/".join(name)))
            case _:
                return self._answers.no_page()

    def _discovery(self, call: Call, unaggregated: Object, *, named: bool) -> Answer:
        wanted = accepted(call.field(b"accept"), aggregated=True)
        if wanted is Representation.JSON:
            return self._answers.json(call.request, 200, document.write(unaggregated))
        content = document.write(discovery.aggregated(named=named))
        return Answer(200, [*self._answers.fields(AGGREGATED_TYPE), (b"vary", b"Accept")], content)

    def _document(self, call: Call, found: Object | None) -> Answer:
        if call.request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        if found is None:
            return self._answers.no_page()
        accepted(call.field(b"accept"))
        return self._answers.json(call.request, 200, document.write(found))


def _served(resource: Resource, target: Target) -> bool:
    """Whether the path is one of this resource's."""
    if target.extra or (target.subresource and not (resource.status and target.subresource == "status")):
        return False
    one = target.verb not in ("list", "watch", "deletecollection", "create")
    return bool(target.namespace) or not (resource.namespaced and one)


def _attributes(target: Target) -> Attributes:
    if not target.is_resource:
        return Attributes(target.verb, path=target.path)
    return Attributes(
        target.verb, target.group, target.resource, target.subresource, target.namespace, target.name
    )

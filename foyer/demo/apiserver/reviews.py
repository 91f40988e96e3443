"""The reviews: who am I, may I, what may I, may they (authentication and authorization.k8s.io/v1).

Each takes the review that was created and gives it back with its status.
"""

from collections.abc import Mapping
from typing import Any

from foyer.demo.apiserver.document import Object, go_type
from foyer.demo.apiserver.objects import timestamp
from foyer.demo.apiserver.rbac import Attributes, Policy, Rule, User
from foyer.demo.apiserver.resources import Review
from foyer.demo.apiserver.status import Cause, Refused, bad_request, invalid

_RESOURCE_FIELDS = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
_PATH_FIELDS = ("path", "verb")


def answer(review: Review, body: Object, user: User, policy: Policy, now: float) -> Object:
    """The review with its status. `now` is in seconds. Raises `Refused` (400, 422)."""
    kind = body.get("kind") or review.kind
    version = body.get("apiVersion") or review.api_version
    if (kind, version) != (review.kind, review.api_version):
        raise _mistyped(review, f'no kind "{kind}" is registered for version "{version}" here')
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        raise _mistyped(
            review, f"json: cannot unmarshal {go_type(spec)} into Go struct field {review.kind}.spec"
        )
    head = {"kind": review.kind, "apiVersion": review.api_version, "metadata": {}}
    match review.kind:
        case "SelfSubjectReview":
            created = {"creationTimestamp": timestamp(now)}
            return head | {"metadata": created, "status": {"userInfo": _user_info(user)}}
        case "SelfSubjectRulesReview":
            return head | {"spec": {}, "status": _rules(policy, user, _text(review, spec, "namespace"))}
        case "SelfSubjectAccessReview":
            asked = _attributes(review, spec)
            return head | {"spec": _asked(review, spec), "status": _access(policy, user, asked)}
        case _:
            asked = _attributes(review, spec)
            other = _other(review, spec)
            who = {name: spec[name] for name in ("user", "groups", "extra", "uid") if name in spec}
            return head | {"spec": _asked(review, spec) | who, "status": _access(policy, other, asked)}


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    return info | ({"extra": user.extra} if user.extra else {})


def _rules(policy: Policy, user: User, namespace: str) -> Object:
    if not namespace:
        raise bad_request("no namespace on request")
    rules = policy.rules(user, namespace)
    return {
        "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in rules if rule.urls
        ],
        "incomplete": False,
    }


def _resource_rule(rule: Rule) -> Object:
    listed: Object = {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.groups),
        "resources": list(rule.resources),
    }
    return listed | ({"resourceNames": list(rule.names)} if rule.names else {})


def _access(policy: Policy, user: User, asked: Attributes) -> Object:
    decision = policy.decide(user, asked)
    return {"allowed": decision.allowed} | ({"reason": decision.reason} if decision.reason else {})


def _attributes(review: Review, spec: Object) -> Attributes:
    """What is asked: of a resource or of a path, of exactly one."""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        message = f"Invalid value: null: {why}"
        raise invalid("", review.group, "", [Cause("FieldValueInvalid", message, "spec")])
    given = resource if path is None else path
    if not isinstance(given, dict):
        raise _mistyped(
            review, f"json: cannot unmarshal {go_type(given)} into Go struct field {review.kind}.spec"
        )
    if path is None:
        found = {name: _text(review, given, name) for name in _RESOURCE_FIELDS if name != "version"}
        return Attributes(**found)
    return Attributes(verb=_text(review, given, "verb"), path=_text(review, given, "path"))


def _asked(review: Review, spec: Object) -> Object:
    """The question as it was understood."""
    asked: Object = {}
    for part, names in (("resourceAttributes", _RESOURCE_FIELDS), ("nonResourceAttributes", _PATH_FIELDS)):
        if isinstance(spec.get(part), dict):
            asked[part] = {name: _text(review, spec[part], name) for name in names if name in spec[part]}
    return asked


def _other(review: Review, spec: Object) -> User:
    """Whom a SubjectAccessReview asks about."""
    groups = spec.get("groups") or []
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise _mistyped(
            review, f"json: cannot unmarshal {go_type(groups)} into Go struct field {review.kind}.spec.groups"
        )
    name = _text(review, spec, "user")
    if not name and not groups:
        message = 'Invalid value: "": at least one of user or group must be specified'
        raise invalid("", review.group, "", [Cause("FieldValueInvalid", message, "spec.user")])
    return User(name, tuple(groups), _text(review, spec, "uid"))


def _text(review: Review, fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name) or ""
    if not isinstance(value, str):
        raise _mistyped(
            review, f"json: cannot unmarshal {go_type(value)} into Go struct field {review.kind}.{name}"
        )
    return value


def _mistyped(review: Review, why: str) -> Refused:
    return bad_request(f'{review.kind} in version "v1" cannot be handled as a {review.kind}: {why}')

"""Reviews: what the API server says of the person whose token it is (spec 01, Routes), or of another.

    SelfSubjectReview         who am I      authentication.k8s.io/v1
    SelfSubjectRulesReview    what may I    authorization.k8s.io/v1
    SelfSubjectAccessReview   may I         authorization.k8s.io/v1
    SubjectAccessReview       may they      authorization.k8s.io/v1

A review has one of three outcomes: what was asked for, read field by field; the API server's own
refusal (4xx), held to the rules of everything that comes back; or nothing usable. What has the
wrong type anywhere is not usable: half an answer about permissions would be read as a whole one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from foyer.exchange.ports import Answer
from foyer.interruption import Interruption
from foyer.k8s.call import ApiServer
from foyer.k8s.incoming import incoming
from foyer.login import document
from foyer.login.document import Document, is_text
from foyer.protocol.events import Failure, ResponseHead
from foyer.session.seal import IdToken

_AUTHENTICATION = "authentication.k8s.io/v1"
_AUTHORIZATION = "authorization.k8s.io/v1"

ANONYMOUS = "system:anonymous"
"""Whom the API server takes a request without credentials for: nobody, so a token was lost on the way."""

UserInfo: TypeAlias = dict[str, Any]
"""Kubernetes' `userInfo`: `username`, and where there are any `uid`, `groups` and `extra`."""


class Rule(NamedTuple):
    """One rule: verbs on resources, or on URLs that are none. `names` limits it to these objects."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]
    urls: tuple[str, ...]


class Rules(NamedTuple):
    """Somebody's rules in a namespace. `incomplete`: an authorizer could not list all of its own."""

    rules: tuple[Rule, ...]
    incomplete: bool
    error: str


class Question(NamedTuple):
    """May somebody `verb` this? A `resource` that begins with `/` is a URL path: the verb alone applies."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    version: str = ""


class Decision(NamedTuple):
    """The answer to a `Question`, with what the authorizer says for itself."""

    allowed: bool
    reason: str
    error: str


class Refused(NamedTuple):
    """The API server's own 4xx, fit to be passed on. `message` is its `Status`'s, and upstream's words."""

    answer: Answer
    message: str


class Unusable(NamedTuple):
    """No answer that could be used. `failure` is of a fixed set, for the log."""

    failure: str


T = TypeVar("T")


async def who(server: ApiServer, token: IdToken) -> UserInfo | Refused | Unusable:
    """Whom the API server takes the token's owner for."""
    return await _review(server, token, _AUTHENTICATION, "SelfSubjectReview", {}, _user_info)


async def rules(server: ApiServer, token: IdToken, namespace: str) -> Rules | Refused | Unusable:
    """What they may do in `namespace`, as far as the API server can list it."""
    spec = {"spec": {"namespace": namespace}}
    return await _review(server, token, _AUTHORIZATION, "SelfSubjectRulesReview", spec, _rules)


async def may(server: ApiServer, token: IdToken, question: Question) -> Decision | Refused | Unusable:
    """Whether they may do this one thing."""
    spec = {"spec": _asked(question)}
    return await _review(server, token, _AUTHORIZATION, "SelfSubjectAccessReview", spec, _decision)


async def may_they(
    server: ApiServer, token: IdToken, user_info: UserInfo, question: Question
) -> Decision | Refused | Unusable:
    """Whether whoever `user_info` is may do this one thing. `token` is of somebody who may ask that."""
    # The one field that the two kinds name differently.
    subject = {"user" if name == "username" else name: value for name, value in user_info.items()}
    spec = {"spec": {**_asked(question), **subject}}
    return await _review(server, token, _AUTHORIZATION, "SubjectAccessReview", spec, _decision)


async def _review(
    server: ApiServer,
    token: IdToken,
    version: str,
    kind: str,
    spec: Document,
    read: Callable[[Document], T | Unusable],
) -> T | Refused | Unusable:
    path = f"/apis/{version}/{kind.lower()}s"
    answer = await server.create(path, {"apiVersion": version, "kind": kind, **spec}, token)
    if isinstance(answer, Failure):
        return Unusable(answer.value)
    if 400 <= answer.status <= 499:
        return _refused(answer)
    if answer.status not in (200, 201):
        return Unusable(kind_of_status(answer.status))
    review = document.parse(answer.content) or {}
    status = review.get("status")
    return read(status) if isinstance(status, dict) else Unusable("document")


def _refused(answer: Answer) -> Refused | Unusable:
    """A 4xx as it may go on to a browser; one that may not is no answer at all."""
    head = ResponseHead(answer.status, answer.fields, ended=not answer.content)
    passed = incoming(head, b"POST")
    if isinstance(passed, Interruption):
        return Unusable(passed.failure or "protocol")
    fields = [field for field in passed.head.fields if field[0] != b"content-length"]
    message = (document.parse(answer.content) or {}).get("message")
    return Refused(Answer(answer.status, fields, answer.content), message if is_text(message) else "")


def kind_of_status(status: int) -> str:
    """The word of a fixed set, for the log, for a status that no answer should have had."""
    if 300 <= status <= 399:
        return "redirect"
    return f"status_{status}" if 200 <= status <= 599 else "protocol"


# What is asked.


def _asked(question: Question) -> Document:
    if question.resource.startswith("/"):
        return {"nonResourceAttributes": {"verb": question.verb, "path": question.resource}}
    resource, _, subresource = question.resource.partition("/")
    attributes = {
        "namespace": question.namespace,
        "verb": question.verb,
        "group": question.group,
        "version": question.version,
        "resource": resource,
        "subresource": subresource,
        "name": question.name,
    }
    return {"resourceAttributes": {name: value for name, value in attributes.items() if value}}


# What is answered. Go leaves out what is empty, and writes null for a list that is none.


def _user_info(status: Document) -> UserInfo | Unusable:
    found = status.get("userInfo")
    if not isinstance(found, dict):
        return Unusable("nobody")
    username, uid = found.get("username"), found.get("uid") or ""
    groups, extra = _texts(found.get("groups")), _extra(found.get("extra"))
    if groups is None or extra is None or not is_text(uid):
        return Unusable("document")
    if not is_text(username) or username in ("", ANONYMOUS):
        return Unusable("nobody")
    # Of a later Kubernetes's other fields nobody here knows what they would give away.
    optional = {"uid": uid, "groups": list(groups), "extra": extra}
    return {"username": username, **{name: value for name, value in optional.items() if value}}


def _extra(value: object) -> dict[str, list[str]] | None:
    if not isinstance(value, dict):
        return None if value else {}
    extra = {}
    for name, given in value.items():
        texts = _texts(given)
        if texts is None or not is_text(name):
            return None
        extra[name] = list(texts)
    return extra


def _rules(status: Document) -> Rules | Unusable:
    found = []
    for listed in ("resourceRules", "nonResourceRules"):
        given = status.get(listed) or []
        if not isinstance(given, list):
            return Unusable("document")
        for each in given:
            rule = _rule(each)
            if rule is None:
                return Unusable("document")
            found.append(rule)
    # It is always given; without it nobody said that these are all.
    incomplete = status.get("incomplete") is not False
    return Rules(tuple(found), incomplete, _said(status.get("evaluationError")))


def _rule(value: object) -> Rule | None:
    if not isinstance(value, dict):
        return None
    names = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    parts = [_texts(value.get(name)) for name in names]
    whole = [part for part in parts if part is not None]
    return Rule(*whole) if len(whole) == len(parts) else None


def _decision(status: Document) -> Decision | Unusable:
    allowed, denied = status.get("allowed"), status.get("denied") or False
    if not isinstance(allowed, bool) or not isinstance(denied, bool):
        return Unusable("document")
    # One authorizer may have allowed what another denies, and that is a denial.
    return Decision(allowed and not denied, _said(status.get("reason")), _said(status.get("evaluationError")))


def _texts(value: object) -> tuple[str, ...] | None:
    if value is None:
        return ()
    if not isinstance(value, list):
        return None
    texts = tuple(text for text in value if is_text(text))
    return texts if len(texts) == len(value) else None


def _said(value: object) -> str:
    """A sentence of upstream's for a person: without one, or with something else, nothing was said."""
    return value if is_text(value) else ""

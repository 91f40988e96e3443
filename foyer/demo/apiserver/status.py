"""Status: how Kubernetes says that a request failed (meta/v1 Status, `apierrors`).

Whoever refuses raises `Refused`; `api` alone catches it and answers. Wording and details are
Kubernetes', since clients show the one and read the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ACCEPTED = "application/json"
"""The only representation spoken here, in and out."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of `details.causes`; an empty `field` is left out."""

    reason: str
    message: str
    field: str = ""

    def document(self) -> dict[str, str]:
        """The cause as JSON."""
        entry = {"reason": self.reason, "message": self.message}
        return entry | {"field": self.field} if self.field else entry


class Refused(Exception):
    """A request's failure as a Status.

    `details` is left out when None. `token` is the `continue` of an expired list.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        token: str = "",
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.token = token
        self.retry_after = retry_after

    def document(self) -> dict[str, Any]:
        """The Status as JSON, in Kubernetes' order of fields."""
        document: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.token} if self.token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            document["reason"] = self.reason
        if self.details is not None:
            document["details"] = self.details
        return document | {"code": self.code}


def success(name: str, group: str, plural: str, uid: str) -> dict[str, Any]:
    """The Status that answers a delete."""
    details = {"name": name} | ({"group": group} if group else {}) | {"kind": plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def naming(name: str, group: str, kind: str) -> dict[str, Any]:
    """`details` that say which object: empty names are left out."""
    fields = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in fields.items() if value}


def qualified(plural: str, group: str) -> str:
    """A GroupResource or GroupKind as Kubernetes writes it in messages: `notes.example.com`."""
    return f"{plural}.{group}" if group else plural


def unauthorized() -> Refused:
    """401: no token, or none that counts."""
    return Refused(401, "Unauthorized", "Unauthorized")


def bad_request(message: str) -> Refused:
    """400."""
    return Refused(400, "BadRequest", message)


def not_found(name: str, group: str, plural: str) -> Refused:
    """404 for an object."""
    message = f'{qualified(plural, group)} "{name}" not found'
    return Refused(404, "NotFound", message, details=naming(name, group, plural))


def no_such_resource() -> Refused:
    """404 for a group or version."""
    return Refused(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> Refused:
    """405."""
    message = "the server does not allow this method on the requested resource"
    return Refused(405, "MethodNotAllowed", message, details={})


def not_acceptable() -> Refused:
    """406."""
    message = f"406: Not Acceptable\n\nAvailable representations: {ACCEPTED}"
    return Refused(406, "NotAcceptable", message, details={})


def unsupported_media_type(accepted: Sequence[str]) -> Refused:
    """415."""
    message = "the body of the request was in an unknown format - accepted media types include: "
    return Refused(415, "UnsupportedMediaType", message + ", ".join(accepted))


def entity_too_large(limit: int) -> Refused:
    """413: `limit` in bytes."""
    return Refused(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def already_exists(name: str, group: str, plural: str) -> Refused:
    """409 on create."""
    message = f'{qualified(plural, group)} "{name}" already exists'
    return Refused(409, "AlreadyExists", message, details=naming(name, group, plural))


def conflict(name: str, group: str, kind: str, why: str = "") -> Refused:
    """409: another version, or another object, than the request means."""
    why = why or (
        "the object has been modified; please apply your changes to the latest version and try again"
    )
    message = f'Operation cannot be fulfilled on {qualified(kind, group)} "{name}": {why}'
    return Refused(409, "Conflict", message, details=naming(name, group, kind))


def forbidden(name: str, group: str, plural: str, why: str, causes: Sequence[Cause] = ()) -> Refused:
    """403 about a resource."""
    subject = qualified(plural, group) + (f' "{name}"' if name else "")
    details = naming(name, group, plural)
    if causes:
        details["causes"] = [cause.document() for cause in causes]
    return Refused(403, "Forbidden", f"{subject} is forbidden: {why}", details=details)


def forbidden_path(why: str) -> Refused:
    """403 about a path that is no resource."""
    return Refused(403, "Forbidden", f"forbidden: {why}", details={})


def invalid(name: str, group: str, kind: str, causes: Sequence[Cause]) -> Refused:
    """422 with every cause, as field.ErrorList writes them."""
    said = [f"{cause.field}: {cause.message}" for cause in causes]
    listed = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    details = naming(name, group, kind) | {"causes": [cause.document() for cause in causes]}
    message = f'{qualified(kind, group)} "{name}" is invalid: {listed}'
    return Refused(422, "Invalid", message, details=details)


def expired(message: str, token: str = "") -> Refused:
    """410: a version that has been compacted away."""
    return Refused(410, "Expired", message, token=token)


def too_large_version(asked: int, current: int) -> Refused:
    """504: a version that this server has not reached."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    details = {"causes": [cause.document()], "retryAfterSeconds": 1}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return Refused(504, "Timeout", message, details=details, retry_after=1)

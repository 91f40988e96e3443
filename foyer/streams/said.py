"""What the API server says is wrong: a `Status`, from an answer or from an event, field by field.

Whatever is missing or of another type is as if it had not been said. Its words are for the page and never
for the log.
"""

from typing import NamedTuple

from foyer.login import document
from foyer.login.document import is_text

MESSAGE_MOST = 2048
"""Characters of its message that are passed on: a validation of Kubernetes' own takes a tenth."""

MAX_BYTES = 64 * 1024
"""Of a `Status`, as of any refusal that is looked into; an event of a watch may have 10 MiB."""

_CODES = {
    "BadRequest": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "Gone": 410,
    "Expired": 410,
    "Invalid": 422,
    "TooManyRequests": 429,
    "InternalError": 500,
    "ServerTimeout": 500,
    "ServiceUnavailable": 503,
    "Timeout": 504,
}
"""Kubernetes' reasons and the codes that go with them, for a `Status` without a code."""


class Said(NamedTuple):
    """`code` is 0 where none was said, `retry_after` in seconds; `names` is all that its causes name."""

    code: int
    message: str
    retry_after: float | None
    names: tuple[str, ...]

    def about(self, parameter: str) -> bool:
        """Whether it names `parameter`."""
        return any(parameter in text for text in (self.message, *self.names))

    def __repr__(self) -> str:
        return f"Said({self.code})"


NOTHING = Said(0, "", None, ())


def said(content: bytes) -> Said:
    """What the `Status` in `content` says; `NOTHING` when it is none. Never raises."""
    status = document.parse(content) if len(content) <= MAX_BYTES else None
    if status is None or status.get("kind") != "Status":
        return NOTHING
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    message = status.get("message")
    return Said(
        _code(status.get("code"), status.get("reason")),
        message[:MESSAGE_MOST] if is_text(message) else "",
        _seconds(details.get("retryAfterSeconds")),
        tuple(_names(details.get("causes"))),
    )


def _code(code: object, reason: object) -> int:
    if isinstance(code, int) and 100 <= code <= 599:
        return code
    return _CODES.get(reason, 0) if isinstance(reason, str) else 0


def _seconds(value: object) -> float | None:
    return float(value) if type(value) is int and 0 < value <= 86400 else None


def _names(causes: object) -> list[str]:
    listed = causes if isinstance(causes, list) else []
    found = [cause.get(part) for cause in listed if isinstance(cause, dict) for part in ("field", "message")]
    return [text for text in found if is_text(text)]

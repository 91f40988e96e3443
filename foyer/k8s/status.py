"""Kubernetes' `Status`: how code is told that foyer answered, not the API server (spec 03, Interruptions).

The same object that the API server sends with its own refusals, so that whatever reads those reads
these; `reason` is the word of the interruption or of the refused login.
"""

import json
from collections.abc import Iterable

from foyer.interruption import Interruption, StatusCause
from foyer.login.refusal import RefusedLogin


def interruption_status(interruption: Interruption) -> bytes:
    """The `Status` of an interruption, as JSON."""
    reason = interruption.reason
    return _status(
        reason.status, reason.word, interruption.message, interruption.causes, interruption.retry_after
    )


def refused_login_status(refused: RefusedLogin) -> bytes:
    """The `Status` of a refused login, as JSON: what of the issuer's answer may be shown are its causes."""
    return _status(refused.reason.status, refused.reason.word, refused.message, issuer_causes(refused))


def issuer_causes(refused: RefusedLogin) -> tuple[StatusCause, ...]:
    """The issuer's error code and HTTP status, where it answered."""
    causes = []
    if refused.code is not None:
        causes.append(StatusCause("IssuerError", "error", refused.code))
    if refused.issuer_status is not None:
        causes.append(StatusCause("IssuerStatus", "status", str(refused.issuer_status)))
    return tuple(causes)


def _status(
    code: int, reason: str, message: str, causes: Iterable[StatusCause], retry_after: int | None = None
) -> bytes:
    details: dict[str, object] = {}
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    if listed:
        details["causes"] = listed
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    status: dict[str, object] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
    }
    if details:
        status["details"] = details
    status["code"] = code
    return json.dumps(status, separators=(",", ":")).encode("ascii")

"""Refused logins as values (spec 02, Login): a stable reason, and what of the answer may be shown."""

from dataclasses import dataclass
from enum import Enum

from foyer.bound import Bound


class LoginReason(Enum):
    """The reason a page, a `Status` and the log line `login refused` name, with its status code."""

    RETURN_PATH_NOT_LOCAL = ("return-path-not-local", 400)
    LOGIN_PARAMETER_REFUSED = ("login-parameter-refused", 400)
    LOGIN_NOT_IN_PROGRESS = ("login-not-in-progress", 400)
    MALFORMED_CALLBACK = ("malformed-callback", 400)
    STATE_MISMATCH = ("state-mismatch", 400)
    ISSUER_REFUSED = ("issuer-refused", 400)
    TOKEN_EXCHANGE_FAILED = ("token-exchange-failed", 502)
    ID_TOKEN_INVALID = ("id-token-invalid", 502)
    NONCE_MISMATCH = ("nonce-mismatch", 502)
    SESSION_TOO_LARGE = ("session-too-large", 502)
    SESSION_CLAIMS_INVALID = ("session-claims-invalid", 502)
    LOGIN_RATE_EXCEEDED = ("login-rate-exceeded", 429)
    ISSUER_UNAVAILABLE = ("issuer-unavailable", 503)

    def __init__(self, word: str, status: int) -> None:
        self.word = word
        self.status = status


@dataclass(frozen=True, slots=True)
class RefusedLogin:
    """A login that did not happen.

    `message` is a sentence for people. `code` is an error code that OAuth or OIDC defines, else
    `unknown`, and `issuer_status` the HTTP status, where the issuer answered: nothing else that
    it sent is ever kept. `cause` is what was wrong, in a word of a fixed set, for the log (`expired`,
    `signature`, `not-listed`, `groups`, …), or how many bytes a session was over: never a value.
    `retry` is the local URL that tries again, `retry_after` whole seconds where waiting is known to
    help. `bound` is the one that was reached, where that is why.
    """

    reason: LoginReason
    message: str
    code: str | None = None
    issuer_status: int | None = None
    cause: str | None = None
    retry: str = "/auth/login"
    retry_after: int | None = None
    bound: Bound | None = None

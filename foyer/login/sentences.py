"""What a person reads of a refused login: one sentence, by its reason and cause, and where to try again."""

from collections.abc import Mapping

from foyer.login.claims import ClaimFault
from foyer.login.parameters import ParameterFault
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.login.return_path import login_link

_SENTENCES = {
    LoginReason.RETURN_PATH_NOT_LOCAL: "The page to return to must be a path of this site, given once.",
    LoginReason.LOGIN_PARAMETER_REFUSED: "The sign-in link has a parameter that is not allowed here.",
    LoginReason.LOGIN_NOT_IN_PROGRESS: "This browser has no such sign-in in progress. It may have expired.",
    LoginReason.MALFORMED_CALLBACK: "The identity provider's answer is incomplete.",
    LoginReason.STATE_MISMATCH: "The identity provider's answer belongs to another sign-in.",
    LoginReason.ISSUER_REFUSED: "The identity provider refused the sign-in.",
    LoginReason.TOKEN_EXCHANGE_FAILED: "The identity provider did not complete the sign-in.",
    LoginReason.ID_TOKEN_INVALID: "The identity provider's statement of who you are was not accepted.",
    LoginReason.NONCE_MISMATCH: "The identity provider's statement belongs to another sign-in.",
    LoginReason.SESSION_TOO_LARGE: "What the identity provider says about you is too large for a session.",
    LoginReason.SESSION_CLAIMS_INVALID: "A claim of the identity provider about you has no usable form.",
    LoginReason.LOGIN_RATE_EXCEEDED: "Too many people are signing in at this moment. Try again shortly.",
    LoginReason.ISSUER_UNAVAILABLE: "The identity provider cannot be reached. Try again in a moment.",
}

_BY_CAUSE = {
    ParameterFault.UNKNOWN.value: "The sign-in link has a parameter that is not configured here.",
    ParameterFault.NOT_FROM_LINK.value: "The sign-in link has a parameter that a link may not set.",
    ParameterFault.NOT_LISTED.value: "The sign-in link gives a parameter a value that is not allowed here.",
    ParameterFault.REPEATED.value: "The sign-in link gives a parameter more than once.",
    ParameterFault.EMPTY.value: "The sign-in link gives a parameter no value.",
    ParameterFault.TOO_LONG.value: "The sign-in link gives a parameter a value that is too long.",
    ParameterFault.UNREADABLE.value: "The sign-in link cannot be read: its escapes or its text are broken.",
    ClaimFault.EMAIL.value: "The identity provider's claim of your email is no text.",
    ClaimFault.DISPLAY_NAME.value: "The identity provider's claim of your name (displayName) is no text.",
    ClaimFault.GROUPS.value: "The identity provider's claim of your groups is no list of texts.",
    ClaimFault.CONNECTOR.value: "The identity provider's claim of your connector is no text.",
}
"""Of the reasons whose causes a person can do something about, or tell somebody who can."""

_EXPLAINED = (LoginReason.LOGIN_PARAMETER_REFUSED, LoginReason.SESSION_CLAIMS_INVALID)


def bytes_over(count: int) -> str:
    """The cause of a session that is `count` bytes too large."""
    return f"{count} bytes over"


def refused(
    reason: LoginReason,
    return_path: bytes = b"/",
    listed: Mapping[str, str] | None = None,
    *,
    code: str | None = None,
    issuer_status: int | None = None,
    cause: str | None = None,
) -> RefusedLogin:
    """The refusal. Its retry link goes to `return_path`, found local before, and repeats `listed` values."""
    message = _sentence(reason, cause)
    return RefusedLogin(reason, message, code, issuer_status, cause, login_link(return_path, listed))


def _sentence(reason: LoginReason, cause: str | None) -> str:
    if cause is not None and reason in _EXPLAINED:
        return _BY_CAUSE[cause]
    sentence = _SENTENCES[reason]
    if cause is not None and reason is LoginReason.SESSION_TOO_LARGE:
        return f"{sentence.removesuffix('.')}: {cause}."
    return sentence

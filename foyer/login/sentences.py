"""What a person reads of a refused login: one sentence a reason, and where to try again."""

from collections.abc import Mapping

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
    LoginReason.SESSION_TOO_LARGE: "What the identity provider says about you does not fit into a session.",
    LoginReason.SESSION_CLAIMS_INVALID: "A name or group the identity provider gives you has no usable form.",
    LoginReason.ISSUER_UNAVAILABLE: "The identity provider cannot be reached. Try again in a moment.",
}


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
    sentence = _SENTENCES.get(reason, "The sign-in did not succeed.")
    return RefusedLogin(reason, sentence, code, issuer_status, cause, login_link(return_path, listed))

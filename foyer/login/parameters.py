"""Login parameters: what a sign-in link may add to the authorization request (spec 02, Login parameters).

Only configured parameters are ever sent. A link gives a value as `oidc.<name>=…`, and only for a
parameter that allows it; whatever is wrong with one refuses the whole link, so that nothing is sent
that its author did not mean. What the values mean is between the application and the issuer.
"""

from dataclasses import dataclass, field
from enum import Enum

from foyer.login.query import Query

PREFIX = b"oidc."

MAX_VALUE_BYTES = 512
"""Bytes of a value, an email (254 at most) with room: it travels in a URL, beside other parameters."""

MAX_REQUEST_BYTES = 1024
"""Bytes of names and values in all that a link may give: issuers and proxies end at URLs of 8 KB."""

OWN = frozenset(
    {
        # What foyer sets, or relies on not being set (OpenID Connect Core 1.0 section 3.1.2.1, RFC 7636).
        "client_id",
        "redirect_uri",
        "response_type",
        "response_mode",
        "scope",
        "state",
        "nonce",
        "code_challenge",
        "code_challenge_method",
        # These replace the whole request (RFC 9101 section 5).
        "request",
        "request_uri",
        # Credentials, which no browser may see (RFC 6749 section 2.3.1, RFC 7521 section 4.2).
        "client_secret",
        "client_assertion",
        "client_assertion_type",
    }
)
"""Parameters that are foyer's own: never configured, so never from a link either."""


class ParameterFault(Enum):
    """What was wrong with a link's parameter: the cause in the log, and what the sentence goes by."""

    UNKNOWN = "unknown"
    NOT_FROM_LINK = "not-from-link"
    NOT_LISTED = "not-listed"
    REPEATED = "repeated"
    EMPTY = "empty"
    TOO_LONG = "too-long"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the authorization request. Without a list, a link may give any value."""

    default: str | None = None
    allow_from_request: bool = False
    allowed_values: tuple[str, ...] | None = None

    def fault(self, value: str) -> ParameterFault | None:
        """Why a link may not give `value`, or None when it may."""
        if not self.allow_from_request:
            return ParameterFault.NOT_FROM_LINK
        if not value:
            return ParameterFault.EMPTY
        if len(value.encode()) > MAX_VALUE_BYTES:
            return ParameterFault.TOO_LONG
        listed = self.allowed_values is None or value in self.allowed_values
        return None if listed else ParameterFault.NOT_LISTED


@dataclass(frozen=True, slots=True)
class RequestedParameters:
    """What one login sends: `sent` by name. `listed` is what a link that tries again repeats of them.

    A listed value is the configuration's. A free one may say who somebody is: it is never repeated.
    """

    sent: dict[str, str]
    listed: dict[str, str]

    def __repr__(self) -> str:
        return "RequestedParameters(hidden)"


@dataclass(frozen=True, slots=True)
class AuthorizationParameters:
    """The configured parameters, by name."""

    configured: dict[str, Parameter] = field(default_factory=dict)

    def requested(self, query: Query) -> RequestedParameters | ParameterFault:
        """What a link with this query asks for, or the first thing that is wrong with it."""
        given = _given(query)
        if isinstance(given, ParameterFault):
            return given
        for name, value in given.items():
            fault = self._fault(name, value)
            if fault is not None:
                return fault
        defaults = {
            name: parameter.default
            for name, parameter in self.configured.items()
            if parameter.default is not None
        }
        listed = {
            name: value for name, value in given.items() if self.configured[name].allowed_values is not None
        }
        return RequestedParameters(defaults | given, listed)

    def _fault(self, name: str, value: str) -> ParameterFault | None:
        parameter = self.configured.get(name)
        return ParameterFault.UNKNOWN if parameter is None else parameter.fault(value)


def _given(query: Query) -> dict[str, str] | ParameterFault:
    """The `oidc.` parameters of a query, unless one is repeated, or unreadable, or all are too long."""
    pairs = [(name.removeprefix(PREFIX), value) for name, value in query if name.startswith(PREFIX)]
    if sum(len(name) + len(value) for name, value in pairs) > MAX_REQUEST_BYTES:
        return ParameterFault.TOO_LONG
    given: dict[str, str] = {}
    for name, value in pairs:
        try:
            key, text = name.decode(), value.decode()
        except UnicodeDecodeError:  # forms are UTF-8 (RFC 6749 appendix B): this one cannot be read
            return ParameterFault.UNREADABLE
        if key in given:
            return ParameterFault.REPEATED
        given[key] = text
    return given

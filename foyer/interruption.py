"""Interruptions: the answers foyer gives instead of the API server's (spec 03, Interruptions).

A value, which answers and decides nothing: whoever refuses makes one, and `foyer.pages`
writes it as a page or as a `Status`. `Reason` is the table of the spec, row by row.
"""

from dataclasses import dataclass
from enum import Enum

from foyer.bound import Bound


class Reason(Enum):
    """The word in `Krm-Foyer-Interruption` and in the `Status`, with its status code."""

    UNAUTHORIZED = ("Unauthorized", 401)
    NON_CANONICAL_PATH = ("NonCanonicalPath", 400)
    BAD_REQUEST = ("BadRequest", 400)
    NOT_FOUND = ("NotFound", 404)
    METHOD_NOT_ALLOWED = ("MethodNotAllowed", 405)
    CSRF_PROOF_REQUIRED = ("CSRFProofRequired", 403)
    CROSS_ORIGIN_REQUEST = ("CrossOriginRequest", 403)
    UNSUPPORTED_PROTOCOL = ("UnsupportedProtocol", 501)
    UNSUPPORTED_SUBRESOURCE = ("UnsupportedSubresource", 501)
    REQUEST_RATE_EXCEEDED = ("RequestRateExceeded", 429)
    TOO_MANY_CONCURRENT_REQUESTS = ("TooManyConcurrentRequests", 429)
    TOO_MANY_STREAMS = ("TooManyStreams", 429)
    RESPONSE_TOO_LARGE = ("ResponseTooLarge", 502)
    UPSTREAM_REDIRECT = ("UpstreamRedirect", 502)
    UPSTREAM_CONTENT_HELD_BACK = ("UpstreamContentHeldBack", 502)
    UPSTREAM_UNAVAILABLE = ("UpstreamUnavailable", 502)
    IDENTITY_UNAVAILABLE = ("IdentityUnavailable", 503)

    def __init__(self, word: str, status: int) -> None:
        self.word = word
        self.status = status


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One entry of a Status's `details.causes`: `reason`, `field` and `message` as Kubernetes has them."""

    reason: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Interruption:
    """What foyer answers in the API server's place.

    `message` is a sentence for people, with nothing secret and nothing that upstream wrote.
    `allow` is the `Allow` field of a 405; `retry_after` whole seconds, where waiting is known
    to help. `failure` is the kind from a fixed set for the log (`connection`, `tls`, …). `bound` is
    the one that was reached, where that is why.
    """

    reason: Reason
    message: str
    causes: tuple[StatusCause, ...] = ()
    allow: str | None = None
    retry_after: int | None = None
    failure: str | None = None
    bound: Bound | None = None


def bound_reached(
    reason: Reason, bound: Bound, limit: float, message: str, retry_after: int | None = None
) -> Interruption:
    """The answer when a bound was reached: its one cause names it and its limit (spec 03, Interruptions)."""
    cause = StatusCause("BoundReached", bound.value, f"{limit:.15g}")
    return Interruption(reason, message, (cause,), retry_after=retry_after, bound=bound)

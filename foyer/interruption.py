"""Interruptions: the answers foyer gives instead of the API server's (spec 03, Interruptions; spec 06).

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
    OVERLOADED = ("Overloaded", 503)
    USER_RATE_EXCEEDED = ("UserRateExceeded", 429)
    TARGET_TIMEOUT = ("TargetTimeout", 504)
    TARGET_ERROR = ("TargetError", 424)
    ADMISSION_TIMED_OUT = ("AdmissionTimedOut", 503)
    READ_TOO_LARGE = ("ReadTooLarge", 422)

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
    the one that was reached, where that is why; `limit` the word of another limit that was (spec 06: a load
    that is turned away), of which the log has a line without anything of the request.
    """

    reason: Reason
    message: str
    causes: tuple[StatusCause, ...] = ()
    allow: str | None = None
    retry_after: int | None = None
    failure: str | None = None
    bound: Bound | None = None
    limit: str | None = None


def bound_reached(
    reason: Reason, bound: Bound, limit: float, message: str, retry_after: int | None = None
) -> Interruption:
    """The answer when a bound was reached: its one cause names it and its limit (spec 03, Interruptions)."""
    cause = StatusCause("BoundReached", bound.value, f"{limit:.15g}")
    return Interruption(reason, message, (cause,), retry_after=retry_after, bound=bound)


def overloaded(limit: int, retry_after: int) -> Interruption:
    """The answer when the replica has `limit` requests open (spec 06, Overload). `retry_after` in seconds."""
    message = "foyer serves as many requests as it can at once. This one has not been looked at."
    return _turned_away(Reason.OVERLOADED, "concurrency", limit, message, retry_after)


def user_rate_exceeded(rate: float, retry_after: int) -> Interruption:
    """The answer when a person asks for more than `rate` a second, in all of their sessions together."""
    message = "You send requests faster than foyer lets anyone. You may go on in a moment."
    return _turned_away(Reason.USER_RATE_EXCEEDED, "caller-rate", rate, message, retry_after)


def not_admitted(gate: str, retry_after: int) -> Interruption:
    """The answer when a read waited for as long as it may at `gate`: `concurrency` or `memory`."""
    message = "There is more to read at once than foyer takes on. Nothing was sent to Kubernetes."
    return Interruption(Reason.ADMISSION_TIMED_OUT, message, retry_after=retry_after, limit=gate)


def target_full(failure: str) -> Interruption:
    """The answer when a request found no slot at its target for as long as it could wait."""
    message = (
        "foyer sends this API server as much at once as it may, and there was no room in time."
        " Nothing was sent: the request can be repeated."
    )
    return Interruption(Reason.TARGET_TIMEOUT, message, failure=failure)


def _turned_away(reason: Reason, word: str, limit: float, message: str, retry_after: int) -> Interruption:
    cause = StatusCause("LimitReached", word, f"{limit:.15g}")
    return Interruption(reason, message, (cause,), retry_after=retry_after, limit=word)

"""What foyer limits by itself: a bound, as metrics and refusals name it (spec 04).

The word is an interface: it is the `bound` label of every series, and the `field` of the one cause in a
refusal's `Status`.
"""

from enum import Enum


class Bound(Enum):
    """A bound; its value is its word. What its limit is in is said beside it."""

    SESSION_REQUEST_RATE = "session_request_rate"  # requests a second; a refusal counts under the burst
    SESSION_REQUEST_BURST = "session_request_burst"  # requests
    SESSION_CONCURRENT_REQUESTS = "session_concurrent_requests"  # requests
    CONCURRENT_REQUESTS = "concurrent_requests"  # requests
    SESSION_STREAMS = "session_streams"  # streams
    STREAMS = "streams"  # streams
    RESPONSE_DURATION = "response_duration"  # seconds
    RESPONSE_BYTES = "response_bytes"  # bytes, decoded
    AUTH_REQUEST_RATE = "auth_request_rate"  # callbacks a second
    AUTH_REQUEST_BURST = "auth_request_burst"  # callbacks
    TOKEN_REQUESTS = "token_requests"  # noqa: S105 - exchanges with the issuer at once

    # Members are told apart by identity; Enum's own hash is a call of Python for every look-up.
    __hash__ = object.__hash__


MEASURED = (
    Bound.SESSION_REQUEST_BURST,
    Bound.SESSION_CONCURRENT_REQUESTS,
    Bound.CONCURRENT_REQUESTS,
    Bound.SESSION_STREAMS,
    Bound.STREAMS,
    Bound.RESPONSE_DURATION,
    Bound.RESPONSE_BYTES,
)
"""Those whose use is observed, as a part of their limit from 0 to 1."""

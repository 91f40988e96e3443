"""The limits of the bounds, as configured (spec 04; the reasons for each default are in docs/bounds.md)."""

from dataclasses import dataclass

from foyer.bound import Bound


@dataclass(frozen=True, slots=True)
class Limits:
    """What each bound holds to. Times are in seconds; `None` for no time out."""

    session_request_rate: float = 20.0
    session_request_burst: int = 100
    max_session_concurrent_requests: int = 64
    max_concurrent_requests: int = 2000
    max_session_streams: int = 32
    max_streams: int = 2000
    max_response_duration: float = 1800.0
    max_response_bytes: int = 32 * 1024 * 1024
    session_check_interval: float = 5.0
    stream_write_timeout: float = 10.0
    response_write_timeout: float | None = 60.0
    auth_request_rate: float = 50.0
    auth_request_burst: int = 200
    max_token_requests: int = 16

    def by_bound(self) -> dict[Bound, float]:
        """The limit of each bound, in its own unit."""
        return {
            Bound.SESSION_REQUEST_RATE: self.session_request_rate,
            Bound.SESSION_REQUEST_BURST: self.session_request_burst,
            Bound.SESSION_CONCURRENT_REQUESTS: self.max_session_concurrent_requests,
            Bound.CONCURRENT_REQUESTS: self.max_concurrent_requests,
            Bound.SESSION_STREAMS: self.max_session_streams,
            Bound.STREAMS: self.max_streams,
            Bound.RESPONSE_DURATION: self.max_response_duration,
            Bound.RESPONSE_BYTES: self.max_response_bytes,
            Bound.AUTH_REQUEST_RATE: self.auth_request_rate,
            Bound.AUTH_REQUEST_BURST: self.auth_request_burst,
            Bound.TOKEN_REQUESTS: self.max_token_requests,
        }

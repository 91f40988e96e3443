"""One vocabulary of HTTP events, for both versions and both roles.

A codec turns received bytes into these, and a connection hands them on. Nothing in here
knows a version, a socket or a clock. `stream` is the HTTP/2 stream identifier; on HTTP/1.1
it counts the connection's exchanges from 1.
"""

from enum import Enum
from typing import Protocol, TypeAlias

Field: TypeAlias = tuple[bytes, bytes]
"""A field line: name in lower case, value without surrounding whitespace (RFC 9110 section 5)."""

Fields: TypeAlias = list[Field]


_MAX_LENGTH_DIGITS = 15  # more are no length anybody means, and need no arithmetic to be too long


class RequestHead:
    """A request's method, target and fields (RFC 9110 section 9; RFC 9113 section 8.3.1).

    `target` is the request target as received: origin-form on HTTP/2 (`:path`), any form on
    HTTP/1.1. `authority` is `:authority` or `Host`, which foyer only ever sends, never
    believes. `protocol` is an extended CONNECT's (RFC 8441). `ended` says that no content
    follows.
    """

    __slots__ = ("authority", "ended", "fields", "method", "protocol", "target")

    def __init__(
        self,
        method: bytes,
        target: bytes,
        fields: Fields,
        *,
        authority: bytes = b"",
        ended: bool = True,
        protocol: bytes = b"",
    ) -> None:
        self.method = method
        self.target = target
        self.fields = fields
        self.authority = authority
        self.ended = ended
        self.protocol = protocol

    def all(self, name: bytes) -> list[bytes]:
        """Every value of the field lines called `name` (lower case), in order."""
        return [value for key, value in self.fields if key == name]

    def __repr__(self) -> str:
        # Fields carry cookies and tokens: a head shown in a log or a traceback hides them.
        return f"RequestHead({self.method!r}, {len(self.fields)} fields)"


class ResponseHead:
    """A response's status code and fields (RFC 9110 section 15). `ended`: no content follows."""

    __slots__ = ("ended", "fields", "status")

    def __init__(self, status: int, fields: Fields, *, ended: bool = False) -> None:
        self.status = status
        self.fields = fields
        self.ended = ended

    def all(self, name: bytes) -> list[bytes]:
        """Every value of the field lines called `name` (lower case), in order."""
        return [value for key, value in self.fields if key == name]

    def declares_more_than(self, limit: int) -> bool:
        """Whether its Content-Length says more than `limit` bytes, or something that cannot be read."""
        return any(
            not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS or int(length) > limit
            for length in self.all(b"content-length")
        )

    def __repr__(self) -> str:
        return f"ResponseHead({self.status}, {len(self.fields)} fields)"


class Failure(Enum):
    """Why an exchange's other half ended before it was whole: a fixed set, fit for a log line."""

    CONNECTION = "connection"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    RESET = "reset"
    GOAWAY = "goaway"
    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    TARGET_FULL = "target_full"
    NOT_ADMITTED = "not_admitted"


class Sink(Protocol):
    """What a codec tells its connection, one call an event, in the order the peer sent them.

    Calls come while `receive` runs, each after the codec's state has settled, so a sink may
    send, reset or acknowledge at once. `Head` is the role's own: requests to a server, final
    responses to a client.
    """

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        """A head arrived; `head.ended` says that `end` will not follow."""

    def content(self, stream: int, data: bytes, flow: int) -> None:
        """Content arrived. `flow` counts against the peer's window until acknowledged (RFC 9113 6.9)."""

    def end(self, stream: int) -> None:
        """The peer's message is whole; trailers never pass."""

    def reset(self, stream: int, failure: Failure) -> None:
        """The peer gave the stream up, or its message can no longer become whole."""

    def window(self, stream: int) -> None:
        """More may be sent on `stream`, or on any when it is 0."""

    def ready(self) -> None:
        """The peer's settings are known: streams may be opened."""

    def going_away(self) -> None:
        """The peer opens, or takes, no more streams; those it still answers go on (RFC 9113 section 6.8)."""

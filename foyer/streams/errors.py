"""The `error` event as a value: its codes, and how each is made (spec 05, Wire)."""

from enum import Enum
from typing import NamedTuple


class Code(Enum):
    """A code of the protocol; its value is its word on the wire."""

    FORBIDDEN = "FORBIDDEN"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    SCOPE_INVALID = "SCOPE_INVALID"
    UPSTREAM_UNAVAILABLE = "UPSTREAM_UNAVAILABLE"
    RESYNC_REQUIRED = "RESYNC_REQUIRED"
    SLOW_CONSUMER = "SLOW_CONSUMER"
    INTERNAL = "INTERNAL"

    # Members are told apart by identity; Enum's own hash is a call of Python for every look-up.
    __hash__ = object.__hash__


class StreamError(NamedTuple):
    """One `error` event. `message` is for the page alone: the API server may have written it.

    `terminal` as the event says it; `retry_after` in seconds.
    """

    code: Code
    message: str
    terminal: bool
    retry_after: float | None = None

    @property
    def last(self) -> bool:
        """Whether the response ends after it."""
        return self.terminal or self.code is not Code.RESYNC_REQUIRED

    def __repr__(self) -> str:
        # Nothing that upstream wrote reaches a log, not by way of a traceback either.
        return f"StreamError({self.code.value})"


def forbidden(message: str) -> StreamError:
    """They may not."""
    return StreamError(Code.FORBIDDEN, message, terminal=True)


def unauthenticated(message: str) -> StreamError:
    """Their token was refused."""
    return StreamError(Code.UNAUTHENTICATED, message, terminal=True)


def scope_invalid(message: str) -> StreamError:
    """There is no such scope."""
    return StreamError(Code.SCOPE_INVALID, message, terminal=True)


def internal(message: str) -> StreamError:
    """Opening it again would not help."""
    return StreamError(Code.INTERNAL, message, terminal=True)


def unavailable(message: str, retry_after: float) -> StreamError:
    """The API server gives nothing now. `retry_after` in seconds."""
    return StreamError(Code.UPSTREAM_UNAVAILABLE, message, terminal=False, retry_after=retry_after)


def resync(message: str) -> StreamError:
    """Continuity was lost; a fresh cycle follows."""
    return StreamError(Code.RESYNC_REQUIRED, message, terminal=False)

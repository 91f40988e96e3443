"""What an answer of the API server's that is none becomes for a stream: the table of spec 05, Upstream.

The same for the answer to a request and for an error on the open watch.
"""

from enum import Enum
from typing import TypeAlias

from foyer.streams.errors import (
    StreamError,
    forbidden,
    internal,
    scope_invalid,
    unauthenticated,
    unavailable,
)
from foyer.streams.said import Said

RETRY_AFTER = 5.0
"""Seconds until a page should try again where the API server gives no hint: it may be restarting."""

RETRY_AFTER_MOST = 3600.0


class Again(Enum):
    """It is tried again on the same connection."""

    CYCLE = "cycle"
    """Continuity is lost: a fresh cycle."""
    LISTING = "listing"
    """The server has no streaming list: a list, and a watch from its version."""


Outcome: TypeAlias = StreamError | Again


def outcome(status: int, said: Said, *, retry_after: float | None = None, streaming: bool = False) -> Outcome:
    """What becomes of `status`, which is not 200, and of what its `Status` says.

    `retry_after` in seconds from the answer's field; `streaming` when a streaming list was asked for.
    """
    if streaming and status in (400, 403, 422) and said.about("sendInitialEvents"):
        return Again.LISTING
    match status:
        case 410:
            return Again.CYCLE
        case 401:
            return unauthenticated("The API server did not accept the session's token.")
        case 403:
            return forbidden(said.message or "The API server forbids it.")
        case 404:
            return scope_invalid("The API server has no such resource.")
        case 400 | 422:
            return scope_invalid(said.message or "The API server does not accept the scope.")
        case 405:
            return scope_invalid("The API server does not let this resource be listed and watched.")
        case _ if status == 429 or status >= 500 or status == 0:
            hint = retry_after if retry_after is not None else said.retry_after
            return no_answer(hint)
        case _ if 300 <= status <= 399:
            return internal("The API server answered with a redirect, which is not followed.")
        case _:
            return internal("The API server answered with something that is no answer to this.")


def no_answer(retry_after: float | None = None) -> StreamError:
    """The API server cannot be asked now. `retry_after` in seconds, where it gave a hint."""
    hint = RETRY_AFTER if retry_after is None else min(retry_after, RETRY_AFTER_MOST)
    return unavailable("The API server is not available now.", hint)

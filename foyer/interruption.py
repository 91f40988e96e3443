"""Interruptions: the answers foyer gives instead of the API server's (spec 03, Interruptions).

A value, which answers and decides nothing: whoever refuses makes one, and `foyer.pages`
writes it as a page or as a `Status`. `Reason` is the table of the spec, row by row.
"""

from dataclasses import dataclass
from enum import Enum


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
    to help. `failure` is the kind from a fixed set for the log (`connection`, `tls`, …).
    """

    reason: Reason
    message: str
    causes: tuple[StatusCause, ...] = ()
    allow: str | None = None
    retry_after: int | None = None
    failure: str | None = None

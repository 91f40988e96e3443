"""The two proofs of a changing request (spec 02, Changing requests).

The token proves that the page could read `/auth/session`, the origin that a page of ours sent the
request. Names are compared whole: `x_csrf_token` is not `x-csrf-token`, though servers that fold
the two have been talked past by it.
"""

import hmac

from foyer.interruption import Interruption, Reason
from foyer.protocol.events import RequestHead
from foyer.session.seal import Session

CSRF_HEADER = "X-CSRF-Token"

# Methods are case-sensitive (RFC 9110 section 9.1): `get` is a method foyer does not know, so a change.
_SAFE = frozenset({b"GET", b"HEAD"})

_CSRF_FIELD = CSRF_HEADER.lower().encode("ascii")

_NO_PROOF = Interruption(
    Reason.CSRF_PROOF_REQUIRED,
    "A change needs the session's token in one X-CSRF-Token header.",
)
_OTHER_ORIGIN = Interruption(
    Reason.CROSS_ORIGIN_REQUEST,
    "A change must come from a page of this origin.",
)


def is_change(method: bytes) -> bool:
    """Whether `method` may change something."""
    return method not in _SAFE


def check_change(method: bytes, head: RequestHead, session: Session, origin: bytes) -> Interruption | None:
    """The refusal of a changing request without its proofs.

    `method` is apart from `head`, whose own it need not be (`/auth/check` judges the forwarded
    one). `origin` is the configured one, as browsers serialize it.
    """
    if not is_change(method):
        return None
    tokens: list[bytes] = []
    origins: list[bytes] = []
    sites: list[bytes] = []
    for name, value in head.fields:
        if name == _CSRF_FIELD:
            tokens.append(value)
        elif name == b"origin":
            origins.append(value)
        elif name == b"sec-fetch-site":
            sites.append(value)
    if len(tokens) != 1 or not hmac.compare_digest(tokens[0], session.csrf_token.encode()):
        return _NO_PROOF
    if origins != [origin] if origins else sites != [b"same-origin"]:
        return _OTHER_ORIGIN
    return None

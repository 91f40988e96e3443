"""What goes up for a scope, and what of it is an answer: a GET with somebody's token, and JSON as it is."""

from foyer.protocol.events import Fields, RequestHead, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams import lists


def get(target: bytes, token: IdToken, authority: bytes) -> RequestHead:
    """The request for `target` (path and query). Raises `AssertionError` for an empty token: without one it
    would be sent as anonymous."""
    if not token:
        raise AssertionError("a request is never sent without its token")
    fields: Fields = [
        (b"authorization", b"Bearer " + token),
        (b"accept", b"application/json"),
        # A compressed watch would hold events back, and a decoder for each (spec 03, Bodies).
        (b"accept-encoding", b"identity"),
        (b"user-agent", b"foyer"),  # in the API server's audit log these are not the browser's own
    ]
    return RequestHead(b"GET", target, fields, authority=authority)


def is_plain_json(head: ResponseHead) -> bool:
    """Whether content of that type follows, in no coding."""
    if any(coding.lower() != b"identity" for coding in head.all(b"content-encoding")):
        return False
    return lists.is_json(head.fields)

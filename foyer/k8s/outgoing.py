"""What goes up: the head of a request to the API server (spec 03, What goes up: Headers).

Nothing is removed here, because nothing is copied: the head is built anew from three fields of the
browser's and from what foyer knows. A field that is not named below has no way up, whatever it is
called, and `Connection` cannot name one that foyer puts in.
"""

from foyer.protocol.events import Fields, RequestHead

_ACCEPT_ENCODING = (b"accept-encoding", b"gzip")


def request_head(head: RequestHead, target: bytes, token: bytes, authority: bytes) -> RequestHead:
    """The upstream's request for the browser's `head`.

    `target` is the API server's own, `authority` the upstream's, and `token` becomes the only
    `Authorization`. Raises `AssertionError` for an empty token: a request without one would be
    sent as anonymous.

    Repeated lines of one field go up as one, joined by a comma (RFC 9110 section 5.3). For
    `Accept`, a list, that changes nothing. For `Content-Type`, which is not one, it leaves a value
    with a single reading: the API server refuses a list there (415), where of two lines one
    reader takes the first and the next the last.
    """
    if not token:
        raise AssertionError("a request is never sent without its user's token")
    accept = content_type = user_agent = length = b""
    for name, value in head.fields:
        if name == b"accept":
            accept = _joined(accept, value)
        elif name == b"content-type":
            content_type = _joined(content_type, value)
        elif name == b"user-agent":
            user_agent = _joined(user_agent, value)
        elif name == b"content-length":
            length = value  # one, or repeated and equal: the codecs refuse anything else
    fields: Fields = [(b"authorization", b"Bearer " + token), _ACCEPT_ENCODING]
    if accept:
        fields.append((b"accept", accept))
    if content_type:
        fields.append((b"content-type", content_type))
    if user_agent:
        fields.append((b"user-agent", user_agent))
    if length:
        # Framing rather than a field of the browser's: the content that follows is these bytes.
        fields.append((b"content-length", length))
    return RequestHead(head.method, target, fields, authority=authority, ended=head.ended)


def _joined(before: bytes, value: bytes) -> bytes:
    """One field value of two (RFC 9110 section 5.3); an empty one says nothing."""
    if not before or not value:
        return before or value
    return before + b", " + value

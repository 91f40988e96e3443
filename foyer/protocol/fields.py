"""HTTP/2's rules for a head and a trailer section (RFC 9113 sections 8.2 and 8.3).

h2 has them too, octet by octet in Python: 100 us for a request with a session's cookie, against 10
here. And what it finds ends the connection, where RFC 9113 section 8.1.1 ends one stream: an
ingress carries many people's. So h2 is told not to look, and each head is read here, as strictly as
HTTP/1.1's is by `framing`: a field means the same in both versions. The tests hold this to h2's
own rules: what h2 would refuse is refused.

Pure functions: a head, or None when it is malformed.
"""

import re

from foyer.protocol.events import Fields, RequestHead, ResponseHead

NO_CONTENT = (204, 304)
"""Final status codes whose responses have no content (RFC 9110 section 6.4.1)."""

_METHOD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}")
_STATUS = re.compile(rb"[2-9][0-9]{2}")
_LENGTH = re.compile(rb"[0-9]{1,15}")

_NAME_OCTETS = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
# Control characters end or fold a line over HTTP/1.1, where a field may go next.
_VALUE_OCTETS = b"\t" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))

# RFC 9113 section 8.2.2: they would say something about HTTP/1.1's framing behind us.
_CONNECTION = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))

_OF_REQUESTS = frozenset((b":method", b":scheme", b":authority", b":path", b":protocol"))
_OF_RESPONSES = frozenset((b":status",))
_OF_TRAILERS: frozenset[bytes] = frozenset()


def request_head(received: Fields, ended: bool) -> RequestHead | None:
    """The request that decoded field lines are."""
    read = _read(received, _OF_REQUESTS)
    if read is None:
        return None
    pseudo, fields = read
    method = pseudo.get(b":method", b"")
    authority = _authority(pseudo, fields)
    length = _length(fields)
    if not _METHOD.fullmatch(method) or not authority or length is None or not _targeted(method, pseudo):
        return None
    if ended and length:
        return None
    return RequestHead(
        method,
        pseudo.get(b":path", b""),
        fields,
        authority=authority,
        ended=ended,
        protocol=pseudo.get(b":protocol", b""),
    )


def response_head(received: Fields, ended: bool, method: bytes) -> ResponseHead | None:
    """The final response that decoded field lines are, to a request with `method`."""
    read = _read(received, _OF_RESPONSES)
    if read is None:
        return None
    pseudo, fields = read
    length = _length(fields)
    if not _STATUS.fullmatch(pseudo.get(b":status", b"")) or length is None:
        return None
    status = int(pseudo[b":status"])
    if ended and length and method != b"HEAD" and status not in NO_CONTENT:
        return None  # a part that would pass for the whole
    return ResponseHead(status, fields, ended=ended)


def are_trailers(received: Fields) -> bool:
    """Whether decoded field lines may be a trailer section. They never pass, but end a message."""
    return _read(received, _OF_TRAILERS) is not None


def _read(received: Fields, allowed: frozenset[bytes]) -> tuple[dict[bytes, bytes], Fields] | None:
    """Pseudo-header fields and the others apart, each of them well-formed."""
    pseudo: dict[bytes, bytes] = {}
    fields: Fields = []
    cookies: list[bytes] = []
    names: list[bytes] = []
    for name, value in received:
        if name[:1] == b":":
            # First, known, once (section 8.3).
            if names or name in pseudo or name not in allowed:
                return None
            pseudo[name] = value
            continue
        if not name or name in _CONNECTION or (name == b"te" and value.lower() != b"trailers"):
            return None
        names.append(name)
        if name == b"cookie":
            cookies.append(value)
        else:
            fields.append((name, value))
    values = [value for _, value in received]
    if b"".join(names).translate(None, _NAME_OCTETS) or b"".join(values).translate(None, _VALUE_OCTETS):
        return None
    if any(value != value.strip(b" \t") for value in values):
        return None
    if cookies:
        fields.append((b"cookie", b"; ".join(cookies)))  # section 8.2.3
    return pseudo, fields


def _authority(pseudo: dict[bytes, bytes], fields: Fields) -> bytes | None:
    """The one authority that a request names, in `:authority`, in one `Host`, or the same in both."""
    hosts = [value for name, value in fields if name == b"host"]
    named = {*hosts, pseudo[b":authority"]} if b":authority" in pseudo else {*hosts}
    return named.pop() if len(named) == 1 and len(hosts) <= 1 else None


def _targeted(method: bytes, pseudo: dict[bytes, bytes]) -> bool:
    """Whether the pseudo-header fields that say where to are those of `method`."""
    if method == b"CONNECT" and b":protocol" not in pseudo:
        return b":scheme" not in pseudo and b":path" not in pseudo
    if method != b"CONNECT" and b":protocol" in pseudo:
        return False
    return bool(pseudo.get(b":scheme") and pseudo.get(b":path"))


def _length(fields: Fields) -> int | None:
    """The declared length of the content in bytes, 0 without one, None when it is none."""
    lengths = [value for name, value in fields if name == b"content-length"]
    if not lengths:
        return 0
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        return None
    return int(lengths[0])

"""What comes back: the API server's response head, as the browser may have it (spec 03, What comes back).

An aggregated API, a webhook's text or a log may hold whatever somebody in the cluster likes, and it
would run with the application's origin. So types and fields are allowlisted, content arrives
decoded, redirects stop here, and the browser is told to treat the rest as data. The content itself
is not looked at.
"""

import re
from typing import NamedTuple

from foyer.interruption import Interruption, Reason, StatusCause
from foyer.protocol.events import Fields, ResponseHead

SECURITY_FIELDS: Fields = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-accel-buffering", b"no"),  # nginx in front would hold a watch's events back
]
"""Carried by every proxied answer, and by every interruption that is not a page."""

_CONTENT_TYPES = frozenset(
    (
        b"application/json",
        b"application/yaml",
        b"application/vnd.kubernetes.protobuf",
        b"application/cbor",
        b"application/cbor-seq",
        b"application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        b"application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
        # What Kubernetes 1.37 answers with, whichever of the two was asked for.
        b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        b"application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
        b"text/plain",  # logs, and the refusals of Priority and Fairness
    )
)

_PASSED = frozenset(
    (
        b"audit-id",
        b"warning",
        b"retry-after",
        b"x-kubernetes-pf-flowschema-uid",
        b"x-kubernetes-pf-prioritylevel-uid",
    )
)

_NO_CONTENT = (204, 304)  # RFC 9110 section 6.4.1

_LENGTH = re.compile(rb"[0-9]{1,18}")
_MEDIA_TYPE = re.compile(rb"[A-Za-z0-9!#$&^_.+\-@]{1,63}/[A-Za-z0-9!#$&^_.+\-@]{1,63}")
_CODING = re.compile(rb"[A-Za-z0-9!#$&^_.+\-]{1,63}")

_MAX_LOCATION = 2048  # bytes shown of a redirect's target: what a login's return path may have, too
_MAX_LOCATIONS = 4  # of them shown: one is right, and nobody reads a hundred


class Passed(NamedTuple):
    """A response that may go on to the browser.

    `head` is what to send, `gzip` says that the content must be decoded first, and `length` is how
    many bytes of content the browser will get: 0 where the response has none (HEAD's among them),
    None where only the end will tell.
    """

    head: ResponseHead
    gzip: bool
    length: int | None


def incoming(head: ResponseHead, method: bytes) -> Passed | Interruption:
    """What becomes of the final response `head` to a request of `method`."""
    status = head.status
    if not 200 <= status <= 599:
        return _UNUSABLE_STATUS
    if 300 <= status <= 399 and status != 304:
        return _redirect(head)
    fields, content_type, encoding, length = _read(head.fields)
    if length is not None and not _LENGTH.fullmatch(length):
        return _UNUSABLE_LENGTH

    known = None if length is None else int(length)
    empty = head.ended or known == 0 or method == b"HEAD" or status in _NO_CONTENT
    held_back = _held_back_by_type(content_type, empty) or _held_back_by_encoding(encoding)
    if held_back is not None:
        return held_back
    if content_type:
        fields.append((b"content-type", content_type))
    if encoding is not None:
        known = None  # it counts the encoded content, which nobody will see
    elif length is not None and status not in _NO_CONTENT:
        # A 204 may have none (RFC 9110 section 8.6), and a 304's describes content that is elsewhere.
        fields.append((b"content-length", length))
    fields += SECURITY_FIELDS
    out = ResponseHead(status, fields, ended=head.ended)
    return Passed(out, encoding is not None and not empty, 0 if empty else known)


def _read(received: Fields) -> tuple[Fields, bytes | None, bytes | None, bytes | None]:
    """The fields that pass as they are, and the type, encoding and length that are judged first."""
    fields: Fields = []
    content_type = encoding = length = None
    for field in received:
        name, value = field
        if name in _PASSED:
            fields.append(field)
        elif name == b"content-type":
            content_type = _combined(content_type, value)
        elif name == b"content-encoding":
            encoding = _combined(encoding, value)
        elif name == b"content-length":
            length = _combined(length, value)
    return fields, content_type, encoding, length


def _combined(before: bytes | None, value: bytes) -> bytes:
    """One value of repeated lines (RFC 9110 section 5.3): with its comma it is none that passes here."""
    return value if before is None else before + b"," + value


def _held_back_by_type(content_type: bytes | None, empty: bool) -> Interruption | None:
    """The types that pass do so whatever their parameters and case (RFC 9110 section 8.3.1).

    A comma anywhere makes two types of one to some readers, within quotes as well.
    """
    if not content_type:
        return None if empty else _held_back("Content-Type", "there is none")
    if content_type in _CONTENT_TYPES:
        return None
    if b"," in content_type:
        return _held_back("Content-Type", "there is more than one")
    essence = content_type.partition(b";")[0].rstrip(b" \t")
    if essence.lower() in _CONTENT_TYPES:
        return None
    return _held_back("Content-Type", _shown(essence, _MEDIA_TYPE))


def _held_back_by_encoding(encoding: bytes | None) -> Interruption | None:
    if encoding is None or encoding.lower() == b"gzip":
        return None
    return _held_back("Content-Encoding", _shown(encoding, _CODING))


def _shown(value: bytes, plain: re.Pattern[bytes]) -> str:
    """What of an upstream's value an answer may name: a plain, short word or nothing."""
    return value.decode("ascii") if plain.fullmatch(value) else "it is malformed"


def _held_back(field: str, why: str) -> Interruption:
    return Interruption(
        Reason.UPSTREAM_CONTENT_HELD_BACK,
        f"The API server answered with a {field} that foyer does not pass on to a browser.",
        causes=(StatusCause("ContentHeldBack", field, why),),
        failure=field.lower().replace("-", "_"),
    )


def _redirect(head: ResponseHead) -> Interruption:
    targets = head.all(b"location")[:_MAX_LOCATIONS] or [b""]
    return Interruption(
        Reason.UPSTREAM_REDIRECT,
        "The API server answered with a redirect. foyer follows none, since the request carries your token.",
        causes=tuple(StatusCause("Redirect", "Location", _location(target)) for target in targets),
        failure="redirect",
    )


def _location(target: bytes) -> str:
    """A target as text: what is not printable ASCII is spelt out, so nothing can look like another."""
    text = target[:_MAX_LOCATION].decode("latin-1").encode("unicode_escape").decode("ascii")
    return text if len(target) <= _MAX_LOCATION else text + "…"


_UNUSABLE_STATUS = Interruption(
    Reason.UPSTREAM_UNAVAILABLE,
    "The API server answered with a status code that HTTP does not have.",
    failure="protocol",
)

_UNUSABLE_LENGTH = Interruption(
    Reason.UPSTREAM_UNAVAILABLE,
    "The API server answered with a length that cannot be read.",
    failure="protocol",
)

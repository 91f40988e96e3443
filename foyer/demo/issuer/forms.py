"""What clients and browsers send to the issuer: parameters, and a client's own credentials."""

import base64
import binascii
import hmac
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote_plus

from foyer.demo.handler import Request

MAX_FORM = 16 * 1024
"""Bytes of a form: several times the longest login."""

_FORM = "application/x-www-form-urlencoded"


class BadRequest(Exception):
    """A request that cannot be answered by going back to the client: a page says what is wrong."""


@dataclass(frozen=True, slots=True)
class Client:
    """The one application that people sign in to."""

    id: str
    secret: str = field(repr=False)
    redirect_uris: tuple[str, ...]

    def authenticated(self, request: Request, form: dict[str, str]) -> bool:
        """By client_secret_basic or client_secret_post (RFC 6749 section 2.3.1), never both."""
        authorization = request.field(b"authorization")
        given: tuple[str, str] | None = (form.get("client_id", ""), form.get("client_secret", ""))
        if authorization:
            given = None if "client_secret" in form else _basic(authorization)
        return given is not None and same(given[0], self.id) & same(given[1], self.secret)


def parameters(encoded: str) -> dict[str, str]:
    """The parameters of a query or form, none of them twice (RFC 6749 section 3.1). Raises `BadRequest`."""
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError:
        raise BadRequest("The request could not be read.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadRequest("The request gives a parameter twice.")
    return found


def form_of(request: Request) -> dict[str, str]:
    """The parameters of a request's content. Raises `BadRequest`."""
    kind = request.field(b"content-type").partition(";")[0].strip().lower()
    if kind != _FORM or len(request.content) > MAX_FORM:
        raise BadRequest("The form could not be read.")
    return parameters(request.content.decode("latin-1"))


def same(one: str, other: str) -> bool:
    """Equality in constant time."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def _basic(authorization: str) -> tuple[str, str] | None:
    scheme, _, credentials = authorization.partition(" ")
    try:
        decoded = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    name, colon, secret = decoded.partition(":")
    return (unquote_plus(name), unquote_plus(secret)) if scheme.lower() == "basic" and colon else None

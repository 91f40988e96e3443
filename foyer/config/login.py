"""The file of `-login-config-file` (spec 02, Login parameters): what may be written in it, key by key.

Every refusal is a `ValueError` in words that follow "the file", as `foyer.config.keys` has them.
"""

import re

from foyer.config.document import Node, Text, read
from foyer.config.keys import mapping_at, members_at, refused, text_at
from foyer.config.names import shown
from foyer.config.parts import LoginConfig
from foyer.login.claims import Pointer, SessionClaims, pointer
from foyer.login.parameters import MAX_VALUE_BYTES, OWN, AuthorizationParameters, Parameter

MAX_PARAMETERS = 16
MAX_ALLOWED_VALUES = 64
"""More than any issuer has connectors: an authorization request has to stay a URL that servers take."""


def parse(content: bytes) -> LoginConfig:
    """What the file's content says. Raises `ValueError`."""
    top = members_at("", read(content), ("authorizationParameters", "sessionClaims"))
    key = "authorizationParameters"
    parameters = mapping_at(key, top.get(key, {}))
    if len(parameters) > MAX_PARAMETERS:
        raise refused(key, f"should be at most {MAX_PARAMETERS} parameters")
    configured = {name: _parameter(f"{key}.{shown(name)}", name, node) for name, node in parameters.items()}
    return LoginConfig(AuthorizationParameters(configured), _claims(top.get("sessionClaims", {})))


def _parameter(key: str, name: str, node: Node) -> Parameter:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name):
        # RFC 6749 section 8.2 has no other names, so no issuer does.
        raise refused(key, "should be named in at most 64 letters, digits, -, . and _")
    # Some issuers ignore case: `Redirect_URI` must not become a second redirect_uri there.
    if name.lower() in OWN:
        raise refused(key, "is foyer's own to set, or would replace its request: leave it out")
    given = members_at(key, node, ("default", "allowFromRequest", "allowedValues"))
    default, allowed, values = (given.get(name) for name in ("default", "allowFromRequest", "allowedValues"))
    parameter = Parameter(
        None if default is None else _value(f"{key}.default", default),
        False if allowed is None else _boolean(f"{key}.allowFromRequest", allowed),
        None if values is None else _values(f"{key}.allowedValues", values),
    )
    if parameter.default is None and not parameter.allow_from_request:
        raise refused(key, "is never sent like this: give it a default, or allowFromRequest: true")
    if parameter.allowed_values is not None and parameter.default not in (None, *parameter.allowed_values):
        raise refused(f"{key}.default", "should be one of its allowedValues")
    return parameter


def _claims(node: Node) -> SessionClaims:
    key = "sessionClaims"
    where = {
        name: _pointer(f"{key}.{name}", value)
        for name, value in members_at(key, node, ("displayName", "groups", "connector")).items()
    }
    least = SessionClaims()
    return SessionClaims(
        where.get("displayName", least.display_name),
        where.get("groups", least.groups),
        where.get("connector", least.connector),
    )


def _values(key: str, node: Node) -> tuple[str, ...]:
    if not isinstance(node, list) or not 0 < len(node) <= MAX_ALLOWED_VALUES:
        raise refused(key, f"should be a list of 1 to {MAX_ALLOWED_VALUES} values")
    values = tuple(_value(f"{key}[{at}]", item) for at, item in enumerate(node))
    if len(set(values)) < len(values):
        raise refused(key, "should have each value once")
    return values


def _value(key: str, node: Node) -> str:
    """A parameter's value: printable, since a link that tries again shows it."""
    text = text_at(key, node)
    if not text.isprintable() or len(text.encode()) > MAX_VALUE_BYTES:
        raise refused(key, f"should be printable text of at most {MAX_VALUE_BYTES} bytes")
    return text


def _pointer(key: str, node: Node) -> Pointer:
    text = text_at(key, node)
    try:
        return pointer(text)
    except ValueError as error:
        raise refused(key, f"should be a JSON Pointer such as /name: {error}") from None


def _boolean(key: str, node: Node) -> bool:
    found = node.as_bool if isinstance(node, Text) else None
    if found is None:
        raise refused(key, "should be true or false")
    return found

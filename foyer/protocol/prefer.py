"""How long a client is ready to wait: `Prefer: wait=<seconds>` (RFC 7240 sections 2 and 4.3).

A preference is never worth a refusal: what cannot be read has not been said.
"""

import re

from foyer.protocol.events import Fields

_TOKEN = rb"[A-Za-z0-9!#$%&'*+\-.^_`|~]+"
_VALUE = rb'(?:%b|"(?:[\t \x21\x23-\x5B\x5D-\x7E\x80-\xFF]|\\[\t\x20-\x7E\x80-\xFF])*")' % _TOKEN
_BLANK = rb"[ \t]*"
_PREFERENCE = re.compile(
    rb"(?P<name>%b)(?:%b=%b(?P<value>%b)?)?" % (_TOKEN, _BLANK, _BLANK, _VALUE)
    + rb"(?:%b;(?:%b%b(?:%b=%b(?:%b)?)?)?)*" % (_BLANK, _BLANK, _TOKEN, _BLANK, _BLANK, _VALUE)
)
_COMMA = re.compile(rb"(?:[ \t]*,)+[ \t]*|[ \t]*\Z")
_LEADING = re.compile(rb"[ \t,]*")

MAX_BYTES = 1024
"""Of one line that is read: everything registered as a preference together takes a fifth."""

_MAX_DIGITS = 9
"""Of a number of seconds: thirty years."""


def wait(fields: Fields) -> float | None:
    """The seconds that the request with these may take; None where it does not say.

    Of several the first counts (section 2). A line with anything in it that is no preference is ignored,
    and so is a wait that is no whole number.
    """
    for name, value in fields:
        if name != b"prefer":
            continue
        for preference, said in _preferences(value):
            if preference == b"wait":
                return float(said) if said.isdigit() and len(said) <= _MAX_DIGITS else None
    return None


def _preferences(line: bytes) -> list[tuple[bytes, bytes]]:
    """The preferences of one line, each name in lower case; none when the line is malformed."""
    found: list[tuple[bytes, bytes]] = []
    if len(line) > MAX_BYTES:
        return found
    leading = _LEADING.match(line)
    at = leading.end() if leading else 0
    while at < len(line):
        preference = _PREFERENCE.match(line, at)
        comma = _COMMA.match(line, preference.end()) if preference else None
        if preference is None or comma is None:
            return []
        found.append((preference["name"].lower(), _unquoted(preference["value"] or b"")))
        at = comma.end()
    return found


def _unquoted(value: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", value[1:-1]) if value.startswith(b'"') else value

"""Cookies by name: read from a request's `Cookie` fields, set and cleared (RFC 6265).

Nothing but the wanted cookies is taken apart. HTTP/2 may split the field, one cookie a line (RFC
9113 section 8.2.3), so every line is read. A name counts only at the start of a cookie, byte for
byte: `__Host-` protects a name that browsers compare exactly, and servers that trim other
characters, fold case or unquote accept cookies that browsers let any neighbouring host set.
Only blanks (SP, HTAB) around a cookie are trimmed, as every server does: where a second cookie
could be meant, it is counted.
"""

from foyer.protocol.events import Field, Fields

_BLANKS = b" \t"


def values(fields: Fields, name: bytes) -> list[bytes]:
    """The values of every cookie called `name`, in order."""
    opening = name + b"="
    return [cookie[len(opening) :].strip(_BLANKS) for cookie in _beginning(fields, opening)]


def sole(fields: Fields, name: bytes) -> bytes | None:
    """The value of the one cookie called `name`: None without one, and None with several."""
    found = values(fields, name)
    return found[0] if len(found) == 1 else None


def with_prefix(fields: Fields, prefix: bytes) -> list[tuple[bytes, bytes]]:
    """Name and value of every cookie whose name begins with `prefix`, in order."""
    pairs = [cookie.partition(b"=") for cookie in _beginning(fields, prefix)]
    return [(name, value.strip(_BLANKS)) for name, equals, value in pairs if equals]


def set_cookie(name: str, value: str, max_age: int) -> Field:
    """The `Set-Cookie` of a cookie that only this host gets back, and no script. `max_age` in seconds."""
    return (
        b"set-cookie",
        f"{name}={value}; Path=/; Max-Age={max_age}; Secure; HttpOnly; SameSite=Lax".encode("ascii"),
    )


def clear_cookie(name: str) -> Field:
    """The `Set-Cookie` that removes the cookie: a browser matches it by name, path and host."""
    return set_cookie(name, "", 0)


def _beginning(fields: Fields, opening: bytes) -> list[bytes]:
    """Every cookie that begins with `opening`, name and value. Linear in the fields, whatever is in them."""
    found: list[bytes] = []
    for field, line in fields:
        if field != b"cookie":
            continue
        at = line.find(opening)
        while at >= 0:
            end = line.find(b";", at)
            if end < 0:
                end = len(line)
            begin = line.rfind(b";", 0, at) + 1
            if not line[begin:at].strip(_BLANKS):
                found.append(line[at:end])
            # Elsewhere in a cookie it is part of that cookie: the next can only follow its `;`.
            at = line.find(opening, end)
    return found

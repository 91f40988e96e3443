"""Where a browser may be sent after login (spec 02, Login): a path of this origin, and nothing else.

Held to a rule that needs no URL parser, because browsers and parsers disagree: `//e` and `/\\e`
are other hosts to a browser, and blanks and controls vanish in one before it looks.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from foyer.login.parameters import PREFIX

MAX_BYTES = 2048

# Exactly one `/`, then what is printable and not `\`. Not the space either: at the end of a field
# it would be trimmed, so the browser would not go to exactly these bytes.
_LOCAL = re.compile(rb"/(?!/)[!-\[\]-~]*")


def is_local(path: bytes) -> bool:
    """Whether `path` may follow a login."""
    return len(path) <= MAX_BYTES and _LOCAL.fullmatch(path) is not None


def login_link(path: bytes, parameters: Mapping[str, str] | None = None) -> str:
    """The local URL that signs in, with these login parameters, and goes to `path`."""
    query = [] if path == b"/" else ["return_to=" + quote(path, safe="/")]
    if parameters:
        prefix = PREFIX.decode("ascii")
        query.append(urlencode({prefix + name: value for name, value in parameters.items()}))
    return "?".join(("/auth/login", "&".join(query))) if query else "/auth/login"

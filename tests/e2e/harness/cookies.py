"""A browser's cookie jar for one origin, which is strict about the `__Host-` prefix as browsers are."""

from collections.abc import Iterable, Mapping


class CookieJar:
    """Name to value. Refuses with AssertionError what a browser would silently drop."""

    def __init__(self, cookies: Mapping[str, str] | None = None) -> None:
        self.cookies = dict(cookies or {})

    def store(self, set_cookie_lines: Iterable[str]) -> None:
        """Take in an answer's `Set-Cookie` lines."""
        for line in set_cookie_lines:
            pair, *rest = (part.strip() for part in line.split(";"))
            name, _, value = pair.partition("=")
            attributes = {key.lower(): setting for key, _, setting in (part.partition("=") for part in rest)}
            assert len(pair) <= 4096, f"a browser drops {name}: {len(pair)} bytes"
            if name.startswith("__Host-"):
                given = (attributes.keys() & {"secure", "domain"}, attributes.get("path"))
                assert given == ({"secure"}, "/"), f"a browser drops {name}: {rest}"
            if attributes.get("max-age") == "0" or not value:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value

    def header(self) -> dict[str, str]:
        """The `Cookie` field, if there is anything to send."""
        if not self.cookies:
            return {}
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

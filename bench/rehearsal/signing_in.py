"""A person's whole sign-in, as a browser goes through it: foyer, the issuer's form, foyer again.

Over HTTP/1.1 and with nothing but what a sign-in needs: cookies of foyer's, redirects, one form.
"""

import http.client
import json
import ssl
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit

AT_ONCE = 8
"""People who sign in at the same moment."""

_REDIRECTS = 10


class Refused(Exception):
    """A sign-in did not end as one does."""


class TooMany(Exception):
    """foyer asks for some patience (429), in seconds."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.patience = patience


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What a browser has then."""

    cookie: str
    csrf: str


class _Form(HTMLParser):
    """The first form of a page: where it goes, and the fields that are filled in already."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form" and not self.action:
            self.action = values.get("action", "")
        elif tag == "input" and "name" in values:
            self.fields[values["name"]] = values.get("value", "")


class _Browser:
    """One person's, for the time of the sign-in."""

    def __init__(self, context: ssl.SSLContext, origin: str, port: int) -> None:
        """`port` is where the server of `origin` really listens, on this machine."""
        self._context = context
        self._origin = origin
        self._port = port
        self._connections: dict[str, http.client.HTTPSConnection] = {}
        self._cookies: dict[tuple[str, str], str] = {}

    def ask(self, url: str, form: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Status, `Location` as a URL or `Retry-After`, and content."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._connections:
            host, port = ("127.0.0.1", self._port) if origin == self._origin else (parts.hostname, parts.port)
            self._connections[origin] = http.client.HTTPSConnection(
                host or "", port, context=self._context, timeout=30
            )
        connection = self._connections[origin]
        headers = {"host": parts.netloc, "cookie": self._cookie(origin)}
        content = None
        if form is not None:
            content = urlencode(form)
            headers |= {"content-type": "application/x-www-form-urlencoded", "origin": origin}
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        connection.request("GET" if form is None else "POST", target, content, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        for cookie in answer.headers.get_all("set-cookie") or []:
            name, _, rest = cookie.partition("=")
            self._cookies[origin, name] = rest.partition(";")[0]
        fields = answer.headers
        return answer.status, fields.get("retry-after") or urljoin(url, fields.get("location") or ""), text

    def sign_in(self, filled_in: Mapping[str, str]) -> SignedIn:
        """Everything from the login route on. Raises `Refused`."""
        _, url, _ = self.ask(f"{self._origin}/auth/login?return_to=/")
        url, page = self._to_a_page(url)
        form = _Form(page)
        if not form.action:
            raise Refused(f"no form at {url}: {page[:200]}")
        _, back, _ = self.ask(urljoin(url, form.action), {**form.fields, **filled_in})
        url, page = self._to_a_page(back, f"{self._origin}/auth/callback")
        status, patience, page = self.ask(url)
        if status == 429:
            raise TooMany(float(patience))
        if status // 100 != 3:
            raise Refused(f"the callback was answered {status}: {page[:200]}")
        status, _, page = self.ask(f"{self._origin}/auth/session")
        found = json.loads(page) if status == 200 else {}
        if not found.get("authenticated"):
            raise Refused(f"no session: {status}: {page[:200]}")
        return SignedIn(self._cookie(self._origin), found["csrfToken"])

    def _to_a_page(self, url: str, until: str = "\n") -> tuple[str, str]:
        """Follows redirects, but not beyond one that begins with `until`."""
        for _ in range(_REDIRECTS):
            if url.startswith(until):
                return url, ""
            status, location, page = self.ask(url)
            if status // 100 != 3:
                return url, page
            url = location
        raise Refused(f"redirects in circles: {url}")

    def _cookie(self, origin: str) -> str:
        mine = {name: value for (of, name), value in self._cookies.items() if of == origin and value}
        return "; ".join(f"{name}={value}" for name, value in mine.items())

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


def sign_in(everybody: Sequence[Mapping[str, str]], ca_file: str, origin: str, port: int) -> list[SignedIn]:
    """Each of `everybody` by what they fill in at the issuer. Raises `Refused`."""
    context = ssl.create_default_context(cafile=ca_file)
    context.check_hostname = False  # foyer's origin is a name; the certificate is of this machine

    def one(filled_in: Mapping[str, str]) -> SignedIn:
        browser = _Browser(context, origin, port)
        try:
            while True:
                try:
                    return browser.sign_in(filled_in)
                except TooMany as many:
                    time.sleep(many.patience)  # foyer asked for that, by Retry-After
        finally:
            browser.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, everybody))

"""A person at Dex: reads its sign-in form and sends it, as a browser would."""

import ssl
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx


class Form(HTMLParser):
    """The first form of a page: its action, its method and the fields it already fills."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action: str | None = None
        self.method = ""
        self.fields: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form" and self.action is None:
            self.action, self.method = values.get("action", ""), values.get("method", "get").lower()
        elif tag == "input" and "name" in values:
            self.fields[values["name"]] = values.get("value", "")


class Dex:
    """One browser's dealings with the issuer, with its own cookies there."""

    def __init__(self, ca_file: str) -> None:
        context = ssl.create_default_context(cafile=ca_file)
        self._client = httpx.Client(verify=context, trust_env=False, follow_redirects=False, timeout=15)

    def sign_in(self, authorization_url: str, email: str, password: str, client: str) -> str | None:
        """From foyer's redirect to the one back: the URL under `client` that Dex sends the browser to.

        None when Dex shows its form again, as it does for a wrong password.
        """
        url, page = self._follow("GET", authorization_url, client)
        form = Form(page)
        assert form.action is not None, f"no sign-in form at {url}"
        assert form.method == "post", f"the form at {url} is sent by {form.method}"
        assert {"login", "password"} <= form.fields.keys(), f"not a password form: {sorted(form.fields)}"
        fields = form.fields | {"login": email, "password": password}
        url, page = self._follow("POST", urljoin(url, form.action), client, fields)
        return url if url.startswith(client) else None

    def _follow(
        self, method: str, url: str, client: str, form: dict[str, str] | None = None
    ) -> tuple[str, str]:
        """Redirects are followed at the issuer, and never to the client."""
        for _ in range(10):
            answer = self._client.request(method, url, data=form)
            if not answer.has_redirect_location:
                return url, answer.text
            url, method, form = urljoin(url, answer.headers["location"]), "GET", None
            if url.startswith(client):
                return url, ""
        raise AssertionError("Dex redirects in circles")

    def close(self) -> None:
        self._client.close()

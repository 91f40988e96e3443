"""A browser at foyer's origin: one HTTP version, one cookie jar, exact bytes in request lines.

It builds on transports of httpx and not on its client, which would normalise paths, add fields
and keep cookies by rules of its own. Redirects are answers here like any other.
"""

import asyncio
import queue
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx

from tests.e2e.harness.cookies import CookieJar
from tests.e2e.harness.dex import Dex
from tests.e2e.harness.http2 import HTTP2Transport
from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.loop import LoopThread
from tests.e2e.harness.sealing import Sealing

SESSION = "__Host-krm-foyer-session"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Web:
    """What all browsers of a run have in common: whom they trust, where they run, who listens in."""

    ca_file: str
    loop: LoopThread
    leaks: Leaks
    sealing: Sealing


class Ending(Enum):
    """How a response ended, as its reader can tell."""

    CLEAN = "clean"
    ABORTED = "aborted"


class Watch:
    """An open response read line by line, each line with the time it came (monotonic seconds)."""

    def __init__(self, response: httpx.Response, loop: LoopThread, leaks: Leaks) -> None:
        self.response = response
        self.headers = response.headers
        self.error = ""
        self.seconds_waited = 0.0
        self._leaks = leaks
        self._lines: queue.Queue[str | Ending] = queue.Queue()
        self._ending: Ending | None = None
        self._reading = loop.start(self._read())

    async def _read(self) -> None:
        ending = Ending.ABORTED
        try:
            async for line in self.response.aiter_lines():
                self._leaks.saw("a line of a watch", line.encode())
                self._lines.put(line)
            ending = Ending.CLEAN
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            self.error = repr(error)
        finally:
            self._lines.put(ending)
            await self.response.aclose()

    def event(self, within: float = 5.0) -> dict[str, Any]:
        """The next watch event; AssertionError when there is none within the time."""
        event: dict[str, Any] = httpx.Response(200, text=self.line(within)).json()
        return event

    def line(self, within: float = 5.0) -> str:
        """The next line; AssertionError when there is none within the time."""
        line = self._next(within)
        assert isinstance(line, str), f"the watch ended ({line.value}) where an event was due"
        return line

    def change(self, within: float = 5.0) -> dict[str, Any]:
        """The next event that is no BOOKMARK, of which the API server sends one a minute."""
        while (event := self.event(within))["type"] == "BOOKMARK":
            pass
        return event

    def events_to(self, kind: str, within: float = 5.0) -> list[dict[str, Any]]:
        """The next events up to the first one of this type, which is the last of them."""
        events = [self.event(within)]
        while events[-1]["type"] != kind:
            events.append(self.event(within))
        return events

    def ending(self, within: float = 5.0) -> Ending:
        """How it ends, past the lines that still come before."""
        while self._ending is None:
            line = self._next(within)
            if isinstance(line, Ending):
                self._ending = line
        return self._ending

    def is_open(self) -> bool:
        """It has not ended, as far as anything has arrived."""
        return not self._reading.done()

    def _next(self, within: float) -> str | Ending:
        start = time.monotonic()
        try:
            return self._lines.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"nothing on the watch within {within:g} s") from None
        finally:
            self.seconds_waited = time.monotonic() - start


class Upload:
    """A request whose content comes when the test says so; the answer is waited for apart."""

    def __init__(self, loop: LoopThread) -> None:
        self._loop = loop
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.begun = threading.Event()
        self.answer: Future[httpx.Response] = Future()

    async def content(self) -> AsyncIterator[bytes]:
        """What httpx reads, once it has sent the head: ends when the test finishes it."""
        self.begun.set()
        while (part := await self._parts.get()) is not None:
            yield part

    def send(self, part: bytes) -> None:
        self._loop.run(self._parts.put(part))

    def finish(self) -> httpx.Response:
        """End the content and wait for the answer."""
        self._loop.run(self._parts.put(None))
        return self.answer.result(15)


OpenBrowser = Callable[..., "Browser"]
"""`open_browser(http_version, cookies, origin)`: the last two have defaults."""


class Browser:
    """One browser. `http_version` is `HTTP/1.1` or `HTTP/2`, and every answer is checked to be in it."""

    def __init__(
        self, web: Web, origin: str, http_version: str, cookies: Mapping[str, str] | None = None
    ) -> None:
        self.origin = origin
        self.http_version = http_version
        self.jar = CookieJar(cookies)
        self._web = web
        self._loop = web.loop
        self._leaks = web.leaks
        self._csrf = ("", "")
        self._transport = self._loop.run(self._make_transport())

    # Requests

    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | None = None,
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> httpx.Response:
        """A request and its whole answer. `target` goes out byte for byte."""
        return self._loop.run(self._whole(method, target, headers or {}, content))

    def get(self, target: str, **headers: str) -> httpx.Response:
        """A GET; `accept_language="de"` becomes the field `accept-language`."""
        return self.request("GET", target, _fields(headers))

    def change(self, method: str, target: str, content: bytes = b"", **headers: str) -> httpx.Response:
        """A changing request as a page makes it: CSRF token, `Origin`, JSON unless said otherwise."""
        return self.request(method, target, JSON | self.proof() | _fields(headers), content)

    def upload(self, method: str, target: str) -> Upload:
        """A changing request whose content is still to come."""
        upload = Upload(self._loop)
        fields = JSON | self.proof()
        upload.answer = self._loop.start(self._whole(method, target, fields, upload.content()))
        assert upload.begun.wait(10), "the head of the upload was not sent"
        return upload

    def watch(self, target: str, **headers: str) -> Watch:
        """Open a response that goes on, and return as soon as its head is there."""
        response = self._loop.run(self._head("GET", target, _fields(headers), None))
        assert response.status_code == 200, f"{target}: {response.status_code}"
        return Watch(response, self._loop, self._leaks)

    def head_of(self, target: str, **headers: str) -> httpx.Response:
        """The head of an answer that may go on; the rest is given up."""
        response = self._loop.run(self._head("GET", target, _fields(headers), None))
        self._loop.run(response.aclose())
        return response

    def all_at_once(self, targets: Sequence[str]) -> list[httpx.Response]:
        """A GET of each, none waiting for another."""

        async def gather() -> list[httpx.Response]:
            return await asyncio.gather(*(self._whole("GET", target, {}, None) for target in targets))

        return self._loop.run(gather())

    def close(self) -> None:
        """Leave: the connections close with whatever is open on them."""
        self._loop.run(self._transport.aclose())

    async def _make_transport(self) -> httpx.AsyncBaseTransport:
        context = ssl.create_default_context(cafile=self._web.ca_file)
        if self.http_version == "HTTP/2":
            return HTTP2Transport(context)
        return httpx.AsyncHTTPTransport(verify=context)

    async def _whole(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpx.Response:
        response = await self._head(method, target, headers, content)
        try:
            body = b"".join([chunk async for chunk in response.aiter_raw()])
        finally:
            await response.aclose()
        self._leaks.saw(f"{method} {target}", body)
        return httpx.Response(
            response.status_code, headers=response.headers, content=body, extensions=response.extensions
        )

    async def _head(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpx.Response:
        timeouts = {"connect": 10.0, "read": 90.0, "write": 30.0, "pool": 10.0}
        request = httpx.Request(
            method,
            self.origin,
            headers=self.jar.header() | dict(headers),
            content=content or None,
            extensions={"target": target.encode("latin-1"), "timeout": timeouts},
        )
        request.method = method  # httpx writes it in upper case, but methods are case-sensitive
        response = await self._transport.handle_async_request(request)
        assert response.http_version == self.http_version
        self._look_at(f"{method} {target}", response)
        self.jar.store(response.headers.get_list("set-cookie"))
        return response

    def _look_at(self, where: str, response: httpx.Response) -> None:
        """Every field but `Set-Cookie` is searched; what `Set-Cookie` brings is a secret elsewhere."""
        for name, value in response.headers.multi_items():
            if name != "set-cookie":
                self._leaks.saw(f"{where}: {name}", value.encode("latin-1"))
                continue
            cookie, _, rest = value.partition("=")
            sealed = rest.partition(";")[0]
            if sealed:
                self._leaks.learn(f"the cookie {cookie}", sealed)
            if sealed and cookie == SESSION:
                self._web.sealing.open(sealed)

    # Sign-in

    def sign_in(self, email: str, password: str = "password", return_to: str = "/") -> httpx.Response:
        """The whole login through Dex's form; foyer's answer to the callback."""
        callback = self.at_issuer(self.start_login(return_to), email, password)
        assert callback is not None, f"Dex did not sign in {email}"
        return self.call_back(callback)

    def start_login(self, return_to: str = "/") -> str:
        """Go to the login route: the authorization URL that foyer redirects to."""
        answer = self.get(f"/auth/login?return_to={quote(return_to, safe='')}")
        assert answer.status_code == 302, f"{answer.status_code}: {answer.text[:300]}"
        location = str(answer.headers["location"])
        self._leaks.learn_challenge(parse_qs(urlsplit(location).query)["code_challenge"][0])
        return location

    def at_issuer(self, authorization_url: str, email: str, password: str = "password") -> str | None:
        """Fill in Dex's form: the callback's target at foyer, or None when Dex refused."""
        dex = Dex(self._web.ca_file)
        try:
            url = dex.sign_in(authorization_url, email, password, self.origin)
        finally:
            dex.close()
        if url is None:
            return None
        query = urlsplit(url).query
        self._leaks.learn("an authorization code", parse_qs(query)["code"][0])
        return url.removeprefix(self.origin)

    def call_back(self, target: str) -> httpx.Response:
        """Follow the issuer's redirect back to foyer."""
        return self.get(target, sec_fetch_dest="document", sec_fetch_mode="navigate")

    def session(self) -> dict[str, Any]:
        """What foyer says of the session."""
        answer = self.get("/auth/session")
        session: dict[str, Any] = answer.json()
        return session

    def proof(self) -> dict[str, str]:
        """What a page sends with a change: the CSRF token of the present session, and its origin."""
        cookie = self.jar.cookies[SESSION]
        if self._csrf[0] != cookie:
            self._csrf = (cookie, self.session()["csrfToken"])
        return {"x-csrf-token": self._csrf[1], "origin": self.origin}


def _fields(keywords: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in keywords.items()}

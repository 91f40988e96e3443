"""The whole demo over its sockets, as a browser uses it."""

import asyncio
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from foyer.config import Address
from foyer.demo.people import ADA, BOB, Person
from foyer.demo.run import FOYERS, Demo, Ingress, Started, welcome
from foyer.demo.serving import Files, reachable
from foyer.exchange.ports import Application
from foyer.front.routes import Route
from foyer.observe import Log
from foyer.protocol.events import RequestHead
from tests.demo.fakes import FakeSide

NOTES = "/k8s/apis/example.com/v1/namespaces/demo/notes"


class Visitor:
    """A browser that keeps its cookies and follows what it is told to."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self.client = client
        self.url = url
        self.csrf: dict[str, str] = {}

    async def sign_in(self, person: Person) -> dict[str, Any]:
        form = await self.client.get(f"{self.url}/auth/login", follow_redirects=True)
        inputs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form.text)
        fields = {name: unescape(value) for name, value in inputs}
        sent = fields | {"email": person.email}
        page = await self.client.post(str(form.url.copy_with(query=None)), data=sent, follow_redirects=True)
        assert (page.status_code, str(page.url)) == (200, f"{self.url}/")
        session: dict[str, Any] = (await self.get("/auth/session")).json()
        self.csrf = {session["csrfHeader"]: session["csrfToken"], "Origin": self.url}
        return session

    async def get(self, path: str) -> httpx.Response:
        return await self.client.get(self.url + path)

    async def post(self, path: str, body: Any = None) -> httpx.Response:
        return await self.client.post(self.url + path, json=body, headers=self.csrf)


@asynccontextmanager
async def demo() -> AsyncIterator[Started]:
    """A demo that is ready."""
    with Files() as files:
        running = Demo(Address("127.0.0.1", 0), files, Log(lambda line: True))
        started = await running.start()
        try:
            yield started
        finally:
            await running.stop()


@asynccontextmanager
async def visitor(started: Started, *, http2: bool) -> AsyncIterator[Visitor]:
    context = ssl.create_default_context(cafile=started.ca_file)
    async with httpx.AsyncClient(verify=context, http2=http2, trust_env=False, timeout=20) as client:
        visiting = Visitor(client, started.url)
        for _ in range(10_000):
            if (await visiting.get("/readyz")).status_code == 200:
                break
        yield visiting


def run(test: Callable[[Visitor], Awaitable[None]], *, http2: bool) -> None:
    async def whole() -> None:
        async with demo() as started, visitor(started, http2=http2) as visiting:
            await test(visiting)

    asyncio.run(whole())


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_the_editor_signs_in_and_what_she_changes_arrives_on_an_open_watch(http2: bool) -> None:
    async def test(ada: Visitor) -> None:
        session = await ada.sign_in(ADA)
        assert (session["email"], session["displayName"]) == ("ada@example.com", "Ada Editor")
        version = (await ada.get(NOTES)).json()["metadata"]["resourceVersion"]
        watch = f"{ada.url}{NOTES}?watch=1&resourceVersion={version}"
        async with ada.client.stream("GET", watch) as answer:
            lines = answer.aiter_lines()
            head = {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"generateName": "n-"}}
            created = await ada.post(NOTES, head | {"spec": {"text": "hello"}})
            assert created.status_code == 201
            event = json.loads(await anext(lines))
            assert (event["type"], event["object"]) == ("ADDED", created.json())
            assert (await ada.post("/auth/logout")).status_code == 204
            # The session's end cuts the watch, and a cut can never pass for an end.
            with pytest.raises(httpx.TransportError):
                await anext(lines)
        assert (await ada.get("/auth/session")).status_code == 401

    run(test, http2=http2)


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_her_notes_are_a_stream_and_a_stream_of_what_is_not_hers_to_see_is_refused(http2: bool) -> None:
    scope = "/stream/v1?group=example.com&version=v1&resource=notes&namespace=demo"

    async def test(ada: Visitor) -> None:
        await ada.sign_in(ADA)
        async with ada.client.stream("GET", ada.url + scope) as answer:
            events = _events(answer)
            snapshot = [await anext(events) for _ in range(6)]
            assert [event["type"] for event in snapshot] == ["reset", *["added"] * 4, "synced"]
            head = {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"generateName": "n-"}}
            created = (await ada.post(NOTES, head | {"spec": {"text": "hello"}})).json()
            event = await anext(events)
            assert (event["type"], event["object"]["spec"]) == ("added", created["spec"])
            assert "managedFields" not in event["object"]["metadata"]
            assert (await ada.post("/auth/logout")).status_code == 204
            with pytest.raises(httpx.TransportError):
                await anext(events)
        await ada.sign_in(BOB)
        refused = await ada.get("/stream/v1?version=v1&resource=secrets&namespace=demo")
        assert '"code":"FORBIDDEN"' in refused.text
        assert 'User \\"bob@example.com\\" cannot' in refused.text

    run(test, http2=http2)


async def _events(answer: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in answer.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_the_reader_is_refused_by_kubernetes_in_its_own_words() -> None:
    async def test(bob: Visitor) -> None:
        await bob.sign_in(BOB)
        assert len((await bob.get(NOTES)).json()["items"]) == 4
        refused = await bob.get("/k8s/api/v1/namespaces/demo/secrets")
        assert (refused.status_code, refused.json()["reason"]) == (403, "Forbidden")
        assert 'User "bob@example.com" cannot list resource "secrets"' in refused.json()["message"]
        assert (await bob.post(NOTES, {})).json()["reason"] == "Forbidden"

    run(test, http2=True)


def test_the_page_is_at_the_root_and_the_others_behind_their_prefixes() -> None:
    async def test(anyone: Visitor) -> None:
        page = await anyone.get("/")
        assert "/notes.js" in page.text
        issuer = (await anyone.get("/issuer/.well-known/openid-configuration")).json()["issuer"]
        assert issuer == f"{anyone.url}/issuer"
        assert (await anyone.get("/notes.js")).status_code == 200
        assert (await anyone.get("/healthz")).status_code == 200
        assert (await anyone.get("/auth/session")).json() == {"authenticated": False}
        assert (await anyone.get("/_foyer/style.css")).headers["content-type"].startswith("text/css")
        assert (await anyone.get(NOTES)).json()["reason"] == "Unauthorized"

    run(test, http2=True)


def _demo(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "foyer.cli", "demo", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_says_where_it_is_and_leaves_nothing_behind() -> None:
    with _demo("-listen", "127.0.0.1:0") as running:
        assert running.stdout is not None
        ca_file = next(
            found[1] for line in running.stdout if (found := re.search(r"--cacert (\S+) https://127", line))
        )
        assert Path(ca_file).read_bytes().startswith(b"-----BEGIN CERTIFICATE")
        running.send_signal(signal.SIGTERM)
        assert running.wait(10) == 0
    assert not Path(ca_file).parent.exists()


def test_an_address_that_is_taken_is_said_to_be() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with _demo("-listen", address) as refused:
            _, said = refused.communicate(timeout=10)
        assert (refused.returncode, f"cannot listen on {address}: Address already in use\n" in said) == (
            1,
            True,
        )


class Named:
    """An `Application` that only remembers what came to it."""

    def __init__(self) -> None:
        self.targets: list[bytes] = []

    def begin(self, side: object, head: RequestHead) -> Any:
        self.targets.append(head.target)

    def unreadable(self, reason: str) -> None:
        raise AssertionError(reason)

    def flood(self, kind: str) -> None:
        raise AssertionError(kind)


def test_whole_segments_are_routed() -> None:
    foyer, issuer, page = Named(), Named(), Named()
    ingress: Application = Ingress(foyer, issuer, page)
    foyers = [b"/auth/login?x", b"/k8s", b"/stream/v1", b"/_foyer/x", b"/healthz", b"*", b"host:443", b""]
    issuers = [b"/issuer", b"/issuer/authorize?a=b"]
    pages = [b"/", b"/?a=/k8s", b"/authors", b"/k8sx", b"//k8s", b"/notes.js", b"/x/k8s/", b"/issuers"]
    for target in [*foyers, *issuers, *pages]:
        ingress.begin(FakeSide(), RequestHead(b"GET", target, []))
    assert (foyer.targets, issuer.targets, page.targets) == (foyers, issuers, pages)


def test_every_route_of_foyer_but_its_start_page_is_behind_a_prefix() -> None:
    for route in Route:
        if route.value.startswith("/") and route.value != "/":
            assert route.value.split("/")[1].encode() in FOYERS


def test_the_welcome_says_where_and_who() -> None:
    said = welcome(Started("https://127.0.0.1:8443", "ca.crt"))
    for words in (
        "https://127.0.0.1:8443/",
        "Ada Editor may change everything",
        "Bob Reader may only read",
        "--cacert ca.crt",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("host", "name"), [("", "localhost"), ("0.0.0.0", "localhost"), ("::", "localhost"), ("::1", "::1")]
)
def test_every_address_of_this_machine_is_also_localhost(host: str, name: str) -> None:
    assert reachable(host) == name

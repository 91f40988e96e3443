"""`foyer demo`: the issuer, the API server, foyer and an application, in one process on one loop.

The application's page and foyer share one origin, as behind an ingress: foyer gets its own
prefixes, the page all the rest. foyer itself is composed as `serve` composes it, from the same
flags, and reaches the other two over TLS on this machine.
"""

import asyncio
import base64
import secrets
import signal
import sys
import time
from dataclasses import dataclass

import uvloop

from foyer.app import Foyer
from foyer.config import Address, load
from foyer.demo import certificates, contents
from foyer.demo.apiserver.api import API
from foyer.demo.apiserver.authentication import Authenticator, TrustedIssuer
from foyer.demo.apiserver.store import Store
from foyer.demo.issuer.forms import Client
from foyer.demo.issuer.provider import Issuer
from foyer.demo.issuer.tokens import Signer
from foyer.demo.people import PEOPLE, POLICY
from foyer.demo.server import MAX_CONTENT, Limit
from foyer.demo.serving import Files, Serving, reachable
from foyer.demo.site import Site
from foyer.exchange.ports import Application, BrowserReceiver, BrowserSide
from foyer.observe import LineWriter, Log
from foyer.protocol.events import RequestHead

LOOPBACK = "127.0.0.1"
"""Where the API server listens: only foyer talks to it."""

CLIENT = "foyer-demo"

FOYERS = frozenset((b"auth", b"k8s", b"stream", b"fleet", b"targets", b"_foyer", b"healthz", b"readyz"))
"""The first path segments that are foyer's (spec 01, Routes)."""


@dataclass(frozen=True, slots=True)
class Started:
    """Where the application is, and the file of the authority that its certificate is from."""

    url: str
    ca_file: str


class Ingress:
    """An `Application` that routes whole path segments, as an ingress in front of both would."""

    def __init__(self, foyer: Application, page: Application) -> None:
        self._foyer = foyer
        self._page = page

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """To foyer or to the page."""
        segment = head.target.partition(b"?")[0].split(b"/")[1:2]
        # What is no path (CONNECT, OPTIONS *) is foyer's to refuse.
        mine = not head.target.startswith(b"/") or segment[0] in FOYERS
        return (self._foyer if mine else self._page).begin(side, head)


class Demo:
    """Everything, from its start to its end."""

    def __init__(self, listen: Address, files: Files, log: Log) -> None:
        self._listen = listen
        self._files = files
        self._log = log
        self._foyer: Foyer | None = None

    async def start(self) -> Started:
        """Listens and composes. Raises OSError when the address cannot be had."""
        made = certificates.make([self._listen.host], time.time())
        ca_file, context = self._files.tls(made)
        self._serving = serving = Serving(context)
        front, port = await serving.listen(self._listen.host, self._listen.port)
        host = reachable(self._listen.host)
        url = serving.url(host, port)
        secret = secrets.token_urlsafe(24)
        client = Client(CLIENT, secret, (f"{url}/auth/callback",))
        issuer_url, trusted = await self._start_issuer(host, client)
        api_url = await self._start_api(trusted)
        self._foyer = self._compose(url, issuer_url, api_url, ca_file, secret)
        front.application = Ingress(self._foyer.front, serving.server(Site()))
        return Started(url, ca_file)

    async def _start_issuer(self, host: str, client: Client) -> tuple[str, TrustedIssuer]:
        # The browser goes there too, so it is reachable wherever the demo is.
        door, port = await self._serving.listen(self._listen.host, 0)
        url = self._serving.url(host, port)
        signer = Signer()
        door.application = self._serving.server(Issuer(url, client, PEOPLE, signer))
        keys = signer.keys()
        return url, TrustedIssuer(url, client.id, lambda: keys)

    async def _start_api(self, trusted: TrustedIssuer) -> str:
        store = Store(version=contents.first_version(time.time()))
        contents.furnish(store, time.time())
        api = API(store, POLICY, Authenticator((trusted,)))
        door, port = await self._serving.listen(LOOPBACK, 0)
        door.application = self._serving.server(api, Limit(MAX_CONTENT, api.too_large(MAX_CONTENT)))
        return self._serving.url(LOOPBACK, port)

    def _compose(self, url: str, issuer_url: str, api_url: str, ca_file: str, secret: str) -> Foyer:
        """foyer from the flags that `serve` would be given."""
        keys_file = self._files.write("session-keys", base64.b64encode(secrets.token_bytes(32)))
        flags = {
            "listen": str(self._listen),
            "public-url": url,
            "oidc-issuer": issuer_url,
            "oidc-client-id": CLIENT,
            "oidc-client-secret-file": self._files.write("client-secret", secret.encode()),
            "oidc-ca-file": ca_file,
            "kubernetes-server": api_url,
            "kubernetes-ca-file": ca_file,
            "session-keys-file": keys_file,
        }
        foyer = Foyer(load([f"-{name}={value}" for name, value in flags.items()]), self._log)
        foyer.compose()
        return foyer

    async def stop(self) -> None:
        """Ends everything at once: nobody drains a demo."""
        self._serving.close()
        if self._foyer is not None:
            await self._foyer.close()
        await asyncio.sleep(0)  # aborted transports report their end in the next turn


def welcome(started: Started) -> str:
    """What a person needs to know."""
    people = "\n".join(
        f"  {person.email}, password {person.password}: {person.name} {person.may}" for person in PEOPLE
    )
    return f"""
foyer demo: {started.url}/

Who can sign in:
{people}

The certificate was made just now, so a browser will ask whether you mean it: for this address and
for the issuer's. Nothing here leaves this machine or outlives the process.

  curl --cacert {started.ca_file} {started.url}/auth/session

Log lines follow. Ctrl-C ends it.
"""


async def _run(listen: Address, files: Files, log: Log) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    demo = Demo(listen, files, log)
    started = await demo.start()
    print(welcome(started), flush=True)
    await ended.wait()
    await demo.stop()


def main(listen: Address) -> int:
    """Runs until SIGTERM or SIGINT; the process's exit status."""
    writer = LineWriter()
    try:
        with Files() as files:
            uvloop.run(_run(listen, files, Log(writer)))
    except OSError as error:
        print(f"foyer demo: cannot listen on {listen}: {error.strerror or error}", file=sys.stderr)
        return 1
    else:
        return 0
    finally:
        writer.close()

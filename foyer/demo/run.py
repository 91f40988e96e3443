"""`foyer demo`: the issuer, the API server, foyer and an application, in one process on one loop.

The application's page and foyer share one origin, as behind an ingress: foyer gets its own
prefixes, the page all the rest. So does the issuer, which would have an origin of its own anywhere
else: here a browser is then asked about one certificate and not two. foyer itself is composed as
`serve` composes it, from the same flags, and reaches the issuer and the API server over TLS on
this machine.
"""

import asyncio
import base64
import os
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

ISSUER = b"issuer"
"""The issuer's."""


@dataclass(frozen=True, slots=True)
class Started:
    """Where the application is, and the file of the authority that its certificate is from."""

    url: str
    ca_file: str


class Ingress:
    """An `Application` that routes whole path segments, as an ingress in front of all three would."""

    def __init__(self, foyer: Application, issuer: Application, page: Application) -> None:
        self._foyer = foyer
        self._page = page
        self._routes = dict.fromkeys(FOYERS, foyer) | {ISSUER: issuer}

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """To foyer, to the issuer or to the page."""
        if not head.target.startswith(b"/"):
            # What is no path (CONNECT, OPTIONS *) is foyer's to refuse.
            return self._foyer.begin(side, head)
        segment = head.target.partition(b"?")[0].split(b"/")[1]
        return self._routes.get(segment, self._page).begin(side, head)

    def unreadable(self, reason: str) -> None:
        """Of connections, not of requests: foyer's to log."""
        self._foyer.unreadable(reason)

    def flood(self, kind: str) -> None:
        """Of connections, not of requests: foyer's to log."""
        self._foyer.flood(kind)


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
        back, api_port = await serving.listen(LOOPBACK, 0)
        # The last that is waited for: whoever comes in finds everything there.
        front, port = await serving.listen(self._listen.host, self._listen.port)
        url = serving.url(reachable(self._listen.host), port)
        signer, secret = Signer(), secrets.token_urlsafe(24)
        issuer_url = f"{url}/{ISSUER.decode()}"
        issuer = Issuer(issuer_url, Client(CLIENT, secret, (f"{url}/auth/callback",)), PEOPLE, signer)
        back.application = self._api(issuer_url, signer)
        api_url = serving.url(LOOPBACK, api_port)
        self._foyer = self._compose(url, issuer_url, api_url, ca_file, secret)
        front.application = Ingress(self._foyer.front, serving.server(issuer), serving.server(Site()))
        return Started(url, ca_file)

    def _api(self, issuer_url: str, signer: Signer) -> Application:
        """The API server, which takes the tokens of the one issuer."""
        store = Store(version=contents.first_version(time.time()))
        contents.furnish(store, time.time())
        keys = signer.keys()
        api = API(store, POLICY, Authenticator((TrustedIssuer(issuer_url, CLIENT, lambda: keys),)))
        return self._serving.server(api, Limit(MAX_CONTENT, api.too_large(MAX_CONTENT)))

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
        foyer.discover()
        return foyer

    async def stop(self) -> None:
        """Ends everything at once: nobody drains a demo."""
        self._serving.close()
        if self._foyer is not None:
            await self._foyer.close()
        await asyncio.sleep(0)  # aborted transports report their end in the next turn


def welcome(started: Started) -> str:
    """What a person needs to know."""
    people = "\n".join(f"  {person.name} {person.may}" for person in PEOPLE)
    return f"""
Open {started.url}/ and sign in, without a password, as one of two:

{people}

The browser asks once whether you mean it, for the certificate was made just now. Nothing here leaves
this machine or outlives the process. Without a browser:

  curl --cacert {started.ca_file} {started.url}/auth/session

Ctrl-C ends it. foyer's log lines follow.
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
        # asyncio's own words for a taken port repeat the address in another spelling.
        why = os.strerror(error.errno) if error.errno else error
        print(f"foyer demo: cannot listen on {listen}: {why}", file=sys.stderr)
        print("foyer demo -listen 127.0.0.1:0 takes a port that is free", file=sys.stderr)
        return 1
    else:
        return 0
    finally:
        writer.close()

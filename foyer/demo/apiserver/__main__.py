"""The API server alone, as a process of its own: `python -m foyer.demo.apiserver`.

For benchmarks and tests by hand. Its first line on stdout is a JSON object that says where it
is and who may come; then it serves until SIGTERM or SIGINT.
"""

import argparse
import asyncio
import csv
import json
import secrets
import signal
import ssl
import sys
import time
from collections.abc import Mapping, Sequence

import uvloop

from foyer.config.values import Address, address
from foyer.demo import certificates, contents
from foyer.demo.apiserver.api import API
from foyer.demo.apiserver.authentication import Authenticator, TrustedIssuer
from foyer.demo.apiserver.rbac import AUTHENTICATED, MASTERS, User
from foyer.demo.apiserver.store import HISTORY_CHANGES, Store
from foyer.demo.issuer.forms import Client
from foyer.demo.issuer.provider import Issuer
from foyer.demo.issuer.tokens import TOKEN_LIFETIME, Signer
from foyer.demo.people import PEOPLE, POLICY, WATCHER, crowd
from foyer.demo.server import MAX_CONTENT, Limit
from foyer.demo.serving import Files, Serving, reachable
from foyer.net.listener import server_context

AUDIENCE = "foyer"
"""The client that the issuer's tokens are for."""


def _flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m foyer.demo.apiserver", description=__doc__)
    parser.add_argument("--listen", type=address, default=Address("127.0.0.1", 0), metavar="HOST:PORT")
    parser.add_argument(
        "--plain", action="store_true", help="no TLS: HTTP/1.1, and HTTP/2 by prior knowledge"
    )
    parser.add_argument("--tls-cert-file", help="instead of a certificate made on the spot")
    parser.add_argument("--tls-key-file")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="ConfigMaps to fill the namespace demo with"
    )
    parser.add_argument("--seed-bytes", type=int, default=1024, metavar="BYTES", help="size of each, as JSON")
    parser.add_argument(
        "--history", type=int, default=HISTORY_CHANGES, metavar="N", help="changes kept for watches"
    )
    parser.add_argument(
        "--no-watch-list", action="store_true", help="refuse streaming lists, as older servers do"
    )
    parser.add_argument(
        "--token-auth-file",
        metavar="CSV",
        help='who has which token: token,user,uid,"group1,group2" (Kubernetes)',
    )
    parser.add_argument("--issuer-listen", type=address, metavar="HOST:PORT", help="a stand-in issuer, too")
    parser.add_argument("--redirect-uri", action="append", default=[], metavar="URL", help="of its client")
    parser.add_argument(
        "--users", type=int, default=0, metavar="N", help="user-0001@example.com … can sign in there"
    )
    parser.add_argument("--id-token-ttl", type=int, default=TOKEN_LIFETIME, metavar="SECONDS")
    return parser


def read_tokens(path: str) -> Mapping[str, User]:
    """Kubernetes' static token file. Raises OSError, ValueError for a line without token, user and uid."""
    tokens: dict[str, User] = {}
    with open(path, newline="") as file:
        for row in csv.reader(file):
            token, name, uid, *groups = row
            listed = groups[0].split(",") if groups and groups[0] else []
            tokens[token] = User(name, (*listed, AUTHENTICATED), uid)
    return tokens


class _Running:
    """What one process serves."""

    def __init__(self, flags: argparse.Namespace, files: Files, serving: Serving) -> None:
        self._flags = flags
        self._files = files
        self._serving = serving
        self._tokens = dict(read_tokens(flags.token_auth_file)) if flags.token_auth_file else {}

    async def open(self, ca_file: str | None) -> dict[str, object]:
        """Starts everything; what the first line says. Raises OSError."""
        flags, serving = self._flags, self._serving
        said: dict[str, object] = {"caFile": ca_file} if ca_file else {}
        said |= self._accounts()
        issuers: tuple[TrustedIssuer, ...] = ()
        if flags.issuer_listen is not None:
            trusted, about = await self._issuer()
            issuers = (trusted,)
            said |= about
        store = Store(version=contents.first_version(time.time()), history_changes=flags.history)
        contents.furnish(store, time.time())
        contents.fill(store, flags.seed, flags.seed_bytes, time.time())
        authenticate = Authenticator(issuers, self._tokens)
        api = API(store, POLICY, authenticate, watch_list=not flags.no_watch_list)
        door, port = await serving.listen(flags.listen.host, flags.listen.port)
        door.application = serving.server(api, Limit(MAX_CONTENT, api.too_large(MAX_CONTENT)))
        return {"url": serving.url(reachable(flags.listen.host), port)} | said

    def _accounts(self) -> dict[str, object]:
        """Two tokens that need no issuer: one may do everything, one is for shared watches."""
        admin, watcher = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._tokens[admin] = User("admin", (MASTERS, AUTHENTICATED))
        self._tokens[watcher] = User(WATCHER, (AUTHENTICATED,))
        return {"adminToken": admin, "watchToken": watcher}

    async def _issuer(self) -> tuple[TrustedIssuer, dict[str, object]]:
        flags, serving = self._flags, self._serving
        door, port = await serving.listen(flags.issuer_listen.host, flags.issuer_listen.port)
        url = serving.url(reachable(flags.issuer_listen.host), port)
        client = Client(AUDIENCE, secrets.token_urlsafe(24), tuple(flags.redirect_uri))
        signer = Signer()
        people = [*PEOPLE, *crowd(flags.users)]
        issuer = Issuer(url, client, people, signer, lifetime=flags.id_token_ttl)
        door.application = serving.server(issuer)
        keys = signer.keys()
        about: dict[str, object] = {"issuer": url, "clientId": client.id, "clientSecret": client.secret}
        return TrustedIssuer(url, client.id, lambda: keys), about


def _tls(flags: argparse.Namespace, files: Files) -> tuple[str | None, ssl.SSLContext | None]:
    if flags.plain:
        return None, None
    if flags.tls_cert_file:
        return None, server_context(flags.tls_cert_file, flags.tls_key_file)
    hosts = [flags.listen.host, flags.issuer_listen.host if flags.issuer_listen else ""]
    return files.tls(certificates.make(hosts, time.time()))


async def _serve(flags: argparse.Namespace, files: Files) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    ca_file, context = _tls(flags, files)
    serving = Serving(context)
    print(json.dumps(await _Running(flags, files, serving).open(ca_file)), flush=True)
    await ended.wait()
    serving.close()
    await asyncio.sleep(0)  # aborted transports report their end in the next turn


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until a signal; the process's exit status."""
    parser = _flags()
    flags = parser.parse_args(arguments)
    if bool(flags.tls_cert_file) != bool(flags.tls_key_file):
        parser.error("--tls-cert-file and --tls-key-file go together")
    try:
        with Files() as files:
            uvloop.run(_serve(flags, files))
    except (OSError, ValueError) as error:
        print(f"cannot start: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""foyer between a scripted browser and a scripted upstream, in each pairing of HTTP versions.

One foyer runs per upstream version and configuration in each test process, on a loop and thread of
its own; browsers and upstream connections are fresh in every test. `Pairing` is what a test
sees, and what says afterwards that nothing was left behind.
"""

import asyncio
import base64
import itertools
import json
import os
import resource
import socket
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple, Unpack

import uvloop

from foyer.app import Foyer
from foyer.config import Config, load
from foyer.exchange.endings import Cause
from foyer.gate.wheel import TICK
from foyer.measures import Measures
from foyer.observe import Log
from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, IdToken, Session, SessionID, seal
from foyer.target import Target
from tests.support.browsers import BROWSERS, Exchange, H1Browser, H2Browser
from tests.support.certs import ORIGIN_HOST, write_authority, write_certificate
from tests.support.leaks import Leaks
from tests.support.script import Fields, Script
from tests.support.upstreams import UPSTREAMS, H1Upstream, H2Upstream

ORIGIN = f"https://{ORIGIN_HOST}"

JSON: Fields = [(b"content-type", b"application/json")]
TEXT: Fields = [(b"content-type", b"text/plain")]

CLIENT_SECRET = b"the client's secret at the issuer"

_nobody = socket.socket()
_nobody.bind(("127.0.0.1", 0))  # and never listens: nothing else on this machine takes the port
ISSUER = f"https://127.0.0.1:{_nobody.getsockname()[1]}"
"""An issuer that refuses connections: these tests seal their sessions without a login."""

ROOMY: dict[str, str] = {
    "session-request-rate": "100000",
    "session-request-burst": "100000",
    "max-session-concurrent-requests": "100000",
    "max-concurrent-requests": "100000",
    "max-target-in-flight": "100000",
    "max-response-bytes": "1GiB",
    "metrics-listen": "",
}
"""Flags that keep every bound out of the way: no test in here may meet one by being large or many."""

Entries = Mapping[str, Mapping[str, str]]
"""API servers by their names as targets, and what the targets file says of each beside its name."""

ONE_SERVER: Entries = {}
"""Without a targets file."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@dataclass(frozen=True)
class SignedIn:
    """A session's cookie and what a page of it sends with a change."""

    cookie: bytes
    csrf: bytes
    token: bytes

    @property
    def fields(self) -> Fields:
        """What a browser sends with every request."""
        return [(b"Cookie", self.cookie)]

    @property
    def change(self) -> Fields:
        """What it sends with a change."""
        return [*self.fields, (b"X-CSRF-Token", self.csrf), (b"Origin", ORIGIN.encode())]


class Hastened(uvloop.Loop):
    """A loop whose clock a test puts forward: nobody sleeps, and deadlines come, those of timers too."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0
        # Weak: uvloop forgets what it has called, and what was cancelled, and so is it forgotten here.
        self._timers: weakref.WeakSet[_Timer] = weakref.WeakSet()

    def time(self) -> float:
        return float(super().time()) + self._ahead

    def call_later(
        self,
        delay: float,
        callback: "Callable[[Unpack[Ts]], object]",
        *args: "Unpack[Ts]",
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As ever, and what `call_at` and asyncio's own sleeps and timeouts come to."""
        timer = _Timer(self.time() + delay, callback, args)
        timer.handle = super().call_later(delay, timer, context=context)
        self._timers.add(timer)
        return timer.handle

    def put_forward(self, seconds: float) -> None:
        """It is so much later, and whoever waited for a time that has come is called."""
        self._ahead += seconds
        now = self.time()
        for timer in sorted((timer for timer in self._timers if timer.when <= now), key=lambda one: one.when):
            timer.handle.cancel()
            self.call_soon(timer)


class _Timer:
    """What is called at a time, which may come sooner than uvloop has been told."""

    def __init__(self, when: float, callback: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self.when = when
        self.handle: asyncio.TimerHandle
        self._callback = callback
        self._arguments = arguments

    def __call__(self) -> None:
        self._callback(*self._arguments)


class Product:
    """A foyer on its own loop and thread, and the log lines it wrote."""

    def __init__(
        self,
        folder: Path,
        upstream_url: str,
        *,
        tls: bool,
        flags: dict[str, str],
        targets: Entries = ONE_SERVER,
    ) -> None:
        """`targets` are in a targets file; without any there is one API server, at `upstream_url`."""
        self.key = os.urandom(32)
        self.keyring = Keyring([self.key])
        self.lines: list[bytes] = []
        self.folder = folder
        self.flags = _flags(folder, upstream_url, tls, self.key, flags)
        if targets:
            del self.flags["kubernetes-server"], self.flags["kubernetes-ca-file"]
            self.flags["targets-file"] = str(self.write_targets(targets))
        self._loop = Hastened()
        self._thread = threading.Thread(target=self._loop.run_forever, name="foyer", daemon=True)
        self._thread.start()
        foyer = Foyer(self._load(), Log(self._write), self._load)
        self._foyer = self.run(_started(foyer))

    def _load(self) -> Config:
        return load([f"-{name}={value}" for name, value in self.flags.items()])

    def write_targets(self, targets: Entries) -> Path:
        """Writes the targets file, whose servers are verified by this test's own authority."""
        roots = str(self.folder / "ca.crt")
        listed = [{"name": name, "caFile": roots, **entry} for name, entry in targets.items()]
        file = self.folder / "targets.yaml"
        file.write_text(json.dumps({"targets": listed}))  # which is YAML as well
        return file

    def _write(self, line: bytes) -> bool:
        self.lines.append(line)
        return True

    @property
    def port(self) -> int:
        return self._foyer.port

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine on foyer's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=10)

    def ask(self, question: Callable[[], T]) -> T:
        """The result of a call on foyer's loop."""

        async def asked() -> T:
            return question()

        return self.run(asked())

    @property
    def open_exchanges(self) -> int:
        return self.ask(lambda: self._foyer.open_exchanges)

    def poll(self) -> None:
        """As once a second: foyer looks at its watched files."""
        self.ask(self._foyer.poll)

    def reload(self) -> None:
        """As on SIGHUP, when `flags` are what the configuration says now."""
        self.ask(self._foyer.reload)

    def target(self, name: str = "default") -> Target:
        """The parts of one of its API servers."""
        service = self._foyer._service
        assert service is not None
        return service._targets._by_name[name]

    @property
    def measures(self) -> Measures:
        return self._foyer.measures

    def pass_time(self, seconds: int) -> None:
        """So many ticks of foyer's timer, at once. Sessions' ends are on the wall clock: `later`."""
        self.run(self._pass_time(seconds))

    async def _pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self._loop.put_forward(TICK)
            self._foyer._wheel.turn(self._loop.time())
            for _ in range(3):  # what was touched is flushed, and what that brought about
                await asyncio.sleep(0)

    @contextmanager
    def later(self, seconds: float) -> Iterator[None]:
        """For as long as it lasts, sessions are judged as if it were so much later."""
        gate = self._foyer._service._gate  # type: ignore[union-attr]
        before = gate.clock
        gate.clock = lambda: before() + seconds
        try:
            yield
        finally:
            gate.clock = before

    def memory(self) -> int:
        """Resident bytes of this process, foyer's and the test's."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def cut(self, cause: Cause) -> None:
        """Cuts whatever is open."""

        def cut() -> None:
            for exchange in self._foyer.front.open_exchanges:
                exchange.cut(cause)

        self.ask(cut)

    def drain(self) -> None:
        """As at the beginning of an end: each connection takes no more requests. New ones are accepted."""

        def drain() -> None:
            for connection in list(self._foyer._listener._connections):
                connection.go_away()

        self.ask(drain)

    def on_uncaught(
        self, handler: "Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None"
    ) -> None:
        """Whom foyer's loop tells of an exception that nobody caught; None for the usual."""
        self.ask(lambda: self._loop.set_exception_handler(handler))

    def stop_serving(self, drain: float = 0.0) -> "Future[None]":
        """As after SIGTERM, with `drain` seconds for what is open. Does not wait for it."""
        return asyncio.run_coroutine_threadsafe(self._foyer.stop(drain=drain), self._loop)

    def stop(self) -> None:
        """As after SIGTERM, and close the loop."""
        self.stop_serving().result(timeout=10)
        self.close()

    def close(self) -> None:
        """End the thread and the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()


async def _started(foyer: Foyer) -> Foyer:
    await foyer.start()
    return foyer


def _flags(folder: Path, upstream_url: str, tls: bool, key: bytes, flags: dict[str, str]) -> dict[str, str]:
    """What `foyer serve` would be given for these flags, and the files they name."""
    files = {
        "session-keys-file": base64.b64encode(key),
        "oidc-client-secret-file": CLIENT_SECRET,
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    arguments = {
        "listen": "127.0.0.1:0",
        "public-url": ORIGIN,
        "oidc-issuer": ISSUER,
        "oidc-client-id": "foyer",
        "kubernetes-server": upstream_url,
        "kubernetes-ca-file": str(write_authority(folder)),
        **{name: str(folder / name) for name in files},
        **flags,
    }
    if tls:
        certificate, private_key = write_certificate(folder, ORIGIN_HOST)
        arguments |= {"tls-cert-file": str(certificate), "tls-key-file": str(private_key)}
    return arguments


class Pairing:
    """One test's browsers, upstream and foyer."""

    def __init__(
        self,
        browser_version: str,
        upstream: H1Upstream | H2Upstream,
        product: Product,
        leaks: Leaks,
        *,
        tls: bool,
        others: dict[str, H1Upstream | H2Upstream] | None = None,
    ) -> None:
        """`upstream` is the first target, or the only one; `others` are the rest by their names."""
        self.browser_version = browser_version
        self.upstream = upstream
        self.others = others or {}
        self.product = product
        self.leaks = leaks
        self.tls = tls
        self.script: Script = upstream.script
        self._browsers: list[H1Browser | H2Browser] = []
        self._first_line = len(product.lines)
        self.fault_expected = False
        self.me = self.signed_in()

    @property
    def upstream_version(self) -> str:
        return self.upstream.version

    @property
    def browser(self) -> H1Browser | H2Browser:
        """The first browser, connected when it is first asked for."""
        return self._browsers[0] if self._browsers else self.connect()

    def connect(self, version: str | None = None, **options) -> H1Browser | H2Browser:  # type: ignore[no-untyped-def]
        """Another browser."""
        kind = BROWSERS[version or self.browser_version]
        browser = kind(self.script, self.product.port, tls=self.tls, **options)
        self._browsers.append(browser)
        return browser

    def signed_in(self, **changes: object) -> SignedIn:
        """A new session, sealed without a login. `changes` are fields of `Session`."""
        now = int(time.time())
        token = _jwt(os.urandom(12).hex())
        values: dict[str, object] = {
            "issuer": ISSUER,
            "subject": "subject-of-ada",
            "email": "ada@example.test",
            "display_name": "Ada",
            "groups": ("editors",),
            "connector": None,
            "id_token": IdToken(token),
            "session_id": SessionID(os.urandom(16).hex()),
            "csrf_token": os.urandom(16).hex(),
            "issued_at": now,
            "ends_at": now + 3600,
            **changes,
        }
        session = Session(**values)  # type: ignore[arg-type]
        sealed = seal(session, self.product.keyring)
        for value, what in (
            (session.id_token, "an ID token"),
            (session.session_id, "a session ID"),
            (sealed, "a sealed cookie"),
            (base64.b64encode(self.product.key), "the session key"),
            (CLIENT_SECRET, "the client secret"),
        ):
            self.leaks.secret(value, what)
        return SignedIn(f"{COOKIE}={sealed}".encode(), session.csrf_token.encode(), bytes(session.id_token))

    # -- the usual requests

    def get(self, target: str | bytes, fields: Fields | None = None, *, method: str = "GET") -> Exchange:
        """A GET of the signed-in person's on the first browser."""
        return self.browser.request(method, target, [*self.me.fields, *(fields or [])])

    def post(
        self,
        target: str | bytes,
        fields: Fields | None = None,
        body: bytes | None = None,
        *,
        method: str = "POST",
        end: bool = True,
    ) -> Exchange:
        """A change with all its proofs on the first browser."""
        return self.browser.request(method, target, [*self.me.change, *(fields or [])], body, end=end)

    # -- what foyer logged

    @property
    def log(self) -> list[dict[str, object]]:
        """The lines of this test, as objects."""
        return [json.loads(line) for line in self.product.lines[self._first_line :]]

    def logged(self, msg: str) -> list[dict[str, object]]:
        """Waits for a line with this `msg`, and returns every one there is."""
        self.script.until(lambda: any(line["msg"] == msg for line in self.log), f"a log line {msg!r}")
        return [line for line in self.log if line["msg"] == msg]

    # -- afterwards

    def leave(self) -> None:
        """Close every connection from outside, and see foyer come to rest."""
        for browser in self._browsers:
            browser.close()
        upstreams = [self.upstream, *self.others.values()]
        try:
            self.script.until(lambda: self.product.open_exchanges == 0, "every exchange to be closed")
            unclaimed = [
                (request.method, request.target) for upstream in upstreams for request in upstream.arrived
            ]
        finally:
            for upstream in upstreams:
                upstream.arrived.clear()
                upstream.retire()
        assert unclaimed == [], "requests reached the upstream that no test expected"

    def check_leaks(self) -> None:
        """The scan over every response and log line of this test, and no fault of foyer's own in them."""
        for number, browser in enumerate(self._browsers):
            self.leaks.saw(f"what browser {number} received", b"".join(browser.seen))
        for line in self.product.lines[self._first_line :]:
            self.leaks.saw("a log line", line)
            assert self.fault_expected or b'"internal error"' not in line, line.decode()
        self.leaks.check()


class Products:
    """Every foyer of this test process, with the upstream each is pinned to."""

    def __init__(self, folder: Path) -> None:
        self.script = Script()
        self._folder = folder
        self._numbers = itertools.count()
        self._upstreams: dict[tuple[str, str], H1Upstream | H2Upstream] = {}
        self._products: dict[tuple[object, ...], Product] = {}

    def upstream(self, version: str, name: str = "") -> H1Upstream | H2Upstream:
        """The scripted API server of this version and name, started when it is first needed."""
        key = version, name
        if key not in self._upstreams:
            self._upstreams[key] = UPSTREAMS[version](self.script)
        return self._upstreams[key]

    def product(
        self, version: str, tls: bool, flags: dict[str, str], targets: Entries = ONE_SERVER
    ) -> Product:
        """The foyer of this configuration, started when it is first needed."""
        key = version, tls, *sorted(flags.items()), json.dumps(targets)
        if key not in self._products:
            self._products[key] = self.start(version, tls, flags, targets)
        return self._products[key]

    def start(self, version: str, tls: bool, flags: dict[str, str], targets: Entries = ONE_SERVER) -> Product:
        """A foyer of one's own, to be stopped by whoever asked for it.

        Its `targets` are scripted API servers of this version; what is given of each is beside its address.
        """
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return Product(
            folder,
            self.upstream(version).url,
            tls=tls,
            flags=ROOMY | flags,
            targets={
                name: {"server": self.upstream(version, name).url, **entry} for name, entry in targets.items()
            },
        )

    def pairing(
        self,
        browser_version: str,
        version: str,
        product: Product,
        *,
        tls: bool = True,
        targets: Entries = ONE_SERVER,
    ) -> Pairing:
        """What a test sees of a `product` with these `targets`."""
        upstreams = {name: self.upstream(version, name) for name in targets}
        first = next(iter(upstreams), "")
        upstream = upstreams.pop(first, None) or self.upstream(version)
        return Pairing(browser_version, upstream, product, Leaks(), tls=tls, others=upstreams)

    def discard(self, product: Product) -> None:
        """Use this one no more."""
        self._products = {key: kept for key, kept in self._products.items() if kept is not product}

    def stop(self) -> None:
        for product in self._products.values():
            product.stop()
        for upstream in self._upstreams.values():
            upstream.close()


def _jwt(subject: str) -> bytes:
    """Something of an ID token's shape. foyer reads none after login."""
    parts = ({"alg": "RS256"}, {"sub": subject}, {"not": "a signature"})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    return b".".join(encoded)

"""Composition and life of one foyer: what is made at start, watched while it runs, and ended in order.

The only place that knows every room. Spec 01, Process: ready within a second, SIGTERM drains for
up to 20 s and then aborts, a second signal aborts at once.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import ssl
import time
from collections.abc import Callable, Coroutine
from functools import partial

import uvloop

from foyer.config import Address, Config
from foyer.exchange.endings import Cause
from foyer.front import Front, Kubernetes
from foyer.gate.admission import Gate
from foyer.gate.wheel import TICK, Wheel
from foyer.identified import Identified
from foyer.k8s.call import ApiServer
from foyer.local import Local
from foyer.login.flow import Login, LoginSettings
from foyer.login.issuer import Issuer
from foyer.net.fetch import Fetcher
from foyer.net.files import FileError, WatchedFile, WatchedPair
from foyer.net.listener import Listener, server_context
from foyer.net.turn import Turn
from foyer.net.upstream import Upstream, client_context
from foyer.net.whole import whole_answer
from foyer.observe import LineWriter, Log
from foyer.pages.render import Pages
from foyer.session.keys import Keyring, KeysError

DRAIN_TIME = 20.0
"""Seconds that open requests get after SIGTERM (spec 01, Process)."""

ABORT_TIME = 1.0
"""Seconds that aborted connections get to be closed before the loop ends."""


class Foyer:
    """One replica: its listener, its upstreams, its clocks and its watched files."""

    def __init__(self, config: Config, log: Log) -> None:
        """Makes everything that needs no loop. Raises FileError or OSError for files that changed."""
        self._config = config
        self._log = log
        self._keys = WatchedFile(
            config.session.keys_file,
            Keyring.parse,
            refusal=KeysError,
            on_change=lambda _: log.keys_reloaded(),
            on_refused=log.keys_refused,
        )
        self._certificate: WatchedPair[ssl.SSLContext] | None = None
        if config.tls is not None:
            self._certificate = WatchedPair(
                config.tls.cert_file,
                config.tls.key_file,
                server_context,
                on_change=lambda _: log.certificate_reloaded(),
                on_refused=log.certificate_refused,
            )
        self._issuer_context = client_context(config.oidc.ca_file, extra=True)
        self._kubernetes_context = client_context(config.kubernetes.ca_file, extra=False)
        self._pages = Pages()
        self._stopping = False
        self.front: Front
        self._listener: Listener
        self._issuer: Issuer
        self._discovery: asyncio.Task[None]
        self._timer: asyncio.TimerHandle

    # Start.

    async def start(self) -> None:
        """Begins discovery and listens. Raises OSError when the address cannot be had."""
        self.compose()
        self._listener = Listener(self.front, self._turn, self._wheel, self._tls_context())
        address = self._config.listen
        await self._listener.open(address.host, address.port)
        self._log.listening(
            str(Address(address.host, self._listener.port)), tls=self._certificate is not None
        )

    def compose(self) -> None:
        """Everything but the listener, on the running loop: `front` can be served by any listener."""
        loop = asyncio.get_running_loop()
        config = self._config
        self._turn = Turn(loop)
        self._wheel = Wheel(loop.time())
        self._fetch = Fetcher(self._issuer_context, self._turn, self._wheel)
        server = config.kubernetes.server
        self._upstream = Upstream(server.host, server.port, self._kubernetes_context, self._turn, self._wheel)
        self._issuer = Issuer(
            config.oidc.issuer, config.oidc.client_id, self._secret, self._fetch, loop.time, self._issuer_line
        )
        self.front = self._front()
        self._discovery = loop.create_task(self._discover())
        self._timer = loop.call_later(TICK, self._tick)

    def _front(self) -> Front:
        config, pages, log = self._config, self._pages, self._log
        origin, timeout = config.public_url.url, config.session.absolute_timeout
        authority = config.kubernetes.server.authority.encode("ascii")
        gate = Gate(self._keyring, origin, timeout)
        login = Login(LoginSettings(origin, config.oidc.scopes, timeout), self._issuer, self._keyring)
        return Front(
            gate=gate,
            local=Local(
                gate=gate, login=login, pages=pages, log=log, clock=time.time, ready=lambda: self.ready
            ),
            identified=Identified(
                gate=gate,
                pages=pages,
                server=ApiServer(partial(whole_answer, self._upstream.open), authority),
                clock=time.time,
                origin=origin,
                absolute_timeout=timeout,
            ),
            pages=pages,
            log=log,
            kubernetes=Kubernetes(self._upstream, authority),
            clock=time.time,
        )

    def _keyring(self) -> Keyring:
        return self._keys.value

    def _issuer_line(self, message: str, **fields: str | float) -> None:
        self._log.info(message, **fields)

    def _secret(self) -> bytes:
        return self._config.oidc.client_secret.encode()

    def _tls_context(self) -> Callable[[], ssl.SSLContext] | None:
        certificate = self._certificate
        return None if certificate is None else (lambda: certificate.value)

    async def _discover(self) -> None:
        await self._issuer.run(asyncio.sleep)
        self._log.ready()

    def _tick(self) -> None:
        """The one timer: the wheel, and the files that may have changed."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK, self._tick)
        self._keys.poll()
        if self._certificate is not None:
            self._certificate.poll()
        self._wheel.turn(loop.time())

    def unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """An exception that nobody caught: a line of ours instead of a traceback with values in it."""
        error = context.get("exception")
        self._log.fault(error if isinstance(error, BaseException) else RuntimeError())

    @property
    def ready(self) -> bool:
        """The issuer has been discovered, and nothing is ending."""
        return self._issuer.ready and not self._stopping

    @property
    def port(self) -> int:
        """The port listened on."""
        return self._listener.port

    @property
    def open_exchanges(self) -> int:
        """Exchanges that are not over."""
        return len(self.front.open_exchanges)

    # End.

    async def stop(self, *, drain: float = DRAIN_TIME, at_once: asyncio.Event | None = None) -> None:
        """Takes nothing new, gives what is open `drain` seconds or until `at_once` is set, then aborts it."""
        self._stopping = True
        self._log.draining(self.open_exchanges)
        self._listener.stop_accepting()
        await _first(self._listener.emptied(), at_once, drain)
        for exchange in self.front.open_exchanges:
            exchange.cut(Cause.SHUTDOWN)
        await _first(self._listener.emptied(), None, ABORT_TIME)
        self._listener.abort()
        await self.close()

    async def close(self) -> None:
        """Ends what `compose` made."""
        self._timer.cancel()
        self._discovery.cancel()
        self._fetch.close()
        self._upstream.close()
        await asyncio.sleep(0)  # aborted transports report their end in the next turn


async def _first(
    done: Coroutine[object, object, object], at_once: asyncio.Event | None, seconds: float
) -> None:
    """Waits for `done`, for `at_once`, or for so many seconds, whichever is first."""
    waits: list[asyncio.Task[object]] = [asyncio.create_task(done)]
    if at_once is not None:
        waits.append(asyncio.create_task(at_once.wait()))
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


async def _run(foyer: Foyer) -> None:
    loop = asyncio.get_running_loop()
    signals: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]

    def signalled() -> None:
        next((event for event in signals if not event.is_set()), signals[-1]).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    loop.set_exception_handler(foyer.unexpected)
    await foyer.start()
    # What was made until now lives as long as the process: no collection need look at it again.
    gc.collect()
    gc.freeze()
    await signals[0].wait()
    await foyer.stop(at_once=signals[1])


def serve(config: Config) -> int:
    """Runs until SIGTERM or SIGINT; the process's exit status (spec 01, Process)."""
    writer = LineWriter()
    log = Log(writer)
    try:
        uvloop.run(_run(Foyer(config, log)))
    except (OSError, FileError) as error:
        log.error("cannot start", error=error.strerror if isinstance(error, OSError) else str(error))
        return 1
    else:
        log.stopped()
        return 0
    finally:
        writer.close()

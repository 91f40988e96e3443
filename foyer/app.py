"""The life of one foyer: what is made at start, watched and reloaded while it runs, and ended in order.

Spec 01, Process: ready within a second, SIGHUP reads the configuration again, SIGTERM drains for up
to 20 s and then aborts, a second signal aborts at once.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress

import uvloop

from foyer.config import REQUIRED, Address, Config, ConfigError, reloaded
from foyer.exchange.endings import Cause
from foyer.exchange.exchange import Exchange
from foyer.front.bare import Bare
from foyer.front.door import Door
from foyer.gate.wheel import TICK, Wheel
from foyer.measures import Measures
from foyer.net.files import FileError, WatchedPair
from foyer.net.listener import Listener, server_context
from foyer.net.turn import Turn
from foyer.observe import LineWriter, Log
from foyer.pages.render import Pages
from foyer.service import Service

DRAIN_TIME = 20.0
"""Seconds that open requests get after SIGTERM (spec 01, Process)."""

ABORT_TIME = 1.0
"""Seconds that aborted connections get to be closed before the loop ends."""


class CannotListen(Exception):
    """An address cannot be had: `flag` asked for it, and `reason` is the system's own word."""

    def __init__(self, flag: str, address: Address, error: OSError) -> None:
        super().__init__(flag)
        self.flag = flag
        self.address = str(address)
        self.reason = _in_words(error)


def _why(error: CannotListen | FileError | OSError) -> dict[str, str]:
    """A log line's fields for a start that failed."""
    match error:
        case CannotListen():
            return {"flag": error.flag, "address": error.address, "reason": error.reason}
        case FileError():
            return {"reason": f"a file was changed after it had been checked: it {error}"}
        case OSError():
            return {"reason": _in_words(error)}


def _in_words(error: OSError) -> str:
    # uvloop puts the address into `strerror`; and what a name's lookup fails by is no errno.
    if error.errno is None or isinstance(error, socket.gaierror):
        return (error.strerror or type(error).__name__).lower()
    return os.strerror(error.errno).lower()


class Foyer:
    """One replica: its listeners, its upstreams, its clocks and its watched files."""

    def __init__(self, config: Config, log: Log, load: Callable[[], Config] | None = None) -> None:
        """Makes everything that needs no loop. Raises FileError or OSError for files that changed.

        `load` reads the configuration again, for a reload, and raises `ConfigError`.
        """
        self._config = config
        self._log = log
        self._load = load or (lambda: config)
        self._certificate: WatchedPair[ssl.SSLContext] | None = None
        if config.tls is not None:
            self._certificate = WatchedPair(
                config.tls.cert_file,
                config.tls.key_file,
                server_context,
                on_change=lambda _: log.certificate_reloaded(),
                on_refused=log.certificate_refused,
            )
        self._pages = Pages()
        self.measures = Measures()
        self._service: Service | None = None
        if config.sign_in is not None:
            self._service = Service(config.sign_in, config.overload, self._pages, log, self.measures)
        self._stopping = False
        self.front: Door
        self._listener: Listener
        self._metrics: Listener | None = None
        self._discovery: asyncio.Task[None]
        self._timer: asyncio.TimerHandle

    # Start.

    async def start(self) -> None:
        """Listens, and begins discovery. Raises `CannotListen`."""
        self.compose()
        await self._listen_for_scrapes()
        self._listener = Listener(
            self.front, self._turn, self._wheel, self._tls_context(), self.front.turned_away
        )
        bound = await _open(self._listener, "-listen", self._config.listen)
        self._log.listening(bound, tls=self._certificate is not None)
        self.discover()

    async def _listen_for_scrapes(self) -> None:
        address = self._config.metrics_listen
        if address is None:
            return
        # Here, so that a foyer without metrics does not load the client: 17 ms, and the standard library's
        # HTTP with it.
        from foyer.metrics.exposition import Exposition
        from foyer.metrics.scrape import Scrapes

        later = asyncio.get_running_loop().call_later
        scrapes = Scrapes(Exposition(self.measures), self._log, later)
        self._metrics = Listener(scrapes, self._turn, self._wheel)
        self._log.metrics_listening(await _open(self._metrics, "-metrics-listen", address))

    def compose(self) -> None:
        """Everything but the listener, on the running loop: `front` can be served by any listener."""
        loop = asyncio.get_running_loop()
        self._turn = Turn(loop)
        self._wheel = Wheel(loop.time())
        if self._service is None:
            self.front = Bare(
                self._pages, self._log, self.measures, self._config.overload, lambda: self.ready
            )
        else:
            self.front = self._service.compose(self._turn, self._wheel, lambda: self.ready)
        self._tick_later()

    def _tls_context(self) -> Callable[[], ssl.SSLContext] | None:
        certificate = self._certificate
        return None if certificate is None else (lambda: certificate.value)

    def discover(self) -> None:
        """Begins to look for the issuer, and says so when foyer is ready."""
        self._discovery = asyncio.get_running_loop().create_task(self._discover())

    async def _discover(self) -> None:
        if self._service is not None:
            await self._service.discover()
        self._log.ready()
        if self._service is not None:
            await self._service.prepare()

    # While it runs.

    def _tick(self) -> None:
        """The one timer: the wheel, and the files that may have changed."""
        self._tick_later()
        self.poll()
        self._wheel.turn(self._turn.now())

    def _tick_later(self) -> None:
        """With the wheel's own ticks: in between them it would be turned up to one late."""
        self._timer = asyncio.get_running_loop().call_at((self._turn.now() // TICK + 1) * TICK, self._tick)

    def poll(self) -> None:
        """Looks at every watched file, and reads again what has changed."""
        if self._certificate is not None:
            self._certificate.poll()
        if self._service is not None:
            self._service.poll()

    def reload(self) -> None:
        """Reads the configuration again, as on SIGHUP. One that is refused changes nothing."""
        try:
            found = reloaded(self._config, self._load())
            if found.signs_in_otherwise:
                self._log.sign_in_needs_restart()
                return
            if self._service is not None:
                assert found.config.sign_in is not None, "it goes on signing people in"
                self._service.take(found.config.sign_in)
        except ConfigError as error:
            self._log.configuration_refused(error.flag, error.message, error.source)
            return
        self._config = found.config
        for flag in found.restart:
            self._log.restart_needed(flag)
        self._log.configuration_reloaded()

    def unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """An exception that nobody caught: a line of ours instead of a traceback with values in it."""
        error = context.get("exception")
        self._log.fault(error if isinstance(error, BaseException) else RuntimeError())

    @property
    def ready(self) -> bool:
        """The issuer has been discovered, where there is one, and nothing is ending."""
        return (self._service is None or self._service.ready) and not self._stopping

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
        # A stream has no end to wait for, and its page opens it again elsewhere.
        self._abort([exchange for exchange in self.front.open_exchanges if exchange.endless])
        await _first(self._listener.emptied(), at_once, drain)
        self._abort(self.front.open_exchanges)
        await _first(self._listener.emptied(), None, ABORT_TIME)
        self._listener.abort()
        if self._metrics is not None:
            # Last: how a drain goes is worth a scrape.
            self._metrics.stop_accepting()
            self._metrics.abort()
        await self.close()

    def _abort(self, exchanges: list[Exchange]) -> None:
        for exchange in exchanges:
            exchange.cut(Cause.SHUTDOWN)

    async def close(self) -> None:
        """Ends what `compose` made."""
        self._timer.cancel()
        self._discovery.cancel()
        if self._service is not None:
            self._service.close()
        await asyncio.sleep(0)  # aborted transports report their end in the next turn


async def _open(listener: Listener, flag: str, address: Address) -> str:
    """Binds `listener`; where it listens, with the port that was really taken. Raises `CannotListen`."""
    try:
        await listener.open(address.host, address.port)
    except OSError as error:
        raise CannotListen(flag, address, error) from None
    return str(Address(address.host, listener.port))


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
    loop.add_signal_handler(signal.SIGHUP, foyer.reload)
    loop.set_exception_handler(foyer.unexpected)
    await foyer.start()
    # What was made until now lives as long as the process: no collection need look at it again.
    gc.collect()
    gc.freeze()
    await signals[0].wait()
    await foyer.stop(at_once=signals[1])


def _open_files(wanted: int, log: Log) -> None:
    """Takes all the descriptors that the process may have: each connection is one.

    A shell or a service manager gives 1,024, for programs that use `select`, and lets others raise it to the
    hard limit. At the limit the kernel's connections are closed as they are accepted, and nobody is told.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):  # without a limit, but the kernel has one for all
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        log.few_files(soft, wanted)


def serve(config: Config, load: Callable[[], Config]) -> int:
    """Runs until SIGTERM or SIGINT; the process's exit status (spec 01, Process).

    `load` reads the configuration again, on SIGHUP.
    """
    writer = LineWriter()
    log = Log(writer)
    if config.sign_in is None:
        log.nobody_can_sign_in(", ".join(REQUIRED))
    _open_files(config.overload.max_server_requests, log)
    try:
        uvloop.run(_run(Foyer(config, log, load)))
    except (CannotListen, FileError, OSError) as error:
        log.error("cannot start", **_why(error))
        return 1
    except Exception as error:  # the outermost: a line like any other, and no traceback with values in it
        log.fault(error)
        return 1
    else:
        # There is nothing left to end: a signal that comes yet must not make this a failure.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        log.stopped()
        return 0
    finally:
        writer.close()

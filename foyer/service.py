"""Signing in, and requests as whoever did: everything that the required flags are for, composed (spec 01).

With the files it is made of: session keys, client secret and the issuer's roots are read again as they
change, as targets read theirs, and what may change on a reload is taken from a new configuration all at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from foyer.admission.estimates import Estimates
from foyer.admission.memory import Memory
from foyer.admission.pool import MemoryPool
from foyer.config import OverloadConfig, SignInConfig, contents
from foyer.fleet.gates import Entrance, MemoryGate
from foyer.fleet.pace import Pace
from foyer.fleet.reading import Common
from foyer.front.dependencies import Dependencies
from foyer.front.fleeting import Fleeting
from foyer.front.front import Front
from foyer.front.identified import Identified
from foyer.front.local import Local
from foyer.front.redemptions import Redemptions
from foyer.front.streaming import Streaming
from foyer.gate.callers import Callers
from foyer.gate.gate import Gate
from foyer.gate.users import UserRate
from foyer.gate.wheel import Wheel
from foyer.login.flow import Login, LoginSettings
from foyer.login.issuer import Issuer
from foyer.measures import Measures
from foyer.net.fetch import Fetcher
from foyer.net.files import WatchedFile
from foyer.net.health import Health
from foyer.net.turn import Turn
from foyer.net.whole import whole_answer
from foyer.observe import Log
from foyer.pages.render import Pages
from foyer.roots import Roots
from foyer.session.keys import Keyring, KeysError
from foyer.target import Replica, moved_to
from foyer.targets import Targets


class Service:
    """One replica's, from its files to its front."""

    def __init__(
        self, config: SignInConfig, overload: OverloadConfig, pages: Pages, log: Log, measures: Measures
    ) -> None:
        """Reads the files, and needs no loop. Raises FileError or OSError for those that changed."""
        self._config = config
        self._overload = overload
        self._pages = pages
        self._log = log
        self._measures = measures
        self._keys = WatchedFile(
            config.session.keys_file,
            Keyring.parse,
            refusal=KeysError,
            on_change=lambda _: log.keys_reloaded(),
            on_refused=log.keys_refused,
        )
        self._secret = WatchedFile(
            config.oidc.client_secret_file,
            contents.secret,
            on_change=lambda _: log.client_secret_reloaded(),
            on_refused=log.client_secret_refused,
        )
        self._issuer_roots = Roots("-oidc-ca-file", config.oidc.ca_file, log, extra=True)
        self._targets = Targets(config, log)

    def compose(self, turn: Turn, wheel: Wheel, ready: Callable[[], bool]) -> Front:
        """Everything between the files and a listener, on the running loop. `ready` is `/readyz`'s answer."""
        config = self._config
        issuer = Health()
        self._fetch = Fetcher(self._issuer_roots.context, turn, wheel, self._flooded, issuer)
        self._gate = gate = self._gated(turn, wheel)
        login = self._signing_in(turn)
        redemptions = Redemptions(login, config.limits, turn.now, time.time)
        pages, log, measures, targets = self._pages, self._log, self._measures, self._targets
        memory = self._remembering(turn, wheel)
        replica = Replica(
            turn, wheel, time.time, log, measures, self._overload, memory, lambda: self._config.streams
        )
        targets.compose(replica)
        self._streaming = Streaming(gate=gate, targets=targets, log=log, lenient=config.streams.lenient)
        return Front(
            gate=gate,
            local=Local(
                gate=gate,
                login=login,
                redemptions=redemptions,
                measures=measures,
                pages=pages,
                log=log,
                clock=time.time,
                ready=ready,
            ),
            identified=Identified(gate=gate, pages=pages, targets=targets, origin=config.public_url.url),
            streaming=self._streaming,
            fleeting=self._fleeted(turn, memory),
            pages=pages,
            log=log,
            measures=measures,
            overload=self._overload,
            targets=targets,
            dependencies=Dependencies(IssuerAsked(issuer, redemptions), targets, turn.now, time.time),
        )

    def _gated(self, turn: Turn, wheel: Wheel) -> Gate:
        """The gate, with what it knows told to whoever counts."""
        config, measures = self._config, self._measures
        gate = Gate(
            self._keyring,
            config.public_url.url,
            config.session.absolute_timeout,
            limits=config.limits,
            wheel=wheel,
            now=turn.now,
            clock=time.time,
            usage=measures.usage,
            callers=self._callers(),
        )
        measures.limits = config.limits.by_bound()
        measures.requests_in_flight = lambda: gate.requests.per_replica
        measures.streams_open = lambda: gate.streams.per_replica
        return gate

    def _callers(self) -> Callers | None:
        """What holds each person to a rate, if that is configured."""
        overload = self._overload
        if overload.user_rate is None:
            return None
        return Callers(UserRate(overload.user_rate, overload.user_burst), self._measures.overload_refusals)

    def _signing_in(self, turn: Turn) -> Login:
        """The issuer, and the login there."""
        oidc = self._config.oidc
        self._issuer = Issuer(
            oidc.issuer, oidc.client_id, lambda: self._secret.value, self._fetch, turn.now, self._log
        )
        self._login = Login(_settings(self._config), self._issuer, self._keyring)
        return self._login

    def _remembering(self, turn: Turn, wheel: Wheel) -> Memory:
        """The memory that reads share, with what they took."""
        overload, measures, soon = self._overload, self._measures, asyncio.get_running_loop().call_soon
        pool = MemoryPool(overload.memory_pool, wheel=wheel, soon=soon)
        measures.memory_pool = pool.size
        measures.memory_reserved = lambda: pool.reserved
        return Memory(
            pool,
            Estimates(now=turn.now, soon=soon),
            wait=overload.admission_wait,
            wheel=wheel,
            now=turn.now,
            refusals=measures.admission_refusals,
        )

    def _fleeted(self, turn: Turn, memory: Memory) -> Fleeting:
        """Fleet reads."""
        overload = self._overload
        common = Common(
            memory=MemoryGate(memory),
            now=turn.now,
            most=overload.max_fleet_items,
            page_bytes=overload.max_target_answer_bytes,
            retry_after=overload.retry_after,
            refusals=self._measures.admission_refusals,
            pace=Pace(asyncio.get_running_loop().call_soon),
        )
        return Fleeting(
            common=common,
            targets=lambda: {
                name: Entrance(target.authority, target.reads, whole_answer)
                for name, target in self._targets.by_name.items()
            },
            target_timeout=overload.target_timeout,
            write_timeout=self._config.limits.response_write_timeout,
            measures=self._measures,
        )

    async def discover(self) -> None:
        """Returns when the issuer has been discovered, however long it takes."""
        await self._issuer.run(asyncio.sleep)

    async def prepare(self) -> None:
        """What the first login need not wait for."""
        await self._issuer.read_keys()

    @property
    def ready(self) -> bool:
        """Whether people can sign in."""
        return self._issuer.ready

    def poll(self) -> None:
        """Looks at every file, and reads again what has changed."""
        for watched in (self._keys, self._secret, self._issuer_roots, self._targets):
            watched.poll()
        self._fetch.trust(self._issuer_roots.context)

    def take(self, config: SignInConfig) -> None:
        """Goes on with what may change of another configuration.

        All of it or, raising `ConfigError`, nothing: every new file is read before anything is changed,
        and nothing runs in between.
        """
        keys = moved_to("-session-keys-file", self._keys.at, config.session.keys_file)
        secret = moved_to("-oidc-client-secret-file", self._secret.at, config.oidc.client_secret_file)
        issuer_roots = moved_to("-oidc-ca-file", self._issuer_roots.at, config.oidc.ca_file)
        targets = self._targets.read(config)
        self._config = config
        self._keys, self._secret, self._issuer_roots = keys, secret, issuer_roots
        self._gate.absolute_timeout = config.session.absolute_timeout
        self._login.settings = _settings(config)
        self._streaming.lenient = config.streams.lenient
        self._targets.take(targets)
        self._fetch.trust(self._issuer_roots.context)

    def close(self) -> None:
        """Ends every connection."""
        self._fetch.close()
        self._targets.close()

    def _flooded(self, kind: str) -> None:
        self._log.flood(kind, "upstream")

    def _keyring(self) -> Keyring:
        return self._keys.value


@dataclass(frozen=True, slots=True)
class IssuerAsked:
    """The issuer, as a `Dependency`: what it is asked for is to redeem codes."""

    health: Health
    redemptions: Redemptions

    @property
    def in_flight(self) -> int:
        """Codes at the issuer now."""
        return self.redemptions.in_flight

    @property
    def limit(self) -> int:
        """Codes that may be."""
        return self.redemptions.limit


def _settings(config: SignInConfig) -> LoginSettings:
    return LoginSettings(
        origin=config.public_url.url,
        scopes=config.oidc.scopes,
        absolute_timeout=config.session.absolute_timeout,
        claims=config.login.claims,
        parameters=config.login.parameters,
    )

"""Signing in, and requests as whoever did: everything that the required flags are for, composed (spec 01).

With the files it is made of: session keys, client secret and both servers' roots are read again as
they change, and what may change on a reload is taken from a new configuration all at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from foyer.config import ConfigError, OverloadConfig, SignInConfig, contents
from foyer.fleet.alone import Alone
from foyer.fleet.ports import Asked
from foyer.fleet.reading import Common
from foyer.front.fleeting import Fleeting
from foyer.front.front import Front, Kubernetes
from foyer.front.identified import Identified
from foyer.front.local import Local
from foyer.front.redemptions import Redemptions
from foyer.front.streaming import Streaming
from foyer.gate.gate import Gate
from foyer.gate.wheel import Wheel
from foyer.k8s.call import ApiServer
from foyer.login.flow import Login, LoginSettings
from foyer.login.issuer import Issuer
from foyer.measures import Measures
from foyer.net.fetch import Fetcher
from foyer.net.files import FileError, WatchedFile
from foyer.net.turn import Turn
from foyer.net.upstream import Upstream
from foyer.net.whole import whole_answer
from foyer.observe import Log
from foyer.pages.render import Pages
from foyer.roots import Roots
from foyer.session.keys import Keyring, KeysError
from foyer.session.seal import IdToken
from foyer.streams.access import Access
from foyer.streams.budget import Budget
from foyer.streams.scope import Targets
from foyer.streams.shared import Shared
from foyer.streams.source import Server

P = TypeVar("P", str, str | None)
T = TypeVar("T")

_TARGETS = Targets(frozenset(("default",)), "default")
"""With one server there is one target (spec 06)."""


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
        self._server_roots = Roots("-kubernetes-ca-file", config.targets[0].ca_file, log, extra=False)
        token_file = config.targets[0].shared_token_file
        self._shared_token = None if token_file is None else self._watched_token(token_file)

    def compose(self, turn: Turn, wheel: Wheel, ready: Callable[[], bool]) -> Front:
        """Everything between the files and a listener, on the running loop. `ready` is `/readyz`'s answer."""
        config = self._config
        server = config.targets[0].server
        authority = server.authority.encode("ascii")
        self._fetch = Fetcher(self._issuer_roots.context, turn, wheel, self._flooded)
        self._upstream = Upstream(
            server.host, server.port, self._server_roots.context, turn, wheel, self._flooded
        )
        self._gate = gate = self._gated(turn, wheel)
        login = self._signing_in(turn)
        people = ApiServer(partial(whole_answer, self._upstream.open), authority)
        pages, log, measures = self._pages, self._log, self._measures
        return Front(
            gate=gate,
            local=Local(
                gate=gate,
                login=login,
                redemptions=Redemptions(login, config.limits, turn.now, time.time),
                measures=measures,
                pages=pages,
                log=log,
                clock=time.time,
                ready=ready,
            ),
            identified=Identified(
                gate=gate,
                pages=pages,
                server=people,
                clock=time.time,
                origin=config.public_url.url,
            ),
            streaming=self._streamed(turn, wheel, authority, people),
            fleeting=self._fleeted(turn, authority),
            pages=pages,
            log=log,
            measures=measures,
            overload=self._overload,
            kubernetes=Kubernetes(self._upstream, authority),
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
        )
        measures.limits = config.limits.by_bound()
        measures.requests_in_flight = lambda: gate.requests.per_replica
        measures.streams_open = lambda: gate.streams.per_replica
        return gate

    def _signing_in(self, turn: Turn) -> Login:
        """The issuer, and the login there."""
        oidc = self._config.oidc
        self._issuer = Issuer(
            oidc.issuer, oidc.client_id, lambda: self._secret.value, self._fetch, turn.now, self._log
        )
        self._login = Login(_settings(self._config), self._issuer, self._keyring)
        return self._login

    def _streamed(self, turn: Turn, wheel: Wheel, authority: bytes, people: ApiServer) -> Streaming:
        """Streams, each with a watch of its own or on a shared one. `people` asks with their own tokens."""
        server = Server(
            self._upstream.open,
            authority,
            wheel,
            turn.now,
            partial(turn.later, upstream=True),
            self._measures.watches_open,
        )
        self._shared = self._share(server, people)
        self._streaming = Streaming(
            gate=self._gate,
            server=server,
            shared=self._shared,
            targets=_TARGETS,
            log=self._log,
            lenient=self._config.streams.lenient,
        )
        return self._streaming

    def _fleeted(self, turn: Turn, authority: bytes) -> Fleeting:
        """Fleet reads."""
        overload = self._overload
        targets = {self._config.targets[0].name: Asked(partial(whole_answer, self._upstream.open), authority)}
        common = Common(
            admission=Alone(overload.memory_pool),
            now=turn.now,
            most=overload.max_fleet_items,
            page_bytes=overload.max_target_answer_bytes,
            retry_after=overload.retry_after,
            refusals=self._measures.admission_refusals,
        )
        return Fleeting(
            common=common,
            targets=lambda: targets,
            target_timeout=overload.target_timeout,
            write_timeout=self._config.limits.response_write_timeout,
            measures=self._measures,
        )

    def _share(self, server: Server, people: ApiServer) -> Shared:
        """Shared watches, whose every request draws on one budget: lists, watches and reviews."""
        loop, config = asyncio.get_running_loop(), self._config.streams.shared
        budget = Budget(server.open_side, config.qps, server.now, loop.call_later)
        access = Access(
            people=people,
            server=ApiServer(partial(whole_answer, budget.open), server.authority),
            token=self._token,
            ttl=config.decision_ttl,
            now=server.now,
            start=loop.create_task,
            measures=self._measures,
        )
        return Shared(
            resources=config.resources,
            server=replace(server, open_side=budget.open, identity="shared"),
            access=access,
            recheck_interval=config.recheck_interval,
            soon=loop.call_soon,
            token=self._token,
            lenient=lambda: self._config.streams.lenient,
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
        for watched in (self._keys, self._secret, self._issuer_roots, self._server_roots):
            watched.poll()
        if self._shared_token is not None:
            self._shared_token.poll()
        self._trust()

    def take(self, config: SignInConfig) -> None:
        """Goes on with what may change of another configuration.

        All of it or, raising `ConfigError`, nothing: every new file is read before anything is changed,
        and nothing runs in between.
        """
        keys = _moved("-session-keys-file", self._keys.at, config.session.keys_file)
        secret = _moved("-oidc-client-secret-file", self._secret.at, config.oidc.client_secret_file)
        issuer_roots = _moved("-oidc-ca-file", self._issuer_roots.at, config.oidc.ca_file)
        server_roots = _moved("-kubernetes-ca-file", self._server_roots.at, config.targets[0].ca_file)
        shared_token = self._shared_token_of(config)
        self._config = config
        self._keys, self._secret, self._shared_token = keys, secret, shared_token
        self._issuer_roots, self._server_roots = issuer_roots, server_roots
        self._gate.absolute_timeout = config.session.absolute_timeout
        self._login.settings = _settings(config)
        self._streaming.lenient = config.streams.lenient
        self._shared.resources = config.streams.shared.resources
        self._shared.token_changed()
        self._trust()

    def close(self) -> None:
        """Ends every connection."""
        self._fetch.close()
        self._upstream.close()

    def _trust(self) -> None:
        self._fetch.trust(self._issuer_roots.context)
        self._upstream.trust(self._server_roots.context)

    def _flooded(self, kind: str) -> None:
        self._log.flood(kind, "upstream")

    def _keyring(self) -> Keyring:
        return self._keys.value

    # The token of shared watches.

    def _token(self) -> IdToken:
        assert self._shared_token is not None, "nothing is shared without a token"
        return self._shared_token.value

    def _watched_token(self, file: str) -> WatchedFile[IdToken]:
        return WatchedFile(
            file,
            lambda content: IdToken(contents.token(content)),
            on_change=lambda _: self._token_reloaded(),
            on_refused=self._log.shared_token_refused,
        )

    def _token_reloaded(self) -> None:
        self._shared.token_changed()
        self._log.shared_token_reloaded()

    def _shared_token_of(self, config: SignInConfig) -> WatchedFile[IdToken] | None:
        """What another configuration says. Where that shares nothing any more, open streams keep theirs."""
        file, watched = config.targets[0].shared_token_file, self._shared_token
        if file is None:
            return watched
        at = self._watched_token if watched is None else watched.at
        return _moved("-shared-watch-token-file", at, file)


def _settings(config: SignInConfig) -> LoginSettings:
    return LoginSettings(
        origin=config.public_url.url,
        scopes=config.oidc.scopes,
        absolute_timeout=config.session.absolute_timeout,
        claims=config.login.claims,
        parameters=config.login.parameters,
    )


def _moved(flag: str, at: Callable[[P], T], path: P) -> T:
    """What is at `path`, which has been checked: so it raises only when that changed since."""
    try:
        return at(path)
    except (FileError, OSError) as error:
        raise ConfigError(flag, "the file was changed while it was read") from error

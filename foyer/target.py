"""The API servers that foyer is for, each with everything that requests to it go through (spec 06, Targets).

A target lives from the configuration that first names it to the end of the last exchange that asks it. One
that a reload leaves out, or gives another server, takes nobody new; who asks it already goes on, with its own
connections, roots and token. One whose server is the same stays as it is: its connections, what it remembers
and what is waited for there are worth keeping, and a second set of slots for the same server would be a way
around its cap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from foyer.admission.cap import Cap, Until
from foyer.admission.limit import ReadLimit
from foyer.admission.memory import Memory
from foyer.admission.reads import Reads
from foyer.config import ConfigError, OverloadConfig, StreamsConfig, TargetConfig, contents
from foyer.exchange.ports import Answer
from foyer.gate.wheel import Wheel
from foyer.identity.recent import Recent
from foyer.k8s import reviews
from foyer.k8s.call import ApiServer
from foyer.measures import Measures, TargetMeasures
from foyer.net.files import FileError, WatchedFile
from foyer.net.health import Health
from foyer.net.turn import Turn
from foyer.net.upstream import Upstream
from foyer.net.whole import whole_answer
from foyer.observe import Log
from foyer.protocol import prefer
from foyer.protocol.events import RequestHead
from foyer.roots import Roots
from foyer.session.seal import IdToken
from foyer.streams.access import Access
from foyer.streams.budget import Budget, OpenSide
from foyer.streams.gates import Gates
from foyer.streams.server import Server
from foyer.streams.shared import Shared

CHANGED_WHILE_READ = "the file was changed while it was read"

P = TypeVar("P", str, str | None)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Replica:
    """What every target of a replica is given.

    `clock` is wall-clock time in seconds; `memory` is what reads share; `streams` is what the configuration
    says of them now.
    """

    turn: Turn
    wheel: Wheel
    clock: Callable[[], float]
    log: Log
    measures: Measures
    overload: OverloadConfig
    memory: Memory
    streams: Callable[[], StreamsConfig]


class Entry:
    """What the configuration says of one target, and the files that it names, read and watched."""

    def __init__(self, config: TargetConfig, log: Log, *, named: bool) -> None:
        """`named`: it is from a targets file, and log lines say its name. Raises FileError or OSError."""
        self.config = config
        self.named = named
        self.shown = config.name if named else None
        flag = "-targets-file" if named else "-kubernetes-ca-file"
        self.roots = Roots(flag, config.ca_file, log, extra=False, target=self.shown)
        self.token: WatchedFile[IdToken] | None = None
        self._log = log
        if config.shared_token_file is not None:
            self.token = self._watched(config.shared_token_file)

    def at(self, config: TargetConfig) -> Entry:
        """The same target as another configuration has it. Raises ConfigError."""
        moved = copy(self)
        moved.config = config
        flags = ("-kubernetes-ca-file", "-shared-watch-token-file")
        for_roots, for_token = ("-targets-file", "-targets-file") if self.named else flags
        moved.roots = moved_to(for_roots, self.roots.at, config.ca_file)
        # Where nothing is shared any more, open streams keep their token.
        if config.shared_token_file is not None:
            at = self._watched if self.token is None else self.token.at
            moved.token = moved_to(for_token, at, config.shared_token_file)
        return moved

    def _watched(self, file: str) -> WatchedFile[IdToken]:
        log, shown = self._log, self.shown
        return WatchedFile(
            file,
            lambda content: IdToken(contents.token(content)),
            on_change=lambda _: log.shared_token_reloaded(shown),
            on_refused=lambda reason: log.shared_token_refused(reason, shown),
        )


class Target:
    """One API server."""

    def __init__(self, entry: Entry, replica: Replica) -> None:
        """On the running loop."""
        server, turn = entry.config.server, replica.turn
        self.name = entry.config.name
        self.shown = entry.shown
        self.authority = server.authority.encode("ascii")
        self.health = Health()
        self._entry = entry
        self._replica = replica
        self._leases = Leases()
        self._told = None if entry.token is None else entry.token.value
        self._pool = Upstream(
            server.host, server.port, entry.roots.context, turn, replica.wheel, self._flooded, self.health
        )
        measures = replica.measures.targets.setdefault(self.name, TargetMeasures())
        soon = asyncio.get_running_loop().call_soon
        self._cap = Cap(
            replica.overload.max_target_in_flight,
            self._pool.open,
            timeout=replica.overload.target_timeout,
            wheel=replica.wheel,
            now=turn.now,
            soon=soon,
            counts=measures,
        )
        self.reads = Reads(
            ReadLimit(
                replica.overload.max_target_in_flight,
                replica.overload.target_wait_threshold,
                wheel=replica.wheel,
                soon=soon,
                wait=measures.wait,
            ),
            self._cap,
            wait=replica.overload.admission_wait,
            now=turn.now,
            refusals=replica.measures.admission_refusals,
        )
        self.people = ApiServer(self.ask, self.authority, replica.overload.max_target_answer_bytes)
        self.recent = Recent(partial(reviews.who, self.people), replica.clock)
        self._gates = Gates(
            self.reads,
            replica.memory,
            self.authority,
            replica.overload.max_target_answer_bytes,
            replica.overload.retry_after,
        )
        self.server = Server(
            self._cap.open,
            self._gates,
            self.authority,
            replica.wheel,
            turn.now,
            partial(turn.later, upstream=True),
            replica.measures.watches_open,
            max_page_bytes=replica.overload.max_target_answer_bytes,
        )
        self.shared = self._share()

    def _share(self) -> Shared:
        """Shared watches, whose every request draws on one budget: lists, watches and reviews."""
        loop, config = asyncio.get_running_loop(), self._replica.streams().shared
        budget = Budget(self._cap.open, config.qps, self.server.now, loop.call_later)
        access = Access(
            people=self.people,
            server=ApiServer(
                partial(self._ask, budget.before),
                self.authority,
                self._replica.overload.max_target_answer_bytes,
            ),
            token=self._token,
            ttl=config.decision_ttl,
            now=self.server.now,
            start=loop.create_task,
            measures=self._replica.measures,
        )
        return Shared(
            resources=self._shared_resources(),
            server=replace(
                self.server,
                open_side=budget.open,
                gates=replace(self._gates, before=budget.before),
                identity="shared",
            ),
            access=access,
            recheck_interval=config.recheck_interval,
            soon=loop.call_soon,
            token=self._token,
            lenient=lambda: self._replica.streams().lenient,
            measures=self._replica.measures,
        )

    # Its files, as they change.

    @property
    def entry(self) -> Entry:
        """What the configuration says of it."""
        return self._entry

    def take(self, entry: Entry) -> None:
        """Goes on with what may change of itself, and of what is shared."""
        self._entry = entry
        self.shared.resources = self._shared_resources()
        self._trust()

    def poll(self) -> None:
        """Looks at its files, and reads again what has changed."""
        self._entry.roots.poll()
        if self._entry.token is not None:
            self._entry.token.poll()
        self._trust()

    def _trust(self) -> None:
        self._pool.trust(self._entry.roots.context)
        token = self._entry.token
        if token is not None and token.value is not self._told:
            self._told = token.value
            self.shared.token_changed()

    def _shared_resources(self) -> frozenset[str]:
        """Without a token of its own it has each stream read as whoever opened it."""
        named = self._entry.config.shared_token_file is not None
        return self._replica.streams().shared.resources if named else frozenset()

    def _token(self) -> IdToken:
        assert self._entry.token is not None, "nothing is shared without a token"
        return self._entry.token.value

    # Ways up.

    def way(self, head: RequestHead) -> OpenSide:
        """The way up for a browser's request, within its own time: a slot until the head of its answer.

        A read (what has no effect, whatever comes of it) is let in before it asks for one.
        """
        way = self.reads.open if head.method in (b"GET", b"HEAD") else self._cap.open
        # Of the one wait, not of each: what is left after the gate is for the slot (seed, Sizing).
        return partial(way, deadline=self._until(prefer.wait(head.fields)))

    def _until(self, wait: float | None) -> float:
        """How long a request that comes now may wait to be sent: so many seconds, where that is sooner."""
        timeout = self._replica.overload.target_timeout
        return self.server.now() + (timeout if wait is None else min(wait, timeout))

    async def ask(self, head: RequestHead, content: bytes, *, limit: int, timeout: float) -> Answer:
        """A whole answer: an `Ask`."""
        return await self._ask(lambda way: way, head, content, limit=limit, timeout=timeout)

    async def _ask(
        self,
        before: Callable[[OpenSide], OpenSide],
        head: RequestHead,
        content: bytes,
        *,
        limit: int,
        timeout: float,
    ) -> Answer:
        """`before` is what comes before the slot. The wait for one is part of the `timeout`."""
        way = before(partial(self._cap.open, until=Until.WHOLE, deadline=self._until(timeout)))
        return await whole_answer(way, head, content, limit=limit, timeout=timeout)

    @property
    def in_flight(self) -> int:
        """Slots under its cap that are taken."""
        return self._cap.in_flight

    @property
    def limit(self) -> int:
        """Its cap."""
        return self._cap.limit

    # Its end.

    def lease(self) -> Leases:
        """Keeps it for whoever asks it, until that is closed."""
        return self._leases.take()

    def retire(self, ended: Callable[[Target], None]) -> None:
        """Nobody new asks it. When the last one has left its connections close, and `ended` is told."""
        self._leases.over(partial(self._end, ended))

    def _end(self, ended: Callable[[Target], None]) -> None:
        self._pool.leave()
        ended(self)

    def close(self) -> None:
        """Ends every connection, whoever is on it."""
        self._pool.close()

    def _flooded(self, kind: str) -> None:
        self._replica.log.flood(kind, "upstream", self.shown)


class Leases:
    """How many ask a target, and what is to be done when nobody does any more. Each closes it once."""

    __slots__ = ("_then", "count")

    def __init__(self) -> None:
        self.count = 0
        self._then: Callable[[], None] | None = None

    def take(self) -> Leases:
        """One more."""
        self.count += 1
        return self

    def close(self) -> None:
        """One less."""
        self.count -= 1
        self._see()

    def over(self, then: Callable[[], None]) -> None:
        """Calls `then` as the last one is given back: now, where there are none."""
        self._then = then
        self._see()

    def _see(self) -> None:
        if not self.count and self._then is not None:
            then, self._then = self._then, None
            then()


def moved_to(flag: str, at: Callable[[P], T], path: P) -> T:
    """What is at `path`, which has been checked: so it raises `ConfigError` only when that changed since."""
    try:
        return at(path)
    except (FileError, OSError) as error:
        raise ConfigError(flag, CHANGED_WHILE_READ) from error

"""The API servers there are, as the front's routes ask for them (spec 06, Targets).

Which there are changes on a reload. Whoever asks one holds it from then on: it goes on for as long as they
do, though it be in no configuration any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from foyer.exchange.exchange import Exchange, Held
from foyer.identity.recent import Recent
from foyer.interruption import Interruption, Reason
from foyer.k8s.call import ApiServer, Ask
from foyer.net.health import Health
from foyer.observe import Asked
from foyer.protocol.events import RequestHead
from foyer.streams import scope
from foyer.streams.budget import OpenSide
from foyer.streams.server import Server
from foyer.streams.shared import Shared


class Dependency(Protocol):
    """A server that foyer needs."""

    @property
    def health(self) -> Health: ...

    @property
    def in_flight(self) -> int:
        """What it is asked for now, of what is limited."""

    @property
    def limit(self) -> int:
        """How much of that there may be at once: an API server's cap."""


class Target(Dependency, Protocol):
    """One API server, by its name."""

    @property
    def name(self) -> str: ...

    @property
    def shown(self) -> str | None:
        """Its name in log lines: None where it is the only one there can be."""

    @property
    def authority(self) -> bytes: ...

    @property
    def ask(self) -> Ask:
        """A whole answer of it."""

    @property
    def people(self) -> ApiServer:
        """Asked about people, with their own tokens."""

    @property
    def recent(self) -> Recent:
        """Who they are, as it said within the last half minute."""

    @property
    def server(self) -> Server:
        """Streams with a watch of their own."""

    @property
    def shared(self) -> Shared:
        """Streams that share one."""

    def way(self, head: RequestHead) -> OpenSide:
        """The way up for a browser's request, within its own time."""

    def lease(self) -> Held:
        """Keeps it for whoever asks it, until that is closed."""


class Targets(Protocol):
    """All of them."""

    @property
    def by_name(self) -> Mapping[str, Target]:
        """In their order; the first is meant where none is named."""

    @property
    def names(self) -> scope.Targets:
        """Their names, and that one's."""


def target_of(targets: Targets, name: str, exchange: Exchange) -> Target | None:
    """The target of this name ("" for the first), which `exchange` asks from now on. None: it is refused."""
    target = targets.by_name.get(name or targets.names.default)
    if target is None:
        exchange.refuse(_UNKNOWN)
    else:
        hold(target, exchange)
    return target


def hold_all(targets: Targets, exchange: Exchange) -> None:
    """Has all that there are now go on for as long as `exchange`."""
    exchange.lease = _Leases([target.lease() for target in targets.by_name.values()])


class _Leases:
    """Several."""

    __slots__ = ("_leases",)

    def __init__(self, leases: list[Held]) -> None:
        self._leases = leases

    def close(self) -> None:
        for lease in self._leases:
            lease.close()


def hold(target: Target, exchange: Exchange) -> None:
    """Has the `target` go on for as long as `exchange`, and that one's log line name it."""
    exchange.lease = target.lease()
    if target.shown is not None:
        asked = exchange.asked
        assert isinstance(asked, Asked)
        exchange.asked = replace(asked, target=target.shown)


_UNKNOWN = Interruption(Reason.NOT_FOUND, "There is no such target.")

"""All the API servers of a replica, as the configuration has them now and had them (spec 06, Targets)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from foyer.config import ConfigError, SignInConfig, TargetConfig
from foyer.net.files import FileError
from foyer.observe import Log
from foyer.streams import scope
from foyer.target import CHANGED_WHILE_READ, Entry, Replica, Target


class Targets:
    """Those that are named now, in their order, and those that are retired and still asked."""

    def __init__(self, config: SignInConfig, log: Log) -> None:
        """Reads their files, and needs no loop. Raises FileError or OSError."""
        self._log = log
        self._named = config.targets_file is not None
        self._entries = [Entry(target, log, named=self._named) for target in config.targets]
        self._by_name: dict[str, Target] = {}
        self._retired: dict[Target, None] = {}
        self._replica: Replica
        self.names: scope.Targets

    def compose(self, replica: Replica) -> None:
        """Makes them, on the running loop."""
        self._replica = replica
        self._set({entry.config.name: Target(entry, replica) for entry in self._entries})

    @property
    def by_name(self) -> Mapping[str, Target]:
        """In their order; the first is meant where none is named."""
        return self._by_name

    def _set(self, targets: dict[str, Target]) -> None:
        self._by_name = targets
        self.names = scope.Targets(frozenset(targets), next(iter(targets)))
        for name in targets:
            self._count(name)

    def _count(self, name: str) -> None:
        """Its gauges: a target that is gone has nothing, and one that is retired what it still has."""
        measures = self._replica.measures.targets[name]
        measures.in_flight = lambda: sum(target.in_flight for target in self._called(name))
        measures.read_limit = lambda: sum(target.reads.limit.limit for target in self._called(name))
        measures.reads_admitted = lambda: sum(target.reads.limit.admitted for target in self._called(name))

    def _called(self, name: str) -> Iterator[Target]:
        return (target for target in self._all() if target.name == name)

    def _all(self) -> list[Target]:
        return [*self._by_name.values(), *self._retired]

    # Reload.

    def read(self, config: SignInConfig) -> Sequence[Entry]:
        """What another configuration says of them, its files read. Raises ConfigError."""
        return [self._entry(target) for target in config.targets]

    def _entry(self, config: TargetConfig) -> Entry:
        known = self._by_name.get(config.name)
        if known is not None and known.entry.config.server == config.server:
            return known.entry.at(config)
        try:
            return Entry(config, self._log, named=self._named)
        except (FileError, OSError) as error:
            raise ConfigError("-targets-file", CHANGED_WHILE_READ) from error

    def take(self, entries: Sequence[Entry]) -> None:
        """Goes on with those: what `read` has found, and nothing has run since."""
        before, now = self._by_name, dict[str, Target]()
        for entry in entries:
            known = before.get(entry.config.name)
            if known is not None and known.entry.config.server == entry.config.server:
                known.take(entry)
                now[known.name] = known
            else:
                now[entry.config.name] = Target(entry, self._replica)
        self._set(now)
        for target in before.values():
            if now.get(target.name) is not target:
                self._retired[target] = None
                target.retire(self._ended)

    def _ended(self, target: Target) -> None:
        del self._retired[target]

    # All of them.

    def poll(self) -> None:
        """Looks at their files, and reads again what has changed."""
        for target in self._all():
            target.poll()

    def close(self) -> None:
        """Ends every connection."""
        for target in self._all():
            target.close()

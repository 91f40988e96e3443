"""Shared watches: one upstream watch for all streams of a scope (spec 05, Shared watches).

The first stream of a scope opens its watch, with foyer's own identity, and the last one out closes it,
whatever it is doing. Scopes know nothing of each other: one that is slow to open holds up none.

A watch that is opened is a read, and those who join before it is let in share what becomes of that. Who joins
later reads what is there, and passes no gate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from foyer.interruption import Interruption
from foyer.session.seal import IdToken
from foyer.streams.access import Access
from foyer.streams.cache import Cache
from foyer.streams.fanout import Line
from foyer.streams.grants import Grants
from foyer.streams.projection import Projection
from foyer.streams.scope import Opening, Scope
from foyer.streams.server import Server
from foyer.streams.showing import Showing
from foyer.streams.snapshot import Look
from foyer.streams.source import Source
from foyer.streams.subscriber import Common, Out, Subscriber


class Counted(Protocol):
    """What is counted (`foyer.measures.Measures`)."""

    shared_subscriptions_open: int
    shared_overflows: int


class Shared:
    """One replica's shared watches."""

    def __init__(
        self,
        *,
        resources: frozenset[str],
        server: Server,
        access: Access,
        recheck_interval: float,
        soon: Callable[[Callable[[], None]], object],
        token: Callable[[], IdToken],
        lenient: Callable[[], frozenset[str]],
        measures: Counted,
    ) -> None:
        """`resources`, as kubectl names them, are shared by streams that open from now on: it may be changed.

        `server` is asked with `token`, foyer's own; `soon` calls in the next turn of the loop. What is in
        `lenient` may have versions without an order.
        """
        self.resources = resources
        self.line = Line(soon)
        self.measures = measures
        self._server = server
        self._token = token
        self._lenient = lenient
        self._watches: dict[Scope, SharedWatch] = {}
        self.grants = Grants(access, server.wheel, recheck_interval)
        self._common = Common(self.grants, self, self.line)

    def shares(self, scope: Scope) -> bool:
        """Whether a stream of `scope` that opens now reads a shared watch."""
        return scope.kubectl_name in self.resources

    def subscriber(self, opening: Opening, out: Out) -> Subscriber:
        """The feed of a stream of a scope that is shared, to be opened when the stream has begun."""
        return Subscriber(self._common, opening, out)

    def token_changed(self) -> None:
        """Requests from now on have the new one."""
        for watch in self._watches.values():
            watch.take_token(self._token())

    # What subscribers ask for, and their watches.

    def watch(self, scope: Scope) -> SharedWatch:
        """The watch of `scope`, to be joined at once."""
        watch = self._watches.get(scope)
        if watch is None or watch.cache.over is not None:
            lenient = scope.kubectl_name in self._lenient()
            watch = SharedWatch(self, self._server, scope, self._token(), lenient=lenient)
            self._watches[scope] = watch
        return watch

    def left(self, scope: Scope, watch: SharedWatch) -> None:
        """Nobody reads it any more."""
        if self._watches.get(scope) is watch:
            del self._watches[scope]

    def overflowed(self) -> None:
        """A subscriber fell behind."""
        self.measures.shared_overflows += 1

    def __len__(self) -> int:
        """Scopes that somebody reads."""
        return len(self._watches)


class SharedWatch:
    """One scope's: what comes of its source goes into its cache."""

    def __init__(
        self, shared: Shared, server: Server, scope: Scope, token: IdToken, *, lenient: bool
    ) -> None:
        self.cache = Cache(shared.line, self._hold, secret=scope.has_secrets)
        # None when it has been left: what watched thousands of objects is freed then, not when Python next
        # looks for cycles.
        self._source: Source | None = Source(
            server, scope, self.cache, self, token, lenient=lenient, keeper=self
        )
        self._shared = shared
        self._scope = scope
        self._readers = 0
        self._waiting: dict[Subscriber, None] = {}  # until it is let in

    def join(self, reader: Subscriber, projection: Projection) -> Showing:
        """What there is to read: nothing yet for the first, who has the API server asked."""
        self._shared.measures.shared_subscriptions_open += 1
        self._readers += 1
        showing = self.cache.join(reader, projection)
        self._waiting[reader] = None
        if self._readers == 1 and self._source is not None:
            self._source.start()
        elif self._source is not None and self._source.is_admitted:
            self.admitted()
        return showing

    def leave(self, reader: Subscriber, showing: Showing) -> None:
        """One reader less. Behind the last one the API server is left."""
        self._shared.measures.shared_subscriptions_open -= 1
        self._readers -= 1
        self._waiting.pop(reader, None)
        self.cache.leave(reader, showing)
        source = self._source
        if not self._readers and source is not None:
            self._source = None
            source.cancel()
            self.cache.close()
            self._shared.left(self._scope, self)

    def take_token(self, token: IdToken) -> None:
        """Requests from now on have this one."""
        if self._source is not None:
            self._source.token = token

    # What the source tells of its gates.

    def admitted(self) -> None:
        """It has been let in, and so has everybody who waits for that."""
        waiting, self._waiting = self._waiting, {}
        for reader in waiting:
            reader.admitted()

    def refuse(self, interruption: Interruption) -> None:
        """It has not, and neither have they. The others read the end of it in the cache."""
        for reader in list(self._waiting):
            reader.refuse(interruption)

    @property
    def size(self) -> int:
        """Bytes that are kept, with those of an object that is still to come whole."""
        return self.cache.size + (0 if self._source is None else self._source.waiting)

    def look(self, look: Look) -> None:
        """As the first who waits for it. Of those who are let in none can be asked to: a look is nobody's."""
        first = next(iter(self._waiting), None)
        if first is None:
            look.cancel()
        else:
            first.look(look)

    def failed(self, error: Exception) -> None:
        """foyer's own code failed in the source or the cache: all that depends on them is over."""
        for reader in self.cache.readers:
            reader.failed(error)

    def _hold(self) -> None:
        """More has come than those whose browsers keep up could be given yet: the API server waits."""
        if self._source is not None:
            self._source.pause()
            self._shared.line.join(self)

    def deliver(self, most: int) -> int:
        """Everybody who was in the line has had a turn since."""
        if self._source is None:
            return 0
        if self.cache.relieved():
            self._source.resume()
        else:
            self._shared.line.join(self)
        return 0

"""How much a scope will take before it is read: what it last took, else a look at one item (spec 06, Memory).

One look a scope at a time, for all who wait to read it. It is made as one of them, with their token, and so
tells the others nothing but a size. If it comes to nothing, because they may not list or have left, the next
one looks as itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import NamedTuple, Protocol

from foyer.admission.line import Soon

KEEP = 600.0
"""Seconds for which what a scope took is believed of it (spec 06)."""

MOST = 10_000
"""Scopes remembered: 2 MiB, with a digest in the place of their selectors."""

GUESS = 1024 * 1024
"""Bytes of a scope of which nothing is known."""


class Asker(Protocol):
    """Somebody who is about to read a scope. Compared by identity."""

    def look(self) -> None:
        """Looks at one item as itself, and then says `Estimates.looked`; it may leave instead."""

    def estimated(self, size: int | None) -> None:
        """What another's look has found, or one's own: bytes, or None for nothing."""


class _Took(NamedTuple):
    size: int
    at: float


class _Look:
    """At a scope: who waits for what it finds, and who of them looks. Nobody does until the next turn."""

    __slots__ = ("askers", "by")

    def __init__(self) -> None:
        self.askers: OrderedDict[Asker, None] = OrderedDict()
        self.by: Asker | None = None


class Estimates:
    """One replica's."""

    __slots__ = ("_looks", "_now", "_soon", "_took")

    def __init__(self, *, now: Callable[[], float], soon: Soon) -> None:
        """`now` is a clock in seconds; `soon` calls its argument in a turn of the loop to come."""
        self._now = now
        self._soon = soon
        self._took: OrderedDict[bytes, _Took] = OrderedDict()  # the oldest first
        self._looks: dict[bytes, _Look] = {}

    # What a scope took.

    def known(self, scope: str) -> int | None:
        """Bytes that `scope` last took, unless that is too long ago."""
        took = self._took.get(_key(scope))
        return None if took is None or took.at + KEEP < self._now() else took.size

    def took(self, scope: str, size: int) -> None:
        """`scope` has been read, and has taken `size` bytes. Nobody need look at it any more."""
        now, key = self._now(), _key(scope)
        self._tell(key, size)
        self._took.pop(key, None)
        self._took[key] = _Took(size, now)
        while len(self._took) > MOST or next(iter(self._took.values())).at + KEEP < now:
            self._took.popitem(last=False)

    # A look at it.

    def ask(self, scope: str, asker: Asker) -> None:
        """Has `asker` be told; it looks itself where nobody does."""
        key = _key(scope)
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = _Look()
            look.by = asker
        look.askers[asker] = None
        if look.by is asker:
            asker.look()

    def looked(self, scope: str, asker: Asker, size: int | None) -> None:
        """`asker`, who looked, has found `size` bytes, or nothing. All are told, or the next one looks."""
        key = _key(scope)
        look = self._looks.get(key)
        if look is None or look.by is not asker:
            return  # it has left, and another one looks
        self.leave(scope, asker)
        if size is not None:
            self._tell(key, size)
        asker.estimated(size)

    def _tell(self, key: bytes, size: int) -> None:
        look = self._looks.pop(key, None)
        for asker in () if look is None else look.askers:
            # Each by itself: the fault of one is not the others'.
            self._soon(partial(asker.estimated, size))

    def leave(self, scope: str, asker: Asker) -> None:
        """`asker` waits no longer. The next one looks, if it was to."""
        key = _key(scope)
        look = self._looks.get(key)
        if look is None:
            return
        look.askers.pop(asker, None)
        if not look.askers:
            del self._looks[key]
        elif look.by is asker:
            look.by = None
            self._soon(partial(self._next, key))

    def _next(self, key: bytes) -> None:
        look = self._looks.get(key)
        if look is not None and look.by is None:
            look.by = next(iter(look.askers))
            look.by.look()

    def __len__(self) -> int:
        """Scopes remembered."""
        return len(self._took)


def _key(scope: str) -> bytes:
    """In its place: a selector may be kilobytes long, and whoever asks chooses it."""
    return blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=16).digest()

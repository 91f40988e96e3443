"""A rate with a burst, for each of many who share nothing (spec 04, Rate; seed, The bounds).

A token bucket kept as one number: the time at which it will be full again (GCRA's theoretical arrival
time). A bucket that is full need not be kept at all, so what is kept are those of the last few seconds.

Pure: `now` is seconds on the caller's clock, which never goes back. Inside they are whole nanoseconds: a
sum of floats is off by half a unit at every request, always the same way, and one who spends the burst and
then keeps exactly to 20 a second would be refused after a thousand of them (at ten days of uptime).
"""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

_SECOND = 1_000_000_000

_SLACK = 1_000
"""Nanoseconds that one may come too early: more than a clock's float is off by after a century."""


class Passed(NamedTuple):
    """A token was there. `spent` is the share of the burst that is spent now, this one included."""

    spent: float


class Refused(NamedTuple):
    """None was there. The next one comes after `wait` seconds."""

    wait: float
    retry_after: int
    """The wait as `Retry-After` has it: whole seconds, rounded up, at least one."""


class Rate(Generic[K]):
    """At most `burst` at once and `rate` a second in the long run, for each key."""

    __slots__ = ("_before", "_full", "_interval", "_since", "_until_full", "burst", "rate")

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._interval = max(1, int(_SECOND / rate))
        self._until_full = burst * self._interval
        # When each bucket is full again. Two generations: one not asked for a whole refill is full.
        self._full: dict[K, int] = {}
        self._before: dict[K, int] = {}
        self._since = 0

    def take(self, key: K, now: float) -> Passed | Refused:
        """Spends a token of `key`'s, where there is one."""
        at = round(now * _SECOND)
        self._forget(at)
        full = self._full.get(key)
        if full is None:
            full = self._before.get(key, at)
        full = max(full, at) + self._interval
        wait = full - at - self._until_full
        if wait > _SLACK:
            return Refused(wait / _SECOND, max(1, -((_SLACK - wait) // _SECOND)))
        self._full[key] = full
        return Passed(min(1.0, (full - at) / self._until_full))

    def _forget(self, at: int) -> None:
        """After two refills nobody in the older generation can be short of anything."""
        age = at - self._since
        if age >= self._until_full:
            self._before = self._full if age < 2 * self._until_full else {}
            self._full = {}
            self._since = at

    def __len__(self) -> int:
        """Buckets kept."""
        return len(self._full.keys() | self._before.keys())

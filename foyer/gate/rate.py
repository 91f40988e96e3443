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


class Pace:
    """At most `burst` at once and `rate` a second in the long run: the arithmetic of one bucket."""

    __slots__ = ("interval", "until_full")

    def __init__(self, rate: float, burst: int) -> None:
        self.interval = max(1, int(_SECOND / rate))
        """Nanoseconds in which a token comes."""
        self.until_full = burst * self.interval
        """Nanoseconds in which an empty bucket is full."""

    def spend(self, full: int, at: int) -> int | Refused:
        """When a bucket that is full at `full` will be once a token is taken at `at`, if there is one."""
        full = max(full, at) + self.interval
        wait = full - at - self.until_full
        if wait > _SLACK:
            return Refused(wait / _SECOND, max(1, -((_SLACK - wait) // _SECOND)))
        return full

    def passed(self, full: int, at: int) -> Passed:
        """What is said of a bucket that will be full at `full`."""
        return Passed(min(1.0, (full - at) / self.until_full))


def nanoseconds(now: float) -> int:
    """A time as the buckets reckon it."""
    return round(now * _SECOND)


class Rate(Generic[K]):
    """At most `burst` at once and `rate` a second in the long run, for each key."""

    __slots__ = ("_before", "_full", "_pace", "_since", "burst", "rate")

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._pace = Pace(rate, burst)
        # When each bucket is full again. Two generations: one not asked for a whole refill is full.
        self._full: dict[K, int] = {}
        self._before: dict[K, int] = {}
        self._since = 0

    def take(self, key: K, now: float) -> Passed | Refused:
        """Spends a token of `key`'s, where there is one."""
        at = nanoseconds(now)
        self._forget(at)
        full = self._full.get(key)
        if full is None:
            full = self._before.get(key, at)
        spent = self._pace.spend(full, at)
        if isinstance(spent, Refused):
            return spent
        self._full[key] = spent
        return self._pace.passed(spent, at)

    def _forget(self, at: int) -> None:
        """After two refills nobody in the older generation can be short of anything."""
        age = at - self._since
        if age >= self._pace.until_full:
            self._before = self._full if age < 2 * self._pace.until_full else {}
            self._full = {}
            self._since = at

    def __len__(self) -> int:
        """Buckets kept."""
        return len(self._full.keys() | self._before.keys())

"""A rate with a burst, for each of many who share nothing (spec 04, Rate; seed, The bounds).

A token bucket kept as one number: the time at which it will be full again (GCRA's theoretical arrival
time). A bucket that is full need not be kept at all, so what is kept are those of the last few seconds.

Pure: `now` is seconds on the caller's clock, which never goes back.
"""

import math
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

_SLACK = 1e-6
"""Of a token: what floating-point sums may be off by. Without it one who keeps exactly to the rate is
refused now and then."""


class Passed(NamedTuple):
    """A token was there. `spent` is the share of the burst that is spent now, this one included."""

    spent: float


class Refused(NamedTuple):
    """None was there. The next one comes after `wait` seconds."""

    wait: float

    @property
    def retry_after(self) -> int:
        """The wait as `Retry-After` has it: whole seconds, rounded up, at least one."""
        # What rounding the sums added must not become a second of waiting.
        return max(1, math.ceil(self.wait - _SLACK))


class Rate(Generic[K]):
    """At most `burst` at once and `rate` a second in the long run, for each key."""

    __slots__ = ("_before", "_full", "_interval", "_since", "_until_full", "burst", "rate")

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._interval = 1.0 / rate
        self._until_full = burst / rate
        # When each bucket is full again. Two generations: one not asked for a whole refill is full.
        self._full: dict[K, float] = {}
        self._before: dict[K, float] = {}
        self._since = -math.inf

    def take(self, key: K, now: float) -> Passed | Refused:
        """Spends a token of `key`'s, where there is one."""
        if now - self._since >= self._until_full:
            # After two refills nobody in the older generation can be short of anything.
            self._before = self._full if now - self._since < 2 * self._until_full else {}
            self._full = {}
            self._since = now
        full = self._full.get(key)
        if full is None:
            full = self._before.get(key, now)
        full = max(full, now) + self._interval
        if full - now > self._until_full + self._interval * _SLACK:
            return Refused(full - now - self._until_full)
        self._full[key] = full
        return Passed(min(1.0, (full - now) / self._until_full))

    def __len__(self) -> int:
        """Buckets kept."""
        return len(self._full.keys() | self._before.keys())

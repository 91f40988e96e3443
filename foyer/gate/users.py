"""A rate for each person, over all of their sessions (spec 06, Per-user rate; seed, The per-caller rate).

A person is who the ID token says, its issuer and its subject, and never an address: those a client can make
up, and many people share one. At most 10,000 are tracked. A bucket that has refilled is as good as none, and
is forgotten. Where more are short of tokens at once than that, the fullest one is: whoever gains by it gains
the least, and whoever has spent everything is not forgiven.
"""

from collections.abc import Hashable
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

from foyer.gate.rate import Pace, Passed, Refused, nanoseconds

MOST = 10_000
"""Users tracked: 3 MiB of them, with the names that issuers give."""

_LOOKS = 2
"""Entries looked at in each call: one more than a call adds or makes wrong, so that both are dealt with as
they come. Left to whoever meets the limit, 10,000 wrong ones would hold up everybody for 10 ms."""


class _Entry(NamedTuple):
    """A user's, as of when it was last looked at. Users cannot be ordered; which came first can."""

    full: int
    number: int
    user: Hashable


class UserRate:
    """At most `burst` at once and `rate` a second in the long run, for each user.

    As in `Rate` a bucket is the time at which it will be full, so the fullest one has the earliest. Each user
    has one entry in a heap of those times. A time only gets later, so an entry may say too early a one, and
    is put right when it comes to the top. With 10,000 users who are all short of tokens a request of one of
    them takes 1.4 µs, where somebody alone takes 1.3, and that of one more after the other 2.
    """

    __slots__ = ("_entries", "_full", "_most", "_number", "_pace", "burst", "rate")

    def __init__(self, rate: float, burst: int, most: int = MOST) -> None:
        """`rate` is requests a second; `most` how many users are tracked."""
        self.rate = rate
        self.burst = burst
        self._pace = Pace(rate, burst)
        self._most = most
        self._full: dict[Hashable, int] = {}
        self._entries: list[_Entry] = []
        self._number = 0

    def take(self, user: Hashable, now: float) -> Passed | Refused:
        """Spends a token of `user`'s, if there is one. `now` is seconds on a clock that never goes back."""
        at = nanoseconds(now)
        self._tidy(at)
        full = self._full.get(user)
        spent = self._pace.spend(at if full is None else full, at)
        if isinstance(spent, Refused):
            return spent
        if full is None:
            self._track(user, spent)
        self._full[user] = spent
        return self._pace.passed(spent, at)

    def _tidy(self, at: int) -> None:
        """Forgets buckets that are full at `at`, and puts entries right, a few in each call."""
        for _ in range(_LOOKS):
            if not self._entries:
                return
            if self._put_right():
                if self._entries[0].full > at:
                    return
                self._forget_fullest()

    def _track(self, user: Hashable, full: int) -> None:
        """Room for one more, at another's cost: were it the new one, the last of many would have no rate."""
        if len(self._full) >= self._most:
            while not self._put_right():
                pass
            self._forget_fullest()
        self._number += 1
        heappush(self._entries, _Entry(full, self._number, user))

    def _put_right(self) -> bool:
        """Whether the entry at the top was right: else it is now, and maybe another is at the top."""
        entry = self._entries[0]
        full = self._full[entry.user]
        if full == entry.full:
            return True
        heapreplace(self._entries, _Entry(full, entry.number, entry.user))
        return False

    def _forget_fullest(self) -> None:
        del self._full[heappop(self._entries).user]

    def __len__(self) -> int:
        """Users tracked."""
        return len(self._full)

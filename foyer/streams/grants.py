"""Who may go on watching: every open shared stream is asked about again and again (spec 05, Shared watches).

Streams of one person and one scope have one question, and so one grant: it is asked once an interval,
whatever their number, and its answer is all of theirs. Grants that begin together are not asked about
together: the first time comes anywhere within the interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from foyer.exchange.ports import Cancellable
from foyer.gate.wheel import TICK, Wheel
from foyer.streams.access import Access, Question, Verdict


class Holder(Protocol):
    """A stream that is open by a grant. It contains its own faults. Compared by identity."""

    def rechecked(self, verdict: Verdict, asked_at: float) -> None:
        """Whether it may go on, as asked about at that time."""

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""


class Grants:
    """Every question that streams are open by."""

    def __init__(self, access: Access, wheel: Wheel, interval: float) -> None:
        """`interval` in seconds, at least one."""
        self.access = access
        self.wheel = wheel
        self.interval = interval
        self._grants: dict[Question, Grant] = {}
        self._phases = _phases()

    def join(self, question: Question, holder: Holder) -> Grant:
        """The grant that `holder` is open by."""
        grant = self._grants.get(question)
        if grant is None:
            grant = self._grants[question] = Grant(self, question, next(self._phases))
        grant.holders[holder] = None
        return grant

    def leave(self, grant: Grant, holder: Holder) -> None:
        """The stream is over."""
        grant.holders.pop(holder, None)
        if not grant.holders and self._grants.get(grant.question) is grant:
            del self._grants[grant.question]
            grant.close()

    def __len__(self) -> int:
        """Grants that somebody holds."""
        return len(self._grants)


class Grant:
    """One question, asked for as long as there is somebody to ask it for: an entry of the wheel."""

    __slots__ = ("_grants", "_pending", "holders", "question", "slot")

    def __init__(self, grants: Grants, question: Question, phase: float) -> None:
        """`phase`: at which part of the interval it is asked for the first time, from 0 to 1."""
        self.question = question
        self.holders: dict[Holder, None] = {}
        self.slot = -1
        self._grants = grants
        self._pending: Cancellable | None = None
        grants.wheel.add(self, self._next(grants.access.now(), phase))

    def _next(self, now: float, phase: float = 1.0) -> float:
        # The wheel may be a tick late, and the interval is a promise.
        return now + (self._grants.interval - TICK) * phase

    def due(self, now: float) -> float | None:
        """Asks again; an answer that is still waited for is that one."""
        self._pending = self._grants.access.may(self.question, self)
        return self._next(now) if self.holders else None

    def decided(self, verdict: Verdict, asked_at: float) -> None:
        """The answer: it is every holder's."""
        self._pending = None
        holders = list(self.holders)
        self._grants.access.count(verdict, times=len(holders) - 1)
        for holder in holders:
            if holder in self.holders:
                holder.rechecked(verdict, asked_at)

    def failed(self, error: Exception) -> None:
        """foyer's own code failed: nobody goes on without an answer."""
        self._pending = None
        for holder in list(self.holders):
            holder.failed(error)

    def close(self) -> None:
        """Nobody is left to ask for."""
        self._grants.wheel.remove(self)
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()


def _phases() -> Iterator[float]:
    """Parts of one, of which any number in a row lie apart: the golden ratio's multiples, modulo one."""
    phase = 0.0
    while True:
        phase = (phase + 0.618_033_988_75) % 1.0
        yield phase

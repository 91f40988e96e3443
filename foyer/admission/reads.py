"""A read's way to its target: two gates in turn, then the cap as every request (spec 06, Read admission).

A GET through `/k8s` streams through, so it passes the first gate only and has left it once its head is there.
What foyer holds, a fleet list or a snapshot, keeps its place at the first gate while it waits at the second,
and then both until it has been delivered. So a full pool fills the first gate too, and later reads are
refused there, where they have cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from foyer.admission.cap import Cap, Until
from foyer.admission.limit import ReadLimit, ReadPlace
from foyer.admission.memory import Memory, Refused, Want
from foyer.admission.place import Place
from foyer.admission.pool import Reservation
from foyer.exchange.ports import Cancellable, Expirable, UpstreamReceiver
from foyer.protocol.events import Failure


class Reads:
    """One target's."""

    __slots__ = ("_refusals", "_wait", "cap", "limit", "now")

    def __init__(
        self,
        limit: ReadLimit,
        cap: Cap,
        *,
        wait: float,
        now: Callable[[], float],
        refusals: MutableMapping[str, int],
    ) -> None:
        """`wait` is `-admission-wait` in seconds; `refusals` counts by the values of `Refused`."""
        self.limit = limit
        self.cap = cap
        self.now = now
        self._wait = wait
        self._refusals = refusals

    def open(self, receiver: UpstreamReceiver, *, deadline: float | None = None) -> Expirable:
        """A place on a connection for a read that is passed on: `upstream_open` or `upstream_gone`.

        `deadline`, on `now`'s clock, holds for both waits; without one each has its own time. One that is not
        let in fails by `Failure.NOT_ADMITTED`, one without a slot by `Failure.TARGET_FULL`: neither was sent.
        """
        passing = _Passing(self, receiver, deadline)
        passing.enter()
        return passing

    def enter(
        self,
        entered: Callable[[Read], None],
        refused: Callable[[Refused], None],
        *,
        deadline: float | None = None,
    ) -> Cancellable:
        """The first gate, for a read that is held. One of the two is called, once, unless it is cancelled."""
        entry = _Entry(self, None, entered, refused, deadline)
        entry.enter()
        return entry

    def admit(
        self,
        memory: Memory,
        want: Callable[[Read], Want],
        admitted: Callable[[Read], None],
        refused: Callable[[Refused], None],
        *,
        deadline: float | None = None,
    ) -> Cancellable:
        """Both gates. `want` is asked between them: a look at the scope is a request of the read."""
        entry = _Entry(self, (memory, want), admitted, refused, deadline)
        entry.enter()
        return entry

    def until(self, deadline: float | None) -> float:
        """How long one that comes to a gate now may wait there."""
        until = self.now() + self._wait
        return until if deadline is None else min(until, deadline)

    def refuse(self) -> None:
        """One was not let in here."""
        self.limit.turned_away()
        self._refusals[Refused.CONCURRENCY.value] += 1


class Read:
    """A read that was let in. `place` is held until it is delivered, `memory` until it is closed."""

    __slots__ = ("_reads", "memory", "place")

    def __init__(self, reads: Reads, place: ReadPlace) -> None:
        self._reads = reads
        self.place = place
        self.memory: Reservation | None = None

    def open(
        self, receiver: UpstreamReceiver, *, until: Until = Until.HEAD, deadline: float | None = None
    ) -> Expirable:
        """A place on a connection for a request of it, as `Cap.open`."""
        request = _Request(self._reads, self.place, receiver, until, deadline)
        request.ask()
        return request

    def delivered(self) -> None:
        """It is no longer at its target, though some of it is still held: another may read."""
        self.place.close()
        if self.memory is not None:
            self.memory.lasts()

    def close(self) -> None:
        """Gives back whatever it holds. More than once is once."""
        self.place.close()
        if self.memory is not None:
            self.memory.close()


class _Entry:
    """The way of a read that is held, up to where it is let in."""

    __slots__ = ("_admitted", "_claim", "_deadline", "_over", "_read", "_reads", "_refused", "_second")

    def __init__(
        self,
        reads: Reads,
        second: tuple[Memory, Callable[[Read], Want]] | None,
        admitted: Callable[[Read], None],
        refused: Callable[[Refused], None],
        deadline: float | None,
    ) -> None:
        """`second` is the second gate and what is wanted of it."""
        self._reads = reads
        self._second = second
        self._admitted = admitted
        self._refused = refused
        self._deadline = deadline
        self._read = Read(reads, reads.limit.place(self._entered, self._expired))
        self._claim: Cancellable | None = None
        self._over = False

    def enter(self) -> None:
        """Comes to the first gate."""
        self._read.place.ask(self._reads.until(self._deadline))

    def _entered(self) -> None:
        if self._second is None:
            self._admit()
            return
        memory, want = self._second
        claim = memory.reserve(want(self._read), self._reserved, self._turn_away, deadline=self._deadline)
        if not self._over:
            self._claim = claim

    def _reserved(self, reservation: Reservation) -> None:
        self._read.memory = reservation
        self._admit()

    def _admit(self) -> None:
        admitted = self._admitted
        self._end()
        try:
            admitted(self._read)
        except BaseException:
            self._read.close()  # nobody knows of it
            raise

    def _expired(self) -> None:
        self._reads.refuse()
        self._turn_away(Refused.CONCURRENCY)

    def _turn_away(self, why: Refused) -> None:
        refused = self._refused
        self._end()
        self._read.close()
        refused(why)

    def _end(self) -> None:
        self._over = True
        self._claim = None
        # Whoever asked has this as well: without their cycle both are freed at once.
        del self._admitted, self._refused, self._second

    def cancel(self) -> None:
        """Waits no longer. Harmless later: who has the read closes that."""
        if self._over:
            return
        claim = self._claim
        self._end()
        if claim is not None:
            claim.cancel()
        self._read.close()


class _Request:
    """A request of a read, as its slot and the pool tell of it: the place hears how long it waited."""

    __slots__ = (
        "_asked_at",
        "_deadline",
        "_left",
        "_opened",
        "_place",
        "_reads",
        "_receiver",
        "_slot",
        "_until",
    )

    def __init__(
        self,
        reads: Reads,
        place: ReadPlace,
        receiver: UpstreamReceiver,
        until: Until,
        deadline: float | None,
    ) -> None:
        self._reads = reads
        self._place = place
        self._receiver: UpstreamReceiver | None = receiver
        self._until = until
        self._deadline = deadline
        self._slot: Expirable | None = None
        self._asked_at = 0.0
        self._opened = False
        self._left = False

    def ask(self) -> None:
        """Comes to the cap. What counts as its wait begins here."""
        receiver, self._receiver = self._receiver, None
        assert receiver is not None
        self._asked_at = self._reads.now()
        self._place.asks()
        self._slot = self._reads.cap.open(receiver, until=self._until, deadline=self._deadline, place=self)

    def cancel(self) -> None:
        """Waits no longer. Whoever has a side cancels that."""
        self._left = True
        if self._slot is not None:
            self._slot.cancel()

    def expire(self) -> None:
        """The time of whoever asks is over, by a finer clock than the wheel's."""
        if self._slot is not None:
            self._slot.expire()

    def opened(self, now: float) -> None:
        """It goes up."""
        self._opened = True
        self._place.waited(now - self._asked_at)

    def answered(self) -> Place | None:
        """Its head is there."""
        return None

    def close(self) -> None:
        """It has left; maybe it never went up."""
        if self._opened:
            return
        waited = self._reads.now() - self._asked_at
        if self._left:
            self._place.left(waited)
        else:
            self._place.got_none(waited)


class _Passing(_Request):
    """A read through `/k8s`: a single request, which holds the read's place until its head is there."""

    __slots__ = ()

    def __init__(self, reads: Reads, receiver: UpstreamReceiver, deadline: float | None) -> None:
        place = reads.limit.place(self.ask, self._expired)
        super().__init__(reads, place, receiver, Until.HEAD, deadline)

    def enter(self) -> None:
        """Comes to the gate."""
        self._place.ask(self._reads.until(self._deadline))

    def _expired(self) -> None:
        receiver, self._receiver = self._receiver, None
        assert receiver is not None
        self._reads.refuse()
        receiver.upstream_gone(Failure.NOT_ADMITTED)

    def cancel(self) -> None:
        """Waits no longer, at the gate, at the cap or for a connection."""
        super().cancel()
        if not self._opened:
            self._place.close()

    def expire(self) -> None:
        """The time is over, at the gate or at the cap."""
        self._place.expire()
        super().expire()

    def answered(self) -> Place | None:
        """It has been answered: another may read."""
        self._place.close()
        return None

    def close(self) -> None:
        """It has left."""
        super().close()
        self._place.close()

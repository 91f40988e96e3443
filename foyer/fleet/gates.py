"""The gates of read admission as a fleet read passes them (`foyer.fleet.ports`, over `foyer.admission`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

from foyer.admission import memory
from foyer.admission.cap import Until
from foyer.admission.memory import Refused, Want
from foyer.admission.pool import Reservation
from foyer.admission.reads import Read, Reads
from foyer.exchange.ports import Answer, Cancellable, UpstreamReceiver
from foyer.fleet.ports import NotAdmitted
from foyer.protocol.events import RequestHead


class Whole(Protocol):
    """`foyer.net.whole.whole_answer`."""

    async def __call__(
        self,
        open_side: Callable[[UpstreamReceiver], Cancellable],
        head: RequestHead,
        content: bytes,
        *,
        limit: int,
        timeout: float,
    ) -> Answer: ...


class Closes(Protocol):
    """What is held once it is granted."""

    def close(self) -> None: ...


H = TypeVar("H", bound=Closes)


class Entrance:
    """One target by way of its gate: `foyer.fleet.ports.Target`."""

    def __init__(self, authority: bytes, reads: Reads, whole: Whole) -> None:
        self.authority = authority
        self._reads = reads
        self._whole = whole

    async def enter(self, until: float) -> EnteredRead:
        """As `foyer.fleet.ports.Target` has it."""
        read = await _granted(partial(self._reads.enter, deadline=until))
        return EnteredRead(read, self._reads.now, self._whole)


class EnteredRead:
    """A read that is let in there: `foyer.fleet.ports.Entered`."""

    def __init__(self, read: Read, now: Callable[[], float], whole: Whole) -> None:
        self._read = read
        self._now = now
        self._whole = whole

    async def ask(self, head: RequestHead, content: bytes, *, limit: int, timeout: float) -> Answer:
        """An `Ask`: a slot under the target's cap until the answer is whole, both within the `timeout`."""
        way = partial(self._read.open, until=Until.WHOLE, deadline=self._now() + timeout)
        return await self._whole(way, head, content, limit=limit, timeout=timeout)

    def close(self) -> None:
        """Gives its place back."""
        self._read.close()


class MemoryGate:
    """The one of memory: `foyer.fleet.ports.Memory`."""

    def __init__(self, gate: memory.Memory) -> None:
        self._gate = gate

    @property
    def pool(self) -> int:
        """Bytes of all of it."""
        return self._gate.pool.size

    async def reserve(
        self, scope: str, measure: Callable[[], Awaitable[int | None]], until: float
    ) -> Reservation:
        """Memory for `scope`: sizes are bytes of memory already, so no multiple is taken of them."""
        want = Want(scope, partial(_look, measure), multiple=1.0, cut=True)
        return await _granted(partial(self._gate.reserve, want, deadline=until))

    def took(self, scope: str, size: int) -> None:
        """For the next one."""
        self._gate.estimates.took(scope, size)


async def _granted(ask: Callable[[Callable[[H], None], Callable[[Refused], None]], Cancellable]) -> H:
    """What `ask` is granted. Raises `NotAdmitted`; cancelled, it holds nothing."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[H] = loop.create_future()

    def granted(held: H) -> None:
        if answer.done():
            held.close()  # whoever asked was cancelled in this very turn
        else:
            answer.set_result(held)

    def refused(why: Refused) -> None:
        if not answer.done():
            answer.set_exception(NotAdmitted(why.value))

    waiting = ask(granted, refused)
    try:
        return await answer
    except asyncio.CancelledError:
        waiting.cancel()
        if answer.done() and not answer.cancelled() and answer.exception() is None:
            answer.result().close()  # the other way round
        raise


def _look(measure: Callable[[], Awaitable[int | None]], found: Callable[[int | None], None]) -> Cancellable:
    """Tells `found` what `measure` comes to, unless it is cancelled."""

    async def looking() -> None:
        found(await measure())

    return asyncio.get_running_loop().create_task(looking())

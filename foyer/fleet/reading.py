"""A fleet read: every target asked at once, page by page, until there is one list (spec 06).

One deadline holds for all of it: the wait to be let in, the wait for a slot under each target's cap, and
every page. Targets list by name and the list is by age, so each is read from its start to its end, whatever
was asked for; what is before a `continue` is dropped as it goes by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple, TypeVar

from foyer.admission.estimates import GUESS
from foyer.exchange.ports import FetchFailed
from foyer.fleet import merged, objects, outcome
from foyer.fleet.merged import Merged
from foyer.fleet.oldest import Oldest, cost
from foyer.fleet.outcome import Bounds, Outcome
from foyer.fleet.pace import WHOLE, Pace
from foyer.fleet.ports import Entered, Memory, NotAdmitted, Target
from foyer.fleet.query import Query
from foyer.interruption import Interruption, Reason, not_admitted
from foyer.protocol.events import Failure, Fields, RequestHead
from foyer.session.seal import IdToken
from foyer.streams.lists import Listed

SLICE = 256 * 1024
"""Bytes of items that are read at once, before others have their turn: two or three milliseconds."""

LOOK = 0.1
"""The part of its time that a read gives to measuring what it will need: a slow target must not keep the
others' lists from being read."""

_ITEM = 2 * 1024  # what an item costs beside its bytes, as bytes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Common:
    """What every fleet read of a replica is given.

    `memory` is the second gate; `most` is `-max-fleet-items`, `page_bytes` `-max-target-answer-bytes`,
    `retry_after` in whole seconds; `now` is the wheel's clock. `refusals` counts by gate what a read has to
    refuse itself. `pace` is what all of them keep together.
    """

    memory: Memory
    now: Callable[[], float]
    most: int
    page_bytes: int
    retry_after: int
    refusals: MutableMapping[str, int]
    pace: Pace


class Read(NamedTuple):
    """What was read, and what is held for it until it has been delivered."""

    list: Merged
    held: ExitStack


class Reading:
    """One fleet read, by `read` or not at all."""

    def __init__(
        self,
        common: Common,
        targets: Mapping[str, Target],
        query: Query,
        path: bytes,
        token: IdToken,
        seconds: float,
    ) -> None:
        """`path` is the API server's own; `token` whose objects are read, within so many `seconds`.

        Raises `AssertionError` for an empty token: a request without one would be sent as anonymous.
        """
        if not token:
            raise AssertionError("a request is never sent without its user's token")
        self._common = common
        self._targets = targets
        self._query = query
        self._path = path
        self._token = token
        self._bounds = Bounds(seconds, common.page_bytes)
        self._deadline = common.now() + seconds
        self._most = min(common.most, query.limit or common.most)

    async def read(self) -> Read | Interruption:
        """The list, or why there is none. Cancelled, it gives up whatever it asks, and what it holds."""
        with ExitStack() as held:
            names = self._query.targets
            entered = await self._each(names, lambda name: self._enter(name, held))
            admitted = {name: read for name, read in entered.items() if read is not None}
            if not admitted or (len(admitted) < len(names) and not self._query.partial):
                return not_admitted("concurrency", self._common.retry_after)
            try:
                memory = await self._common.memory.reserve(
                    self._scope, lambda: self._measure(admitted), self._deadline
                )
            except NotAdmitted as refused:
                return not_admitted(refused.gate, self._common.retry_after)
            held.callback(memory.close)
            oldest = Oldest(self._most, memory)
            outcomes = await self._each(admitted, lambda name: self._target(name, admitted[name], oldest))
            await self._common.pace.step(WHOLE)
            # An estimate may have been the whole pool, and a slow browser have the answer for half an hour.
            memory.shrink_to(oldest.held)
            # Who asked for some has the others' items.
            found = self._judged({name: outcomes.get(name, outcome.NOT_ADMITTED) for name in names}, oldest)
            return found if isinstance(found, Interruption) else Read(found, held.pop_all())

    async def _each(
        self, names: Collection[str], work: Callable[[str], Coroutine[Any, Any, T]]
    ) -> dict[str, T]:
        """What `work` comes to for each name, for all of them at once, as the pace lets them begin."""

        async def paced(name: str) -> T:
            await self._common.pace.step()
            return await work(name)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = {name: group.create_task(paced(name)) for name in names}
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None  # a fault of ours: it is logged by its own type
        return {name: task.result() for name, task in tasks.items()}

    # The gates.

    async def _enter(self, name: str, held: ExitStack) -> Entered | None:
        try:
            read = await self._targets[name].enter(self._deadline)
        except NotAdmitted:
            return None
        held.callback(read.close)
        return read

    @property
    def _scope(self) -> str:
        """What is read, for whoever remembers how much that was."""
        query = self._query
        begins = query.after is None  # what is left of a list is less, and says nothing of all of it
        asked = (self._path, query.targets, query.label_selector, query.field_selector, self._most, begins)
        return repr(asked)

    async def _measure(self, admitted: Mapping[str, Entered]) -> int | None:
        """By a look at each target's first item, what all may need; None where none can be told."""
        sizes = (await self._each(admitted, lambda name: self._look(name, admitted[name]))).values()
        if all(size is None for size in sizes):
            return None
        return sum(GUESS if size is None else size for size in sizes)

    async def _look(self, name: str, read: Entered) -> int | None:
        try:
            # Cancelled, and not timed out: that it was given up so soon says nothing about the target.
            async with asyncio.timeout(LOOK * self._bounds.seconds):
                page = await self._page(name, read, self._query.page(self._path, limit=1), "")
        except TimeoutError:
            return None
        if isinstance(page, Outcome):
            return 0  # it will say so again, and takes no memory for that
        items, size = page.measure()  # a server may give more than it was asked for
        remaining = page.remaining if page.token else 0
        if remaining is None:
            return None
        return cost(ceil(size / max(1, items)), min(items + remaining, self._most))

    # A target's list.

    async def _target(self, name: str, read: Entered, oldest: Oldest) -> Outcome:
        token = ""
        while True:
            page = await self._page(name, read, self._query.page(self._path, token), token)
            if isinstance(page, Outcome):
                return page
            if not await self._take(name, page, oldest):
                return outcome.NO_OBJECT
            token = page.token
            if not token:
                return outcome.OK
            del page  # its text is not needed while the next one is waited for

    async def _page(self, name: str, read: Entered, asked: bytes, before: str) -> Listed | Outcome:
        bounds = self._bounds
        fields: Fields = [
            (b"authorization", b"Bearer " + self._token),
            (b"accept", b"application/json"),
            (b"user-agent", b"foyer"),  # in the API server's audit log these are not the browser's own
        ]
        head = RequestHead(b"GET", asked, fields, authority=self._targets[name].authority)
        left = self._deadline - self._common.now()
        if left <= 0:
            return outcome.unanswered(Failure.TIMEOUT, bounds, first=not before)
        try:
            answer = await read.ask(head, b"", limit=bounds.page_bytes, timeout=left)
        except FetchFailed as failed:
            return outcome.unanswered(failed.failure, bounds, first=not before)
        return outcome.judged(answer, before)

    async def _take(self, name: str, page: Listed, oldest: Oldest) -> bool:
        """Whether all of its items are objects; those that may be given are in `oldest` then."""
        after = self._query.after
        read = 0
        for text in page.items():
            entry = objects.read(text, name)
            if entry is None:
                return False
            if after is None or entry.position > after:
                oldest.add(entry)
            read += _ITEM + len(text)
            if read >= SLICE:
                read = 0
                await asyncio.sleep(0)
        return True

    # The end.

    def _judged(self, outcomes: Mapping[str, Outcome], oldest: Oldest) -> Merged | Interruption:
        refusal = None if self._query.partial else outcome.refusal(outcomes)
        if refusal is not None:
            return refusal
        if oldest.dropped is not None and not oldest.entries:
            # Not even one: there never was room for it, or there is none now.
            if oldest.dropped_cost > self._common.memory.pool:
                self._common.refusals["too-large"] += 1
                return _TOO_LARGE
            self._common.refusals["memory"] += 1
            return replace(not_admitted("memory", self._common.retry_after), message=_NO_ROOM)
        if all(found.kind is outcome.Kind.OK for found in outcomes.values()):
            self._common.memory.took(self._scope, oldest.held)
        return merged.merge(outcomes, oldest, self._query.limit)


_TOO_LARGE = Interruption(
    Reason.READ_TOO_LARGE,
    "One object of this list alone needs more than all the memory that foyer has for reads. Narrow the list"
    " to objects without it, or have -memory-pool raised.",
)

_NO_ROOM = "foyer has no memory left for even the first object of this list. It may have some in a moment."

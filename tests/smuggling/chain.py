"""A foyer with its recorder, whoever stands before and behind it, and the visits that are paid to it.

foyer runs in this process, as in the pairings; recorder and visitors share one more loop and thread.
`FOYER_SMUGGLING_CASES` is how many cases each grammar gives, `FOYER_SMUGGLING_SEED` which.
"""

import asyncio
import os
import threading
import time
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Protocol, TypeVar

from tests.smuggling.account import Account, Logged
from tests.smuggling.grammar import requests
from tests.smuggling.person import newcomer
from tests.smuggling.recorder import Recorder
from tests.smuggling.streams import HONEST, Stream, near_misses
from tests.smuggling.tricks import Trick
from tests.smuggling.visits import Visit, visit_h1, visit_h2
from tests.support.pairings import ROOMY, Product

T = TypeVar("T")

AT_ONCE = 40
"""Visits at a time: those that end when a patience does wait for it together."""

PATIENCE = 20.0
"""Seconds for everything to come to rest, which only a failing test needs."""

STILL = 1.0
"""Seconds after which no line more is expected of a proxy: some visitors leave before their answers."""

SEED = int(os.environ.get("FOYER_SMUGGLING_SEED", "1"))


def fuzzed_bytes(usual: int) -> Iterator[tuple[str, Trick]]:
    """Near-misses of HTTP/1.1, named so that each can be made again."""
    return islice(((f"seed {SEED}, {n}", trick) for n, trick in enumerate(requests(SEED))), _cases(usual))


def fuzzed_streams(usual: int) -> Iterator[tuple[str, Stream]]:
    """Near-misses of HTTP/2."""
    return islice(
        ((f"seed {SEED}, {n}", stream) for n, stream in enumerate(near_misses(SEED))), _cases(usual)
    )


def _cases(usual: int) -> int:
    return int(os.environ.get("FOYER_SMUGGLING_CASES", usual))


class Day:
    """A loop and thread of its own, for the recorder and the visitors."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="visits", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()


class Log(Protocol):
    """A proxy's log."""

    def forget(self) -> None:
        """From now on, only what comes."""

    def lines(self) -> list[Logged]:
        """What has come."""


@dataclass
class Chain:
    """`ports` are where browsers go, by the version that is spoken there."""

    day: Day
    product: Product
    recorder: Recorder
    ports: dict[str, int]
    before: Log | None = None
    behind: Log | None = None

    def findings_of_bytes(self, cases: Iterator[tuple[str, Trick]]) -> list[str]:
        """What does not add up after HTTP/1.1 visits, of the first few."""
        visits = []
        for name, trick in cases:
            person = newcomer(self.product.keyring)
            data = trick.written(person)
            visits.append(visit_h1(name, person, data, self.ports["h1"], _cuts(name, len(data))))
        return self._findings(visits)

    def findings_of_streams(self, cases: Iterator[tuple[str, Stream]]) -> list[str]:
        """The same of HTTP/2."""
        visits = []
        for name, stream in cases:
            person = newcomer(self.product.keyring)
            sent = stream.sent(person), HONEST.sent(person)
            visits.append(visit_h2(name, person, sent, self.ports["h2"]))
        return self._findings(visits)

    def _findings(self, visits: list[Coroutine[Any, Any, Visit]]) -> list[str]:
        self.recorder.forget()
        for log in (self.before, self.behind):
            if log is not None:
                log.forget()
        paid = self.day.run(_paid(visits))
        self._come_to_rest()
        account = Account(paid, self.recorder, direct=self.before is None)
        found = list(account.findings())
        if self.before is not None:
            found += account.of_log(self.before.lines(), before_foyer=True)
        if self.behind is not None:
            found += account.of_log(self.behind.lines(), before_foyer=False)
        assert len(self.recorder.requests) > len(paid) / 4, "hardly anything went up: what was tested?"
        return found

    def _come_to_rest(self) -> None:
        """Until foyer has nothing open, and each proxy's log has all answers, or nothing new for a while."""
        logs = [log for log in (self.before, self.behind) if log is not None]
        deadline, last, since = time.monotonic() + PATIENCE, -1, 0.0
        while True:
            answered = [sum(line.serial is not None for line in log.lines()) for log in logs]
            if self.product.open_exchanges == 0:
                if all(count >= len(self.recorder.requests) for count in answered):
                    return
                if sum(answered) == last and time.monotonic() > since + STILL:
                    return
            if sum(answered) != last:
                last, since = sum(answered), time.monotonic()
            assert time.monotonic() < deadline, "something never came to rest"
            time.sleep(0.02)


async def _paid(visits: list[Coroutine[Any, Any, Visit]]) -> list[Visit]:
    free = asyncio.Semaphore(AT_ONCE)

    async def paid(visit: Coroutine[Any, Any, Visit]) -> Visit:
        async with free:
            return await visit

    return await asyncio.gather(*map(paid, visits))


def _cuts(name: str, size: int) -> list[int]:
    """Where the bytes of a case are cut into writes: every other one of them nowhere."""
    source = Random(name)
    return sorted(source.sample(range(1, size), source.choice([0, 0, 0, 1, 2, 3])))


def foyer_before(folder: Path, port: int, **flags: str) -> Product:
    """A foyer of plain HTTP, in both versions, pinned to 127.0.0.1:`port`."""
    folder.mkdir()
    return Product(folder, f"https://127.0.0.1:{port}", tls=False, flags=ROOMY | flags)

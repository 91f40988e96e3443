"""What somebody else notices of a flood: the median of a small GET within 3 times of its quiet value, and
the server's memory within 16 MiB of where it was, for every kind.

What is fair on two cores: the server has one to itself. The API server, whoever measures, and the flood
share the other, where the flood stands behind the rest, so that it takes what they leave (nearly all) and
they do not wait for it. And "quiet" is no idle machine: the same program is just as busy on the same core
then, and sends to nobody. So what differs between the two is only what the server has to do for the flood.
With more cores the flood has one of its own.

A flood comes in two manners: from a client that stays until it is ended, and from one that leaves a
connection as soon as the kernel has what it says. What the server still has to do for the latter's when it is
over is a column of its own.
"""

import json
import os
import time
from dataclasses import asdict, dataclass, replace
from statistics import median

from bench.flooder import Manner, Target
from bench.kinds import KINDS, Kind
from bench.messages import H2
from bench.pairings import Amount
from bench.processes import Bench, Running
from bench.report import Report
from bench.servers import (
    ORIGIN,
    foyer_cookie,
    goref,
    goref_cookie,
    start_foyer,
    start_goref,
)
from bench.small import TARGET

SLOWER = 3.0
"""Times its quiet median that somebody else's GET may take."""

MORE = 16.0
"""MiB that the server may have more than before, meanwhile and afterwards."""

FLOODER, SOMEBODY = 1, range(2, 202)
"""People. foyer has all of its bounds, and so many share what is asked that none of them meets one. Of 32
most were refused after some minutes, in half the time: a flood was then held against quiet refusals."""

COLUMNS = ["quiet µs", "stays", "leaves", "+MiB", "after s", "ended/s", "MB/s"]

SAMPLE = 0.02
"""Seconds between two looks at the server's memory."""

STILL = 0.1
"""Of a core: below it a server counts as one that does nothing."""

LONGEST = 20.0
"""Seconds that it gets for that."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One flood: somebody else's quiet median and the one meanwhile in seconds, what it cost, what it was."""

    quiet: float
    median: float
    more: float
    after: float
    ended: float
    sent: float


def measure(amount: Amount, report: Report) -> None:
    """Fills a table for each server; a round is enough for who stands beside."""
    with Bench() as bench:
        api = bench.api(H2)
        measured = [start_foyer(bench, api, {})]
        if program := goref():
            measured.append(start_goref(bench, program, api))
        for server in measured:
            rounds = amount if server is measured[0] else replace(amount, flood_rounds=1)
            _measure(Street(bench, api, server), server, rounds, report)


def _measure(street: "Street", server: Running, amount: Amount, report: Report) -> None:
    table = report.table(f"{server.name} under floods, somebody else's GET", COLUMNS)
    if len(os.sched_getaffinity(0)) == 1:
        report.note("there is one core alone: everything waits for everything, and the figures mean little")
    began = server.rss
    slowest = most = 0.0
    for kind in KINDS:
        stays, leaves = (street.rounds(kind, manner, amount) for manner in (Manner.STAYS, Manner.LEAVES))
        every = stays + leaves
        quiet = min(seen.quiet for seen in every)
        # Each beside its own: from one minute to the next a machine's idle cores wake twice as slowly.
        times = [median(seen.median / seen.quiet for seen in rounds) for rounds in (stays, leaves)]
        more, after = max(seen.more for seen in every), max(seen.after for seen in every)
        ended, sent = max(seen.ended for seen in stays), max(seen.sent for seen in stays)
        table.row(kind.name, [quiet * 1e6, *times, more, after, ended, sent], ".1f")
        slowest, most = max(slowest, *times), max(most, more)
    nothing: list[float | None] = [None] * len(COLUMNS)
    if server.name == "foyer":
        table.at_most("the worst, times its quiet value", [None, slowest, *nothing[2:]], SLOWER)
        table.at_most("the worst, MiB more", [*nothing[:3], most, *nothing[4:]], MORE, ".1f")
    table.row("after all of them, MiB more", [*nothing[:3], (server.rss - began) / 1024, *nothing[4:]], ".1f")


class Street:
    """A server, somebody who asks it for small things, and who floods it now and then."""

    def __init__(self, bench: Bench, api: Running, server: Running) -> None:
        self._server = server
        cores = sorted(os.sched_getaffinity(0))
        flood, others = {cores[-1]}, set(cores[1:-1]) or {cores[-1]}
        server.pin({cores[0]})
        api.pin(others)
        people = [bench.session(number) for number in SOMEBODY]
        if server.name == "goref":
            cookies = [goref_cookie(person, bench.key) for person in people]
        else:
            cookies = [foyer_cookie(bench, person) for person in people]
        asking = {"port": server.port, "targets": [TARGET], "cookies": cookies}
        self._neighbour = bench.python("bench.neighbour")
        self._neighbour.say(asking)
        self._neighbour.pin(others)
        self._neighbour.line()
        target = Target(server.port, server.cookie, bench.session(FLOODER).csrf_token, ORIGIN)
        self._flooder = bench.python("bench.flooder", json.dumps(asdict(target)))
        self._flooder.pin(flood, behind=True)

    def rounds(self, kind: Kind, manner: Manner, amount: Amount) -> list[Seen]:
        """Rounds of a kind, each with its own quiet value just before."""
        return [self._seen(kind, manner, amount.flooded) for _ in range(amount.flood_rounds)]

    def _seen(self, kind: Kind, manner: Manner, gets: int) -> Seen:
        before = self._server.rss
        quiet = self._beside(kind, Manner.REHEARSES, gets)
        flooded = self._beside(kind, manner, gets)
        after = self._after()
        return Seen(
            quiet=quiet["median"],
            median=flooded["median"],
            more=(max(flooded["most"], self._server.rss) - before) / 1024,
            after=after,
            ended=flooded["ended"] / flooded["seconds"],
            sent=flooded["bytes"] / flooded["seconds"] / 1e6,
        )

    def _beside(self, kind: Kind, manner: Manner, gets: int) -> dict[str, float]:
        """What the neighbour says while the flood goes on, or its rehearsal; and how much that was."""
        self._flooder.say({"kind": kind.name, "manner": manner.value})
        self._flooder.line()
        found, most = self._ask(gets)
        self._flooder.say("enough")
        return {**found, **self._flooder.line(), "most": most}

    def _ask(self, gets: int) -> tuple[dict[str, float], float]:
        """The neighbour's answer, and the most memory the server was seen to have meanwhile, in KiB."""
        most = 0.0
        self._neighbour.say(gets)
        while not self._neighbour.has_said(SAMPLE):
            most = max(most, self._server.rss)
        return dict(self._neighbour.line()), most

    def _after(self) -> float:
        """Seconds until the server does nothing any more."""
        began = time.monotonic()
        while (seconds := time.monotonic() - began) < LONGEST:
            before = self._server.cpu
            time.sleep(2 * SAMPLE)  # what is measured is how little it does in this time
            if self._server.cpu - before < STILL * 2 * SAMPLE:
                break
        return seconds

"""One server's rehearsal over one HTTP version, act by act, and what has to be so in each.

    sign in — open — change, several times — restart, open with the old cookies, change — log out
    sign in — open — change — log out, again, in the process that already did it

The yardstick has neither a restart nor a second round: it stands beside foyer for the figures.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.processes import Bench
from bench.rehearsal.kinds import Kind
from bench.rehearsal.serving import CHECK_INTERVAL, Foyer, Rehearsed
from bench.rehearsal.signing_in import SignedIn
from bench.rehearsal.surroundings import Surroundings
from foyer.net.listener import TRIM_AFTER

EACH = 9
"""Watches of each person's."""

SERIES = (
    "krm_foyer_requests_in_flight",
    "krm_foyer_streams_open",
    'krm_foyer_upstream_watches_open{identity="user"}',
    'krm_foyer_upstream_watches_open{identity="shared"}',
    "krm_foyer_shared_subscriptions_open",
)
"""What is nothing when nobody is there."""

WITHIN = 10.0
"""Seconds for one change to reach everybody."""

PATIENCE = 60.0
"""Seconds for everybody to have opened everything."""

SETTLED = 15.0
"""Seconds for what is over to be gone everywhere."""

WARM = 10
"""The first part of a soak, a tenth, may still find what it has not needed before."""

FLAT = 1.05
"""Most memory in the rest of it, over least."""

HANDED_BACK = 2.5
"""Seconds after everybody has opened everything until the allocator's spare memory is the system's again."""

KEPT = frozenset({"foyer.streams.access._Kept"})
"""Of which one for each person may be left: what the API server said of their access holds for a while."""

MORE_ROUNDS = 4
MORE_MEMORY = 1.05
MORE_KIB = 2048.0
"""What a round more may take beyond its process's first. Where one does not keep to it, the next may: what
handshakes leave between connections differs by 15 %, and only ever adds. What leaks is there each time."""


@dataclass(slots=True)
class Found:
    """What was measured. Times in seconds, memory in KiB, CPU in seconds; lists have a value a repetition."""

    idle: float = 0.0
    signing_in: list[float] = field(default_factory=list)
    signing_in_cpu: list[float] = field(default_factory=list)
    cookie: int = 0
    sessions: float = 0.0
    opening: list[float] = field(default_factory=list)
    opening_cpu: list[float] = field(default_factory=list)
    open: list[float] = field(default_factory=list)
    reopening: float | None = None
    first: list[float] = field(default_factory=list)
    slowest: list[float] = field(default_factory=list)
    reached: list[list[float]] = field(default_factory=list)
    """Of each change, each watch's time, in order."""
    cpu: dict[str, list[float]] = field(default_factory=dict)
    """Of each change, for each who was told, by process."""
    cut: list[list[float]] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    upstream: list[int] = field(default_factory=list)
    """Watches at the API server: before, open, after the first logout."""
    reviews: list[int] = field(default_factory=list)
    """Access reviews while everybody opened."""
    held_reviews: float | None = None
    """A second, while nothing happens, and"""
    held_cpu: float | None = None
    """seconds of CPU a second."""
    soaked: list[float] = field(default_factory=list)
    """Memory, at each change of a soak."""
    failures: list[str] = field(default_factory=list)

    def holds(self, so: bool, otherwise: str) -> None:
        """Takes down what is not as it must be."""
        if not so:
            self.failures.append(otherwise)


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything."""

    people: int
    changes: int
    """Measured after each opening."""
    hold: float
    """Seconds for which shared streams are left alone, and the API server is asked again; 0: not at all."""
    soak: float = 0.0
    """Seconds of a change a second."""


class Rehearsal:
    """One server between its surroundings and everybody's browsers."""

    def __init__(
        self, bench: Bench, around: Surroundings, server: Rehearsed, kind: Kind, version: str, size: Size
    ) -> None:
        self.found = Found()
        self._bench = bench
        self._around = around
        self._server = server
        self._kind = kind
        self._version = version
        self._size = size
        self._people = size.people
        self._total = size.people * EACH
        self._marks = 0
        target = kind.value.target
        self._crowd = bench.python("bench.rehearsal.crowd", str(server.running.port), version, target)

    def foyer(self, foyer: Foyer) -> Found:
        """All of it."""
        self._begin()
        people = self._sign_in()
        self._open(people)
        self._change()
        self._restart(foyer)
        idle = foyer.tally()
        self._open(people)
        self.found.reopening = self.found.opening[-1]
        counted = foyer.metric(self._kind.value.series)
        self.found.holds(counted == self._total, f"foyer counts {counted:.0f} of {self._total}")
        if self._kind is Kind.SHARED and self._size.hold:
            self._hold(foyer)
        self._change()
        if self._size.soak:
            self._soak()
        self._log_out()
        self._back(foyer, idle)
        for _ in range(MORE_ROUNDS):
            self._open(self._sign_in())
            self._change()
            self._log_out()
            self._back(foyer, idle)
            once, again = self.found.open[1], self.found.open[-1]
            if again <= once * MORE_MEMORY + MORE_KIB:
                return self.found
        least = min(self.found.open[2:])
        self.found.failures.append(f"a round more takes {least / 1024:.1f} MiB, the first {once / 1024:.1f}")
        return self.found

    def yardstick(self) -> Found:
        """What the figures need."""
        self._begin()
        self._open(self._sign_in())
        self._change()
        self._log_out()
        self._leave()
        return self.found

    # The acts.

    def _begin(self) -> None:
        self._settle()
        self.found.idle = self._server.running.rss
        self.found.upstream.append(self._around.watches())

    def _sign_in(self) -> list[SignedIn]:
        cpu, began = self._server.running.cpu, time.monotonic()
        people = self._server.sign_in(self._people)
        self.found.signing_in.append(time.monotonic() - began)
        self._settle()
        self.found.signing_in_cpu.append(self._server.running.cpu - cpu)
        self.found.cookie = len(people[0].cookie)
        if not self.found.sessions:
            self.found.sessions = self._server.running.rss
        return people

    def _open(self, people: list[SignedIn]) -> None:
        known = [(one.cookie, one.csrf) for one in people]
        self._tell("come", people=known, origin=self._around.origin)
        cpu, reviews = self._server.running.cpu, self._around.reviews()
        mark = self._kind.value.snapshot
        opened = self._tell("open", each=EACH, mark=mark, within=PATIENCE)
        seen = [at - opened["began"] for at in opened["seen"]]
        self.found.holds(len(seen) == self._total, f"{len(seen)} of {self._total} opened")
        self.found.opening.append(max(seen, default=0) / 1e9)
        self._settle()
        self.found.opening_cpu.append(self._server.running.cpu - cpu)
        self.found.reviews.append(self._around.reviews() - reviews)
        # foyer hands memory back that long after a mass has come, and tells nobody.
        time.sleep(HANDED_BACK if self._total >= TRIM_AFTER else 0)
        self.found.open.append(self._server.running.rss)
        at_api = self._around.watches()
        if len(self.found.upstream) == 1:
            self.found.upstream.append(at_api)
        most = self._kind.upstream(self._total)
        self.found.holds(at_api == most, f"{at_api} watches at the API server, not {most}")

    def _change(self) -> None:
        """One object, to everybody; the first of them warms up and is in no figure."""
        measured: list[list[float]] = []
        for number in range(self._size.changes + 1):
            at, seen, before = self._one_change()
            self._settle(0.1)
            if number and seen:
                for name, cpu in self._cpu().items():
                    self.found.cpu.setdefault(name, []).append((cpu - before[name]) / len(seen))
                measured.append([(one - at) / 1e9 for one in seen])
        self.found.first += [times[0] for times in measured]
        self.found.slowest += [times[-1] for times in measured]
        self.found.reached += measured

    def _one_change(self) -> tuple[int, list[int], dict[str, float]]:
        """When it was made and when each browser had read it, in nanoseconds; everybody's CPU just before."""
        self._marks += 1
        mark = f"mark-{self._version}-{self._marks:06}."
        self._tell("await", mark=mark)
        before = self._cpu()
        at = self._around.change(mark)
        seen = self._tell("saw", within=WITHIN)["seen"]
        self.found.holds(len(seen) == self._total, f"a change reached {len(seen)} of {self._total}")
        return at, seen, before

    def _hold(self, foyer: Foyer) -> None:
        """Everybody may go on reading, as the API server is asked meanwhile."""
        before, cpu = self._around.reviews(), self._server.running.cpu
        time.sleep(self._size.hold)  # the time is the measurement
        self.found.held_cpu = (self._server.running.cpu - cpu) / self._size.hold
        self.found.held_reviews = (self._around.reviews() - before) / self._size.hold
        counted = foyer.metric(self._kind.value.series)
        self.found.holds(counted == self._total, f"after {self._size.hold:g} s {counted:.0f} are left")

    def _soak(self) -> None:
        """A change a second: each reaches everybody before the next one is made, and memory stays flat."""
        end = time.monotonic() + self._size.soak
        while time.monotonic() < end:
            next_one = time.monotonic() + 1.0
            self._one_change()
            self.found.soaked.append(self._server.running.rss)
            time.sleep(max(0.0, next_one - time.monotonic()))  # the pace is what is rehearsed
        begun = self.found.soaked[len(self.found.soaked) // WARM :]
        most = max(begun, default=0.0) / min(begun, default=1.0)
        self.found.holds(most <= FLAT, f"memory moved by {most - 1:.1%} in {self._size.soak:g} s")

    def _restart(self, foyer: Foyer) -> None:
        foyer.restart()
        ended = self._tell("ends", within=SETTLED)
        self.found.holds(not ended["open"], f"{ended['open']} watches outlived a restart")
        self.found.holds(not ended["clean"], f"{ended['clean']} watches ended cleanly in a restart")
        self._leave()
        self._settle()

    def _log_out(self) -> None:
        gone = self._tell("log out", within=3 * CHECK_INTERVAL)
        self.found.cut.append(sorted(gone["cut"]))
        self.found.answered.append(max(gone["answered"], default=0.0))
        late = sum(1 for seconds in gone["cut"] if seconds > CHECK_INTERVAL) + gone["open"]
        self.found.holds(not late, f"{late} watches were not cut within {CHECK_INTERVAL:g} s of their logout")
        self.found.holds(not gone["clean"], f"{gone['clean']} watches ended cleanly at a logout")
        answered = len(gone["answered"])
        self.found.holds(answered == self._people, f"{answered} of {self._people} logouts were answered")

    def _back(self, foyer: Foyer, idle: Mapping[str, Any]) -> None:
        """Everybody leaves, and then there is what there was before anybody came."""
        self._leave()
        wrong = ["nothing was looked at"]
        deadline = time.monotonic() + SETTLED
        while wrong and time.monotonic() < deadline:
            wrong = grown(foyer.tally(), idle, self._total)
            for series in SERIES:
                if left := foyer.metric(series):
                    wrong.append(f"{series} {left:.0f}")
            if at_api := self._around.watches():
                wrong.append(f"{at_api} watches at the API server")
            time.sleep(0.2 if wrong else 0)  # a gauge can only be asked again
        self.found.failures += [f"not as it was before: {what}" for what in wrong]
        cut = foyer.metric('krm_foyer_responses_cut_short_total{cause="session_ended"}')
        rounds = len(self.found.cut)
        self.found.holds(
            cut == rounds * self._total, f"{cut:.0f} responses counted as cut, not {rounds * self._total}"
        )

    # Around the acts.

    def _leave(self) -> None:
        self._tell("leave")
        _until(lambda: not self._around.watches())
        if len(self.found.upstream) == 2:
            self.found.upstream.append(self._around.watches())

    def _tell(self, what: str, **more: Any) -> Any:
        self._crowd.say({"do": what, **more})
        return self._crowd.line()

    def _cpu(self) -> dict[str, float]:
        return {
            "server": self._server.running.cpu,
            "API server": self._around.cpu(),
            "browsers": self._crowd.cpu,
        }

    def _settle(self, step: float = 0.3) -> None:
        """Until the server does nothing."""
        for _ in range(30):
            before = self._server.running.cpu
            time.sleep(step)  # what is measured is how little it does in this time
            if self._server.running.cpu - before < 0.02 * step:
                return


def grown(now: Mapping[str, Any], idle: Mapping[str, Any], total: int) -> list[str]:
    """What of a tally has grown: tasks and files exactly, of foyer's objects what a leak would leave."""

    def of_connections(tally: Mapping[str, Any]) -> int:
        kinds = ("foyer.net.upstream.UpstreamConnection", "foyer.net.browser.BrowserConnection")
        return sum(tally["objects"].get(kind, 0) for kind in kinds)

    wrong = []
    if now["tasks"] != idle["tasks"]:
        wrong.append(f"{now['tasks']} tasks, not {idle['tasks']}")
    # Connections to the API server stay for a while, to be used again.
    files = now["files"] - of_connections(now) - idle["files"] + of_connections(idle)
    if files:
        wrong.append(f"{files:+} open files beside connections")
    for kind, count in now["objects"].items():
        if kind not in KEPT and (more := count - idle["objects"].get(kind, 0)) > total / 10:
            wrong.append(f"{more} more of {kind}")
    return wrong


def _until(so: Callable[[], bool], seconds: float = SETTLED) -> None:
    deadline = time.monotonic() + seconds
    while not so() and time.monotonic() < deadline:
        time.sleep(0.05)  # what /proc and other processes say can only be asked again

"""What others notice where there is too much: probes of a replica that is full, and people at four targets of
which a fifth is dead (spec 06, Overload). Both are times of a clock.

As with floods, the server has a core to itself, and whoever floods stands behind who is measured.
"""

import json
import os
import signal
import socket
import time
from statistics import median, quantiles

from bench.messages import H2, VERSIONS
from bench.pairings import Amount
from bench.probe import Took
from bench.processes import Bench, Running
from bench.report import Report, per
from bench.servers import WITHOUT_BOUNDS, foyer_cookie, start_foyer
from bench.small import TARGET

CLIENTS, SERVED = 500, 50
"""In a closed loop, and how many of them a foyer is told to serve at once."""

PROBES = 100

PROMPT = 250.0
"""Milliseconds in which 99 of 100 probes should be answered then."""

SLOWER = 1.3
"""Times what four targets take with a fifth that lives, with one that is dead."""

OTHERS = ("one", "two", "three", "four")
LIVES, STOPS, GONE = FIFTH = ("lives", "stops", "is-gone")
"""What the fifth may do. One that stops accepts and says nothing; to one that is gone nothing connects."""

SHORT = {"admission-wait": "2s"}
"""How long who is not let in to the fifth waits, before they ask again."""

ASKERS, EVERY = 128, 1.0
"""Who asks the fifth, and how often: twice as many as it has slots, so that half stand in line."""

PEOPLE = range(2, 34)
"""Who ask the other four."""


def measure(amount: Amount, report: Report) -> None:
    """Fills both tables."""
    _probes(amount, report)
    _fifth(amount, report)


# Probes of a replica that is full


def _probes(amount: Amount, report: Report) -> None:
    clients = min(CLIENTS, 5 * amount.connections)
    served = clients * SERVED // CLIENTS
    found = [_probed(version, clients, served, min(PROBES, amount.flooded)) for version in VERSIONS]
    table = report.table(f"/healthz, with {clients} clients where {served} are served, ms", VERSIONS)
    for kind, what in (("new", "over a new connection"), ("kept", "over one that stays")):
        by_clock, of_foyer = ([[took[at] * 1e3 for took in seen[kind]] for seen, _ in found] for at in (0, 1))
        table.row(f"{what}, the median", [median(each) for each in by_clock], ".1f")
        table.at_most("  99 of 100", [_99th(each) for each in by_clock], PROMPT, ".1f")
        table.at_most(
            "  99 of 100, what foyer ran of that", [_99th(each) for each in of_foyer], PROMPT, ".1f"
        )
    for status in ("200", "503"):
        table.row(f"the clients' {status}s meanwhile", [statuses.get(status, 0) for _, statuses in found])


def _99th(times: list[float]) -> float:
    """Below which 99 of 100 are."""
    return quantiles(times, n=100)[-1]


def _probed(
    version: str, clients: int, served: int, probes: int
) -> tuple[dict[str, list[Took]], dict[str, int]]:
    """What the probes took, and how many answers of each status the clients had meanwhile."""
    with Bench() as bench:
        api = bench.api(H2)
        foyer = start_foyer(bench, api, WITHOUT_BOUNDS | {"max-server-requests": str(served)})
        probe = bench.python("bench.probe", str(foyer.port), str(foyer.process.pid))
        probe.line()
        crowd = _crowd(bench, foyer, version, TARGET, clients)
        _arrange(foyer, [api, probe], crowd)
        _answered(crowd)
        probe.say(probes)
        times: dict[str, list[Took]] = probe.line()
        return times, _answered(crowd)


# Four targets of five


def _fifth(amount: Amount, report: Report) -> None:
    with Bench() as bench:
        street = Street(bench)
        rounds: dict[str, list[float]] = {name: [] for name in FIFTH}
        ran: dict[str, list[float]] = {name: [] for name in FIFTH}
        answered = dict.fromkeys(FIFTH, 0)
        for _ in range(amount.target_rounds):
            for name in FIFTH:
                seconds, cpu, answers = street.beside(name, amount.flooded)
                rounds[name].append(seconds)
                ran[name].append(cpu / amount.flooded)
                answered[name] += answers
    table = report.table("Four targets, where people ask a fifth, which", FIFTH)
    # The best of many short rounds: what else a machine does is longer than what is measured, and only adds.
    best = {name: min(rounds[name]) for name in FIFTH}
    table.row("a small GET of the four, µs", [best[name] * 1e6 for name in FIFTH])
    ratios = [per(best[name], best[LIVES]) for name in (STOPS, GONE)]
    table.at_most("  of that where it lives", [None, *ratios], SLOWER)
    table.row("what foyer ran for each, µs", [min(ran[name]) * 1e6 for name in FIFTH])
    table.row("answers to who asks the fifth, all rounds", [answered[name] for name in FIFTH])


class Street:
    """A foyer with four targets and three that a fifth may be, and people who ask the four."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        api, lives, stops = (bench.api(H2) for _ in range(3))
        with socket.create_server(("127.0.0.1", 0)) as gone:
            ports = {LIVES: lives.port, STOPS: stops.port, GONE: gone.getsockname()[1]}
        ports |= dict.fromkeys(OTHERS, api.port)
        self._stops = stops
        self._foyer = start_foyer(bench, api, WITHOUT_BOUNDS | SHORT, ports)
        asking = {
            "port": self._foyer.port,
            "targets": [_at(name) for name in OTHERS],
            "cookies": [foyer_cookie(bench, bench.session(number)) for number in PEOPLE],
        }
        self._neighbour = bench.python("bench.neighbour")
        self._neighbour.say(asking)
        self._neighbour.line()
        _arrange(self._foyer, [api, lives, stops, self._neighbour])

    def beside(self, fifth: str, gets: int) -> tuple[float, float, int]:
        """The others' median while the `fifth` is asked, and what foyer ran meanwhile for all, in seconds;
        and how many had an answer of the fifth."""
        crowd = _crowd(self._bench, self._foyer, H2, _at(fifth), ASKERS, EVERY)
        _arrange(self._foyer, [], crowd)
        time.sleep(EVERY)  # until each has asked: what stops has connections then, and work
        if fifth == STOPS:
            self._stops.signal(signal.SIGSTOP)
            time.sleep(2 * EVERY)  # and as many wait for it as ever will
        _answered(crowd)
        before = self._foyer.cpu
        self._neighbour.say(gets)
        seconds: float = self._neighbour.line()["median"]
        ran = self._foyer.cpu - before
        answers = sum(_answered(crowd).values())
        self._bench.end(crowd)
        if fifth == STOPS:
            self._stops.signal(signal.SIGCONT)
        return seconds, ran, answers


def _at(name: str) -> str:
    return f"/targets/{name}{TARGET}"


# Both


def _crowd(
    bench: Bench, foyer: Running, version: str, target: str, connections: int, every: float = 0
) -> Running:
    """Who asks without end."""
    asking = {
        "port": foyer.port,
        "version": version,
        "target": target,
        "cookie": foyer.cookie,
        "connections": connections,
        "every": every,
    }
    crowd = bench.python("bench.crowd", json.dumps(asking))
    crowd.line()
    return crowd


def _answered(crowd: Running) -> dict[str, int]:
    """Answers by status since the last time."""
    crowd.say("")
    found: dict[str, int] = crowd.line()
    return found


def _arrange(foyer: Running, others: list[Running], crowd: Running | None = None) -> None:
    """A core for the server alone, and the crowd behind the others on the rest."""
    cores = sorted(os.sched_getaffinity(0))
    rest = set(cores[1:]) or {cores[0]}
    foyer.pin({cores[0]})
    for running in others:
        running.pin(rest)
    if crowd is not None:
        crowd.pin(rest, behind=True)

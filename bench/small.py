"""The CPU that a small signed-in GET costs a server over real sockets and TLS, in each pairing.

32 requests are always in flight: 32 connections over HTTP/1.1, 4 of 8 streams over HTTP/2. The
yardstick, where there is one, takes turns with foyer in front of the same API server.
"""

from bench.messages import H1, SMALL_PATH, VERSIONS
from bench.pairings import NAMES, PAIRINGS, Amount
from bench.processes import Bench, Running, goref
from bench.table import Table, per

TARGET = "/k8s" + SMALL_PATH.decode()
IN_FLIGHT = 32
STREAMS = 8


def measure(amount: Amount, in_memory: list[float]) -> None:
    """Prints the table. `in_memory` is everything but sockets and TLS, in µs."""
    ours: list[float | None] = []
    theirs: list[float | None] = []
    costs: dict[tuple[str, str], tuple[float, float | None]] = {}
    for upstream in VERSIONS:
        with Bench() as bench:
            api = bench.api(upstream)
            servers = [bench.foyer(api)]
            if program := goref():
                servers.append(bench.goref(program, api))
            for browser in VERSIONS:
                found = _cost(bench, servers, browser, amount)
                costs[browser, upstream] = found[0], found[1] if program else None
    for pairing in PAIRINGS:
        ours.append(costs[pairing][0])
        theirs.append(costs[pairing][1])
    table = Table("A small signed-in GET over sockets, CPU µs", NAMES)
    table.row("foyer", ours)
    if in_memory:
        table.row("foyer / the same in memory", list(map(per, ours, in_memory)), ".2f")
    if goref() is None:
        print("  goref, the yardstick, is not here: put it on PATH or name it in FOYER_GOREF")
        return
    table.row("goref", theirs)
    table.at_most("foyer / goref", list(map(per, ours, theirs)), 3.0)


def _cost(bench: Bench, servers: list[Running], browser: str, amount: Amount) -> list[float]:
    """Microseconds a GET of each server, the best of rounds in turn."""
    streams = 1 if browser == H1 else STREAMS
    found = [float("inf")] * len(servers)
    for round_ in range(-1, amount.get_rounds):
        for number, server in enumerate(servers):
            before = server.cpu
            gets = amount.gets if round_ >= 0 else max(IN_FLIGHT, amount.gets // 5)  # the first one warms
            browsers = bench.browsers(
                server, browser, TARGET, IN_FLIGHT // streams, streams=streams, gets=gets
            )
            spent = (server.cpu - before) * 1e6 / gets
            bench.end(browsers)
            if round_ >= 0:
                found[number] = min(found[number], spent)
    return found

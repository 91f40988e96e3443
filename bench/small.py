"""The CPU that a small signed-in GET costs a server over real sockets and TLS, in each pairing.

32 requests are always in flight: 32 connections over HTTP/1.1, 4 of 8 streams over HTTP/2. What stands
beside foyer takes turns with it in front of the same API server.
"""

from bench.messages import H1, SMALL_PATH, VERSIONS
from bench.pairings import NAMES, PAIRINGS, Amount
from bench.processes import Bench, Running
from bench.report import Report, per
from bench.servers import servers

TARGET = "/k8s" + SMALL_PATH.decode()
IN_FLIGHT = 32
STREAMS = 8


def measure(amount: Amount, report: Report, in_memory: list[float]) -> None:
    """Fills the table. `in_memory` is everything but sockets and TLS, in µs."""
    costs: dict[str, dict[tuple[str, str], float]] = {"foyer": {}}
    for upstream in VERSIONS:
        with Bench() as bench:
            measured = servers(bench, bench.api(upstream), upstream)
            for browser in VERSIONS:
                for server, cost in zip(measured, each(bench, measured, browser, amount), strict=True):
                    costs.setdefault(server.name, {})[browser, upstream] = cost
    found = {name: [known.get(pairing) for pairing in PAIRINGS] for name, known in costs.items()}
    table = report.table("A small signed-in GET over sockets, CPU µs", NAMES)
    for name, values in found.items():
        table.row(name, values)
    if in_memory:
        table.row("foyer / the same in memory", list(map(per, found["foyer"], in_memory)), ".2f")
    if "goref" in found:
        table.at_most("foyer / goref", list(map(per, found["foyer"], found["goref"])), 3.0)
    if "nginx" in found:
        table.row("foyer / nginx", list(map(per, found["foyer"], found["nginx"])), ".2f")


def each(
    bench: Bench,
    measured: list[Running],
    browser: str,
    amount: Amount,
    target: str = TARGET,
    *,
    signed_in: bool = True,
    status: int = 200,
) -> list[float]:
    """Microseconds a GET of each server, the best of rounds in turn."""
    streams = 1 if browser == H1 else STREAMS
    found = [float("inf")] * len(measured)
    for round_ in range(-1, amount.get_rounds):
        for number, server in enumerate(measured):
            before = server.cpu
            gets = amount.gets if round_ >= 0 else max(IN_FLIGHT, amount.gets // 5)  # the first one warms
            browsers = bench.browsers(
                server,
                browser,
                target,
                IN_FLIGHT // streams,
                signed_in=signed_in,
                streams=streams,
                gets=gets,
                status=status,
            )
            spent = (server.cpu - before) * 1e6 / gets
            bench.end(browsers)
            if round_ >= 0:
                found[number] = min(found[number], spent)
    return found

"""How much of a long list a core relays, as it is and from gzip, to one browser at a time."""

from bench.messages import H2, VERSIONS
from bench.pairings import Amount
from bench.processes import Bench, Running, goref
from bench.table import Table, per

CODINGS = ("plain", "packed")
COLUMNS = [f"{version} {coding}" for coding in ("plain", "gzip") for version in VERSIONS]
PLAIN = 150.0
"""MB/s a core that a plain list should at least come at."""


def measure(amount: Amount) -> None:
    """Prints the table: decoded MB for each second of the server's CPU."""
    program = goref()
    with Bench() as bench:
        api = bench.api(H2)
        servers = [bench.foyer(api), *([bench.goref(program, api)] if program else [])]
        rates = [
            [_rate(bench, server, version, coding, amount) for coding in CODINGS for version in VERSIONS]
            for server in servers
        ]
    table = Table(f"A list of {amount.list_bytes / 1e6:g} MB, MB/s a core", COLUMNS)
    table.at_least("foyer, plain", [*rates[0][:2], None, None], PLAIN, ".0f")
    table.row("foyer, from gzip", [None, None, *rates[0][2:]])
    if program:
        table.row("goref", rates[1])
        ratios = list(map(per, rates[0], rates[1]))
        table.row("foyer / goref, plain", [*ratios[:2], None, None], ".2f")
        table.at_least("foyer / goref, from gzip", [None, None, *ratios[2:]], 1.0)


def _rate(bench: Bench, server: Running, version: str, coding: str, amount: Amount) -> float | None:
    """The best read's; None where it cost less than can be measured."""
    target = f"/k8s/api/v1/{coding}?{amount.list_bytes}"
    bench.end(bench.browsers(server, version, target, 1, gets=1))
    best = float("inf")
    for _ in range(amount.list_reads):
        before = server.cpu
        bench.end(bench.browsers(server, version, target, 1, gets=1))
        best = min(best, server.cpu - before)
    return amount.list_bytes / 1e6 / best if best else None

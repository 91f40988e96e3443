"""The resident memory of an idle TLS connection, after one small GET on each (spec 03's streams aside)."""

from bench.messages import H1, H2, VERSIONS
from bench.pairings import Amount
from bench.processes import Bench
from bench.small import TARGET
from bench.table import Table

BOUNDS = {H1: 24.0, H2: 44.0}
"""KiB. OpenSSL's own part of it is 18."""


def measure(amount: Amount) -> None:
    """Prints the table."""
    table = Table(f"An idle TLS connection, KiB, of {amount.connections}", ["KiB"])
    for version in VERSIONS:
        table.at_most(f"a browser's over {version}", [_idle(version, amount)], BOUNDS[version], ".1f")


def _idle(version: str, amount: Amount) -> float:
    with Bench() as bench:
        server = bench.foyer(bench.api(H2))
        bench.end(bench.browsers(server, version, TARGET, 10, gets=50))
        before = server.rss
        bench.browsers(server, version, TARGET, amount.connections, gets=amount.connections)
        return (server.rss - before) / amount.connections

"""The resident memory of an idle server, and of each idle TLS connection after one small GET on it."""

from bench.messages import H1, H2, VERSIONS
from bench.pairings import Amount
from bench.processes import Bench
from bench.report import Report
from bench.servers import servers
from bench.small import TARGET

IDLE = 55.0
"""MiB of a foyer that has just started and answered a few requests."""

BOUNDS = {H1: 24.0, H2: 44.0}
"""KiB a connection. OpenSSL's own part of it is 18."""


def measure(amount: Amount, report: Report) -> None:
    """Fills the tables. The API server speaks HTTP/1.1, so that nginx can stand beside."""
    idle: dict[str, float] = {}
    each: dict[str, dict[str, float]] = {}
    for version in VERSIONS:
        with Bench() as bench:
            for server in servers(bench, bench.api(H1), H1):
                bench.end(bench.browsers(server, version, TARGET, 10, gets=50))
                before = idle[server.name] = server.rss
                bench.browsers(server, version, TARGET, amount.connections, gets=amount.connections)
                more = (server.rss - before) / amount.connections
                each.setdefault(server.name, {})[version] = more
    table = report.table("A server that does nothing, MiB", ["MiB"])
    table.at_most("foyer", [idle["foyer"] / 1024], IDLE, ".1f")
    for name in list(idle)[1:]:
        table.row(name, [idle[name] / 1024], ".1f")
    table = report.table(f"An idle TLS connection, KiB, of {amount.connections}", ["KiB"])
    for version in VERSIONS:
        table.at_most(f"a browser's over {version}", [each["foyer"][version]], BOUNDS[version], ".1f")
        for name in list(each)[1:]:
            table.row(f"  {name}", [each[name][version]], ".1f")

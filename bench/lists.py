"""How much of a long list a core relays, as it is and from gzip, to one browser at a time.

nginx, which speaks only HTTP/1.1 to the API server, passes a compressed list on as it is: that is another
task, and has no figure here.
"""

from bench.messages import H1, H2, VERSIONS
from bench.pairings import Amount
from bench.processes import Bench, Running
from bench.report import Report, per
from bench.servers import nginx, servers, start_nginx

CODINGS = ("plain", "packed")
COLUMNS = [f"{version} {coding}" for coding in ("plain", "gzip") for version in VERSIONS]
PLAIN = 150.0
"""MB/s a core that a plain list should at least come at."""

Rates = list[float | None]


def measure(amount: Amount, report: Report) -> None:
    """Fills the table: decoded MB for each second of the server's CPU."""
    with Bench() as bench:
        measured = servers(bench, bench.api(H2), H2)
        rates = {server.name: _rates(bench, server, CODINGS, amount) for server in measured}
        if program := nginx():
            rates["nginx"] = _rates(bench, start_nginx(bench, program, bench.api(H1)), CODINGS[:1], amount)
    table = report.table(f"A list of {amount.list_bytes / 1e6:g} MB, MB/s a core", COLUMNS)
    ours = rates["foyer"]
    table.at_least("foyer, plain", _plain(ours), PLAIN, ".0f")
    table.row("foyer, from gzip", _packed(ours))
    for name in ("goref", "nginx"):
        if name in rates:
            table.row(name, rates[name])
    if "goref" in rates:
        ratios = list(map(per, ours, rates["goref"]))
        table.row("foyer / goref, plain", _plain(ratios), ".2f")
        table.at_least("foyer / goref, from gzip", _packed(ratios), 1.0)


def _plain(rates: Rates) -> Rates:
    return [*rates[: len(VERSIONS)], *[None] * len(VERSIONS)]


def _packed(rates: Rates) -> Rates:
    return [*[None] * len(VERSIONS), *rates[len(VERSIONS) :]]


def _rates(bench: Bench, server: Running, codings: tuple[str, ...], amount: Amount) -> Rates:
    rates: Rates = [
        _rate(bench, server, version, coding, amount) for coding in codings for version in VERSIONS
    ]
    return rates + [None] * (len(COLUMNS) - len(rates))


def _rate(bench: Bench, server: Running, version: str, coding: str, amount: Amount) -> float:
    """The best read's."""
    target = f"/k8s/api/v1/{coding}?{amount.list_bytes}"
    bench.end(bench.browsers(server, version, target, 1, gets=1))
    best = float("inf")
    for _ in range(amount.list_reads):
        before = server.cpu
        bench.end(bench.browsers(server, version, target, 1, gets=1))
        best = min(best, server.cpu - before)
    return amount.list_bytes / 1e6 / best

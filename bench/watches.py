"""Open native watches over TLS: the memory each holds, and the CPU of one event on one.

Nine to a connection over HTTP/2, one over HTTP/1.1; the API server speaks HTTP/2 and compresses
nothing. An event has 500 bytes and goes to all of them at once.
"""

from bench.messages import EVENT_BYTES, H1, H2, VERSIONS
from bench.pairings import Amount
from bench.processes import Bench, Running, change, goref
from bench.table import Table, per

PER_CONNECTION = 9
BOUNDS = {H1: 32.0, H2: 14.0}
"""KiB for each."""

TARGET = "/k8s/api/v1/namespaces/default/configmaps?watch=1"


def measure(amount: Amount) -> None:
    """Prints the table."""
    ours = [_watches(version, amount, None) for version in VERSIONS]
    program = goref()
    theirs = [_watches(version, amount, program) for version in VERSIONS] if program else []
    table = Table(f"An open watch, of {amount.streams}", ["KiB", "µs/event"])
    for version, found in zip(VERSIONS, ours, strict=True):
        table.row(f"foyer, browsers over {version}", found, ".1f")
    if theirs:
        for version, found in zip(VERSIONS, theirs, strict=True):
            table.row(f"goref, browsers over {version}", found, ".1f")
    for number, version in enumerate(VERSIONS):
        table.at_most(f"KiB over {version}", [ours[number][0]], BOUNDS[version], ".1f")
        if theirs:
            ratio = per(ours[number][1], theirs[number][1])
            table.row(f"an event of {EVENT_BYTES} bytes over {version}, foyer / goref", [None, ratio], ".2f")


def _watches(version: str, amount: Amount, program: str | None) -> tuple[float, float]:
    """KiB and µs an event, for each watch."""
    with Bench() as bench:
        api = bench.api(H2)
        server = bench.goref(program, api) if program else bench.foyer(api)
        streams = 1 if version == H1 else PER_CONNECTION
        bench.end(bench.browsers(server, version, TARGET, 2, streams=streams))
        before = server.rss
        browsers = bench.browsers(server, version, TARGET, amount.streams // streams, streams=streams)
        each = (server.rss - before) / amount.streams
        return each, _deliver(api, server, browsers, amount)


def _deliver(api: Running, server: Running, browsers: Running, amount: Amount) -> float:
    before = server.cpu
    for _ in range(amount.changes):
        change(api)
        browsers.line()
    return (server.cpu - before) * 1e6 / (amount.changes * amount.streams)

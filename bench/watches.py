"""Open native watches over TLS: the memory each holds, and the CPU of one event on one.

Nine to a connection over HTTP/2, one over HTTP/1.1; the API server speaks HTTP/2 (to nginx HTTP/1.1). An
event has 500 bytes and goes to all of them at once: as it is, or as a gzip member of its own, as a
Kubernetes 1.37 sends it. A decoder is 85 KiB, and between events nobody needs one. The yardstick has no
figure there: Go's reader of gzip gives out a member when it has seen what follows it, and so each event
when the next one comes.
"""

from bench.messages import EVENT_BYTES, H1, H2, VERSIONS
from bench.pairings import Amount
from bench.processes import Bench, Running, change
from bench.report import Report, per
from bench.servers import goref, nginx, start_foyer, start_goref, start_nginx

PER_CONNECTION = 9
BOUNDS = {H1: 32.0, H2: 14.0}
"""KiB for each."""

MORE_WHEN_PACKED = 4.0
"""KiB that a quiet watch may have more because its events come compressed."""

TARGET = "/k8s/api/v1/namespaces/default/configmaps?watch=1"
PACKED = TARGET + "&packed=1"

Found = tuple[float, float]
"""KiB, and µs an event."""


def measure(amount: Amount, report: Report) -> None:
    """Fills the table."""
    names = ["foyer", *(["goref"] if goref() else []), *(["nginx"] if nginx() else [])]
    plain = {
        (name, version): _watches(name, version, TARGET, amount) for name in names for version in VERSIONS
    }
    packed = {version: _watches("foyer", version, PACKED, amount) for version in VERSIONS}
    table = report.table(f"An open watch, of {amount.streams}", ["KiB", "µs/event"])
    for (name, version), found in plain.items():
        table.row(f"{name}, browsers over {version}", found, ".1f")
    for version, found in packed.items():
        table.row(f"foyer, browsers over {version}, from gzip", found, ".1f")
    for version in VERSIONS:
        kib, micros = plain["foyer", version]
        table.at_most(f"KiB over {version}", [kib, None], BOUNDS[version], ".1f")
        more = packed[version][0] - kib
        table.at_most(f"KiB more over {version}, from gzip", [more, None], MORE_WHEN_PACKED, ".1f")
        if ("goref", version) in plain:
            ratio = per(micros, plain["goref", version][1])
            table.row(f"an event of {EVENT_BYTES} bytes over {version}, foyer / goref", [None, ratio], ".2f")


def _watches(name: str, version: str, target: str, amount: Amount) -> Found:
    with Bench() as bench:
        api = bench.api(H1 if name == "nginx" else H2)
        server = _start(bench, name, api)
        streams = 1 if version == H1 else PER_CONNECTION
        bench.end(bench.browsers(server, version, target, 2, streams=streams))
        before = server.rss
        browsers = bench.browsers(server, version, target, amount.streams // streams, streams=streams)
        each = (server.rss - before) / amount.streams
        return each, _deliver(api, server, browsers, amount)


def _start(bench: Bench, name: str, api: Running) -> Running:
    program = {"goref": goref, "nginx": nginx}.get(name, lambda: None)()
    if program is None:
        return start_foyer(bench, api)
    return (start_goref if name == "goref" else start_nginx)(bench, program, api)


def _deliver(api: Running, server: Running, browsers: Running, amount: Amount) -> float:
    before = server.cpu
    for _ in range(amount.changes):
        change(api)
        browsers.line()
    return (server.cpu - before) * 1e6 / (amount.changes * amount.streams)

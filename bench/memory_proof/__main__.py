"""`python -m bench.memory_proof`: foyer held to 256 MiB, and 64 people who open a scope of 20 MiB at once.

    PEOPLE        how many; 64 unless given
    --json FILE   where the figures go as JSON too
    --quick       8 people, and who never reads is cut after 3 seconds
    KIND …        some of: fleet streams shared all odd

The last two are a third of each; the last with scopes of which a look at one object tells too little.

Half of them never read. It refuses what does not fit, by a status and a reason, and gives the rest whole; and
what it has in memory stays below what it has at rest and one and a half times its pool. It exits 1 where
something was not so, and says what.
"""

import argparse
import os
import signal
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.memory_proof.limit import limit
from bench.memory_proof.people import CUT, WHOLE, Told
from bench.messages import H2
from bench.processes import PATIENCE, Bench, Running
from bench.report import Report
from bench.servers import foyer_cookie, listening, start_foyer

PEOPLE = 64

MIB = 1 << 20

SIZE = 256 * MIB
"""Of the container."""

MOST = 1.5
"""Times the pool, above what it has at rest."""

SECONDS = 240.0
"""In which whoever reads has an answer, by asking again. Who never reads is cut after a minute."""

TARGETS = {
    "fleet": "/fleet/v1/api/v1/namespaces/{}/configmaps",
    "streams": "/stream/v1?version=v1&resource=pods&namespace={}",
    "shared": "/stream/v1?version=v1&resource=services&namespace={}",
}
ALL, ODD = "all", "odd"
KINDS = (*TARGETS, ALL, ODD)

QUICK = {"response-write-timeout": "3s", "stream-write-timeout": "3s"}
QUICK_PEOPLE = 8

JSON = Path("build/memory.json")


@dataclass
class Found:
    """One run."""

    rest: float = 0.0
    """MiB."""
    most: float = 0.0
    pool: float = 0.0
    finished: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    not_read: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def must(self, holds: bool, failure: str) -> None:
        """Notes what is not as it must be."""
        if not holds:
            self.failures.append(failure)


def main() -> int:
    """Each kind, with its column."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory_proof", description=__doc__)
    parser.add_argument("--json", type=Path, default=JSON, metavar="FILE", help=f"the figures; {JSON}")
    parser.add_argument("--quick", action="store_true", help="few people, for a short time")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], default=[], metavar="KIND")
    flags = parser.parse_args()
    people = int(os.environ.get("PEOPLE") or (QUICK_PEOPLE if flags.quick else PEOPLE))
    report = Report(quick=flags.quick)
    kinds = flags.kinds or list(KINDS)
    found = [prove(kind, people, QUICK if flags.quick else {}, report) for kind in kinds]
    fill(report, kinds, people, found)
    report.write(flags.json)
    failures = [f"{kind}: {what}" for kind, each in zip(kinds, found, strict=True) for what in each.failures]
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


def prove(kind: str, people: int, bounds: dict[str, str], report: Report) -> Found:
    """One run of foyer."""
    held, found = limit(SIZE), Found()
    report.note(f"{kind}: foyer is held to {SIZE // MIB} MiB by {held.how}")
    try:
        with Bench() as bench:
            foyer = _start(bench, held.before, held.flags | bounds)
            found.rest = foyer.rss / 1024
            found.pool = _metric(foyer, 'memory_pool_bytes{kind="size"}') / MIB
            asking = [_asking(bench, kind, number) for number in range(people)]
            crowd = bench.python("bench.memory_proof.people")
            crowd.say({"port": foyer.port, "seconds": SECONDS, "people": asking})
            said = crowd.line(SECONDS + 2 * PATIENCE)
            found.most = _most(foyer)
            _judge(found, asking, [[Told(**one) for one in each] for each in said])
            bench.end(crowd)
            _end(foyer, found)
        found.must(not held.killed(), f"the kernel ended {held.killed()} processes for their memory")
    finally:
        held.close()
    bound = found.rest + MOST * found.pool
    found.must(found.most <= bound, f"it had {found.most:.0f} MiB, which is above {bound:.0f}")
    return found


def _start(bench: Bench, before: Sequence[str], bounds: dict[str, str]) -> Running:
    folder = str(bench.path("keys").parent)
    apis = [bench.python("bench.memory_proof.api", folder, H2) for _ in range(2)]
    for api in apis:
        api.port = api.line()
    targets = {"one": apis[0].port, "two": apis[1].port}
    shares = {"shared-watch-resources": "services", "metrics-listen": "127.0.0.1:0"}
    return start_foyer(bench, apis[0], shares | bounds, targets, before)


def _asking(bench: Bench, kind: str, number: int) -> dict[str, object]:
    """Each has a scope of their own, and one in two never reads."""
    targets = [TARGETS[kind]] if kind in TARGETS else list(TARGETS.values())
    namespace = f"{'odd' if kind == ODD else 'team'}-{number:02}"
    target = targets[number // 2 % len(targets)].format(namespace)
    cookie = foyer_cookie(bench, bench.session(number + 1))
    return {"cookie": cookie, "target": target, "reads": number % 2 == 0}


def _most(foyer: Running) -> float:
    """MiB that were resident at once (proc_pid_status(5))."""
    status = Path(f"/proc/{foyer.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _metric(foyer: Running, series: str) -> float:
    port = listening(foyer, "metrics listening")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    return float(text.partition(f"\nkrm_foyer_{series} ")[2].split()[0])


def _judge(found: Found, asking: list[dict[str, object]], said: list[list[Told]]) -> None:
    for number, (person, each) in enumerate(zip(asking, said, strict=True)):
        for told in each:
            found.must(not told.wrong, f"person {number}: {told.what} ({told.status}), {told.wrong}")
        last = each[-1]
        if not person["reads"]:
            found.not_read[last.what] += 1
            continue
        found.refused.update(f"{told.status} {told.what}" for told in each[:-1])
        found.finished[last.what] += 1
        found.must(last.what in (WHOLE, CUT), f"person {number} was told {last.what} ({last.status}) at last")


def _end(foyer: Running, found: Found) -> None:
    """It has outlived all that, holds nothing of it any more, and ends as it should."""
    found.must(foyer.process.poll() is None, f"it ended by itself: {foyer.process.poll()}")
    if found.failures:
        return
    reserved = 'memory_pool_bytes{kind="reserved"}'
    deadline = time.monotonic() + PATIENCE
    while (left := _metric(foyer, reserved)) and time.monotonic() < deadline:
        time.sleep(0.1)  # a gauge can only be read again
    found.must(not left, f"{left:.0f} bytes of the pool are still reserved")
    foyer.signal(signal.SIGTERM)
    try:
        code = foyer.process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        found.failures.append("it did not end")
    else:
        found.must(code == 0, f"it ended with {code}")


def fill(report: Report, kinds: list[str], people: int, found: list[Found]) -> None:
    """A column for each kind."""
    table = report.table(f"{people} people, 20 MiB each, in {SIZE // MIB} MiB", kinds)
    table.row("MiB at rest", [each.rest for each in found])
    table.row("MiB of the pool", [each.pool for each in found])
    table.row("the most MiB", [each.most for each in found])
    above = [(each.most - each.rest) / each.pool for each in found]
    table.at_most("  of that above rest, pools", above, MOST)
    for title, which in (
        ("who read had it: ", "finished"),
        ("  and before was refused: ", "refused"),
        ("who did not read was told: ", "not_read"),
    ):
        counts: list[Counter[str]] = [getattr(each, which) for each in found]
        for what in sorted(set().union(*counts)):
            table.row(title + what, [count[what] for count in counts])


if __name__ == "__main__":
    raise SystemExit(main())

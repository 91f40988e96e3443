"""`python -m bench [--quick] [--json FILE] [PART ...]`: what foyer costs, as ratios within one run.

CPU time and resident memory, never wall time but for what somebody else notices of a flood; what is
compared takes turns, and the best of several rounds counts. bench/README.md says how to read each row. The
figures are for people: no test asserts one of them. `--quick` only shows that everything still works.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench import (
    floods,
    inflate,
    lists,
    memory,
    multiples,
    overhead,
    overload,
    refusals,
    sessions,
    small,
    watches,
)
from bench.pairings import FULL, QUICK, Amount
from bench.report import Report
from bench.servers import absent

PARTS = (
    "overhead",
    "memory",
    "watches",
    "small",
    "refusals",
    "lists",
    "inflate",
    "sessions",
    "multiples",
    "floods",
    "overload",
)

JSON = Path("build/bench.json")


def main() -> None:
    """Measures the parts named, or all, each its table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little of everything, its figures worthless")
    parser.add_argument("--json", type=Path, default=JSON, metavar="FILE", help=f"also the figures; {JSON}")
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART", help=" ".join(PARTS)
    )
    flags = parser.parse_args()
    report = Report(quick=flags.quick)
    for missing in absent():
        report.note(missing)
    _run(flags.parts or PARTS, QUICK if flags.quick else FULL, report)
    if flags.quick:
        report.note("this was a quick run: it shows that everything works, and its figures mean nothing")
    report.write(flags.json)


def _run(parts: Sequence[str], amount: Amount, report: Report) -> None:
    in_memory: list[float] = []
    if "overhead" in parts:
        in_memory = overhead.measure(amount, report)
    if "memory" in parts:
        memory.measure(amount, report)
    if "watches" in parts:
        watches.measure(amount, report)
    if "small" in parts:
        small.measure(amount, report, in_memory)
    if "refusals" in parts:
        refusals.measure(amount, report)
    elif "overload" in parts:
        refusals.measure(amount, report, refusals.OF_LOAD)
    if "lists" in parts:
        lists.measure(amount, report)
    if "inflate" in parts:
        inflate.measure(amount.objects, amount.events, report)
    if "sessions" in parts:
        sessions.measure(report)
    if "multiples" in parts:
        multiples.measure(report, amount.list_bytes // 5)
    if "floods" in parts:
        floods.measure(amount, report)
    if "overload" in parts:
        overload.measure(amount, report)


if __name__ == "__main__":
    main()

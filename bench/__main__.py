"""`python -m bench [--quick] [--json FILE] [PART ...]`: what foyer costs, as ratios within one run.

CPU time and resident memory, never wall time but for what somebody else notices of a flood; what is
compared takes turns, and the best of several rounds counts. bench/README.md says how to read each row. The
figures are for people: no test asserts one of them. `--quick` only shows that everything still works.
"""

import argparse
from collections.abc import Callable, Sequence
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
    in_memory = overhead.measure(amount, report) if "overhead" in parts else []
    refused = refusals.CASES if "refusals" in parts else refusals.OF_LOAD
    measured: dict[str, Callable[[], object]] = {
        "memory": lambda: memory.measure(amount, report),
        "watches": lambda: watches.measure(amount, report),
        "small": lambda: small.measure(amount, report, in_memory),
        "refusals": lambda: refusals.measure(amount, report, refused),
        "lists": lambda: lists.measure(amount, report),
        "inflate": lambda: inflate.measure(amount.objects, amount.events, report),
        "sessions": lambda: sessions.measure(report),
        "multiples": lambda: multiples.measure(report, amount.list_bytes // 5),
        "floods": lambda: floods.measure(amount, report),
        "overload": lambda: overload.measure(amount, report),
    }
    for part, measure in measured.items():
        if part in parts or (part == "refusals" and "overload" in parts):
            measure()


if __name__ == "__main__":
    main()

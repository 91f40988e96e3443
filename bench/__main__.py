"""`python -m bench [--quick] [PART ...]`: what foyer costs, as ratios within one run.

CPU time and resident memory, never wall time; what is compared takes turns, and the best of several
rounds counts. The tables are for people to read: no test asserts a figure of them. `--quick` only
shows that everything still works.
"""

import argparse
import platform
from collections.abc import Sequence

from bench import inflate, lists, memory, overhead, sessions, small, watches
from bench.pairings import FULL, QUICK, Amount

PARTS = ("overhead", "memory", "watches", "small", "lists", "inflate", "sessions")


def main() -> None:
    """Measures the parts named, or all, each its table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little of everything, its figures worthless")
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART", help=" ".join(PARTS)
    )
    flags = parser.parse_args()
    amount = QUICK if flags.quick else FULL
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}")
    _run(flags.parts or PARTS, amount)
    if flags.quick:
        print("\nThis was a quick run: it shows that everything works, and its figures mean nothing.")


def _run(parts: Sequence[str], amount: Amount) -> None:
    in_memory: list[float] = []
    if "overhead" in parts:
        in_memory = overhead.measure(amount)
    if "memory" in parts:
        memory.measure(amount)
    if "watches" in parts:
        watches.measure(amount)
    if "small" in parts:
        small.measure(amount, in_memory)
    if "lists" in parts:
        lists.measure(amount)
    if "inflate" in parts:
        print("\ngzip engines")
        inflate.main(amount.objects, amount.events)
    if "sessions" in parts:
        print("\nsessions")
        sessions.main()


if __name__ == "__main__":
    main()

"""`python -m tests.fuzz [--seconds N] [--inputs N] [--seed N] [TARGET ...]`: inputs that break a property.

Each target in a process of its own, as many at once as there are processors, for so many seconds. The same
seed tries the same inputs in the same order, so with a number of them as well each run tries what the last
one did: a gate that looked further on a faster machine would blame a change for what was there before.
What breaks a property is printed, and written to a file under `tests/fuzz/found`: from then on `make test`
tries it too, until it is mended, and after that as well.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.fuzz.targets import FOUND, TARGETS

ROOT = Path(__file__).parents[2]


def main() -> int:
    """The exit status: 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: %(default)s)")
    parser.add_argument("--inputs", type=int, default=-1, help="at most, for each target (default: any)")
    parser.add_argument("--seed", type=int, default=1, help="not 0 (default: %(default)s)")
    parser.add_argument(
        "targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET", help=" ".join(TARGETS)
    )
    flags = parser.parse_args()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        run = partial(_run, seconds=flags.seconds, inputs=flags.inputs, seed=flags.seed)
        held = [*pool.map(run, flags.targets or TARGETS)]
    print(f"fuzz: {sum(held)} of {len(held)} properties held")
    return 0 if all(held) else 1


def _run(name: str, seconds: int, inputs: int, seed: int) -> bool:
    """Whether nothing was found against one target."""
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.iterdir())
    given = [name, str(seconds), str(inputs), str(seed), str(folder)]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.driver", *given],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},  # or a set's order would lead to other inputs
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    found = set(folder.iterdir()) - before
    if not any(folder.iterdir()):
        folder.rmdir()
    tried = re.search(r"number_of_executed_units: (\d+)", ran.stdout)
    print(
        f"{name:16} {int(tried[1]) if tried else 0:>10,} inputs  {'holds' if not ran.returncode else 'FAILS'}"
    )
    if ran.returncode:
        print(_why(ran.stdout))
        for path in sorted(found):
            print(f"{path.relative_to(ROOT)}:\n{path.read_bytes()!r}")
    sys.stdout.flush()
    return not ran.returncode


def _why(said: str) -> str:
    """What was raised, without libFuzzer's account of itself."""
    noise = ("INFO:", "WARNING:", "stat::", "==")
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(noise)]
    end = next((at for at, line in enumerate(lines) if line.startswith("SUMMARY: ")), len(lines))
    return "\n".join(lines[:end][-40:])


if __name__ == "__main__":
    sys.exit(main())

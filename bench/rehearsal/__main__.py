"""`python -m bench.rehearsal`: 200 people with nine watches each, on one foyer with its own bounds (spec 04).

    SIZE     people; 200 unless given
    REAL=1   before a real kube-apiserver and Dex (bench.rehearsal.cluster), without the yardstick
    --json FILE   where the figures go as JSON too

It exits 1 where something was not as it must be, and says what. bench/README.md says how to read the rows.
"""

import argparse
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.limits import raise_file_limit
from bench.messages import VERSIONS
from bench.processes import Bench
from bench.rehearsal import cluster
from bench.rehearsal.rounds import EACH, Found, Rehearsal
from bench.rehearsal.rows import fill
from bench.rehearsal.serving import Foyer, Goref
from bench.rehearsal.surroundings import StandIns, Surroundings
from bench.report import Report
from bench.servers import goref

JSON = Path("build/rehearsal.json")

PEOPLE = 200

CHANGES = 5
"""Measured after each opening."""

SPARE_FILES = 200


def main() -> int:
    """Rehearses each server over both versions."""
    parser = argparse.ArgumentParser(prog="python -m bench.rehearsal", description=__doc__)
    parser.add_argument("--json", type=Path, default=JSON, metavar="FILE", help=f"the figures; {JSON}")
    flags = parser.parse_args()
    people = int(os.environ.get("SIZE") or PEOPLE)
    real = os.environ.get("REAL", "") not in ("", "0")
    if shortage := files_missing(people):
        print(f"rehearsal: {shortage}", file=sys.stderr)
        return 1
    if real and cluster.scripts() is None:
        print("rehearsal: skipped, as FOYER_CLUSTER names no folder with the scripts that start a cluster")
        return 0
    report = Report()
    found = _rehearse(people, real, report)
    fill(report, found, people, "a kube-apiserver and Dex" if real else "stand-ins")
    report.write(flags.json)
    failures = [f"{' '.join(key)}: {what}" for key, one in found.items() for what in one.failures]
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


def files_missing(people: int) -> str:
    """Why there are too few open files for so many, or nothing."""
    raise_file_limit()
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = people * (EACH + 1) + SPARE_FILES
    if allowed >= needed:
        return ""
    return (
        f"{needed} open files are needed, {allowed} allowed: raise the hard limit (ulimit -Hn) or lower SIZE"
    )


def _rehearse(people: int, real: bool, report: Report) -> dict[tuple[str, str], Found]:
    yardstick = None if real else goref()
    if yardstick is None:
        why = "follows no watch that a kube-apiserver compresses" if real else "is not here"
        report.note(f"goref, the yardstick, {why}")
    found = {}
    for version in VERSIONS:
        found["foyer", version] = _foyer(version, people, real)
        if yardstick is not None:
            found["goref", version] = _goref(yardstick, version, people)
    return found


def _foyer(version: str, people: int, real: bool) -> Found:
    with Bench() as bench, _surroundings(bench, people, real) as around:
        foyer = Foyer(bench, around)
        found = Rehearsal(bench, around, foyer, version, people, CHANGES).foyer(foyer)
        if isinstance(around, StandIns):
            tokens = around.tokens()
            found.holds(tokens == 2 * people, f"watches came with {tokens} tokens, not {2 * people}")
        return found


def _goref(program: str, version: str, people: int) -> Found:
    with Bench() as bench:
        around = StandIns(bench, people)
        yardstick = Goref(bench, program, around)
        return Rehearsal(bench, around, yardstick, version, people, CHANGES).yardstick()


@contextmanager
def _surroundings(bench: Bench, people: int, real: bool) -> Iterator[Surroundings]:
    folder = cluster.scripts() if real else None
    if folder is None:
        yield StandIns(bench, people)
    else:
        with closing(cluster.Cluster(bench, folder, people)) as around:
            yield around


if __name__ == "__main__":
    raise SystemExit(main())

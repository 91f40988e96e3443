"""`python -m bench.rehearsal`: 200 people with nine of a kind open, on one foyer with its bounds (spec 04).

    SIZE     people; 200 unless given
    HOLD     seconds for which shared streams are left alone; 31, for foyer asks about each again after 30
    SOAK     seconds of a change a second; none unless given
    REAL=1   before a real kube-apiserver and Dex (bench.rehearsal.cluster), without the yardstick
    --alone       without the yardstick
    --json FILE   where the figures go as JSON too
    --plot FILE   where a drawing goes, as SVG
    KIND …   some of: watch user shared

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
from bench.rehearsal.kinds import Kind
from bench.rehearsal.plot import drawn
from bench.rehearsal.rounds import EACH, Found, Rehearsal, Size
from bench.rehearsal.rows import FULL, fill
from bench.rehearsal.serving import Foyer, Goref
from bench.rehearsal.surroundings import StandIns, Surroundings
from bench.report import Report
from bench.servers import goref

JSON = Path("build/rehearsal.json")

CHANGES, HOLD = 5, 31.0

SPARE_FILES = 200


def main() -> int:
    """Rehearses each server with each kind over both versions."""
    parser = argparse.ArgumentParser(prog="python -m bench.rehearsal", description=__doc__)
    parser.add_argument("--json", type=Path, default=JSON, metavar="FILE", help=f"the figures; {JSON}")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a drawing of it, as SVG")
    parser.add_argument("--alone", action="store_true", help="without the yardstick")
    names = [kind.name.lower() for kind in Kind]
    parser.add_argument(
        "kinds", nargs="*", choices=[*names, []], default=[], metavar="KIND", help=" ".join(names)
    )
    flags = parser.parse_args()
    size = Size(
        int(os.environ.get("SIZE") or FULL),
        CHANGES,
        float(os.environ.get("HOLD") or HOLD),
        float(os.environ.get("SOAK") or 0),
    )
    real = os.environ.get("REAL", "") not in ("", "0")
    if shortage := files_missing(size.people):
        print(f"rehearsal: {shortage}", file=sys.stderr)
        return 1
    if real and cluster.scripts() is None:
        print("rehearsal: skipped, as FOYER_CLUSTER names no folder with the scripts that start a cluster")
        return 0
    report = Report()
    if real:
        report.note("goref, the yardstick, follows no watch that a kube-apiserver compresses")
    elif goref() is None and not flags.alone:
        report.note("goref, the yardstick, is not here: put it on PATH or name it in FOYER_GOREF")
    failures = []
    panels = []
    for kind in [Kind[name.upper()] for name in flags.kinds or names]:
        found = _rehearse(kind, size, real, None if real or flags.alone else goref())
        panels.append((kind, found))
        fill(report, found, kind, size.people, "a kube-apiserver and Dex" if real else "stand-ins")
        failures += [
            f"{kind.value.name}, {name} over {version}: {what}"
            for (name, version), one in found.items()
            for what in one.failures
            if name == "foyer"  # the yardstick is held to nothing
        ]
    report.write(flags.json)
    if flags.plot is not None:
        flags.plot.write_text(drawn(panels))
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


def _rehearse(kind: Kind, size: Size, real: bool, yardstick: str | None) -> dict[tuple[str, str], Found]:
    found = {}
    for version in VERSIONS:
        found["foyer", version] = rehearse_foyer(kind, version, size, real)
        if yardstick is not None:
            found["goref", version] = _goref(yardstick, kind, version, size)
    return found


def rehearse_foyer(kind: Kind, version: str, size: Size, real: bool = False) -> Found:
    """foyer, once."""
    with Bench() as bench, _surroundings(bench, size.people, real) as around:
        foyer = Foyer(bench, around, kind)
        found = Rehearsal(bench, around, foyer, kind, version, size).foyer(foyer)
        if isinstance(around, StandIns):
            tokens, expected = around.tokens(), kind.tokens(len(found.signing_in) * size.people)
            found.holds(tokens == expected, f"watches came with {tokens} tokens, not {expected}")
        return found


def _goref(program: str, kind: Kind, version: str, size: Size) -> Found:
    with Bench() as bench:
        around = StandIns(bench, size.people)
        yardstick = Goref(bench, program, around, kind)
        return Rehearsal(bench, around, yardstick, kind, version, size).yardstick()


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

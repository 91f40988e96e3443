"""What the rehearsals found, in the rows of the seed that they are an answer to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.rehearsal.kinds import Aims, Kind
from bench.rehearsal.rounds import EACH, Found
from bench.report import Report, Table, per

FULL = 200
"""People, whom it takes for a figure to be held against an aim: with fewer, all is noise."""

LOGOUT_TO_CUT = 250.0
"""ms, of everybody's at once."""

Servers = Mapping[tuple[str, str], Found]
"""By name and HTTP version."""


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of each server's."""

    label: str
    values: list[float | None]
    form: str = ".0f"


def fill(report: Report, found: Servers, kind: Kind, people: int, surroundings: str) -> None:
    """The table: a column for each server over each version."""
    total = people * EACH
    columns = [" ".join(key) for key in found]
    title = f"{people} people, {total} {kind.value.name}; {surroundings}"
    table = report.table(title, columns)
    every = list(found.values())
    for row in [
        *_coming(every, people),
        *_changing(every),
        *_soaking(every),
        *_asking(every),
        *_leaving(every),
        *_memory(every, people),
    ]:
        table.row(row.label, row.values, row.form)
    for (name, version), one in found.items():
        if name == "foyer" and people >= FULL:
            _held(table, found, version, kind.value.aims[version], (one.open[0] - one.sessions) / total)


def _held(table: Table, found: Servers, version: str, aims: Aims, kib: float) -> None:
    """The rows with an aim, each in foyer's column."""
    foyer, goref = found["foyer", version], found.get(("goref", version))

    def at_most(label: str, value: float | None, aim: float, form: str) -> None:
        values = [value if key == ("foyer", version) else None for key in found]
        table.at_most(f"{label} over {version}", values, aim, form)

    at_most("KiB each", kib, aims.kib, ".1f")
    if goref is not None:
        times = per(_middle(foyer.slowest), _middle(goref.slowest))
        at_most("to the slowest, foyer / goref", times, aims.slowest, ".2f")
    if aims.delivery is not None:
        at_most("a delivery, µs of its CPU", _delivery(foyer, "server"), aims.delivery, ".1f")
    at_most("logout to cut, ms", _slowest_cut(foyer), LOGOUT_TO_CUT, ".0f")


def _coming(every: Sequence[Found], people: int) -> list[Row]:
    total = people * EACH
    return [
        Row("until all have signed in, s", [_middle(one.signing_in) for one in every], ".2f"),
        Row("  each, ms of its CPU", [_each(one.signing_in_cpu, people, 1e3) for one in every], ".2f"),
        Row("  the cookie of a session, bytes", [one.cookie for one in every]),
        Row(f"opening {total} at once, the slowest, s", [one.opening[0] for one in every], ".2f"),
        Row("  again after a restart, no new login", [one.reopening for one in every], ".2f"),
        Row("  each, µs of its CPU", [_each(one.opening_cpu, total, 1e6) for one in every]),
    ]


def _changing(every: Sequence[Found]) -> list[Row]:
    spreads = [[last - first for first, last in zip(one.first, one.slowest, strict=True)] for one in every]
    return [
        Row("one change, to the slowest, ms", [_middle(one.slowest, 1e3) for one in every], ".1f"),
        Row("  from the first to the slowest", [_middle(spread, 1e3) for spread in spreads], ".1f"),
        Row("  to the slowest of all changes", [max(one.slowest) * 1e3 for one in every], ".1f"),
        Row("  a delivery, µs of its CPU", [_delivery(one, "server") for one in every], ".1f"),
        Row("  of the API server's", [_delivery(one, "API server") for one in every], ".1f"),
        Row("  of the browsers'", [_delivery(one, "browsers") for one in every], ".1f"),
    ]


def _soaking(every: Sequence[Found]) -> list[Row]:
    if not any(one.soaked for one in every):
        return []

    def of(found: Found, which: Callable[[list[float]], float]) -> float | None:
        return which(found.soaked) / 1024 if found.soaked else None

    return [
        Row("a change a second, so many", [len(one.soaked) or None for one in every]),
        Row("  memory in the meantime, least, MiB", [of(one, min) for one in every], ".1f"),
        Row("  most", [of(one, max) for one in every], ".1f"),
        Row("  at the end", [of(one, lambda soaked: soaked[-1]) for one in every], ".1f"),
    ]


def _asking(every: Sequence[Found]) -> list[Row]:
    if not any(sum(one.reviews) for one in every):
        return []
    return [
        Row("access reviews while all opened", [one.reviews[0] for one in every]),
        Row("  a second, while all is quiet", [one.held_reviews for one in every], ".1f"),
        Row("  ms of its CPU a second, then", [per(one.held_cpu, 1e-3) for one in every], ".1f"),
    ]


def _slowest_cut(one: Found) -> float | None:
    return _middle([times[-1] for times in one.cut if times], 1e3)


def _leaving(every: Sequence[Found]) -> list[Row]:
    middles = [[times[len(times) // 2] for times in one.cut if times] for one in every]
    return [
        Row("logout to cut, the slowest, ms", [_slowest_cut(one) for one in every]),
        Row("  the median", [_middle(times, 1e3) for times in middles]),
        Row("  logout to its answer, the slowest", [_middle(one.answered, 1e3) for one in every]),
        Row("watches at the API server, before", [one.upstream[0] for one in every]),
        Row("  with all open", [one.upstream[1] for one in every]),
        Row("  after", [one.upstream[2] for one in every]),
    ]


def _memory(every: Sequence[Found], people: int) -> list[Row]:
    total = people * EACH
    rounds = [[kib / 1024 for kib in one.open] for one in every]
    return [
        Row("resident memory, idle, MiB", [one.idle / 1024 for one in every], ".1f"),
        Row(f"  when {people} have signed in", [one.sessions / 1024 for one in every], ".1f"),
        Row(f"  with {total} open", [one[0] for one in rounds], ".1f"),
        Row("  after a restart, first round", [one[1] if len(one) > 1 else None for one in rounds], ".1f"),
        Row("  a round more", [min(one[2:], default=None) for one in rounds], ".1f"),
        Row("KiB each, with its connection", [(one.open[0] - one.sessions) / total for one in every], ".1f"),
    ]


def _middle(values: Sequence[float], scale: float = 1) -> float | None:
    return median(values) * scale if values else None


def _each(values: Sequence[float], count: int, scale: float) -> float | None:
    return per(_middle(values, scale), count)


def _delivery(one: Found, process: str) -> float | None:
    return _middle(one.cpu.get(process, ()), 1e6)

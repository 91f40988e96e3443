"""What a run found: tables for people as it goes, and the same as JSON for whoever compares runs.

Ratios are what counts: absolute figures are this machine's, today. A row that has an aim says beside
itself whether it holds.
"""

import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LABEL = 46
COLUMN = 10

Values = Sequence[float | None]
"""A value for each column; None where there is none, which prints as a dash."""


class Table:
    """A row a figure, a column a case. Prints as it goes."""

    def __init__(self, title: str, columns: Sequence[str]) -> None:
        self.title = title
        self.columns = list(columns)
        self.rows: list[dict[str, Any]] = []
        print(f"\n{title:{LABEL}}" + "".join(f"{column:>{COLUMN}}" for column in columns), flush=True)

    def row(self, label: str, values: Values, form: str = ".0f") -> None:
        """A row without an aim."""
        self._row(label, values, form)

    def at_most(self, label: str, values: Values, aim: float, form: str = ".2f") -> None:
        """A row whose values should be at most `aim`."""
        self._row(label, values, form, f"at most {aim:g}", lambda value: value <= aim)

    def at_least(self, label: str, values: Values, aim: float, form: str = ".2f") -> None:
        """A row whose values should be at least `aim`."""
        self._row(label, values, form, f"at least {aim:g}", lambda value: value >= aim)

    def _row(
        self,
        label: str,
        values: Values,
        form: str,
        aim: str | None = None,
        holds: Callable[[float], bool] = lambda value: True,
    ) -> None:
        known = [value for value in values if value is not None]
        verdict = all(map(holds, known)) if aim and known else None
        self.rows.append({"label": label, "values": list(values), "aim": aim, "holds": verdict})
        cells = "".join(f"{'–' if value is None else format(value, form):>{COLUMN}}" for value in values)
        note = "" if verdict is None else f"  {aim}: {'holds' if verdict else 'MISSED'}"
        print(f"  {label:{LABEL - 2}}{cells}{note}", flush=True)


class Report:
    """The tables of one run."""

    def __init__(self, *, quick: bool = False) -> None:
        self._quick = quick
        self._tables: list[Table] = []
        self._notes: list[str] = []

    def table(self, title: str, columns: Sequence[str]) -> Table:
        """Begins a table."""
        table = Table(title, columns)
        self._tables.append(table)
        return table

    def note(self, text: str) -> None:
        """Something that a reader of the figures has to know."""
        self._notes.append(text)
        print(f"  {text}", flush=True)

    def write(self, path: Path) -> None:
        """The whole as JSON; the folder is made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self._found(), indent=1, ensure_ascii=False) + "\n")

    def _found(self) -> dict[str, Any]:
        return {
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "machine": platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
            "quick": self._quick,
            "notes": self._notes,
            "tables": [
                {"title": table.title, "columns": table.columns, "rows": table.rows} for table in self._tables
            ],
        }


def per(amount: float | None, of: float | None) -> float | None:
    """A ratio, where both sides of it are known."""
    return None if amount is None or not of else amount / of

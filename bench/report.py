"""Tables for people: a row a figure, a column a case, and beside a ratio the bound it should keep."""

from collections.abc import Callable, Sequence

LABEL = 46
COLUMN = 10


class Table:
    """Prints as it goes. Ratios are what counts: absolute figures are this machine's, today."""

    def __init__(self, title: str, columns: Sequence[str]) -> None:
        print(f"\n{title:{LABEL}}" + "".join(f"{column:>{COLUMN}}" for column in columns), flush=True)

    def row(self, label: str, values: Sequence[float | None], form: str = ".0f", note: str = "") -> None:
        """A row; a value that there is none of is a dash."""
        cells = ["–" if value is None else format(value, form) for value in values]
        print(
            f"  {label:{LABEL - 2}}" + "".join(f"{cell:>{COLUMN}}" for cell in cells) + (note and f"  {note}")
        )

    def at_most(self, label: str, values: Sequence[float | None], bound: float, form: str = ".2f") -> None:
        """A row whose values should be at most `bound`."""
        self.row(label, values, form, _verdict(values, f"at most {bound:g}", lambda v: v <= bound))

    def at_least(self, label: str, values: Sequence[float | None], bound: float, form: str = ".2f") -> None:
        """A row whose values should be at least `bound`."""
        self.row(label, values, form, _verdict(values, f"at least {bound:g}", lambda v: v >= bound))


def _verdict(values: Sequence[float | None], bound: str, holds: Callable[[float], bool]) -> str:
    known = [value for value in values if value is not None]
    return f"{bound}: {'holds' if all(map(holds, known)) else 'MISSED'}" if known else ""


def per(amount: float | None, of: float | None) -> float | None:
    """A ratio, where both sides of it are known."""
    return None if amount is None or not of else amount / of

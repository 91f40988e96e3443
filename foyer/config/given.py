"""What was given for flags, as text and before it is parsed: every source of values reads to this."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Given:
    """The text given for a flag. `source` is where, when it was not given as the flag itself."""

    text: str
    source: str | None = None

    def __repr__(self) -> str:
        return f"Given(hidden, {self.source})"


Sources: TypeAlias = dict[str, Given]
"""What was given for each flag, by name."""

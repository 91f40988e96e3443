"""What a flag is, and what refuses one (spec 01, Process)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class ConfigError(Exception):
    """Configuration that was refused.

    `flag` is the flag as it is written (`-listen`), or what else was wrong: a variable, a key, an
    argument. `source` is where its value came from, if not from that flag. Neither these nor
    `message`, which says what should be, hold any value.
    """

    def __init__(self, flag: str, message: str, source: str | None = None) -> None:
        super().__init__(f"{flag}: {message}" + (f" (given as {source})" if source else ""))
        self.flag = flag
        self.message = message
        self.source = source


class Reload(Enum):
    """What SIGHUP does with a flag whose value has changed."""

    NOW = auto()
    """The new value holds from then on, for all that begins after it."""

    RESTART = auto()
    """The old value stays, and a line says that a restart is needed."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A row of the table.

    `name` is also its key in a configuration file. `kind` is what help shows in the value's place,
    with its unit; `default` is as one would type it, `None` for no value, which `derived` then says what
    it is made of, if it is. `parse` raises `ValueError`. A `many` may be a list in a file, which is the
    same as its items with commas between them. Without what is `required`, or the one flag that may be
    given `instead`, nobody can sign in; `sign_in` is False for a flag that means something even then. What
    may change on a reload says so.
    """

    name: str
    group: str
    kind: str
    parse: Callable[[str], Any]
    help: str
    default: str | None = None
    derived: str | None = None
    required: bool = False
    instead: str | None = None
    many: bool = False
    sign_in: bool = True
    reload: Reload = Reload.RESTART

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper().replace("-", "_")

    @property
    def needed(self) -> str:
        """What has to be given of it, as it is written."""
        return str(self) if self.instead is None else f"{self} or -{self.instead}"

    def __str__(self) -> str:
        return f"-{self.name}"


PREFIX = "FOYER_"
"""What every environment variable of foyer's begins with."""

"""Where values come from: a flag wins over the environment, and that over the configuration file.

Spec 01, Process. The three are read alike, to the text given for each flag; only what won is then
parsed. A name that nobody knows is refused wherever it stands, with the likely one beside it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from foyer.config.flags import CONFIG_FILE, PREFIX, ConfigError, Flag
from foyer.config.given import Given, Sources
from foyer.config.names import nearest, shown


class Settings:
    """The value of every flag in a table, and where each came from."""

    def __init__(self, flags: Sequence[Flag], given: Sources) -> None:
        """Raises `ConfigError` for a value that its flag does not take."""
        self._given = given
        self.values: dict[str, Any] = {flag.name: self._value(flag) for flag in flags}

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def given(self, name: str) -> bool:
        """Whether the flag `name` was given a value anywhere."""
        return name in self._given

    def refused(self, name: str, message: str) -> ConfigError:
        """The refusal of what was given for the flag `name`."""
        given = self._given.get(name)
        return ConfigError(f"-{name}", message, None if given is None else given.source)

    def _value(self, flag: Flag) -> Any:
        given = self._given.get(flag.name)
        text = flag.default if given is None else given.text
        if text is None:
            return None
        try:
            return flag.parse(text)
        except ValueError as error:
            raise self.refused(flag.name, str(error)) from None


def gather(flags: Sequence[Flag], arguments: Sequence[str], environment: Mapping[str, str]) -> Sources:
    """What the three sources give together. Raises `ConfigError`."""
    given = read_environment(flags, environment) | read_arguments(flags, arguments)
    if CONFIG_FILE not in given:
        return given
    # Here, so that whoever has no such file, and help, load no YAML.
    from foyer.config.file import read_keys

    named = Settings([flag for flag in flags if flag.name == CONFIG_FILE], given)
    try:
        return read_keys(flags, named[CONFIG_FILE]) | given
    except ValueError as error:
        raise named.refused(CONFIG_FILE, f"the file {error}") from None


# Arguments.


def read_arguments(flags: Sequence[Flag], arguments: Sequence[str]) -> Sources:
    """`-flag value` and `-flag=value`, with one dash or two. Raises `ConfigError`."""
    names = {flag.name for flag in flags}
    given: Sources = {}
    rest = list(arguments)
    name: str | None = None
    while rest:
        argument, after = rest.pop(0), name
        name = _name(argument)
        if name not in names:
            raise _unknown(argument, names, len(arguments) - len(rest), after)
        if name in given:
            raise ConfigError(f"-{name}", "given twice")
        _, equals, text = argument.partition("=")
        if not equals:
            # No value of ours is the name of a flag: the value was forgotten.
            if not rest or _name(rest[0]) in names:
                raise ConfigError(f"-{name}", "needs a value")
            text = rest.pop(0)
        given[name] = Given(text)
    return given


def _name(argument: str) -> str | None:
    """What follows the dashes, up to `=`; `None` for an argument that has none."""
    if not argument.startswith("-"):
        return None
    return argument.partition("=")[0].removeprefix("-").removeprefix("-")


_FLAG_SHAPED = re.compile(r"[a-z0-9-]{1,40}")


def _unknown(argument: str, names: set[str], position: int, after: str | None) -> ConfigError:
    """Names an unknown flag, and an argument that is none by its place alone.

    What stands where no value is expected may be a secret that lost its flag. So of an argument only
    what was plainly meant as a flag's name is shown, and never what follows `=`.
    """
    name = _name(argument)
    hint = nearest(name or argument.partition("=")[0], names, "-")
    if name and _FLAG_SHAPED.fullmatch(name):
        return ConfigError(f"-{name}", f"no such flag{hint}")
    place = f"argument {position}" + ("" if after is None else f", after -{after}")
    return ConfigError(place, f"not a flag, and nothing else is expected{hint}")


# The environment.

_SERVICE = re.compile(
    r"FOYER_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""Variables that Kubernetes gives to every pod beside a Service named `foyer` or `foyer-…`: nobody wrote
them, and refusing them would keep foyer from starting behind a Service of its own name."""


def read_environment(flags: Sequence[Flag], environment: Mapping[str, str]) -> Sources:
    """The variables of `flags`. Any other that begins with `FOYER_` is refused. Raises `ConfigError`."""
    names = {flag.variable: flag.name for flag in flags}
    given: Sources = {}
    for variable, text in environment.items():
        if variable in names:
            given[names[variable]] = Given(text, variable)
        elif variable.startswith(PREFIX) and not _SERVICE.fullmatch(variable):
            # Without the prefix, which would make every name like every other.
            known = [name.removeprefix(PREFIX) for name in names]
            hint = nearest(variable.removeprefix(PREFIX), known, PREFIX)
            raise ConfigError(shown(variable), f"no such variable{hint}")
    return given

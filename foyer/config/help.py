"""Help on a command: every flag of its table, and how values are given (spec 01, Process)."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from foyer.config.flags import CONFIG_FILE, DEMO_FLAGS, FLAGS, Flag, Reload

WIDTH = 79
"""Columns: it fits the 80 of a terminal nobody has made wider, without touching its edge."""

_EXAMPLE = """\
  foyer check -config-file foyer.yaml && foyer serve -config-file foyer.yaml

foyer check reads all that foyer serve would, says what is wrong, and ends."""

_SPELLING = (
    "A flag is written -flag value or -flag=value, with one dash or two. Durations are written 30m, 1h30m or"
    " 500ms; the items of a list have commas between them."
)

_SOURCES = """\
The same value can be given in three places. The first that has it wins:

  the flag           -session-absolute-timeout 8h
  its variable       FOYER_SESSION_ABSOLUTE_TIMEOUT=8h
  its key            session-absolute-timeout: 8h

The key is in the YAML file of -config-file. Every flag has its variable: the
name in capitals, each - as _, after FOYER_."""

_RELOAD = (
    "On SIGHUP foyer reads the files of -config-file, -login-config-file and -targets-file again. What"
    " changed in a flag marked (restart) waits until foyer is started again; anything else holds at once."
    " Certificates, session keys, the client secret, tokens and CA files are read again as they change, with"
    " no signal."
)

_REQUIRED = (
    "With none of the required flags foyer serves its start page and the probes only; with some of them it"
    " does not start."
)


def serve(command: str) -> str:
    """Help on `serve` or `check`, which take the same flags."""
    return _page(command, FLAGS, _EXAMPLE, _filled(_SPELLING), _SOURCES, _filled(_REQUIRED), _filled(_RELOAD))


def demo() -> str:
    """Help on `demo`."""
    return _page("demo", DEMO_FLAGS, _filled(_SPELLING))


def _page(command: str, flags: Sequence[Flag], *notes: str) -> str:
    parts = [f"usage: foyer {command} -flag value ...", *notes]
    for group, members in groupby(flags, key=lambda flag: flag.group):
        parts += [f"{group}:", *["\n".join(_entry(flag, reloads=flags is FLAGS)) for flag in members]]
    return "\n\n".join(parts) + "\n"


def _entry(flag: Flag, *, reloads: bool) -> Iterator[str]:
    """A flag's unit, default and meaning."""
    default = f"default {flag.default or flag.derived or 'none'}"
    if flag.required:
        default = "required" if flag.instead is None else f"required, or -{flag.instead}"
    # A flag that only arguments and the environment can give never changes under a running foyer.
    waits = reloads and flag.reload is Reload.RESTART and flag.name != CONFIG_FILE
    yield f"  {flag} {flag.kind}  ({default})" + ("  (restart)" if waits else "")
    indent = " " * 6
    yield from textwrap.wrap(
        flag.help, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)

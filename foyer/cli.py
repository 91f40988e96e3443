"""The `foyer` command (spec 01, Process).

Exit codes: 0 when all went well, 1 for a failure at run time, 2 for bad configuration or a command
that was not understood. Each command imports what it needs by itself: help and keys answer at once,
and `serve` never loads the demonstration.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence

from foyer import __version__

USAGE = """\
usage: foyer COMMAND [-flag value ...]

commands:
  serve   sign people in and pass their requests to the API server
  check   look at serve's flags and files, and serve nothing
  keys    print a fresh line for -session-keys-file
  demo    run everything on this machine: an issuer, an API server, an application

foyer COMMAND -help lists a command's flags; foyer -version prints the version.
"""

HELP_WORDS = frozenset({"-h", "-help", "--help"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command with `argv` (the process's own arguments by default). Returns its exit code."""
    command, *arguments = (sys.argv[1:] if argv is None else argv) or [""]
    if command in HELP_WORDS or command == "help":
        return _help(arguments)
    if command in ("-version", "--version"):
        print(f"foyer {__version__}")
        return 0
    run = COMMANDS.get(command)
    if run is None:
        return _misunderstood(command)
    if HELP_WORDS.intersection(arguments):
        return _help([command])
    return run(arguments)


def _serve(arguments: Sequence[str]) -> int:
    _take_signals_during_start()
    from foyer.config import Config, ConfigError, load
    from foyer.observe import Log

    def read() -> Config:
        return load(arguments, os.environ)

    try:
        config = read()
    except ConfigError as error:
        # As a log line: whatever collects `serve`'s stderr can read all of it.
        log = Log(lambda line: bool(sys.stderr.write(line.decode("ascii"))))
        log.configuration_refused(error.flag, error.message, error.source)
        return 2
    from foyer.app import serve

    return serve(config, read)


def _take_signals_during_start() -> None:
    """Until there is a loop to take them, SIGHUP does nothing, and the others end what has not begun.

    Untreated, each of them would kill the process, and a reload right after a start is no mistake.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Not `sys.exit`: an exception would rise wherever an import, or a loop's making, happens to be.
        signal.signal(number, lambda *_: os._exit(0))


def _check(arguments: Sequence[str]) -> int:
    from foyer.config import REQUIRED, ConfigError, load

    try:
        config = load(arguments, os.environ)
    except ConfigError as error:
        return _refused("check", error)
    if config.sign_in is None:
        print(f"configuration is valid, but nobody can sign in: none of {', '.join(REQUIRED)} is given")
    else:
        print("configuration is valid")
    return 0


def _keys(arguments: Sequence[str]) -> int:
    from foyer.session.keys import new_key

    if arguments:
        return _refused("keys", "takes no flags and no arguments")
    print(new_key())
    return 0


def _demo(arguments: Sequence[str]) -> int:
    from foyer.config import ConfigError, load_demo

    try:
        listen = load_demo(arguments)
    except ConfigError as error:
        return _refused("demo", error)
    from foyer.demo.run import main as demo

    return demo(listen)


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "serve": _serve,
    "check": _check,
    "keys": _keys,
    "demo": _demo,
}


def _refused(command: str, problem: object) -> int:
    print(f"foyer {command}: {problem}", file=sys.stderr)
    print(f"foyer {command} -help says more", file=sys.stderr)
    return 2


def _misunderstood(command: str) -> int:
    if command:
        from foyer.config.names import nearest

        # It is not repeated: whoever forgot the command may have begun with a secret.
        print(f"foyer: no such command{nearest(command, COMMANDS)}\n", file=sys.stderr)
    print(USAGE, end="", file=sys.stderr)
    return 2


def _help(arguments: Sequence[str]) -> int:
    """`foyer help`, `foyer help serve`: always on stdout, for it was asked for."""
    from foyer.config import help as pages

    command = arguments[0] if arguments else ""
    if not command or command in HELP_WORDS:
        print(USAGE, end="")
    elif command in ("serve", "check"):
        print(pages.serve(command), end="")
    elif command == "demo":
        print(pages.demo(), end="")
    elif command == "keys":
        print("usage: foyer keys\n\nPrints a fresh line for -session-keys-file. It takes no flags.")
    else:
        return _misunderstood(command)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

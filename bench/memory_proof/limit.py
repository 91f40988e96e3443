"""What a process of a measurement may have of memory: a cgroup of its own, else a limit of its data.

A cgroup is what a container has, and foyer sees it: its pool is half of that. It takes the right to make one,
in version 1 or 2 (the kernel's memory.rst and cgroup-v2.rst). A process without it has RLIMIT_DATA, which
counts what is allocated, touched or not, and is told its pool.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Protocol

MOUNTED = Path("/sys/fs/cgroup")

_ENTER = 'echo $$ >"$0/cgroup.procs" && exec "$@"'


class Limit(Protocol):
    """One process's."""

    how: str
    before: tuple[str, ...]
    """The words that its command begins with."""
    flags: dict[str, str]
    """What foyer has to be told."""

    def killed(self) -> int:
        """Processes that the kernel has ended for it."""

    def close(self) -> None:
        """It is not needed any more: the process has ended."""


class Cgroup:
    """A memory cgroup."""

    def __init__(self, folder: Path, version: int) -> None:
        self.how = f"a memory cgroup, version {version}"
        self.before: tuple[str, ...] = ("sh", "-c", _ENTER, str(folder))
        self.flags: dict[str, str] = {}
        self._folder = folder
        self._events = folder / ("memory.events" if version == 2 else "memory.oom_control")

    def killed(self) -> int:
        """As the kernel counts."""
        found = re.search(r"^oom_kill (\d+)$", self._events.read_text(), re.MULTILINE)
        return int(found[1]) if found else 0

    def close(self) -> None:
        """It goes when its last process has been reaped, which may take a moment."""
        for _ in range(50):
            try:
                self._folder.rmdir()
            except OSError:
                time.sleep(0.1)  # the kernel tells nobody when it has gone
            else:
                return


class Data:
    """RLIMIT_DATA."""

    def __init__(self, size: int) -> None:
        self.how = "RLIMIT_DATA, as no memory cgroup can be made here"
        self.before: tuple[str, ...] = ("sh", "-c", f'ulimit -d {size // 1024} && exec "$@"', "sh")
        self.flags = {"memory-pool": f"{size // 2 // 1024}KiB"}

    def killed(self) -> int:
        """None is: an allocation fails."""
        return 0

    def close(self) -> None:
        """Nothing is left."""


def limit(size: int) -> Limit:
    """`size` bytes for a process that is still to be started."""
    for folder, version, file in _places():
        if (made := _made(folder / f"foyer-{os.getpid()}-{time.monotonic_ns()}", file, size)) is not None:
            return Cgroup(made, version)
    return Data(size)


def _made(folder: Path, file: str, size: int) -> Path | None:
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        (folder / file).write_text(str(size))
    except OSError:  # version 2 passes the controller on to few places
        folder.rmdir()
        return None
    return folder


def _places() -> Iterator[tuple[Path, int, str]]:
    """Where a cgroup might be made: this process's own, then those above it."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, name = line.split(":", 2)
        own = PurePosixPath(name.lstrip("/"))
        for at in (own, *own.parents):
            if not controllers:
                yield MOUNTED / at, 2, "memory.max"
            elif "memory" in controllers.split(","):
                yield MOUNTED / "memory" / at, 1, "memory.limit_in_bytes"

"""How much memory this process may have: its container's limit, else all of the machine's.

Read of the kernel at start, for limits that are a part of it. `/proc/self/cgroup` names the process's own
cgroup, and each one above it holds it as well (cgroups(7); the kernel's cgroup-v2.rst and, for version 1,
memory.rst). In a container those names may be the host's, of which nothing is mounted: there the root of what
is mounted is the container's own.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def available(root: Path = Path("/")) -> int:
    """Bytes: the least of the limits around this process and the machine's memory."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits(root)])


def _limits(root: Path) -> Iterator[int]:
    for file in _files(root):
        try:
            text = file.read_text("ascii").strip()
        except (OSError, ValueError):
            continue  # no such cgroup here, or one that is none of ours to read
        # Without a limit: `max` in version 2, and a number beyond any machine's in version 1.
        if text.isdecimal() and int(text):
            yield int(text)


def _files(root: Path) -> Iterator[Path]:
    """Where limits may be."""
    mounted = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        lines = []
    for line in ("0::/", "0:memory:/", *lines):
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        own = PurePosixPath(name.lstrip("/"))
        if ".." in own.parts:
            continue  # above the namespace's root: nothing of it is mounted
        for cgroup in (own, *own.parents):
            if not controllers:
                yield mounted / cgroup / "memory.max"
            elif "memory" in controllers.split(","):
                yield mounted / "memory" / cgroup / "memory.limit_in_bytes"

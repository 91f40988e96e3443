"""What a process of a measurement may have open, and the clock of what it runs."""

import resource


def raise_file_limit() -> None:
    """As many open files as the system lets it: every connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def cpu_clock(pid: int) -> int:
    """The clock of all that a process's threads have run, in nanoseconds."""
    # As clock_getcpuclockid(3) makes it, with the kernel's CPUCLOCK_SCHED; /proc counts in ticks of 10 ms.
    return (~pid << 3) | 2

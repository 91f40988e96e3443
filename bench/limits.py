"""What a process of a measurement may have open."""

import resource


def raise_file_limit() -> None:
    """As many open files as the system lets it: every connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

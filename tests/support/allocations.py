"""What Python allocates meanwhile: a bound on memory that is counted, and the same in every run."""

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

LITTLE = 256 * 1024
"""Bytes: whoever measures coverage has some of them, and what is looked for are megabytes."""


class Allocations:
    """Bytes beyond what there was before: how many at once at `most`, and how many still, behind it."""

    most = 0
    kept = 0


@contextmanager
def allocations() -> Iterator[Allocations]:
    """Of what is done within."""
    found = Allocations()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield found
        found.most = tracemalloc.get_traced_memory()[1] - before
        gc.collect()  # and with it Python's own stocks of tuples
        found.kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

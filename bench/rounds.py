"""CPU time, measured so that ratios within one run can be trusted.

What is compared takes turns, round after round, so that a busy machine slows all of it; the best
round of each counts. Wall time is never looked at.
"""

import gc
import time
from collections.abc import Callable, Mapping

Work = Callable[[], None]


def best(prepare: Mapping[str, Callable[[], Work]], rounds: int) -> dict[str, float]:
    """Seconds of this process's CPU for each, the best of `rounds`. Only the prepared work is timed."""
    found = dict.fromkeys(prepare, float("inf"))
    gc.collect()
    gc.freeze()  # as foyer does when it has started
    for _ in range(rounds):
        for name, begin in prepare.items():
            work = begin()
            gc.collect()
            began = time.process_time_ns()
            work()
            found[name] = min(found[name], (time.process_time_ns() - began) / 1e9)
    gc.unfreeze()
    return found

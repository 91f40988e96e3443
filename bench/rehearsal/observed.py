"""`foyer serve` that says at SIGUSR2 what it has in memory: `python -m bench.rehearsal.observed [FLAG ...]`.

One line of JSON on stdout: `{"tasks", "files", "objects"}`, the last by type, of foyer's own types alone.
Nothing of a tally runs until it is asked for, so what is measured in between is foyer as it is. It collects
no garbage: what is over is to be gone without that.
"""

import asyncio
import gc
import json
import os
import signal
import sys
from collections import Counter
from types import FrameType

from foyer.cli import main


def tally(number: int, interrupted: FrameType | None) -> None:
    """Writes the line. What had been made when foyer was ready is frozen, and in no count."""
    kinds = Counter(map(type, gc.get_objects()))
    found = {
        "tasks": len(asyncio.all_tasks()),
        "files": len(os.listdir("/proc/self/fd")) - 1,  # one is the listing's own
        "objects": {
            f"{kind.__module__}.{kind.__qualname__}": count
            for kind, count in kinds.items()
            if kind.__module__.partition(".")[0] == "foyer"
        },
    }
    os.write(1, json.dumps(found).encode() + b"\n")


if __name__ == "__main__":
    signal.signal(signal.SIGUSR2, tally)
    sys.exit(main(["serve", *sys.argv[1:]]))

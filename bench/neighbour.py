"""Somebody else, as a process of its own: `python -m bench.neighbour '<whom to ask, as JSON>'`.

It has one connection, and for each line on stdin, a number, asks so many small GETs one after the other and
says how long they took: {"median", "worst"} in seconds. It does what `bench.browsers` does, by the clock.
"""

import json
import select
import statistics
import sys
import time

from bench.browsers import Browser, H1Browser, H2Browser, Task, client_context
from bench.messages import H2


class Neighbour:
    """One signed-in browser, which waits for each answer."""

    def __init__(self, task: Task) -> None:
        kind = H2Browser if task.version == H2 else H1Browser
        self._browser = kind(task, client_context(task.version), self._told)
        self._answered = 0

    def _told(self, browser: Browser, count: int) -> None:
        self._answered += count

    def times(self, gets: int) -> list[float]:
        """Seconds of each GET."""
        return [self._time() for _ in range(gets)]

    def _time(self) -> float:
        answered = self._answered
        began = time.perf_counter()
        self._browser.ask(1)
        while self._answered == answered:
            select.select([self._browser.socket], [], [])
            if self._browser.readable() < 0:
                raise AssertionError("the server ended somebody else's connection")
        return time.perf_counter() - began


if __name__ == "__main__":
    neighbour = Neighbour(Task(**json.loads(sys.argv[1])))
    neighbour.times(20)
    print(json.dumps("there"), flush=True)
    for line in sys.stdin:
        times = neighbour.times(json.loads(line))
        print(json.dumps({"median": statistics.median(times), "worst": max(times)}), flush=True)

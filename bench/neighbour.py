"""Somebody else, as a process of its own: `python -m bench.neighbour`, with whom to ask on the first line.

    {"port", "targets", "cookies"}

Many people, each with a session and a connection of their own, so that no bound of a session is met: a
refusal would end the measurement. The targets are theirs in turn. For each further line on stdin, a number,
they ask so many small GETs over HTTP/2, one after the other, and a line says how long they took: {"median",
"worst"} in seconds.
"""

import json
import select
import statistics
import sys
import time
from itertools import cycle

from bench.browsers import Browser, H2Browser, Task, client_context
from bench.messages import H2


class Neighbours:
    """Signed-in browsers, of which one at a time waits for an answer."""

    def __init__(self, port: int, targets: list[str], cookies: list[str]) -> None:
        context = client_context(H2)
        asking = zip(cookies, cycle(targets), strict=False)
        tasks = [Task(port, H2, target, cookie, 1, gets=1) for cookie, target in asking]
        self._turns = cycle([H2Browser(task, context, self._told) for task in tasks])
        self._answered = 0

    def _told(self, browser: Browser, count: int) -> None:
        self._answered += count

    def times(self, gets: int) -> list[float]:
        """Seconds of each GET."""
        return [self._time() for _ in range(gets)]

    def _time(self) -> float:
        browser, answered = next(self._turns), self._answered
        began = time.perf_counter()
        browser.ask(1)
        while self._answered == answered:
            select.select([browser.socket], [], [])
            if browser.readable() < 0:
                raise AssertionError("the server ended somebody else's connection")
        return time.perf_counter() - began


if __name__ == "__main__":
    told = json.loads(sys.stdin.readline())  # hundreds of cookies are too long for an argument
    neighbours = Neighbours(**told)
    neighbours.times(2 * len(told["cookies"]))  # the first takes a handshake with it
    print(json.dumps("there"), flush=True)
    for line in sys.stdin:
        times = neighbours.times(json.loads(line))
        print(json.dumps({"median": statistics.median(times), "worst": max(times)}), flush=True)

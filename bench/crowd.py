"""Many clients that each ask again when they have been answered: `python -m bench.crowd '<what, as JSON>'`.

    {"port", "version", "target", "cookie", "connections", "every"}

Each has a connection, and asks `every` seconds after it asked before at the soonest. Whatever the status is,
it is counted. A line on stdout says that all are there; then one for each on stdin, with the answers since
the last by status. It ends with stdin, or after two minutes.
"""

import json
import selectors
import sys
import time
from collections import Counter, deque

from bench.browsers import Browser, H1Browser, H2Browser, Task, client_context
from bench.limits import raise_file_limit
from bench.messages import H2

LONGEST = 120.0
"""Seconds."""

IDLE = 0.01
"""Seconds of a turn in which nothing comes."""


class Crowd:
    """All of them."""

    def __init__(
        self, port: int, version: str, target: str, cookie: str, connections: int, every: float
    ) -> None:
        self._every = every
        self._statuses: Counter[str] = Counter()
        self._due: deque[tuple[float, Browser]] = deque()
        self._asked_at: dict[Browser, float] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        task, context = Task(port, version, target, cookie, 1, gets=1), client_context(version)
        kind = _H2Client if version == H2 else _H1Client
        clients = [kind(task, context, self._told) for _ in range(connections)]
        now = time.monotonic()
        for number, client in enumerate(clients):
            client.statuses = self._statuses
            self._selector.register(client.socket, selectors.EVENT_READ, client)
            self._due.append((now + every * number / connections, client))  # not all at once

    def _told(self, client: Browser, count: int) -> None:
        self._due.append((self._asked_at[client] + self._every, client))

    def _turn(self) -> None:
        now = time.monotonic()
        for _ in range(len(self._due)):  # those that have been answered
            when, client = self._due.popleft()
            if when > now:
                self._due.append((when, client))
                continue
            self._asked_at[client] = now
            client.ask(1)
        for key, _ in self._selector.select(IDLE):
            if key.data is not None:
                if key.data.readable() < 0:
                    raise AssertionError("the server ended a connection")
            elif sys.stdin.readline():
                self.say()
            else:
                raise SystemExit(0)

    def say(self) -> None:
        """The answers since the last time."""
        print(json.dumps(dict(self._statuses)), flush=True)
        self._statuses.clear()

    def go_on(self) -> None:
        """Until there is no stdin, and not for ever."""
        self.say()
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            self._turn()


class _Counting:
    """Counts statuses."""

    statuses: Counter[str]

    def answered(self, status: bytes) -> None:
        self.statuses[status.decode()] += 1


class _H1Client(_Counting, H1Browser):
    """Over HTTP/1.1."""


class _H2Client(_Counting, H2Browser):
    """Over HTTP/2."""

    each_head = True


if __name__ == "__main__":
    raise_file_limit()
    Crowd(**json.loads(sys.argv[1])).go_on()

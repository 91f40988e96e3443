"""Who asks whether a server lives, as a process of its own: `python -m bench.probe PORT PID`.

As a kubelet does, each time over a new connection, and once more over one that stays. For each line on stdin,
a number, so many of both, and a line says how long they took: {"new", "kept"}, for each its seconds by the
clock and those for which the server, the process PID, ran meanwhile.
"""

import json
import socket
import ssl
import sys
import time
from collections.abc import Callable

from bench.browsers import client_context
from bench.limits import cpu_clock
from bench.messages import AUTHORITY, H1

_PROBE = b"GET /healthz HTTP/1.1\r\nhost: %b\r\n\r\n" % AUTHORITY


Took = tuple[float, float]
"""Seconds by the clock, and of the server's CPU."""


class Probe:
    """One server's."""

    def __init__(self, port: int, pid: int) -> None:
        self._port = port
        self._cpu = cpu_clock(pid)
        self._context = client_context(H1)
        self._kept = self._connect()

    def _connect(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self._port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._context.wrap_socket(plain, server_hostname="127.0.0.1")

    def times(self, count: int) -> dict[str, list[Took]]:
        """Of so many of both."""
        found: dict[str, list[Took]] = {"new": [], "kept": []}
        for _ in range(count):
            found["new"].append(self._timed(self._new))
            found["kept"].append(self._timed(self._again))
        return found

    def _timed(self, ask: Callable[[], None]) -> Took:
        began, ran = time.perf_counter(), time.clock_gettime(self._cpu)
        ask()
        return time.perf_counter() - began, time.clock_gettime(self._cpu) - ran

    def _new(self) -> None:
        with self._connect() as connection:
            _ask(connection)

    def _again(self) -> None:
        _ask(self._kept)


def _ask(connection: ssl.SSLSocket) -> None:
    connection.sendall(_PROBE)
    answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:200]


if __name__ == "__main__":
    probe = Probe(*map(int, sys.argv[1:]))
    print(json.dumps("there"), flush=True)
    for line in sys.stdin:
        print(json.dumps(probe.times(json.loads(line))), flush=True)

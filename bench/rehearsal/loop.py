"""One epoll loop for the stand-ins of a rehearsal: TLS connections, and commands in lines on stdin.

Both ends of a rehearsal are made to be cheaper than what stands between them. So there is neither asyncio
nor a state machine here: a read is one call, and what it brought is scanned once.
"""

import json
import os
import select
import socket
import ssl
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

_BUFFER = memoryview(bytearray(64 * 1024))
_STDIN = 0


class Stage(Enum):
    """How far a connection is."""

    CONNECTING = 1
    SHAKING = 2
    OPEN = 3
    OVER = 4


class Peer:
    """One connection. Whoever derives from it gets `opened`, `received` and `gone`."""

    def __init__(self, loop: "Loop", plain: socket.socket, context: ssl.SSLContext, *, server: bool) -> None:
        plain.setblocking(False)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = loop
        self._context = context
        self._server = server
        self._out = b""
        self._plain = plain
        self._tls: ssl.SSLSocket
        self._waits_for = select.EPOLLIN if server else select.EPOLLOUT
        self._stage = Stage.CONNECTING
        self._descriptor = plain.fileno()
        loop.add(self._descriptor, self._ready, self._waits_for)
        if server:
            self._wrap()

    def opened(self) -> None:
        """TLS is there."""

    def received(self, data: bytes, now: int) -> None:
        """What one read brought, at `now` in nanoseconds of the machine's monotonic clock."""

    def gone(self, now: int) -> None:
        """The other side has ended the connection, however it did."""

    def send(self, data: bytes) -> None:
        """Now, or as soon as the kernel takes it."""
        self._out += data
        self._flush()

    def close(self) -> None:
        """Ends the connection, as it stands."""
        if self._stage is Stage.OVER:
            return
        self._loop.remove(self._descriptor)
        (self._plain if self._stage is Stage.CONNECTING else self._tls).close()
        self._stage = Stage.OVER

    def _ready(self, events: int) -> None:
        if self._stage is Stage.CONNECTING:
            if self._plain.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._end()
                return
            self._wrap()
        if self._stage is Stage.SHAKING:
            self._shake()
            return
        if events & select.EPOLLOUT:
            self._flush()
        if events & ~select.EPOLLOUT:
            self._read()

    def _wrap(self) -> None:
        """Not before it is connected: Python's ssl does nothing for a socket that is not."""
        self._tls = self._context.wrap_socket(
            self._plain,
            server_side=self._server,
            do_handshake_on_connect=False,
            server_hostname=None if self._server else "127.0.0.1",
        )
        self._stage = Stage.SHAKING

    def _shake(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._wait(select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self._wait(select.EPOLLIN | select.EPOLLOUT)
        except OSError:
            self._end()
        else:
            self._stage = Stage.OPEN
            self._wait(select.EPOLLIN)
            self.opened()
            self._read()  # what came in one piece with the end of the handshake wakes no epoll

    def _read(self) -> None:
        while True:
            try:
                count = self._tls.recv_into(_BUFFER)
            except ssl.SSLWantReadError:
                return
            except OSError:
                count = 0
            if not count:
                self._end()
                return
            self.received(bytes(_BUFFER[:count]), time.monotonic_ns())
            # What the kernel still has is for the next round of epoll, which spares a read in vain.
            if self._stage is not Stage.OPEN or not self._tls.pending():
                return

    def _flush(self) -> None:
        if self._stage is not Stage.OPEN:
            return
        try:
            while self._out:
                self._out = self._out[self._tls.send(self._out) :]
        except ssl.SSLWantWriteError:
            self._wait(select.EPOLLIN | select.EPOLLOUT)
        except OSError:
            self._out = b""  # it has gone, as the next read will say
        else:
            self._wait(select.EPOLLIN)

    def _wait(self, events: int) -> None:
        if events != self._waits_for:
            self._waits_for = events
            self._loop.change(self._descriptor, events)

    def _end(self) -> None:
        self.close()
        self.gone(time.monotonic_ns())


class Loop:
    """Connections, and whoever tells this process what to do."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._said = b""
        self._commands: list[dict[str, Any]] = []
        self._ended = False
        self.add(_STDIN, self._listen, select.EPOLLIN)

    def add(self, descriptor: int, handler: Callable[[int], None], events: int) -> None:
        """Has `handler` called with what became possible."""
        self._handlers[descriptor] = handler
        self._epoll.register(descriptor, events)

    def change(self, descriptor: int, events: int) -> None:
        """Other events from now on."""
        self._epoll.modify(descriptor, events)

    def remove(self, descriptor: int) -> None:
        """Before it is closed."""
        self._epoll.unregister(descriptor)
        del self._handlers[descriptor]

    def turn(self, seconds: float = -1) -> None:
        """Waits for something, and handles it."""
        for descriptor, events in self._epoll.poll(seconds):
            if handler := self._handlers.get(descriptor):  # an earlier one may have closed it
                handler(events)

    def until(self, done: Callable[[], bool], seconds: float) -> None:
        """Turns until `done`, at most so long."""
        deadline = time.monotonic() + seconds
        while not done() and (left := deadline - time.monotonic()) > 0:
            self.turn(left)

    def command(self) -> dict[str, Any] | None:
        """The next command, once there is one; None when there will be none."""
        while not self._commands and not self._ended:
            self.turn()
        return self._commands.pop(0) if self._commands else None

    def _listen(self, events: int) -> None:
        data = os.read(_STDIN, 1 << 20)
        *lines, self._said = (self._said + data).split(b"\n")
        self._commands += map(json.loads, lines)
        if not data:
            self._ended = True
            self.remove(_STDIN)


def answer(found: object) -> None:
    """A line on stdout, as JSON."""
    print(json.dumps(found), flush=True)

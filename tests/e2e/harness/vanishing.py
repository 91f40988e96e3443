"""A peer whose machine is gone, for `unshare --net`, in a network of its own.

Loopback is taken down under an open connection: nobody answers any more, and nobody says so. The argument is
what foyer does then, `asks` or `waits`; a line says how many seconds later the connection was lost.
"""

import asyncio
import socket
import subprocess
import sys
import time

import uvloop

from foyer.net.wire import Wire

IDLE, INTERVAL, PROBES = 1, 1, 1
"""Seconds: as short as TCP's options go."""

LONGEST = 20.0


class Owner:
    """Whoever waits for an answer."""

    def __init__(self) -> None:
        self.is_lost = asyncio.Event()

    def opened(self, protocol: str | None) -> None: ...
    def has_read(self, size: int) -> None: ...
    def received(self, data: bytes) -> None: ...
    def ended(self, clean: bool) -> None: ...
    def writable(self) -> None: ...

    def lost(self, reason: Exception | None) -> None:
        self.is_lost.set()


def _loopback(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


async def _seconds(asks: bool) -> float:
    _loopback("up")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        owner = Owner()
        wire = Wire(owner)
        await asyncio.get_running_loop().create_connection(lambda: wire, *listening.getsockname())
        wire.keep_alive(IDLE, INTERVAL, PROBES)
        peer, _ = listening.accept()
        with peer:
            _loopback("down")
            began = time.monotonic()
            if asks:
                wire.write(b"GET / HTTP/1.1\r\n\r\n")
            await asyncio.wait_for(owner.is_lost.wait(), LONGEST)
            return time.monotonic() - began


if __name__ == "__main__":
    print(uvloop.run(_seconds(sys.argv[1] == "asks")))

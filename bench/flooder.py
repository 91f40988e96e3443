"""A client that floods, as a process of its own: `python -m bench.flooder '<whom, and as whom, as JSON>'`.

    {"port", "cookie", "csrf", "origin"}

For each line on stdin, {"kind", "manner"}, it says what that kind of flood says, as fast as it can, over one
connection after the other, until the next line, and then how much it was: {"connections", "ended", "bytes",
"seconds"}. It says "floods" when it has begun.
"""

import json
import os
import select
import socket
import ssl
import sys
import time
from dataclasses import asdict, dataclass
from enum import Enum

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.browsers import client_context
from bench.kinds import KINDS, Attacker, Kind, Records

STALLED = 0.1
"""Seconds without room, or without an end when all is said, after which a connection is given up."""

SMALL_BUFFER = 64 * 1024

_BUFFER = bytearray(64 * 1024)


class Manner(Enum):
    """How it goes from one connection to the next."""

    STAYS = "stays"
    """When the server has ended the one before, or does not do so. It hears everything."""

    LEAVES = "leaves"
    """As soon as the kernel has taken everything, some megabytes that the server may not have seen yet."""

    REHEARSES = "rehearses"
    """Not at all: it sends the same to itself, encrypted and through a socket, and so is just as busy."""


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to flood, and as whom."""

    port: int
    cookie: str
    csrf: str
    origin: str


@dataclass(slots=True)
class Sent:
    """How much it was."""

    connections: int = 0
    ended: int = 0
    bytes: int = 0
    seconds: float = 0.0


class _Told(Exception):
    """That it is enough."""


class Flood:
    """One flood, from the line that begins it to the one that ends it."""

    def __init__(self, port: int, kind: Kind, records: Records, manner: Manner) -> None:
        self._port = port
        self._kind, self._records, self._manner = kind, records, manner
        self._context = client_context(kind.version)
        self.sent = Sent()

    def run(self) -> None:
        """Returns at the next line."""
        began = time.monotonic()
        try:
            self._rehearse() if self._manner is Manner.REHEARSES else self._flood()
        except _Told:
            self.sent.seconds = time.monotonic() - began

    def _flood(self) -> None:
        while True:
            try:
                self._connection()
            except OSError:  # of TLS too: the server ended it, in whichever way
                self.sent.ended += 1

    def _connection(self) -> None:
        _until_told()
        with socket.create_connection(("127.0.0.1", self._port), timeout=5) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._manner is Manner.STAYS:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
            with self._context.wrap_socket(plain) as tls:
                self.sent.connections += 1
                tls.setblocking(False)
                for record in self._records:
                    if not self._put(tls, record):
                        return
                if self._records and self._manner is Manner.STAYS:
                    self._wait(tls)

    def _put(self, tls: ssl.SSLSocket, record: bytes) -> bool:
        """Sends a record and drops what has come; False where the server takes no more."""
        reading = [tls] if self._kind.reads else []
        while True:
            try:
                self.sent.bytes += tls.send(record)
                return self._read(tls)
            except ssl.SSLWantWriteError:
                if not self._read(tls):
                    return False
            _until_told()
            if select.select(reading, [tls], [], STALLED) == ([], [], []):
                return False

    def _wait(self, tls: ssl.SSLSocket) -> None:
        """All is said: the server has a moment to end it."""
        reading = [tls] if self._kind.reads else []
        while tls in select.select([sys.stdin, *reading], [], [], STALLED)[0] and self._read(tls):
            _until_told()

    def _read(self, tls: ssl.SSLSocket) -> bool:
        while self._kind.reads:
            try:
                if not tls.recv_into(_BUFFER):
                    self.sent.ended += 1
                    return False
            except ssl.SSLWantReadError:
                return True
        return True

    def _rehearse(self) -> None:
        key, nonce = AESGCM(os.urandom(16)), bytes(12)
        here, there = socket.socketpair()
        while True:
            for record in self._records:
                here.sendall(key.encrypt(nonce, record, b""))
                there.recv_into(_BUFFER)
            _until_told()


def _until_told() -> None:
    if select.select([sys.stdin], [], [], 0)[0]:
        raise _Told


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    """One flood after the other, until stdin ends."""
    target = Target(**json.loads(sys.argv[1]))
    attacker = Attacker(target.cookie, target.csrf, target.origin)
    kinds = {kind.name: kind for kind in KINDS}
    scripts: dict[str, Records] = {}
    for line in iter(sys.stdin.readline, ""):
        told = json.loads(line)
        kind = kinds[told["kind"]]
        if kind.name not in scripts:
            scripts = {kind.name: kind.says(attacker)}
        flood = Flood(target.port, kind, scripts[kind.name], Manner(told["manner"]))
        _say("floods")
        flood.run()
        sys.stdin.readline()
        _say(asdict(flood.sent))


if __name__ == "__main__":
    main()

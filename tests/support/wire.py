"""One connection of a scripted peer, plain or TLS: bytes in, bytes out, and how it ended.

TLS is done over memory BIOs, so a script decides what its socket does: stop reading, close
with or without `close_notify`, or reset.
"""

import selectors
import socket
import ssl
import struct
from collections.abc import Callable
from enum import Enum

from tests.support.script import Script

RECORD = 16 * 1024
"""Bytes encrypted at a time (RFC 8446 section 5.1), so that `unsent` stays true to that much."""


class End(Enum):
    """How the other side ended its half of a connection."""

    OPEN = "open"
    CLOSED = "closed"
    RAGGED = "closed without close_notify"
    RESET = "reset"


class Wire:
    """A nonblocking connection that a `Script` moves along."""

    def __init__(
        self,
        script: Script,
        sock: socket.socket,
        received: Callable[[bytes], None],
        ended: Callable[[End], None],
        *,
        tls: ssl.SSLContext | None = None,
        hostname: str | None = None,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.end = End.OPEN
        self.failure: ssl.SSLError | None = None
        self.established = tls is None
        self.reading = True
        self.sent = 0
        self._script = script
        self._received = received
        self._ended = ended
        self._plain = bytearray()
        self._cipher = bytearray()
        self.finishing = False
        self._finished = False
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        script.add(self)
        if tls is not None:
            server = hostname is None
            self._tls = tls.wrap_bio(self._in, self._out, server_side=server, server_hostname=hostname)
            self._shake_hands()

    @property
    def unsent(self) -> int:
        """Bytes given to `send` that the kernel has not taken."""
        return len(self._plain) + len(self._cipher)

    @property
    def undecrypted(self) -> int:
        """Bytes received of a TLS record that is not whole yet."""
        return self._in.pending

    @property
    def alpn(self) -> str | None:
        """The protocol TLS agreed on."""
        return self._tls.selected_alpn_protocol() if self._tls else None

    def send(self, data: bytes) -> None:
        """Queue bytes and give the kernel what it takes."""
        assert not self.finishing, "this half of the connection has been closed"
        self._plain += data
        self._flush()

    def finish(self) -> None:
        """Close our half once everything queued is sent: close_notify and FIN, while reading goes on."""
        self.finishing = True
        self._flush()

    def drop(self) -> None:
        """Reset the connection: RST, and nothing of what is queued."""
        if self.socket.fileno() >= 0:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def cut(self) -> None:
        """Close our half by FIN alone, without TLS's close_notify (after what the kernel took)."""
        self.finishing = self._finished = True
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the socket now. What the other side does later is not seen."""
        self._script.remove(self)
        self.finishing = self._finished = True
        self.socket.close()

    # -- a Part of the script

    def fileno(self) -> int:
        return self.socket.fileno()

    def wants(self) -> int:
        read = selectors.EVENT_READ if self.reading and self.end is End.OPEN else 0
        write = selectors.EVENT_WRITE if self._cipher or (self._plain and self.established) else 0
        return read | write

    def ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._flush()
        if events & selectors.EVENT_READ and self.socket.fileno() >= 0:
            self._read()

    # -- inwards

    def _read(self) -> None:
        try:
            data = self.socket.recv(256 * 1024)
        except BlockingIOError:
            return
        except OSError:
            self._over(End.RESET)
            return
        if self._tls is not None:
            self._read_tls(data)
        elif data:
            self._received(data)
        else:
            self._over(End.CLOSED)

    def _read_tls(self, data: bytes) -> None:
        if data:
            self._in.write(data)
        if not self.established:
            self._shake_hands()
        if self.established:
            self._decrypt()
        # Not by `write_eof`, which CPython 3.11.2 reads back as a close_notify.
        if not data and self.end is End.OPEN:
            self._over(End.RAGGED)

    def _decrypt(self) -> None:
        assert self._tls is not None
        while self.end is End.OPEN:
            try:
                data = self._tls.read(256 * 1024)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                data = b""
            except ssl.SSLError as failure:
                self.failure = failure
                self._over(End.RAGGED)
                return
            if data:
                self._received(data)
            else:
                self._over(End.CLOSED)
        self._flush()

    def _shake_hands(self) -> None:
        assert self._tls is not None
        try:
            self._tls.do_handshake()
            self.established = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as failure:
            self.failure = failure
            self._over(End.RAGGED)
        self._flush()

    def _over(self, end: End) -> None:
        self.end = end
        self._ended(end)

    # -- outwards

    def _flush(self) -> None:
        if self._finished:
            return
        try:
            while self._fill():
                taken = self.socket.send(self._cipher)
                del self._cipher[:taken]
        except BlockingIOError:
            return
        except OSError:
            # The other side reset the connection. Reading says so, if the script reads.
            self._plain.clear()
            self._cipher.clear()
            if self.end is End.OPEN:
                self._over(End.RESET)
            return
        if self.finishing:
            self._finished = True
            self._say_end()

    def _fill(self) -> bool:
        """Have something to write: handshake and alerts first, then a record's worth of the queue."""
        self._cipher += self._out.read()
        if not self._cipher and self._plain and self.established:
            piece = bytes(self._plain[:RECORD])
            del self._plain[: len(piece)]
            self.sent += len(piece)
            if self._tls is None:
                self._cipher += piece
            else:
                self._tls.write(piece)
                self._cipher += self._out.read()
        return bool(self._cipher)

    def _say_end(self) -> None:
        try:
            if self._tls is not None and self.established:
                try:
                    self._tls.unwrap()
                except ssl.SSLError:
                    pass  # our close_notify is written; theirs is not awaited
                self.socket.send(self._out.read())
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # already gone: the script sees it as the connection's end

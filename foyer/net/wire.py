"""Bytes to and from one TCP connection: reading that pauses, writing with backpressure, and its ends.

One receive buffer serves all connections of a loop. TLS is `foyer.net.tls`.
"""

import asyncio
import fcntl
import socket
import struct
import sys
import termios
import threading
from typing import Protocol, cast

from foyer.net.turn import Turn

RECORD = 16 * 1024
"""A TLS record's content. BIOs are fed in such pieces: they never give back what they grew to."""

SMALL_READ = 4096
"""Bytes of a read where there is more to do with what comes than with others'."""


class Buffers(threading.local):
    """One for every connection of a loop: what is read is copied out before the loop goes on. So it is one
    a thread, for two loops in a process would read into each other's."""

    def __init__(self) -> None:
        # The most that one read can bring past a pause (spec 03: 256 KiB a response).
        self.received = memoryview(bytearray(96 * 1024))


BUFFERS = Buffers()

WRITE_HIGH = 32 * 1024
"""Bytes in a transport above which nothing more is handed to it: the rest stays where a reset can drop it."""

WRITE_LOW = 8 * 1024

CHOKED = 192 * 1024
"""Bytes in a transport above which nothing more is read. Content alone never gets there: it is what a peer
makes us answer (PING, SETTINGS, KeyUpdate, requests without content) while it takes nothing itself, and
would pile up for as long as it sends."""


class Owner(Protocol):
    """Whoever speaks a protocol over a wire."""

    def opened(self, protocol: str | None) -> None:
        """The wire can be used; `protocol` is what TLS agreed on, None without TLS."""

    def has_read(self, size: int) -> None:
        """Bytes were read, beside those that `received` tells of: TLS costs something too."""

    def received(self, data: bytes) -> None:
        """Bytes arrived."""

    def ended(self, clean: bool) -> None:
        """The peer sends no more. Over TLS only a close_notify is clean: else it may be a truncation."""

    def lost(self, reason: Exception | None) -> None:
        """The connection is gone. Called once, last, whoever ended it."""

    def writable(self) -> None:
        """The transport has room again."""


class Wire(asyncio.BufferedProtocol):
    """A plain TCP connection."""

    __slots__ = (
        "_busy",
        "_deaf",
        "_finished",
        "_owner",
        "_paused",
        "_prepared",
        "_transport",
        "broken",
        "choked",
        "closing",
        "congested",
        "flooded",
        "sparing",
        "written",
    )

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._paused = False  # by the owner, who has no room
        self._busy = False  # by the owner, who has not come to it
        self.choked = False  # by a peer that does not read
        self._deaf = False  # what comes is dropped
        self._finished = False  # we write no more
        self._prepared = b""  # to leave when others' does
        self.congested = False
        self.written = 0  # bytes handed to the transport so far
        self.closing = False
        self.broken = False  # TLS: by an alert of the peer's, a record that is none, or `flooded`
        self.flooded = False  # TLS: by records that bring nothing
        self.sparing = False  # read in small pieces: the owner has more to do with what comes than others

    # asyncio's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH, WRITE_LOW)
        self._started()

    def _started(self) -> None:
        self._owner.opened(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        received = BUFFERS.received
        return received[:SMALL_READ] if self.sparing and not self._deaf else received

    def buffer_updated(self, nbytes: int) -> None:
        if self._deaf:
            self._owner.has_read(nbytes)
        else:
            self._owner.received(bytes(BUFFERS.received[:nbytes]))

    def eof_received(self) -> bool:
        self._owner.ended(self._clean_end())
        return True  # kept half-open: the owner decides when it closes

    def _clean_end(self) -> bool:
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(exc)

    def _lose(self, reason: Exception | None) -> None:
        self.closing = True
        self._transport = None
        # Nothing more is told. Without its cycle a lost connection is freed at once, not at a collection.
        owner = self._owner
        del self._owner
        owner.lost(reason)

    def pause_writing(self) -> None:
        self.congested = True

    def resume_writing(self) -> None:
        self.congested = self.choked = False
        if not self.closing:
            self._read_or_not()
            self._owner.writable()

    # The owner's side.

    def write(self, data: bytes) -> None:
        """Sends `data` after what was written before; nothing once `finish` said so."""
        if data and not self._finished and not self.closing:
            self._send_prepared()
            self._put(data)

    def prepare(self, data: bytes, turn: Turn) -> None:
        """The same; but at the end of `turn`, when others' leaves too: or sooner, if more is written."""
        if self._prepared or len(data) > RECORD or self._finished or self.closing:
            self.write(data)
        else:
            self._prepared = data
            turn.send_off(self)

    def encrypt(self) -> None:
        """Encrypts what was prepared, unless that has left before. TLS alone has anything to do."""

    def send_off(self) -> None:
        """Sends what was prepared, when it is encrypted."""
        data, self._prepared = self._prepared, b""
        if data and not self.closing:
            self._put(data)

    def _send_prepared(self) -> None:
        if self._prepared:
            self.encrypt()
            self.send_off()

    def _put(self, data: bytes) -> None:
        """Hands bytes to the transport, and stops reading from a peer that makes us write and never reads."""
        if self._transport is None or self._finished:
            return  # behind our FIN TLS has still things to say: alerts, KeyUpdate, its close_notify
        self.written += len(data)
        self._transport.write(data)
        if self.congested and not self.choked and self.unsent > CHOKED:
            self.choked = True
            self._read_or_not()

    @property
    def unsent(self) -> int:
        """Bytes that the kernel has not taken."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    @property
    def acknowledged(self) -> int:
        """Of the bytes `written`, those that the peer has acknowledged.

        Asked of the kernel, for who looks once a second: it takes megabytes ahead of a slow peer, and tells
        of no room before a third of them has left.
        """
        if self._transport is None or self.closing:
            return self.written
        peer = self._transport.get_extra_info("socket")
        queue = b"" if peer is None else fcntl.ioctl(peer.fileno(), termios.TIOCOUTQ, bytes(4))
        return self.written - self.unsent - int.from_bytes(queue, sys.byteorder)

    def pause(self) -> None:
        """Stops reading; the kernel's window does the rest."""
        self._paused = True
        self._read_or_not()

    def resume(self) -> None:
        """Reads again."""
        self._paused = False
        self._read_or_not()

    def deafen(self) -> None:
        """What comes from now on is dropped as it is read, over TLS without being decrypted.

        For a peer whose rest nobody wants, but who is to have what was said last: to look at 700 KB of
        SETTINGS was a millisecond for each of 500 connections a second, and most of what such a flood cost.
        """
        self._deaf = True

    def busy(self, busy: bool) -> None:
        """Whether reading waits for what was read before."""
        if busy is not self._busy:
            self._busy = busy
            self._read_or_not()

    def _read_or_not(self) -> None:
        if self._transport is None or self.closing:
            return
        reading = not (self._paused or self._busy or self.choked)
        if reading is not self._transport.is_reading():
            self._transport.resume_reading() if reading else self._transport.pause_reading()

    def keep_alive(self, idle: float, interval: float, probes: int) -> None:
        """Has TCP find a dead peer: after `idle` seconds of silence `probes` probes, `interval` apart.

        And as long after what the peer has not acknowledged, or has no room for. Linux probes nobody who has
        yet to acknowledge: a request to one that is gone waited for a quarter of an hour of retransmissions.
        """
        peer = self._transport.get_extra_info("socket") if self._transport is not None else None
        if peer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(idle))
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, int(interval))
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, probes)
            limit = int((idle + interval * probes) * 1000)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit)

    def finish(self, *, goodbye: bool = True) -> None:
        """Says that no more will be written, and goes on reading: the peer can take a last answer.

        Without `goodbye`, TLS's close_notify, what was sent cannot pass for whole.
        """
        if self._transport is not None and not self.closing and not self._finished:
            self._send_prepared()
            self._finished = True
            self._transport.write_eof()

    def close(self) -> None:
        """Closes when what was written has been sent."""
        self.cut_off()

    def cut_off(self) -> None:
        """The same without TLS's close_notify: what was sent cannot pass for whole."""
        if self._transport is not None and not self.closing:
            self._send_prepared()
            self.closing = True
            self._transport.close()

    def failed(self) -> None:
        """A fault of ours: the connection ends as it stands."""
        self.abort()

    def abort(self, *, reset: bool = False) -> None:
        """Closes now and drops what was not sent. With `reset`, a TCP RST: never a clean end."""
        if self._transport is None:
            return
        self.closing = True
        if reset:
            peer = self._transport.get_extra_info("socket")
            if peer is not None:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

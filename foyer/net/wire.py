"""Bytes to and from one TCP connection, plain or TLS by hand.

`SSLObject` over memory BIOs in a `BufferedProtocol` with one receive buffer for the process: 18
KiB an idle TLS connection, against 46 for uvloop's own ssl and 275 for asyncio's. What that asks
of us is here: the handshake's deadline is the owner's, close_notify in both directions, output
that reading makes (KeyUpdate, alerts), backpressure from the transport under it, and an end to
records that bring nothing: OpenSSL would take them for ever, 18 us each.
"""

import asyncio
import fcntl
import os
import socket
import ssl
import struct
import sys
import termios
import threading
from collections.abc import Iterator
from typing import Protocol, cast

from foyer.net.hello import Hello
from foyer.net.turn import Turn
from foyer.protocol.floods import Flood

_RECORD = 16 * 1024
"""A TLS record's content. BIOs are fed in such pieces: they never give back what they grew to."""

_RECORD_HEADER = 5

_TOGETHER = 32
"""Records given to OpenSSL at a time: it goes through all that it has for the next octet of content."""

_RECORD_COST = 512
"""Octets of a turn's reading that each record counts for, whatever is in it. It is a call of OpenSSL's and
one of ours, where a full one of 16 KiB is 6 us; and uvloop would read 3 MiB of them in one turn."""

_CRUMBS = 128
"""Octets of a record, on average of those of a read, below which the next read is a small one: a large one
would hold the loop for 4 ms."""

_SMALL_READ = 4096


class _Buffers(threading.local):
    """One for every connection of a loop: what is read is copied out before the loop goes on. So it is one
    a thread, for two loops in a process would read into each other's."""

    def __init__(self) -> None:
        # The most that one read can bring past a pause (spec 03: 256 KiB a response).
        self.received = memoryview(bytearray(96 * 1024))
        self.plain = memoryview(bytearray(_RECORD))


_BUFFERS = _Buffers()

CONTENT_FOR_A_QUIET_RECORD = 64 * 1024
"""Octets of content after which a peer may send another record without any. TLS asks for new keys after
gigabytes, and servers send their session tickets at first."""

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
        received = _BUFFERS.received
        return received[:_SMALL_READ] if self.sparing and not self._deaf else received

    def buffer_updated(self, nbytes: int) -> None:
        if self._deaf:
            self._owner.has_read(nbytes)
        else:
            self._owner.received(bytes(_BUFFERS.received[:nbytes]))

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
            self._put(data)

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
        """Has TCP find a dead peer: after `idle` seconds of silence `probes` probes, `interval` apart."""
        peer = self._transport.get_extra_info("socket") if self._transport is not None else None
        if peer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(idle))
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, int(interval))
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, probes)

    def finish(self, *, goodbye: bool = True) -> None:
        """Says that no more will be written, and goes on reading: the peer can take a last answer.

        Without `goodbye`, TLS's close_notify, what was sent cannot pass for whole.
        """
        if self._transport is not None and not self.closing and not self._finished:
            self._finished = True
            self._transport.write_eof()

    def close(self) -> None:
        """Closes when what was written has been sent."""
        self.cut_off()

    def cut_off(self) -> None:
        """The same without TLS's close_notify: what was sent cannot pass for whole."""
        if self._transport is not None and not self.closing:
            self.closing = True
            self._transport.close()

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


class TLSWire(Wire):
    """The same over TLS 1.2 or 1.3."""

    __slots__ = (
        "_context",
        "_crumbs",
        "_established",
        "_hello",
        "_hostname",
        "_incoming",
        "_outgoing",
        "_quiet",
        "_records",
        "_shut",
        "_steps",
        "_taken",
        "_tls",
        "_turn",
    )

    def __init__(
        self,
        owner: Owner,
        context: ssl.SSLContext,
        *,
        hostname: str | None = None,
        turn: Turn | None = None,
    ) -> None:
        """`hostname` makes it the client's end, and is what the peer's certificate must be for.

        With `turn` each step of the handshake waits for its own: it is the dearest thing that anybody may
        ask for (0.3 ms), and cannot be sliced.
        """
        super().__init__(owner)
        self._turn = turn
        self._steps = b""  # of the handshake, that wait for theirs
        self._taken = 0  # of them
        self._context = context
        self._hostname = hostname
        self._established = False
        self._hello = Hello() if hostname is None else None  # a browser's, until the handshake is over
        self._shut = False  # the peer's close_notify was read
        self._records = _Records()
        self._quiet = 0.0  # records without content, less what content has earned
        self._crumbs = False  # what was read last was in small records

    def _started(self) -> None:
        # A newcomer's with the first step's turn. Whoever says nothing costs nothing; and what 1,800 that
        # wait hold in OpenSSL would lie between what their handshakes let go, which then goes to nobody.
        if self._turn is None or self._hostname is not None:
            self._begin()

    def _begin(self) -> None:
        # Only now, for a host that was found: what is no host name is an error in here.
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = self._context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=self._hostname is None,
            server_hostname=self._hostname,
        )
        self._handshake()

    def get_buffer(self, sizehint: int) -> memoryview:
        received = _BUFFERS.received
        small = (self._crumbs or self.sparing) and not self._deaf
        return received[:_SMALL_READ] if small else received

    def buffer_updated(self, nbytes: int) -> None:
        received = _BUFFERS.received[:nbytes]
        if self._deaf:
            self._owner.has_read(nbytes)
        elif self._turn is None or self._established:
            self._take_records(received)
        else:
            self._steps = bytes(received)
            self.busy(True)
            self._wait(self._turn)

    def _wait(self, turn: Turn) -> None:
        """For the turn of the handshake's next step."""
        if self._hostname is not None:
            turn.shake_hands(self)
        else:
            # Half a handshake holds 30 KiB, and its other half is a tenth of the work: the second step is
            # ahead of those who begin. No further one, or whoever comes in crumbs would always be.
            turn.later(self, ahead=self._taken == 1)

    def go_on(self) -> None:
        """The handshake's turn has come."""
        steps, self._steps = self._steps, b""
        if self.closing:
            return
        if not self._taken and self._hostname is None:
            self._begin()
        self._taken += 1
        self.busy(False)
        self._take_records(memoryview(steps))

    def failed(self) -> None:
        """A fault of ours: the connection ends as it stands."""
        self.abort()

    def _take_records(self, received: memoryview) -> None:
        """Tells the owner of what a read has brought, a record's worth at a time."""
        nbytes = len(received)
        records = 0
        for at in range(0, nbytes, _RECORD):
            pieces: list[bytes] = []
            for group, count in self._records.groups(received[at : at + _RECORD]):
                records += count
                self._take(group, count, pieces)
                if self._shut or self.broken or self.closing:
                    break
            self._drain()
            data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            if data:
                self._owner.received(data)
            if (self._shut or self.broken) and not self.closing:
                self._owner.ended(not self.broken)
                return
            if self.closing:
                return
            if self._established:
                self._owner.has_read(min(_RECORD, nbytes - at) - len(data))
        self._crumbs = records > _TOGETHER and records * _CRUMBS > nbytes
        if self._established:
            self._owner.has_read(records * _RECORD_COST)

    def _take(self, group: memoryview, count: int, pieces: list[bytes]) -> None:
        """Decrypts `group`, at the end of which so many records are whole, and looks after those in vain."""
        known = self._established
        if self._hello is not None and not self._hello.fits(group):
            self._fail(ssl.SSLError("a ClientHello of no sensible length"))
            return
        self._incoming.write(group)
        if not known and not self._handshake():
            return
        before, size = len(pieces), self._decrypt(pieces)
        if known:
            quiet = self._quiet + count - (len(pieces) - before) - size / CONTENT_FOR_A_QUIET_RECORD
            self._quiet = max(0.0, quiet)
            if quiet > Flood.KEY_UPDATE.burst:
                self.broken = self.flooded = True

    def _handshake(self) -> bool:
        if self.closing:
            return False
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            said = self._outgoing.read()
            if self._hello is not None:
                self._hello.answered(said)
            self._put(said)
            return False
        except (ssl.SSLError, ssl.CertificateError) as error:
            self._drain()  # the alert that says why
            self._fail(error)
            return False
        self._established = True
        self._hello = None
        self._drain()
        self._owner.opened(self._tls.selected_alpn_protocol() or "http/1.1")
        return True

    def _fail(self, error: Exception) -> None:
        """The handshake failed. Its few bytes fit into any socket, so nobody need watch them leave."""
        transport = self._transport
        if transport is not None:
            transport.close()
            self._lose(error)

    def connection_lost(self, exc: Exception | None) -> None:
        transport, self._transport = self._transport, None
        if transport is None:
            return
        if self._hostname is not None and self._established and isinstance(exc, OSError) and not self.closing:
            self._read_the_last(transport)
        self._lose(exc)

    def _read_the_last(self, transport: asyncio.Transport) -> None:
        """Takes what a server had said before it reset the connection under a write of ours.

        Who answers an upload before its end and closes does that (RFC 9112 section 9.6), and the answer is
        in the kernel; but to the loop a write that failed is the end, with whatever there was to read.
        """
        peer = transport.get_extra_info("socket")
        try:
            size = os.readv(peer.fileno(), [_BUFFERS.received]) if peer is not None else 0
        except OSError:
            return
        if size:
            self.buffer_updated(size)

    def _decrypt(self, pieces: list[bytes]) -> int:
        """Adds what the records hold to `pieces`; how much that is."""
        size, plain = 0, _BUFFERS.plain
        try:
            while self._incoming.pending or self._tls.pending():
                count = cast(int, self._tls.read(_RECORD, plain))
                if not count:
                    self._shut = True
                    break
                pieces.append(bytes(plain[:count]))
                size += count
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._shut = True
        except ssl.SSLError:
            self.broken = True  # a record that was tampered with, an alert: ours says which
        return size

    def eof_received(self) -> bool:
        if not self._established:
            self._fail(ssl.SSLError("the connection ended within the handshake"))
        elif not self._shut:
            self._owner.ended(False)
        return True

    def _clean_end(self) -> bool:
        return self._shut

    def write(self, data: bytes) -> None:
        if not data or self._finished or self.closing:
            return
        if len(data) <= _RECORD:  # nearly all is
            self._tls.write(data)
            self._drain()
            return
        view = memoryview(data)
        for at in range(0, len(data), _RECORD):
            self._tls.write(view[at : at + _RECORD])
            self._drain()

    def _drain(self) -> None:
        if data := self._outgoing.read():
            self._put(data)

    def _say_goodbye(self) -> None:
        """close_notify: what was sent is whole (RFC 8446 section 6.1)."""
        if self._established:
            try:
                self._tls.unwrap()
            except ssl.SSLError:
                pass  # wants the peer's own close_notify, which is not waited for
            self._drain()

    def finish(self, *, goodbye: bool = True) -> None:
        if not self.closing and not self._finished:
            if goodbye:
                self._say_goodbye()
            super().finish()

    def close(self) -> None:
        if not self.closing:
            self._say_goodbye()
            super().close()


class _Records:
    """Where one direction's records begin: their headers are in the clear (RFC 8446 section 5.1)."""

    __slots__ = ("_header", "_left")

    def __init__(self) -> None:
        self._header = b""  # as much of one as has come
        self._left = 0  # octets of a record still to come

    def groups(self, data: memoryview) -> Iterator[tuple[memoryview, int]]:
        """`data` in pieces, each with the number of records that end in it: `_TOGETHER` at most."""
        begin = at = ended = 0
        size = len(data)
        while at < size:
            if not self._left:
                if self._header or size - at < _RECORD_HEADER:
                    at += self._take_header(data[at:])
                else:
                    self._left = _RECORD_HEADER + (data[at + 3] << 8 | data[at + 4])
            if self._left <= size - at:
                at += self._left
                self._left = 0
                ended += not self._header
            else:
                self._left -= size - at
                at = size
            if ended == _TOGETHER:
                yield data[begin:at], ended
                begin, ended = at, 0
        if begin < at:
            yield data[begin:at], ended

    def _take_header(self, data: memoryview) -> int:
        """Goes on with a header that comes in pieces; how many octets of it there are."""
        taken = data[: _RECORD_HEADER - len(self._header)]
        self._header += taken
        if len(self._header) == _RECORD_HEADER:
            self._left = self._header[3] << 8 | self._header[4]
            self._header = b""
        return len(taken)

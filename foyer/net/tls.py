"""TLS by hand over one TCP connection, in either role.

`SSLObject` over memory BIOs in a `BufferedProtocol`: 18 KiB an idle connection, against 46 for uvloop's own
ssl and 275 for asyncio's. What that asks of us is here: close_notify in both directions, output that reading
makes (KeyUpdate, alerts), steps of a handshake that wait for their turn, and an end to records that bring
nothing: OpenSSL would take them for ever, 18 us each. The handshake's deadline is the owner's.
"""

import asyncio
import os
import ssl
import threading
from typing import cast

from foyer.net.hello import Hello
from foyer.net.records import TOGETHER, Records
from foyer.net.turn import Turn
from foyer.net.wire import BUFFERS, RECORD, SMALL_READ, Owner, Wire
from foyer.protocol.floods import Flood

_RECORD_COST = 512
"""Octets of a turn's reading that each record counts for, whatever is in it. It is a call of OpenSSL's and
one of ours, where a full one of 16 KiB is 6 us; and uvloop would read 3 MiB of them in one turn."""

_CRUMBS = 128
"""Octets of a record, on average of those of a read, below which the next read is a small one: a large one
would hold the loop for 4 ms."""

CONTENT_FOR_A_QUIET_RECORD = 64 * 1024
"""Octets of content after which a peer may send another record without any. TLS asks for new keys after
gigabytes, and servers send their session tickets at first."""


class _Decrypted(threading.local):
    """One for every connection of a loop, as `foyer.net.wire.Buffers`."""

    def __init__(self) -> None:
        self.plain = memoryview(bytearray(RECORD))


_DECRYPTED = _Decrypted()


class TLSWire(Wire):
    """A connection over TLS 1.2 or 1.3."""

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
        self._records = Records()
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
        received = BUFFERS.received
        small = (self._crumbs or self.sparing) and not self._deaf
        return received[:SMALL_READ] if small else received

    def buffer_updated(self, nbytes: int) -> None:
        received = BUFFERS.received[:nbytes]
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
        server = self._hostname is not None
        # Half a handshake holds 30 KiB, its other half is a tenth of the work: a newcomer's second step is
        # ahead of those who begin. No further one, or whoever comes in crumbs would always be.
        turn.shake_hands(self, server=server, ahead=not server and self._taken == 1)

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

    def _take_records(self, received: memoryview) -> None:
        """Tells the owner of what a read has brought, a record's worth at a time."""
        nbytes = len(received)
        records = 0
        for at in range(0, nbytes, RECORD):
            pieces: list[bytes] = []
            for group, count in self._records.groups(received[at : at + RECORD]):
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
                self._owner.has_read(min(RECORD, nbytes - at) - len(data))
        self._crumbs = records > TOGETHER and records * _CRUMBS > nbytes
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
            size = os.readv(peer.fileno(), [BUFFERS.received]) if peer is not None else 0
        except OSError:
            return
        if size:
            self.buffer_updated(size)

    def _decrypt(self, pieces: list[bytes]) -> int:
        """Adds what the records hold to `pieces`; how much that is."""
        size, plain = 0, _DECRYPTED.plain
        try:
            while self._incoming.pending or self._tls.pending():
                count = cast(int, self._tls.read(RECORD, plain))
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
        self._send_prepared()
        if len(data) <= RECORD:  # nearly all is
            self._tls.write(data)
            self._drain()
            return
        view = memoryview(data)
        for at in range(0, len(data), RECORD):
            self._tls.write(view[at : at + RECORD])
            self._drain()

    def encrypt(self) -> None:
        data, self._prepared = self._prepared, b""
        if data and not self.broken:
            self._tls.write(data)

    def send_off(self) -> None:
        if not self.closing:
            self._drain()

    def _drain(self) -> None:
        if data := self._outgoing.read():
            self._put(data)

    def _say_goodbye(self) -> None:
        """close_notify: what was sent is whole (RFC 8446 section 6.1)."""
        self._send_prepared()
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

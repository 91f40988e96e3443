"""Floods: what a peer may make us do for nothing, counted before it is done (spec 03, HTTP/2 defences).

Each kind is a token bucket of its own, one connection's: so many at once, so many a second in the
long run, and what honest use earns on top: who gets answers may cancel, and who takes content opens
windows. Limits are set from both ends. No browser, proxy or HTTP library was found to need a tenth of
one, and what one allows costs less CPU than as many bytes of plain requests would.

Buckets are looked after only as they run over, so counting is one addition, and a connection that
floods nobody holds an empty dict. The price is that a bucket may be filled twice before it is empty.

Pure: `now` is seconds on the caller's clock.
"""

from enum import Enum
from typing import Final

from foyer.protocol.fault import ProtocolFault

SMALL_PIECE = 512
"""Bytes of content that pay for reading a piece of it, be it a DATA frame, a chunk or a read."""

LARGE_HEAD = 1024
"""Bytes of a header block that every request may have. Beyond it they are counted: what does not fit the
peer's HPACK table comes again with each request, and is decoded again."""

USEFUL_PIECE = 64
"""Bytes of content sent in one frame from which it earns window updates. What is narrower than that was cut
so by the peer's window: no event of a watch is."""

OPENED_AFTER = 4096
"""Bytes of content after which Go's client opens both windows again, the most often of the libraries seen:
eight times for a frame of 16 KiB. Each such piece of a frame earns as a frame does."""

MAX_INFORMATIONAL = 64
"""1xx heads before a response's own (RFC 9110 section 15.2 has no limit). None of them passes; a server that
is slow to answer sends a 102 now and then."""

ALL = 1 << 62
"""Work without a bound, for whoever serves nobody else meanwhile."""

TURN_WORK = 16
"""Work for one connection in one turn of the loop, in frames, chunks and such of some 15 us each. Then it is
the others' turn (A15: they stay quick)."""

SERVER_TURN_WORK = 2 * TURN_WORK
"""The same for a server's: one connection of theirs carries what a hundred people wait for."""

HEAD_WORK = 6
"""Work that a request's head counts for, and one more for each KiB of it: its exchange begins with it."""

_PRIORITY, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 2, 4, 6, 7, 8, 9
_END_STREAM, _PADDED = 1, 8
_SETTING = 6


class Flood(Enum):
    """A kind: its word in the log, how many at once, a second, and for each head of ours and content sent.

    Heads earn because peers tie these frames to requests: a Go client closes a body that it has not read
    with RST_STREAM and, now and then, a PING; browsers say a request's priority again as pages change; and
    an API server has its say about each request that it is sent.
    """

    def __init__(
        self, word: str, burst: float, per_second: float, per_head: float = 0.0, per_piece: float = 0.0
    ) -> None:
        self.word: Final = word
        self.burst: Final = burst
        self.per_second: Final = per_second
        self.per_head: Final = per_head
        self.per_piece: Final = per_piece

    # Members are told apart by identity; Enum's own hash is a call of Python for every count.
    __hash__ = object.__hash__

    RESETS = "rapid_reset", 256, 10, 1
    """Streams given up before their answer began (CVE-2023-44487). A page that leaves may give up all of
    its 128, and the one after it too."""

    BREACHES = "made_reset", 100, 1
    """Streams that end by the peer's fault, with a reset that it makes us send (CVE-2025-8671). Honest
    peers make none; an ingress whose one client errs keeps its connection for the others."""

    LATE = "closed_stream", 1024, 64, 4
    """Frames on streams that are over, most of them answered with RST_STREAM: what was in flight as we reset.
    An upload has a window of 64 KiB in flight, four frames as clients make them. What an API server had in
    flight is free, as far as the stream's window went."""

    HEADERS = "header_bytes", 1024 * 1024, 64 * 1024, 8 * 1024
    """Bytes of header blocks beyond `LARGE_HEAD` each: 128 requests at once with 8 KiB of cookies."""

    CONTINUATION = "continuation", 32, 0
    """CONTINUATION frames of one block: a header list of 32 KiB in pieces of 1 KiB."""

    SETTINGS = "settings", 256, 2
    """Settings, and frames without any. A client sends one frame of about six."""

    PING = "ping", 256, 10, 1
    """Clients that look after their connections send one in 10 seconds or more."""

    PRIORITY = "priority", 1024, 20, 4
    """PRIORITY frames: older browsers send five at first, and one or two a request."""

    USELESS = "useless_frame", 1024, 20, 4
    """Frames of unknown types, PRIORITY_UPDATE (RFC 9218) and grease among them, and GOAWAY."""

    EMPTY = "empty_data", 128, 2, 1
    """DATA frames that bring neither content nor an end."""

    SMALL = "small_content", 4096, 100
    """Pieces of content, less one for each `SMALL_PIECE` bytes they bring: DATA frames but for a stream's
    last, chunks, reads. Content is not padding. A client that writes lines of 50 bytes has sent 200 KB."""

    WINDOWS = "window_update", 2048, 100, 2, 2
    """WINDOW_UPDATE frames. Libraries send one or two for each DATA frame of ours, and so earn them; one
    byte of window earns none."""

    PIPELINE = "pipeline", 1024, 100
    """HTTP/1.1 requests that were there before the one ahead of them had its answer. Browsers and proxies
    send none."""

    KEY_UPDATE = "key_update", 64, 0
    """TLS records without content, each of which may cost new keys. Not counted here but by the wire, which
    has them earned by content."""

    NEVER_READS = "never_reads", 0, 0
    """Not counted here but by the transport: what a peer makes us write while it takes nothing."""


_BY_TYPE = {_PRIORITY: Flood.PRIORITY, _PING: Flood.PING, _WINDOW_UPDATE: Flood.WINDOWS}


class FloodFault(ProtocolFault):
    """A peer asked for more of one kind than anybody needs."""

    def __init__(self, flood: Flood) -> None:
        super().__init__("a flood: " + flood.word.replace("_", " "))
        self.flood = flood


class Floods:
    """One connection's buckets."""

    __slots__ = ("_levels", "_since", "heads", "pieces")

    def __init__(self) -> None:
        self._levels: dict[Flood, float] = {}
        self._since = 0.0  # when the buckets were last looked after
        self.heads = 0  # heads sent since then: a server's responses, a client's requests
        self.pieces = 0  # frames of content sent since then that were worth one

    def count(self, flood: Flood, now: float, amount: float = 1.0) -> None:
        """Takes `amount` from a bucket, or with one below zero gives back. Raises `FloodFault`."""
        if not self._levels:
            self._since = now
        level = self._levels.get(flood, 0.0) + amount
        self._levels[flood] = level if level > 0.0 else 0.0
        if level > flood.burst:
            self._look_after(now)
            if self._levels[flood] > flood.burst:
                raise FloodFault(flood)

    def _look_after(self, now: float) -> None:
        seconds, self._since = max(0.0, now - self._since), now
        heads, self.heads = self.heads, 0
        pieces, self.pieces = self.pieces, 0
        for flood, level in self._levels.items():
            earned = seconds * flood.per_second + heads * flood.per_head + pieces * flood.per_piece
            self._levels[flood] = max(0.0, level - earned)

    def frame(self, kind: int, frame: bytes, now: float) -> None:
        """Counts an HTTP/2 frame, its nine octets of header included. Raises `FloodFault`.

        Resets, header blocks and frames on streams that are over depend on what they meet: whoever knows
        the streams counts those.
        """
        flood = _BY_TYPE.get(kind)
        if flood is not None:
            self.count(flood, now)
        elif kind == _SETTINGS:
            # Each setting is work: 2,730 fit into a frame.
            self.count(Flood.SETTINGS, now, max(1, (len(frame) - 9) // _SETTING))
        elif kind == _GOAWAY or kind > _CONTINUATION:
            self.count(Flood.USELESS, now)

    def data(self, frame: bytes, now: float) -> None:
        """Counts a client's DATA frame. The last of a stream is free: there is one for a request."""
        if not frame[4] & _END_STREAM:
            size = self.empty(frame, now)
            self.content(size, now)

    def empty(self, frame: bytes, now: float) -> int:
        """Counts a DATA frame if nothing comes of it; its content's size.

        All there is to count of a server's: a watch is small pieces, for as long as it is open.
        """
        size = len(frame) - 9
        if frame[4] & _PADDED and size:
            size -= 1 + frame[9]
        if size <= 0 and not frame[4] & _END_STREAM:
            self.count(Flood.EMPTY, now)
        return size

    def content(self, size: int, now: float) -> None:
        """Counts a piece of content of `size` bytes."""
        self.count(Flood.SMALL, now, 1.0 - max(0, size) / SMALL_PIECE)

    def block(self, size: int, now: float) -> None:
        """Counts a whole header block of `size` bytes."""
        if size > LARGE_HEAD:
            self.count(Flood.HEADERS, now, size - LARGE_HEAD)

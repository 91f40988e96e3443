# cython: language_level=3
"""gzip (RFC 1952) in steps, each counted before anything is released (spec 03, What comes back).

The wrapper is read here, strictly: header, header CRC, trailer, and what may follow. Only the
DEFLATE data is an engine's. One call decodes no more than its caller is about to release, so a
bomb (urllib3 CVE-2025-66471, Envoy CVE-2022-29225) costs what the limit lets through. An engine
is held from the first byte of a member's data to its last: 1,800 quiet watches of a Kubernetes
1.37, one member an event, hold none of its 85 KiB; an `Inflater` at rest is 160 bytes.

**The engine** is ISA-L, through PyPI's `isal`, stepped. `python -m bench.inflate`, one run, x86-64:

|                                   | a list, one member | a watch, a member an event |
|-----------------------------------|--------------------|----------------------------|
| this module over `isal`           | 1.00 (1,680 MB/s)  | 1.00 (3.9 us a member)     |
| `isal` alone, no wrapper of ours  | 1.04               | 1.05                       |
| `zlib` of the standard library    | 0.41               | 1.03                       |
| ISA-L linked, decoding into C     | 1.15               | 1.35                       |

Linking is the fastest and needs ISA-L's headers wherever foyer is built; stepping `isal` needs
nothing but a C compiler. It makes a decoder in 0.2 us, so there is no pool of them.

**What ISA-L does otherwise than zlib**, none of which passes for whole content:
- A call that meets a fault gives nothing, so the bytes before a corrupt one end up to `PIECE`
  short. They were believed by no CRC yet.
- It decodes up to three literals at once, so content cut inside them ends up to two bytes short.
  A flush is not inside them: what was flushed comes whole, at once.
- It accepts some code sets that zlib refuses, and the reverse; the CRC has the last word.
"""

from collections import deque

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memchr, memcpy

from isal import isal_zlib

cdef enum:
    # A step fits four times into the 256 KiB that may wait for a browser.
    STEP_MOST = 64 * 1024
    # Compressed bytes shown to the engine at a time. Larger is no faster, and what the engine did
    # not take is copied back.
    PIECE = 4 * 1024
    # A header is a name and some flags. RFC 1952 bounds none of its optional fields, so we do.
    HEADER_MOST = 64 * 1024

    FHCRC = 2
    FEXTRA = 4
    FNAME = 8
    FCOMMENT = 16
    RESERVED = 0xE0

STEP = STEP_MOST

# The parts of a member, in the order they come (RFC 1952 section 2.3).
cdef enum Part:
    FIXED
    EXTRA_LENGTH
    EXTRA
    NAME
    COMMENT
    HEADER_CRC
    DATA
    TRAILER

cdef object new_decoder = isal_zlib.decompressobj
cdef object crc32 = isal_zlib.crc32
cdef object EngineError = isal_zlib.error
cdef object RAW = -15  # DEFLATE without a wrapper, window 32 KiB


class GzipError(ValueError):
    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


cdef inline unsigned int little_endian(const unsigned char *at, int size) noexcept:
    cdef unsigned int value = 0
    cdef int i
    for i in range(size):
        value |= <unsigned int>at[i] << (8 * i)
    return value


cdef class Inflater:
    cdef bytes chunk  # what is being read, or None
    cdef Py_ssize_t at  # up to here
    cdef object queue  # a deque of the chunks behind it, or None
    cdef readonly Py_ssize_t pending
    cdef readonly unsigned long long decoded

    cdef Part part
    cdef unsigned char held[10]  # a fixed-size field that may come in pieces
    cdef int held_size
    cdef unsigned char flags
    cdef Py_ssize_t header_size  # bytes of its optional fields so far
    cdef unsigned int left  # of the extra field
    cdef unsigned int crc  # of the header if it has FHCRC, then of the data
    cdef unsigned int length  # of the data, modulo 2^32
    cdef object decoder  # while in DATA
    cdef bint more  # the engine may have output that needs no input
    cdef bint later  # a member came before
    cdef str fault

    def feed(self, bytes data not None):
        if not data:
            return
        self.pending += len(data)
        if self.chunk is None:
            self.chunk = data
            self.at = 0
            return
        if self.queue is None:
            self.queue = deque()
        self.queue.append(data)

    def step(self, Py_ssize_t limit):
        cdef bytes out
        if limit < 1:
            raise ValueError("a step decodes at least one byte")
        if limit > STEP_MOST:
            limit = STEP_MOST
        while self.fault is None:
            if self.part == DATA:
                if self.chunk is None and not self.more:
                    return b""
                out = self.inflate(limit)
                if out:
                    self.decoded += len(out)
                    return out
            elif self.chunk is None:
                return b""
            else:
                self.read_wrapper()
        raise GzipError(self.fault)

    def finish(self):
        if self.fault is not None:
            raise GzipError(self.fault)
        if self.pending:
            raise AssertionError("finished with input left: step until it gives nothing")
        if not self.resting:
            self.fail("truncated")
            raise GzipError(self.fault)

    @property
    def resting(self):
        return self.part == FIXED and self.held_size == 0 and self.fault is None

    # The data

    cdef bytes inflate(self, Py_ssize_t limit):
        """What the engine makes of the next piece: perhaps nothing, and nothing of a faulty one."""
        cdef bytes piece, out, rest
        piece = b"" if self.chunk is None else self.chunk[self.at : self.at + PIECE]
        try:
            out = self.decoder.decompress(piece, limit)
        except EngineError:
            self.fail("corrupt")
            return b""
        self.crc = crc32(out, self.crc)
        self.length += <unsigned int>len(out)
        if self.decoder.eof:
            # The engine reads ahead by up to eight bytes, perhaps into a chunk before this one:
            # the trailer begins in what it gives back, and is as long as that.
            rest = self.decoder.unused_data
            self.decoder = None
            self.part = TRAILER
            self.held_size = min(8, len(rest))
            memcpy(self.held, PyBytes_AS_STRING(rest), self.held_size)
            self.consume(len(piece) - (len(rest) - self.held_size))
            if self.held_size == 8:
                self.end_member()
        else:
            self.more = len(out) == limit
            self.consume(len(piece) - len(self.decoder.unconsumed_tail))
        return out

    cdef end_member(self):
        if little_endian(self.held, 4) != self.crc:
            self.fail("crc")
        elif little_endian(self.held + 4, 4) != self.length:
            self.fail("length")
        else:
            self.later = True
            self.part = FIXED
            self.held_size = 0

    # The wrapper around it

    cdef read_wrapper(self):
        """Read on in a header or trailer: one field, or what is there of it."""
        if self.part == FIXED:
            whole = self.hold(10)
            if self.check_fixed() and whole:
                self.flags = self.held[3]
                self.header_size = 0
                self.crc = 0
                self.cover(self.held, 10)
                self.next_field()
        elif self.part == EXTRA_LENGTH:
            if self.hold(2):
                self.left = little_endian(self.held, 2)
                self.cover(self.held, 2)
                self.part = EXTRA
                if self.left == 0:
                    self.next_field()
        elif self.part == EXTRA:
            self.skip_extra()
        elif self.part == HEADER_CRC:
            if self.hold(2):
                if little_endian(self.held, 2) == self.crc & 0xFFFF:
                    self.next_field()
                else:
                    self.fail("crc")
        elif self.part == TRAILER:
            if self.hold(8):
                self.end_member()
        else:
            self.skip_text()

    cdef bint check_fixed(self):
        """Judge what is there of the first ten bytes: two bytes of junk must not pass for a short header."""
        cdef int size = self.held_size
        if self.held[0] != 0x1F or (size > 1 and self.held[1] != 0x8B):
            self.fail("junk" if self.later else "corrupt")
        elif (size > 2 and self.held[2] != 8) or (size > 3 and self.held[3] & RESERVED):
            self.fail("corrupt")
        return self.fault is None

    cdef next_field(self):
        """Go to the next part that the flags say is there."""
        self.held_size = 0
        if self.part < EXTRA_LENGTH and self.flags & FEXTRA:
            self.part = EXTRA_LENGTH
        elif self.part < NAME and self.flags & FNAME:
            self.part = NAME
        elif self.part < COMMENT and self.flags & FCOMMENT:
            self.part = COMMENT
        elif self.part < HEADER_CRC and self.flags & FHCRC:
            self.part = HEADER_CRC
        else:
            self.part = DATA
            self.decoder = new_decoder(RAW)
            self.more = False
            self.crc = 0
            self.length = 0

    cdef bint hold(self, int size):
        """Take input until `size` bytes of a field are held, and say whether they are."""
        cdef Py_ssize_t taken = min(size - self.held_size, PyBytes_GET_SIZE(self.chunk) - self.at)
        memcpy(self.held + self.held_size, PyBytes_AS_STRING(self.chunk) + self.at, taken)
        self.held_size += taken
        self.consume(taken)
        return self.held_size == size

    cdef skip_extra(self):
        cdef Py_ssize_t size = min(<Py_ssize_t>self.left, PyBytes_GET_SIZE(self.chunk) - self.at)
        self.left -= size
        if self.skip(size) and self.left == 0:
            self.next_field()

    cdef skip_text(self):
        """Skip a name or comment, to the zero byte that ends it."""
        cdef const unsigned char *start = <const unsigned char *>PyBytes_AS_STRING(self.chunk) + self.at
        cdef Py_ssize_t size = PyBytes_GET_SIZE(self.chunk) - self.at
        cdef const unsigned char *end = <const unsigned char *>memchr(start, 0, size)
        if self.skip(size if end == NULL else end - start + 1) and end != NULL:
            self.next_field()

    cdef bint skip(self, Py_ssize_t size):
        """Skip header bytes within the bound, and say whether they were."""
        self.header_size += size
        if self.header_size > HEADER_MOST:
            self.fail("corrupt")
            return False
        self.cover(<const unsigned char *>PyBytes_AS_STRING(self.chunk) + self.at, size)
        self.consume(size)
        return True

    cdef cover(self, const unsigned char *start, Py_ssize_t size):
        """Bring header bytes into its CRC, if it has one."""
        if self.flags & FHCRC:
            self.crc = crc32(start[:size], self.crc)

    # The input

    cdef consume(self, Py_ssize_t size):
        """Move on in the input, and let go of a chunk that is done with."""
        self.at += size
        self.pending -= size
        if self.chunk is not None and self.at == PyBytes_GET_SIZE(self.chunk):
            self.chunk = self.queue.popleft() if self.queue else None
            self.at = 0
            if not self.queue:
                self.queue = None

    cdef fail(self, str kind):
        """Nothing after a fault is believed, so nothing is kept."""
        self.fault = kind
        self.chunk = self.queue = self.decoder = None
        self.pending = 0

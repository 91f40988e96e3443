"""Every flood of docs/defences.md that a browser's side can send, as what one connection of it says.

Written by hand, frame by frame, and made before anything is measured: a client that floods should
spend its core on sending. A connection's script is longer than any limit lets through, and where nobody
ends it the next connection begins.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

import hpack

from bench.messages import (
    ACK,
    AUTHORITY,
    END_HEADERS,
    END_STREAM,
    H1,
    H2,
    PREFACE,
    SMALL_PATH,
    Type,
    frame,
    requests,
    settings,
)
from foyer.protocol.events import Fields

RECORD = 16 * 1024
"""Bytes of one send, which are one TLS record."""

MOST = 4 * 1024 * 1024
"""Bytes of a connection's script, about."""

STREAMS = range(1, 40_001, 2)

LIST = "/k8s/api/v1/plain?1000000"
WATCH = "/k8s/api/v1/namespaces/default/configmaps?watch=1"

_WIDEST = 2**31 - 1
_PADDED = 8


@dataclass(frozen=True, slots=True)
class Attacker:
    """Somebody who is signed in, or has once been: `cookie`, the proof of changes, and the origin."""

    cookie: str
    csrf: str
    origin: str


Records = list[bytes]
"""What one connection sends, a send each."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A flood: its name in tables, what each of its connections says, and whether it reads answers."""

    name: str
    says: Callable[[Attacker], Records]
    version: str = H2
    reads: bool = True


def _records(units: Iterable[bytes], opening: bytes = PREFACE + settings()) -> Records:
    """As much as there is, up to `MOST`, in records as large as they go."""
    said = bytearray(opening)
    for unit in units:
        said += unit
        if len(said) >= MOST:
            break
    return [bytes(said[at : at + RECORD]) for at in range(0, len(said), RECORD)]


def _repeated(unit: bytes) -> Iterable[bytes]:
    return [unit] * (MOST // len(unit) + 1)


# Frames.


def _block(method: bytes, path: bytes, more: Fields = ()) -> bytes:  # type: ignore[assignment]
    """A header block that leaves nothing in the table."""
    line = [(b":method", method), (b":scheme", b"https"), (b":authority", AUTHORITY), (b":path", path), *more]
    return hpack.Encoder().encode([hpack.NeverIndexedHeaderTuple(*each) for each in line], huffman=False)


_GET = _block(b"GET", b"/k8s" + SMALL_PATH)
_HEAD = _block(b"HEAD", b"/k8s" + SMALL_PATH)


def _head(stream: int, block: bytes, *, end: bool = True) -> bytes:
    return frame(Type.HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, block)


def _get(stream: int) -> bytes:
    """Nobody's request: 401."""
    return _head(stream, _GET)


def _bare(stream: int) -> bytes:
    """The same for an answer without content, which leaves as it is made whoever reads it."""
    return _head(stream, _HEAD)


def _data(stream: int, content: bytes, *, end: bool = False, padding: int = 0) -> bytes:
    flags = END_STREAM if end else 0
    if padding:
        return frame(Type.DATA, flags | _PADDED, stream, b"%c%b%b" % (padding, content, bytes(padding)))
    return frame(Type.DATA, flags, stream, content)


def _reset(stream: int) -> bytes:
    return frame(Type.RST_STREAM, 0, stream, b"\0\0\0\x08")


def _opened(stream: int, increment: int) -> bytes:
    return frame(Type.WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))


def _upload(attacker: Attacker, target: str = WATCH) -> bytes:
    """A change on stream 1 that goes up to the API server, and stays open."""
    fields = _change(attacker)
    return PREFACE + settings() + _head(1, _block(b"POST", target.encode(), fields), end=False)


def _change(attacker: Attacker) -> Fields:
    return [
        (b"cookie", attacker.cookie.encode()),
        (b"x-csrf-token", attacker.csrf.encode()),
        (b"origin", attacker.origin.encode()),
        (b"content-type", b"application/json"),
    ]


def _signed_in(attacker: Attacker, target: str) -> Callable[[int], bytes]:
    """Requests whose fields are in HPACK's table from the second one on: a few octets each."""
    return requests(H2, target.encode(), AUTHORITY, attacker.cookie.encode()).request


def _each(*units: Callable[[int], bytes]) -> Iterable[bytes]:
    return (unit(stream) for stream in STREAMS for unit in units)


# HTTP/2.


def _in_batches(attacker: Attacker) -> Records:
    """Requests in one record and their resets in the next, so that they begin."""
    asks = _signed_in(attacker, WATCH)
    streams = iter(STREAMS)
    said = [PREFACE + settings()]
    while batch := list(islice(streams, 64)):
        said += [b"".join(map(asks, batch)), b"".join(map(_reset, batch))]
    return said


def _watched(behind: Callable[[int], bytes]) -> Callable[[Attacker], Records]:
    """Watches, which stay open, each with something behind it."""
    return lambda attacker: _records(_each(_signed_in(attacker, WATCH), behind))


def _bomb(attacker: Attacker) -> Records:
    encoder = hpack.Encoder()
    large = (b"x-a", b"b" * 3_900)
    first = _GET + encoder.encode([large], huffman=False)
    again = _GET + encoder.encode([large]) * 4_000
    return _records([_head(1, first), _head(3, again)])


_LONG = hpack.Encoder().encode([hpack.NeverIndexedHeaderTuple(b"x-a", b"b" * 30_000)], huffman=True)


def _long(stream: int) -> bytes:
    whole = _GET + _LONG
    first = frame(Type.HEADERS, END_STREAM, stream, whole[:16_000])
    return first + frame(Type.CONTINUATION, END_HEADERS, stream, whole[16_000:])


def _of_an_upload(unit: bytes) -> Callable[[Attacker], Records]:
    return lambda attacker: _records(_repeated(unit), _upload(attacker))


def _plain(unit: bytes, opening: bytes = b"") -> Callable[[Attacker], Records]:
    return lambda attacker: _records(_repeated(unit), PREFACE + settings() + opening)


def _streams(*units: Callable[[int], bytes]) -> Callable[[Attacker], Records]:
    return lambda attacker: _records(_each(*units))


def _shut(attacker: Attacker) -> Records:
    """Long lists of which nothing may come."""
    asks = _signed_in(attacker, LIST)
    return _records(map(asks, STREAMS[:128]), PREFACE + settings(initial_window=0))


# HTTP/1.1.

_ASKED = b"GET /k8s%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (SMALL_PATH, AUTHORITY)


def _posted(attacker: Attacker, framing: bytes) -> bytes:
    lines = b"".join(b"%b: %b\r\n" % field for field in _change(attacker))
    return b"POST %b HTTP/1.1\r\nHost: %b\r\n%b%b\r\n\r\n" % (WATCH.encode(), AUTHORITY, lines, framing)


def _chunks(attacker: Attacker) -> Records:
    return _records(_repeated(b"1\r\nx\r\n"), _posted(attacker, b"Transfer-Encoding: chunked"))


def _octets(attacker: Attacker) -> Records:
    return [_posted(attacker, b"Content-Length: 1000000"), *[b"x"] * 20_000]


def _fields(attacker: Attacker) -> Records:
    return _records(_repeated(b"a:\r\n"), b"GET / HTTP/1.1\r\nHost: %b\r\n" % AUTHORITY)


KINDS = (
    Kind("rapid reset", _streams(_get, _reset)),
    Kind("rapid reset, each begun and sent up", _in_batches),
    Kind("made reset, windows overflowed", _watched(lambda stream: _opened(stream, _WIDEST))),
    Kind("made reset, content behind the end", _watched(lambda stream: _data(stream, b"x"))),
    Kind(
        "made reset, malformed heads",
        _streams(lambda stream: _head(stream, _block(b"GET", b"/", [(b"connection", b"close")]))),
    ),
    Kind(
        "made reset, lengths that do not fit",
        _streams(
            lambda stream: _head(stream, _block(b"POST", b"/", [(b"content-length", b"1")]), end=False),
            lambda stream: _data(stream, b"xx", end=True),
        ),
    ),
    Kind("made reset, streams too many", _watched(lambda stream: b"")),
    Kind("content on a stream that is over", _plain(_data(1, b"x"), _get(1) + _reset(1))),
    Kind("trailers on a stream that is over", _plain(_get(1), _get(1) + _reset(1))),
    Kind(
        "a header block without end",
        _plain(frame(Type.CONTINUATION, 0, 1, b""), frame(Type.HEADERS, 0, 1, b"")),
    ),
    Kind("a header bomb", _bomb),
    Kind("the longest heads", _streams(_long)),
    Kind("table sizes", _plain(_head(1, b"\x20" * 16_000))),
    Kind("SETTINGS", _plain(settings())),
    Kind("SETTINGS, thousands in a frame", _plain(frame(Type.SETTINGS, 0, 0, b"\0\x04\0\0\xff\xff" * 2_700))),
    Kind("SETTINGS acknowledged", _plain(frame(Type.SETTINGS, ACK, 0, b""))),
    Kind("PING", _plain(frame(Type.PING, 0, 0, bytes(8)))),
    Kind("PRIORITY", _streams(lambda stream: frame(Type.PRIORITY, 0, stream, bytes(4) + b"\x0f"))),
    Kind("unknown frames", _plain(frame(0xBE, 0, 0, b""))),
    Kind("GOAWAY", _plain(frame(Type.GOAWAY, 0, 0, bytes(8)))),
    Kind("empty content", _of_an_upload(_data(1, b""))),
    Kind("padding alone", _of_an_upload(_data(1, b"", padding=255))),
    Kind("content by the octet", _of_an_upload(_data(1, b"x"))),
    Kind("content by the octet, padded", _of_an_upload(_data(1, b"x", padding=255))),
    Kind("chunks of an octet", _chunks, H1),
    Kind("content, an octet a record", _octets, H1),
    Kind("windows opened by one", _plain(_opened(0, 1))),
    Kind("windows that stay shut", _shut),
    Kind("a pipeline", lambda attacker: _records(_repeated(_ASKED), b""), H1),
    Kind("a pipeline of 431s", _fields, H1),
    Kind("answers never read", _streams(_bare), reads=False),
    Kind("requests without a session", _streams(_bare)),
    Kind("handshakes alone", lambda attacker: []),
)
"""The last two are no floods by any limit of a connection: requests, and connections, as fast as they go."""

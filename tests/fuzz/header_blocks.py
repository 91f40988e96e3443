"""HPACK: a connection's header blocks, whatever they are, as hpack reads them.

Each block is what hpack by itself makes of it, or refused; then the connection is over. Nothing but what h2
takes for a fault of the peer's is raised, and the table that is left is hpack's. What our encoder writes,
hpack reads back.
"""

import hpack
from hypothesis import strategies as st

from foyer.protocol import machine
from tests.fuzz.target import Target, cut, joined, parted, with_whims

MOST_FIELDS = 100

_LONG_INDEX = b"".join(b"\x40\x01%c\x01a" % octet for octet in range(96, 166)) + b"\xff\x00"
"""A table with so many entries that the index of one is more than one octet."""

REFUSALS = (hpack.HPACKError, IndexError)
"""What h2 4.4 answers with a COMPRESSION_ERROR (`h2.connection._decode_headers`)."""

Headers = list[tuple[bytes, bytes]]


def check(data: bytes) -> None:
    """The blocks of a connection, one behind the other."""
    wire, places = parted(data)
    ours = machine._Decoder(max_list=8192, max_fields=MOST_FIELDS)
    theirs = hpack.Decoder(8192)
    written = machine._Encoder()
    reading = hpack.Decoder(1 << 20)
    for block in cut(wire, places):
        found, known = _read(ours, block), _read(theirs, block)
        if found is None:
            break
        assert found == known
        assert len(found) <= MOST_FIELDS
        assert list(ours.header_table.dynamic_entries) == list(theirs.header_table.dynamic_entries)
        assert ours.header_table.maxsize == theirs.header_table.maxsize
        assert _read(reading, written.encode(found)) == found
    else:
        return
    # Refused: by hpack too, or for what hpack has no bound on.
    assert known is None or len(known) > MOST_FIELDS or _updates(block) > machine.MAX_SIZE_UPDATES


def _read(decoder: hpack.Decoder, block: bytes) -> Headers | None:
    try:
        return [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]
    except REFUSALS:
        return None


def _updates(block: bytes) -> int:
    """How often a block may change the table's size, at most: octets that could begin such a change."""
    return sum(octet & 0xE0 == 0x20 for octet in block)


FIELDS = st.lists(
    st.tuples(
        st.sampled_from([b":path", b":method", b"cookie", b"accept", b"x-a", b"x-b"]),
        st.sampled_from([b"/", b"GET", b"", b"a" * 70, b"\xe9", b"0" * 300]),
    ),
    max_size=6,
)


def _blocks(blocks: list[tuple[Headers, bool, int | None]]) -> bytes:
    encoder = hpack.Encoder()
    found = []
    for fields, coded, size in blocks:
        if size is not None:
            encoder.header_table_size = size
        found.append(encoder.encode(fields, huffman=coded))
    return b"".join(found)


GRAMMAR = st.lists(
    st.tuples(FIELDS, st.booleans(), st.none() | st.sampled_from([0, 31, 100, 4096])), max_size=4
).map(_blocks)


TARGET = Target(
    "header-blocks",
    check,
    lambda: [
        joined(b"\x82\x87\x84\x41\x01f"),
        joined(_LONG_INDEX),
        joined(b"\x20\x3f\xe1\x1f\x82"),
        joined(b"\x40\x01a\x83\xc7\x5e\xff"),
    ],
    with_whims(GRAMMAR, 4),
    longest=1024,
)

# cython: language_level=3, boundscheck=False, wraparound=False
"""HPACK's Huffman code (RFC 7541 section 5.2), decoded four bits at a time: what `foyer.protocol.machine` has
hpack decode with.

Every field that a browser sends in a literal is coded so. hpack walks its table in Python, 170 ns an
octet: 4 ms for a header list as long as it may be, in which nobody else is served. Here it is 0.1.

A state is a node of the code's tree, and a step from it by four bits ends in another or, past a leaf, in
one below the root; no code is shorter than five bits, so that a step passes one leaf at most. The tree is
made at import from the code's own table, hpack's copy of RFC 7541's appendix B.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

cdef enum:
    NODES = 256  # inner ones: a full tree has one fewer than its 257 leaves, EOS among them
    EOS = 256
    PASSES = 0x100  # a step that passes a leaf: its octet is in the bits below
    FAILS = 0x200

cdef unsigned short NEXT[NODES][16]
cdef unsigned short PASSED[NODES][16]
cdef unsigned char ENDS[NODES]  # whether a text may end here: after less than an octet of EOS (section 5.2)


cdef fill_tables():
    # children[node][bit]: an inner node's number, or -1 - symbol.
    cdef int node, bits, bit, at, symbol, code, length, depth
    children = [[None, None]]
    for symbol, (code, length) in enumerate(zip(REQUEST_CODES, REQUEST_CODES_LENGTH, strict=True)):
        node = 0
        for at in range(length - 1, 0, -1):
            bit = code >> at & 1
            if children[node][bit] is None:
                children[node][bit] = len(children)
                children.append([None, None])
            node = children[node][bit]
        children[node][code & 1] = -1 - symbol
    assert len(children) == NODES and not any(None in pair for pair in children)

    for node in range(NODES):
        for bits in range(16):
            at, symbol = node, 0
            for depth in range(3, -1, -1):
                at = children[at][bits >> depth & 1]
                if at < 0:
                    symbol = FAILS if at == -1 - EOS else PASSES | (-1 - at)
                    at = 0
                    if symbol == FAILS:
                        break
            NEXT[node][bits], PASSED[node][bits] = at, symbol
    at = 0
    for depth in range(8):  # none to seven bits of EOS, which is all ones
        ENDS[at] = 1
        at = children[at][1]


fill_tables()


def decode(bytes coded not None):
    cdef Py_ssize_t size = PyBytes_GET_SIZE(coded), at, written = 0
    cdef const unsigned char *octets = <const unsigned char *>PyBytes_AS_STRING(coded)
    cdef bytes text = PyBytes_FromStringAndSize(NULL, size * 8 // 5)
    cdef unsigned char *out = <unsigned char *>PyBytes_AS_STRING(text)
    cdef unsigned int state = 0, passed, bits, half

    for at in range(size):
        for half in range(2):
            bits = octets[at] & 0x0F if half else octets[at] >> 4
            passed = PASSED[state][bits]
            if passed & FAILS:
                return None
            if passed & PASSES:
                out[written] = <unsigned char>(passed & 0xFF)
                written += 1
            state = NEXT[state][bits]
    return text[:written] if ENDS[state] else None

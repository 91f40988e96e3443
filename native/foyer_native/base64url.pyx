# cython: language_level=3, boundscheck=False, wraparound=False
"""Unpadded base64url (RFC 4648 section 5), read strictly: what `foyer.session.spelling` decodes with.

Four characters are three bytes, one table look-up each. What is no character of the alphabet
looks up 0xFF, and its high bit is looked for once, after all of them. Bits past the last whole
byte must be zero: a second spelling is one that has them set.

The standard library knows the other alphabet and wants padding, so it is given two copies.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memset

cdef enum:
    NONE = 0xFF  # no character of the alphabet has one of its two high bits

cdef unsigned char VALUE[256]


cdef fill_values():
    cdef int value, character
    memset(VALUE, NONE, sizeof(VALUE))
    for value, character in enumerate(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"):
        VALUE[character] = value


fill_values()


def decode(bytes text not None):
    cdef Py_ssize_t over = PyBytes_GET_SIZE(text) & 3, fours = PyBytes_GET_SIZE(text) >> 2
    cdef const unsigned char *at = <const unsigned char *>PyBytes_AS_STRING(text)
    cdef unsigned int a, b, c, d, seen = 0
    cdef bytes data
    cdef unsigned char *out

    if over == 1:
        return None  # six bits are no byte
    data = PyBytes_FromStringAndSize(NULL, fours * 3 + (over - 1 if over else 0))
    out = <unsigned char *>PyBytes_AS_STRING(data)
    for _ in range(fours):
        a, b, c, d = VALUE[at[0]], VALUE[at[1]], VALUE[at[2]], VALUE[at[3]]
        seen |= a | b | c | d
        out[0] = <unsigned char>(a << 2 | b >> 4)
        out[1] = <unsigned char>(b << 4 | c >> 2)
        out[2] = <unsigned char>(c << 6 | d)
        at += 4
        out += 3
    if over:
        a, b, c = VALUE[at[0]], VALUE[at[1]], VALUE[at[2]] if over == 3 else 0
        seen |= a | b | c
        out[0] = <unsigned char>(a << 2 | b >> 4)
        if over == 3:
            out[1] = <unsigned char>(b << 4 | c >> 2)
        if (c & 0x03) if over == 3 else (b & 0x0F):
            return None
    return None if seen & 0x80 else data

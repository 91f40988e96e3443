# cython: language_level=3, boundscheck=False, wraparound=False
"""JSON text (RFC 8259) checked and taken apart, never decoded: what `foyer.streams` reads objects with.

What passes from the API server to a browser must keep each number's spelling and each string's escapes, so
nothing is made of them: `compact` says once whether a text is JSON, and `members` and `elements` then say
where its parts are. An event of 500 bytes is checked and its object's metadata found in 2.1 us; decoded and
encoded again by the standard library's `json`, with the spelling kept, it takes fifteen times as long.

Nothing here recurses: nesting costs a bit a level, up to the 10,000 levels that Kubernetes itself reads.
"""

from json import loads

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8

cdef enum:
    DEPTH = 10000
    LEVELS = 1250  # octets for a bit each

ctypedef const unsigned char *Octets

# What stands before the next token, for a text that is being checked.
cdef enum State:
    VALUE
    FIRST_VALUE  # of an array, which may also end here
    NAME
    FIRST_NAME  # of an object, which may also end here
    AFTER  # a value

cdef unsigned char PLAIN[256]  # in a string: stands for itself
cdef unsigned char ESCAPED[256]  # after a backslash, all but `u`
cdef unsigned char HEX[256]


cdef fill_tables():
    cdef int octet
    for octet in range(0x20, 0x80):
        PLAIN[octet] = octet != c'"' and octet != c"\\"
    for octet in b'"\\/bfnrt':
        ESCAPED[octet] = 1
    for octet in b"0123456789abcdefABCDEF":
        HEX[octet] = 1


fill_tables()


cdef inline bint is_space(unsigned char octet) noexcept:
    return octet == c" " or octet == c"\n" or octet == c"\r" or octet == c"\t"


cdef inline bint continues(unsigned char octet) noexcept:
    return octet & 0xC0 == 0x80


cdef int utf8_size(Octets at, Octets end) noexcept:
    """Octets of the well-formed sequence (RFC 3629 section 4) that begins at `at`; 0: it is none."""
    cdef unsigned char first = at[0]
    cdef Py_ssize_t left = end - at
    if 0xC2 <= first <= 0xDF:
        return 2 if left >= 2 and continues(at[1]) else 0
    if 0xE0 <= first <= 0xEF:
        if left < 3 or not continues(at[1]) or not continues(at[2]):
            return 0
        if (first == 0xE0 and at[1] < 0xA0) or (first == 0xED and at[1] > 0x9F):
            return 0  # a longer spelling than is needed; half a surrogate pair
        return 3
    if 0xF0 <= first <= 0xF4:
        if left < 4 or not continues(at[1]) or not continues(at[2]) or not continues(at[3]):
            return 0
        if (first == 0xF0 and at[1] < 0x90) or (first == 0xF4 and at[1] > 0x8F):
            return 0  # again; above U+10FFFF
        return 4
    return 0


cdef Octets checked_string(Octets at, Octets end) noexcept:
    """Past the quote that ends the string whose first character is at `at`; NULL: it is none."""
    cdef int size
    while at < end:
        if PLAIN[at[0]]:
            at += 1
        elif at[0] == c'"':
            return at + 1
        elif at[0] == c"\\":
            if end - at >= 2 and ESCAPED[at[1]]:
                at += 2
            elif end - at >= 6 and at[1] == c"u" and HEX[at[2]] and HEX[at[3]] and HEX[at[4]] and HEX[at[5]]:
                at += 6
            else:
                return NULL
        else:
            size = utf8_size(at, end)
            if size == 0:
                return NULL
            at += size
    return NULL


cdef inline Octets digits(Octets at, Octets end) noexcept:
    while at < end and c"0" <= at[0] <= c"9":
        at += 1
    return at


cdef Octets checked_number(Octets at, Octets end) noexcept:
    """Past the number at `at`; NULL: it is none."""
    cdef Octets begin
    if at[0] == c"-":
        at += 1
    if at < end and at[0] == c"0":
        at += 1
    else:
        begin = at
        at = digits(at, end)
        if at == begin:
            return NULL
    if at < end and at[0] == c".":
        begin = at + 1
        at = digits(begin, end)
        if at == begin:
            return NULL
    if at < end and (at[0] == c"e" or at[0] == c"E"):
        at += 1
        if at < end and (at[0] == c"+" or at[0] == c"-"):
            at += 1
        begin = at
        at = digits(at, end)
        if at == begin:
            return NULL
    return at


cdef Octets checked_word(Octets at, Octets end, const char *word, Py_ssize_t size) noexcept:
    cdef Py_ssize_t i
    if end - at < size:
        return NULL
    for i in range(size):
        if at[i] != <unsigned char>word[i]:
            return NULL
    return at + size


cdef Octets checked_scalar(Octets at, Octets end) noexcept:
    if at[0] == c'"':
        return checked_string(at + 1, end)
    if at[0] == c"t":
        return checked_word(at, end, b"true", 4)
    if at[0] == c"f":
        return checked_word(at, end, b"false", 5)
    if at[0] == c"n":
        return checked_word(at, end, b"null", 4)
    return checked_number(at, end)


cdef Py_ssize_t check(Octets at, Octets end) noexcept:
    """How much whitespace there is between the tokens of the JSON text; -1: it is none."""
    cdef unsigned char nested[LEVELS]  # a bit a level: 1 for an object
    cdef Py_ssize_t spaces = 0
    cdef int depth = 0
    cdef bint in_object = False
    cdef State state = VALUE
    while True:
        while at < end and is_space(at[0]):
            at += 1
            spaces += 1
        if at == end:
            return spaces if state == AFTER and depth == 0 else -1
        if state == AFTER:
            if depth == 0:
                return -1
            if at[0] == c",":
                state = NAME if in_object else VALUE
                at += 1
                continue
            if at[0] != (c"}" if in_object else c"]"):
                return -1
        elif state == NAME or state == FIRST_NAME:
            if at[0] == c'"':
                at = checked_string(at + 1, end)
                if at == NULL:
                    return -1
                while at < end and is_space(at[0]):
                    at += 1
                    spaces += 1
                if at == end or at[0] != c":":
                    return -1
                at += 1
                state = VALUE
                continue
            if state == NAME or at[0] != c"}":
                return -1
        elif at[0] == c"{" or at[0] == c"[":
            if depth == DEPTH:
                return -1
            in_object = at[0] == c"{"
            if in_object:
                nested[depth >> 3] |= <unsigned char>(1 << (depth & 7))
                state = FIRST_NAME
            else:
                nested[depth >> 3] &= <unsigned char>~(1 << (depth & 7))
                state = FIRST_VALUE
            depth += 1
            at += 1
            continue
        elif at[0] != c"]" or state != FIRST_VALUE:
            at = checked_scalar(at, end)
            if at == NULL:
                return -1
            state = AFTER
            continue
        # An object or array ends here.
        depth -= 1
        if depth:
            in_object = nested[(depth - 1) >> 3] >> ((depth - 1) & 7) & 1
        at += 1
        state = AFTER


def compact(bytes text not None):
    cdef Octets at = <Octets>PyBytes_AS_STRING(text)
    cdef Octets end = at + PyBytes_GET_SIZE(text)
    cdef Py_ssize_t spaces = check(at, end)
    cdef bytes packed
    cdef unsigned char *out
    cdef Octets begin
    if spaces < 0:
        return None
    if spaces == 0:
        return text
    packed = PyBytes_FromStringAndSize(NULL, (end - at) - spaces)
    out = <unsigned char *>PyBytes_AS_STRING(packed)
    while at < end:
        begin = at
        if at[0] == c'"':
            at = checked_string(at + 1, end)
        else:
            at += 1
            if is_space(begin[0]):
                continue
        while begin < at:
            out[0] = begin[0]
            out += 1
            begin += 1
    return packed


# What follows is for compact JSON, and goes wrong with anything else, but never beyond its end.


cdef inline Octets past_string(Octets at, Octets end) noexcept:
    """Past the quote that ends the string whose first character is at `at`; NULL: it does not end."""
    while at < end:
        if at[0] == c'"':
            return at + 1
        at += 2 if at[0] == c"\\" else 1
    return NULL


cdef Octets past_value(Octets at, Octets end) noexcept:
    """Past the value at `at`; NULL: it does not end."""
    cdef Py_ssize_t depth = 0
    while at < end:
        if at[0] == c'"':
            at = past_string(at + 1, end)
            if at == NULL:
                return NULL
            if depth == 0:
                return at
            continue
        if at[0] == c"{" or at[0] == c"[":
            depth += 1
        elif at[0] == c"}" or at[0] == c"]":
            depth -= 1
            if depth < 0:
                return at  # what the number or word was in
            if depth == 0:
                return at + 1
        elif at[0] == c"," and depth == 0:
            return at
        at += 1
    return at if depth == 0 else NULL


cdef object name_of(Octets begin, Octets end):
    """The name between the quotes at `begin` and before `end`."""
    cdef Octets at = begin + 1
    cdef Octets last = end - 1
    while at < last:
        if at[0] == c"\\":
            return loads(PyBytes_FromStringAndSize(<const char *>begin, end - begin))
        at += 1
    return PyUnicode_DecodeUTF8(<const char *>(begin + 1), last - begin - 1, NULL)


def members(bytes text not None, Py_ssize_t at=0):
    cdef Octets start = <Octets>PyBytes_AS_STRING(text)
    cdef Octets end = start + PyBytes_GET_SIZE(text)
    cdef Octets here, named, value
    cdef dict found = {}
    if not 0 <= at < end - start or start[at] != c"{":
        raise ValueError("no object begins there")
    here = start + at + 1
    if here < end and here[0] == c"}":
        return found
    while here < end and here[0] == c'"':
        named = past_string(here + 1, end)
        if named == NULL or named == end:
            break
        value = named + 1
        at = here - start
        here = past_value(value, end)
        if here == NULL or here == end:
            break
        found[name_of(start + at, named)] = (at, value - start, here - start)
        if here[0] == c"}":
            return found
        here += 1
    raise ValueError("not compact JSON")


def elements(bytes text not None, Py_ssize_t at=0):
    cdef Octets start = <Octets>PyBytes_AS_STRING(text)
    cdef Octets end = start + PyBytes_GET_SIZE(text)
    cdef Octets here, begin
    cdef list found = []
    if not 0 <= at < end - start or start[at] != c"[":
        raise ValueError("no array begins there")
    here = start + at + 1
    if here < end and here[0] == c"]":
        return found
    while here < end:
        begin = here
        here = past_value(begin, end)
        if here == NULL or here == end:
            break
        found.append((begin - start, here - start))
        if here[0] == c"]":
            return found
        here += 1
    raise ValueError("not compact JSON")

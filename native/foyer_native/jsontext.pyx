# cython: language_level=3, boundscheck=False, wraparound=False
"""JSON text (RFC 8259) checked and taken apart, never decoded: what `foyer.streams` reads objects with.

What passes from the API server to a browser must keep each number's spelling and each string's escapes, so
nothing is made of them: `compact` says once whether a text is JSON, and the rest then says where its parts
are. An event of 500 bytes is checked and its object's metadata found in 2 us; decoded and encoded again by the
standard library's `json`, with the spelling kept, it takes eight times as long.

Whoever wrote a text has decided how many parts it has: 16 MiB are room for five million elements. So nothing
here makes an object of Python's for each of them. Members are asked for by name, and who walks holds a place.

Nothing here recurses: nesting costs a bit a level, up to the 10,000 levels that Kubernetes itself reads.
"""

from json import loads

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef enum:
    DEPTH = 10000
    LEVELS = 1250  # octets for a bit each
    NAMES_MOST = 8

ctypedef const unsigned char *Octets

# What stands before the next token, for a text that is being checked.
cdef enum State:
    VALUE
    FIRST_VALUE  # of an array, which may also end here
    NAME
    FIRST_NAME  # of an object, which may also end here
    AFTER  # a value

cdef unsigned char PLAIN[256]  # in a string: stands for itself
cdef unsigned char ESCAPED[256]  # what it spells after a backslash, all but `u`
cdef unsigned char HEX[256]


cdef fill_tables():
    cdef int octet, spelled
    for octet in range(0x20, 0x80):
        PLAIN[octet] = octet != c'"' and octet != c"\\"
    for octet, spelled in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t'):
        ESCAPED[octet] = spelled
    for octet in b"0123456789abcdefABCDEF":
        HEX[octet] = 1


fill_tables()


# Strings are most of a Kubernetes object, so eight octets are looked at together, each in its place of a word.
# One that is `octet` is zero in `word ^ EACH * octet`, and of such a word's zeros the subtraction marks the first;
# what it marks behind that may be wrong, and is never looked at.
cdef enum:
    EIGHT = 8

cdef extern from *:
    """
    #include <endian.h>
    static const uint64_t EACH = 0x0101010101010101, HIGH = 0x8080808080808080;
    """
    const uint64_t EACH
    const uint64_t HIGH
    uint64_t le64toh(uint64_t word) noexcept nogil
    int __builtin_ctzll(unsigned long long word) noexcept nogil


cdef inline uint64_t eight(Octets at) noexcept:
    """The octets from `at` on, the first of them lowest."""
    cdef uint64_t word
    memcpy(&word, at, EIGHT)
    return le64toh(word)


cdef inline uint64_t marked(uint64_t word, unsigned char octet) noexcept:
    """The high bit of the first that is `octet`."""
    word ^= EACH * octet
    return (word - EACH) & ~word & HIGH


cdef inline Octets past_plain(Octets at, Octets end) noexcept:
    """The first from `at` on that is not `PLAIN`, or `end`."""
    cdef uint64_t word, odd
    while end - at >= EIGHT:
        word = eight(at)
        # Below 0x20 borrows, above 0x7F is marked as it is.
        odd = marked(word, c'"') | marked(word, c"\\") | ((word | (word - EACH * 0x20)) & HIGH)
        if odd:
            return at + (__builtin_ctzll(odd) >> 3)
        at += EIGHT
    while at < end and PLAIN[at[0]]:
        at += 1
    return at


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
            at = past_plain(at, end)
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


cdef Octets past_string(Octets at, Octets end) noexcept:
    """Past the quote that ends the string whose first character is at `at`; NULL: it does not end."""
    cdef uint64_t word, odd
    while at < end:
        if end - at >= EIGHT:
            word = eight(at)
            odd = marked(word, c'"') | marked(word, c"\\")
            if not odd:
                at += EIGHT
                continue
            at += __builtin_ctzll(odd) >> 3
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


cdef Octets inside(Octets start, Octets end, Py_ssize_t at, unsigned char bracket) except NULL:
    """What is behind the bracket at `at`."""
    if not 0 <= at < end - start or start[at] != bracket:
        raise ValueError("no object begins there" if bracket == c"{" else "no array begins there")
    if end - start == at + 1:
        raise ValueError("not compact JSON")
    return start + at + 1


cdef Octets element(Octets at, Octets end) except NULL:
    """Where the element at `at` ends, which is before `end`."""
    at = past_value(at, end)
    if at == NULL or at == end:
        raise ValueError("not compact JSON")
    return at


cdef struct Member:
    Octets named  # its name's quote
    Octets value
    Octets end


cdef Octets member(Octets at, Octets end, Member *found) except NULL:
    """Where the member at `at` ends, which is before `end`."""
    if at == end or at[0] != c'"':
        raise ValueError("not compact JSON")
    found.named = at
    at = past_string(at + 1, end)
    if at == NULL or at == end:
        raise ValueError("not compact JSON")
    found.value = at + 1
    found.end = element(found.value, end)
    return found.end


cdef int unescaped(Octets *at, Octets end) noexcept:
    """The ASCII character that the escape at `at` spells, and `at` past it; -1: it spells another."""
    cdef Octets here = at[0]
    cdef int found = 0
    cdef int i
    if end - here < 2:
        return -1
    if here[1] != c"u":
        at[0] = here + 2
        return ESCAPED[here[1]] or -1
    if end - here < 6:
        return -1
    for i in range(2, 6):
        found = found << 4 | (here[i] & 0x0F) + (9 if here[i] > c"9" else 0)
    at[0] = here + 6
    return found if found < 0x80 else -1


cdef struct Name:
    Octets text
    Py_ssize_t size


cdef bint is_named(Member *found, Name *name) noexcept:
    """Whether the member has that name, however it is spelled. No spelling is shorter than the name."""
    cdef Octets at = found.named + 1
    cdef Octets end = found.value - 2
    cdef Py_ssize_t i = 0
    if end - at <= name.size:
        return end - at == name.size and memcmp(at, name.text, name.size) == 0
    while at < end and i < name.size:
        if at[0] == c"\\":
            if unescaped(&at, end) != name.text[i]:
                return False
        elif at[0] != name.text[i]:
            return False
        else:
            at += 1
        i += 1
    return at == end and i == name.size


cdef Py_ssize_t read_names(tuple names, Name *into) except -1:
    cdef Py_ssize_t i
    if len(names) > NAMES_MOST:
        raise ValueError("too many names")
    for i in range(len(names)):
        if not names[i].isascii():
            raise ValueError("not an ASCII name")
        into[i].text = <Octets>PyUnicode_AsUTF8AndSize(names[i], &into[i].size)
    return len(names)


cdef Py_ssize_t which(Member *found, Name *names, Py_ssize_t count) noexcept:
    """The name that the member has; -1: none of them."""
    cdef Py_ssize_t i
    for i in range(count):
        if is_named(found, &names[i]):
            return i
    return -1


def members(bytes text not None, tuple names not None, Py_ssize_t at=0):
    cdef Octets start = <Octets>PyBytes_AS_STRING(text)
    cdef Octets end = start + PyBytes_GET_SIZE(text)
    cdef Name wanted[NAMES_MOST]
    cdef Member found[NAMES_MOST]
    cdef Member each
    cdef Py_ssize_t count = read_names(names, wanted)
    cdef Py_ssize_t i
    cdef Octets here = inside(start, end, at, c"{")
    cdef int comma = 0
    for i in range(count):
        found[i].named = NULL
    while here[0] != c"}":
        here = member(here + comma, end, &each)
        comma = 1
        i = which(&each, wanted, count)
        if i >= 0:
            found[i] = each
    return {
        names[i]: (found[i].named - start, found[i].value - start, found[i].end - start)
        for i in range(count)
        if found[i].named != NULL
    }


def without(bytes text not None, tuple names not None, Py_ssize_t begin, Py_ssize_t end):
    cdef Octets start = <Octets>PyBytes_AS_STRING(text)
    cdef Octets here, last
    cdef Name unwanted[NAMES_MOST]
    cdef Py_ssize_t count = read_names(names, unwanted)
    cdef Member each
    cdef bytes kept
    cdef unsigned char *out
    cdef Py_ssize_t size = 0
    if not 0 <= begin <= end <= PyBytes_GET_SIZE(text):
        raise ValueError("no members are there")
    here, last = start + begin, start + end
    if here < last and here[0] == c",":
        here += 1
    kept = PyBytes_FromStringAndSize(NULL, end - begin)
    out = <unsigned char *>PyBytes_AS_STRING(kept)
    while here < last:
        here = member(here, start + PyBytes_GET_SIZE(text), &each)
        if here > last:
            raise ValueError("not compact JSON")
        if which(&each, unwanted, count) < 0:
            if size:
                out[size] = c","
                size += 1
            memcpy(out + size, each.named, each.end - each.named)
            size += each.end - each.named
        here += 1
    return kept[:size]


cdef object name_of(Member *found):
    cdef Octets at = found.named + 1
    cdef Octets end = found.value - 2
    if memchr(at, c"\\", end - at) != NULL:
        return loads(PyBytes_FromStringAndSize(<const char *>found.named, found.value - 1 - found.named))
    return PyUnicode_DecodeUTF8(<const char *>at, end - at, NULL)


# Who walks holds a place and the text, and no more.


def pairs(bytes text not None, Py_ssize_t at=0):
    cdef Octets start = <Octets>PyBytes_AS_STRING(text)
    cdef Octets end = start + PyBytes_GET_SIZE(text)
    cdef Octets here = inside(start, end, at, c"{")
    cdef Member each
    cdef int comma = 0
    while here[0] != c"}":
        here = member(here + comma, end, &each)
        comma = 1
        yield name_of(&each), each.value - start, here - start


def elements(bytes text not None, Py_ssize_t at=0):
    cdef Octets start = <Octets>PyBytes_AS_STRING(text)
    cdef Octets end = start + PyBytes_GET_SIZE(text)
    cdef Octets here = inside(start, end, at, c"[")
    cdef Octets begin
    cdef int comma = 0
    while here[0] != c"]":
        begin = here + comma
        here = element(begin, end)
        comma = 1
        yield begin - start, here - start


def measure(bytes text not None, Py_ssize_t at=0):
    cdef Octets start = <Octets>PyBytes_AS_STRING(text)
    cdef Octets end = start + PyBytes_GET_SIZE(text)
    cdef Octets here = inside(start, end, at, c"[")
    cdef Octets begin
    cdef Py_ssize_t count = 0, size = 0
    while here[0] != c"]":
        begin = here + (count > 0)
        here = element(begin, end)
        size += here - begin
        count += 1
    return count, size

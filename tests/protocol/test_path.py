"""The canonical path, against an oracle that reads it one octet at a time."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.protocol.path import Fault, carries, fault, split

UNRESERVED = frozenset((string.ascii_letters + string.digits + "-._~").encode())
IN_A_SEGMENT = UNRESERVED | frozenset(b"!$&'()*+,;=:@")
UPPER_HEXADECIMAL = b"0123456789ABCDEF"


def canonical(path: bytes) -> bool:
    """The rules of spec 03 read plainly: slow, and with nothing in common with the module."""
    if path[:1] != b"/":
        return False
    for segment in path[1:].split(b"/"):
        decoded = bytearray()
        octets = iter(segment)
        for octet in octets:
            if octet != ord("%"):
                if octet not in IN_A_SEGMENT:
                    return False
                decoded.append(octet)
                continue
            digits = bytes((next(octets, 0), next(octets, 0)))
            if any(digit not in UPPER_HEXADECIMAL for digit in digits):
                return False
            value = int(digits, 16)
            if value in UNRESERVED or value == ord("/"):
                return False
            decoded.append(value)
        if bytes(decoded) in (b"", b".", b".."):
            return False
    return True


PIECES = st.sampled_from(
    rb"/ // . .. a pods %2F %2f %2E %2e %41 %20 %00 % %2 %5C %c3 %C3%A9 %25 %252F \ ? # : @".split()
) | st.sampled_from([b" ", b"\x00", b"\xe9"])
PATHS = st.one_of(
    st.binary(max_size=24),
    st.lists(PIECES, max_size=8).map(b"".join),
    st.lists(PIECES, max_size=8).map(lambda pieces: b"/" + b"".join(pieces)),
    st.lists(st.integers(0, 255).map(lambda octet: b"/%%%02X" % octet), max_size=4).map(b"".join),
)


@given(PATHS)
@example(b"")
@example(b"/")
@example(b"/a\n")
def test_exactly_the_canonical_paths_have_no_fault(path: bytes) -> None:
    assert (fault(path) is None) == canonical(path)


@pytest.mark.parametrize("octet", range(256))
def test_an_octet_is_spelt_as_itself_where_it_may_be_and_else_in_upper_case(octet: int) -> None:
    spellings = (bytes((octet,)), b"%%%02X" % octet, b"%%%02x" % octet)
    accepted = {spelling for spelling in spellings if fault(b"/a" + spelling + b"a") is None}
    expected = {b"%%%02X" % octet} - {b"%2F"}
    if octet in UNRESERVED or octet == ord("/"):
        expected = {bytes((octet,))}
    elif octet in IN_A_SEGMENT:
        expected.add(bytes((octet,)))  # reserved: the two are different characters (RFC 3986 section 2.2)
    assert accepted == expected


@pytest.mark.parametrize(
    "path",
    [
        b"/k8s/api",
        b"/k8s/apis/rbac.authorization.k8s.io/v1/clusterroles/system:discovery",
        b"/k8s/api/v1/namespaces/a/services/https:web:443",
        b"/k8s/apis/example.com/v1/things/a%20b",
        b"/k8s/apis/example.com/v1/things/a%C3%A9",
        b"/k8s/apis/example.com/v1/things/!$&'()*+,;=:@-._~",
        b"/k8s/apis/example.com/v1/things/...",
        b"/k8s/apis/example.com/v1/things/.a",
        b"/k8s/apis/example.com/v1/things/a.",
        b"/k8s/apis/example.com/v1/things/%00",
        b"/k8s/apis/example.com/v1/things/%7F",
        b"/k8s/apis/example.com/v1/things/%5C",
        b"/k8s/apis/example.com/v1/things/%252F",
        b"/k8s/apis/example.com/v1/things/%3A%40",
    ],
)
def test_a_path_with_one_reading_passes(path: bytes) -> None:
    assert fault(path) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"", Fault.NOT_ABSOLUTE),
        (b"*", Fault.NOT_ABSOLUTE),
        (b"https://a/k8s/api", Fault.NOT_ABSOLUTE),
        (b"/", Fault.EMPTY_SEGMENT),
        (b"/a/", Fault.EMPTY_SEGMENT),
        (b"//a", Fault.EMPTY_SEGMENT),
        (b"/a//b", Fault.EMPTY_SEGMENT),
        (b"/a%2Fb", Fault.ENCODED_SLASH),
        (b"/a%2fb", Fault.ENCODED_SLASH),
        (b"/./a", Fault.DOT_SEGMENT),
        (b"/a/..", Fault.DOT_SEGMENT),
        (b"/a/../b", Fault.DOT_SEGMENT),
        (b"/a/%2e", Fault.DOT_SEGMENT),
        (b"/a/%2E%2e/b", Fault.DOT_SEGMENT),
        (b"/a/.%2E", Fault.DOT_SEGMENT),
        (b"/a%", Fault.MALFORMED_ENCODING),
        (b"/a%2", Fault.MALFORMED_ENCODING),
        (b"/a%/b", Fault.MALFORMED_ENCODING),
        (b"/a%zz", Fault.MALFORMED_ENCODING),
        (b"/a%%20", Fault.MALFORMED_ENCODING),
        (b"/%65xec", Fault.UNNEEDED_ENCODING),
        (b"/a%2Db", Fault.UNNEEDED_ENCODING),
        (b"/a%7eb", Fault.UNNEEDED_ENCODING),
        (b"/a%c3%A9", Fault.LOWER_CASE_ENCODING),
        (b"/a%5c", Fault.LOWER_CASE_ENCODING),
        (b"/a b", Fault.CHARACTER),
        (b"/a\\b", Fault.CHARACTER),
        (b"/a[b]", Fault.CHARACTER),
        (b"/a|b", Fault.CHARACTER),
        (b"/a?b", Fault.CHARACTER),
        (b"/a#b", Fault.CHARACTER),
        (b"/a\x00", Fault.CHARACTER),
        (b"/a\xc3\xa9", Fault.CHARACTER),
        (b"/a\n", Fault.CHARACTER),
    ],
)
def test_a_fault_is_named(path: bytes, expected: Fault) -> None:
    assert fault(path) is expected


def test_a_long_path_is_judged_in_linear_time() -> None:
    """Sixty kilobytes built to make a backtracking pattern try everything: a hang fails the run."""
    for path in (b"/" + b"a%20" * 15_000 + b"%", b"/a" * 30_000 + b"/..", b"/" + b"a" * 60_000 + b" "):
        assert fault(path) is not None


@given(st.binary())
def test_a_target_parts_at_its_first_question_mark(target: bytes) -> None:
    path, query = split(target)
    assert b"?" not in path
    assert target in (path, path + b"?" + query)


@pytest.mark.parametrize("octet", range(256))
def test_a_query_carries_printable_ascii_but_no_fragment(octet: int) -> None:
    assert carries(b"a=" + bytes((octet,))) == (0x21 <= octet <= 0x7E and octet != ord("#"))

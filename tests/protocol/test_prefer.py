"""`Prefer: wait=` (RFC 7240): what counts, and what has not been said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.protocol.prefer import MAX_BYTES, wait


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ([b"wait=10"], 10.0),
        ([b"Wait=10"], 10.0),
        ([b'wait="10"'], 10.0),
        ([b"wait = 10"], 10.0),
        ([b"wait=0"], 0.0),
        ([b"wait=10; strict"], 10.0),
        ([b'wait=10;a=b;;c = "d\\""'], 10.0),
        ([b"respond-async, wait=100"], 100.0),
        ([b'foo="a, wait=1", wait=2'], 2.0),
        ([b", ,wait=3,"], 3.0),
        ([b"return=minimal", b"wait=4"], 4.0),
    ],
)
def test_a_wait_is_a_whole_number_of_seconds(lines: list[bytes], seconds: float) -> None:
    assert wait([(b"prefer", line) for line in lines]) == seconds


@pytest.mark.parametrize("lines", [[b"wait=1, wait=2"], [b"wait=1", b"wait=2"], [b"wait=1;wait=2"]])
def test_of_several_the_first_counts(lines: list[bytes]) -> None:
    assert wait([(b"prefer", line) for line in lines]) == 1.0


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"wait",
        b"wait=",
        b"wait=-1",
        b"wait=+1",
        b"wait=1.5",
        b"wait=1e3",
        b"wait=1s",
        b"wait=0x10",
        b"wait=1234567890",
        b"wait=\xb2",
        b'wait="1',
        b"wait=1 2",
        b"wait=1, (",
        b"wait=1; =",
        b"waiting=1",
        b"x=y;wait=1",
        b"wait=1," + b" " * MAX_BYTES,
    ],
)
def test_what_cannot_be_read_has_not_been_said(line: bytes) -> None:
    assert wait([(b"prefer", line)]) is None


def test_a_malformed_line_says_nothing_about_the_others() -> None:
    assert wait([(b"prefer", b"wait=1, ("), (b"prefer", b"wait=2")]) == 2.0
    assert wait([(b"x-prefer", b"wait=1")]) is None


@given(st.lists(st.binary(max_size=80), max_size=3))
def test_nothing_raises_and_a_wait_is_never_negative(lines: list[bytes]) -> None:
    found = wait([(b"prefer", line) for line in lines])
    assert found is None or found >= 0


@given(st.text(alphabet='wait=10;, \t"\\x', max_size=60))
def test_a_wait_was_written_as_one(line: str) -> None:
    found = wait([(b"prefer", line.encode())])
    assert found is None or "wait" in line

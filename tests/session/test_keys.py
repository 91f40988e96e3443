"""The keys file, and what is derived from it."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.session.keys import Keyring, KeysError, new_key

A, B, C, D = (bytes([byte]) * 32 for byte in b"abcd")


def line(key: bytes) -> bytes:
    return base64.b64encode(key)


def refusal(text: bytes) -> str:
    with pytest.raises(KeysError) as refused:
        Keyring.parse(text)
    return str(refused.value)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_one_to_four_lines_are_keys_and_a_last_newline_is_not_part_of_one(end: bytes) -> None:
    for count in (1, 2, 3, 4):
        keyring = Keyring.parse(b"\n".join(map(line, (A, B, C, D)[:count])) + end)
        assert repr(keyring) == f"Keyring({count} keys)"


def test_the_first_key_seals() -> None:
    assert Keyring.parse(line(B) + b"\n" + line(A)).first.key_id == Keyring([B]).first.key_id


def test_a_key_id_is_not_of_the_key_itself() -> None:
    key_id = Keyring([A]).first.key_id
    assert len(key_id) == 8
    assert key_id not in A
    assert key_id != Keyring([B]).first.key_id


def test_the_same_key_derives_the_same_in_every_process() -> None:
    # Pinned: another derivation would end every session at an upgrade.
    assert Keyring([bytes(range(32))]).first.key_id.hex() == "052da4794337a6b9"


@pytest.mark.parametrize("text", [b"", b"\n"])
def test_a_file_without_a_key_is_refused(text: bytes) -> None:
    assert refusal(text).startswith("holds no key")


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        line(A[:31]),
        line(A + b"x"),
        line(A).rstrip(b"="),
        b" " + line(A),
        base64.urlsafe_b64encode(b"\xff" * 32),
        line(A)[:-2] + b"F=",
        A.hex().encode(),
        b"\xff" * 44,
    ],
)
def test_a_line_that_is_no_key_is_named_and_never_shown(bad: bytes) -> None:
    message = refusal(line(B) + b"\n" + bad + b"\n" + line(C))
    assert message.startswith("line 2 must be 32 bytes in standard base64")
    assert len(bad) < 8 or bad.decode("latin-1").strip() not in message


def test_a_fifth_line_is_refused() -> None:
    assert refusal(b"\n".join([line(bytes([n]) * 32) for n in range(5)])).startswith("line 5 is one too many")


def test_a_repeated_key_is_refused() -> None:
    assert refusal(b"\n".join([line(A), line(B), line(A)])) == "line 3 repeats line 1: each key is given once"


def test_a_carriage_return_is_named_by_its_line() -> None:
    assert refusal(line(A) + b"\n" + line(B) + b"\r\n").startswith("line 2 ends in a carriage return")


def test_a_new_key_is_a_line_of_a_keys_file() -> None:
    keys = {new_key() for _ in range(4)}
    assert len(keys) == 4
    Keyring.parse("\n".join(keys).encode())


def test_no_repr_shows_a_key() -> None:
    keyring = Keyring([A])
    for shown in (repr(keyring), repr(keyring.first)):
        assert A.decode() not in shown
        assert keyring.first.key_id.hex() not in shown


@given(st.binary(max_size=300))
def test_any_content_is_a_keyring_or_a_keys_error(text: bytes) -> None:
    try:
        Keyring.parse(text)
    except KeysError:
        pass

"""Sealed sessions: what was sealed opens, and nothing else does."""

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, MAX_VALUE_BYTES, IdToken, Session, open_session, seal
from foyer.session.spelling import decode, encode
from tests.session.sessions import ALICE, KEYRING, SESSIONS

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
SEALED = seal(ALICE, KEYRING).encode()
BEFORE_NONCE = 9


@given(SESSIONS)
def test_what_is_sealed_opens_to_the_same_session(session: Session) -> None:
    assert open_session(seal(session, KEYRING).encode(), KEYRING) == session


@given(st.integers(0, len(SEALED) - 1), st.integers(0, 255))
def test_no_character_can_be_another(at: int, character: int) -> None:
    value = SEALED[:at] + bytes([character]) + SEALED[at + 1 :]
    assert (open_session(value, KEYRING) == ALICE) == (value == SEALED)
    assert open_session(value, KEYRING) is None or value == SEALED


def test_no_character_of_the_alphabet_at_any_place_can_be_another() -> None:
    for at in range(len(SEALED)):
        other = ALPHABET[(ALPHABET.index(SEALED[at]) + 1) % 64]
        assert open_session(SEALED[:at] + bytes([other]) + SEALED[at + 1 :], KEYRING) is None


@given(st.integers(0, len(SEALED)), st.binary(max_size=3))
def test_a_value_cut_short_or_continued_does_not_open(at: int, tail: bytes) -> None:
    value = SEALED[:at] + tail
    assert open_session(value, KEYRING) is None or value == SEALED


@given(
    st.one_of(
        st.binary(max_size=300),
        st.text("AQ-_azAZ09", max_size=200).map(str.encode),
        st.binary(max_size=200).map(lambda data: encode(b"\x01" + KEYRING.first.key_id + data).encode()),
    )
)
def test_hostile_values_never_raise_and_never_open(value: bytes) -> None:
    assert open_session(value, KEYRING) is None


@pytest.mark.parametrize(
    "other", [SEALED + b"=", SEALED + b"==", b'"' + SEALED + b'"', SEALED + b"\n", b" " + SEALED]
)
def test_no_other_spelling_opens(other: bytes) -> None:
    assert open_session(other, KEYRING) is None


def test_each_key_of_the_file_opens_what_it_sealed() -> None:
    old, new = b"o" * 32, b"n" * 32
    sealed_before = seal(ALICE, Keyring([old])).encode()
    assert open_session(sealed_before, Keyring([new, old])) == ALICE
    assert open_session(seal(ALICE, Keyring([new, old])).encode(), Keyring([new])) == ALICE


def test_removing_a_key_ends_every_session_it_sealed() -> None:
    assert open_session(SEALED, Keyring([b"n" * 32])) is None


def resealed(parts: bytes, head: bytes, authenticated: bytes) -> bytes:
    """A value of KEYRING's own key, by hand."""
    nonce = bytes(12)
    return encode(head + nonce + KEYRING.first.encryption.encrypt(nonce, parts, authenticated)).encode()


def parts_of(value: bytes) -> tuple[bytes, bytes]:
    sealed = decode(value)
    assert sealed is not None
    head = sealed[:BEFORE_NONCE]
    nonce, rest = sealed[BEFORE_NONCE : BEFORE_NONCE + 12], sealed[BEFORE_NONCE + 12 :]
    return head, KEYRING.first.encryption.decrypt(nonce, rest, COOKIE.encode() + head)


HEAD, PARTS = parts_of(SEALED)


def test_the_value_is_version_key_id_nonce_and_aes_256_gcm() -> None:
    assert b"\x01" + KEYRING.first.key_id == HEAD
    assert open_session(resealed(PARTS, HEAD, COOKIE.encode() + HEAD), KEYRING) == ALICE


def test_the_cookie_name_the_version_and_the_key_id_are_authenticated() -> None:
    other_version = b"\x02" + HEAD[1:]
    assert open_session(resealed(PARTS, HEAD, b"__Host-other" + HEAD), KEYRING) is None
    assert open_session(resealed(PARTS, HEAD, COOKIE.encode() + other_version), KEYRING) is None
    assert open_session(resealed(PARTS, HEAD, COOKIE.encode()), KEYRING) is None
    assert open_session(resealed(PARTS, other_version, COOKIE.encode() + other_version), KEYRING) is None


@pytest.mark.parametrize(
    "parts",
    [b"", b"\xff", PARTS.rpartition(b"\xff")[0][:40], PARTS.replace(b"1700000000", b"soon"), PARTS + b"\xc3"],
)
def test_what_opens_to_less_than_a_whole_session_is_none(parts: bytes) -> None:
    assert open_session(resealed(parts, HEAD, COOKIE.encode() + HEAD), KEYRING) is None


def test_a_raw_key_of_the_file_seals_nothing() -> None:
    nonce = bytes(12)
    sealed = AESGCM(b"k" * 32).encrypt(nonce, PARTS, COOKIE.encode() + HEAD)
    assert open_session(encode(HEAD + nonce + sealed).encode(), KEYRING) is None


def test_the_same_session_never_seals_to_the_same_value() -> None:
    assert len({seal(ALICE, KEYRING) for _ in range(50)}) == 50


def test_a_value_past_the_limit_does_not_open_even_if_it_was_sealed() -> None:
    def sealed(token_bytes: int) -> bytes:
        return seal(ALICE._replace(id_token=IdToken(b"t" * token_bytes)), KEYRING).encode()

    fits = next(size for size in range(MAX_VALUE_BYTES, 0, -1) if len(sealed(size)) <= MAX_VALUE_BYTES)
    assert len(sealed(fits)) == MAX_VALUE_BYTES
    assert open_session(sealed(fits), KEYRING) is not None
    assert open_session(sealed(fits + 1), KEYRING) is None


def test_no_repr_shows_anything_of_a_session() -> None:
    for shown in (repr(ALICE), str(ALICE), f"{ALICE}", repr(ALICE.id_token), f"{ALICE.id_token!r}"):
        assert "alice" not in shown
        assert "payload" not in shown
        assert "csrf" not in shown

"""Session keys (spec 02, The session): the file's one to four keys, the first of which seals.

A key of the file is never used itself. HKDF-SHA256 (RFC 5869) derives one key that encrypts and
one ID that says which key sealed a value, so the ID tells nothing about the key. No message and
no `repr` here shows any of them.
"""

import base64
import binascii
import os

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MAX_KEYS = 4
"""Rotation needs two, and a fleet that takes a new file unevenly one or two more."""

KEY_BYTES = 32

KEY_ID_BYTES = 8
"""Enough that four keys never share an ID by chance (2^-61), and eleven characters of cookie."""

_LINE = "must be 32 bytes in standard base64 (44 characters, as `foyer keys` prints)"


class KeysError(Exception):
    """A keys file cannot be used. The message names the line and what it should be, never its content."""


class SealingKey:
    """One key of the file, as what HKDF derives from it."""

    __slots__ = ("encryption", "key_id")

    def __init__(self, key: bytes) -> None:
        self.key_id = _derive(key, b"foyer session v1: key id", KEY_ID_BYTES)
        # Made once: the key schedule costs as much as opening a session with it.
        self.encryption = AESGCM(_derive(key, b"foyer session v1: encryption", KEY_BYTES))

    def __repr__(self) -> str:
        return "SealingKey(hidden)"


class Keyring:
    """The keys of one file: `first` seals, and each opens what it sealed."""

    __slots__ = ("_by_id", "first")

    def __init__(self, keys: list[bytes]) -> None:
        """`keys` are 1 to 4 distinct keys of 32 bytes, in the file's order."""
        assert 0 < len(keys) <= MAX_KEYS
        sealing = [SealingKey(key) for key in keys]
        self.first = sealing[0]
        self._by_id = {key.key_id: key.encryption for key in sealing}

    @classmethod
    def parse(cls, text: bytes) -> "Keyring":
        """The keyring that a keys file's content describes. Raises `KeysError`."""
        lines = text.removesuffix(b"\n").split(b"\n")
        if lines == [b""]:
            raise KeysError(f"holds no key: each of 1 to {MAX_KEYS} lines {_LINE}")
        if len(lines) > MAX_KEYS:
            raise KeysError(f"line {MAX_KEYS + 1} is one too many: at most {MAX_KEYS} keys")
        keys: list[bytes] = []
        for number, line in enumerate(lines, 1):
            if line.endswith(b"\r"):
                raise KeysError(f"line {number} ends in a carriage return: a newline alone ends a line")
            key = _key(line)
            if key is None:
                raise KeysError(f"line {number} {_LINE}")
            if key in keys:
                raise KeysError(f"line {number} repeats line {keys.index(key) + 1}: each key is given once")
            keys.append(key)
        return cls(keys)

    def encryption(self, key_id: bytes) -> AESGCM | None:
        """What opens the values sealed under `key_id`."""
        return self._by_id.get(key_id)

    def __repr__(self) -> str:
        return f"Keyring({len(self._by_id)} keys)"


def new_key() -> str:
    """A fresh line for a keys file, from the system's random source."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode("ascii")


def _key(line: bytes) -> bytes | None:
    try:
        key = binascii.a2b_base64(line, strict_mode=True)
    except binascii.Error:
        return None
    # Encoding again refuses bits past the last byte: two spellings of one key are a repeated key.
    return key if len(key) == KEY_BYTES and base64.b64encode(key) == line else None


def _derive(key: bytes, purpose: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=purpose).derive(key)

"""TLS records by hand, for what Python's ssl never sends: a handshake whose keys are logged, then any record.

TLS 1.3 (RFC 8446 sections 5.2 and 7) and TLS 1.2 with AES-GCM (RFC 5246 section 6.3, RFC 5288).
"""

import ssl
from pathlib import Path

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

HANDSHAKE, CONTENT = 22, 23
KEY_UPDATE = 24


def logged(context: ssl.SSLContext, folder: Path, version: ssl.TLSVersion) -> Path:
    """Has `context` speak `version` with AES-GCM alone, and write its keys to the file that is returned."""
    context.minimum_version = context.maximum_version = version
    if version is ssl.TLSVersion.TLSv1_2:
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256")
    path = folder / f"keys-{version.name}"
    path.write_text("")
    context.keylog_filename = str(path)
    return path


def secret(path: Path, label: str) -> bytes:
    """What was logged last under `label`."""
    found = [line.split()[2] for line in path.read_text().splitlines() if line.startswith(label + " ")]
    return bytes.fromhex(found[-1])


def randoms_and_master(path: Path) -> tuple[bytes, bytes]:
    """A TLS 1.2 client's random, and the master secret."""
    line = next(line for line in path.read_text().splitlines() if line.startswith("CLIENT_RANDOM "))
    client_random, master = (bytes.fromhex(part) for part in line.split()[1:])
    return client_random, master


def _expand(secret: bytes, label: bytes, size: int, algorithm: hashes.HashAlgorithm) -> bytes:
    full = b"tls13 " + label
    info = size.to_bytes(2, "big") + bytes([len(full)]) + full + b"\0"
    return HKDFExpand(algorithm, size, info).derive(secret)


class Sender13:
    """One direction of TLS 1.3, from the first record of its application data."""

    def __init__(self, secret: bytes, cipher: str) -> None:
        assert "GCM" in cipher, cipher
        wide = cipher.endswith("SHA384")
        self._hash: hashes.HashAlgorithm = hashes.SHA384() if wide else hashes.SHA256()
        self._key_size = 32 if wide else 16
        self._secret = secret
        self._new_keys()

    def _new_keys(self) -> None:
        self._key = AESGCM(_expand(self._secret, b"key", self._key_size, self._hash))
        self._iv = int.from_bytes(_expand(self._secret, b"iv", 12, self._hash), "big")
        self._sent = 0

    def record(self, kind: int, data: bytes) -> bytes:
        inner = data + bytes([kind])
        header = b"\x17\x03\x03" + (len(inner) + 16).to_bytes(2, "big")
        nonce = (self._iv ^ self._sent).to_bytes(12, "big")
        self._sent += 1
        return header + self._key.encrypt(nonce, inner, header)

    def content(self, data: bytes) -> bytes:
        return self.record(CONTENT, data)

    def key_update(self, *, requested: bool) -> bytes:
        """KeyUpdate (RFC 8446 section 4.6.3), and new keys behind it."""
        record = self.record(HANDSHAKE, bytes([KEY_UPDATE, 0, 0, 1, requested]))
        self._secret = _expand(self._secret, b"traffic upd", self._hash.digest_size, self._hash)
        self._new_keys()
        return record


class Sender12:
    """A client's direction of TLS 1.2, behind its Finished."""

    def __init__(self, master: bytes, client_random: bytes, server_random: bytes) -> None:
        block = _prf(master, b"key expansion", server_random + client_random, 40)
        self._key, self._salt = AESGCM(block[:16]), block[32:36]
        self._sent = 1

    def record(self, kind: int, data: bytes) -> bytes:
        sequence = self._sent.to_bytes(8, "big")
        self._sent += 1
        start = bytes([kind, 3, 3])
        sealed = self._key.encrypt(
            self._salt + sequence, data, sequence + start + len(data).to_bytes(2, "big")
        )
        return start + (8 + len(sealed)).to_bytes(2, "big") + sequence + sealed

    def content(self, data: bytes) -> bytes:
        return self.record(CONTENT, data)

    def client_hello(self) -> bytes:
        """As much of one as asks for a renegotiation."""
        return self.record(HANDSHAKE, b"\x01\0\0\0")


def _prf(secret: bytes, label: bytes, seed: bytes, size: int) -> bytes:
    """RFC 5246 section 5."""

    def mac(data: bytes) -> bytes:
        keyed = hmac.HMAC(secret, hashes.SHA256())
        keyed.update(data)
        return keyed.finalize()

    chain, made = label + seed, b""
    while len(made) < size:
        chain = mac(chain)
        made += mac(chain + label + seed)
    return made[:size]

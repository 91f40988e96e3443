"""What the files that flags name must hold: asked at start, by `check`, and of every new content.

Each function raises `ValueError` in words that follow "the file" and repeat nothing of it.
"""

import re
import ssl

from foyer.net import files


def read(file: str, limit: int = files.MAX_FILE_BYTES) -> bytes:
    """The content of a file, at most `limit` bytes."""
    try:
        return files.read(file, limit)
    except files.FileError as error:
        raise ValueError(str(error)) from None


def filled(file: str) -> bytes:
    """The content of a file that must not be empty."""
    content = read(file)
    if not content.strip():
        raise ValueError("is empty")
    return content


def secret(content: bytes) -> bytes:
    """A secret alone in its file, without the newline that an editor put behind it."""
    alone = content.removesuffix(b"\n").removesuffix(b"\r")
    if not alone.strip() or not re.fullmatch(rb"[ -~]+", alone):
        # RFC 6749 appendix A.2. A second line, or binary, is another file than the one that was meant.
        raise ValueError("should hold the secret alone: one line of printable ASCII")
    return alone


def token(content: bytes) -> bytes:
    """A bearer token (RFC 6750 section 2.1) alone in its file, with a newline behind it or without."""
    alone = content.removesuffix(b"\n").removesuffix(b"\r")
    if not re.fullmatch(rb"[A-Za-z0-9._~+/-]+=*", alone):
        raise ValueError("should hold one bearer token and nothing else")
    return alone


def check_token(file: str) -> None:
    """A file of a bearer token."""
    token(filled(file))


def check_keys(content: bytes) -> None:
    """A session keys file."""
    # Here, so that help needs no cryptography.
    from foyer.session.keys import Keyring, KeysError

    try:
        Keyring.parse(content)
    except KeysError as error:
        raise ValueError(f"cannot be used: {error}") from None


def check_certificates(file: str) -> None:
    """A file of roots, or a certificate chain."""
    filled(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=file)
        certificates = context.cert_store_stats()["x509"]
    except (OSError, ValueError):
        certificates = 0
    if not certificates:  # revocation lists alone load as well
        raise ValueError("should hold at least one certificate, in PEM")


def check_private_key(cert_file: str, key_file: str) -> None:
    """The private key of a certificate chain that has been checked."""
    filled(key_file)
    try:
        # Without a password OpenSSL would ask for an encrypted key's on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert_file, key_file, password="")
    except (OSError, ValueError):
        raise ValueError("should hold the private key of -tls-cert-file, in PEM and not encrypted") from None

"""One throw-away certificate authority a test process, and the TLS contexts of the scripted peers."""

import ssl
from functools import cache
from pathlib import Path

import trustme

ORIGIN_HOST = "foyer.test"
"""The host of the public URL: browsers name it in SNI and `Host`, and connect to 127.0.0.1."""

UPSTREAM_HOST = "127.0.0.1"


@cache
def authority() -> trustme.CA:
    """The authority that everything under test is told to trust."""
    return trustme.CA()


@cache
def stranger() -> trustme.CA:
    """An authority that nothing trusts."""
    return trustme.CA()


def write_certificate(folder: Path, *names: str, ca: trustme.CA | None = None) -> tuple[Path, Path]:
    """Certificate chain and key files for `names` (host names or addresses), in that order."""
    leaf = (ca or authority()).issue_cert(*names)
    certificate, key = folder / f"{names[0]}.crt", folder / f"{names[0]}.key"
    certificate.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
    key.write_bytes(leaf.private_key_pem.bytes())
    return certificate, key


def write_authority(folder: Path) -> Path:
    """The authority's own certificate, as a CA file."""
    file = folder / "ca.crt"
    file.write_bytes(authority().cert_pem.bytes())
    return file


def server_context(alpn: str, host: str = UPSTREAM_HOST, *, ca: trustme.CA | None = None) -> ssl.SSLContext:
    """A server's context for `host` that offers one protocol (`h2` or `http/1.1`)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (ca or authority()).issue_cert(host).configure_cert(context)
    context.set_alpn_protocols([alpn])
    return context


@cache
def browser_context(alpn: str) -> ssl.SSLContext:
    """The one that all browsers share: whoever changes something takes `own_browser_context`."""
    return own_browser_context(alpn)


def own_browser_context(alpn: str) -> ssl.SSLContext:
    """A browser's context that trusts the authority and offers one protocol."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority().configure_trust(context)
    context.set_alpn_protocols([alpn])
    return context

"""The certificate made on the spot."""

import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from foyer.demo.certificates import Certificates, make

NOW = 1_800_000_000.0


def names(made: Certificates) -> set[str]:
    certificate = x509.load_pem_x509_certificate(made.certificate)
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return {str(name.value) for name in extension.value}


def test_it_is_valid_for_this_machine_and_where_the_demo_listens() -> None:
    assert names(make(["demo.example.com", "192.0.2.1", "", "localhost"], NOW)) == {
        "localhost",
        "127.0.0.1",
        "::1",
        "demo.example.com",
        "192.0.2.1",
    }


def test_it_is_signed_by_an_authority_that_signs_servers_only() -> None:
    made = make([], NOW)
    authority = x509.load_pem_x509_certificate(made.authority)
    certificate = x509.load_pem_x509_certificate(made.certificate)
    certificate.verify_directly_issued_by(authority)
    limits = authority.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (limits.ca, limits.path_length) == (True, 0)
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert isinstance(certificate.public_key(), ec.EllipticCurvePublicKey)
    assert certificate.not_valid_before_utc.timestamp() == NOW - 3600


def test_the_authoritys_key_is_kept_nowhere_and_the_servers_is_hidden() -> None:
    made = make([], NOW)
    assert "PRIVATE" not in repr(made)
    assert [b"PRIVATE" in part for part in (made.authority, made.certificate, made.key)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "demo.example.com"])
def test_a_client_that_trusts_the_authority_trusts_the_server(tmp_path: Path, host: str) -> None:
    made = make(["demo.example.com"], time.time())
    certificate, key = tmp_path / "crt", tmp_path / "key"
    certificate.write_bytes(made.certificate)
    key.write_bytes(made.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cadata=made.authority.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    client = trusting.wrap_bio(to_client, to_server, server_hostname=host)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert client.version() == "TLSv1.3"

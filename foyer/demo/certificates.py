"""A certificate made on the spot: a throw-away authority, and one server certificate of it.

The authority's key is forgotten as soon as it has signed, so nobody who trusts the authority
for the demo's sake ever trusts anything else by it.
"""

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=30)
"""Longer than any demo runs; a new start makes a new one."""

BACKDATED = datetime.timedelta(hours=1)
"""For the clock of a phone or virtual machine that looks at the demo."""

ALWAYS = ("localhost", "127.0.0.1", "::1")
"""What the certificate is always valid for."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM: the authority's certificate, the server's, and the server's key."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)


def make(hosts: Iterable[str], now: float) -> Certificates:
    """Certificates for `hosts`, names or addresses, and this machine. `now` is in seconds since the epoch."""
    begin = datetime.datetime.fromtimestamp(now, datetime.UTC) - BACKDATED
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key, begin)
    names = [_general_name(host) for host in dict.fromkeys((*ALWAYS, *hosts)) if host]
    certificate = (
        _builder("foyer demo", authority.subject, key, begin)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_key_usage(sign_certificates=False), critical=True)
        .add_extension(_authority_identifier(authority_key), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Certificates(
        authority.public_bytes(Encoding.PEM),
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _authority(key: ec.EllipticCurvePrivateKey, begin: datetime.datetime) -> x509.Certificate:
    name = "foyer demo authority"
    return (
        _builder(name, _name(name), key, begin)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + LIFETIME)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _authority_identifier(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _key_usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )

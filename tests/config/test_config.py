"""The whole configuration: what is loaded, and which files are refused at start."""

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from foyer.config import Address, ConfigError, Origin, TlsFiles, load, load_demo


class Place:
    """A folder with every file that a configuration names, and the flags that name them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        leaf = self.authority.issue_cert("foyer.test")
        self.write("tls.crt", leaf.cert_chain_pems[0].bytes())
        self.write("tls.key", leaf.private_key_pem.bytes())
        self.write("ca.crt", self.authority.cert_pem.bytes())
        self.write("secret", b"the-s3cret\n")
        self.write("keys", base64.b64encode(os.urandom(32)) + b"\n")
        self.flags = {
            "public-url": "https://foyer.test:8443",
            "oidc-issuer": "https://issuer.test/dex",
            "oidc-client-id": "foyer",
            "oidc-client-secret-file": self.path("secret"),
            "kubernetes-server": "https://api.test:6443",
            "session-keys-file": self.path("keys"),
        }

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def write(self, name: str, content: bytes) -> str:
        (self.folder / name).write_bytes(content)
        return self.path(name)

    def arguments(self, **more: str) -> list[str]:
        flags = self.flags | {name.replace("_", "-"): value for name, value in more.items()}
        return [f"-{name}={value}" for name, value in flags.items()]

    def refusal(self, **more: str) -> ConfigError:
        with pytest.raises(ConfigError) as refused:
            load(self.arguments(**more))
        assert "s3cret" not in str(refused.value)
        return refused.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_least_configuration_has_every_default(place: Place) -> None:
    config = load(place.arguments())
    assert config.listen == Address("", 8080)
    assert config.tls is None
    assert config.public_url == Origin("https", "foyer.test", 8443)
    assert config.oidc.issuer == "https://issuer.test/dex"
    assert config.oidc.client_id == "foyer"
    assert config.oidc.client_secret_file == place.path("secret")
    assert config.oidc.ca_file is None
    assert config.oidc.scopes == ("openid", "email", "profile")
    assert config.kubernetes.server.url == "https://api.test:6443"
    assert config.kubernetes.ca_file is None
    assert config.session.keys_file == place.path("keys")
    assert config.session.absolute_timeout == 8 * 3600


def test_every_flag_finds_its_place(place: Place) -> None:
    config = load(
        place.arguments(
            listen="[::1]:9443",
            tls_cert_file=place.path("tls.crt"),
            tls_key_file=place.path("tls.key"),
            oidc_ca_file=place.path("ca.crt"),
            oidc_scopes="openid,groups",
            kubernetes_ca_file=place.path("ca.crt"),
            session_absolute_timeout="1h30m",
        )
    )
    assert config.listen == Address("::1", 9443)
    assert config.tls == TlsFiles(place.path("tls.crt"), place.path("tls.key"))
    assert config.oidc.ca_file == config.kubernetes.ca_file == place.path("ca.crt")
    assert config.oidc.scopes == ("openid", "groups")
    assert config.session.absolute_timeout == 5400


@pytest.mark.parametrize("content", [b"the-s3cret", b"the-s3cret\n", b"the-s3cret\r\n"])
def test_a_newline_at_the_end_is_not_part_of_the_secret(place: Place, content: bytes) -> None:
    place.write("secret", content)
    assert load(place.arguments()).oidc.client_secret == "the-s3cret"


def test_a_space_at_the_end_is_part_of_the_secret(place: Place) -> None:
    place.write("secret", b"the s3cret \n")
    assert load(place.arguments()).oidc.client_secret == "the s3cret "


def test_a_configuration_that_is_shown_hides_the_secret(place: Place) -> None:
    config = load(place.arguments())
    assert "s3cret" not in repr(config)
    assert "s3cret" not in str(config.oidc)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b" \n", b"the-s3cret\n\n", b"the-s3cret\nmore\n", b"\xffthe-s3cret", b"s3cret\0"]
)
def test_a_secret_file_that_holds_no_secret_is_refused(place: Place, content: bytes) -> None:
    place.write("secret", content)
    assert place.refusal().flag == "-oidc-client-secret-file"


FILE_FLAGS = [
    "oidc_client_secret_file",
    "session_keys_file",
    "oidc_ca_file",
    "kubernetes_ca_file",
]


@pytest.mark.parametrize("flag", FILE_FLAGS)
def test_a_file_that_cannot_be_read_is_refused_naming_its_flag_and_not_its_path(
    place: Place, flag: str
) -> None:
    spelled = "-" + flag.replace("_", "-")
    for path, why in (
        (place.path("s3cret"), "no such file"),
        (str(place.folder), "is a directory"),
        (place.write("big", b"x" * (1024 * 1024 + 1)), "larger than"),
        (place.write("empty", b""), "is empty"),
    ):
        error = place.refusal(**{flag: path})
        assert error.flag == spelled
        assert why in error.message


@pytest.mark.parametrize("flag", ["oidc_ca_file", "kubernetes_ca_file"])
def test_a_ca_file_without_a_certificate_is_refused(place: Place, flag: str) -> None:
    for content in (b"not a certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        error = place.refusal(**{flag: place.write("bad", content)})
        assert error.flag == "-" + flag.replace("_", "-")
        assert "at least one certificate" in error.message
    place.refusal(**{flag: place.path("tls.key")})


def test_a_ca_file_may_have_comments_in_any_language_between_its_certificates(place: Place) -> None:
    certificate = place.authority.cert_pem.bytes()
    bundle = place.write("bundle", "# Főtanúsítvány\n".encode() + certificate + b"\n# 2\n" + certificate)
    assert load(place.arguments(oidc_ca_file=bundle)).oidc.ca_file == bundle


def test_one_of_the_tls_pair_without_the_other_is_refused(place: Place) -> None:
    error = place.refusal(tls_cert_file=place.path("tls.crt"))
    assert (error.flag, "-tls-cert-file" in error.message) == ("-tls-key-file", True)
    error = place.refusal(tls_key_file=place.path("tls.key"))
    assert (error.flag, "-tls-key-file" in error.message) == ("-tls-cert-file", True)


def other_key(place: Place) -> bytes:
    return place.authority.issue_cert("other.test").private_key_pem.bytes()


def encrypted_key(place: Place) -> bytes:
    key = load_pem_private_key((place.folder / "tls.key").read_bytes(), password=None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"the-s3cret"))


def no_key(place: Place) -> bytes:
    return (place.folder / "tls.crt").read_bytes()


@pytest.mark.parametrize("key", [other_key, encrypted_key, no_key])
def test_a_key_that_does_not_fit_the_certificate_is_refused_and_no_password_is_asked_for(
    place: Place, key: Callable[[Place], bytes]
) -> None:
    path = place.write("other.key", key(place))
    assert place.refusal(tls_cert_file=place.path("tls.crt"), tls_key_file=path).flag == "-tls-key-file"


def test_a_tls_file_that_is_no_certificate_is_refused(place: Place) -> None:
    error = place.refusal(tls_cert_file=place.path("tls.key"), tls_key_file=place.path("tls.key"))
    assert error.flag == "-tls-cert-file"


def test_session_keys_are_refused_by_line_and_not_by_content(place: Place) -> None:
    key = base64.b64encode(b"s3cret" + bytes(26))
    for content in (b"s3cret\n", key + b"\n" + key + b"\n", key[:-4] + b"\n"):
        place.write("keys", content)
        error = place.refusal()
        assert error.flag == "-session-keys-file"
        assert "line" in error.message
        assert key.decode() not in str(error)


def test_the_demonstration_has_one_flag_and_stays_on_this_machine_without_it() -> None:
    assert load_demo([]) == Address("127.0.0.1", 8443)
    assert load_demo(["-listen", "127.0.0.1:0"]) == Address("127.0.0.1", 0)
    with pytest.raises(ConfigError):
        load_demo(["-public-url", "https://foyer.test"])

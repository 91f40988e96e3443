"""Configuration, read once at start: flags into one frozen value for each room (spec 01, Process).

`load` ends with a whole `Config` whose files have been looked into, or with a `ConfigError` that
names the flag and says what it should be. `check` is nothing but `load`.
"""

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field

from foyer.config.flags import DEMO_FLAGS, FLAGS, ConfigError, parse
from foyer.config.values import Address, Origin
from foyer.net import files

__all__ = [
    "Address",
    "Config",
    "ConfigError",
    "KubernetesConfig",
    "OidcConfig",
    "Origin",
    "SessionConfig",
    "TlsFiles",
    "load",
    "load_demo",
]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate chain and its private key, PEM."""

    cert_file: str
    key_file: str


@dataclass(frozen=True, slots=True)
class OidcConfig:
    """Where people sign in. `issuer` is kept byte for byte: an ID token's `iss` must equal it."""

    issuer: str
    client_id: str
    client_secret_file: str
    client_secret: str = field(repr=False)
    ca_file: str | None
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KubernetesConfig:
    """The one API server that requests are sent to."""

    server: Origin
    ca_file: str | None


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """How sessions are sealed and when they end. `absolute_timeout` is in seconds, at least 1."""

    keys_file: str
    absolute_timeout: float


@dataclass(frozen=True, slots=True)
class Config:
    """Everything `foyer serve` runs with, a part for each room."""

    listen: Address
    tls: TlsFiles | None
    public_url: Origin
    oidc: OidcConfig
    kubernetes: KubernetesConfig
    session: SessionConfig


def load(arguments: Sequence[str]) -> Config:
    """The checked configuration for `serve` and `check`, its files read. Raises `ConfigError`."""
    values = parse(FLAGS, arguments)
    tls = _tls(values["tls-cert-file"], values["tls-key-file"])
    for name in ("oidc-ca-file", "kubernetes-ca-file"):
        if values[name] is not None:
            _check_certificates(f"-{name}", values[name])
    _check_keys(values["session-keys-file"])
    return Config(
        listen=values["listen"],
        tls=tls,
        public_url=values["public-url"],
        oidc=OidcConfig(
            issuer=values["oidc-issuer"],
            client_id=values["oidc-client-id"],
            client_secret_file=values["oidc-client-secret-file"],
            client_secret=_secret("-oidc-client-secret-file", values["oidc-client-secret-file"]),
            ca_file=values["oidc-ca-file"],
            scopes=values["oidc-scopes"],
        ),
        kubernetes=KubernetesConfig(values["kubernetes-server"], values["kubernetes-ca-file"]),
        session=SessionConfig(values["session-keys-file"], values["session-absolute-timeout"]),
    )


def load_demo(arguments: Sequence[str]) -> Address:
    """Where `foyer demo` listens: its only flag. Raises `ConfigError`."""
    listen: Address = parse(DEMO_FLAGS, arguments)["listen"]
    return listen


def _read(flag: str, file: str) -> bytes:
    try:
        content = files.read(file)
    except files.FileError as error:
        raise ConfigError(flag, f"the file {error}") from None
    if not content.strip():
        raise ConfigError(flag, "the file is empty")
    return content


def _tls(cert_file: str | None, key_file: str | None) -> TlsFiles | None:
    if cert_file is None and key_file is None:
        return None
    if cert_file is None:
        raise ConfigError("-tls-cert-file", "needed beside -tls-key-file: give both or neither")
    if key_file is None:
        raise ConfigError("-tls-key-file", "needed beside -tls-cert-file: give both or neither")
    _check_certificates("-tls-cert-file", cert_file)
    _read("-tls-key-file", key_file)
    try:
        # Without a password OpenSSL would ask for an encrypted key's on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert_file, key_file, password="")
    except (OSError, ValueError):
        raise ConfigError(
            "-tls-key-file",
            "the file should hold the private key of -tls-cert-file, in PEM and not encrypted",
        ) from None
    return TlsFiles(cert_file, key_file)


def _check_certificates(flag: str, file: str) -> None:
    _read(flag, file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=file)
        certificates = context.cert_store_stats()["x509"]
    except (OSError, ValueError):
        certificates = 0
    if not certificates:  # revocation lists alone load as well
        raise ConfigError(flag, "the file should hold at least one certificate, in PEM")


def _secret(flag: str, file: str) -> str:
    """A secret alone in its file, without the newline that an editor put behind it."""
    content = _read(flag, file)
    content = content.removesuffix(b"\n").removesuffix(b"\r")
    if not re.fullmatch(rb"[ -~]+", content):
        # RFC 6749 appendix A.2. A second line, or binary, is another file than the one that was meant.
        raise ConfigError(flag, "the file should hold the secret alone: one line of printable ASCII")
    return content.decode("ascii")


def _check_keys(file: str) -> None:
    content = _read("-session-keys-file", file)
    # Here, so that help needs no cryptography.
    from foyer.session.keys import Keyring, KeysError

    try:
        Keyring.parse(content)
    except KeysError as error:
        raise ConfigError("-session-keys-file", f"the file cannot be used: {error}") from None

"""Configuration: flags, environment and file into one frozen value for each room (spec 01, Process).

`load` ends with a whole `Config` whose files have been looked into, or with a `ConfigError` that
names the flag and says what it should be. `check` is nothing but `load`, and a reload is `load` again
and then `reloaded`, which takes what a running foyer can change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from foyer.config import bounds, contents, overload
from foyer.config.flags import DEMO_FLAGS, FLAGS, REQUIRED, ConfigError, Reload
from foyer.config.given import Sources
from foyer.config.parts import (
    Config,
    LoginConfig,
    OidcConfig,
    OverloadConfig,
    SessionConfig,
    SharedConfig,
    SignInConfig,
    StreamsConfig,
    TargetConfig,
    TlsFiles,
)
from foyer.config.sources import Settings, gather, read_arguments
from foyer.config.values import Address, Origin

__all__ = [
    "REQUIRED",
    "Address",
    "Config",
    "ConfigError",
    "LoginConfig",
    "OidcConfig",
    "Origin",
    "OverloadConfig",
    "Reloaded",
    "SessionConfig",
    "SharedConfig",
    "SignInConfig",
    "StreamsConfig",
    "TargetConfig",
    "TlsFiles",
    "load",
    "load_demo",
    "reloaded",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What a running foyer goes on with, and the flags (as written) whose new values need a restart.

    `signs_in_otherwise` is set where it goes on unchanged, because people could sign in by only one
    of the two configurations: then there is no one flag that needs a restart, but everything does.
    """

    config: Config
    restart: tuple[str, ...] = ()
    signs_in_otherwise: bool = False


def load(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Config:
    """The checked configuration for `serve` and `check`, its files read. Raises `ConfigError`."""
    given = gather(FLAGS, arguments, environment or {})
    signs_in = _signs_in(given)
    settings = Settings(FLAGS, given)
    _check_tls(settings)
    _check_overload(settings)
    return _config(settings.values, _check_sign_in(settings) if signs_in else None)


def reloaded(running: Config, found: Config) -> Reloaded:
    """`running` with all of `found` that may change while it runs: every other flag keeps its value."""
    # Whether anyone can sign in at all is decided at start, with everything that belongs to it.
    if (running.sign_in is None) != (found.sign_in is None):
        return Reloaded(running, signs_in_otherwise=True)
    # Between one server and a file of them all of it needs a restart, as the server alone does.
    moved = (running.values["targets-file"] is None) != (found.values["targets-file"] is None)
    stay = _ONE_SERVER | {"targets-file"} if moved else frozenset[str]()
    kept = [
        flag
        for flag in FLAGS
        if (flag.reload is Reload.RESTART or flag.name in stay)
        and found.values[flag.name] != running.values[flag.name]
    ]
    values = {**found.values, **{flag.name: running.values[flag.name] for flag in kept}}
    if found.sign_in is None:
        return Reloaded(_config(values, None), tuple(str(flag) for flag in kept))
    named = (running if moved else found).sign_in
    assert named is not None, "people sign in by both"
    read = _Read(found.sign_in.login, None if values["targets-file"] is None else named.targets)
    return Reloaded(_config(values, read), tuple(str(flag) for flag in kept))


def load_demo(arguments: Sequence[str]) -> Address:
    """Where `foyer demo` listens: its only flag. Raises `ConfigError`."""
    listen: Address = Settings(DEMO_FLAGS, read_arguments(DEMO_FLAGS, arguments))["listen"]
    return listen


def _signs_in(given: Sources) -> bool:
    """Whether the required flags were given: all, or none and nothing that is of no use without them."""
    required = [flag for flag in FLAGS if flag.required]
    missing = [flag.needed for flag in required if not {flag.name, flag.instead} & given.keys()]
    if not missing:
        return True
    if len(missing) < len(required):
        raise ConfigError(", ".join(missing), "required, and not given")
    for flag in FLAGS:
        if flag.sign_in and flag.name in given:
            problem = f"needs sign-in, which needs {', '.join(missing)}"
            raise ConfigError(str(flag), problem, given[flag.name].source)
    return False


@dataclass(frozen=True, slots=True)
class _Read:
    """What the files say that are configuration themselves. `targets` is None where no file names them."""

    login: LoginConfig
    targets: tuple[TargetConfig, ...] | None


def _config(values: Mapping[str, Any], read: _Read | None) -> Config:
    """The parts, of values that have been checked. Without `read` nobody signs in."""
    cert_file, key_file = values["tls-cert-file"], values["tls-key-file"]
    return Config(
        listen=values["listen"],
        metrics_listen=values["metrics-listen"],
        tls=None if cert_file is None else TlsFiles(cert_file, key_file),
        sign_in=None if read is None else _sign_in(values, read),
        overload=overload.overload(values),
        values=values,
    )


def _sign_in(values: Mapping[str, Any], read: _Read) -> SignInConfig:
    return SignInConfig(
        public_url=values["public-url"],
        oidc=OidcConfig(
            issuer=values["oidc-issuer"],
            client_id=values["oidc-client-id"],
            client_secret_file=values["oidc-client-secret-file"],
            ca_file=values["oidc-ca-file"],
            scopes=values["oidc-scopes"],
        ),
        login=read.login,
        targets=_one_target(values) if read.targets is None else read.targets,
        targets_file=values["targets-file"],
        session=SessionConfig(values["session-keys-file"], values["session-absolute-timeout"]),
        streams=StreamsConfig(
            lenient=values["stream-lenient-ordering"] or frozenset(), shared=_shared(values)
        ),
        limits=bounds.limits(values),
    )


_ONE_SERVER = frozenset(("kubernetes-server", "kubernetes-ca-file", "shared-watch-token-file"))
"""The flags that say of one API server what a targets file says of each."""


def _one_target(values: Mapping[str, Any]) -> tuple[TargetConfig, ...]:
    """What there is with -kubernetes-server."""
    server, ca_file = values["kubernetes-server"], values["kubernetes-ca-file"]
    return (TargetConfig("default", server, ca_file, values["shared-watch-token-file"]),)


def _shared(values: Mapping[str, Any]) -> SharedConfig:
    return SharedConfig(
        resources=values["shared-watch-resources"] or frozenset(),
        recheck_interval=values["shared-watch-recheck-interval"],
        decision_ttl=values["shared-watch-decision-ttl"],
        qps=values["shared-watch-qps"],
    )


# What is in the files.


def _check_tls(settings: Settings) -> None:
    cert_file, key_file = settings["tls-cert-file"], settings["tls-key-file"]
    if cert_file is None and key_file is None:
        return
    if cert_file is None:
        raise ConfigError("-tls-cert-file", "needed beside -tls-key-file: give both or neither")
    if key_file is None:
        raise ConfigError("-tls-key-file", "needed beside -tls-cert-file: give both or neither")
    _check(settings, "tls-cert-file", contents.check_certificates)
    _check(settings, "tls-key-file", lambda file: contents.check_private_key(cert_file, file))


def _check_overload(settings: Settings) -> None:
    if settings["admission-wait"] >= settings["target-timeout"]:
        raise settings.refused("admission-wait", "should be below -target-timeout")
    if settings.given("user-request-burst") and not settings.given("user-request-rate"):
        # Nobody would be held to anything, and whoever gave it believes otherwise.
        raise settings.refused("user-request-burst", "needs -user-request-rate, without which it is nothing")


def _check_shared(settings: Settings) -> None:
    if settings["shared-watch-decision-ttl"] > settings["shared-watch-recheck-interval"]:
        raise settings.refused(
            "shared-watch-decision-ttl", "should not be above -shared-watch-recheck-interval"
        )
    resources, token_file = settings["shared-watch-resources"], settings["shared-watch-token-file"]
    if settings["targets-file"] is None and (resources is None) != (token_file is None):
        given, missing = "-shared-watch-resources", "-shared-watch-token-file"
        if resources is None:
            given, missing = missing, given
        raise ConfigError(missing, f"needed beside {given}: give both or neither")
    _check(settings, "shared-watch-token-file", contents.check_token)


def _check_targets(settings: Settings) -> tuple[TargetConfig, ...] | None:
    if settings["targets-file"] is None:
        return None
    for name in sorted(_ONE_SERVER):
        if settings[name] is not None:
            raise settings.refused(name, "not beside -targets-file, which says it of each target")
    return _check(settings, "targets-file", _targets)


def _check_sign_in(settings: Settings) -> _Read:
    """Looks into every file that signing in needs; those that are read only now are what it returns."""
    _check(settings, "oidc-client-secret-file", lambda file: contents.secret(contents.filled(file)))
    _check(settings, "oidc-ca-file", contents.check_certificates)
    targets = _check_targets(settings)
    _check(settings, "kubernetes-ca-file", contents.check_certificates)
    _check(settings, "session-keys-file", lambda file: contents.check_keys(contents.filled(file)))
    _check_shared(settings)
    return _Read(_check(settings, "login-config-file", _login) or LoginConfig(), targets)


def _targets(file: str) -> tuple[TargetConfig, ...]:
    from foyer.config import document, targets  # as below

    found = targets.parse(contents.read(file, document.MAX_BYTES))
    targets.check_files(found)
    return found


def _login(file: str) -> LoginConfig:
    # Here, so that whoever has no such file, and help, load no YAML.
    from foyer.config import document, login

    return login.parse(contents.read(file, document.MAX_BYTES))


def _check(settings: Settings, name: str, look: Callable[[str], T]) -> T | None:
    """What `look` makes of the file that the flag `name` names, or None where it names none."""
    if settings[name] is None:
        return None
    try:
        return look(settings[name])
    except ValueError as error:
        raise settings.refused(name, f"the file {error}") from None

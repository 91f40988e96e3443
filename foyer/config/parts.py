"""What a configuration is when it has been checked: one frozen value for each room."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foyer.config.values import Address, Origin
from foyer.gate.limits import Limits
from foyer.login.claims import SessionClaims
from foyer.login.parameters import AuthorizationParameters


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
    ca_file: str | None
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """An API server that requests are sent to, and the token of shared watches there, if it has any."""

    name: str
    server: Origin
    ca_file: str | None
    shared_token_file: str | None


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """How sessions are sealed and when they end. `absolute_timeout` is in seconds, at least 1."""

    keys_file: str
    absolute_timeout: float


@dataclass(frozen=True, slots=True)
class LoginConfig:
    """What a login sends to the issuer beside foyer's own parameters, and which claims a session keeps."""

    parameters: AuthorizationParameters = field(default_factory=AuthorizationParameters)
    claims: SessionClaims = field(default_factory=SessionClaims)


@dataclass(frozen=True, slots=True)
class SharedConfig:
    """Which streams read shared watches, and how those who read them are asked about.

    `resources` as kubectl names them: shared at each target that has a token for it. `recheck_interval` (at
    least 1) and `decision_ttl` (at most that) in seconds, `qps` in requests a second.
    """

    resources: frozenset[str]
    recheck_interval: float
    decision_ttl: float
    qps: float


@dataclass(frozen=True, slots=True)
class StreamsConfig:
    """`lenient`: resources, as kubectl names them, whose versions may be without an order."""

    lenient: frozenset[str]
    shared: SharedConfig


@dataclass(frozen=True, slots=True)
class SignInConfig:
    """All that needs the required flags: signing in, and requests as whoever did.

    `targets` are at least one, each with a name of its own, and the first is meant where none is named. They
    are from `targets_file`, or one, from the flags, without it.
    """

    public_url: Origin
    oidc: OidcConfig
    login: LoginConfig
    targets: tuple[TargetConfig, ...]
    targets_file: str | None
    session: SessionConfig
    streams: StreamsConfig
    limits: Limits


@dataclass(frozen=True, slots=True)
class OverloadConfig:
    """The limits of a replica, of a person and of each target (spec 06).

    `retry_after` in whole seconds; `user_rate` in requests a second, None for no limit, in which case
    `user_burst` says nothing; `target_timeout`, `admission_wait` (below it) and `target_wait_threshold` in
    seconds; `max_target_answer_bytes` and `memory_pool` in bytes.
    """

    max_server_requests: int
    retry_after: int
    user_rate: float | None
    user_burst: int
    max_target_in_flight: int
    max_target_answer_bytes: int
    target_timeout: float
    admission_wait: float
    target_wait_threshold: float
    memory_pool: int
    max_fleet_items: int


@dataclass(frozen=True, slots=True)
class Config:
    """Everything `foyer serve` runs with, a part for each room.

    Without `metrics_listen` no metrics are served. `sign_in` is None when none of the required flags was
    given: the start page and the probes only.
    `values` is what the parts were made of, by flag.
    """

    listen: Address
    metrics_listen: Address | None
    tls: TlsFiles | None
    sign_in: SignInConfig | None
    overload: OverloadConfig
    values: Mapping[str, Any] = field(repr=False)

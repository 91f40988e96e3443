"""The whole configuration: what is loaded, and which files are refused at start."""

import base64
import json
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

from foyer.config import (
    Address,
    Config,
    ConfigError,
    LoginConfig,
    OidcConfig,
    Origin,
    OverloadConfig,
    SessionConfig,
    SharedConfig,
    SignInConfig,
    StreamsConfig,
    TargetConfig,
    TlsFiles,
    contents,
    load,
    load_demo,
    memory,
    reloaded,
)
from foyer.config.flags import FLAGS, Flag, Reload
from foyer.gate.limits import Limits


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
        self.write("token", b"the-s3cret\n")
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


def signing_in(config: Config) -> SignInConfig:
    assert config.sign_in is not None
    return config.sign_in


def test_the_least_configuration_has_every_default(place: Place) -> None:
    config = load(place.arguments())
    assert config.listen == Address("", 8080)
    assert config.metrics_listen == Address("", 9090)
    assert config.tls is None
    assert config.sign_in == SignInConfig(
        public_url=Origin("https", "foyer.test", 8443),
        oidc=OidcConfig(
            "https://issuer.test/dex", "foyer", place.path("secret"), None, ("openid", "email", "profile")
        ),
        login=LoginConfig(),
        targets=(TargetConfig("default", Origin("https", "api.test", 6443), None, None),),
        targets_file=None,
        session=SessionConfig(place.path("keys"), 8 * 3600),
        streams=StreamsConfig(frozenset(), SharedConfig(frozenset(), 30, 10, 100)),
        limits=Limits(),
    )
    assert config.overload == OverloadConfig(
        max_server_requests=2000 + 2000 + 512,
        retry_after=1,
        user_rate=None,
        user_burst=20,
        max_target_in_flight=64,
        max_target_answer_bytes=16 * 1024 * 1024,
        target_timeout=30,
        admission_wait=10,
        target_wait_threshold=1,
        memory_pool=memory.available() // 2,
        max_fleet_items=5000,
    )


BOUNDS = {
    "session_request_rate": "0.5",
    "session_request_burst": "2",
    "max_session_concurrent_requests": "3",
    "max_concurrent_requests": "4",
    "max_session_streams": "5",
    "max_streams": "6",
    "max_response_duration": "7s",
    "max_response_bytes": "8KiB",
    "session_check_interval": "9s",
    "stream_write_timeout": "11s",
    "response_write_timeout": "off",
    "auth_request_rate": "12",
    "auth_request_burst": "13",
    "max_token_requests": "14",
}
"""No two alike: each must find its own place."""

OVERLOAD = {
    "max_server_requests": "15",
    "overload_retry_after": "1501ms",
    "user_request_rate": "16.5",
    "user_request_burst": "17",
    "max_target_in_flight": "18",
    "max_target_answer_bytes": "19KiB",
    "target_timeout": "21s",
    "admission_wait": "20s",
    "target_wait_threshold": "22s",
    "memory_pool": "23KiB",
    "max_fleet_items": "24",
}
"""The same of the limits of overload protection and read admission."""


def test_every_flag_finds_its_place(place: Place) -> None:
    config = load(
        place.arguments(
            listen="[::1]:9443",
            metrics_listen="127.0.0.1:9091",
            tls_cert_file=place.path("tls.crt"),
            tls_key_file=place.path("tls.key"),
            oidc_ca_file=place.path("ca.crt"),
            oidc_scopes="openid,groups",
            login_config_file=place.write("login", b"sessionClaims: {groups: /roles}\n"),
            kubernetes_ca_file=place.path("ca.crt"),
            session_absolute_timeout="1h30m",
            **BOUNDS,
            **OVERLOAD,
        )
    )
    assert config.listen == Address("::1", 9443)
    assert config.metrics_listen == Address("127.0.0.1", 9091)
    assert config.tls == TlsFiles(place.path("tls.crt"), place.path("tls.key"))
    found = signing_in(config)
    assert found.oidc.ca_file == found.targets[0].ca_file == place.path("ca.crt")
    assert found.oidc.scopes == ("openid", "groups")
    assert found.login.claims.groups == ("roles",)
    assert found.session.absolute_timeout == 5400
    assert found.limits == Limits(
        session_request_rate=0.5,
        session_request_burst=2,
        max_session_concurrent_requests=3,
        max_concurrent_requests=4,
        max_session_streams=5,
        max_streams=6,
        max_response_duration=7,
        max_response_bytes=8 * 1024,
        session_check_interval=9,
        stream_write_timeout=11,
        response_write_timeout=None,
        auth_request_rate=12,
        auth_request_burst=13,
        max_token_requests=14,
    )
    assert config.overload == OverloadConfig(
        max_server_requests=15,
        retry_after=2,
        user_rate=16.5,
        user_burst=17,
        max_target_in_flight=18,
        max_target_answer_bytes=19 * 1024,
        target_timeout=21,
        admission_wait=20,
        target_wait_threshold=22,
        memory_pool=23 * 1024,
        max_fleet_items=24,
    )


def test_the_same_from_the_environment_or_a_file_is_the_same_configuration(place: Place) -> None:
    config = load(place.arguments())
    variables = {flag.variable: place.flags[flag.name] for flag in FLAGS if flag.name in place.flags}
    assert load([], variables).sign_in == config.sign_in
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in place.flags.items()]
    path = place.write("foyer.yaml", "".join(lines).encode())
    assert load(["-config-file", path]).sign_in == config.sign_in


def test_an_empty_metrics_listener_is_none_from_wherever_it_comes(place: Place) -> None:
    path = place.write("foyer.yaml", b'metrics-listen: ""\n')
    given = (
        load(["-metrics-listen", ""]),
        load([], {"FOYER_METRICS_LISTEN": ""}),
        load(["-config-file", path]),
    )
    assert [config.metrics_listen for config in given] == [None, None, None]
    assert load([]).metrics_listen == Address("", 9090), "without sign-in too"


# Shared watches


def test_shared_watches_are_their_resources_and_a_token(place: Place) -> None:
    config = load(
        place.arguments(
            shared_watch_resources="notes.example.com,configmaps",
            shared_watch_token_file=place.path("token"),
            shared_watch_recheck_interval="1m",
            shared_watch_decision_ttl="1m",
            shared_watch_qps="0.5",
            stream_lenient_ordering="pods",
        )
    )
    shared = SharedConfig(frozenset(("notes.example.com", "configmaps")), 60, 60, qps=0.5)
    assert signing_in(config).streams == StreamsConfig(frozenset(("pods",)), shared)
    assert [target.shared_token_file for target in signing_in(config).targets] == [place.path("token")]


@pytest.mark.parametrize("given", ["shared-watch-resources", "shared-watch-token-file"])
def test_resources_and_token_come_together(place: Place, given: str) -> None:
    both = {"shared-watch-resources": "configmaps", "shared-watch-token-file": place.path("token")}
    with pytest.raises(ConfigError, match=f"needed beside -{given}: give both or neither") as refused:
        load([*place.arguments(), f"-{given}={both[given]}"])
    [missing] = both.keys() - {given}
    assert refused.value.flag == f"-{missing}"


@pytest.mark.parametrize(("recheck", "ttl"), [("30s", "31s"), ("9s", None), ("1s", "1001ms")])
def test_a_decision_holds_no_longer_than_until_it_is_asked_for_again(
    place: Place, recheck: str, ttl: str | None
) -> None:
    given = {} if ttl is None else {"shared_watch_decision_ttl": ttl}
    error = place.refusal(shared_watch_recheck_interval=recheck, **given)
    assert error.flag == "-shared-watch-decision-ttl"
    assert error.message == "should not be above -shared-watch-recheck-interval"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b" \n",
        b"the s3cret",
        b"the-s3cret\nmore",
        b"the-s3cret\n\n",
        b"=",
        b"\xffs3cret",
        b"s3cret\0",
    ],
)
def test_a_token_file_that_holds_no_token_is_refused(place: Place, content: bytes) -> None:
    place.write("token", content)
    error = place.refusal(shared_watch_resources="configmaps", shared_watch_token_file=place.path("token"))
    assert error.flag == "-shared-watch-token-file"


def test_a_token_file_that_is_not_there_is_refused(place: Place) -> None:
    error = place.refusal(shared_watch_resources="configmaps", shared_watch_token_file=place.path("none"))
    assert (error.flag, error.message) == (
        "-shared-watch-token-file",
        "the file cannot be read: no such file or directory",
    )


@pytest.mark.parametrize("content", [b"a.b-c_d~e+f/g==", b"token\n", b"token\r\n"])
def test_a_token_is_a_bearer_token_without_its_newline(content: bytes) -> None:
    assert contents.token(content) == content.strip()


# Without sign-in


REQUIRED = [flag for flag in FLAGS if flag.required]


def test_with_none_of_the_required_flags_nobody_signs_in(place: Place) -> None:
    assert load([]).sign_in is None
    tls = [f"-tls-cert-file={place.path('tls.crt')}", f"-tls-key-file={place.path('tls.key')}"]
    config = load(["-listen=:0", *tls])
    assert (config.listen, config.sign_in) == (Address("", 0), None)
    assert config.tls == TlsFiles(place.path("tls.crt"), place.path("tls.key"))


@pytest.mark.parametrize("flag", REQUIRED, ids=str)
def test_with_some_of_them_the_missing_ones_are_named(place: Place, flag: Flag) -> None:
    missing = [other.needed for other in REQUIRED if other is not flag]
    with pytest.raises(ConfigError, match="required, and not given") as refused:
        load([f"{flag}={place.flags[flag.name]}"])
    assert refused.value.flag == ", ".join(missing)
    rest = {name: value for name, value in place.flags.items() if name != flag.name}
    with pytest.raises(ConfigError, match="required, and not given") as refused:
        load([f"-{name}={value}" for name, value in rest.items()])
    assert refused.value.flag == flag.needed


@pytest.mark.parametrize(
    "flag",
    [flag for flag in FLAGS if flag.sign_in and not flag.required and flag.name != "targets-file"],
    ids=str,
)
def test_a_flag_that_needs_sign_in_is_refused_without_it_wherever_it_comes_from(
    place: Place, flag: Flag
) -> None:
    path = place.write("foyer.yaml", f"{flag.name}: s3cret\n".encode())
    for arguments, environment in (
        ([f"{flag}=s3cret"], {}),
        ([], {flag.variable: "s3cret"}),
        (["-config-file", path], {}),
    ):
        with pytest.raises(ConfigError, match="needs sign-in, which needs -public-url, ") as refused:
            load(arguments, environment)
        assert refused.value.flag == str(flag)
        assert "s3cret" not in str(refused.value)


# The limits of overload protection


def test_what_holds_without_sign_in_is_taken_without_it() -> None:
    config = load(["-max-server-requests=5", "-overload-retry-after=3s"])
    assert (config.sign_in, config.overload.max_server_requests, config.overload.retry_after) == (None, 5, 3)


def test_by_default_a_replica_serves_what_its_bounds_let_be_open_and_512_others(place: Place) -> None:
    config = load(place.arguments(max_concurrent_requests="30", max_streams="7"))
    assert config.overload.max_server_requests == 30 + 7 + 512


@pytest.mark.parametrize("flag", OVERLOAD)
@pytest.mark.parametrize("zero", ["0", "0s", "0KiB", "00", "0.0"])
def test_a_zero_in_any_limit_is_refused_by_name(place: Place, flag: str, zero: str) -> None:
    assert place.refusal(**{flag: zero}).flag == "-" + flag.replace("_", "-")


def test_a_zero_without_sign_in_is_refused_as_well() -> None:
    with pytest.raises(ConfigError) as refused:
        load(["-max-server-requests=0"])
    assert refused.value.flag == "-max-server-requests"


@pytest.mark.parametrize(
    ("wait", "timeout"), [("10s", "10s"), ("30s", None), ("31s", None), (None, "9s"), ("1001ms", "1s")]
)
def test_a_wait_for_admission_that_is_not_below_the_target_timeout_is_refused(
    place: Place, wait: str | None, timeout: str | None
) -> None:
    given = {"admission_wait": wait, "target_timeout": timeout}
    error = place.refusal(**{flag: value for flag, value in given.items() if value is not None})
    assert (error.flag, error.message) == ("-admission-wait", "should be below -target-timeout")


def test_a_rate_for_a_person_has_a_burst_of_20_unless_it_is_said(place: Place) -> None:
    overload = load(place.arguments(user_request_rate="10")).overload
    assert (overload.user_rate, overload.user_burst) == (10, 20)


def test_a_burst_for_a_person_without_a_rate_is_refused_wherever_it_comes_from(place: Place) -> None:
    assert place.refusal(user_request_burst="20").flag == "-user-request-burst"
    with pytest.raises(ConfigError) as refused:
        load(place.arguments(), {"FOYER_USER_REQUEST_BURST": "5"})
    assert (refused.value.flag, refused.value.source) == ("-user-request-burst", "FOYER_USER_REQUEST_BURST")


# Targets


TWO = """
targets:
  - {{name: eu, server: "https://eu.test:6443", caFile: {ca}, sharedWatchTokenFile: {token}}}
  - {{name: us, server: "https://us.test"}}
"""


def two(place: Place) -> str:
    """The path of a file of two targets."""
    return place.write("two", TWO.format(ca=place.path("ca.crt"), token=place.path("token")).encode())


def of_targets(place: Place, path: str, **more: str) -> list[str]:
    """A whole command line with a targets file."""
    arguments = place.arguments(targets_file=path, **more)
    return [argument for argument in arguments if not argument.startswith("-kubernetes-server")]


def test_a_targets_file_stands_in_the_place_of_the_server(place: Place) -> None:
    assert signing_in(load(of_targets(place, two(place)))).targets == (
        TargetConfig("eu", Origin("https", "eu.test", 6443), place.path("ca.crt"), place.path("token")),
        TargetConfig("us", Origin("https", "us.test", 443), None, None),
    )


def test_targets_are_named_once_in_the_file_or_on_the_command_line(place: Place) -> None:
    for flag, value in (
        ("kubernetes-server", "https://s3cret.test"),
        ("kubernetes-ca-file", place.path("ca.crt")),
        ("shared-watch-token-file", place.path("token")),
    ):
        with pytest.raises(ConfigError, match="not beside -targets-file") as refused:
            load([*of_targets(place, two(place)), f"-{flag}={value}"])
        assert refused.value.flag == f"-{flag}"
        assert value not in str(refused.value)


def test_resources_may_be_shared_at_the_targets_that_have_a_token(place: Place) -> None:
    config = load(of_targets(place, two(place), shared_watch_resources="configmaps"))
    assert signing_in(config).streams.shared.resources == {"configmaps"}


def test_a_targets_file_alone_does_not_sign_anyone_in(place: Place) -> None:
    with pytest.raises(ConfigError, match="required, and not given") as refused:
        load([f"-targets-file={two(place)}"])
    assert "-public-url" in refused.value.flag
    assert "-kubernetes-server" not in refused.value.flag


@pytest.mark.parametrize(
    ("entry", "where"),
    [
        ("caFile: {s3cret}", "targets[1].caFile: the file cannot be read: no such file"),
        ("caFile: {token}", "targets[1].caFile: the file should hold at least one certificate"),
        ("caFile: {empty}", "targets[1].caFile: the file is empty"),
        ("sharedWatchTokenFile: {s3cret}", "targets[1].sharedWatchTokenFile: the file cannot be read"),
        (
            "sharedWatchTokenFile: {ca.crt}",
            "targets[1].sharedWatchTokenFile: the file should hold one",
        ),
        ("server: http://s3cret.test", "targets[1].server: "),
    ],
)
def test_what_is_wrong_with_a_target_is_refused_by_its_place_in_the_file(
    place: Place, entry: str, where: str
) -> None:
    place.write("empty", b"")
    key, _, name = entry.partition(": ")
    value = place.path(name[1:-1]) if name.startswith("{") else name
    server = "" if key == "server" else "server: https://us.test, "
    text = f"targets:\n- {{name: eu, server: https://eu.test}}\n- {{name: us, {server}{key}: {value}}}\n"
    with pytest.raises(ConfigError) as refused:
        load(of_targets(place, place.write("targets", text.encode())))
    assert refused.value.flag == "-targets-file"
    assert refused.value.message.startswith(f"the file is wrong at {where}")
    assert "s3cret" not in str(refused.value)


def test_a_reload_takes_the_new_files_targets(place: Place) -> None:
    path = two(place)
    running = load(of_targets(place, path))
    place.write("two", b"targets: [{name: asia, server: https://asia.test}]\n")
    result = reloaded(running, load(of_targets(place, path)))
    assert signing_in(result.config).targets == (
        TargetConfig("asia", Origin("https", "asia.test", 443), None, None),
    )
    assert result.restart == ()


def test_between_one_server_and_a_file_of_them_a_restart_is_needed_either_way(place: Place) -> None:
    one = load(
        place.arguments(shared_watch_resources="configmaps", shared_watch_token_file=place.path("token"))
    )
    several = load(of_targets(place, two(place), oidc_scopes="openid"))
    result = reloaded(one, several)
    assert result.restart == ("-kubernetes-server", "-targets-file", "-shared-watch-token-file")
    assert signing_in(result.config).targets == signing_in(one).targets
    assert signing_in(result.config).oidc.scopes == ("openid",), "the rest holds"
    result = reloaded(several, one)
    assert result.restart == ("-kubernetes-server", "-targets-file", "-shared-watch-token-file")
    assert signing_in(result.config).targets == signing_in(several).targets


def test_a_server_that_waits_for_a_restart_is_still_the_target(place: Place) -> None:
    running = load(place.arguments())
    result = reloaded(running, load(place.arguments(kubernetes_server="https://other.test")))
    assert signing_in(result.config).targets == signing_in(running).targets


# Files


@pytest.mark.parametrize("content", [b"the-s3cret", b"the-s3cret\n", b"the-s3cret\r\n"])
def test_a_newline_at_the_end_is_not_part_of_the_secret(place: Place, content: bytes) -> None:
    place.write("secret", content)
    assert contents.secret(contents.read(place.path("secret"))) == b"the-s3cret"
    load(place.arguments())


def test_a_space_at_the_end_is_part_of_the_secret() -> None:
    assert contents.secret(b"the s3cret \n") == b"the s3cret "


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
    "login_config_file",
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
    ):
        error = place.refusal(**{flag: path})
        assert error.flag == spelled
        assert why in error.message


@pytest.mark.parametrize("flag", [flag for flag in FILE_FLAGS if flag != "login_config_file"])
def test_a_file_that_is_empty_is_refused_where_it_must_hold_something(place: Place, flag: str) -> None:
    assert "is empty" in place.refusal(**{flag: place.write("empty", b"")}).message


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
    assert signing_in(load(place.arguments(oidc_ca_file=bundle))).oidc.ca_file == bundle


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


def test_a_login_configuration_is_refused_by_its_key(place: Place) -> None:
    path = place.write("login", b"authorizationParameters: {state: {default: s3cret}}\n")
    error = place.refusal(login_config_file=path)
    assert error.flag == "-login-config-file"
    assert error.message.startswith("the file is wrong at authorizationParameters.state: ")


def test_a_refused_file_says_where_its_path_came_from(place: Place) -> None:
    with pytest.raises(ConfigError) as refused:
        load(place.arguments(), {"FOYER_OIDC_CA_FILE": place.path("secret")})
    assert (refused.value.flag, refused.value.source) == ("-oidc-ca-file", "FOYER_OIDC_CA_FILE")


# Reloads


OTHER = {
    "stream-lenient-ordering": "notes.example.com",
    "listen": ":9",
    "metrics-listen": "",
    "public-url": "https://other.test",
    "oidc-issuer": "https://other.test",
    "oidc-client-id": "other",
    "oidc-scopes": "openid",
    "kubernetes-server": "https://other.test",
    "session-absolute-timeout": "1h",
    "shared-watch-recheck-interval": "40s",
    "shared-watch-decision-ttl": "9s",
    "shared-watch-qps": "0.5",
    **{name.replace("_", "-"): value for name, value in (BOUNDS | OVERLOAD).items()},
}
"""For each flag another value; for one of a file, a copy of it."""


def other(place: Place, flag: Flag) -> dict[str, str]:
    if flag.name.startswith("tls-"):
        return {
            "tls-cert-file": place.path("tls.crt"),
            "tls-key-file": place.path("tls.key"),
        }
    if flag.name in ("shared-watch-resources", "shared-watch-token-file"):
        return {"shared-watch-resources": "configmaps", "shared-watch-token-file": place.path("token")}
    if flag.name == "user-request-burst":
        return {name: OTHER[name] for name in ("user-request-rate", flag.name)}
    if flag.name == "targets-file":
        return {flag.name: two(place)}
    if flag.name in OTHER:
        return {flag.name: OTHER[flag.name]}
    contents = {"login-config-file": b"sessionClaims: {groups: /roles}", "config-file": b"{}"}
    copies = {"oidc-client-secret-file": "secret", "session-keys-file": "keys"}
    source = Path(place.path(copies.get(flag.name, "ca.crt")))
    return {flag.name: place.write(f"other-{flag.name}", contents.get(flag.name) or source.read_bytes())}


@pytest.mark.parametrize("flag", FLAGS, ids=str)
def test_a_changed_flag_holds_at_once_or_is_named_as_the_table_says(place: Place, flag: Flag) -> None:
    running = load(place.arguments())
    changes = other(place, flag)
    if "targets-file" in changes:
        place.write("one", b"targets: [{name: eu, server: https://eu.test}]")
        running = load(of_targets(place, place.path("one")))
        found = load(of_targets(place, changes["targets-file"]))
    else:
        found = load([f"-{name}={value}" for name, value in (place.flags | changes).items()])
    result = reloaded(running, found)
    if flag.reload is Reload.NOW:
        assert (result.config, result.restart) == (found, ())
        assert found.values != running.values
    else:
        assert result.config == running
        assert result.restart == tuple(f"-{name}" for name in changes)


def test_a_reload_takes_what_it_can_beside_what_needs_a_restart(place: Place) -> None:
    running = load(place.arguments())
    result = reloaded(
        running, load(place.arguments(listen=":9", oidc_scopes="openid", public_url="https://x"))
    )
    assert result.restart == ("-listen", "-public-url")
    assert (result.config.listen, signing_in(result.config).public_url) == (
        running.listen,
        signing_in(running).public_url,
    )
    assert signing_in(result.config).oidc.scopes == ("openid",)
    # And a second reload of the same says so again: it is still not what runs.
    again = reloaded(result.config, load(place.arguments(listen=":9", oidc_scopes="openid")))
    assert again.restart == ("-listen",)


def test_a_file_that_is_kept_for_a_restart_need_not_be_there_any_more(place: Place) -> None:
    tls = {"tls_cert_file": place.path("tls.crt"), "tls_key_file": place.path("tls.key")}
    running = load(place.arguments(**tls))
    for name in ("crt", "key"):
        os.rename(place.path(f"tls.{name}"), place.path(f"new.{name}"))
    moved = {"tls_cert_file": place.path("new.crt"), "tls_key_file": place.path("new.key")}
    result = reloaded(running, load(place.arguments(**moved)))
    assert (result.config.tls, result.restart) == (running.tls, ("-tls-cert-file", "-tls-key-file"))


def test_the_login_file_is_taken_anew_even_when_no_flag_changed(place: Place) -> None:
    path = place.write("login", b"sessionClaims: {groups: /one}")
    running = load(place.arguments(login_config_file=path))
    place.write("login", b"sessionClaims: {groups: /two}")
    result = reloaded(running, load(place.arguments(login_config_file=path)))
    assert signing_in(result.config).login.claims.groups == ("two",)
    assert result.restart == ()


def test_whether_anyone_signs_in_at_all_needs_a_restart_either_way(place: Place) -> None:
    nobody, somebody = load(["-listen=:1"]), load(place.arguments(session_absolute_timeout="1h"))
    result = reloaded(nobody, somebody)
    assert (result.config, result.restart, result.signs_in_otherwise) == (nobody, (), True)
    result = reloaded(somebody, nobody)
    assert (result.config, result.restart, result.signs_in_otherwise) == (somebody, (), True)
    assert not reloaded(somebody, somebody).signs_in_otherwise


def test_the_demonstration_has_one_flag_and_stays_on_this_machine_without_it() -> None:
    assert load_demo([]) == Address("127.0.0.1", 8443)
    assert load_demo(["-listen", "127.0.0.1:0"]) == Address("127.0.0.1", 0)
    with pytest.raises(ConfigError):
        load_demo(["-public-url", "https://foyer.test"])

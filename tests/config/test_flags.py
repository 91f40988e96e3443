"""The table of flags: what every row must be."""

from pathlib import Path

import pytest

from foyer.config.flags import DEMO_FLAGS, FLAGS, Flag, Reload


@pytest.mark.parametrize("flag", [*FLAGS, *DEMO_FLAGS], ids=str)
def test_every_row_has_a_meaning_a_unit_and_a_default_that_parses(flag: Flag) -> None:
    assert flag.help.endswith(".")
    assert flag.kind
    assert not (flag.required and flag.default)
    if flag.default is not None:
        flag.parse(flag.default)


@pytest.mark.parametrize("flag", [*FLAGS, *DEMO_FLAGS], ids=str)
def test_no_flag_but_the_metrics_listener_takes_an_empty_value(flag: Flag) -> None:
    if flag.name == "metrics-listen":
        assert flag.parse("") is None
        return
    with pytest.raises(ValueError, match=r"^should "):
        flag.parse("")


def test_names_are_unique_and_groups_stand_together() -> None:
    names = [flag.name for flag in FLAGS]
    assert len(set(names)) == len(names)
    groups = [flag.group for flag in FLAGS]
    assert groups == sorted(groups, key=groups.index)


def test_variables_are_the_names_in_capitals() -> None:
    variables = {flag.name: flag.variable for flag in FLAGS}
    assert variables["public-url"] == "FOYER_PUBLIC_URL"
    assert len(set(variables.values())) == len(FLAGS)


def test_the_defaults_are_the_documented_ones() -> None:
    assert {flag.name: flag.default for flag in FLAGS if flag.default} == {
        "listen": ":8080",
        "metrics-listen": ":9090",
        "oidc-scopes": "openid,email,profile",
        "session-absolute-timeout": "8h",
        "shared-watch-recheck-interval": "30s",
        "shared-watch-decision-ttl": "10s",
        "shared-watch-qps": "100",
        "session-request-rate": "20",
        "session-request-burst": "100",
        "max-session-concurrent-requests": "64",
        "max-concurrent-requests": "2000",
        "max-session-streams": "32",
        "max-streams": "2000",
        "max-response-duration": "30m",
        "max-response-bytes": "32MiB",
        "session-check-interval": "5s",
        "stream-write-timeout": "10s",
        "response-write-timeout": "60s",
        "auth-request-rate": "50",
        "auth-request-burst": "200",
        "max-token-requests": "16",
        "overload-retry-after": "1s",
        "user-request-burst": "20",
        "max-target-in-flight": "64",
        "max-target-answer-bytes": "16MiB",
        "target-timeout": "30s",
        "admission-wait": "10s",
        "target-wait-threshold": "1s",
        "max-fleet-items": "5000",
    }
    assert [flag.name for flag in FLAGS if flag.derived] == ["max-server-requests", "memory-pool"]
    assert [flag.name for flag in FLAGS if flag.required] == [
        "public-url",
        "oidc-issuer",
        "oidc-client-id",
        "oidc-client-secret-file",
        "kubernetes-server",
        "session-keys-file",
    ]


def test_only_what_begins_anew_with_each_login_or_connection_changes_on_a_reload() -> None:
    assert {flag.name for flag in FLAGS if flag.reload is Reload.NOW} == {
        "oidc-client-secret-file",
        "oidc-ca-file",
        "oidc-scopes",
        "login-config-file",
        "kubernetes-ca-file",
        "targets-file",
        "session-keys-file",
        "session-absolute-timeout",
        "stream-lenient-ordering",
        "shared-watch-resources",
        "shared-watch-token-file",
    }


def test_what_needs_no_sign_in_is_the_listeners_the_file_and_the_limit_of_the_whole_server() -> None:
    assert {flag.name for flag in FLAGS if not flag.sign_in} == {
        "config-file",
        "listen",
        "metrics-listen",
        "tls-cert-file",
        "tls-key-file",
        "max-server-requests",
        "overload-retry-after",
    }
    assert all(flag.sign_in for flag in FLAGS if flag.required)


@pytest.mark.parametrize("flag", FLAGS, ids=str)
def test_every_flag_is_in_the_operators_table_with_its_default_and_what_a_reload_does(flag: Flag) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    rows = [row.split("|") for row in page.splitlines() if row.startswith("| `-")]
    (row,) = [row for row in rows if f"`{flag}`" in row[1]]
    names, defaults = row[1].split(","), [default.strip(" `") for default in row[2].split(",")]
    if len(names) != len(defaults):  # one for all, unless each has its own
        defaults = [row[2].strip(" `")] * len(names)
    told = dict(zip((name.strip(" `") for name in names), defaults, strict=True))
    assert told[str(flag)] == ("required" if flag.required else flag.default or flag.derived or "none")
    assert (row[3].strip() == "now") is (flag.reload is Reload.NOW)

"""The table of flags, and how arguments are read by it."""

from pathlib import Path

import pytest

from foyer.config import values
from foyer.config.flags import DEMO_FLAGS, FLAGS, ConfigError, Flag, parse, read_arguments

TABLE = (
    Flag("listen", "A", "address", values.address, "help", default=":8080"),
    Flag("oidc-client-id", "A", "text", values.client_id, "help", required=True),
    Flag("oidc-scopes", "A", "list", values.scopes, "help"),
    Flag("wait", "A", "duration", values.duration, "help", required=True),
)


def refusal(*arguments: str) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        parse(TABLE, arguments)
    assert refused.value.flag in str(refused.value)
    return refused.value


@pytest.mark.parametrize("spelling", [["-wait", "5s"], ["--wait", "5s"], ["-wait=5s"], ["--wait=5s"]])
def test_one_dash_or_two_and_a_space_or_an_equals_sign_are_alike(spelling: list[str]) -> None:
    assert read_arguments(TABLE, spelling) == {"wait": "5s"}


def test_a_value_may_have_equals_signs_and_begin_with_a_dash() -> None:
    assert read_arguments(TABLE, ["-oidc-client-id=a=b", "-wait", "-5s"]) == {
        "oidc-client-id": "a=b",
        "wait": "-5s",
    }


def test_flags_that_are_not_given_have_their_default_or_none() -> None:
    assert parse(TABLE, ["-oidc-client-id", "foyer", "-wait", "5s"]) == {
        "listen": values.Address("", 8080),
        "oidc-client-id": "foyer",
        "oidc-scopes": None,
        "wait": 5.0,
    }


def test_required_flags_that_are_missing_are_named_together() -> None:
    assert refusal().flag == "-oidc-client-id, -wait"
    assert refusal("-wait=5s").flag == "-oidc-client-id"


def test_an_unknown_flag_is_named_without_its_value_and_with_the_likely_one() -> None:
    error = refusal("-oidc-client-idd=s3cret")
    assert error.flag == "-oidc-client-idd"
    assert "did you mean -oidc-client-id?" in str(error)
    assert "s3cret" not in str(error)


def test_an_unknown_flag_like_no_other_gets_no_guess() -> None:
    assert str(refusal("--zzz")) == "-zzz: no such flag"


@pytest.mark.parametrize("argument", ["extra", "listen=:80", "", "-", "--", "-=", "--=x"])
def test_an_argument_that_is_no_flag_is_refused(argument: str) -> None:
    assert "not a flag" in refusal("-wait=5s", argument).message


def test_what_is_shown_of_an_argument_is_short_and_printable() -> None:
    for argument in ("x\x1b[31m" + "y" * 9000, "-x\x1b[31m" + "y" * 9000):
        error = refusal(argument)
        assert str(error).isprintable()
        assert len(str(error)) < 200


def test_a_flag_given_twice_is_refused() -> None:
    assert str(refusal("-wait=5s", "--wait", "6s")) == "-wait: given twice"


@pytest.mark.parametrize("arguments", [["-wait"], ["-wait", "-listen", ":80"], ["-wait", "--listen=:80"]])
def test_a_flag_without_its_value_is_refused(arguments: list[str]) -> None:
    assert str(refusal(*arguments)) == "-wait: needs a value"


@pytest.mark.parametrize("text", ["", "0s", "-5s", "soon s3cret"])
def test_a_value_that_is_refused_is_not_repeated(text: str) -> None:
    error = refusal("-oidc-client-id=x", f"-wait={text}")
    assert error.flag == "-wait"
    assert error.message.startswith("should be a duration")
    assert "s3cret" not in str(error)


@pytest.mark.parametrize("flag", [*FLAGS, *DEMO_FLAGS], ids=str)
def test_every_row_has_a_meaning_a_unit_and_a_default_that_parses(flag: Flag) -> None:
    assert flag.help.endswith(".")
    assert flag.kind
    assert not (flag.required and flag.default)
    if flag.default is not None:
        flag.parse(flag.default)


@pytest.mark.parametrize("flag", [*FLAGS, *DEMO_FLAGS], ids=str)
def test_no_flag_takes_an_empty_value(flag: Flag) -> None:
    with pytest.raises(ValueError, match=r"^should "):
        flag.parse("")


def test_names_are_unique_and_groups_stand_together() -> None:
    names = [flag.name for flag in FLAGS]
    assert len(set(names)) == len(names)
    groups = [flag.group for flag in FLAGS]
    assert groups == sorted(groups, key=groups.index)


def test_the_defaults_are_the_documented_ones() -> None:
    assert {flag.name: flag.default for flag in FLAGS if flag.default} == {
        "listen": ":8080",
        "oidc-scopes": "openid,email,profile",
        "session-absolute-timeout": "8h",
    }
    assert [flag.name for flag in FLAGS if flag.required] == [
        "public-url",
        "oidc-issuer",
        "oidc-client-id",
        "oidc-client-secret-file",
        "kubernetes-server",
        "session-keys-file",
    ]


@pytest.mark.parametrize("flag", FLAGS, ids=str)
def test_every_flag_is_in_the_operators_table_with_its_default(flag: Flag) -> None:
    page = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    rows = [row.split("|") for row in page.splitlines() if row.startswith("| `-")]
    (default,) = [row[2].strip(" `") for row in rows if f"`{flag}`" in row[1]]
    assert default == ("required" if flag.required else flag.default or "none")

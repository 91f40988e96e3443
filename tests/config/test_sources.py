"""Where values come from: arguments, environment and file, alike for every flag."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.config import values
from foyer.config.flags import CONFIG_FILE, DEMO_FLAGS, FLAGS, ConfigError, Flag
from foyer.config.given import Given
from foyer.config.sources import Settings, gather, read_arguments, read_environment

TABLE = (
    Flag(CONFIG_FILE, "A", "file", values.path, "help"),
    Flag("listen", "A", "address", values.address, "help", default=":8080"),
    Flag("oidc-client-id", "A", "text", values.client_id, "help", required=True),
    Flag("oidc-scopes", "A", "list", values.scopes, "help", many=True),
    Flag("wait", "A", "duration", values.duration, "help", required=True),
)


def refusal(*arguments: str, **environment: str) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        Settings(TABLE, gather(TABLE, arguments, environment))
    assert refused.value.flag in str(refused.value)
    assert "s3cret" not in str(refused.value)
    return refused.value


# Which wins


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.name != CONFIG_FILE], ids=str)
def test_a_flag_wins_over_the_environment_and_that_over_the_file(flag: Flag, tmp_path: Path) -> None:
    path = tmp_path / "foyer.yaml"
    path.write_text(f"{flag.name}: of the file\n")
    arguments, environment = [f"{flag}=of the flag"], {flag.variable: "of the environment"}
    file = {"FOYER_CONFIG_FILE": str(path)}
    assert gather(FLAGS, arguments, environment | file)[flag.name] == Given("of the flag")
    found = gather(FLAGS, [], environment | file)[flag.name]
    assert found == Given("of the environment", flag.variable)
    found = gather(FLAGS, [], file)[flag.name]
    assert found == Given("of the file", f"{flag.name} in {path}")
    assert flag.name not in gather(FLAGS, [], {})


def test_the_file_is_named_by_the_flag_before_the_environment(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"listen: {name}\n")
    environment = {"FOYER_CONFIG_FILE": str(tmp_path / "two")}
    found = gather(FLAGS, ["-config-file", str(tmp_path / "one")], environment)
    assert found["listen"].text == "one"
    assert gather(FLAGS, [], environment)["listen"].text == "two"


def test_what_another_source_overrides_need_not_parse() -> None:
    settings = Settings(TABLE, gather(TABLE, ["-wait=5s"], {"FOYER_WAIT": "never"}))
    assert settings["wait"] == 5.0


def test_flags_that_are_not_given_have_their_default_or_none() -> None:
    settings = Settings(TABLE, gather(TABLE, ["-oidc-client-id", "foyer"], {"FOYER_WAIT": "5s"}))
    assert settings.values == {
        "config-file": None,
        "listen": values.Address("", 8080),
        "oidc-client-id": "foyer",
        "oidc-scopes": None,
        "wait": 5.0,
    }


# Arguments


@pytest.mark.parametrize("spelling", [["-wait", "5s"], ["--wait", "5s"], ["-wait=5s"], ["--wait=5s"]])
def test_one_dash_or_two_and_a_space_or_an_equals_sign_are_alike(spelling: list[str]) -> None:
    assert read_arguments(TABLE, spelling) == {"wait": Given("5s")}


def test_a_value_may_have_equals_signs_and_begin_with_a_dash() -> None:
    assert read_arguments(TABLE, ["-oidc-client-id=a=b", "-wait", "-5s"]) == {
        "oidc-client-id": Given("a=b"),
        "wait": Given("-5s"),
    }


def test_an_unknown_flag_is_named_without_its_value_and_with_the_likely_one() -> None:
    error = refusal("-oidc-client-idd=s3cret")
    assert error.flag == "-oidc-client-idd"
    assert "did you mean -oidc-client-id?" in str(error)


def test_an_unknown_flag_like_no_other_gets_no_guess() -> None:
    assert str(refusal("--zzz")) == "-zzz: no such flag"


@pytest.mark.parametrize(
    "argument",
    [
        "extra",
        "listen=:80",
        "",
        "-",
        "--",
        "-=",
        "--=x",
        "s3cret",
        "client-secret=s3cret",
        "-S3CRET",
        "-s3cret+/",
    ],
)
def test_an_argument_that_is_no_flag_is_refused_by_its_place_alone(argument: str) -> None:
    error = refusal("-oidc-client-id", "foyer", argument)
    assert error.flag == "argument 3, after -oidc-client-id"
    assert error.message.startswith("not a flag, and nothing else is expected")
    assert "s3cret" not in str(error).lower()
    assert refusal(argument).flag == "argument 1"


def test_a_flag_without_its_dash_is_recognized() -> None:
    assert str(refusal("listn=s3cret")).endswith("; did you mean -listen?")
    assert "listn" not in str(refusal("listn=s3cret"))


def test_what_is_shown_of_a_name_is_short_and_printable() -> None:
    long = "x\x1b[31m" + "y" * 9000
    for error in (refusal(long), refusal("-" + long), refusal(**{"FOYER_" + long: "s3cret"})):
        assert str(error).isprintable()
        assert len(str(error)) < 200


def test_a_flag_given_twice_is_refused() -> None:
    assert str(refusal("-wait=5s", "--wait", "6s")) == "-wait: given twice"


@pytest.mark.parametrize("arguments", [["-wait"], ["-wait", "-listen", ":80"], ["-wait", "--listen=:80"]])
def test_a_flag_without_its_value_is_refused(arguments: list[str]) -> None:
    assert str(refusal(*arguments)) == "-wait: needs a value"


@pytest.mark.parametrize("text", ["", "0s", "-5s", "soon s3cret"])
def test_a_value_that_is_refused_is_not_repeated_and_its_source_is_named(text: str) -> None:
    error = refusal(f"-wait={text}")
    assert (error.flag, error.source) == ("-wait", None)
    assert error.message.startswith("should be a duration")
    error = refusal(FOYER_WAIT=text)
    assert (error.flag, error.source) == ("-wait", "FOYER_WAIT")
    assert str(error).endswith("(given as FOYER_WAIT)")


def test_a_flag_of_the_demo_is_no_variable() -> None:
    assert read_arguments(DEMO_FLAGS, ["-listen=:1"]) == {"listen": Given(":1")}


# The environment


def test_an_unknown_variable_is_refused_with_the_likely_one() -> None:
    error = refusal(FOYER_OIDC_CLIENTID="s3cret")
    assert str(error) == "FOYER_OIDC_CLIENTID: no such variable; did you mean FOYER_OIDC_CLIENT_ID?"
    assert str(refusal(FOYER_NOTHING="s3cret")) == "FOYER_NOTHING: no such variable"
    assert str(refusal(FOYER_="s3cret")).startswith("FOYER_: no such variable")


def test_other_peoples_variables_are_nobodys() -> None:
    assert read_environment(TABLE, {"PATH": "/bin", "foyer_wait": "1s", "XFOYER_WAIT": "1s"}) == {}


@pytest.mark.parametrize(
    "variable",
    [
        "FOYER_SERVICE_HOST",
        "FOYER_SERVICE_PORT",
        "FOYER_SERVICE_PORT_HTTPS",
        "FOYER_PORT",
        "FOYER_PORT_8080_TCP",
        "FOYER_PORT_8080_TCP_PROTO",
        "FOYER_PORT_8080_TCP_PORT",
        "FOYER_PORT_8080_TCP_ADDR",
        "FOYER_METRICS_SERVICE_HOST",
        "FOYER_METRICS_PORT_9090_TCP_ADDR",
    ],
)
def test_variables_that_kubernetes_sets_for_a_service_named_foyer_are_left_alone(variable: str) -> None:
    assert read_environment(FLAGS, {variable: "10.0.0.1"}) == {}


@given(
    st.dictionaries(st.text(max_size=20).map(lambda name: "FOYER_" + name), st.text(max_size=20), max_size=3)
)
def test_any_environment_is_read_or_refused(environment: dict[str, str]) -> None:
    refused = ""
    try:
        Settings(TABLE, gather(TABLE, [], environment))
    except ConfigError as error:
        refused = str(error)
    assert refused.isprintable()

"""The configuration file: a key for each flag."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foyer.config.document import MAX_BYTES
from foyer.config.file import read_keys
from foyer.config.flags import CONFIG_FILE, FLAGS, ConfigError, Flag
from foyer.config.sources import gather


def texts(folder: Path, content: str) -> dict[str, str]:
    path = folder / "foyer.yaml"
    path.write_text(content)
    return {name: given.text for name, given in read_keys(FLAGS, str(path)).items()}


def refusal(folder: Path, content: str | bytes) -> ConfigError:
    path = folder / "foyer.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as refused:
        gather(FLAGS, ["-config-file", str(path)], {})
    assert "s3cret" not in str(refused.value)
    return refused.value


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.name != CONFIG_FILE], ids=str)
def test_every_flag_is_a_key_whose_value_is_what_one_would_type(flag: Flag, tmp_path: Path) -> None:
    for text in (":8080", "no", "0123", "1:30", "a b"):
        assert texts(tmp_path, f"{flag.name}: {text}\n") == {flag.name: text}


@pytest.mark.parametrize("written", ["[openid, groups]", "\n  - openid\n  - groups", "openid,groups"])
def test_what_may_be_many_may_be_a_list(tmp_path: Path, written: str) -> None:
    assert texts(tmp_path, f"oidc-scopes: {written}\n") == {"oidc-scopes": "openid,groups"}


def test_a_key_that_is_unknown_is_refused_with_the_file_and_the_likely_one(tmp_path: Path) -> None:
    error = refusal(tmp_path, "public-ulr: s3cret\n")
    assert error.flag == "public-ulr"
    assert str(error) == f"public-ulr: no such key in {tmp_path}/foyer.yaml; did you mean public-url?"


@pytest.mark.parametrize("key", ["-public-url", "FOYER_PUBLIC_URL", "publicUrl", "Public-Url", "config-file"])
def test_no_other_spelling_is_a_key_and_no_file_names_another(tmp_path: Path, key: str) -> None:
    assert refusal(tmp_path, f"{key}: s3cret\n").flag == key


@pytest.mark.parametrize(
    ("content", "flag", "message"),
    [
        ("listen: [s3cret]\n", "-listen", "should be text: one value"),
        ("listen: {s3cret: s3cret}\n", "-listen", "should be text: one value"),
        ("oidc-scopes: {s3cret: 1}\n", "-oidc-scopes", "should be text, or a list of texts"),
        ("oidc-scopes: [[s3cret]]\n", "-oidc-scopes", "should be text: one value"),
        (
            "oidc-scopes: ['openid,s3cret']\n",
            "-oidc-scopes",
            "should be a list of one value each, without commas",
        ),
        ("oidc-scopes: [openid, ~]\n", "-oidc-scopes", "needs a value"),
        ("listen:\n", "-listen", "needs a value"),
        ("listen: null\n", "-listen", "needs a value"),
    ],
)
def test_a_value_of_another_type_is_refused_by_flag_key_and_file(
    tmp_path: Path, content: str, flag: str, message: str
) -> None:
    error = refusal(tmp_path, content)
    assert (error.flag, error.message) == (flag, message)
    assert error.source == f"{flag[1:]} in {tmp_path}/foyer.yaml"


@pytest.mark.parametrize(
    "content", ["s3cret", "- s3cret\n", "a: &s3cret b\n", "listen: a\nlisten: s3cret\n", "a: {"]
)
def test_what_is_no_such_file_is_refused_as_the_flag(tmp_path: Path, content: str) -> None:
    error = refusal(tmp_path, content)
    assert error.flag == "-config-file"
    assert error.message.startswith("the file ")


@pytest.mark.parametrize("content", ["", "\n", "# listen: :80\n", "---\n# listen: :80\n", "{}"])
def test_a_file_of_comments_gives_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "foyer.yaml"
    path.write_text(content)
    assert gather(FLAGS, ["-config-file", str(path)], {}).keys() == {"config-file"}


def test_a_key_given_twice_is_named(tmp_path: Path) -> None:
    assert "line 2: the key listen is given twice" in str(refusal(tmp_path, "listen: a\nlisten: s3cret\n"))


def test_a_file_that_is_missing_a_folder_or_too_large_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "s3cret", tmp_path):
        with pytest.raises(ConfigError, match=r"^-config-file: the file ") as refused:
            gather(FLAGS, ["-config-file", str(path)], {})
        assert str(tmp_path) not in str(refused.value)
    assert "larger than" in str(refusal(tmp_path, b"#" * (MAX_BYTES + 1)))


def test_a_file_named_by_the_environment_is_refused_as_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        gather(FLAGS, [], {"FOYER_CONFIG_FILE": str(tmp_path)})
    assert (refused.value.flag, refused.value.source) == ("-config-file", "FOYER_CONFIG_FILE")


def test_a_name_of_a_file_is_shown_short_and_printable(tmp_path: Path) -> None:
    path = tmp_path / ("\x1b[31m" + "y" * 240)
    path.write_text("nobodys: s3cret\n")
    with pytest.raises(ConfigError) as refused:
        gather(FLAGS, ["-config-file", str(path)], {})
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


KEYS = st.sampled_from([flag.name for flag in FLAGS])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=60),
        st.tuples(KEYS, st.text(":[]{}-&*!'\"#|>~, ab\n\t", max_size=20)).map(
            lambda pair: f"{pair[0]}: {pair[1]}".encode()
        ),
    )
)
def test_any_bytes_are_keys_of_flags_or_a_refusal_that_names_what(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    refused = "-"
    try:
        assert gather(FLAGS, ["-config-file", str(path)], {}).keys() <= {flag.name for flag in FLAGS}
    except ConfigError as error:
        refused = str(error)
    assert refused.isprintable()

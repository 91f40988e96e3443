"""The login configuration file, key by key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.config.login import MAX_ALLOWED_VALUES, MAX_PARAMETERS, parse
from foyer.config.parts import LoginConfig
from foyer.login.claims import SessionClaims
from foyer.login.parameters import OWN, Parameter


def refusal(text: str) -> str:
    """What is refused, and why: `key: problem`."""
    with pytest.raises(ValueError, match=r"^is wrong at ") as refused:
        parse(text.encode())
    assert "s3cret" not in str(refused.value)
    return str(refused.value).removeprefix("is wrong at ")


def parameter(members: str, name: str = "prompt") -> str:
    return f"authorizationParameters: {{{name}: {members}}}\n"


@pytest.mark.parametrize(
    "text",
    ["", "# sessionClaims:\n", "authorizationParameters:\n  # prompt: {default: login}\nsessionClaims: ~\n"],
)
def test_what_is_all_comments_configures_nothing(text: str) -> None:
    assert parse(text.encode()) == LoginConfig()


def test_the_spec_s_example_is_read_as_it_says() -> None:
    found = parse(b"""
authorizationParameters:
  connector_id: {default: audience, allowFromRequest: true, allowedValues: [audience, operator]}
  login_hint: {allowFromRequest: true}
sessionClaims:
  displayName: /name
  groups: /groups
  connector: /federated_claims/connector_id
""")
    assert found.parameters.configured == {
        "connector_id": Parameter("audience", True, ("audience", "operator")),
        "login_hint": Parameter(None, True, None),
    }
    assert found.claims == SessionClaims(("name",), ("groups",), ("federated_claims", "connector_id"))


@pytest.mark.parametrize("text", ["{}", "authorizationParameters: {}", "sessionClaims: {}"])
def test_what_is_left_out_has_its_default(text: str) -> None:
    assert parse(text.encode()) == LoginConfig()


def test_a_link_gives_no_value_unless_it_is_allowed() -> None:
    found = parse(parameter("{default: login}").encode())
    assert found.parameters.configured == {"prompt": Parameter("login", False, None)}


@pytest.mark.parametrize("written", ["5", "no", "true", '"5"', "0123"])
def test_a_value_is_the_text_that_was_written(written: str) -> None:
    found = parse(parameter(f"{{default: {written}}}").encode())
    assert found.parameters.configured["prompt"].default == written.strip('"')


@pytest.mark.parametrize("name", sorted(OWN))
def test_foyers_own_parameters_cannot_be_configured_in_any_case(name: str) -> None:
    for spelled in (name, name.upper(), name.title()):
        problem = refusal(parameter("{default: s3cret}", spelled))
        assert problem.startswith(f"authorizationParameters.{spelled}: ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("sessionclaims: {}", "sessionclaims"),
        ("authorizationParameters: [s3cret]", "authorizationParameters"),
        ("sessionClaims: s3cret", "sessionClaims"),
        ("sessionClaims: {name: s3cret}", "sessionClaims.name"),
        ("sessionClaims: {groups: s3cret}", "sessionClaims.groups"),
        ("sessionClaims: {groups: /s3cret~}", "sessionClaims.groups"),
        ("sessionClaims: {groups: [/s3cret]}", "sessionClaims.groups"),
        ("sessionClaims: {connector: }", "sessionClaims.connector"),
        ("sessionClaims: {displayName: ''}", "sessionClaims.displayName"),
        (parameter("s3cret"), "authorizationParameters.prompt"),
        (parameter(""), "authorizationParameters.prompt"),
        (parameter("{}"), "authorizationParameters.prompt"),
        (parameter("{allowFromRequest: false}"), "authorizationParameters.prompt"),
        (parameter("{values: s3cret}"), "authorizationParameters.prompt.values"),
        (parameter("{default: }"), "authorizationParameters.prompt.default"),
        (parameter("{default: ''}"), "authorizationParameters.prompt.default"),
        (parameter("{default: [s3cret]}"), "authorizationParameters.prompt.default"),
        (parameter('{default: "s3cret\\n"}'), "authorizationParameters.prompt.default"),
        (parameter('{default: "s3cret\\ud800"}'), "authorizationParameters.prompt.default"),
        (parameter("{default: a, allowedValues: [s3cret]}"), "authorizationParameters.prompt.default"),
        (parameter("{allowFromRequest: s3cret}"), "authorizationParameters.prompt.allowFromRequest"),
        (parameter("{allowFromRequest: 'true'}"), "authorizationParameters.prompt.allowFromRequest"),
        (parameter("{allowFromRequest: 1}"), "authorizationParameters.prompt.allowFromRequest"),
        (parameter("{allowFromRequest: }"), "authorizationParameters.prompt.allowFromRequest"),
        (parameter("{default: a, allowedValues: s3cret}"), "authorizationParameters.prompt.allowedValues"),
        (parameter("{default: a, allowedValues: []}"), "authorizationParameters.prompt.allowedValues"),
        (parameter("{default: a, allowedValues: [a, a]}"), "authorizationParameters.prompt.allowedValues"),
        (
            parameter("{default: a, allowedValues: [a, '']}"),
            "authorizationParameters.prompt.allowedValues[1]",
        ),
        (parameter("{default: a}", "'a b'"), "authorizationParameters.a b"),
        (parameter("{default: a}", "oidc%2Ex"), "authorizationParameters.oidc%2Ex"),
    ],
)
def test_a_refusal_names_the_key(text: str, key: str) -> None:
    assert refusal(text).startswith(key)


def test_an_unknown_key_gets_a_guess() -> None:
    assert refusal("sessionclaims: {}").endswith("no such key; did you mean sessionClaims?")
    assert "did you mean allowedValues?" in refusal(parameter("{default: a, allowedvalues: []}"))


def test_lengths_and_numbers_have_bounds() -> None:
    parse(parameter(f"{{default: {'a' * 512}}}").encode())
    refusal(parameter(f"{{default: {'a' * 513}}}"))
    values = [f"v{number}" for number in range(MAX_ALLOWED_VALUES + 1)]
    parse(parameter(f"{{allowFromRequest: true, allowedValues: [{', '.join(values[1:])}]}}").encode())
    refusal(parameter(f"{{allowFromRequest: true, allowedValues: [{', '.join(values)}]}}"))
    names = [f"p{number}: {{default: a}}" for number in range(MAX_PARAMETERS + 1)]
    parse(f"authorizationParameters: {{{', '.join(names[1:])}}}".encode())
    refusal(f"authorizationParameters: {{{', '.join(names)}}}")


KEYS = (
    *("authorizationParameters", "sessionClaims", "default", "allowFromRequest", "allowedValues"),
    *("groups", "connector", "state", "prompt"),
)

NODES = st.recursive(
    st.sampled_from(["a", "''", "true", "~", "/name", "5", "&x y", "!t z"]),
    lambda nodes: st.one_of(
        st.lists(nodes, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.lists(
            st.tuples(
                st.sampled_from(KEYS),
                nodes,
            ),
            max_size=3,
        ).map(lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"),
    ),
    max_leaves=8,
)


@given(NODES)
def test_any_document_is_a_configuration_or_a_refusal(text: str) -> None:
    try:
        found = parse(text.encode())
    except ValueError:
        return
    for name, one in found.parameters.configured.items():
        assert name.lower() not in OWN
        assert one.default is not None or one.allow_from_request
        assert one.default is None or one.allowed_values is None or one.default in one.allowed_values

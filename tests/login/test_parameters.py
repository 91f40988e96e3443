"""Login parameters: what a link may ask for, rule by rule."""

import asyncio
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.ports import Answer
from foyer.login import query
from foyer.login.flow import LoginSettings
from foyer.login.parameters import (
    OWN,
    AuthorizationParameters,
    Parameter,
    ParameterFault,
    RequestedParameters,
)
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.protocol.events import RequestHead
from tests.login.issuers import ISSUER, ORIGIN, World, refusal

CONFIGURED = AuthorizationParameters(
    {
        "connector_id": Parameter("audience", True, ("audience", "operator", "a b&c=d")),
        "login_hint": Parameter(None, True),
        "prompt": Parameter("login", False),
        "audience": Parameter("https://api", False, ("https://api", "other")),
    }
)

DEFAULTS = {"connector_id": "audience", "prompt": "login", "audience": "https://api"}


def asked(text: str) -> RequestedParameters | ParameterFault:
    read = query.read(b"/auth/login?" + text.encode())
    assert read is not None
    return CONFIGURED.requested(read)


def sent(text: str) -> dict[str, str] | None:
    requested = asked(text)
    return None if isinstance(requested, ParameterFault) else requested.sent


# What is sent


def test_without_a_value_the_defaults_are_sent_and_nothing_else() -> None:
    assert sent("") == sent("return_to=/a") == DEFAULTS


def test_a_value_replaces_its_default() -> None:
    assert sent("oidc.connector_id=operator") == DEFAULTS | {"connector_id": "operator"}


def test_a_parameter_without_a_list_takes_any_value() -> None:
    for value in ("ada@example.test", " ", "é", "%", "a=b&c", "\x00"):
        assert sent("oidc.login_hint=" + quote(value, safe="")) == DEFAULTS | {"login_hint": value}


def test_nothing_is_sent_where_nothing_is_configured() -> None:
    assert AuthorizationParameters().requested([]) == RequestedParameters({}, {})
    assert AuthorizationParameters().requested([(b"oidc.prompt", b"none")]) is ParameterFault.UNKNOWN


@pytest.mark.parametrize("text", ["connector_id=x", "oidc=x", "OIDC.connector_id=x", "xoidc.connector_id=x"])
def test_what_is_not_an_oidc_parameter_is_nobodys(text: str) -> None:
    assert sent(text) == DEFAULTS


# What is refused


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("oidc.acr_values=x", "unknown"),
        ("oidc.", "unknown"),
        ("oidc.Connector_id=operator", "unknown"),
        ("oidc.connector_id%20=operator", "unknown"),
        ("oidc%2Eacr_values=x", "unknown"),
        ("oidc.prompt=login", "not-from-link"),  # the configuration's alone, even with the same value
        ("oidc.audience=other", "not-from-link"),  # and even with one of its list
        ("oidc.connector_id=admin", "not-listed"),
        ("oidc.connector_id=Operator", "not-listed"),
        ("oidc.connector_id=operator+", "not-listed"),
        ("oidc.connector_id=operator&oidc.connector_id=operator", "repeated"),
        ("oidc.connector_id=operator&oidc.connector%5Fid=audience", "repeated"),
        ("oidc.connector_id=", "empty"),
        ("oidc.connector_id", "empty"),
        ("oidc.login_hint=" + "a" * 513, "too-long"),
        ("oidc.login_hint=" + "a" * 1100, "too-long"),
        ("oidc.acr_values=%FF", "unreadable"),
        ("oidc.%FF=x", "unreadable"),
    ],
)
def test_anything_else_refuses_the_whole_link_and_says_by_what(text: str, cause: str) -> None:
    assert asked(text) is ParameterFault(cause)
    assert sent(f"oidc.login_hint=ada&{text}") is None


@pytest.mark.parametrize("name", sorted(OWN))
def test_no_link_sets_what_is_foyers_own(name: str) -> None:
    assert sent(f"oidc.{name}=x") is None


def test_a_value_has_at_most_512_bytes() -> None:
    assert sent("oidc.login_hint=" + "a" * 512) is not None
    assert sent("oidc.login_hint=" + "a" * 513) is None
    assert sent("oidc.login_hint=" + "%C3%A9" * 256) is not None
    assert sent("oidc.login_hint=" + "%C3%A9" * 256 + "a") is None


def test_names_and_values_have_at_most_1024_bytes_in_all() -> None:
    parameters = AuthorizationParameters({name * 100: Parameter(None, True) for name in "ab"})

    def taken(last: int) -> bool:
        pairs = [(b"oidc." + b"a" * 100, b"v" * 512), (b"oidc." + b"b" * 100, b"v" * last)]
        return isinstance(parameters.requested(pairs), RequestedParameters)

    assert taken(312)
    assert not taken(313)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"oidc.connector_id", b"oidc.login_hint", b"oidc.prompt", b"oidc.x", b"other"]),
            st.one_of(st.binary(max_size=20), st.sampled_from([b"operator", b"audience"])),
        ),
        max_size=4,
    )
)
def test_only_configured_names_are_ever_sent_each_with_a_value_it_allows(
    pairs: list[tuple[bytes, bytes]],
) -> None:
    requested = CONFIGURED.requested(pairs)
    if isinstance(requested, ParameterFault):
        return
    for name, value in requested.sent.items():
        parameter = CONFIGURED.configured[name]
        assert value == parameter.default or parameter.fault(value) is None
    assert "login_hint" not in requested.listed
    assert requested.listed.items() <= requested.sent.items()


# In the flow


def world() -> World:
    return World(LoginSettings(ORIGIN, ("openid",), 28_800.0, parameters=CONFIGURED)).discover()


def start(world: World, text: str) -> Answer | RefusedLogin:
    return world.login.start(RequestHead(b"GET", f"/auth/login?{text}".encode(), []), world.clock())


def test_a_value_is_encoded_once_and_otherwise_unchanged() -> None:
    answer = start(world(), "oidc.connector_id=a+b%26c%3Dd&oidc.login_hint=%2B%2525%20%C3%A9")
    assert isinstance(answer, Answer)
    location = dict(answer.fields)[b"location"].decode()
    assert location.startswith(ISSUER + "/auth?")
    asked = parse_qsl(urlsplit(location).query, strict_parsing=True)
    assert [value for name, value in asked if name == "connector_id"] == ["a b&c=d"]
    assert [value for name, value in asked if name == "login_hint"] == ["+%25 é"]
    assert len({name for name, _ in asked}) == len(asked)


@pytest.mark.parametrize(
    "text",
    [
        "oidc.s3cret=s3cret",
        "oidc.prompt=s3cret",
        "oidc.connector_id=s3cret",
        "oidc.login_hint=s3cret&oidc.login_hint=s3cret",
        "oidc.login_hint=s3cret&a=%zz",
    ],
)
def test_a_refused_link_sends_nothing_and_its_values_are_neither_shown_nor_logged(text: str) -> None:
    where = world()
    before = list(where.provider.asked)
    refused = refusal(start(where, f"return_to=/a&oidc.connector_id=operator&{text}"))
    assert refused.reason is LoginReason.LOGIN_PARAMETER_REFUSED
    assert (refused.reason.word, refused.reason.status) == ("login-parameter-refused", 400)
    assert "s3cret" not in repr(refused)
    assert "operator" not in repr(refused)
    assert refused.cause in {fault.value for fault in ParameterFault}
    assert refused.message.startswith("The sign-in link ")
    assert where.provider.asked == before
    assert "s3cret" not in repr(where.log.lines)


@pytest.mark.parametrize("query", ["error=access_denied&state={state}", "state={state}"])
def test_a_retry_link_repeats_listed_values_and_never_a_free_one(query: str) -> None:
    where = world()
    browser = where.browser()
    answer = start(where, "return_to=/a&oidc.connector_id=a%20b%26c%3Dd&oidc.login_hint=ada")
    assert isinstance(answer, Answer)
    browser.keep(answer.fields)
    state = dict(parse_qsl(urlsplit(dict(answer.fields)[b"location"].decode()).query))["state"]
    outcome = browser.callback(query.replace("{state}", state))
    retry = refusal(outcome).retry
    assert retry == "/auth/login?return_to=/a&oidc.connector_id=a+b%26c%3Dd"
    again = start(where, retry.partition("?")[2])
    assert isinstance(again, Answer)
    assert "connector_id=a+b%26c%3Dd" in dict(again.fields)[b"location"].decode()


def test_before_discovery_the_retry_link_repeats_listed_values_too() -> None:
    where = World(LoginSettings(ORIGIN, ("openid",), 28_800.0, parameters=CONFIGURED))
    refused = refusal(start(where, "oidc.connector_id=operator&oidc.login_hint=ada"))
    assert refused.reason is LoginReason.ISSUER_UNAVAILABLE
    assert refused.retry == "/auth/login?oidc.connector_id=operator"


def test_other_settings_hold_for_the_next_login() -> None:
    where = world()
    assert isinstance(start(where, "oidc.connector_id=operator"), Answer)
    where.login.settings = LoginSettings(ORIGIN, ("openid", "groups"), 60.0)
    assert isinstance(start(where, "oidc.connector_id=operator"), RefusedLogin)
    answer = start(where, "")
    assert isinstance(answer, Answer)
    assert b"scope=openid+groups" in dict(answer.fields)[b"location"]


def test_the_longest_return_path_leaves_no_room_for_parameters_and_the_login_still_succeeds() -> None:
    values = tuple(letter * 500 for letter in "ab")
    parameters = AuthorizationParameters({name: Parameter(None, True, values) for name in ("one", "two")})
    where = World(LoginSettings(ORIGIN, ("openid",), 28_800.0, parameters=parameters)).discover()
    for path, repeated in (("/" + "p" * 2047, False), ("/" + "p" * 500, True)):
        browser = where.browser()
        answer = start(where, f"return_to={path}&oidc.one={values[0]}&oidc.two={values[1]}")
        assert isinstance(answer, Answer)
        browser.keep(answer.fields)
        ((name, value),) = browser.jar.items()
        assert len(name) + len(value) < 3100
        asked = dict(parse_qsl(urlsplit(dict(answer.fields)[b"location"].decode()).query))
        outcome = asyncio.run(
            browser.callback_of(browser.head(f"/auth/callback?error=x&state={asked['state']}"))
        )
        assert ("oidc.one" in refusal(outcome).retry) is repeated

"""Logins in progress, sealed into the browser's cookies."""

from hypothesis import given
from hypothesis import strategies as st

from foyer.login.progress import COOKIE_PREFIX, LIFETIME, LoginInProgress, LoginSeal, begun, cookie_name

SEAL = LoginSeal()

PATHS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=60).map(
    lambda rest: b"/" + rest.encode()
)


@given(PATHS, st.floats(0, 1e11))
def test_what_is_sealed_opens_under_its_own_name(path: bytes, now: float) -> None:
    login = begun(path, now)
    name, value = SEAL.seal(login)
    assert SEAL.open(name.encode(), value.encode()) == login
    assert SEAL.open(cookie_name(b"another").encode(), value.encode()) is None


LISTED = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True),
    st.text(min_size=1, max_size=60).filter(str.isprintable),
    max_size=4,
)


@given(LISTED)
def test_listed_parameters_come_back_as_they_were(listed: dict[str, str]) -> None:
    login = begun(b"/", 0.0, listed)
    name, value = SEAL.seal(login)
    assert SEAL.open(name.encode(), value.encode()) == login


def test_another_process_opens_nothing() -> None:
    name, value = SEAL.seal(begun(b"/", 0.0))
    assert LoginSeal().open(name.encode(), value.encode()) is None


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_no_character_can_be_another(at: int, character: int) -> None:
    at %= len(VALUE)
    value = VALUE[:at] + bytes([character]) + VALUE[at + 1 :]
    assert value == VALUE or SEAL.open(NAME, value) is None


NAME, VALUE = (text.encode() for text in SEAL.seal(begun(b"/a", 0.0)))


@given(st.binary(max_size=80))
def test_hostile_values_never_raise_and_never_open(value: bytes) -> None:
    assert SEAL.open(NAME, value) is None


def test_a_login_has_ten_minutes_and_secrets_of_its_own() -> None:
    one, other = begun(b"/", 5.0), begun(b"/", 5.0)
    assert one.expires_at == 5.0 + LIFETIME == 605.0
    secrets = {one.state, one.nonce, one.verifier, other.state, other.nonce, other.verifier}
    assert len(secrets) == 6
    assert all(len(secret) == 43 for secret in secrets)


def test_any_state_makes_a_safe_cookie_name() -> None:
    for state in (b"", b"; Domain=e", b"\xff\n", b"x" * 9000):
        name = cookie_name(state)
        assert name.startswith(COOKIE_PREFIX)
        assert len(name) == len(COOKIE_PREFIX) + 22
        assert name.replace("-", "").replace("_", "").isalnum()


def test_no_repr_shows_a_login() -> None:
    login = LoginInProgress("the-state", "the-nonce", "the-verifier", b"/", 0.0)
    assert "the-" not in repr(login)

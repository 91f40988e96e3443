"""When a session ends."""

from hypothesis import given
from hypothesis import strategies as st

from foyer.protocol.events import Fields
from foyer.session.live import end, is_live, presented, signed_in
from foyer.session.seal import COOKIE, Session, seal
from tests.session.sessions import ALICE, KEYRING, SESSIONS

HOUR = 3600.0
ALICE_LASTS = float(ALICE.ends_at - ALICE.issued_at)


def test_a_session_is_over_from_the_second_it_ends() -> None:
    assert is_live(ALICE, ALICE.ends_at - 0.001, ALICE_LASTS)
    assert not is_live(ALICE, ALICE.ends_at, ALICE_LASTS)


def test_lowering_the_timeout_shortens_sessions_already_issued() -> None:
    assert end(ALICE, HOUR) == ALICE.issued_at + 3600
    assert is_live(ALICE, ALICE.issued_at + 3599.9, HOUR)
    assert not is_live(ALICE, ALICE.issued_at + 3600, HOUR)


@given(SESSIONS, st.floats(1, 1e9), st.floats(1, 1e9))
def test_no_timeout_lengthens_a_session(session: Session, one: float, other: float) -> None:
    assert end(session, one) <= session.ends_at
    assert end(session, min(one, other)) <= end(session, max(one, other))


def head(*values: str) -> Fields:
    return [(b"cookie", f"theme=dark; {COOKIE}={value}".encode()) for value in values]


def test_a_request_with_one_live_session_is_signed_in() -> None:
    sealed = head(seal(ALICE, KEYRING))
    assert signed_in(sealed, KEYRING, ALICE.issued_at, HOUR) == ALICE


def test_a_session_that_ended_signs_nobody_in_but_is_still_known() -> None:
    sealed = head(seal(ALICE, KEYRING))
    assert signed_in(sealed, KEYRING, ALICE.ends_at, 2 * ALICE_LASTS) is None
    assert presented(sealed, KEYRING) == ALICE


def test_no_cookie_two_cookies_and_a_foreign_one_sign_nobody_in() -> None:
    sealed = seal(ALICE, KEYRING)
    for fields in (head(), head(sealed, sealed), head("x")):
        assert signed_in(fields, KEYRING, ALICE.issued_at, HOUR) is None

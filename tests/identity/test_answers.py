"""What whoami and the check say of somebody, and what they never say."""

import base64
import json

import pytest

from foyer.identity import answers
from foyer.interruption import Reason
from foyer.session.seal import IdToken, Session, SessionID

TIMEOUT = 3600.0


def session(connector: str | None = None) -> Session:
    return Session(
        issuer="https://issuer.test",
        subject="subject",
        email="ada@example.test",
        display_name="Ada Ä",
        groups=("g",),
        connector=connector,
        id_token=IdToken(b"the.id.token"),
        session_id=SessionID("the-session-id"),
        csrf_token="the-csrf-token",
        issued_at=1_000_000_000,
        ends_at=1_000_010_000,
    )


def identity(user_info: dict[str, object], of: Session | None = None) -> tuple[bytes, dict[str, object]]:
    """The header's value, and what it holds."""
    answer = answers.identified(user_info, of or session(), TIMEOUT)
    assert answer is not None
    assert (answer.status, answer.content) == (204, b"")
    [value] = [value for name, value in answer.fields if name == b"krm-foyer-identity"]
    content: dict[str, object] = json.loads(base64.urlsafe_b64decode(value + b"=" * (-len(value) % 4)))
    return value, content


def test_whoami_is_user_info_issuer_and_end() -> None:
    answer = answers.whoami({"username": "ä"}, session(), TIMEOUT)
    assert json.loads(answer.content) == {
        "userInfo": {"username": "ä"},
        "issuer": "https://issuer.test",
        "expiresAt": "2001-09-09T02:46:40Z",
    }
    assert (b"cache-control", b"no-store") in answer.fields


@pytest.mark.parametrize("connector", [None, "staff"])
def test_the_identity_is_all_that_an_application_needs(connector: str | None) -> None:
    _, content = identity({"username": "ä"}, session(connector=connector))
    assert content == {
        "userInfo": {"username": "ä"},
        "displayName": "Ada Ä",
        **({} if connector is None else {"connector": connector}),
        "issuer": "https://issuer.test",
        "expiresAt": "2001-09-09T02:46:40Z",
    }


def test_the_identity_is_one_word_of_base64url() -> None:
    value, _ = identity({"username": 'a\r\nb: c", ' + "\U0001f600"})
    assert set(value) <= set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_neither_has_a_token_or_the_sessions_id() -> None:
    _, content = identity({"username": "a"})
    for text in (json.dumps(content).encode(), answers.whoami({"username": "a"}, session(), TIMEOUT).content):
        for secret in (b"the.id.token", b"the-session-id", b"the-csrf-token"):
            assert secret not in text


def test_the_end_is_the_shortened_one() -> None:
    answer = answers.whoami({"username": "a"}, session(), 60.0)
    assert json.loads(answer.content)["expiresAt"] == "2001-09-09T01:47:40Z"


def test_an_identity_that_fits_into_no_header_is_not_cut_but_refused() -> None:
    value, _ = identity({"username": "a"})
    room = (answers.MAX_IDENTITY_BYTES - len(value)) * 3 // 4
    assert len(identity({"username": "a" * (room + 1)})[0]) <= answers.MAX_IDENTITY_BYTES
    assert answers.identified({"username": "a" * (room + 4)}, session(), TIMEOUT) is None


def test_without_an_answer_it_is_a_503_of_a_kind() -> None:
    interruption = answers.unavailable("status_500")
    assert (interruption.reason, interruption.failure) == (Reason.IDENTITY_UNAVAILABLE, "status_500")
    assert (interruption.reason.word, interruption.reason.status) == ("IdentityUnavailable", 503)

"""One sentence for every reason, and one for each cause that a person can do something about."""

import pytest

from foyer.login.claims import ClaimFault
from foyer.login.parameters import ParameterFault
from foyer.login.refusal import LoginReason
from foyer.login.sentences import bytes_over, refused

EXPLAINED = {
    LoginReason.LOGIN_PARAMETER_REFUSED: [fault.value for fault in ParameterFault],
    LoginReason.SESSION_CLAIMS_INVALID: [fault.value for fault in ClaimFault],
}


def is_a_sentence(text: str) -> bool:
    return text[0].isupper() and text.endswith(".") and text.isprintable()


def test_every_reason_has_a_sentence_of_its_own() -> None:
    sentences = [refused(reason).message for reason in LoginReason]
    assert all(map(is_a_sentence, sentences))
    assert len(set(sentences)) == len(LoginReason)


@pytest.mark.parametrize("reason", EXPLAINED)
def test_every_cause_of_a_link_or_a_claim_has_a_sentence_of_its_own(reason: LoginReason) -> None:
    causes = EXPLAINED[reason]
    refusals = [refused(reason, cause=cause) for cause in causes]
    assert [refusal.cause for refusal in refusals] == causes
    assert all(is_a_sentence(refusal.message) for refusal in refusals)
    assert len({refused(reason).message, *(refusal.message for refusal in refusals)}) == len(causes) + 1


def test_how_much_too_large_a_session_is_stands_in_the_sentence() -> None:
    assert refused(LoginReason.SESSION_TOO_LARGE, cause=bytes_over(12)).message.endswith(": 12 bytes over.")


def test_any_other_cause_is_for_the_log_alone() -> None:
    for reason in LoginReason:
        if reason not in EXPLAINED and reason is not LoginReason.SESSION_TOO_LARGE:
            assert refused(reason, cause="expired").message == refused(reason).message

"""The table "API server → browser" (spec 05, Upstream)."""

import pytest

from foyer.streams.answers import RETRY_AFTER, Again, no_answer, outcome
from foyer.streams.errors import Code, StreamError
from foyer.streams.said import NOTHING, said
from tests.streams.following import status


def refusal(code: int, message: str = "", **more: float | bool | None) -> StreamError:
    found = outcome(code, said(status(code, message)) if message else NOTHING, **more)  # type: ignore[arg-type]
    assert isinstance(found, StreamError)
    return found


@pytest.mark.parametrize(
    ("answered", "code", "terminal", "passed_on"),
    [
        (403, Code.FORBIDDEN, True, True),
        (401, Code.UNAUTHENTICATED, True, False),
        (404, Code.SCOPE_INVALID, True, False),
        (400, Code.SCOPE_INVALID, True, True),
        (422, Code.SCOPE_INVALID, True, True),
        (405, Code.SCOPE_INVALID, True, False),
        (301, Code.INTERNAL, True, False),
        (302, Code.INTERNAL, True, False),
        (307, Code.INTERNAL, True, False),
        (308, Code.INTERNAL, True, False),
        (204, Code.INTERNAL, True, False),
        (406, Code.INTERNAL, True, False),
        (409, Code.INTERNAL, True, False),
        (429, Code.UPSTREAM_UNAVAILABLE, False, False),
        (500, Code.UPSTREAM_UNAVAILABLE, False, False),
        (503, Code.UPSTREAM_UNAVAILABLE, False, False),
        (504, Code.UPSTREAM_UNAVAILABLE, False, False),
        (599, Code.UPSTREAM_UNAVAILABLE, False, False),
        (0, Code.UPSTREAM_UNAVAILABLE, False, False),
    ],
)
def test_each_answer_becomes_what_the_table_says(
    answered: int, code: Code, terminal: bool, passed_on: bool
) -> None:
    found = refusal(answered, "the server's words")
    assert (found.code, found.terminal) == (code, terminal)
    assert (found.message == "the server's words") is passed_on
    assert refusal(answered).message.endswith(".")
    assert found.last


def test_410_is_a_fresh_cycle() -> None:
    assert outcome(410, NOTHING) is Again.CYCLE
    assert outcome(410, NOTHING, streaming=True) is Again.CYCLE


def test_a_hint_of_the_answers_field_wins_over_the_one_of_its_status() -> None:
    both = said(status(429, details=b'{"retryAfterSeconds":7}'))
    for retry_after, hint in ((None, 7.0), (3.0, 3.0), (1e9, 3600.0)):
        found = outcome(429, both, retry_after=retry_after)
        assert isinstance(found, StreamError) and found.retry_after == hint
    assert refusal(503).retry_after == RETRY_AFTER == no_answer().retry_after
    assert no_answer().code is Code.UPSTREAM_UNAVAILABLE
    assert refusal(403, retry_after=3.0).retry_after is None


NAMING = b'{"causes":[{"reason":"FieldValueForbidden","message":"is forbidden","field":"sendInitialEvents"}]}'


@pytest.mark.parametrize("code", [400, 403, 422])
def test_a_refusal_that_names_the_option_means_there_are_no_streaming_lists(code: int) -> None:
    for naming in (
        said(status(code, "sendInitialEvents: Forbidden")),
        said(status(code, "no", details=NAMING)),
    ):
        assert outcome(code, naming, streaming=True) is Again.LISTING
        assert isinstance(outcome(code, naming), StreamError)
    assert isinstance(outcome(code, said(status(code, "no")), streaming=True), StreamError)


@pytest.mark.parametrize("code", [401, 404, 405, 429, 500])
def test_another_refusal_that_names_it_means_what_it_says(code: int) -> None:
    assert isinstance(outcome(code, said(status(code, "sendInitialEvents")), streaming=True), StreamError)

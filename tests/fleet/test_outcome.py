"""What a target's answer is to a fleet read, and the refusal of all or nothing."""

import json

import pytest

from foyer.exchange.ports import Answer
from foyer.fleet import outcome
from foyer.fleet.outcome import MAX_REFUSAL_BYTES, OK, Bounds, Kind, Outcome
from foyer.interruption import Reason, StatusCause
from foyer.protocol.events import Failure
from foyer.streams.lists import MAX_TOKEN, Listed
from tests.fleet.fleets import JSON, listed, note, refused

BOUNDS = Bounds(30.0, 16_777_216)


def judged(answer: Answer, before: str = "") -> Outcome:
    found = outcome.judged(answer, before)
    assert isinstance(found, Outcome)
    return found


def test_a_list_with_status_200_is_a_page() -> None:
    page = outcome.judged(Answer(200, JSON, listed([note("one")], **{"continue": "2"})), "1")
    assert isinstance(page, Listed)
    assert (page.measure()[0], page.token) == (1, "2")


def test_a_token_that_no_request_could_say_is_no_page() -> None:
    """JSON's escapes can spell half of a surrogate pair, and UTF-8 cannot."""
    found = judged(Answer(200, JSON, listed([], **{"continue": "\ud800"})))
    assert (found.kind, found.status, found.failure) == (Kind.NODE_ERROR, 200, "document")


@pytest.mark.parametrize("status", [201, 204, 301, 302, 400, 401, 403, 404, 410, 429, 500, 503, 599, 999])
def test_any_other_status_is_a_node_error_with_that_status_though_it_be_a_list(status: int) -> None:
    found = judged(Answer(status, JSON, listed([])))
    assert (found.kind, found.status) == (Kind.NODE_ERROR, status)
    assert found.error == f"it answered {status}"


@pytest.mark.parametrize(
    ("status", "failure"), [(403, "status_403"), (503, "status_503"), (302, "redirect"), (999, "protocol")]
)
def test_what_a_log_has_of_a_status_is_of_a_fixed_set(status: int, failure: str) -> None:
    assert judged(Answer(status, JSON, b"")).failure == failure


def test_a_refusal_is_told_in_its_own_sentence_as_far_as_that_is_one() -> None:
    assert judged(refused(403, 'notes is forbidden: User "ada"')).error == (
        'it answered 403: notes is forbidden: User "ada"'
    )
    assert len(judged(refused(403, "x" * 10_000)).error) < 3_000
    assert judged(refused(403, "x" * MAX_REFUSAL_BYTES)).error == "it answered 403"
    html = Answer(502, [(b"content-type", b"text/html")], b"<html>")
    assert judged(html).error == "it answered 502"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, [], listed([])),
        Answer(200, [(b"content-type", b"application/yaml")], listed([])),
        Answer(200, [*JSON, *JSON], listed([])),
        Answer(200, JSON, b""),
        Answer(200, JSON, b"{"),
        Answer(200, JSON, json.dumps({"kind": "Note", "apiVersion": "v1", "metadata": {}}).encode()),
        Answer(200, JSON, json.dumps({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}).encode()),
        Answer(200, JSON, json.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}).encode()),
        Answer(200, JSON, listed([], **{"continue": "x" * (MAX_TOKEN + 1)})),
        Answer(200, JSON, listed([], **{"continue": "the same"})),
    ],
)
def test_a_200_that_is_no_list_is_a_node_error_with_that_status(answer: Answer) -> None:
    found = judged(answer, "the same")
    assert (found.kind, found.status, found.failure) == (Kind.NODE_ERROR, 200, "document")
    assert found.error


def test_a_cap_that_was_full_is_a_time_out_that_says_so_and_what_was_sent() -> None:
    found = outcome.unanswered(Failure.TARGET_FULL, BOUNDS, first=True)
    assert (found.kind, found.status, found.failure) == (Kind.TIME_OUT, None, "target_full")
    assert "cap" in found.error and "full" in found.error and "nothing was sent" in found.error
    later = outcome.unanswered(Failure.TARGET_FULL, BOUNDS, first=False)
    assert "cap" in later.error and "nothing was sent" not in later.error


def test_an_answer_that_is_not_whole_in_time_is_a_time_out_that_says_the_time() -> None:
    found = outcome.unanswered(Failure.TIMEOUT, BOUNDS, first=True)
    assert (found.kind, found.status, found.failure) == (Kind.TIME_OUT, None, "timeout")
    assert "30 s" in found.error


def test_a_page_over_the_answer_bound_is_a_node_error_that_names_it() -> None:
    found = outcome.unanswered(Failure.TOO_LARGE, BOUNDS, first=True)
    assert (found.kind, found.status, found.failure) == (Kind.NODE_ERROR, None, "too_large")
    assert "-max-target-answer-bytes" in found.error and "16777216" in found.error


@pytest.mark.parametrize(
    "failure", [Failure.CONNECTION, Failure.TLS, Failure.PROTOCOL, Failure.RESET, Failure.TRUNCATED]
)
def test_no_answer_at_all_is_a_node_error_without_a_status(failure: Failure) -> None:
    found = outcome.unanswered(failure, BOUNDS, first=True)
    assert (found.kind, found.status) == (Kind.NODE_ERROR, None)
    assert failure.value in found.error


LATE = Outcome(Kind.TIME_OUT, error="too late", failure="timeout")
FAILED = Outcome(Kind.NODE_ERROR, 403, "it answered 403", "status_403")


def test_when_every_target_is_ok_there_is_no_refusal() -> None:
    assert outcome.refusal({"eu": OK, "us": OK}) is None


def test_a_time_out_is_a_504_whatever_else_failed_with_a_cause_for_each_failed_target() -> None:
    found = outcome.refusal({"asia": FAILED, "eu": OK, "us": LATE})
    assert found is not None
    assert (found.reason, found.failure) == (Reason.TARGET_TIMEOUT, "timeout")
    assert found.causes == (
        StatusCause("node-error", "asia", "it answered 403"),
        StatusCause("time-out", "us", "too late"),
    )


def test_an_error_is_otherwise_a_424() -> None:
    found = outcome.refusal({"eu": OK, "us": FAILED})
    assert found is not None
    assert (found.reason, found.failure) == (Reason.TARGET_ERROR, "status_403")
    assert found.causes == (StatusCause("node-error", "us", "it answered 403"),)

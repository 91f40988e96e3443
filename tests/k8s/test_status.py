"""The Status of an interruption and of a refused login, as Kubernetes' clients read it."""

import json

from foyer.interruption import Interruption, Reason, StatusCause
from foyer.k8s.status import interruption_status, refused_login_status
from foyer.login.refusal import LoginReason, RefusedLogin


def test_an_interruption_is_a_failure_with_its_reason() -> None:
    assert json.loads(interruption_status(Interruption(Reason.NOT_FOUND, "Nothing here."))) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Nothing here.",
        "reason": "NotFound",
        "code": 404,
    }


def test_causes_and_the_wait_are_details() -> None:
    interruption = Interruption(
        Reason.UPSTREAM_REDIRECT, "…", causes=(StatusCause("Redirect", "Location", "/x"),), retry_after=3
    )
    assert json.loads(interruption_status(interruption))["details"] == {
        "causes": [{"reason": "Redirect", "message": "/x", "field": "Location"}],
        "retryAfterSeconds": 3,
    }


def test_a_refused_login_is_a_failure_with_its_reason() -> None:
    status = json.loads(refused_login_status(RefusedLogin(LoginReason.STATE_MISMATCH, "Another login.")))
    assert (status["reason"], status["code"], status["message"]) == ("state-mismatch", 400, "Another login.")
    assert "details" not in status


def test_what_the_issuer_answered_is_a_cause() -> None:
    refused = RefusedLogin(
        LoginReason.TOKEN_EXCHANGE_FAILED, "…", code="invalid_grant", issuer_status=400, cause="secret kind"
    )
    status = refused_login_status(refused)
    assert json.loads(status)["details"]["causes"] == [
        {"reason": "IssuerError", "message": "invalid_grant", "field": "error"},
        {"reason": "IssuerStatus", "message": "400", "field": "status"},
    ]
    assert b"secret kind" not in status

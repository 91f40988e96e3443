"""Whose answer is it? The API server's own, or an interruption of foyer's (spec 03)."""

from typing import Any

import httpx

INTERRUPTION = "krm-foyer-interruption"

HARDENED = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-accel-buffering": "no",
}
"""What every proxied answer and every interruption carries."""

FROM_UPSTREAM = {
    "content-type",
    "content-length",
    "audit-id",
    "warning",
    "retry-after",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
}
"""What of the API server's head may pass."""

CONNECTION_LEVEL = {"date", "server", "connection", "keep-alive", "transfer-encoding"}
"""Fields that belong to foyer's own connection with the browser."""


def assert_hardened(answer: httpx.Response) -> None:
    for name, value in HARDENED.items():
        assert answer.headers.get_list(name) == [value], name


def assert_interrupted(answer: httpx.Response, status: int, reason: str) -> dict[str, Any]:
    """foyer's own answer, in its header and as a `Status`: that `Status`."""
    assert (answer.status_code, answer.headers.get_list(INTERRUPTION)) == (status, [reason]), answer.text[
        :300
    ]
    assert_hardened(answer)
    body: dict[str, Any] = answer.json()
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    assert (body["code"], body["reason"]) == (status, reason)
    return body


def assert_passed(answer: httpx.Response, status: int = 200) -> None:
    """The API server's own answer, hardened, with nothing else of its head than the allowlist names."""
    assert answer.status_code == status, answer.text[:300]
    assert INTERRUPTION not in answer.headers
    assert_hardened(answer)
    assert set(answer.headers.keys()) <= HARDENED.keys() | FROM_UPSTREAM | CONNECTION_LEVEL
    assert "audit-id" in answer.headers


def assert_refused_by_kubernetes(answer: httpx.Response, status: int, reason: str) -> dict[str, Any]:
    """A refusal of the API server's, untouched: its `Status`."""
    assert_passed(answer, status)
    body: dict[str, Any] = answer.json()
    assert (body["kind"], body["code"], body["reason"]) == ("Status", status, reason)
    return body

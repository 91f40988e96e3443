"""The report of what foyer needs, from what was heard (spec 06, Overload)."""

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from foyer.front.dependencies import Dependencies
from foyer.net.health import Health
from foyer.protocol.events import Failure

NOON = 1_780_000_000.0  # 2026-05-28T20:26:40Z


@dataclass
class Needed:
    """A dependency. Its clock began at 100."""

    health: Health = field(default_factory=Health)
    in_flight: int = 0
    limit: int = 8


def report(issuer: Needed, *, now: float = 100.0, **targets: Needed) -> dict[str, Any]:
    """What is answered at `now`, when the wall clock shows as much after noon as has passed."""
    found = cast(Any, SimpleNamespace(by_name=targets))
    answer = Dependencies(issuer, found, lambda: now, lambda: NOON + now - 100).answer()
    assert answer.status == 200
    assert (b"content-type", b"application/json") in answer.fields
    assert (b"cache-control", b"no-store") in answer.fields
    document = json.loads(answer.content)
    assert isinstance(document, dict)
    return document


def test_of_what_was_never_heard_of_nothing_is_known() -> None:
    unknown = {"state": "unknown", "lastSuccess": None, "lastFailure": None}
    assert report(Needed(), eu=Needed(in_flight=3, limit=64)) == {
        "issuer": {**unknown, "slots": {"inUse": 0, "limit": 8}},
        "targets": [{"name": "eu", **unknown, "slots": {"inUse": 3, "limit": 64}}],
    }


def test_times_are_those_of_the_wall_clock_when_it_was_heard() -> None:
    target = Needed()
    target.health.answered(200, 101.5)
    target.health.failed(Failure.TIMEOUT, 107.9)
    [shown] = report(Needed(), now=4000.0, eu=target)["targets"]
    assert shown["state"] == "down"
    assert shown["lastSuccess"] == "2026-05-28T20:26:41Z"
    assert shown["lastFailure"] == {"kind": "timeout", "time": "2026-05-28T20:26:47Z"}


@pytest.mark.parametrize("failure", [Failure.CONNECTION, Failure.TLS, Failure.TIMEOUT, Failure.PROTOCOL])
def test_by_these_it_is_down_and_by_the_next_answer_up(failure: Failure) -> None:
    issuer = Needed()
    issuer.health.failed(failure, 1.0)
    assert report(issuer)["issuer"]["state"] == "down"
    issuer.health.answered(200, 2.0)
    shown = report(issuer)["issuer"]
    assert (shown["state"], shown["lastFailure"]["kind"]) == ("up", failure.value)


def test_targets_are_in_their_order() -> None:
    shown = report(Needed(), us=Needed(), asia=Needed(), eu=Needed())["targets"]
    assert [each["name"] for each in shown] == ["us", "asia", "eu"]

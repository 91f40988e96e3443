"""`/_foyer/dependencies`: the issuer and the API servers, as traffic has shown them (spec 06, Overload).

Nothing is sent to find out. It names nobody who signed in, no path and no address.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from foyer.exchange.ports import Answer
from foyer.front.targets import Dependency, Targets
from foyer.k8s.incoming import SECURITY_FIELDS

_STATES = {None: "unknown", True: "up", False: "down"}


class Dependencies:
    """The route's answer."""

    def __init__(
        self, issuer: Dependency, targets: Targets, now: Callable[[], float], clock: Callable[[], float]
    ) -> None:
        """`now` is the clock of what was heard, `clock` wall-clock time; both in seconds."""
        self._issuer = issuer
        self._targets = targets
        self._now = now
        self._clock = clock

    def answer(self) -> Answer:
        """As it is now."""
        shown = {
            "issuer": self._shown(self._issuer),
            "targets": [
                {"name": name, **self._shown(target)} for name, target in self._targets.by_name.items()
            ],
        }
        fields = [(b"content-type", b"application/json"), *SECURITY_FIELDS]
        return Answer(200, fields, json.dumps(shown).encode("ascii"))

    def _shown(self, dependency: Dependency) -> dict[str, object]:
        health = dependency.health
        failed = {"kind": health.failure, "time": self._time(health.failed_at)}
        return {
            "state": _STATES[health.up],
            "lastSuccess": self._time(health.succeeded_at),
            "lastFailure": None if health.failed_at is None else failed,
            "slots": {"inUse": dependency.in_flight, "limit": dependency.limit},
        }

    def _time(self, at: float | None) -> str | None:
        """RFC 3339 in UTC, to the second."""
        if at is None:
            return None
        when = datetime.fromtimestamp(self._clock() - (self._now() - at), UTC)
        return when.strftime("%Y-%m-%dT%H:%M:%SZ")

"""The API server's audit log: the witness of what reached Kubernetes, and as whom.

An event is one JSON line, written when an answer is complete, and one more when a watch
opens. The line may come a moment after the answer's last byte: what should be there is waited
for, and what should not be there is looked for after a later request's line has come.
"""

import json
from pathlib import Path
from typing import Any

from tests.e2e.harness.waiting import wait_for

Event = dict[str, Any]


class AuditLog:
    """Reads the events from a mark on; several readers have a mark each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark = path.stat().st_size

    def events(self, stage: str = "ResponseComplete") -> list[Event]:
        """The events of one stage since this reader was made, in the order they were written."""
        with self._path.open("rb") as log:
            log.seek(self._mark)
            lines = [line for line in log if line.endswith(b"\n")]
        return [event for event in map(json.loads, lines) if event["stage"] == stage]

    def uris(self) -> list[str]:
        """The request URIs of the completed requests, as the API server received them."""
        return [event["requestURI"] for event in self.events()]

    def of(self, audit_id: str, stage: str = "ResponseComplete", within: float = 5.0) -> Event:
        """The event of the request that was answered with this `Audit-Id`."""

        def ask() -> Event | None:
            return next((e for e in self.events(stage) if e["auditID"] == audit_id), None)

        return wait_for(f"an audit event {stage} of {audit_id}", ask, within)

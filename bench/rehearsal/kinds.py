"""What everybody has open: native watches through `/k8s`, or streams."""

from dataclasses import dataclass
from enum import Enum

from bench.rehearsal.objects import INITIAL_END, ONLY_IT, PATH, WATCH

_STREAM = "/stream/v1?version=v1&resource=configmaps&namespace=demo"
_SYNCED = '"synced"'


@dataclass(frozen=True, slots=True)
class _What:
    name: str
    target: str
    """At foyer."""
    snapshot: str
    """What ends it."""
    series: str
    """foyer's own count of them."""


class Kind(Enum):
    """One of three."""

    WATCH = _What(
        "native watches",
        f"/k8s{PATH}?{WATCH}&{ONLY_IT}",
        INITIAL_END,
        "krm_foyer_requests_in_flight",
    )
    USER = _What("per-user streams", _STREAM, _SYNCED, "krm_foyer_streams_open")
    SHARED = _What("shared streams", _STREAM, _SYNCED, "krm_foyer_streams_open")

    def upstream(self, total: int) -> int:
        """Watches at the API server when so many of these are open."""
        return 1 if self is Kind.SHARED else total

    def tokens(self, people: int) -> int:
        """Tokens that those come with, of so many sessions."""
        return 1 if self is Kind.SHARED else people

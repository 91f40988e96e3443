"""What everybody has open: native watches through `/k8s`, or streams."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from bench.messages import H1, H2
from bench.rehearsal.objects import INITIAL_END, ONLY_IT, PATH, WATCH

_STREAM = "/stream/v1?version=v1&resource=configmaps&namespace=demo"
_SYNCED = '"synced"'


@dataclass(frozen=True, slots=True)
class Aims:
    """What to keep to: KiB each; of one change to the slowest how many times the yardstick's time; and µs of
    CPU a delivery, where that is asked for."""

    kib: float
    slowest: float
    delivery: float | None = None


@dataclass(frozen=True, slots=True)
class _What:
    name: str
    target: str
    """At foyer."""
    snapshot: str
    """What ends it."""
    series: str
    """foyer's own count of them."""
    aims: Mapping[str, "Aims"]
    """By HTTP version."""


class Kind(Enum):
    """One of three."""

    WATCH = _What(
        "native watches",
        f"/k8s{PATH}?{WATCH}&{ONLY_IT}",
        INITIAL_END,
        "krm_foyer_requests_in_flight",
        {H1: Aims(32, 2), H2: Aims(14, 2)},
    )
    USER = _What(
        "per-user streams",
        _STREAM,
        _SYNCED,
        "krm_foyer_streams_open",
        {H1: Aims(45, 1.5), H2: Aims(25, 1.5)},
    )
    SHARED = _What(
        "shared streams",
        _STREAM,
        _SYNCED,
        "krm_foyer_streams_open",
        {H1: Aims(32, 1.5, 20), H2: Aims(14, 1, 14)},
    )

    def upstream(self, total: int) -> int:
        """Watches at the API server when so many of these are open."""
        return 1 if self is Kind.SHARED else total

    def tokens(self, people: int) -> int:
        """Tokens that those come with, of so many sessions."""
        return 1 if self is Kind.SHARED else people

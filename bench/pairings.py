"""The four pairings of HTTP versions, browser first, and what a run measures how much of."""

from dataclasses import dataclass

from bench.messages import VERSIONS

PAIRINGS = [(browser, upstream) for browser in VERSIONS for upstream in VERSIONS]
NAMES = [f"{browser}→{upstream}" for browser, upstream in PAIRINGS]


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of everything: enough for figures that repeat, or just enough to see that it works."""

    requests: int
    """GETs of a round in memory."""
    rounds: int
    """Of those, each layer's best counts."""
    gets: int
    """GETs of a round over sockets."""
    get_rounds: int
    connections: int
    """Idle ones."""
    streams: int
    """Watches; a multiple of nine."""
    changes: int
    """Events on each watch."""
    list_bytes: int
    list_reads: int
    objects: int
    """Of the list that gzip engines decode."""
    events: int
    """Of the watch that they decode."""
    flooded: int
    """Small GETs of somebody else while there is a flood."""
    flood_rounds: int
    target_rounds: int
    """Of what people at four targets notice of a fifth. They are short."""


FULL = Amount(60, 25, 3000, 4, 2000, 1998, 5, 50_000_000, 3, 50_000, 20_000, 300, 3, 6)
QUICK = Amount(5, 1, 60, 1, 20, 18, 1, 1_000_000, 1, 500, 200, 10, 1, 1)

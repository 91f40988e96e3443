"""A fuzz target: one property of whatever bytes, and what is worth trying first.

An input is what a peer sent and, behind it, a few octets that decide what happens meanwhile: where the
bytes were cut into reads, what the other side did in between. So the front of an input is what it would
be on the wire, and a mutation of one half leaves the other as it is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

MOST_WHIMS = 64

Mutate = Callable[[bytes, int], bytes]
"""Bytes mutated without a thought for what they mean, to at most so many."""


@dataclass(frozen=True)
class Target:
    """`check` raises for an input on which the property does not hold, and returns for every other.

    `seeds` are valid, nearly valid, and wrong in a way of which something is known. `grammar` makes more
    of them. `words` are what a mutation may put in. `mutate` is for a form that plain mutations only break.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    grammar: st.SearchStrategy[bytes] | None = None
    words: tuple[bytes, ...] = ()
    mutate: Callable[[bytes, int, Random, Mutate], bytes] | None = None
    longest: int = 4096

    def corpus(self, drawn: int, seed: int) -> list[bytes]:
        """The seeds, and `drawn` inputs of the grammar: the same for the same `seed`."""
        made = [] if self.grammar is None else examples(self.grammar, drawn, seed)
        return [each for each in [*self.seeds(), *made] if len(each) <= self.longest]


def examples(strategy: st.SearchStrategy[bytes], count: int, seed: int) -> list[bytes]:
    """`count` examples of a strategy, distinct ones."""
    found: dict[bytes, None] = {}

    @seeded(seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: bytes) -> None:
        found[example] = None

    collect()
    return [*found]


def joined(wire: bytes, whims: Iterable[int] = ()) -> bytes:
    """An input of both halves."""
    chosen = bytes(whims)
    assert len(chosen) < MOST_WHIMS
    return wire + chosen + bytes([len(chosen)])


def parted(data: bytes) -> tuple[bytes, bytes]:
    """Both halves of an input, whatever it is: the last octet says how many whims there are."""
    if not data:
        return b"", b""
    end = max(0, len(data) - 1 - data[-1] % MOST_WHIMS)
    return data[:end], data[end:-1]


def cut(wire: bytes, places: bytes) -> list[bytes]:
    """The wire's bytes as reads: each place is a 256th of all."""
    at = [0, *sorted(place * (len(wire) + 1) // 256 for place in places), len(wire)]
    return [wire[start:stop] for start, stop in pairwise(at) if start < stop]


def with_whims(grammar: st.SearchStrategy[bytes], most: int = 12) -> st.SearchStrategy[bytes]:
    """Inputs whose first half is of `grammar`."""
    return st.builds(joined, grammar, st.binary(max_size=most))

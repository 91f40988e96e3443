"""Everything about the API server that differs from run to run. A seeded source makes it repeat."""

import random
import uuid
from dataclasses import dataclass, field

MIN_WATCH_LIFETIME = 1800.0
"""Seconds: a watch without a timeout lives this long to twice as long, as in Kubernetes."""

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels, and no digits that look like them: Kubernetes' alphabet for generated names."""


@dataclass(slots=True)
class Randomness:
    """UIDs, generated names and the lifetimes of watches. None of them is a secret."""

    source: random.Random = field(default_factory=random.Random)

    def uid(self) -> str:
        """A version 4 UUID."""
        return str(uuid.UUID(int=self.source.getrandbits(128), version=4))

    def suffix(self) -> str:
        """Five characters for a generated name."""
        return "".join(self.source.choices(_SUFFIX_LETTERS, k=5))

    def lifetime(self) -> float:
        """Seconds for a watch that names none: spread, so that watches do not all end together."""
        return MIN_WATCH_LIFETIME * (1 + self.source.random())

"""What a fleet read needs of others: targets to ask, and to be let in (spec 06, Read admission).

A read to a target passes a gate for that target, and the read as a whole one for memory, which takes its
place in one piece: whoever held a part of it for one target while they waited for another's would stand in
each other's way.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from foyer.k8s.call import Ask


class Target(Protocol):
    """An API server."""

    @property
    def ask(self) -> Ask:
        """A whole answer of it."""

    @property
    def authority(self) -> bytes:
        """What it is called in a request."""


class Asked(NamedTuple):
    """A `Target` that is nothing else."""

    ask: Ask
    authority: bytes


class NotAdmitted(Exception):
    """A gate did not let a read in within the time there was for that: `concurrency` or `memory`."""

    def __init__(self, gate: str) -> None:
        super().__init__(gate)
        self.gate = gate


class Place(Protocol):
    """One read's among those of its target."""

    def close(self) -> None:
        """Gives it back. More than once is once."""


class Reservation(Protocol):
    """Bytes of the memory pool."""

    @property
    def size(self) -> int:
        """How many."""

    def grow(self, by: int) -> bool:
        """Takes so many more, at once or, where there are none left, not at all."""

    def close(self) -> None:
        """Gives them back. More than once is once."""


class Admission(Protocol):
    """Both gates. Times are on the wheel's clock, in seconds."""

    @property
    def pool(self) -> int:
        """Bytes of the whole memory pool."""

    async def enter(self, target: str, until: float) -> Place:
        """A place among the reads of `target`. Raises `NotAdmitted`; cancelled, it has taken none."""

    async def reserve(
        self, scope: str, measure: Callable[[], Awaitable[int | None]], until: float
    ) -> Reservation:
        """Memory for what the list `scope` last took, else what `measure` says, else some.

        It is less than asked for where that is more than the pool. Raises `NotAdmitted`; cancelled, it has
        taken none.
        """

    def took(self, scope: str, size: int) -> None:
        """The list `scope` has been read whole, and needed so many bytes."""

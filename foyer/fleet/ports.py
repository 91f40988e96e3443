"""What a fleet read needs of others: targets to read, and memory (spec 06, Read admission).

It passes a gate at each target, and one for memory with all of it at once: whoever held a part of it for one
target while they waited for another's would stand in each other's way. Times are on the wheel's clock, in
seconds.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from foyer.k8s.call import Ask


class NotAdmitted(Exception):
    """A gate did not let a read in within the time there was for that: `concurrency` or `memory`."""

    def __init__(self, gate: str) -> None:
        super().__init__(gate)
        self.gate = gate


class Entered(Protocol):
    """One read at its target."""

    @property
    def ask(self) -> Ask:
        """A whole answer of it."""

    def close(self) -> None:
        """Gives its place there back. More than once is once."""


class Target(Protocol):
    """An API server."""

    @property
    def authority(self) -> bytes:
        """What it is called in a request."""

    async def enter(self, until: float) -> Entered:
        """A place among those who read it. Raises `NotAdmitted`; cancelled, it has taken none."""


class Reservation(Protocol):
    """Bytes of the memory pool."""

    @property
    def size(self) -> int:
        """How many."""

    def grow(self, by: int) -> bool:
        """Takes so many more, at once or, where there are none left, not at all."""

    def shrink_to(self, size: int) -> None:
        """Gives back what is held above `size` bytes."""

    def close(self) -> None:
        """Gives them back. More than once is once."""


class Memory(Protocol):
    """The second gate."""

    @property
    def pool(self) -> int:
        """Bytes of all of it."""

    async def reserve(
        self, scope: str, measure: Callable[[], Awaitable[int | None]], until: float
    ) -> Reservation:
        """As many bytes as the list `scope` last took, else as `measure` says, else some.

        It is the whole pool where that would be more. Raises `NotAdmitted`; cancelled, it has taken none.
        """

    def took(self, scope: str, size: int) -> None:
        """The list `scope` has been read whole, and needed so many bytes."""

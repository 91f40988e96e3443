"""What one request to a target holds on its way, as the pool of connections sees it (spec 06, Overload)."""

from __future__ import annotations

from typing import Protocol


class Place(Protocol):
    """Told by the pool how far the request has come. `now` is the wheel's clock, in seconds.

    Nothing that a call gives back is given to anybody else before a later turn of the loop: whoever calls
    need not expect to be called.
    """

    def opened(self, now: float) -> None:
        """A place on a connection was found, and the request goes up."""

    def answered(self) -> Place | None:
        """The final response head has come. What is still held: itself; or None, and nothing more is told."""

    def close(self) -> None:
        """The exchange has left, whatever way, opened or not. More than once is once.

        Comes before its receiver hears that it failed: what came of it is known by then.
        """

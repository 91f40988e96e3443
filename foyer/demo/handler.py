"""What the demo's servers are: functions from a request to an answer, whole or flowing.

The issuer, the API server and the page's files are written against this alone, and `server`
carries them over HTTP. `now` is in seconds since the epoch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from foyer.exchange.ports import Answer
from foyer.protocol.events import Fields


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    """A whole request. `path` and `query` are as received, without the question mark."""

    method: str
    path: str
    query: str
    fields: Fields
    content: bytes = b""

    def field(self, name: bytes) -> str:
        """All values of the field called `name` (lower case), as one list (RFC 9110 section 5.3)."""
        return ", ".join(value.decode("latin-1") for key, value in self.fields if key == name)

    def __repr__(self) -> str:
        # Fields and content carry tokens and passwords.
        return f"Request({self.method} {self.path!r})"


class Ending(Enum):
    """How an outflow ended."""

    COMPLETE = "complete"
    ABORTED = "aborted"


class Outflow(Protocol):
    """Content without a known end. It is pulled: whoever sends takes a piece when there is room for one."""

    @property
    def ending(self) -> Ending | None:
        """None while it goes on. What `take` still gives comes before a COMPLETE end."""

    def open(self, wake: Callable[[], None], now: float) -> None:
        """Begin; from now on `wake` is called when there is something to take."""

    def take(self) -> bytes | None:
        """The next piece, or None when there is none now."""

    def tick(self, now: float) -> None:
        """Time has passed: about once a second."""

    def close(self) -> None:
        """Nobody takes any more."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """An answer whose content flows."""

    status: int
    fields: Fields
    outflow: Outflow


Handler: TypeAlias = Callable[[Request, float], Answer | Streaming]

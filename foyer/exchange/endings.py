"""How an exchange ends: one value, kept in its closed state (spec 04, Abort)."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from foyer.bound import Bound
from foyer.interruption import Interruption
from foyer.protocol.events import Failure


class Cause(Enum):
    """Why a response that had begun was aborted. The value is the label in logs and metrics."""

    RESPONSE_DURATION = ("response_duration", False, Bound.RESPONSE_DURATION)
    RESPONSE_BYTES = ("response_bytes", True, Bound.RESPONSE_BYTES)
    SESSION_ENDED = ("session_ended", False)
    WRITE_TIMEOUT = ("write_timeout", False)
    UPSTREAM = ("upstream", True)
    SHUTDOWN = ("shutdown", False)
    INTERNAL = ("internal", False)

    def __init__(self, label: str, delivers_first: bool, bound: Bound | None = None) -> None:
        self.label = label
        self.delivers_first = delivers_first  # what has been counted reaches the browser before the abort
        self.bound = bound

    # Members are told apart by identity; Enum's own hash is a call of Python for every look-up.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Complete:
    """The browser was given a whole answer."""

    status: int


@dataclass(frozen=True, slots=True)
class BrowserGone:
    """The browser left before the end; nobody is there to be told."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """foyer answered in the API server's place."""

    interruption: Interruption


@dataclass(frozen=True, slots=True)
class CutShort:
    """The response was aborted. `failure` is the upstream's, where that was the cause."""

    cause: Cause
    failure: Failure | None = None


Ending: TypeAlias = Complete | BrowserGone | Interrupted | CutShort

"""What a test's scripted peers share: one way to wait, and the ways a message can end.

The peers are independent of the product: sockets, the h2 library and a reader of HTTP/1.1 of
their own. All of them run in the test's thread. A `Script` moves every socket along whenever
the test waits for something, so a test reads as a dialogue from top to bottom, no peer needs a
thread, and a large write can never block the read it is waiting for. Every wait has a deadline.
"""

import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

PATIENCE = 5.0
"""Seconds after which something that did not happen is taken never to: it only bounds a failing test."""

LOOK = 0.002

Fields = list[tuple[bytes, bytes]]


class OverdueError(AssertionError):
    """What the script waited for did not happen."""


class Part(Protocol):
    """Something with a file descriptor that the script moves along."""

    def fileno(self) -> int: ...

    def wants(self) -> int:
        """The selector events to be told of; 0 for none."""

    def ready(self, events: int) -> None:
        """The descriptor is readable or writable."""


class Script:
    """The sockets of one dialogue, moved along while the test waits."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        self._parts.append(part)

    def remove(self, part: Part) -> None:
        if part in self._parts:
            self._parts.remove(part)

    def until(self, condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Move everything along until `condition` holds. Raises `OverdueError` with `what` was awaited.

        The condition is looked at whenever a socket moved, and every few milliseconds for what none tells of.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise OverdueError(f"waited {seconds:g} s for {what}")
            self.turn(min(left, LOOK))

    def until_still(self, seconds: float = 0.15) -> None:
        """Move everything along until no socket has moved for `seconds`: the way to see a stall.

        A slow machine can only end this early, so use it before an upper bound, never a lower one.
        """
        while self.turn(seconds):
            pass

    def turn(self, seconds: float = 0.0) -> bool:
        """Wait at most `seconds` for any socket and move what is ready. False when nothing was."""
        # poll and not epoll: for a few sockets that are different each time it is one system call, not ten.
        with selectors.PollSelector() as selector:
            for part in self._parts:
                if events := part.wants():
                    selector.register(part.fileno(), events, part)
            if not selector.get_map():
                selector.register(_NEVER.fileno(), selectors.EVENT_READ)
            ready = [(key.data, events) for key, events in selector.select(seconds) if key.data is not None]
        for part, events in ready:
            if part in self._parts:
                part.ready(events)
        return bool(ready)


class How(Enum):
    """The ways in which a message falls short of its end, as its reader sees them."""

    RST_STREAM = "RST_STREAM"
    BEFORE_LAST_CHUNK = "closed before the last chunk"
    SHORT_OF_LENGTH = "closed short of Content-Length"
    WITHOUT_CLOSE_NOTIFY = "closed by TCP where TLS had to say the end"
    IN_HEAD = "closed before the head was whole"
    CONNECTION_CLOSED = "HTTP/2 connection closed with the stream open"


@dataclass(frozen=True, slots=True)
class Whole:
    """A message that came to its proper end."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Aborted:
    """A message that ended short, so that its reader knows. `code` is RST_STREAM's."""

    content: bytes
    how: How
    code: int | None = None

    @property
    def cut_short(self) -> bool:
        """Spec 03: RST_STREAM with INTERNAL_ERROR, or closed before the last chunk or short of the length."""
        if self.how is How.RST_STREAM:
            return self.code == 0x2
        return self.how in (How.BEFORE_LAST_CHUNK, How.SHORT_OF_LENGTH)


Outcome = Whole | Aborted


class _Never:
    """A socket on which nothing ever happens, for a wait with nothing to wait on."""

    def __init__(self) -> None:
        import socket

        self._pair = socket.socketpair()

    def fileno(self) -> int:
        return self._pair[0].fileno()


_NEVER = _Never()

"""A loop, a clock and transports without a kernel: connections under a test that decides every turn.

`foyer.net.wire.Wire` and everything above it are the real ones. A byte moves when a test moves it,
and time passes when a test says so.
"""

import traceback
from collections.abc import Callable
from typing import Any, cast

from foyer.gate.wheel import Wheel
from foyer.net.turn import Turn
from foyer.net.wire import Owner, Wire


class Loop:
    """What `Turn` needs of a loop."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.within = 0.0  # seconds as they pass within turns: none, unless a test says so
        self.faults: list[str] = []
        self._soon: list[Callable[[], object]] = []

    def call_soon(self, call: Callable[[], object]) -> None:
        self._soon.append(call)

    def time(self) -> float:
        return self.now

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.faults.append("".join(traceback.format_exception(context["exception"])))

    def run(self) -> bool:
        """Turns until nothing is left to do. True when there was something."""
        ran = bool(self._soon)
        while self._soon:
            soon, self._soon = self._soon, []
            for call in soon:
                call()
        return ran


class Transport:
    """One connection as the product's side of it: `sent` is what it has written and nobody has taken."""

    def __init__(self, loop: Loop, wire: Wire) -> None:
        self._loop = loop
        self._wire = wire
        self._high = self._low = 0
        self._stuffed = False
        self._reading = True
        self._gone = False
        self.sent = bytearray()
        self.closing = False
        self.lost = False
        self.aborted = False
        self.ended = False  # by us: FIN
        wire.connection_made(cast(Any, self))

    # asyncio's Transport.

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        self._high, self._low = high, low

    def write(self, data: bytes) -> None:
        assert not self.ended, "a write after our end"
        assert not self.closing, "a write after the close"
        if self._gone:
            return
        self.sent += data
        if len(self.sent) > self._high and not self._stuffed:
            self._stuffed = True
            self._wire.pause_writing()

    def get_write_buffer_size(self) -> int:
        return len(self.sent)

    def get_extra_info(self, name: str) -> None:
        return None

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        assert self._reading
        self._reading = False

    def resume_reading(self) -> None:
        assert not self._reading
        self._reading = True

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closing = True
        if not self.sent:
            self._loop.call_soon(self._lose)

    def abort(self) -> None:
        self.closing = self.aborted = True
        self.sent.clear()
        self._loop.call_soon(self._lose)

    def _lose(self) -> None:
        if not self.lost:
            self.lost = True
            self._wire.connection_lost(None)

    # The peer.

    @property
    def reads(self) -> bool:
        """Whether bytes from the peer are taken now."""
        return self._reading and not self.closing and not self._gone

    def take(self, size: int = 1 << 30) -> bytes:
        """The peer's kernel takes up to `size` bytes."""
        taken = bytes(self.sent[:size])
        del self.sent[:size]
        if self._stuffed and len(self.sent) <= self._low:
            self._stuffed = False
            if not self.lost:
                self._wire.resume_writing()
        if taken and self.closing and not self.sent:
            self._loop.call_soon(self._lose)
        return taken

    def bring(self, data: bytes) -> int:
        """The peer's bytes arrive, as many as one read takes; how many that was."""
        assert self.reads
        buffer = self._wire.get_buffer(-1)
        size = min(len(data), len(buffer))
        buffer[:size] = data[:size]
        self._wire.buffer_updated(size)
        return size

    def drop(self) -> None:
        """The peer resets the connection: what is written before that is noticed goes nowhere."""
        self._gone = True
        self.sent.clear()
        self._loop.call_soon(self._lose)

    def end(self) -> None:
        """The peer closes its half."""
        if not self.closing:
            self._wire.eof_received()


class SpokenWire(Wire):
    """A wire without TLS on which `protocol` was agreed all the same."""

    def __init__(self, owner: Owner, protocol: str) -> None:
        super().__init__(owner)
        self.protocol = protocol

    def _started(self) -> None:
        self._owner.opened(self.protocol)


class Offline:
    """The loop, its clock, the turn and the wheel of one test."""

    def __init__(self, loop: Loop | None = None) -> None:
        self.loop = loop or Loop()
        self.turn = Turn(cast(Any, self.loop), lambda: self.loop.within)
        self.wheel = Wheel(self.loop.now)

    def run(self) -> None:
        """To the end of the turns, with no fault of foyer's own in them."""
        self.loop.run()
        assert not self.loop.faults, self.loop.faults[0]

    def pass_time(self, seconds: float) -> None:
        """A tick a second, as `foyer.app` has it."""
        until = self.loop.now + seconds
        while self.loop.now < until:
            self.loop.now = min(self.loop.now + 1.0, until)
            self.wheel.turn(self.loop.now)
            self.run()

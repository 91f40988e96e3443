"""Gates that let every snapshot in at once, and notice what is not given back."""

from __future__ import annotations

from collections.abc import Callable

from foyer.exchange.ports import Cancellable, UpstreamReceiver
from foyer.streams.errors import StreamError
from foyer.streams.scope import Scope
from foyer.streams.snapshot import Entrant, Keeper

OpenSide = Callable[[UpstreamReceiver], Cancellable]


class OpenGates:
    """Where nothing else reads."""

    def __init__(self, open_side: OpenSide) -> None:
        self.open_side = open_side
        self.let_in: list[LetIn] = []
        self.rooms: list[Roomy] = []

    def enter(self, scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Cancellable:
        snapshot = LetIn(self, kept=keeper is not None)
        self.let_in.append(snapshot)
        entrant.admitted(snapshot)
        return Nothing()

    def room(self) -> Roomy:
        room = Roomy()
        self.rooms.append(room)
        return room

    @property
    def held(self) -> int:
        """Snapshots and events that hold something."""
        return sum(snapshot.held for snapshot in self.let_in) + sum(room.held > 0 for room in self.rooms)


class LetIn:
    """A snapshot, which takes what it will."""

    def __init__(self, gates: OpenGates, *, kept: bool) -> None:
        self.held = True
        self.taken = 0
        self.is_complete = False
        self._gates = gates
        self._kept = kept

    def open(self, receiver: UpstreamReceiver, *, whole: bool) -> Cancellable:
        assert self.held and not self.is_complete
        return self._gates.open_side(receiver)

    def takes(self, size: int) -> StreamError | None:
        assert self.held
        self.taken += size
        return None

    def complete(self) -> None:
        self.is_complete = True

    def delivered(self) -> LetIn | None:
        assert self.held and self.is_complete
        self.held = self._kept
        return self if self._kept else None

    def close(self) -> None:
        self.held = False


class Roomy:
    """Where there is room for every event."""

    def __init__(self) -> None:
        self.held = 0

    def grow(self, size: int) -> int:
        self.held = size
        return size

    def close(self) -> None:
        self.held = 0


class Nothing:
    """What nobody waits for."""

    def cancel(self) -> None: ...

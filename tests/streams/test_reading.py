"""A cycle as a read, told by gates that a test is: what it holds when, and that it gives that back once."""

from foyer.exchange.ports import Cancellable, UpstreamReceiver
from foyer.interruption import Interruption, Reason
from foyer.streams import errors
from foyer.streams.errors import StreamError
from foyer.streams.reading import Reading, State
from foyer.streams.scope import Scope
from foyer.streams.snapshot import Entrant, Keeper, Look, Refusal
from tests.streams.following import opening
from tests.streams.gating import Nothing, Roomy

SCOPE = opening().scope
REFUSAL = Refusal(Interruption(Reason.READ_TOO_LARGE, "no"), errors.internal("no"))


class Held:
    """What the gates gave. `lasts`: it is there when it has been taken."""

    def __init__(self, *, lasts: bool = False) -> None:
        self.said: list[str] = []
        self._lasts = lasts

    def open(self, receiver: UpstreamReceiver, *, whole: bool) -> Cancellable:
        return Nothing()

    def takes(self, size: int) -> StreamError | None:
        self.said.append(f"takes {size}")
        return None

    def complete(self) -> None:
        self.said.append("complete")

    def delivered(self) -> "Held | None":
        self.said.append("delivered")
        return self if self._lasts else None

    def close(self) -> None:
        self.said.append("closed")


class Gates:
    """Where a test says what becomes of who comes: at once, if it has by then."""

    def __init__(self, at_once: Held | Refusal | None = None) -> None:
        self.at_once = at_once
        self.cancelled = 0
        self.reading: Entrant

    def enter(self, scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Cancellable:
        self.reading = entrant
        if isinstance(self.at_once, Held):
            entrant.admitted(self.at_once)
        elif self.at_once is not None:
            entrant.turned_away(self.at_once)
        return self

    def room(self) -> Roomy:
        raise AssertionError("a cycle's read is all that comes here")

    def cancel(self) -> None:
        self.cancelled += 1


class Whose:
    """Whose cycle it is. `leaves`: as soon as it hears anything."""

    def __init__(self, *, leaves: bool = False) -> None:
        self.heard: list[str] = []
        self.reading = Reading(self)
        self._leaves = leaves

    def _hear(self, what: str) -> None:
        self.heard.append(what)
        if self._leaves:
            self.reading.close()

    def look(self, look: Look) -> None:
        self._hear("look")

    def admitted(self) -> None:
        self._hear("admitted")

    def turned_away(self, why: Refusal) -> None:
        self._hear("turned away")

    def fault(self, error: Exception) -> None:
        self._hear("fault")


def entered(gates: Gates, whose: Whose | None = None) -> Whose:
    whose = whose or Whose()
    whose.reading.enter(gates, SCOPE, None)
    return whose


def test_it_is_complete_once_and_taken_once_and_then_holds_nothing() -> None:
    held = Held()
    reading = entered(Gates(held)).reading
    reading.complete(taken=False)
    reading.complete(taken=False)
    assert (reading.state, reading.is_in) == (State.COME, True)
    reading.complete(taken=True)
    assert (reading.state, reading.is_in) == (State.OVER, False)
    reading.close()
    assert held.said == ["complete", "delivered"]


def test_what_is_kept_is_given_back_as_it_is_left_and_once() -> None:
    held = Held(lasts=True)
    reading = entered(Gates(held)).reading
    for _ in range(3):
        reading.complete(taken=True)
    assert (reading.state, reading.is_in) == (State.KEPT, True)
    reading.close()
    reading.close()
    assert held.said == ["complete", "delivered", "closed"]


def test_who_leaves_the_gates_does_so_once() -> None:
    gates = Gates()
    reading = entered(gates).reading
    assert (reading.state, reading.is_in) == (State.ENTERING, False)
    reading.close()
    reading.close()
    assert gates.cancelled == 1


def test_who_was_let_in_has_no_gates_to_leave() -> None:
    gates = Gates(Held())
    entered(gates).reading.close()
    assert gates.cancelled == 0


def test_who_was_turned_away_holds_nothing_and_is_over() -> None:
    whose = entered(Gates(REFUSAL))
    assert whose.heard == ["turned away"]
    assert (whose.reading.state, whose.reading.is_in) == (State.OVER, False)


def test_who_leaves_while_it_comes_to_the_gates_has_left_them_when_it_is_there() -> None:
    class Looking(Gates):
        def enter(self, scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Cancellable:
            entrant.fault(ZeroDivisionError())
            return super().enter(scope, entrant, keeper)

    gates = Looking()
    whose = entered(gates, Whose(leaves=True))
    assert (whose.heard, whose.reading.state) == (["fault"], State.OVER)
    assert gates.cancelled == 1


def test_who_leaves_as_it_hears_that_it_is_let_in_has_given_that_back() -> None:
    held = Held()
    whose = entered(Gates(held), Whose(leaves=True))
    assert (held.said, whose.heard) == (["closed"], ["admitted"])
    assert (whose.reading.state, whose.reading.is_in) == (State.OVER, False)

"""Open exchanges by session."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from foyer.session.registry import Registry
from foyer.session.seal import SessionID

ALICE, BOB = SessionID("alice"), SessionID("bob")


class Open:
    """An exchange, which takes itself out of the registry when it is cut, as a real one does."""

    def __init__(self, registry: Registry, session_id: SessionID, fault: Exception | None = None) -> None:
        self.registry = registry
        self.session_id = session_id
        self.fault = fault
        self.cuts = 0
        registry.add(session_id, self)

    def session_ended(self) -> None:
        self.cuts += 1
        if self.fault is not None:
            raise self.fault
        self.close()

    def close(self) -> None:
        self.registry.remove(self.session_id, self)


def test_the_end_of_a_session_cuts_what_it_has_open_and_nothing_else() -> None:
    registry = Registry()
    of_alice = [Open(registry, ALICE) for _ in range(3)]
    of_bob = Open(registry, BOB)
    of_alice[1].close()
    assert registry.end(ALICE) == 2
    assert [exchange.cuts for exchange in of_alice] == [1, 0, 1]
    assert of_bob.cuts == 0
    assert len(registry) == 1


def test_a_session_without_open_exchanges_ends_quietly() -> None:
    assert Registry().end(ALICE) == 0


def test_a_copied_cookie_opens_exchanges_after_the_end_that_are_not_cut() -> None:
    registry = Registry()
    registry.end(ALICE)
    later = Open(registry, ALICE)
    assert (later.cuts, len(registry)) == (0, 1)


def test_an_exchange_that_cannot_be_cut_does_not_save_the_others() -> None:
    registry = Registry()
    exchanges = [Open(registry, ALICE), Open(registry, ALICE, RuntimeError("broken")), Open(registry, ALICE)]
    with pytest.raises(ExceptionGroup):
        registry.end(ALICE)
    assert [exchange.cuts for exchange in exchanges] == [1, 1, 1]
    assert len(registry) == 0


class AnyOrder(RuleBasedStateMachine):
    """Whatever happens in whatever order: everything open is known, cut once, and then forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = Registry()
        self.open: list[Open] = []

    @rule(session_id=st.sampled_from([ALICE, BOB]))
    def opens(self, session_id: SessionID) -> None:
        self.open.append(Open(self.registry, session_id))

    @rule(data=st.data())
    def closes(self, data: st.DataObject) -> None:
        if self.open:
            exchange = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
            exchange.close()
            exchange.close()

    @rule(session_id=st.sampled_from([ALICE, BOB]))
    def session_ends(self, session_id: SessionID) -> None:
        ended = [exchange for exchange in self.open if exchange.session_id == session_id]
        self.open = [exchange for exchange in self.open if exchange.session_id != session_id]
        assert self.registry.end(session_id) == len(ended)
        assert all(exchange.cuts == 1 for exchange in ended)

    @invariant()
    def holds_what_is_open_and_no_more(self) -> None:
        assert len(self.registry) == len(self.open)
        assert all(exchange.cuts == 0 for exchange in self.open)
        assert self.registry._open.keys() == {exchange.session_id for exchange in self.open}


TestAnyOrder = AnyOrder.TestCase

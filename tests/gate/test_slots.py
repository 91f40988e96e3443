"""Spec 04, Concurrency: the limit-th passes, the next does not, and what is given back is there again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.bound import Bound
from foyer.gate.slots import Slots, Taken
from foyer.session.seal import SessionID

ADA, BOB, EVE = SessionID("ada"), SessionID("bob"), SessionID("eve")


def slots(per_session: int, per_replica: int) -> Slots:
    return Slots((Bound.SESSION_STREAMS, per_session), (Bound.STREAMS, per_replica))


def test_the_limit_th_passes_and_the_next_does_not() -> None:
    places = slots(2, 10)
    assert [places.take(ADA) for _ in range(3)] == [Taken(1, 1), Taken(2, 2), Bound.SESSION_STREAMS]


def test_one_sessions_limit_is_nobody_elses() -> None:
    places = slots(1, 10)
    assert places.take(ADA) == Taken(1, 1)
    assert places.take(ADA) is Bound.SESSION_STREAMS
    assert places.take(BOB) == Taken(1, 2)


def test_the_replicas_limit_is_everybodys() -> None:
    places = slots(2, 3)
    assert [places.take(who) for who in (ADA, ADA, BOB)] == [Taken(1, 1), Taken(2, 2), Taken(1, 3)]
    assert places.take(BOB) is places.take(EVE) is Bound.STREAMS


def test_a_session_at_both_limits_is_told_of_its_own() -> None:
    places = slots(1, 1)
    assert places.take(ADA) == Taken(1, 1)
    assert places.take(ADA) is Bound.SESSION_STREAMS
    assert places.take(BOB) is Bound.STREAMS


def test_a_refusal_takes_nothing() -> None:
    places = slots(1, 1)
    places.take(ADA)
    for who in (ADA, BOB, EVE):
        places.take(who)
    places.give_back(ADA)
    assert (places.per_session, places.per_replica) == ({}, 0)
    assert places.take(BOB) == Taken(1, 1)


def test_one_given_back_makes_room_for_one() -> None:
    places = slots(2, 2)
    places.take(ADA)
    places.take(BOB)
    places.give_back(ADA)
    assert places.take(EVE) == Taken(1, 2)
    assert places.take(ADA) is Bound.STREAMS


def test_what_was_never_taken_cannot_be_given_back() -> None:
    with pytest.raises(KeyError):
        slots(1, 1).give_back(ADA)


def test_each_bound_has_its_limit() -> None:
    places = slots(3, 7)
    assert (places.limit(Bound.SESSION_STREAMS), places.limit(Bound.STREAMS)) == (3, 7)


@given(
    st.integers(1, 3),
    st.integers(1, 6),
    st.lists(st.tuples(st.booleans(), st.sampled_from([ADA, BOB, EVE])), max_size=60),
)
def test_no_limit_is_ever_passed_and_sessions_with_nothing_open_are_not_kept(
    per_session: int, per_replica: int, steps: list[tuple[bool, SessionID]]
) -> None:
    """Held to a list of who has what open."""
    places = slots(per_session, per_replica)
    held: list[SessionID] = []
    for takes, who in steps:
        if takes:
            taken = places.take(who)
            if held.count(who) == per_session:
                assert taken is Bound.SESSION_STREAMS
            elif len(held) == per_replica:
                assert taken is Bound.STREAMS
            else:
                held.append(who)
                assert taken == Taken(held.count(who), len(held))
        elif who in held:
            held.remove(who)
            places.give_back(who)
        assert places.per_session == {each: held.count(each) for each in held}
        assert places.per_replica == len(held)

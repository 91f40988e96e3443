"""What an admitted request holds is given back once, and its clock ends it (spec 04, Duration, check).

On a wheel that a test turns second by second: "within" is the promise, and a second less is still open.
"""

from dataclasses import replace

import pytest

from foyer.gate.gate import Kind
from foyer.gate.limits import Limits
from foyer.session.seal import SessionID
from tests.gate.gates import BOB, World
from tests.session.sessions import ALICE

LIMITS = Limits(max_response_duration=60.0, session_check_interval=5.0)

KINDS = pytest.mark.parametrize("kind", list(Kind))


# Given back


def test_an_admitted_request_is_cut_when_its_session_ends_and_no_later() -> None:
    world = World()
    exchange = world.admit()
    assert world.gate.registry.end(ALICE.session_id) == 1
    assert exchange.told == ["session ended"]
    assert len(world.gate.registry) == 0
    assert world.gate.registry.end(ALICE.session_id) == 0


@KINDS
def test_what_was_given_back_is_not_given_back_again(kind: Kind) -> None:
    world = World()
    first, second = world.admit(kind=kind), world.admit(kind=kind)
    assert first.admission is not None and second.admission is not None
    for _ in range(3):
        first.admission.close()
    slots = world.gate.requests if kind is Kind.REQUEST else world.gate.streams
    assert (len(world.gate.registry), len(world.wheel), slots.per_replica) == (1, 1, 1)
    second.admission.close()
    assert (len(world.gate.registry), len(world.wheel), slots.per_replica) == (0, 0, 0)
    assert slots.per_session == {}


def test_one_that_has_closed_is_asked_nothing_more() -> None:
    world = World(LIMITS)
    exchange = world.admit()
    assert exchange.admission is not None
    exchange.admission.close()
    world.pass_time(100)
    assert exchange.told == []


def test_an_admission_keeps_neither_the_token_nor_anything_that_holds_it() -> None:
    """A watch is open for half an hour, and a core dump of that time must not have its token."""
    admission = World().admit().admission
    assert admission is not None
    held = [getattr(admission, name) for name in type(admission).__slots__]
    assert ALICE not in held
    assert ALICE.id_token not in held


# The duration


@KINDS
def test_a_response_is_cut_when_it_has_been_open_for_its_duration(kind: Kind) -> None:
    world = World(LIMITS)
    exchange = world.admit(kind=kind)
    world.pass_time(59)
    assert exchange.told == []
    world.pass_time(2)
    assert exchange.told == ["duration reached"]
    assert len(world.wheel) == 0


@pytest.mark.parametrize("duration", [0.5, 3.0, 7.4, 61.0])
def test_a_duration_does_not_wait_for_the_check_of_the_session(duration: float) -> None:
    world = World(Limits(max_response_duration=duration, session_check_interval=300.0))
    exchange = world.admit()
    world.pass_time(duration - 0.1)
    assert exchange.told == []
    world.pass_time(1.2)
    assert exchange.told == ["duration reached"]


def test_each_has_a_duration_of_its_own_counted_from_the_gate() -> None:
    world = World(LIMITS)
    early = world.admit()
    world.pass_time(30)
    late = world.admit()
    world.pass_time(31)
    assert (early.told, late.told) == (["duration reached"], [])
    world.pass_time(30)
    assert late.told == ["duration reached"]


@pytest.mark.parametrize("shift", [-7200.0, 7200.0])
def test_a_duration_does_not_follow_the_clock_on_the_wall(shift: float) -> None:
    world = World(LIMITS)
    exchange = world.admit(ALICE._replace(ends_at=ALICE.issued_at + 28_000))
    world.wall += shift
    world.pass_time(59)
    assert exchange.told == []
    world.pass_time(2)
    assert exchange.told == ["duration reached"]


# The session's end


@KINDS
@pytest.mark.parametrize("left", [1, 2, 3, 4, 5, 6, 12, 31])
def test_a_response_is_cut_within_a_tick_of_its_sessions_end(left: int, kind: Kind) -> None:
    """Absolute expiry and the token's are both in `ends_at`. Nothing is asked but two clocks."""
    world = World(LIMITS)
    session = ALICE._replace(ends_at=int(world.wall) + left)
    exchange = world.admit(session, kind)
    other = world.admit(BOB, kind)
    world.pass_time(left - 1)
    assert exchange.told == []
    world.pass_time(2)
    assert (exchange.told, other.told) == (["session ended"], [])


def test_every_response_of_the_session_is_cut_and_none_of_anothers() -> None:
    world = World(LIMITS)
    session = ALICE._replace(ends_at=int(world.wall) + 10)
    ending = [world.admit(session, kind) for kind in (Kind.REQUEST, Kind.STREAM) * 3]
    staying = [world.admit(BOB, kind) for kind in (Kind.REQUEST, Kind.STREAM) * 3]
    world.pass_time(11)
    assert [exchange.told for exchange in ending] == [["session ended"]] * 6
    assert [exchange.told for exchange in staying] == [[]] * 6


@pytest.mark.parametrize("interval", [1.0, 1.5, 5.0, 17.0])
def test_a_timeout_that_was_lowered_ends_what_is_open_within_the_interval(interval: float) -> None:
    world = World(replace(LIMITS, session_check_interval=interval))
    exchanges = []
    for number in range(20):
        exchanges.append(world.admit(BOB._replace(session_id=SessionID(str(number)))))
        world.pass_time(0.37)
    world.gate.absolute_timeout = 30.0
    world.pass_time(interval)
    assert [exchange.told for exchange in exchanges] == [["session ended"]] * 20


@pytest.mark.parametrize("interval", [1.0, 5.0])
def test_a_clock_that_was_set_forward_ends_them_within_the_interval(interval: float) -> None:
    world = World(replace(LIMITS, session_check_interval=interval))
    exchange = world.admit()
    world.pass_time(2)
    world.wall = float(ALICE.ends_at)
    world.pass_time(interval)
    assert exchange.told == ["session ended"]


def test_a_clock_that_was_set_back_leaves_them_open_until_the_end_comes_again() -> None:
    world = World(Limits())
    exchange = world.admit(ALICE._replace(ends_at=int(world.wall) + 30))
    world.pass_time(20)
    world.wall -= 20
    world.pass_time(29)
    assert exchange.told == []
    world.pass_time(2)
    assert exchange.told == ["session ended"]


def test_a_session_that_ends_as_its_duration_does_is_cut_once() -> None:
    world = World(LIMITS)
    exchange = world.admit(ALICE._replace(ends_at=int(world.wall) + 60))
    world.pass_time(70)
    assert len(exchange.told) == 1


def test_one_timer_serves_them_all() -> None:
    """Each open response is one entry of the wheel, whatever it waits for."""
    world = World(Limits(session_request_burst=10_000, max_session_concurrent_requests=1000))
    for _ in range(1000):
        world.admit()
    assert len(world.wheel) == 1000
    world.pass_time(100)
    assert len(world.wheel) == 1000

"""Spec 06, Memory, and the seed's: reads reserve from one pool, and never more than there is."""

from hypothesis import given
from hypothesis import strategies as st

from foyer.admission.line import State
from foyer.admission.pool import MemoryPool, Reservation
from tests.admission.worlds import World


class Gate:
    """A pool of 100 bytes, and who has come to it."""

    def __init__(self, size: int = 100) -> None:
        self.world = World()
        self.pool = MemoryPool(size, wheel=self.world.wheel, soon=self.world.soon)
        self.told: list[str] = []

    def ask(self, size: int, name: str = "") -> Reservation:
        reservation = self.pool.reservation(
            size, lambda: self.told.append(name), lambda: self.told.append(f"{name} too late")
        )
        assert reservation is not None
        reservation.ask(self.world.clock.now + 10)
        return reservation


def test_what_is_free_is_reserved_at_once_and_the_rest_is_waited_for() -> None:
    gate = Gate()
    gate.ask(60, "ada")
    gate.ask(40, "bob")
    gate.ask(1, "eve")
    assert gate.told == ["ada", "bob"]
    assert (gate.pool.reserved, gate.pool.waiting) == (100, 1)


def test_a_small_read_does_not_pass_a_large_one_that_came_before() -> None:
    gate = Gate()
    first = gate.ask(60, "ada")
    gate.ask(60, "bob")
    gate.ask(1, "eve")
    assert gate.told == ["ada"]
    first.close()
    gate.world.turn()
    assert gate.told == ["ada", "bob", "eve"]


def test_whoever_waits_for_what_lasts_holds_nobody_up_and_is_first_again_when_it_is_gone() -> None:
    gate = Gate()
    cache = gate.ask(40, "cache")
    cache.lasts()
    read = gate.ask(30, "read")
    gate.ask(61, "large")
    gate.ask(10, "small")
    gate.ask(60, "middling")
    gate.ask(5, "late")
    assert gate.told == ["cache", "read", "small"]  # the others wait for the read, in order
    cache.close()
    gate.world.turn()
    assert gate.told == ["cache", "read", "small"]
    read.close()
    gate.world.turn()
    assert gate.told == ["cache", "read", "small", "large"]


def test_as_soon_as_it_lasts_nobody_waits_behind_those_who_do() -> None:
    gate = Gate()
    cache = gate.ask(40)
    gate.ask(61, "large")
    gate.ask(60, "middling")
    gate.world.turn()
    assert gate.told == [""]
    cache.lasts()
    gate.world.turn()
    assert gate.told == ["", "middling"]


def test_neither_do_they_once_it_has_grown_and_they_wait_again_once_it_is_less() -> None:
    gate = Gate()
    cache = gate.ask(40)
    cache.lasts()
    first = gate.ask(50)
    gate.ask(55, "large")
    gate.ask(10, "small")
    gate.ask(8, "late")
    assert gate.told == ["", ""]
    assert cache.grow(6)
    gate.world.turn()
    assert gate.told == ["", ""]  # 4 are free
    cache.shrink_to(40)
    first.shrink_to(49)
    gate.world.turn()
    assert gate.told == ["", ""]
    assert cache.grow(6)
    first.shrink_to(40)
    gate.world.turn()
    assert gate.told == ["", "", "small"]


def test_what_lasted_and_is_gone_is_gone_once() -> None:
    gate = Gate()
    cache, other = gate.ask(40), gate.ask(30)
    cache.lasts()
    cache.lasts()
    other.lasts()
    assert gate.pool.passing == 30
    cache.close()
    cache.close()
    assert gate.pool.passing == 70


def test_more_than_the_whole_pool_is_not_waited_for() -> None:
    gate = Gate()
    assert gate.pool.reservation(101, lambda: None, lambda: None) is None
    assert gate.ask(100).size == 100


def test_a_reservation_grows_at_once_or_not_at_all() -> None:
    gate = Gate()
    first = gate.ask(60)
    assert first.grow(30)
    assert not first.grow(11)
    assert (first.size, gate.pool.reserved) == (90, 90)
    assert first.grow(10)


def test_who_holds_some_grows_before_who_holds_none() -> None:
    """Else a read that needs a little more would wait for one that waits for it."""
    gate = Gate()
    first = gate.ask(60)
    gate.ask(50, "bob")
    assert first.grow(40)
    first.close()
    gate.world.turn()
    assert gate.told == ["", "bob"]


def test_what_can_wait_in_no_line_is_taken_at_once_or_not_at_all() -> None:
    gate = Gate()
    gate.ask(60, "ada")
    gate.ask(50, "bob")
    event = gate.pool.take(30)
    assert event is not None
    assert gate.pool.take(11) is None
    assert (event.size, gate.pool.reserved, gate.pool.waiting) == (30, 90, 1)
    assert event.grow(10)
    assert not event.grow(1)
    event.close()
    event.close()
    assert gate.pool.reserved == 60
    assert gate.pool.take(101) is None


def test_a_reservation_that_is_not_held_cannot_grow() -> None:
    gate = Gate()
    first = gate.ask(60)
    waiting = gate.ask(50)
    assert not waiting.grow(1)
    first.close()
    assert not first.grow(1)
    assert gate.pool.reserved == 0


def test_what_was_not_needed_is_given_back_and_the_next_has_it() -> None:
    gate = Gate()
    first = gate.ask(90)
    gate.ask(50, "bob")
    first.shrink_to(95)
    assert first.size == 90
    first.shrink_to(40)
    gate.world.turn()
    assert gate.told == ["", "bob"]
    first.close()
    assert gate.pool.reserved == 50


def test_all_of_it_is_given_back_once() -> None:
    gate = Gate()
    first = gate.ask(30)
    gate.ask(20)
    assert first.grow(10)
    first.close()
    first.close()
    first.shrink_to(0)
    assert gate.pool.reserved == 20


def test_who_waited_for_too_long_is_told_so_and_holds_nothing() -> None:
    gate = Gate()
    gate.ask(60, "ada")
    gate.ask(60, "bob")
    gate.world.wait(12)
    assert gate.told == ["ada", "bob too late"]
    assert gate.pool.reserved == 60


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "take", "close", "grow", "shrink", "wait", "lasts"]), st.integers(0, 100)
    ),
    max_size=60,
)


@given(STEPS)
def test_no_more_is_reserved_than_there_is_and_no_byte_is_lost(steps: list[tuple[str, int]]) -> None:
    gate, all_of_them, lasting = Gate(), list[Reservation](), set[Reservation]()
    for step, value in steps:
        some = all_of_them[value % len(all_of_them)] if all_of_them else None
        match step:
            case "ask":
                all_of_them.append(gate.ask(value))
            case "take":
                free = gate.pool.size - gate.pool.reserved
                taken = gate.pool.take(value)
                assert (taken is not None) is (value <= free)
                if taken is not None:
                    all_of_them.append(taken)
            case "wait":
                gate.world.wait(value % 5)
            case "close" if some is not None:
                some.close()
            case "grow" if some is not None:
                free = gate.pool.size - gate.pool.reserved
                held = some.state is State.HELD
                assert some.grow(value) is (held and value <= free)
            case "shrink" if some is not None:
                some.shrink_to(value)
            case "lasts" if some is not None:
                some.lasts()
                if some.state is State.HELD:
                    lasting.add(some)
        gate.world.turn()
        assert 0 <= gate.pool.reserved <= gate.pool.size
        assert gate.pool.reserved == sum(one.size for one in all_of_them if one.state is State.HELD)
        lasts = sum(one.size for one in lasting if one.state is State.HELD)
        assert gate.pool.passing == gate.pool.size - lasts
    for reservation in all_of_them:
        reservation.close()
    gate.world.turn()
    assert gate.pool.reserved == gate.pool.waiting == len(gate.world.wheel) == 0
    assert gate.pool.passing == gate.pool.size

"""Spec 06, Concurrency, and the seed's: the limit on reads at a target, as the target copes."""

from hypothesis import given
from hypothesis import strategies as st

from foyer.admission.limit import ReadLimit, ReadPlace
from foyer.measures import DURATIONS, Histogram
from tests.admission.worlds import THRESHOLD, World

LONG = THRESHOLD + 0.1
SHORT = THRESHOLD


class Gate:
    """A limit, and the reads that have come to it."""

    def __init__(self, start: int = 8) -> None:
        self.world = World()
        self.seconds = Histogram(DURATIONS)
        self.limit = ReadLimit(
            start, THRESHOLD, wheel=self.world.wheel, soon=self.world.soon, wait=self.seconds
        )
        self.told: list[str] = []

    def ask(self, name: str = "") -> ReadPlace:
        place = self.limit.place(lambda: self.told.append(name), lambda: self.told.append(f"{name} too late"))
        place.ask(self.world.clock.now + 10)
        return place

    def asking(self, name: str = "") -> ReadPlace:
        """One that waits for a slot."""
        place = self.ask(name)
        place.asks()
        return place

    def read(self, seconds: float) -> None:
        """One that waited so long for its slot, from its beginning to its end."""
        place = self.asking()
        place.waited(seconds)
        place.close()


def test_it_starts_at_what_the_target_may_be_sent_at_once() -> None:
    assert Gate(64).limit.limit == 64


def test_a_read_that_waited_longer_than_the_threshold_for_a_slot_halves_it() -> None:
    gate = Gate(8)
    gate.read(LONG)
    assert gate.limit.limit == 4


def test_a_read_that_got_none_halves_it() -> None:
    gate = Gate(8)
    gate.asking().got_none(0.0)
    assert gate.limit.limit == 4


def test_it_is_halved_to_one_at_least() -> None:
    gate = Gate(8)
    for _ in range(10):
        gate.read(LONG)
    assert gate.limit.limit == 1


def test_every_other_read_raises_it_by_one() -> None:
    gate = Gate(8)
    for _ in range(3):
        gate.read(SHORT)
    assert gate.limit.limit == 11


def test_it_rises_up_to_four_times_the_start() -> None:
    gate = Gate(2)
    for _ in range(20):
        gate.read(0.0)
    assert gate.limit.limit == 8


@given(st.integers(1, 64), st.lists(st.sampled_from([0.0, SHORT, LONG, 30.0]), max_size=200))
def test_after_any_reads_it_is_what_they_make_of_it_one_by_one(start: int, waits: list[float]) -> None:
    gate, limit = Gate(start), start
    for seconds in waits:
        gate.read(seconds)
        limit = max(1, limit // 2) if seconds > THRESHOLD else min(4 * start, limit + 1)
        assert gate.limit.limit == limit
    assert gate.limit.admitted == 0
    assert gate.seconds.count == len(waits)


def test_a_read_that_was_given_up_soon_says_nothing_of_the_target() -> None:
    gate = Gate(8)
    gate.asking().left(SHORT)
    assert gate.limit.limit == 8


def test_a_read_that_was_given_up_after_waiting_for_too_long_halves_it() -> None:
    gate = Gate(8)
    gate.asking().left(LONG)
    assert gate.limit.limit == 4


def test_a_read_of_many_requests_raises_it_once() -> None:
    gate = Gate(8)
    place = gate.ask()
    for _ in range(10):
        place.asks()
        place.waited(SHORT)
    assert gate.limit.limit == 9


def test_a_read_of_many_requests_halves_it_once_also_by_a_later_one() -> None:
    gate = Gate(8)
    place = gate.ask()
    for seconds in (SHORT, LONG, LONG, SHORT):
        place.asks()
        place.waited(seconds)
    place.asks()
    place.got_none(LONG)
    assert gate.limit.limit == 4


def fallen(gate: Gate) -> None:
    """To 1, from 8."""
    for _ in range(3):
        gate.read(LONG)


def test_a_read_that_was_not_let_in_while_nobody_waits_for_a_slot_raises_it_as_every_other() -> None:
    """What holds the places then is answered late or never: no sign that there are no slots."""
    gate = Gate(8)
    fallen(gate)
    gate.limit.turned_away()
    assert gate.limit.limit == 2


def test_it_does_not_while_somebody_waits_for_a_slot() -> None:
    gate = Gate(8)
    fallen(gate)
    place = gate.asking()
    gate.limit.turned_away()
    assert gate.limit.limit == 1
    place.left(SHORT)
    gate.limit.turned_away()
    assert gate.limit.limit == 2


def test_reads_that_were_not_let_in_raise_it_to_where_it_began_and_no_further() -> None:
    """What fills the places above it is something else, such as memory that is waited for."""
    gate = Gate(8)
    fallen(gate)
    for _ in range(20):
        gate.limit.turned_away()
    assert gate.limit.limit == 8


def test_a_few_reads_that_are_never_answered_do_not_keep_the_others_out_for_ever() -> None:
    gate = Gate(8)
    for _ in range(3):
        gate.asking("hangs").waited(SHORT)
    for _ in range(4):
        gate.read(LONG)
    assert (gate.limit.limit, gate.limit.admitted) == (1, 3)
    for _ in range(3):
        gate.ask("is too late")
        gate.limit.turned_away()
    gate.world.turn()
    assert gate.told[-1] == "is too late"
    assert gate.limit.admitted == 4


def test_every_wait_for_a_slot_is_observed() -> None:
    gate = Gate()
    place = gate.asking()
    place.waited(0.5)
    place.asks()
    place.waited(2.0)
    gate.asking().got_none(3.0)
    assert (gate.seconds.count, gate.seconds.sum) == (3, 5.5)


def test_reads_wait_in_arrival_order() -> None:
    gate = Gate(1)
    places = [gate.ask(name) for name in ("ada", "bob", "eve")]
    for place in places:
        place.close()
        gate.world.turn()
    assert gate.told == ["ada", "bob", "eve"]


def test_a_limit_that_was_halved_sends_nobody_away_and_lets_nobody_in_before_it_is_met() -> None:
    gate = Gate(4)
    places = [gate.asking(name) for name in "abcd"]
    gate.ask("e")
    places[0].waited(LONG)
    assert (gate.limit.limit, gate.limit.admitted, gate.limit.waiting) == (2, 4, 1)
    for place in places[:2]:
        place.close()
    gate.world.turn()
    assert gate.told == [*"abcd"]
    places[2].close()
    gate.world.turn()
    assert gate.told == [*"abcde"]


def test_a_limit_that_rises_lets_the_next_in() -> None:
    gate = Gate(1)
    first = gate.asking("ada")
    gate.ask("bob")
    first.waited(SHORT)
    gate.world.turn()
    assert gate.told == ["ada", "bob"]


def test_a_read_is_too_late_after_its_time() -> None:
    gate = Gate(1)
    gate.ask("ada")
    gate.ask("bob")
    gate.world.wait(12)
    assert gate.told == ["ada", "bob too late"]

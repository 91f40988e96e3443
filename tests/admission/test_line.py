"""A line: strictly in order, nothing given twice or lost, and nobody let in from within somebody's end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.admission.line import Line, State, Told
from tests.admission.worlds import World


class Crowd:
    """Shares of one line, by name, and what they were told."""

    def __init__(self, capacity: int) -> None:
        self.world = World()
        self.line = Line(capacity, self.world.wheel, self.world.soon)
        self.shares: dict[str, Told] = {}
        self.told: list[str] = []

    def ask(self, name: str, size: int = 1, seconds: float = 10.0) -> None:
        share = Told(
            self.line, size, lambda: self.told.append(name), lambda: self.told.append(f"{name} too late")
        )
        self.shares[name] = share
        share.ask(self.world.clock.now + seconds)

    def close(self, name: str) -> None:
        self.shares[name].close()
        self.world.turn()


def test_what_fits_is_held_at_once() -> None:
    crowd = Crowd(3)
    crowd.ask("ada", 2)
    crowd.ask("bob")
    assert crowd.told == ["ada", "bob"]
    assert crowd.line.taken == 3


def test_whoever_came_first_goes_first() -> None:
    crowd = Crowd(1)
    for name in ("ada", "bob", "eve"):
        crowd.ask(name)
    for name in ("ada", "bob", "eve"):
        assert crowd.told[-1] == name
        crowd.close(name)
    assert crowd.line.taken == 0


def test_one_who_would_fit_does_not_pass_one_who_does_not_yet() -> None:
    crowd = Crowd(4)
    crowd.ask("ada", 3)
    crowd.ask("bob", 2)
    crowd.ask("eve", 1)
    assert crowd.told == ["ada"]
    crowd.close("ada")
    assert crowd.told == ["ada", "bob", "eve"]


def test_who_takes_some_at_once_takes_what_is_free_and_changes_nobodys_order() -> None:
    crowd = Crowd(4)
    crowd.ask("ada", 2)
    crowd.ask("bob", 3)
    crowd.ask("eve", 1)
    hasty, too_much = (Told(crowd.line, size, lambda: None, lambda: None) for size in (2, 1))
    assert crowd.line.take(hasty)
    assert not crowd.line.take(too_much)
    assert (hasty.state, too_much.state) == (State.HELD, State.WAITING)
    assert (crowd.line.taken, len(crowd.line)) == (4, 2)
    too_much.close()
    crowd.close("ada")
    assert crowd.told == ["ada"]  # eve, who would fit, is still behind bob
    hasty.close()
    crowd.world.turn()
    assert crowd.told == ["ada", "bob", "eve"]
    assert crowd.line.taken == 4


def test_one_who_comes_while_the_next_is_about_to_be_let_in_stands_behind() -> None:
    crowd = Crowd(1)
    crowd.ask("ada")
    crowd.ask("bob")
    crowd.shares["ada"].close()
    crowd.ask("eve")
    assert crowd.told == ["ada"]
    crowd.world.turn()
    assert crowd.told == ["ada", "bob"]


def test_the_next_is_let_in_in_a_later_turn_and_not_within_the_call_that_gave_back() -> None:
    crowd = Crowd(1)
    crowd.ask("ada")
    crowd.ask("bob")
    crowd.shares["ada"].close()
    assert crowd.told == ["ada"]
    crowd.world.turn()
    assert crowd.told == ["ada", "bob"]


def test_however_much_is_given_back_in_a_turn_one_turn_is_asked_for() -> None:
    crowd = Crowd(3)
    for name in "abcdef":
        crowd.ask(name)
    for name in "abc":
        crowd.shares[name].close()
    assert len(crowd.world.later) == 1
    crowd.world.turn()
    assert crowd.told == [*"abcdef"]


def test_one_who_leaves_the_line_may_have_been_what_the_others_waited_for() -> None:
    crowd = Crowd(4)
    crowd.ask("ada", 3)
    crowd.ask("bob", 4)
    crowd.ask("eve", 1)
    crowd.close("bob")
    assert crowd.told == ["ada", "eve"]


def test_one_whose_time_is_over_is_told_so_and_the_others_go_on() -> None:
    crowd = Crowd(4)
    crowd.ask("ada", 3, 100)
    crowd.ask("bob", 4, 5)
    crowd.ask("eve", 1, 20)
    crowd.world.wait(7)
    assert crowd.told == ["ada", "bob too late", "eve"]


def test_one_who_is_let_in_or_has_left_is_never_told_that_it_was_too_late() -> None:
    crowd = Crowd(1)
    for name in ("ada", "bob", "eve"):
        crowd.ask(name, 1, 5)
    crowd.close("eve")
    crowd.close("ada")
    crowd.world.wait(20)
    assert crowd.told == ["ada", "bob"]
    assert len(crowd.world.wheel) == 0


def test_its_time_may_be_over_by_the_clock_of_whoever_asks() -> None:
    crowd = Crowd(1)
    crowd.ask("ada")
    crowd.ask("bob")
    for name in ("ada", "bob", "bob"):
        crowd.shares[name].expire()
    assert crowd.told == ["ada", "bob too late"]
    assert crowd.line.taken == 1


def test_closing_twice_gives_back_once() -> None:
    crowd = Crowd(2)
    crowd.ask("ada")
    crowd.ask("bob")
    crowd.close("ada")
    crowd.close("ada")
    assert crowd.line.taken == 1


def test_where_there_is_less_than_before_nothing_is_taken_from_who_holds_it() -> None:
    crowd = Crowd(3)
    for name in ("ada", "bob", "eve", "dan"):
        crowd.ask(name)
    crowd.line.capacity = 1
    assert (crowd.line.taken, crowd.told) == (3, ["ada", "bob", "eve"])
    crowd.close("ada")
    crowd.close("bob")
    assert crowd.told == ["ada", "bob", "eve"]
    crowd.close("eve")
    assert crowd.told == ["ada", "bob", "eve", "dan"]


def test_where_there_is_more_than_before_the_next_is_let_in() -> None:
    crowd = Crowd(1)
    crowd.ask("ada")
    crowd.ask("bob")
    crowd.line.capacity = 2
    crowd.world.turn()
    assert crowd.told == ["ada", "bob"]


class Faulty(Exception):
    """A fault of our own."""


def fail() -> None:
    raise Faulty


def test_a_fault_as_one_is_let_in_gives_its_share_back_and_lets_the_others_in() -> None:
    crowd = Crowd(1)
    crowd.ask("ada")
    bad = Told(crowd.line, 1, fail, fail)
    bad.ask(crowd.world.clock.now + 10)
    crowd.ask("eve")
    crowd.shares["ada"].close()
    with pytest.raises(Faulty):
        crowd.world.turn()
    crowd.world.turn()
    assert bad.state is State.OVER
    assert crowd.told == ["ada", "eve"]
    assert crowd.line.taken == 1


def test_a_fault_as_one_is_let_in_at_once_gives_its_share_back() -> None:
    crowd = Crowd(1)
    with pytest.raises(Faulty):
        Told(crowd.line, 1, fail, fail).ask(crowd.world.clock.now + 10)
    assert crowd.line.taken == 0


def test_thousands_who_are_done_as_they_are_let_in_do_not_stand_on_each_others_stack() -> None:
    world = World()
    line = Line(1, world.wheel, world.soon)
    first = Told(line, 1, lambda: None, fail)
    first.ask(world.clock.now + 10)
    done: list[int] = []

    def brief() -> None:
        done.append(len(done))
        shares[len(done) - 1].close()

    shares = [Told(line, 1, brief, fail) for _ in range(5000)]
    for share in shares:
        share.ask(world.clock.now + 10)
    first.close()
    world.turn()
    assert len(done) == 5000
    assert line.taken == 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(1, 4)),
        st.tuples(st.just("close"), st.integers(0, 30)),
        st.tuples(st.just("wait"), st.integers(1, 6)),
        st.tuples(st.just("resize"), st.integers(4, 8)),
    ),
    max_size=60,
)


@given(STEPS)
def test_they_are_let_in_in_the_order_they_came_and_as_soon_as_they_fit(steps: list[tuple[str, int]]) -> None:
    """Against a list of those who wait, let in from its front after every step."""
    crowd, capacity = Crowd(6), 6
    waiting: list[tuple[str, int, float]] = []
    held: dict[str, int] = {}
    order: list[str] = []

    def let_in() -> None:
        while waiting and sum(held.values()) + waiting[0][1] <= capacity:
            name, size, _ = waiting.pop(0)
            held[name] = size
            order.append(name)

    for number, (step, value) in enumerate(steps):
        now = crowd.world.clock.now
        match step:
            case "ask":
                crowd.ask(str(number), value)
                waiting.append((str(number), value, now + 10))
            case "close" if str(value) in crowd.shares:
                crowd.close(str(value))
                held.pop(str(value), None)
                waiting[:] = [who for who in waiting if who[0] != str(value)]
            case "wait":
                for _ in range(value):
                    crowd.world.wait(1)
                    # The wheel asks within the tick behind a deadline.
                    late = {who[0] for who in waiting if who[2] + 1 <= crowd.world.clock.now}
                    waiting[:] = [who for who in waiting if who[0] not in late]
                    let_in()
            case "resize":
                crowd.line.capacity = capacity = value
                crowd.world.turn()
        let_in()
        assert [name for name in crowd.told if " " not in name] == order
        assert crowd.line.taken == sum(held.values())
        assert len(crowd.line) == len(waiting) == len(crowd.world.wheel)

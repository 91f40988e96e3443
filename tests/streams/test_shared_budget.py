"""How fast the shared identity asks: a rate with a burst of twice it, in order (spec 05, Shared watches)."""

import heapq
import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foyer.exchange.ports import Cancellable, Expirable, UpstreamReceiver
from foyer.streams.budget import Budget


class Receiver:
    """Somebody's request."""


class Place:
    """A place in the pool."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Scene:
    """A budget, its clock and its pool."""

    def __init__(self, qps: float) -> None:
        self.now = 1000.0
        self.opened: list[tuple[float, object, Place]] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self.budget = Budget(self._open, qps, lambda: self.now, self._later)

    def _open(self, receiver: UpstreamReceiver) -> Cancellable:
        place = Place()
        self.opened.append((self.now, receiver, place))
        return place

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (self.now + seconds, next(self._numbers), call))

    def ask(self) -> tuple[Receiver, Cancellable]:
        receiver = Receiver()
        return receiver, self.budget.open(receiver)  # type: ignore[arg-type]

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while self._timers and self._timers[0][0] <= until:
            self.now, _, call = heapq.heappop(self._timers)
            call()
        self.now = until

    @property
    def receivers(self) -> list[object]:
        return [receiver for _, receiver, _ in self.opened]


@pytest.mark.parametrize(("qps", "burst"), [(100, 200), (1, 2), (0.5, 1), (0.001, 1), (2.5, 5)])
def test_the_burst_is_twice_the_rate_and_at_least_one(qps: float, burst: int) -> None:
    scene = Scene(qps)
    for _ in range(burst + 10):
        scene.ask()
    assert (len(scene.opened), len(scene.budget)) == (burst, 10)
    scene.wait(1 / qps * 1.001)
    assert len(scene.opened) == burst + 1
    scene.wait(9 / qps)
    assert (len(scene.opened), len(scene.budget)) == (burst + 10, 0)


def test_whoever_waits_is_served_in_order_and_nobody_passes_by() -> None:
    scene = Scene(1)
    asked = [scene.ask()[0] for _ in range(10)]
    scene.wait(2)
    asked.append(scene.ask()[0])
    scene.wait(100)
    assert scene.receivers == asked


def test_who_gives_up_costs_nothing_and_what_has_been_found_for_them_is_given_back() -> None:
    scene = Scene(1)
    tickets = [scene.ask() for _ in range(6)]
    tickets[0][1].cancel()
    assert scene.opened[0][2].cancelled
    tickets[2][1].cancel()
    tickets[3][1].cancel()
    tickets[3][1].cancel()
    assert len(scene.budget) == 2
    scene.wait(1.01)
    assert scene.receivers[2] is tickets[4][0]
    scene.wait(1)
    assert scene.receivers[3] is tickets[5][0]
    assert [place.cancelled for _, _, place in scene.opened] == [True, False, False, False]


def test_one_that_is_given_up_while_its_place_is_looked_for_gives_it_back() -> None:
    scene = Scene(1)
    scene.ask(), scene.ask()

    def leaves(receiver: UpstreamReceiver) -> Cancellable:
        ticket.cancel()
        return scene._open(receiver)

    ticket = scene.budget.before(leaves)(Receiver())  # type: ignore[arg-type]
    scene.wait(2)
    assert scene.opened[-1][2].cancelled


def test_ways_of_several_kinds_stand_in_one_line() -> None:
    scene = Scene(1)
    elsewhere: list[object] = []

    def open_elsewhere(receiver: UpstreamReceiver) -> Cancellable:
        elsewhere.append(receiver)
        return Place()

    way = scene.budget.before(open_elsewhere)
    (first, _), second, third = scene.ask(), Receiver(), Receiver()
    way(second), way(third)  # type: ignore[arg-type]
    last, _ = scene.ask()
    assert (scene.receivers, elsewhere) == ([first], [second])
    scene.wait(1)
    assert (scene.receivers, elsewhere) == ([first], [second, third])
    scene.wait(1)
    assert scene.receivers == [first, last]


class Line(Place):
    """A place that is waited for in another line."""

    expired = False

    def expire(self) -> None:
        self.expired = True


def test_one_whose_time_is_over_has_what_it_waits_for_behind_the_line_say_why() -> None:
    scene = Scene(1)
    lines: list[Line] = []

    def open_line(receiver: UpstreamReceiver) -> Cancellable:
        lines.append(Line())
        return lines[-1]

    tickets = [scene.budget.before(open_line)(Receiver()) for _ in range(3)]  # type: ignore[arg-type]
    for ticket in tickets:
        assert isinstance(ticket, Expirable)
        ticket.expire()  # of the last nothing is known: it waits for this line itself
    assert [line.expired for line in lines] == [True, True]


def test_one_that_asks_again_as_it_is_served_stands_behind_the_others() -> None:
    scene = Scene(1)
    order: list[str] = []
    found = scene._open

    def asks(receiver: UpstreamReceiver) -> Cancellable:
        order.append(receiver)  # type: ignore[arg-type]
        if len(order) == 1:
            scene.budget.open("again")  # type: ignore[arg-type]
        return found(receiver)

    scene.budget._open_side = asks
    for name in ("one", "two", "three"):
        scene.budget.open(name)  # type: ignore[arg-type]
    scene.wait(10)
    assert sorted(order) == ["again", "one", "three", "two"]
    assert order.index("two") < order.index("three")


@settings(max_examples=100, deadline=None)
@given(
    qps=st.sampled_from([0.7, 1.0, 3.0, 10.0]),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("ask"), st.integers(1, 20)),
            st.tuples(st.just("wait"), st.integers(0, 3000)),
            st.tuples(st.just("leave"), st.integers(0, 100)),
        ),
        max_size=40,
    ),
)
def test_in_any_interval_there_are_at_most_the_burst_and_the_rate(
    qps: float, steps: list[tuple[str, int]]
) -> None:
    scene = Scene(qps)
    tickets: list[tuple[Receiver, Cancellable]] = []
    left: set[int] = set()
    for act, much in steps:
        match act:
            case "ask":
                tickets += [scene.ask() for _ in range(much)]
            case "wait":
                scene.wait(much / 1000)
            case _ if tickets:
                which = much % len(tickets)
                left.add(which)
                tickets[which][1].cancel()
    scene.wait(1000 / qps)
    times = [at for at, _, _ in scene.opened]
    burst = max(1, int(2 * qps))
    for first, begin in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + qps * (times[last] - begin) + 0.01
    asked = [receiver for which, (receiver, _) in enumerate(tickets) if which not in left]
    assert [receiver for receiver in scene.receivers if receiver in asked] == asked
    assert len(scene.budget) == 0

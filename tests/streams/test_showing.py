"""One scope as one projection shows it: who is told, and in which order."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from foyer.streams.fanout import Line
from foyer.streams.projection import Projected, Projection
from foyer.streams.redactions import Redactions
from foyer.streams.showing import Showing


class Reader:
    """Who reads each change, on some connection."""

    reads = True

    def __init__(self, showing: Showing, neighbourhood: int, told: list["Reader"]) -> None:
        self.neighbourhood = neighbourhood
        self.position = 0
        self._showing = showing
        self._told = told

    def deliver(self, most: int) -> int:
        self.position = self._showing.behind
        self._told.append(self)
        self._showing.rest(self)
        return 1

    def failed(self, error: Exception) -> None:
        raise error


def change(number: int) -> Projected:
    return Projected("uid", b"%d" % number, b"", Redactions())


@given(st.lists(st.lists(st.integers(0, 5), max_size=20), min_size=1, max_size=4))
def test_who_shares_a_connection_is_told_together_in_the_order_they_came(coming: list[list[int]]) -> None:
    soon, told = list[Callable[[], None]](), list[Reader]()
    showing = Showing(Projection.RAW, Line(soon.append))
    everybody: list[Reader] = []
    for number, neighbourhoods in enumerate(coming):
        for neighbourhood in neighbourhoods:
            reader = Reader(showing, neighbourhood, told)
            everybody.append(reader)
            showing.readers[reader] = None
            showing.rest(reader)
        showing.show(change(number), new=False)
        while soon:
            soon.pop()()
        assert told == sorted(everybody, key=lambda reader: reader.neighbourhood)
        told.clear()

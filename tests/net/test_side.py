"""What is queued for a peer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.ports import HIGH_WATER
from foyer.net.side import GATHERED, TINY, Side
from tests.support.allocations import allocations


class Carrier:
    """A connection whose transport takes nothing."""

    def enqueue(self, side: Side) -> None:
        """It has something to send."""

    def drain(self) -> None:
        """Nothing is taken."""

    def pause(self, side: Side) -> None:
        """Its peer sends no more."""

    def resume(self, side: Side) -> None:
        """It does again."""


@given(st.lists(st.binary(max_size=3 * TINY), max_size=40))
def test_what_is_queued_is_what_was_sent_in_pieces_that_are_worth_it(sent: list[bytes]) -> None:
    side = Side(Carrier(), 1)
    for data in sent:
        side.send(data)
    assert b"".join(side.pieces) == b"".join(sent)
    assert side.queued == sum(map(len, sent))
    assert all(
        len(piece) >= TINY or before >= GATHERED
        for before, piece in zip(map(len, side.pieces), side.pieces[1:], strict=False)
    )


def test_a_large_piece_is_queued_as_it_is_and_not_copied() -> None:
    side, large = Side(Carrier(), 1), b"x" * TINY
    side.send(b"a")
    side.send(large)
    side.send(large)
    assert side.pieces[1] is large and side.pieces[2] is large


@pytest.mark.parametrize("size", [1, 2, 9, TINY - 1, TINY])
def test_what_waits_for_a_slow_peer_takes_twice_its_bytes_however_small_its_pieces(size: int) -> None:
    side = Side(Carrier(), 1)
    with allocations() as made:
        for number in range(2 * HIGH_WATER // size):
            side.send(b"%*d" % (size, number % 10))
    assert made.kept < 2.1 * side.queued

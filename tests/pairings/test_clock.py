"""The one timer goes with the wheel's ticks, so that each deadline is met within one of them."""

from foyer.gate.wheel import TICK
from tests.support.pairings import Pairing


def test_the_wheel_is_turned_as_its_ticks_begin(pairing: Pairing) -> None:
    when = pairing.product.ask(lambda: pairing.product._foyer._timer.when())
    assert when % TICK == 0

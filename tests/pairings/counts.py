"""What foyer counted of a test: the series that moved, and by how much."""

from foyer.measures import Measures
from tests.support.pairings import Pairing

Counts = dict[tuple[str, str], int]


def _all(measures: Measures) -> Counts:
    found = {("reached", bound.value): count for bound, count in measures.reached.items()}
    found |= {("cut short", cause.label): count for cause, count in measures.cut_short.items()}
    found |= {("interrupted", reason.word): count for reason, count in measures.interruptions.items()}
    found |= {("used", bound.value): usage.count for bound, usage in measures.usage.items()}
    found["in flight", "requests"] = measures.requests_in_flight()
    return found


class Counted:
    """From its making on."""

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing
        self._before = self._now()

    def _now(self) -> Counts:
        product = self._pairing.product
        return product.ask(lambda: _all(product.measures))

    def moved(self, *kinds: str) -> Counts:
        """What is another number now, of these kinds."""
        now = self._now()
        return {
            key: count - self._before[key]
            for key, count in now.items()
            if count != self._before[key] and key[0] in kinds
        }

    def expect(self, counts: Counts) -> None:
        """Waits for refusals, cuts and interruptions to be just these, and nothing to be in flight."""
        kinds = "reached", "cut short", "interrupted"
        self._pairing.script.until(
            lambda: self.in_flight == 0 and len(self.moved(*kinds)) >= len(counts), f"{counts} to be counted"
        )
        assert self.moved(*kinds) == counts

    @property
    def in_flight(self) -> int:
        """Requests that hold a slot."""
        product = self._pairing.product
        return product.ask(lambda: product.measures.requests_in_flight())

"""What foyer adds to its codecs on a small signed-in GET, in memory (bounds: a tenth and a third).

Two readings of "above the codecs" are printed. The bound is for what decides: exchange, session,
gate, rules, record. Sides, connections, pool and turn are the transport, and have a row of their
own; the last row counts them as well.
"""

from bench.layers import LAYERS, WARM, Dialogue, said, warmed
from bench.pairings import NAMES, PAIRINGS, Amount
from bench.report import Report
from bench.rounds import best


def measure(amount: Amount, report: Report) -> list[float]:
    """Fills the table; microseconds of everything in memory, a pairing each."""
    found = [_pairing(browser, upstream, amount) for browser, upstream in PAIRINGS]
    codecs, net, exchange, front = ([costs[layer] for costs in found] for layer in LAYERS)
    table = report.table("A small signed-in GET in memory, CPU µs", NAMES)
    table.row("codecs alone: h11 or h2, guard, walk", codecs)
    table.row("+ connections, sides, pool, turn (net)", _less(net, codecs))
    table.row("+ exchange", _less(exchange, net), ".1f")
    table.row("+ route, session, gate, rules, record", _less(front, exchange))
    table.row("everything", front)
    table.at_most("exchange / codecs", _ratio(_less(exchange, net), codecs), 0.10)
    table.at_most("exchange and what decides / codecs", _ratio(_less(front, net), codecs), 0.33)
    table.row("the same and net / codecs", _ratio(_less(front, codecs), codecs), ".2f")
    return front


def _pairing(browser: str, upstream: str, amount: Amount) -> dict[str, float]:
    dialogue = Dialogue(browser, upstream, WARM + amount.requests)
    assert len({said(layer, dialogue) for layer in LAYERS}) == 1, "the layers do not do the same work"
    works = {layer: (lambda layer=layer: warmed(layer, dialogue)) for layer in LAYERS}
    return {layer: cost * 1e6 / amount.requests for layer, cost in best(works, amount.rounds).items()}


def _less(more: list[float], less: list[float]) -> list[float]:
    return [a - b for a, b in zip(more, less, strict=True)]


def _ratio(amounts: list[float], of: list[float]) -> list[float]:
    return [a / b for a, b in zip(amounts, of, strict=True)]

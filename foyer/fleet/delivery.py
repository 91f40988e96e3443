"""A fleet list on its way to the browser, written as the browser takes it (spec 06).

What was held for it is given back with the last of it, or as soon as nobody is there to read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from foyer.exchange.exchange import Exchange, State
from foyer.exchange.ports import HIGH_WATER
from foyer.fleet import merged
from foyer.fleet.merged import Merged
from foyer.fleet.reading import Read
from foyer.k8s.incoming import SECURITY_FIELDS
from foyer.protocol.events import Fields, ResponseHead


class Delivery:
    """One answer: `foyer.exchange.ports.Flow`."""

    __slots__ = ("_exchange", "_held", "_slices")

    endless = False

    def __init__(self, exchange: Exchange, held: ExitStack, pieces: Iterable[bytes]) -> None:
        self._exchange = exchange
        self._held = held
        self._slices = _slices(pieces)

    def drained(self) -> None:
        """As much as the browser takes."""
        exchange = self._exchange
        while exchange.browser.queued <= HIGH_WATER:
            data = next(self._slices, None)
            if data is None:
                self._held.close()
                exchange.end_flow()
                return
            exchange.write(data)

    def cancel(self) -> None:
        """Nobody reads it any more."""
        self._held.close()
        self._slices = iter(())


def deliver(exchange: Exchange, read: Read, write_timeout: float | None, *, content: bool) -> None:
    """Answers `exchange` with what was read; without `content` by the head of that alone (HEAD)."""
    delivery = Delivery(exchange, read.held, merged.pieces(read.list))
    try:
        head = ResponseHead(200, _fields(read.list), ended=not content)
        exchange.begin_flow(head, delivery, write_timeout)
    except BaseException:
        delivery.cancel()  # the exchange need not know of it
        raise
    if content and exchange.state is State.FLOWING:
        delivery.drained()
    else:
        delivery.cancel()  # the head was all of it, or nobody is there any more


def _fields(found: Merged) -> Fields:
    length = sum(map(len, merged.pieces(found)))
    fields: Fields = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % length),
        *SECURITY_FIELDS,
    ]
    if found.truncated:
        fields.append((b"krm-foyer-truncated", b"true"))
    return fields


def _slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in slices of about `HIGH_WATER`: small ones together, large ones apart."""
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size < HIGH_WATER:
            continue
        whole = gathered[0] if len(gathered) == 1 else b"".join(gathered)
        yield from (whole[at : at + HIGH_WATER] for at in range(0, size - HIGH_WATER + 1, HIGH_WATER))
        rest = whole[size - size % HIGH_WATER :]
        gathered, size = ([rest] if rest else []), len(rest)
    if size:
        yield b"".join(gathered)

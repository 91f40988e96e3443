"""`/fleet/v1/api…` and `/fleet/v1/apis…`: one list over several targets (spec 06, Targets and fleet reads).

The gate has let it through, as one request however many targets it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foyer.exchange.exchange import Exchange
from foyer.fleet import query
from foyer.fleet.delivery import deliver
from foyer.fleet.ports import Target
from foyer.fleet.reading import Common, Reading
from foyer.front import work
from foyer.front.routes import Matched
from foyer.interruption import Interruption
from foyer.measures import Measures
from foyer.protocol import prefer
from foyer.protocol.events import RequestHead
from foyer.session.seal import IdToken


class Fleeting:
    """The route's answers."""

    def __init__(
        self,
        *,
        common: Common,
        targets: Callable[[], Mapping[str, Target]],
        target_timeout: float,
        write_timeout: float | None,
        measures: Measures,
    ) -> None:
        """`targets` are those there are now, by name and in their order. Times are in seconds."""
        self._common = common
        self._targets = targets
        self._target_timeout = target_timeout
        self._write_timeout = write_timeout
        self._measures = measures

    def serve(self, exchange: Exchange, head: RequestHead, matched: Matched, token: IdToken) -> None:
        """Reads the list that was asked for; `token` is whose objects are in it."""
        targets = self._targets()
        asked = query.read(matched.query, targets.keys())
        if isinstance(asked, Interruption):
            exchange.refuse(asked)
            return
        wait = prefer.wait(head.fields)
        seconds = self._target_timeout if wait is None else min(wait, self._target_timeout)
        reading = Reading(self._common, targets, asked, matched.upstream_target, token, seconds)
        work.start(exchange, self._answer(exchange, reading, content=head.method != b"HEAD"))

    async def _answer(self, exchange: Exchange, reading: Reading, *, content: bool) -> None:
        found = await reading.read()
        if isinstance(found, Interruption):
            exchange.refuse(found)
            return
        if found.list.truncated:
            self._measures.fleet_truncated += 1
        deliver(exchange, found, self._write_timeout, content=content)

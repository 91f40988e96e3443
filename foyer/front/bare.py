"""foyer without the flags that signing in needs: its start page and the probes, and nothing else (spec 01).

What a chart or a container starts first, before anyone has configured it: it works, it is ready, and its
page says what to route to it.
"""

from __future__ import annotations

from collections.abc import Callable

from foyer.config.parts import OverloadConfig
from foyer.exchange.exchange import Exchange
from foyer.front.door import Door
from foyer.front.fixed import Fixed
from foyer.front.routes import find_without_sign_in, named
from foyer.interruption import Interruption
from foyer.measures import Measures
from foyer.observe import Asked, Log
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead


class Bare(Door):
    """Those routes. No request of anybody's goes anywhere."""

    def __init__(
        self,
        pages: Pages,
        log: Log,
        measures: Measures,
        overload: OverloadConfig,
        ready: Callable[[], bool],
    ) -> None:
        super().__init__(pages, log, measures, overload)
        self._fixed = Fixed(pages, ready)

    def _route(self, exchange: Exchange, head: RequestHead) -> None:
        matched = find_without_sign_in(head)
        if isinstance(matched, Interruption):
            exchange.asked = Asked(named(head), head.method, head.target)
            exchange.refuse(matched)
        else:
            exchange.asked = Asked(matched.route.value, head.method, matched.path)
            exchange.answer(self._fixed.answer(matched))

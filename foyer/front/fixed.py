"""The answers that are the same for everybody: two pages, the probes, the assets (spec 01, Routes)."""

from __future__ import annotations

from collections.abc import Callable

from foyer.exchange.ports import Answer
from foyer.front.routes import Matched, Route
from foyer.pages.render import Pages
from foyer.protocol.events import Fields

_PLAIN: Fields = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


class Fixed:
    """Those answers. Only readiness changes."""

    def __init__(self, pages: Pages, ready: Callable[[], bool]) -> None:
        self._pages = pages
        self._ready = ready

    def answer(self, matched: Matched) -> Answer:
        """The answer of a route that has a fixed one."""
        match matched.route:
            case Route.START:
                return self._pages.start()
            case Route.LOGGED_OUT:
                return self._pages.logged_out()
            case Route.HEALTHZ:
                return Answer(200, _PLAIN, b"ok\n")
            case Route.READYZ:
                if self._ready():
                    return Answer(200, _PLAIN, b"ready\n")
                return Answer(
                    503, _PLAIN, b"not ready: the issuer has not been discovered, or foyer is stopping\n"
                )
            case Route.ASSET:
                asset = self._pages.asset(matched.path)
                assert asset is not None, "the route table lists the assets there are"
                return asset
            case _:
                raise AssertionError(matched.route)

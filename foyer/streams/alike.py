"""What many streams are sent alike is read once, as it would be from one cache (spec 05, Cost model).

Streams with a token of their own have a watch of their own each. But of one scope the API server sends all of
them the same octets, and all of one change before it sends the next. To read an event and to project it is
two fifths of what a delivery costs; so the last event is kept, with what was made of it, for whoever is sent
the same octets next. Who may see an object is decided by whoever sends it: nothing is passed on here.

No Secret is kept, and nothing large: one event is left of all that was ever followed.
"""

from __future__ import annotations

from foyer.streams import projection, watch
from foyer.streams.projection import Projected, Projection
from foyer.streams.resource import Resource
from foyer.streams.watch import Changed, Event

KEPT_MOST = 64 * 1024
"""Bytes of an event that is kept: nearly all have less."""


class LastEvent:
    """The change that was read last, and what was shown of it."""

    __slots__ = ("_event", "_line", "_shown")

    def __init__(self) -> None:
        self._line = b""
        self._event: Changed | None = None
        self._shown: dict[Projection, Projected] = {}

    def read(self, line: bytes) -> Event:
        """As `watch.read_event`."""
        if self._event is not None and line == self._line:
            return self._event
        event = watch.read_event(line)
        if isinstance(event, Changed) and not event.resource.is_secret and len(line) <= KEPT_MOST:
            self._line, self._event, self._shown = line, event, {}
        return event

    def project(self, resource: Resource, through: Projection, *, secret: bool) -> Projected:
        """As `projection.project`."""
        if secret or self._event is None or resource is not self._event.resource:
            return projection.project(resource, through, secret=secret)
        shown = self._shown.get(through)
        if shown is None:
            shown = self._shown[through] = projection.project(resource, through)
        return shown


_LAST = LastEvent()  # the process's: what it answers depends on nothing but what it is asked

read_event = _LAST.read
project = _LAST.project

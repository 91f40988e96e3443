"""An API server as sources ask it: the ways to it, and what is remembered of it (spec 05, Upstream)."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from foyer.gate.wheel import Wheel
from foyer.streams.budget import OpenSide
from foyer.streams.scope import Scope
from foyer.streams.snapshot import Gates

MAX_PAGE_BYTES = 16 * 1024 * 1024
"""One page of a list, read whole: 500 objects of 32 KiB. Configured as `-max-target-answer-bytes`."""

GROUP_VERSIONS_MOST = 1024
"""Group-versions without streaming lists that are remembered. A server with more is asked again."""

GroupVersion: TypeAlias = tuple[str, str, str]
"""A target, and a group and version of its."""


class Turned(Protocol):
    """What goes on in a later turn of the loop (`foyer.net.turn.Unfinished`)."""

    def go_on(self) -> None:
        """That turn has come."""

    def failed(self) -> None:
        """`go_on` raised."""


@dataclass(frozen=True, slots=True)
class Server:
    """One, with one kind of identity.

    `gates` let snapshots in, which find their places on connections by themselves; for any other request
    `open_side` finds one, in its own time, or tells that there is none. `later` has its argument go on in a
    turn to come, and is asked once a turn; `now` is the wheel's clock, in seconds. `watches` counts open ones
    under `identity`. A page has at most `max_page_bytes`.
    """

    open_side: OpenSide
    gates: Gates
    authority: bytes
    wheel: Wheel
    now: Callable[[], float]
    later: Callable[[Turned], None]
    watches: MutableMapping[str, int]
    identity: str = "user"
    max_page_bytes: int = MAX_PAGE_BYTES
    without_streaming: set[GroupVersion] = field(default_factory=set)
    """Where it said that it has no streaming lists, to whichever identity."""

    def may_stream(self, scope: Scope) -> bool:
        """Whether it is asked for a streaming list of `scope`."""
        return _group_version(scope) not in self.without_streaming

    def does_not_stream(self, scope: Scope) -> None:
        """It has refused one, and would refuse each of that group and version."""
        if len(self.without_streaming) >= GROUP_VERSIONS_MOST:
            self.without_streaming.clear()
        self.without_streaming.add(_group_version(scope))


def _group_version(scope: Scope) -> GroupVersion:
    return scope.target, scope.group, scope.version

"""What a foyer still holds: for a test that has ended everything, and wants to see that nothing is left.

One line for each thing that is counted. Read on foyer's own loop, where nothing changes meanwhile.
"""

import asyncio
from collections.abc import Callable

from foyer.app import Foyer
from foyer.gate.gate import Gate
from foyer.net.browser import BrowserConnection
from foyer.net.upstream import Upstream, UpstreamConnection
from foyer.protocol.h2 import H2Client, H2Server
from foyer.streams.shared import Shared
from foyer.target import Target


def _gate(foyer: Foyer) -> Gate:
    assert foyer._service is not None
    return foyer._service._gate


def _targets(foyer: Foyer) -> list[Target]:
    assert foyer._service is not None
    return foyer._service._targets._all()


def _pools(foyer: Foyer) -> list[Upstream]:
    return [target._pool for target in _targets(foyer)]


def _shared(foyer: Foyer) -> list[Shared]:
    return [target.shared for target in _targets(foyer)]


def _retired(foyer: Foyer) -> int:
    assert foyer._service is not None
    return len(foyer._service._targets._retired)


OF_EXCHANGES: dict[str, Callable[[Foyer], int]] = {
    "open exchanges": lambda foyer: foyer.open_exchanges,
    "exchanges in their sessions": lambda foyer: len(_gate(foyer).registry),
    "requests' slots": lambda foyer: _gate(foyer).requests.per_replica,
    "sessions with requests' slots": lambda foyer: len(_gate(foyer).requests.per_session),
    "streams' slots": lambda foyer: _gate(foyer).streams.per_replica,
    "sessions with streams' slots": lambda foyer: len(_gate(foyer).streams.per_session),
    "leases of targets": lambda foyer: sum(target._leases.count for target in _targets(foyer)),
    "retired targets": _retired,
    "shared watches": lambda foyer: sum(map(len, _shared(foyer))),
    "grants": lambda foyer: sum(len(shared.grants) for shared in _shared(foyer)),
    "shared streams in line": lambda foyer: sum(len(shared.line) for shared in _shared(foyer)),
    "slots of targets": lambda foyer: sum(target.in_flight for target in _targets(foyer)),
    "slots waited for": lambda foyer: sum(target._cap.waiting for target in _targets(foyer)),
    "reads at targets": lambda foyer: sum(target.reads.limit.admitted for target in _targets(foyer)),
    "reads that ask for slots": lambda foyer: sum(target.reads.limit._asking for target in _targets(foyer)),
    "reads that wait": lambda foyer: sum(target.reads.limit.waiting for target in _targets(foyer)),
    "memory for reads": lambda foyer: foyer.measures.memory_reserved(),
    "places waited for upstream": lambda foyer: sum(len(pool._waiting) for pool in _pools(foyer)),
    "connections being opened": lambda foyer: sum(len(pool._connecting) for pool in _pools(foyer)),
    "sides": lambda foyer: sum(len(connection.sides) for connection in _connections(foyer)),
    "bytes missing in windows": lambda foyer: sum(map(_missing, _connections(foyer))),
    # Discovery may go on for ever, as nobody answers; and this call is one.
    "tasks": lambda foyer: len(asyncio.all_tasks() - {foyer._discovery, asyncio.current_task()}),
    "deadlines": lambda foyer: len(foyer._wheel) - len(_connections(foyer)),
}
"""Of exchanges that have ended, while their connections are still open: nothing."""

OF_CONNECTIONS: dict[str, Callable[[Foyer], int]] = {
    "browsers": lambda foyer: foyer._listener.connections,
    "connections upstream": lambda foyer: sum(pool.connections for pool in _pools(foyer)),
    "connections upstream with room": lambda foyer: sum(len(pool._roomy) for pool in _pools(foyer)),
    "deadlines": lambda foyer: len(foyer._wheel),
}
"""Of connections that have ended: nothing either."""


def left(foyer: Foyer, counted: dict[str, Callable[[Foyer], int]]) -> dict[str, int]:
    """Whatever of `counted` is still there, and how much of it."""
    found = {what: count(foyer) for what, count in counted.items()}
    return {what: count for what, count in found.items() if count}


def _connections(foyer: Foyer) -> list[BrowserConnection | UpstreamConnection]:
    upstream = [connection for pool in _pools(foyer) for connection in pool._connections]
    return [*foyer._listener._connections, *upstream]


def _missing(connection: BrowserConnection | UpstreamConnection) -> int:
    """What the peer may not send on this HTTP/2 connection as a whole, though nothing is under way."""
    codec = connection.codec
    if not isinstance(codec, H2Server | H2Client) or codec.closing:
        return 0
    window = codec.machine._inbound_flow_control_window_manager
    return window.max_window_size - window.current_window_size - window._bytes_processed

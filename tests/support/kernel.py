"""What the kernel holds of a loopback connection, in bytes (Linux's /proc/net/tcp).

Backpressure is about what the product holds. Loopback sockets swallow megabytes more, so a
test subtracts what both kernels' queues hold instead of guessing at it.
"""

import socket
from pathlib import Path


def in_flight(sock: socket.socket, towards_peer: bool) -> int:
    """Bytes on `sock`'s connection that were written on one side and not read on the other."""
    ours, theirs = sock.getsockname()[1], sock.getpeername()[1]
    table = _queues()
    sender, reader = ((ours, theirs), (theirs, ours)) if towards_peer else ((theirs, ours), (ours, theirs))
    # The sender's queue counts what was not acknowledged: already in the reader's when both show it.
    return table.get(sender, (0, 0))[0] + table.get(reader, (0, 0))[1]


def _queues() -> dict[tuple[int, int], tuple[int, int]]:
    """(local port, remote port) to (send queue, receive queue) of every IPv4 connection."""
    found = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues = line.split()[:5]
        send, receive = (int(part, 16) for part in queues.split(":"))
        found[int(local.split(":")[1], 16), int(remote.split(":")[1], 16)] = (send, receive)
    return found

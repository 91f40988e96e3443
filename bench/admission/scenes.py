"""What befalls simulated API servers: each scene is run to its end, and what came of it is looked at."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from bench.admission.simulated import Health, Server, Target, Timeline

WORKERS, SECONDS = 256, 0.02
"""A server of these scenes: what it works on at once, and how long on each where all is well."""

READS = 200.0
"""Reads a second from whoever comes by themselves: a fifteenth of what 64 slots carry at 20 ms."""

SAMPLES = 0.25
"""Seconds between two samples."""

SLOW = 2.0
"""Seconds for each where the server is slow: a sixth of the reads are more than 64 slots can carry then."""


class Phase(NamedTuple):
    """A time in which a server is not as it should be."""

    name: str
    begins: float
    ends: float


TROUBLES = (
    Phase("slow: 2 s each", 30.0, 70.0),
    Phase("refuses connections", 100.0, 115.0),
    Phase("silent", 140.0, 163.0),
    Phase("2,000 reads at once", 190.0, 190.0),
)
TROUBLED_ENDS = 220.0


HANGING_SLOW = Phase("slow, with some that are never answered", 10.0, 30.0)


def troubled() -> Target:
    """A server that is slow, then gone, then silent, then well before a burst; others read all the while."""
    time = Timeline()
    server = Server(time, WORKERS, SECONDS)
    target = Target(time, server)
    target.sample(SAMPLES)
    target.readers_come(READS)
    slow, refusing, silent, burst = TROUBLES
    time.after(slow.begins, partial(setattr, server, "seconds", SLOW))
    time.after(slow.ends, partial(setattr, server, "seconds", SECONDS))
    time.after(refusing.begins, partial(server.become, Health.REFUSING))
    time.after(refusing.ends, partial(server.become, Health.UP))
    time.after(silent.begins, partial(server.become, Health.SILENT))
    time.after(silent.ends, partial(server.become, Health.UP))
    time.after(burst.begins, partial(target.burst, 2000))
    time.run(TROUBLED_ENDS)
    return target


def one_slow_of_five() -> tuple[Target, list[Target]]:
    """The slow one and the four that are not, on one replica, for a minute."""
    time = Timeline()
    slow = Target(time, Server(time, WORKERS, 100 * SECONDS))
    others = [Target(time, Server(time, WORKERS, SECONDS)) for _ in range(4)]
    for target in (slow, *others):
        target.sample(SAMPLES)
        target.readers_come(READS)
    time.run(60.0)
    return slow, others


def watches_among_reads(watches: int) -> Target:
    """So many that are opened by and by and stay open, while others read, for a minute."""
    time = Timeline()
    target = Target(time, Server(time, WORKERS, SECONDS))
    target.sample(SAMPLES)
    target.readers_come(READS)
    for number in range(watches):
        time.after(30.0 * number / watches, partial(target.read, watch=True))
    time.run(60.0)
    return target


def some_that_hang(reads: int) -> Target:
    """So many that are never answered; the server is slow for a while, and well again but for them."""
    time = Timeline()
    server = Server(time, WORKERS, SECONDS)
    target = Target(time, server)
    target.sample(SAMPLES)
    for _ in range(reads):
        target.read(hangs=True)
    target.readers_come(READS)
    slow = HANGING_SLOW
    time.after(slow.begins, partial(setattr, server, "seconds", SLOW))
    time.after(slow.ends, partial(setattr, server, "seconds", SECONDS))
    time.run(80.0)
    return target

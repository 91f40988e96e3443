"""How many bytes of memory a byte of a list takes while a snapshot of it is read (spec 06, Memory).

The figures behind `foyer.streams.gates`: resident memory at its most, over the bytes of the objects as they
come, for lists of one page, where the page itself weighs the most. Each case is so many at once that there
are that many bytes, in a process of its own:

    python -m bench.multiples passed-on|kept streaming|listing BYTES TOTAL PROJECTION …
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import getpagesize

from bench.report import Report
from foyer.exchange.ports import UpstreamReceiver
from foyer.gate.wheel import Wheel
from foyer.interruption import Interruption
from foyer.protocol.events import RequestHead, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams.cache import Cache
from foyer.streams.errors import StreamError
from foyer.streams.fanout import Line
from foyer.streams.gates import KEPT, PASSED_ON
from foyer.streams.projection import Projection
from foyer.streams.reflector import View
from foyer.streams.scope import PAGE_ITEMS, Opening, Scope
from foyer.streams.server import Server, Turned
from foyer.streams.snapshot import Entrant, Keeper, Look
from foyer.streams.source import Source
from foyer.streams.view import StreamView

SIZES = (500, 2000, 20_000)
"""Bytes of an object."""

WAYS = ("streaming", "listing")

PIECE = 64 * 1024
"""What one read brings."""

SCOPE = Scope("default", "", "v1", "configmaps", "demo", "", "")
JSON = [(b"content-type", b"application/json")]


def measure(report: Report, total: int) -> None:
    """Fills the table, for lists of so many bytes together."""
    table = report.table("Memory for a byte of a list", [f"{size / 1000:g} KB" for size in SIZES])
    one, every = [Projection.FULL], list(Projection)
    for way in WAYS:
        found = [_apart("passed-on", way, size, total, one) for size in SIZES]
        table.at_most(f"passed on to one stream, {way}", found, PASSED_ON)
    for way in WAYS:
        found = [_apart("kept", way, size, total, one) for size in SIZES]
        table.at_most(f"kept in one projection, {way}", found, KEPT)
    for way in WAYS:
        found = [_apart("kept", way, size, total, every) for size in SIZES]
        row = f"kept in all projections, {way}"
        if way == "streaming":  # and so what is kept of the other as well, once it has come
            table.at_most(row, found, KEPT)
        else:
            table.row(row, found, ".2f")


def _apart(kind: str, way: str, size: int, total: int, projections: list[Projection]) -> float:
    names = [projection.value for projection in projections]
    command = [sys.executable, "-m", "bench.multiples", kind, way, str(size), str(total), *names]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# One of them.


class Side:
    """An API server that answers what it will."""

    queued = 0

    def send_head(self, head: RequestHead) -> None: ...

    def send(self, data: bytes) -> None: ...

    def finish(self) -> None: ...

    def cancel(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Open:
    """A way up, gates and what they let in: always open."""

    def __init__(self) -> None:
        self.receiver: UpstreamReceiver | None = None

    def find(self, receiver: UpstreamReceiver) -> Open:
        self.receiver = receiver
        receiver.upstream_open(Side())
        return self

    def enter(self, scope: Scope, entrant: Entrant, keeper: Keeper | None) -> Open:
        entrant.admitted(self)
        return self

    def open(self, receiver: UpstreamReceiver, *, whole: bool) -> Open:
        return self.find(receiver)

    def takes(self, size: int) -> StreamError | None:
        return None

    def complete(self) -> None: ...

    def delivered(self) -> Open:
        return self

    def room(self) -> Open:
        return self

    def grow(self, size: int) -> int:
        return size

    def close(self) -> None: ...

    def cancel(self) -> None: ...


class Ended:
    """Who reads, as fast as it comes."""

    neighbourhood = 0
    position = 0
    reads = False
    size = 0

    def write(self, head: bytes, tail: bytes) -> None: ...

    def end(self, why: StreamError) -> None:
        raise AssertionError(why.message)

    def failed(self, error: Exception) -> None:
        raise error

    def admitted(self) -> None: ...

    def refuse(self, interruption: Interruption) -> None: ...

    def look(self, look: Look) -> None: ...

    def deliver(self, most: int) -> int:
        return 0


class Reading:
    """One snapshot, on its way."""

    def __init__(self, kind: str, way: str, projections: list[Projection]) -> None:
        self.turns: list[Turned] = []
        self.lines: list[Callable[[], None]] = []
        self.api = Open()
        reader = Ended()
        view: View
        if kind == "kept":
            cache = Cache(Line(self.lines.append), lambda: None, secret=False)
            self.showings = [cache.join(reader, projection) for projection in projections]
            view = cache
        else:
            view = StreamView(Opening(SCOPE, "", projections[0]), reader)
        server = Server(
            self.api.find, self.api, b"api", Wheel(0.0), lambda: 0.0, self.turns.append, {"user": 0}
        )
        if way == "listing":
            server.without_streaming.add(("default", "", "v1"))
        self.source = Source(server, SCOPE, view, reader, IdToken(b"token"))
        self.source.start()

    def read(self, pieces: Iterator[bytes], *, whole: bool) -> None:
        receiver = self.api.receiver
        assert receiver is not None
        receiver.response_head(ResponseHead(200, list(JSON)))
        for piece in pieces:
            receiver.response_body(piece)
        if whole:
            receiver.response_end()


def thing(size: int, number: int) -> bytes:
    """A ConfigMap of so many bytes, one of its kind."""
    document = {
        "metadata": {
            "name": f"thing-{number}",
            "namespace": "demo",
            "uid": f"7d2f1c60-3d0b-4c86-9a4e-{number:012}",
            "resourceVersion": str(1000 + number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "data": {"a": ""},
        "status": {"n": number},
    }
    text = json.dumps(document, separators=(",", ":"))
    return text.replace('"a":""', f'"a":"{"x" * (size - len(text))}"').encode()


def texts(way: str, size: int, numbers: range) -> Iterator[bytes]:
    """The answer, object by object."""
    if way == "listing":
        yield b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":['
        for number in numbers:
            yield (b"," if number > numbers.start else b"") + thing(size, number)
        yield b"]}"
        return
    for number in numbers:
        typed = b'{"kind":"ConfigMap","apiVersion":"v1",' + thing(size, number)[1:]
        yield b'{"type":"ADDED","object":%b}\n' % typed
    annotations = b'{"k8s.io/initial-events-end":"true"}'
    yield (
        b'{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":'
        b'{"resourceVersion":"9","annotations":%b}}}\n' % annotations
    )


def pieces(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same as reads bring it."""
    held = b""
    for part in parts:
        held += part
        while len(held) >= PIECE:
            yield held[:PIECE]
            held = held[PIECE:]
    yield held


def resident() -> int:
    """Bytes now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


def most() -> int:
    """Bytes at their most since `forget`."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def forget() -> None:
    """The most begins anew."""
    Path("/proc/self/clear_refs").write_text("5")


def run(kind: str, way: str, size: int, total: int, projections: list[Projection]) -> float:
    """The multiple."""

    def snapshots(count: int, items: int) -> list[Reading]:
        readings = [Reading(kind, way, projections) for _ in range(count)]
        for number, reading in enumerate(readings):
            numbers = range(number * items, (number + 1) * items)
            reading.read(pieces(texts(way, size, numbers)), whole=way == "listing")
        while any(reading.turns for reading in readings):
            for reading in readings:
                if reading.turns:
                    reading.turns.pop(0).go_on()
        return readings

    snapshots(1, 5)  # what is there for all
    gc.collect()
    forget()
    before = resident()
    count = max(1, round(total / (size * PAGE_ITEMS)))
    kept = snapshots(count, PAGE_ITEMS)
    return (most() - before) / (len(kept) * PAGE_ITEMS * size)


if __name__ == "__main__":
    kind, way, size, total, *shown = sys.argv[1:]
    print(run(kind, way, int(size), int(total), [Projection(value) for value in shown]))

"""A stand-in API server, as a process of its own: `python -m bench.rehearsal.api FOLDER`.

It speaks HTTP/2 alone, a hundred streams to a connection as kube-apiserver does, by hand: a watch is a number
and two windows, and a change one pass over them that puts nine prepared octets before each event.
Everybody watches the same object, and may look at the list of it. It believes every token and allows
everything. It is told what to do in lines on stdin, and answers each with a line:

    {"do": "change", "mark": "…"}    → {"at": ns, "told": watches}
    {"do": "count"}                  → {"watches", "connections", "tokens", "subject", "access"}

`tokens` are those that watches came with, the last two the reviews so far. Its first line is its port; FOLDER
holds its certificate.
"""

import gc
import json
import select
import socket
import struct
import sys
import time
from pathlib import Path

import hpack

from bench.limits import raise_file_limit
from bench.messages import (
    ACK,
    END_HEADERS,
    END_STREAM,
    PREFACE,
    SETTINGS_ACK,
    Type,
    frame,
    settings,
    window_update,
)
from bench.rehearsal.frames import Frames, header
from bench.rehearsal.loop import Loop, Peer, answer
from bench.rehearsal.objects import PATH, bookmark, event, listed, small_object, watch_fields
from foyer.net.listener import server_context
from foyer.protocol import machine as _native_huffman  # noqa: F401  it gives hpack foyer's decoder

STREAMS = 100
"""On a connection, at once."""

LONGEST_FRAME = 16384

_INITIAL_WINDOW = 4

Fields = dict[bytes, bytes]


class _Watch:
    """A stream, what its window still takes, and what waits for more."""

    __slots__ = ("behind", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.behind = b""


class Connection(Peer):
    """foyer's, or the yardstick's."""

    def __init__(self, api: "Api", plain: socket.socket) -> None:
        super().__init__(api.loop, plain, api.context, server=True)
        self.watches: dict[int, _Watch] = {}
        self._api = api
        self._frames = Frames()
        self._preface = PREFACE
        self._decoder = hpack.Decoder()
        self._encoder = hpack.Encoder()
        self._window = self._initial = 65535
        self._asking: dict[int, tuple[Fields, bytes]] = {}  # requests whose content is under way

    def opened(self) -> None:
        self.send(settings(max_streams=STREAMS) + window_update(0))

    def gone(self, now: int) -> None:
        self._api.connections.discard(self)

    def received(self, data: bytes, now: int) -> None:
        if self._preface:
            count = min(len(self._preface), len(data))
            assert data[:count] == self._preface[:count], "it speaks HTTP/2"
            self._preface, data = self._preface[count:], data[count:]
        for kind, flags, stream, content in self._frames.read(data):
            if kind == Type.HEADERS:
                assert flags & END_HEADERS, "a head in one frame"
                self._asking[stream] = dict(self._decoder.decode(content, raw=True)), b""
            elif kind == Type.DATA:
                fields, before = self._asking[stream]
                self._asking[stream] = fields, before + content
            elif kind == Type.WINDOW_UPDATE:
                self._opened_window(stream, int.from_bytes(content, "big"))
            elif kind == Type.RST_STREAM:
                self.watches.pop(stream, None)
                self._asking.pop(stream, None)
            elif kind == Type.PING and not flags & ACK:
                self.send(frame(Type.PING, ACK, 0, content))
            elif kind == Type.SETTINGS and not flags & ACK:
                self._settings(content)
            if kind in (Type.HEADERS, Type.DATA) and flags & END_STREAM:
                self._asked(stream, *self._asking.pop(stream))

    def tell(self, content: bytes) -> None:
        """One more event on each watch, each in a TLS record of its own.

        A kube-apiserver 1.37 was seen to write two thirds to nine tenths of 100 watches' events so.
        """
        length = len(content)
        for stream, watch in self.watches.items():
            if watch.behind or watch.window < length or self._window < length:
                watch.behind += content
                continue
            watch.window -= length
            self._window -= length
            self.send(header(length, Type.DATA, 0, stream) + content)

    def _settings(self, content: bytes) -> None:
        for name, value in struct.iter_unpack(">HL", content):
            if name == _INITIAL_WINDOW:
                for watch in self.watches.values():
                    watch.window += value - self._initial
                self._initial = value
        self.send(SETTINGS_ACK)

    def _opened_window(self, stream: int, more: int) -> None:
        if not stream:
            self._window += more
            behind = [number for number, watch in self.watches.items() if watch.behind]
        elif watch := self.watches.get(stream):
            watch.window += more
            behind = [stream] if watch.behind else []
        else:
            return
        for number in behind:
            self._catch_up(number, self.watches[number])

    def _catch_up(self, stream: int, watch: _Watch) -> None:
        while (count := min(len(watch.behind), watch.window, self._window, LONGEST_FRAME)) > 0:
            watch.window -= count
            self._window -= count
            self.send(frame(Type.DATA, 0, stream, watch.behind[:count]))
            watch.behind = watch.behind[count:]

    def _asked(self, stream: int, fields: Fields, content: bytes) -> None:
        if self._api.watched(fields):
            watch = self.watches[stream] = _Watch(self._initial)
            self._answer(stream, 200, self._api.fields)
            watch.behind = self._api.first
            self._catch_up(stream, watch)
        elif self._api.looked(fields):
            self._answer(stream, 200, self._api.fields)
            self._window -= len(self._api.list)
            self.send(frame(Type.DATA, END_STREAM, stream, self._api.list))
        elif review := self._api.reviewed(fields, content):
            self._answer(stream, 201, self._api.fields)
            self._window -= len(review)
            self.send(frame(Type.DATA, END_STREAM, stream, review))
        else:
            self._answer(stream, 404, [(b"content-type", b"text/plain")])
            self.send(frame(Type.DATA, END_STREAM, stream, b""))

    def _answer(self, stream: int, status: int, fields: list[tuple[bytes, bytes]]) -> None:
        block = self._encoder.encode([(b":status", b"%d" % status), *fields])
        self.send(frame(Type.HEADERS, END_HEADERS, stream, block))


class Api:
    """All connections, and the object."""

    def __init__(self, folder: Path) -> None:
        self.loop = Loop()
        self.context = server_context(str(folder / "tls.crt"), str(folder / "tls.key"))
        self.context.set_alpn_protocols(["h2"])
        self.connections: set[Connection] = set()
        self.fields = watch_fields()
        self.first = self.list = b""
        self._version = 1000
        self._tokens: set[bytes] = set()
        self._known: dict[bytes, str] = {}
        self._reviews = {"subject": 0, "access": 0}
        self._change("none")
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._listener.setblocking(False)
        self.loop.add(self._listener.fileno(), self._accept, select.EPOLLIN)
        answer(self._listener.getsockname()[1])

    def watched(self, fields: Fields) -> bool:
        """Whether a watch of the object is what somebody asks for."""
        path, _, query = fields[b":path"].partition(b"?")
        if path != PATH.encode() or b"watch=1" not in query:
            return False
        self._tokens.add(fields[b"authorization"])
        return True

    def looked(self, fields: Fields) -> bool:
        """Whether somebody asks how much there is."""
        path, _, query = fields[b":path"].partition(b"?")
        return path == PATH.encode() and query == b"limit=1"

    def reviewed(self, fields: Fields, content: bytes) -> bytes:
        """The answer to a review; nothing for what is none."""
        path = fields[b":path"].partition(b"?")[0]
        if path.endswith(b"/selfsubjectreviews"):
            self._reviews["subject"] += 1
            token = fields[b"authorization"]
            name = self._known.setdefault(token, f"user-{len(self._known) + 1:04}@example.com")
            status: dict[str, object] = {"userInfo": {"username": name, "groups": ["system:authenticated"]}}
            review: dict[str, object] = {
                "kind": "SelfSubjectReview",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {},
            }
        elif path.endswith(b"/subjectaccessreviews"):
            self._reviews["access"] += 1
            review, status = json.loads(content), {"allowed": True}
        else:
            return b""
        return json.dumps(review | {"status": status}).encode()

    def run(self) -> None:
        """Until stdin ends."""
        while command := self.loop.command():
            answer(self._change(command["mark"]) if command["do"] == "change" else self._count())

    def _change(self, mark: str) -> dict[str, int]:
        self._version += 1
        thing = small_object(mark, self._version)
        self.first = event("ADDED", thing) + bookmark(self._version)
        self.list = listed(thing, self._version)
        content = event("MODIFIED", thing)
        gc.collect()  # not while it is told
        now = time.monotonic_ns()
        for connection in self.connections:
            connection.tell(content)
        return {"at": now, "told": self._watches()}

    def _count(self) -> dict[str, int]:
        return {
            "watches": self._watches(),
            "connections": len(self.connections),
            "tokens": len(self._tokens),
            **self._reviews,
        }

    def _watches(self) -> int:
        return sum(len(connection.watches) for connection in self.connections)

    def _accept(self, events: int) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except BlockingIOError:
                return
            self.connections.add(Connection(self, plain))


if __name__ == "__main__":
    raise_file_limit()
    gc.disable()
    Api(Path(sys.argv[1])).run()

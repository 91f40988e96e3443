"""A stand-in API server, as a process of its own: `python -m bench.api FOLDER VERSION`.

It answers by path and asks for nothing: one small object, a long list plain or gzipped, a watch
whose next event goes to everybody at SIGUSR1, perhaps as a gzip member of its own. It is its own
issuer, for discovery alone. It offers one HTTP version, so that a pairing is what it says. Its first
line on stdout is its port; FOLDER holds its certificate.
"""

import asyncio
import functools
import gzip
import json
import random
import signal
import sys
from pathlib import Path

import uvloop

from bench.inflate import pod
from bench.limits import raise_file_limit
from bench.messages import H2, SMALL_PATH, an_event, answer_fields, audit_ids, small_object
from foyer.exchange.ports import HIGH_WATER, BrowserReceiver, BrowserSide
from foyer.gate.wheel import TICK, Wheel
from foyer.net.listener import Listener, server_context
from foyer.net.turn import Turn
from foyer.protocol.events import Fields, RequestHead, ResponseHead
from foyer.protocol.floods import Floods

PIECE = 64 * 1024
"""What a long list is written in, as the API server does."""

_JSON = (b"content-type", b"application/json")


@functools.cache
def a_list(size: int, packed: bool) -> bytes:
    """Pods as JSON, about `size` bytes of them, perhaps as gzip at the API server's level."""
    source = random.Random(1)
    items = b",".join(json.dumps(pod(source, number)).encode() for number in range(1000))
    content = b'{"kind":"PodList","items":[' + b",".join([items] * max(1, size // len(items))) + b"]}"
    return gzip.compress(content, 1, mtime=0) if packed else content


class Outgoing:
    """Content on its way, as fast as it is taken."""

    def __init__(self, side: BrowserSide, content: bytes = b"", ends: bool = False) -> None:
        side.receiver = self
        self.side = side
        self.rest = memoryview(content)
        self.ends = ends
        self.watching: dict[Outgoing, bool] | None = None

    def browser_stalled(self) -> None:
        self.side.abort()

    def browser_drained(self) -> None:
        while self.rest and self.side.queued <= HIGH_WATER:
            piece, self.rest = self.rest[:PIECE], self.rest[PIECE:]
            self.side.send(bytes(piece))
        if not self.rest and self.ends:
            self.ends = False
            self.side.finish()

    def browser_gone(self) -> None:
        if self.watching is not None:
            self.watching.pop(self, None)

    def request_body(self, data: bytes) -> None: ...
    def request_end(self) -> None: ...
    def browser_sent(self) -> None: ...


class Api:
    """The application behind its listener."""

    def __init__(self) -> None:
        self.url = ""
        self.watching: dict[Outgoing, bool] = {}  # and whether it is compressed
        self._events = 0
        self._small = small_object()
        self._audit_id = audit_ids(1)[0]

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """One answer."""
        path, _, query = head.target.partition(b"?")
        if path == SMALL_PATH:
            return self._whole(side, self._small)
        if b"watch=1" in query:
            return self._watch(side, b"packed=1" in query)
        if path.endswith(b"/plain") or path.endswith(b"/packed"):
            packed = path.endswith(b"/packed")
            return self._begin(side, _fields(packed), a_list(int(query), packed))
        if path.endswith(b"/openid-configuration"):
            return self._whole(side, self._discovery())
        return self._whole(side, b'{"keys":[]}')

    def unreadable(self, reason: str) -> None:
        raise AssertionError(reason)

    def flood(self, kind: str) -> None:
        """None is counted."""
        raise AssertionError(kind)

    def _discovery(self) -> bytes:
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        found = {"issuer": self.url, **{name: f"{self.url}/{name}" for name in names}}
        lists = {
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }
        return json.dumps(found | lists).encode()

    def _whole(self, side: BrowserSide, content: bytes) -> Outgoing:
        return self._begin(side, answer_fields(len(content), self._audit_id), content)

    def _begin(self, side: BrowserSide, fields: Fields, content: bytes, *, ends: bool = True) -> Outgoing:
        outgoing = Outgoing(side, content, ends)
        side.send_head(ResponseHead(200, fields))
        outgoing.browser_drained()
        return outgoing

    def _watch(self, side: BrowserSide, packed: bool) -> Outgoing:
        outgoing = self._begin(side, _fields(packed), _event(0, packed), ends=False)
        outgoing.watching = self.watching
        self.watching[outgoing] = packed
        return outgoing

    def change(self) -> None:
        """One more event for every watch."""
        self._events += 1
        events = {packed: _event(self._events, packed) for packed in (False, True)}
        for outgoing, packed in self.watching.items():
            outgoing.side.send(events[packed])


def _fields(packed: bool) -> Fields:
    return [_JSON, *([(b"content-encoding", b"gzip")] if packed else [])]


def _event(number: int, packed: bool) -> bytes:
    event = an_event(number)
    return gzip.compress(event, 1, mtime=0) if packed else event


def _uncounted(self: Floods, *counted: object) -> None:
    """An API server puts up with whatever foyer passes on to it."""


async def serve(api: Api, folder: Path, version: str) -> None:
    """Says its port, and answers until SIGTERM."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    Floods.count = _uncounted  # type: ignore[method-assign,assignment]
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, api.change)
    context = server_context(str(folder / "tls.crt"), str(folder / "tls.key"))
    context.set_alpn_protocols(["h2"] if version == H2 else ["http/1.1"])
    wheel = Wheel(loop.time())
    listener = Listener(api, Turn(loop), wheel, lambda: context)
    await listener.open("127.0.0.1", 0)
    api.url = f"https://127.0.0.1:{listener.port}"
    print(listener.port, flush=True)
    while not ended.is_set():
        wheel.turn(loop.time())
        try:
            await asyncio.wait_for(ended.wait(), TICK)
        except TimeoutError:
            pass
    listener.abort()


if __name__ == "__main__":
    raise_file_limit()
    uvloop.run(serve(Api(), Path(sys.argv[1]), sys.argv[2]))

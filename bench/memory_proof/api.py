"""A stand-in API server with a scope of 20 MiB in each namespace, as `bench.api` is started.

    pods         5,000 of 4 KiB, as a list in pages or as a watch that begins with them
    services     the same again, for streams that share a watch
    configmaps   2,500: of two such servers a fleet read has as much

In a namespace that begins with `odd` the first object is a small one, so that a look at it tells too little.

Nothing is kept: what is asked for is made as it is taken. It believes every token and allows everything.
"""

import json
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import uvloop

from bench.api import Api, Outgoing, serve
from bench.limits import raise_file_limit
from bench.messages import answer_fields, audit_ids
from bench.rehearsal.objects import bookmark, watch_fields
from foyer.exchange.ports import HIGH_WATER, BrowserReceiver, BrowserSide
from foyer.protocol.events import RequestHead, ResponseHead

COUNTS = {"pods": 5000, "services": 5000, "configmaps": 2500}
KINDS = {"pods": "Pod", "services": "Service", "configmaps": "ConfigMap"}
OBJECT_BYTES = 4096
VERSION = 70_000

_PATH = re.compile(rb"/api/v1/namespaces/([a-z0-9-]+)/(pods|services|configmaps)")

_AT_ONCE = 16
"""Events that are written together: 64 KiB."""


class Scopes(Api):
    """A server of large ones."""

    def begin(self, side: BrowserSide, head: RequestHead) -> BrowserReceiver:
        """A list, a watch, or what every stand-in has."""
        path, _, query = head.target.partition(b"?")
        if path.endswith(b"reviews"):
            return _Review(side, dict(head.fields)[b"authorization"])
        found = _PATH.fullmatch(path)
        if found is None:
            return super().begin(side, head)
        namespace, resource = (part.decode() for part in found.groups())
        asked = parse_qs(query.decode())
        if asked.get("watch") in (["1"], ["true"]):
            side.send_head(ResponseHead(200, watch_fields()))
            outgoing = _Events(side)
            outgoing.events = _events(namespace, resource)
            outgoing.browser_drained()
            return outgoing
        content = _page(namespace, resource, int(asked["limit"][0]), int(asked.get("continue", ["0"])[0]))
        side.send_head(ResponseHead(200, answer_fields(len(content), audit_ids(1)[0])))
        whole = Outgoing(side, content, ends=True)
        whole.browser_drained()
        return whole


class _Review(Outgoing):
    """Who somebody is, or what they may: everything."""

    def __init__(self, side: BrowserSide, token: bytes) -> None:
        super().__init__(side)
        self._name = f"{zlib.crc32(token):08x}@example.com"
        self._content = b""

    def request_body(self, data: bytes) -> None:
        self._content += data

    def request_end(self) -> None:
        user = {"username": self._name, "groups": ["system:authenticated"]}
        review = json.loads(self._content) | {"status": {"userInfo": user, "allowed": True}}
        content = json.dumps(review).encode()
        self.side.send_head(ResponseHead(201, answer_fields(len(content), audit_ids(1)[0])))
        self.rest, self.ends = memoryview(content), True
        self.browser_drained()


class _Events(Outgoing):
    """A watch, whose initial events are made as they are taken."""

    events: Iterator[bytes] = iter(())

    def browser_drained(self) -> None:
        while self.side.queued <= HIGH_WATER and (event := next(self.events, None)) is not None:
            self.side.send(event)


def _events(namespace: str, resource: str) -> Iterator[bytes]:
    count = COUNTS[resource]
    for begin in range(0, count, _AT_ONCE):
        numbers = range(begin, min(begin + _AT_ONCE, count))
        yield b"".join(
            b'{"type":"ADDED","object":%b}\n' % _an_object(namespace, resource, number, whole=True)
            for number in numbers
        )
    yield bookmark(VERSION).replace(b"ConfigMap", KINDS[resource].encode())


def _page(namespace: str, resource: str, limit: int, begin: int) -> bytes:
    count = COUNTS[resource]
    end = min(begin + limit, count)
    metadata: dict[str, object] = {"resourceVersion": str(VERSION)}
    if end < count:
        metadata |= {"continue": str(end), "remainingItemCount": count - end}
    head = {"kind": f"{KINDS[resource]}List", "apiVersion": "v1", "metadata": metadata}
    items = b",".join(_an_object(namespace, resource, number) for number in range(begin, end))
    return json.dumps(head).encode()[:-1] + b',"items":[' + items + b"]}"


def _an_object(namespace: str, resource: str, number: int, *, whole: bool = False) -> bytes:
    """In a list an object does not say what it is, in a watch it does."""
    kind = f'"kind":"{KINDS[resource]}","apiVersion":"v1",' if whole else ""
    minute, second = divmod(number, 60)
    text = (
        f'{{{kind}"metadata":{{"name":"it-{number:06}","namespace":"{namespace}",'
        f'"uid":"{namespace}-{resource}-{number:06}","resourceVersion":"{1000 + number}",'
        f'"creationTimestamp":"2026-01-01T{minute // 60:02}:{minute % 60:02}:{second:02}Z"}},"text":"'
    )
    size = 0 if namespace.startswith("odd") and not number else OBJECT_BYTES - len(text) - 2
    return text.encode() + b"x" * size + b'"}'


if __name__ == "__main__":
    raise_file_limit()
    uvloop.run(serve(Scopes(), Path(sys.argv[1]), sys.argv[2]))

"""A browser side in memory, and clients that call handlers without any HTTP."""

import json
import random
from dataclasses import dataclass
from typing import Any

from foyer.demo import contents
from foyer.demo.apiserver.api import API
from foyer.demo.apiserver.authentication import Authenticator
from foyer.demo.apiserver.randomness import Randomness
from foyer.demo.apiserver.rbac import AUTHENTICATED, MASTERS, User
from foyer.demo.apiserver.store import Store
from foyer.demo.handler import Handler, Outflow, Request, Streaming
from foyer.demo.people import EDITORS, POLICY, READERS
from foyer.exchange.ports import Answer, BrowserReceiver
from foyer.protocol.events import Fields, ResponseHead
from tests.support.clock import Clock


class FakeSide:
    """A browser that takes everything, until `stalled`."""

    neighbourhood = 0

    def __init__(self) -> None:
        self.receiver: BrowserReceiver | None = None
        self.write_timeout: float | None = None
        self.head: ResponseHead | None = None
        self.informational: list[int] = []
        self.sent = b""
        self.queued = 0
        self.stalled = False
        self.finished = False
        self.aborted = False

    def send_informational(self, status: int) -> None:
        assert self.head is None
        self.informational.append(status)

    def send_head(self, head: ResponseHead) -> None:
        assert self.head is None, "one head a response"
        self.head = head

    def send(self, data: bytes) -> None:
        assert self.head is not None and not self.head.ended and self.open
        self.sent += data
        if self.stalled:
            self.queued += len(data)

    def send_alone(self, data: bytes) -> None:
        self.send(data)

    def finish(self) -> None:
        assert self.head is not None and not self.head.ended and self.open
        self.finished = True

    def abort(self, *, deliver_first: bool = False) -> None:
        assert self.open
        self.aborted = True

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    @property
    def open(self) -> bool:
        return not (self.finished or self.aborted)

    @property
    def status(self) -> int:
        assert self.head is not None
        return self.head.status

    def field(self, name: bytes) -> bytes | None:
        assert self.head is not None
        values = self.head.all(name)
        return values[0] if values else None


@dataclass
class Reply:
    """A whole answer, read."""

    status: int
    fields: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def message(self) -> str:
        return str(self.json["message"])


class Following:
    """An open watch, its events as they come."""

    def __init__(self, outflow: Outflow, now: float) -> None:
        self.outflow = outflow
        self.woken = 0
        outflow.open(self._wake, now)

    def _wake(self) -> None:
        self.woken += 1

    def pieces(self) -> list[bytes]:
        taken: list[bytes] = []
        while (piece := self.outflow.take()) is not None:
            taken.append(piece)
        return taken

    def events(self) -> list[tuple[str, Any]]:
        lines = b"".join(self.pieces()).decode().splitlines()
        return [(event["type"], event["object"]) for event in map(json.loads, lines)]

    def names(self) -> list[tuple[str, str]]:
        """What happened to whom; a bookmark is nobody's."""
        return [(kind, target["metadata"].get("name", "")) for kind, target in self.events()]


def ask(
    handler: Handler,
    method: str,
    target: str,
    now: float,
    *,
    content: bytes = b"",
    fields: Fields | None = None,
) -> Answer | Streaming:
    """A handler's answer to a request."""
    path, _, query = target.partition("?")
    return handler(Request(method, path, query, fields or [], content), now)


ADMIN = User("admin", (MASTERS, AUTHENTICATED))
ADA = User("ada@example.com", (EDITORS, AUTHENTICATED), "id-ada")
BOB = User("bob@example.com", (READERS, AUTHENTICATED), "id-bob")
TOKENS = {"admin": ADMIN, "ada": ADA, "bob": BOB}

CONFIG_MAPS = "/api/v1/namespaces/demo/configmaps"
SECRETS = "/api/v1/namespaces/demo/secrets"
NOTES = "/apis/example.com/v1/namespaces/demo/notes"

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


class Cluster:
    """An API server and someone who talks to it: Ada, unless `as_` says otherwise."""

    def __init__(self, *, furnished: bool = False, **store: int) -> None:
        self.clock = Clock(1_800_000_000.0)
        self.store = Store(version=1000, **store)
        self.api = self.server()
        if furnished:
            contents.furnish(self.store, self.clock())
        else:
            for name in ("demo", "default"):
                self.create("/api/v1/namespaces", {"metadata": {"name": name}}, as_="admin")

    def server(self, *, watch_list: bool = True) -> API:
        randomness = Randomness(random.Random(7))
        authenticate = Authenticator(tokens=TOKENS)
        return API(self.store, POLICY, authenticate, randomness=randomness, watch_list=watch_list)

    def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        as_: str = "ada",
        kind: str = "application/json",
        fields: Fields | None = None,
    ) -> Reply:
        """A request and its whole answer. A `bytes` body goes as it is."""
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent: Fields = [(b"authorization", f"Bearer {as_}".encode()), *(fields or [])]
        if content:
            sent.append((b"content-type", kind.encode()))
        answer = ask(self.api, method, target, self.clock(), content=content, fields=sent)
        assert isinstance(answer, Answer), "a whole answer"
        named = {name.decode(): value.decode() for name, value in answer.fields}
        return Reply(answer.status, named, answer.content)

    def watch(self, target: str, *, as_: str = "ada", gzip: bool = False) -> Following:
        """A watch, opened."""
        return Following(self.stream(target, as_=as_, gzip=gzip).outflow, self.clock())

    def stream(self, target: str, *, as_: str = "ada", gzip: bool = False) -> Streaming:
        """A watch, not yet opened."""
        fields = [(b"authorization", f"Bearer {as_}".encode())]
        if gzip:
            fields.append((b"accept-encoding", b"gzip"))
        answer = ask(self.api, "GET", target, self.clock(), fields=fields)
        assert isinstance(answer, Streaming), answer
        return answer

    def create(self, collection: str, body: dict[str, Any], *, as_: str = "ada") -> Any:
        reply = self.ask("POST", collection, body, as_=as_)
        assert reply.status == 201, reply.content
        return reply.json

    def config_map(self, name: str, *, labels: dict[str, str] | None = None, **data: str) -> Any:
        metadata = {"name": name} | ({"labels": labels} if labels else {})
        return self.create(CONFIG_MAPS, {"metadata": metadata, "data": data})

    def note(self, name: str, text: str = "text") -> Any:
        head = {"apiVersion": "example.com/v1", "kind": "Note"}
        return self.create(NOTES, head | {"metadata": {"name": name}, "spec": {"text": text}})

    def merge(self, path: str, patch: Any, **options: Any) -> Reply:
        return self.ask("PATCH", path, patch, kind=MERGE_PATCH, **options)

"""Scripted API servers for fleet reads, and a fleet read over them.

Each lists what it has in pages, by namespace and name as etcd does, and may be told to do otherwise. Nothing
waits but what a test says: the loop runs until everybody is done.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from foyer.exchange.ports import Answer, FetchFailed
from foyer.fleet import merged, query
from foyer.fleet.pace import Pace
from foyer.fleet.ports import NotAdmitted
from foyer.fleet.query import Query
from foyer.fleet.reading import Common, Read, Reading
from foyer.interruption import Interruption
from foyer.protocol.events import Failure, Fields, RequestHead
from foyer.session.seal import IdToken

JSON: Fields = [(b"content-type", b"application/json")]
PATH = b"/apis/notes.example.com/v1/notes"
TOKEN = IdToken(b"the-token")
SECONDS = 30.0
PAGE_BYTES = 1_000_000

Note = dict[str, object]


def note(name: str, created: str = "2026-01-01T00:00:00Z", namespace: str = "team", **more: object) -> Note:
    """An object as a list has it, without a kind of its own."""
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": created}
    return {"metadata": metadata, **more}


def listed(items: object, **metadata: object) -> bytes:
    """One page of a list."""
    document = {
        "kind": "NoteList",
        "apiVersion": "notes.example.com/v1",
        "metadata": metadata,
        "items": items,
    }
    return json.dumps(document).encode()


def refused(status: int, message: str) -> Answer:
    """An API server's refusal."""
    return Answer(status, JSON, json.dumps({"kind": "Status", "code": status, "message": message}).encode())


Reply = Answer | Failure


@dataclass
class Server:
    """One API server. `replies` are what it gives instead of its list, by the number of the request."""

    notes: list[Note] = field(default_factory=list)
    page: int = 500
    replies: Mapping[int, Reply] = field(default_factory=dict)
    authority: bytes = b"kubernetes.test"
    asked: list[RequestHead] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)
    name: str = ""
    gates: "Gates | None" = None

    async def enter(self, until: float) -> "Entered":
        """`foyer.fleet.ports.Target`."""
        await asyncio.sleep(0)
        assert self.gates is not None
        if self.name in self.gates.shut:
            raise NotAdmitted("concurrency")
        return Entered(self, self.gates)

    async def ask(self, head: RequestHead, content: bytes, *, limit: int, timeout: float) -> Answer:
        """`foyer.k8s.call.Ask`."""
        assert (head.method, content, limit, head.authority) == (b"GET", b"", PAGE_BYTES, self.authority)
        self.asked.append(head)
        self.timeouts.append(timeout)
        await asyncio.sleep(0)
        reply = self.replies.get(len(self.asked) - 1) or self._list(head.target)
        if isinstance(reply, Failure):
            raise FetchFailed(reply)
        return reply

    def _list(self, target: bytes) -> Answer:
        options = parse_qs(target.partition(b"?")[2].decode())
        size = min(self.page, int(options["limit"][0]))
        begin = int(options.get("continue", ["0"])[0])
        items = sorted(self.notes, key=_by_name)
        rest = len(items) - begin - size
        more = {"continue": str(begin + size), "remainingItemCount": rest} if rest > 0 else {}
        return Answer(200, JSON, listed(items[begin : begin + size], resourceVersion="7", **more))


def _by_name(item: Note) -> tuple[str, str]:
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    return metadata["namespace"], metadata["name"]


class Entered:
    """A read that is let in at a server."""

    def __init__(self, server: Server, gates: "Gates") -> None:
        self.ask = server.ask
        self._held = [gates]
        gates.places += 1

    def close(self) -> None:
        while self._held:
            self._held.pop().places -= 1


def soon(call: Callable[[], None]) -> None:
    """A fleet is composed before there is a loop."""
    asyncio.get_running_loop().call_soon(call)


class Gates:
    """Each server's gate and a pool of so many bytes, which say what is held."""

    def __init__(
        self, pool: int = 10**9, shut: frozenset[str] = frozenset(), full: bool = False, first: int = 0
    ) -> None:
        """Reads of the targets in `shut` are not let in; with `full`, none has memory.

        Each gets `first` bytes, whatever it would need.
        """
        self.pool = pool
        self.shut = shut
        self.full = full
        self.first = first
        self.places = 0
        self.reserved = 0
        self.measured: list[int | None] = []
        self.taken: dict[str, int] = {}

    async def reserve(self, scope: str, measure: Callable[[], Awaitable[int | None]], until: float) -> "Held":
        """`foyer.fleet.ports.Memory`."""
        self.measured.append(await measure())
        if self.full:
            raise NotAdmitted("memory")
        held = Held(self)
        assert held.grow(self.first)
        return held

    def took(self, scope: str, size: int) -> None:
        self.taken[scope] = size


class Held:
    """Memory, from no bytes on."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self.size = 0

    def grow(self, by: int) -> bool:
        if self._gates.reserved + by > self._gates.pool:
            return False
        self._gates.reserved += by
        self.size += by
        return True

    def shrink_to(self, size: int) -> None:
        self._gates.reserved -= max(0, self.size - size)
        self.size = min(self.size, size)

    def close(self) -> None:
        self.shrink_to(0)


class Fleet:
    """Some servers, and reads of all of them."""

    def __init__(
        self,
        *,
        most: int = 5000,
        gates: Gates | None = None,
        now: Callable[[], float] = lambda: 0.0,
        **servers: Server,
    ) -> None:
        self.servers = servers
        self.gates = gates or Gates()
        for name, server in servers.items():
            server.name, server.gates = name, self.gates
        self.refusals = {"concurrency": 0, "memory": 0, "too-large": 0}
        self.common = Common(self.gates, now, most, PAGE_BYTES, 3, self.refusals, Pace(soon))

    def asked(self, text: str = "") -> Query:
        found = query.read(text.encode(), self.servers.keys())
        assert isinstance(found, Query), found
        return found

    def reading(self, text: str = "", seconds: float = SECONDS) -> Reading:
        return Reading(self.common, self.servers, self.asked(text), PATH, TOKEN, seconds)

    def read(self, text: str = "", seconds: float = SECONDS) -> Read | Interruption:
        """What a read with this query comes to."""

        async def reading() -> Read | Interruption:
            return await self.reading(text, seconds).read()

        return asyncio.run(reading())

    def list(self, text: str = "") -> "List":
        """The answer to one that has a list, all of it given back."""
        found = self.read(text)
        assert isinstance(found, Read), found
        found.held.close()
        return List(json.loads(b"".join(merged.pieces(found.list))), found.list.truncated)

    def refusal(self, text: str = "") -> Interruption:
        """The answer to one that has none."""
        found = self.read(text)
        assert isinstance(found, Interruption), found
        return found


class List:
    """A fleet list as whoever asked for it sees it."""

    def __init__(self, document: dict[str, object], truncated: bool) -> None:
        self.document = document
        self.truncated = truncated
        self.complete = document["complete"]
        metadata, items, targets = document["metadata"], document["items"], document["targets"]
        assert isinstance(metadata, dict) and isinstance(items, list) and isinstance(targets, list)
        self.after: str | None = metadata.get("continue")
        self.items: list[dict[str, object]] = items
        self.targets: dict[str, dict[str, object]] = {target["name"]: target for target in targets}

    @property
    def names(self) -> list[str]:
        """`target/name` of each item, in order."""
        return [f"{item['target']}/{item['object']['metadata']['name']}" for item in self.items]  # type: ignore[index]

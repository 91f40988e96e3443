"""One stream from its query to its frames, with a script in the API server's place."""

from collections.abc import Iterable

from foyer.streams import scope
from foyer.streams.errors import StreamError
from foyer.streams.reflector import Reflector, Step
from foyer.streams.scope import Opening, Targets
from foyer.streams.view import StreamView
from tests.streams.wires import Event, events

TARGETS = Targets(frozenset(("demo", "prod")), "demo")

CONFIGMAPS = b"version=v1&resource=configmaps&namespace=app"
SECRETS = b"version=v1&resource=secrets&namespace=app"


def opening(query: bytes = CONFIGMAPS) -> Opening:
    """What the query asks for, which is something."""
    found = scope.read(query, TARGETS)
    assert isinstance(found, Opening), found
    return found


class Frames:
    """Where a view writes: every frame, and what ended it."""

    def __init__(self) -> None:
        self.written: list[tuple[bytes, bytes]] = []
        self.why: StreamError | None = None

    def write(self, head: bytes, tail: bytes) -> None:
        assert self.why is None, "something comes after the last event"
        self.written.append((head, tail))

    def end(self, why: StreamError) -> None:
        self.why = why

    @property
    def wire(self) -> bytes:
        """All of it, as it is sent."""
        return b"".join(head + tail for head, tail in self.written)


class Following:
    """A stream whose upstream the test is. Time passes only when it says so."""

    def __init__(self, query: bytes = CONFIGMAPS, *, streaming: bool = True, lenient: bool = False) -> None:
        asked = opening(query)
        self.frames = Frames()
        self.now = 1000.0
        self.reflector = Reflector(
            asked.scope, StreamView(asked, self.frames), streaming=streaming, lenient=lenient
        )

    @property
    def wire(self) -> bytes:
        """All that was written."""
        return self.frames.wire

    @property
    def events(self) -> list[Event]:
        """All that is on the wire."""
        return events(self.wire)

    @property
    def types(self) -> list[str]:
        """The types of all that is on the wire, errors by their code."""
        return [event["code"] if event["type"] == "error" else event["type"] for event in self.events]

    def receive(self, *lines: bytes) -> Step:
        """Lines of the open watch, one after the other, until one has a step behind it."""
        for line in lines:
            step = self.reflector.received(line + b"\n", self.now)
            if step is not Step.READ:
                return step
        return Step.READ

    def answer(self, status: int, content: bytes = b"", retry_after: float | None = None) -> Step:
        """A whole answer, to its end."""
        step = self.reflector.answered(status, content, retry_after, self.now)
        while step is Step.MORE:
            step = self.reflector.go_on(self.now)
        return step

    def end(self) -> Step:
        """The watch ends."""
        return self.reflector.ended(self.now)

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds


def change(kind: str, body: bytes) -> bytes:
    """One event of a watch."""
    return b'{"type":"%b","object":%b}' % (kind.encode(), body)


def added(body: bytes) -> bytes:
    return change("ADDED", body)


def modified(body: bytes) -> bytes:
    return change("MODIFIED", body)


def deleted(body: bytes) -> bytes:
    return change("DELETED", body)


def config_map(uid: str = "u1", version: str = "10", data: bytes = b'{"a":"1"}', more: bytes = b"") -> bytes:
    """A ConfigMap; `more` are further members of its metadata, each behind a comma."""
    return (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"n-%b","namespace":"app","uid":"%b",'
        b'"resourceVersion":"%b"%b},"data":%b}'
    ) % (uid.encode(), uid.encode(), version.encode(), more, data)


def secret(uid: str = "s1", version: str = "10", data: bytes = b'{"a":"MQ=="}', more: bytes = b"") -> bytes:
    """A Secret; `more` are further members of the object, each behind a comma."""
    return (
        b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"n-%b","namespace":"app","uid":"%b",'
        b'"resourceVersion":"%b"},"type":"Opaque","data":%b%b}'
    ) % (uid.encode(), uid.encode(), version.encode(), data, more)


def bookmark(version: str = "100", *, complete: bool = False) -> bytes:
    """A bookmark, of the end of the snapshot when `complete`."""
    annotations = b',"annotations":{"k8s.io/initial-events-end":"true"}' if complete else b""
    return change(
        "BOOKMARK",
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%b","creationTimestamp":null%b}}'
        % (version.encode(), annotations),
    )


COMPLETE = bookmark(complete=True)


def status(code: int, message: str = "", reason: str = "", details: bytes = b"") -> bytes:
    """A `Status`; `details` is the member's value."""
    return (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"%b","reason":"%b"%b,"code":%d}'
        % (message.encode(), reason.encode(), b',"details":' + details if details else b"", code)
    )


def error(code: int, message: str = "", reason: str = "") -> bytes:
    """An ERROR event of the watch."""
    return change("ERROR", status(code, message, reason))


def page(items: Iterable[bytes], version: str = "100", token: str = "", kind: str = "ConfigMapList") -> bytes:
    """One page of a list."""
    more = b',"continue":"%b"' % token.encode() if token else b""
    return b'{"kind":"%b","apiVersion":"v1","metadata":{"resourceVersion":"%b"%b},"items":[%b]}' % (
        kind.encode(),
        version.encode(),
        more,
        b",".join(items),
    )

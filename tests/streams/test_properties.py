"""Whatever upstream does: the wire keeps its form, and a client ends up with exactly what upstream has.

Upstream is a store of objects with one counter of versions, behind an API server that answers as it should,
loses continuity in each way there is, says again what it said before, and cuts its bytes anywhere.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from foyer.streams.reflector import Step
from foyer.streams.watch import Change
from tests.streams.conformance import COMPLETE, GONE, bookmark, line, page_of
from tests.streams.following import Following
from tests.streams.projected import LAST_APPLIED, projected
from tests.streams.wires import Client
from tests.support.jsontext_twin import Spelled, encode

NAMES = st.sampled_from(("a", "b", "c"))
VALUES = st.sampled_from(("1", "2", "é\u2028", "\ud800"))
SPELLINGS = st.sampled_from(("1", "1.0", "9007199254740993", "-0", "1e400")).map(Spelled)
PROJECTIONS = st.sampled_from(("krm-raw/v1", "krm-full/v1", "krm-spec/v1"))


class Upstream(RuleBasedStateMachine):
    """The rules are what happens upstream; after each the client is compared."""

    @initialize(projection=PROJECTIONS, streaming=st.booleans(), version=st.sampled_from((1, 95, 10**19 - 3)))
    def open(self, projection: str, streaming: bool, version: int) -> None:
        self.projection, self.streaming = projection, streaming
        self.version = version
        self.count = 0
        self.store: dict[str, dict[str, Any]] = {}
        self.said: list[tuple[Change, dict[str, Any]]] = []
        self.revisions: dict[tuple[str, str], list[bytes]] = {}
        self.connect()

    def connect(self) -> None:
        """The browser opens a stream."""
        query = f"version=v1&resource=secrets&namespace=app&projection={self.projection}".encode()
        self.following = Following(query, streaming=self.streaming)
        self.client = Client()
        self.taken = 0
        self.revisions = {}
        self.step = Step.REQUEST
        self.serve()

    def serve(self) -> None:
        """Answer for as long as something is asked."""
        while self.step in (Step.REQUEST, Step.CYCLE):
            if self.following.reflector.whole:
                self.list()
            elif self.following.reflector.in_snapshot:
                self.said = []
                snapshot = [line("ADDED", each) for each in self.store.values()]
                self.feed(b"".join(snapshot) + COMPLETE)
            else:
                self.step = Step.READ  # a watch of what comes

    def list(self) -> None:
        """The list in two pages."""
        self.said = []
        objects = list(self.store.values())
        half = len(objects) // 2
        if half:
            assert (
                self.following.answer(200, page_of(objects[:half], str(self.version), "more")) is Step.REQUEST
            )
        self.step = self.following.answer(200, page_of(objects[half:], str(self.version)))

    def feed(self, content: bytes, cut: int = 0) -> None:
        at = cut % (len(content) + 1)
        for piece in (content[:at], content[at:]):
            self.step = self.following.reflector.received(piece, self.following.now)
            if self.step is not Step.READ:
                return

    def tell(self, change: Change, made: dict[str, Any], cut: int) -> None:
        self.said.append((change, made))
        self.feed(line(change.value, made), cut)

    def made(self, name: str, value: str, number: Spelled, *, kind: str = "Secret") -> dict[str, Any]:
        """The object `name` as it is now made or changed."""
        self.version += 1
        old = self.store.get(name)
        if old is None:
            self.count += 1
        uid = old["metadata"]["uid"] if old else f"uid-{self.count}"
        metadata = {"name": name, "namespace": "app", "uid": uid, "resourceVersion": str(self.version)}
        annotations = {LAST_APPLIED: value} if value == "1" else {LAST_APPLIED: value, "note": "keep"}
        bookkeeping = {"managedFields": [{"at": str(self.version)}], "annotations": annotations}
        return {
            "kind": kind,
            "apiVersion": "v1",
            "metadata": metadata | bookkeeping,
            "data": {"token": value, "a/b": "fixed"},
            "spec": {"number": number},
            "status": {"at": Spelled(self.version % 3)},
        }

    alive = precondition(lambda self: self.step is Step.READ)
    cuts = st.integers(0, 2000)

    @alive
    @rule(name=NAMES, value=VALUES, number=SPELLINGS, cut=cuts)
    def change(self, name: str, value: str, number: Spelled, cut: int) -> None:
        change = Change.MODIFIED if name in self.store else Change.ADDED
        self.store[name] = self.made(name, value, number)
        self.tell(change, self.store[name], cut)

    @alive
    @rule(name=NAMES, cut=cuts)
    def touch(self, name: str, cut: int) -> None:
        """A change of bookkeeping alone."""
        if name in self.store:
            self.version += 1
            old = self.store[name]
            metadata = old["metadata"] | {"resourceVersion": str(self.version), "managedFields": []}
            self.store[name] = old | {"metadata": metadata}
            self.tell(Change.MODIFIED, self.store[name], cut)

    @alive
    @rule(name=NAMES, cut=cuts)
    def delete(self, name: str, cut: int) -> None:
        if name in self.store:
            self.version += 1
            gone = self.store.pop(name)
            metadata = gone["metadata"] | {"resourceVersion": str(self.version)}
            self.tell(Change.DELETED, gone | {"metadata": metadata}, cut)

    @alive
    @rule(name=NAMES, cut=cuts)
    def leave_the_selector_and_come_back(self, name: str, cut: int) -> None:
        if name in self.store:
            held = self.store[name]
            self.version += 1
            left = held | {"metadata": held["metadata"] | {"resourceVersion": str(self.version)}}
            self.tell(Change.DELETED, left, cut)
            self.version += 1
            back = held | {"metadata": held["metadata"] | {"resourceVersion": str(self.version)}}
            self.store[name] = back
            self.tell(Change.ADDED, back, cut)

    @alive
    @rule(at=st.integers(0, 100), cut=cuts)
    def say_again(self, at: int, cut: int) -> None:
        """An event of this watch is delivered once more, late."""
        if self.said:
            change, made = self.said[at % len(self.said)]
            self.feed(line(change.value, made), cut)

    @alive
    @rule(cut=cuts)
    def bookmark(self, cut: int) -> None:
        self.feed(bookmark(str(self.version)), cut)

    @alive
    @rule(
        how=st.sampled_from(("gone", "end", "tombstone", "husk")),
        seconds=st.sampled_from((0.0, 0.5, 1.0, 60.0)),
        name=NAMES,
        missed=st.booleans(),
        cut=cuts,
    )
    def lose(self, how: str, seconds: float, name: str, missed: bool, cut: int) -> None:
        """Continuity is lost, and something may happen that nobody is told."""
        self.following.wait(seconds)
        if missed:
            self.store.pop(name, None)
            other = "b" if name == "a" else "a"
            self.store[other] = self.made(other, "2", Spelled("7"))
        bare = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}}
        match how:
            case "gone":
                self.feed(GONE, cut)
            case "end":
                self.step = self.following.end()
            case "tombstone":
                self.feed(line("DELETED", bare), cut)
            case _:
                self.feed(line("MODIFIED", bare | {"kind": "PartialObjectMetadata"}), cut)
        assert self.step is not Step.READ
        self.serve()

    @alive
    @rule(name=NAMES)
    def break_off(self, name: str) -> None:
        """The watch ends in the middle of an event."""
        self.following.wait(60)
        self.feed(line("MODIFIED", {"metadata": {"name": name}})[:20])
        self.step = self.following.end()
        self.serve()

    @rule()
    def reconnect(self) -> None:
        """The browser opens its stream again; what the page had stays until the snapshot is whole."""
        objects, redacted = self.client.objects, self.client.redacted
        self.check()
        self.connect()
        self.client.objects, self.client.redacted = dict(objects), dict(redacted)

    @invariant()
    def check(self) -> None:
        if not hasattr(self, "following"):
            return
        found = self.following.events
        self.client.take(found[self.taken :])
        self.taken = len(found)
        assert self.client.ended is (self.step is Step.END)
        if self.step is Step.END:
            return
        assert self.client.synced
        expected = {made["metadata"]["uid"]: projected(made, self.projection) for made in self.store.values()}
        assert self.client.objects.keys() == expected.keys()
        for uid, (content, withheld) in expected.items():
            assert without_version(self.client.objects[uid]) == without_version(content)
            assert self.client.redacted[uid].keys() == withheld.keys()
            for path, value in withheld.items():
                self.check_revision(uid, path, encode(value))

    def check_revision(self, uid: str, path: str, value: bytes) -> None:
        """A revision is another exactly when the value is, and a new one is higher."""
        known = self.revisions.setdefault((uid, path), [])
        if not known or known[-1] != value:
            known.append(value)
        # Two changes while nobody was told are one to the stream, so only what was told is counted.
        assert self.client.redacted[uid][path] == len(known)


def without_version(shown: dict[str, Any]) -> dict[str, Any]:
    """What an update that is not sent leaves as it was."""
    metadata = {name: part for name, part in shown["metadata"].items() if name != "resourceVersion"}
    return shown | {"metadata": metadata}


Upstream.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestWhateverUpstreamDoes = Upstream.TestCase

"""What the demo's API server holds at the start, and what a measurement fills it with."""

from collections.abc import Iterable

from foyer.demo.apiserver import document
from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.options import WriteOptions, write_options
from foyer.demo.apiserver.randomness import Randomness
from foyer.demo.apiserver.resources import CONFIG_MAPS, NAMESPACES, NOTES, SECRETS, Resource
from foyer.demo.apiserver.store import Store
from foyer.demo.apiserver.writing import Place, Writer
from foyer.demo.people import NAMESPACES as PLACES

_NOTES = (
    ("Sign in as Ada to change this, as Bob to be refused.", False),
    ("Open a second window: what changes in one appears in the other.", False),
    ("Edit this in both windows at once and save twice: the second is a 409.", False),
    ("Start the demo.", True),
)

_CONFIG_MAPS = (
    ("settings-1", {"colour": "blue", "size": "small"}),
    ("settings-2", {"colour": "green", "size": "large"}),
)


def first_version(now: float) -> int:
    """Where a new store begins to count: beyond anything that an earlier run has given out.

    A page left open over a restart then finds its version too old (410), and never one that
    means something else.
    """
    return int(now)


def furnish(store: Store, now: float) -> None:
    """The namespaces and a few objects to look at."""
    place = _Placing(store, now)
    for namespace in PLACES:
        place(NAMESPACES, "", {"metadata": {"name": namespace}})
    for number, (text, done) in enumerate(_NOTES, start=1):
        place(NOTES, "demo", {"metadata": {"name": f"note-{number}"}, "spec": {"text": text, "done": done}})
    for name, data in _CONFIG_MAPS:
        place(CONFIG_MAPS, "demo", {"metadata": {"name": name}, "data": data})
    secret = {"metadata": {"name": "demo-secret"}, "stringData": {"password": "not-for-readers"}}
    place(SECRETS, "demo", secret)


def fill(store: Store, count: int, size: int, now: float) -> None:
    """`count` more ConfigMaps in the namespace demo, each of about `size` bytes of JSON."""
    place = _Placing(store, now)
    bare = {"metadata": {"name": "filler-000000", "labels": {"app": "filler"}}, "data": {"filler": ""}}
    place(CONFIG_MAPS, "demo", bare)
    entry = store.get(CONFIG_MAPS, "demo/filler-000000")
    assert entry is not None, "it was just put there"
    text = "foyer " * (max(size - len(entry.encoded), 0) // 6)
    store.delete(CONFIG_MAPS, entry.key)
    for target in _fillers(count, text):
        place(CONFIG_MAPS, "demo", target)


def _fillers(count: int, text: str) -> Iterable[Object]:
    for number in range(count):
        metadata = {"name": f"filler-{number:06}", "labels": {"app": "filler"}}
        yield {"metadata": metadata, "data": {"filler": text}}


class _Placing:
    """Creates objects the way a client does, so that they are as valid as any other."""

    def __init__(self, store: Store, now: float) -> None:
        randomness = Randomness()
        self._writer = Writer(store, randomness.uid, randomness.suffix)
        self._options: WriteOptions = write_options({}, "CreateOptions")
        self._now = now

    def __call__(self, resource: Resource, namespace: str, target: Object) -> None:
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        content = document.write(head | target)
        self._writer.create(Place(resource, namespace), content, self._options, self._now)

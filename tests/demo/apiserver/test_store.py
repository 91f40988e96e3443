"""The store: versions, the past, and those who are told."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from foyer.demo.apiserver.document import Object
from foyer.demo.apiserver.resources import CONFIG_MAPS, NOTES
from foyer.demo.apiserver.store import Change, Compacted, OutOfSpace, Store


def thing(**data: str) -> Object:
    return {"metadata": {}, "data": data}


def keys(store: Store, version: int) -> list[str]:
    return [entry.key for entry in store.at(CONFIG_MAPS, version)]


def test_each_write_is_a_new_version_and_the_object_carries_it() -> None:
    store = Store(version=7)
    first = store.put(CONFIG_MAPS, "a/x", thing(k="1"))
    second = store.put(CONFIG_MAPS, "a/x", thing(k="2"))
    gone = store.delete(CONFIG_MAPS, "a/x")
    assert [first.version, second.version, gone.version] == [8, 9, 10]
    assert second.object["metadata"]["resourceVersion"] == "9"
    assert gone.object["metadata"]["resourceVersion"] == "10"
    assert store.get(CONFIG_MAPS, "a/x") is None


def test_objects_come_in_the_order_of_etcd_where_a_slash_sorts_after_a_dash() -> None:
    store = Store()
    for key in ("a/x", "a-b/x", "a/a", "b/x"):
        store.put(CONFIG_MAPS, key, thing())
    assert [entry.key for entry in store.scan(CONFIG_MAPS)] == ["a-b/x", "a/a", "a/x", "b/x"]
    assert [entry.key for entry in store.scan(CONFIG_MAPS, "a/")] == ["a/a", "a/x"]
    assert store.count(CONFIG_MAPS, "a/") == 2
    assert store.count(CONFIG_MAPS, "a/", "a/b") == 1


def test_resources_share_the_versions_and_nothing_else() -> None:
    store = Store()
    store.put(CONFIG_MAPS, "a/x", thing())
    store.put(NOTES, "a/x", thing())
    assert store.version == 3
    assert [change.version for change in store.since(NOTES, 1)] == [3]


def test_what_the_history_has_dropped_is_compacted() -> None:
    store = Store(history_changes=2)
    for number in range(5):
        store.put(CONFIG_MAPS, f"a/{number}", thing())
    assert len(store.since(CONFIG_MAPS, 4)) == 2
    with pytest.raises(Compacted) as compacted:
        store.since(CONFIG_MAPS, 3)
    assert compacted.value.oldest == 4
    with pytest.raises(Compacted):
        store.at(CONFIG_MAPS, 3)


def test_the_history_is_bounded_in_bytes_too() -> None:
    store = Store(history_bytes=1000)
    for number in range(5):
        store.put(CONFIG_MAPS, "a/x", thing(k=str(number) * 400))
    assert store.compacted == 4


def test_compaction_forgets_everything_but_the_present() -> None:
    store = Store()
    store.put(CONFIG_MAPS, "a/x", thing())
    store.compact()
    assert store.since(CONFIG_MAPS, store.version) == []
    assert keys(store, store.version) == ["a/x"]
    with pytest.raises(Compacted):
        store.since(CONFIG_MAPS, store.version - 1)


def test_a_full_store_takes_nothing_more_until_something_goes() -> None:
    store = Store(quota_bytes=1500)
    store.put(CONFIG_MAPS, "a/x", thing(k="1" * 1000))
    with pytest.raises(OutOfSpace):
        store.put(CONFIG_MAPS, "a/y", thing(k="1" * 1000))
    assert store.version == 2
    store.delete(CONFIG_MAPS, "a/x")
    store.put(CONFIG_MAPS, "a/y", thing(k="1" * 1000))


def test_listeners_are_told_of_each_change_until_they_end() -> None:
    store = Store()
    told: list[Change] = []
    end = store.subscribe(CONFIG_MAPS, told.append)
    store.put(CONFIG_MAPS, "a/x", thing())
    store.put(NOTES, "a/x", thing())
    store.put(CONFIG_MAPS, "a/x", thing(k="2"))
    store.delete(CONFIG_MAPS, "a/x")
    end()
    end()
    store.put(CONFIG_MAPS, "a/x", thing())
    assert [(bool(change.before), bool(change.after)) for change in told] == [
        (False, True),
        (True, True),
        (True, False),
    ]
    assert store.subscribers() == 0


class EveryVersion(RuleBasedStateMachine):
    """Whatever is written, every version still in the history reads as it once was."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(history_changes=4)
        self.told: list[Change] = []
        self.store.subscribe(CONFIG_MAPS, self.told.append)
        self.then: dict[int, dict[str, bytes]] = {self.store.version: {}}

    def _remember(self) -> None:
        entries = self.store.scan(CONFIG_MAPS)
        self.then[self.store.version] = {entry.key: entry.encoded for entry in entries}

    @rule(key=st.sampled_from(["a/x", "a/y", "b/x"]), value=st.text("ab", max_size=2))
    def put(self, key: str, value: str) -> None:
        self.store.put(CONFIG_MAPS, key, thing(k=value))
        self._remember()

    @precondition(lambda self: any(self.store.scan(CONFIG_MAPS)))
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([entry.key for entry in self.store.scan(CONFIG_MAPS)]))
        self.store.delete(CONFIG_MAPS, key)
        self._remember()

    @rule()
    def compact(self) -> None:
        self.store.compact()

    @invariant()
    def every_version_kept_reads_as_it_was(self) -> None:
        for version, then in self.then.items():
            if version < self.store.compacted:
                continue
            found = {entry.key: entry.encoded for entry in self.store.at(CONFIG_MAPS, version)}
            assert found == then
            assert list(found) == sorted(found)

    @invariant()
    def the_changes_since_a_version_are_those_that_were_told(self) -> None:
        since = self.store.since(CONFIG_MAPS, self.store.compacted)
        assert since == [change for change in self.told if change.version > self.store.compacted]

    @invariant()
    def the_bytes_are_those_of_the_objects(self) -> None:
        assert self.store.bytes == sum(len(entry.encoded) for entry in self.store.scan(CONFIG_MAPS))


TestEveryVersion = EveryVersion.TestCase

"""What a shared watch has, made into a projection that somebody begins to look through later."""

from collections.abc import Callable

import pytest

from foyer.streams.cache import Cache
from foyer.streams.fanout import FRAME_BYTES, WORK, Line
from foyer.streams.gates import KEPT
from foyer.streams.projection import Projection
from foyer.streams.resource import read
from foyer.streams.watch import Change
from tests.streams.following import config_map
from tests.support.allocations import allocations


class Reader:
    """Who looks through it."""

    neighbourhood = 1
    position = 0
    reads = True

    def deliver(self, most: int) -> int:
        return 1

    def failed(self, error: Exception) -> None:
        raise error


@pytest.mark.parametrize("size", [0, 100, 300])
def test_what_small_objects_are_counted_for_is_what_keeping_them_takes(size: int) -> None:
    """In three projections, each of which somebody looks through."""
    cache = Cache(Line(lambda call: None), lambda: None, secret=False)
    for projection in Projection:
        cache.join(Reader(), projection)
    with allocations() as made:
        for number in range(2000):
            spec = b'"spec":"%b",' % (b"x" * size) if size else b""
            text = b'{%b"kind":"A","apiVersion":"v1","metadata":{"uid":"%d","name":"n"}}' % (spec, number)
            found = read(text)
            assert found is not None
            cache.show(Change.ADDED, found)
        cache.synced()
    assert made.kept < KEPT * cache.size
    for number in range(2000):
        found = read(b'{"kind":"A","apiVersion":"v1","metadata":{"uid":"%d","name":"n"}}' % number)
        assert found is not None
        cache.delete(found)
    assert cache.size == 0


@pytest.mark.parametrize(("objects", "frames"), [(2 * WORK, 1), (2 * WORK, 5), (4, 2 * WORK)])
def test_of_large_objects_fewer_are_projected_in_a_turn(objects: int, frames: int) -> None:
    """As large as a server likes: 150 of one MiB would be all there is in one turn."""
    soon = list[Callable[[], None]]()
    cache = Cache(Line(soon.append), lambda: None, secret=False)
    for number in range(objects):
        found = read(config_map(f"u{number}", data=b'{"a":"%b"}' % (b"x" * ((frames - 1) * FRAME_BYTES))))
        assert found is not None
        cache.show(Change.ADDED, found)
    cache.synced()
    showing = cache.join(Reader(), Projection.FULL)
    while not showing.ready:
        before = len(showing.rows(0, objects))
        soon.pop(0)()
        assert len(showing.rows(0, objects)) - before <= max(1, WORK // frames)
    assert len(showing.rows(0, objects)) == objects

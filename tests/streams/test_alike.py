"""The last event, for whoever is sent the same octets: what would be read anew, and never a Secret's."""

from hypothesis import given
from hypothesis import strategies as st

from foyer.streams.alike import KEPT_MOST, LastEvent
from foyer.streams.projection import Projection, project
from foyer.streams.resource import Resource
from foyer.streams.watch import Changed, read_event
from tests.streams.following import added, bookmark, config_map, deleted, error, modified, secret

LINES = [
    added(config_map("u1")),
    modified(config_map("u1")),
    modified(config_map("u1", "11", b'{"a":"1"}')),
    modified(config_map("u2", "11", b'{"a":"1"}')),
    modified(secret()),
    deleted(config_map("u1", "12")),
    bookmark(),
    error(410),
    b"{nonsense",
]


def changed(last: LastEvent, line: bytes) -> Resource:
    event = last.read(line)
    assert isinstance(event, Changed)
    return event.resource


@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(Projection), st.booleans()), max_size=30))
def test_whatever_came_before_what_is_read_and_shown_is_what_it_would_be_anew(
    asked: list[tuple[bytes, Projection, bool]],
) -> None:
    last = LastEvent()
    for line, projection, of_secrets in asked:
        event = last.read(bytes(bytearray(line)))
        assert event == read_event(line)
        if isinstance(event, Changed):
            shown = last.project(event.resource, projection, secret=of_secrets)
            assert shown == project(event.resource, projection, secret=of_secrets)


def test_who_is_sent_the_same_octets_is_shown_the_same_and_nothing_is_read_again() -> None:
    last = LastEvent()
    first, second = (changed(last, bytes(bytearray(LINES[0]))) for _ in range(2))
    assert first is second
    shown = [last.project(each, Projection.FULL, secret=False) for each in (first, second)]
    assert shown[0] is shown[1]
    assert last.project(first, Projection.RAW, secret=False) is not shown[0]


def test_an_object_that_was_read_before_the_last_is_shown_as_itself() -> None:
    last = LastEvent()
    before, after = changed(last, LINES[0]), changed(last, LINES[2])
    for each in (after, before):
        assert last.project(each, Projection.RAW, secret=False) == project(each, Projection.RAW)


def test_no_secret_is_kept_nor_anything_large() -> None:
    large = config_map("u1", "11", b'{"a":"%b"}' % (b"x" * KEPT_MOST))
    for line in (modified(secret()), modified(large)):
        last = LastEvent()
        assert changed(last, line) is not changed(last, line)

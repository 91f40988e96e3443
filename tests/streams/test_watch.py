"""What the API server sends, bytes split anywhere (spec 05, Upstream)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.streams import watch
from foyer.streams.watch import (
    FREE_BYTES,
    Bookmark,
    Change,
    Changed,
    Event,
    Failed,
    Fault,
    Page,
    Unfinished,
    WatchReader,
    read_page,
)
from tests.streams.following import (
    COMPLETE,
    added,
    bookmark,
    change,
    config_map,
    deleted,
    error,
    modified,
    page,
    secret,
)


def read(content: bytes) -> list[Event]:
    return list(WatchReader().feed(content))


def one(line: bytes) -> Event:
    (event,) = read(line + b"\n")
    return event


def test_changes_are_read_with_their_objects() -> None:
    for line, kind in ((added, Change.ADDED), (modified, Change.MODIFIED), (deleted, Change.DELETED)):
        event = one(line(config_map("u9")))
        assert isinstance(event, Changed)
        assert (event.change, event.resource.uid, event.resource.text) == (kind, "u9", config_map("u9"))


def test_a_bookmark_is_the_snapshots_end_only_when_it_says_so() -> None:
    assert one(bookmark()) == Bookmark(complete=False)
    assert one(COMPLETE) == Bookmark(complete=True)
    assert one(COMPLETE.replace(b'"true"', b'"false"')) == Bookmark(complete=False)
    assert one(COMPLETE.replace(b'"true"', b"true")) == Bookmark(complete=False)
    assert one(change("BOOKMARK", config_map(data=b'{"k8s.io/initial-events-end":"true"}'))) == Bookmark(
        complete=False
    )
    assert one(change("BOOKMARK", b"null")) == Bookmark(complete=False)
    assert one(change("BOOKMARK", b'["k8s.io/initial-events-end"]')) == Bookmark(complete=False)


def test_an_error_has_what_its_status_says() -> None:
    event = one(error(410, "too old resource version", "Expired"))
    assert isinstance(event, Failed)
    assert (event.said.code, event.said.message) == (410, "too old resource version")
    other = one(change("ERROR", b"{}"))
    assert isinstance(other, Failed) and other.said.code == 0


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
@pytest.mark.parametrize("body", [b"{}", b"null", b"[]", b'{"metadata":{"uid":"u"}}', config_map(uid="")])
def test_a_change_of_an_object_that_is_not_whole_is_partial(kind: str, body: bytes) -> None:
    assert one(change(kind, body)) is Fault.PARTIAL


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"type":"ADDED"}',
        b'{"object":{}}',
        b'{"type":"EXPLODED","object":{}}',
        b'{"type":7,"object":{}}',
        b'{"type":"added","object":{}}',
        added(config_map()) + b"x",
        added(config_map()) * 2,
        added(config_map()).replace(b"ConfigMap", b"Config\xffMap"),
        added(config_map()).replace(b"ConfigMap", b"Config\x00Map"),
        added(config_map(data=b"[" * 20_000)),
        b"<html>",
    ],
)
def test_what_is_no_event_is_upstreams_fault(line: bytes) -> None:
    assert one(line) is Fault.UNREADABLE


def test_escapes_and_spaces_within_an_event_make_no_difference() -> None:
    assert one(b' { "typ\\u0065" : "BOOKMAR\\u004b" , "object" : { } } ') == Bookmark(complete=False)
    spaced = one(b'{ "type": "ADDED", "object": ' + config_map().replace(b",", b", ") + b"}\r")
    assert isinstance(spaced, Changed) and spaced.resource.text == config_map()


def test_empty_lines_are_nothing() -> None:
    assert read(b"\n\r\n  \n" + bookmark() + b"\n\n") == [Bookmark(complete=False)]


def test_an_event_whose_line_has_not_ended_is_not_yet_one() -> None:
    reader = WatchReader()
    assert list(reader.feed(bookmark())) == []
    assert list(reader.feed(b"\n")) == [Bookmark(complete=False)]
    assert list(reader.feed(b"")) == []


CONTENT = b"".join(
    line + b"\n"
    for line in (
        added(config_map("u1")),
        COMPLETE,
        b"",
        modified(config_map("u1", "11", '{"é":"\U0001f600\u2028"}'.encode())),
        b"{nonsense",
        deleted(config_map("u1", "12")),
        error(410),
    )
)


@given(st.lists(st.integers(0, len(CONTENT)), max_size=40))
def test_the_events_are_the_same_wherever_their_bytes_are_cut(cuts: list[int]) -> None:
    reader = WatchReader()
    places = [0, *sorted(cuts), len(CONTENT)]
    pieces = [CONTENT[begin:end] for begin, end in pairwise(places)]
    assert [event for piece in pieces for event in reader.feed(piece)] == read(CONTENT)


def test_an_event_of_two_mebibytes_in_small_pieces_is_whole_and_says_when_it_outgrows_its_room() -> None:
    line = added(config_map(data=b'{"a":"%b"}' % (b"x" * (2 * 1024 * 1024)))) + b"\n"
    reader = WatchReader()
    outgrown, events = list[int](), list[Event]()
    for at in range(0, len(line), 9000):
        for event in reader.feed(line[at : at + 9000]):
            if isinstance(event, Unfinished):
                assert event.size == reader.waiting > reader.room
                outgrown.append(event.size)
                reader.room = 2 * event.size
            else:
                events.append(event)
    assert events == read(line)
    assert outgrown == [72_000, 153_000, 315_000, 639_000, 1_287_000]


def test_what_is_given_up_within_an_event_is_let_go() -> None:
    reader = WatchReader()
    assert list(reader.feed(b"x" * 1000)) == []
    reader.drop()
    assert reader.waiting == 0


def test_what_a_read_of_the_connection_brings_whole_asks_for_no_room_however_large_it_is() -> None:
    line = added(config_map(data=b'{"a":"%b"}' % (b"x" * (3 * FREE_BYTES)))) + b"\n"
    assert [type(event) for event in read(line + line)] == [Changed, Changed]


def test_room_is_made_for_one_event_and_not_for_the_next() -> None:
    reader = WatchReader()
    for _ in range(3):
        assert list(reader.feed(b" " * FREE_BYTES)) == []
        assert list(reader.feed(b" ")) == [Unfinished(FREE_BYTES + 1)]
        assert list(reader.feed(b" ")) == [Unfinished(FREE_BYTES + 2)]  # nobody has made any
        reader.room = FREE_BYTES + 3
        assert list(reader.feed(b" ")) == []
        assert list(reader.feed(b"\n")) == []
        assert (reader.waiting, reader.room) == (0, FREE_BYTES)


@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 3000), max_size=40),
    steps=st.lists(st.integers(0, 200), min_size=1),
)
def test_no_more_is_held_than_room_was_made_for_but_for_what_came_last(
    sizes: list[int], cuts: list[int], steps: list[int]
) -> None:
    content = b"".join(
        added(config_map(f"u{at}", data=b'{"a":"%b"}' % (b"x" * size))) + b"\n"
        for at, size in enumerate(sizes)
    )
    places = sorted({0, *(cut for cut in cuts if cut < len(content)), len(content)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "FREE_BYTES", 250)
        reader, events = WatchReader(), list[Event]()
        for at, (begin, end) in enumerate(pairwise(places)):
            came = list(reader.feed(content[begin:end]))
            assert Unfinished(reader.waiting) not in came[:-1]
            assert (reader.waiting > reader.room) == (came[-1:] == [Unfinished(reader.waiting)])
            if reader.waiting > reader.room:
                came.pop()
                reader.room = reader.waiting + steps[at % len(steps)]
            events += came
        assert (reader.waiting, reader.room) == (0, 250)
    assert events == read(content)


def test_an_event_beyond_the_bound_is_too_large_before_it_ends_and_what_was_held_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "MAX_EVENT_BYTES", 100)
    reader = WatchReader()
    assert list(reader.feed(b"x" * 60)) == []
    assert list(reader.feed(b"x" * 40)) == []
    assert list(reader.feed(b"x")) == [Fault.TOO_LARGE]
    assert read(b"x" * 101 + b"\n") == [Fault.TOO_LARGE]


def test_the_bound_is_on_each_event_however_many_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_EVENT_BYTES", 100)
    reader = WatchReader()
    for _ in range(10):
        assert list(reader.feed(b"x" * 60)) == []
        assert list(reader.feed(b"\n")) == [Fault.UNREADABLE]
    assert read(b" " * 101 + b"\n" + b" " * 100 + b"\n") == [Fault.TOO_LARGE]


def whole(content: bytes) -> Page:
    found = read_page(content)
    assert isinstance(found, Page)
    return found


def test_a_page_has_its_version_its_token_and_its_items() -> None:
    found = whole(page([config_map("u1"), config_map("u2")], "77", "more"))
    assert (found.version, found.token) == ("77", "more")
    assert [item.uid for item in found.items if item] == ["u1", "u2"]
    last = whole(page([], "77"))
    assert (last.token, list(last.items)) == ("", [])


def test_items_of_a_built_in_type_have_their_kind_and_version_from_their_list() -> None:
    bare = config_map().replace(b'"kind":"ConfigMap","apiVersion":"v1",', b"")
    half = config_map().replace(b'"apiVersion":"v1",', b"")
    texts = [item.text for item in whole(page([bare, half, config_map()])).items if item]
    assert texts[0] == config_map() == texts[2]
    (secrets,) = whole(
        page([secret().replace(b'"kind":"Secret","apiVersion":"v1",', b"")], kind="SecretList")
    ).items
    assert secrets is not None and secrets.is_secret
    found = [item for item in whole(page([half])).items if item]
    assert (
        len(found) == 1
        and found[0].identity()
        == b'{"uid":"u1","apiVersion":"v1","kind":"ConfigMap","namespace":"app","name":"n-u1"}'
    )


def test_a_page_in_the_order_of_custom_resources_is_read() -> None:
    content = (
        b'{"apiVersion":"example.com/v1","items":[{"metadata":{"uid":"u","name":"n"}}],"kind":"NoteList",'
        b'"metadata":{"continue":"","remainingItemCount":2,"resourceVersion":"5"}}'
    )
    found = whole(content)
    (item,) = found.items
    assert item is not None
    assert item.identity() == b'{"uid":"u","apiVersion":"example.com/v1","kind":"Note","name":"n"}'


@pytest.mark.parametrize("item", [b"null", b"1", b"{}", b"[]", b'{"metadata":{}}'])
def test_an_item_that_is_not_whole_is_none(item: bytes) -> None:
    assert list(whole(page([item])).items) == [None]


def test_a_list_of_none_as_go_writes_it_is_empty() -> None:
    assert list(whole(page([]).replace(b"[]", b"null")).items) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"<html>",
        config_map(),
        page([]).replace(b"List", b"Lisp"),
        page([]).replace(b'"items"', b'"item"'),
        page([]).replace(b"[]", b"{}"),
        page([]).replace(b'"apiVersion":"v1",', b""),
        page([], ""),
        page([]).replace(b'"100"', b"100"),
        page([]).replace(b'"metadata"', b'"meta"'),
        page([config_map()]) + b"x",
        page([config_map(data=b'{"a":"\xff"}')]),
    ],
)
def test_what_is_no_page_is_upstreams_fault(content: bytes) -> None:
    assert read_page(content) is Fault.UNREADABLE

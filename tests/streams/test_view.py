"""One stream's own view: what is written, and what is kept."""

from foyer.streams import errors, resource
from foyer.streams.view import StreamView
from foyer.streams.watch import Change
from tests.streams.following import SECRETS, Frames, config_map, opening
from tests.streams.wires import events


def made(version: str, data: bytes) -> resource.Resource:
    found = resource.read(config_map("u1", version, data))
    assert found is not None
    return found


def test_each_frame_is_written_once_and_in_two_parts() -> None:
    frames = Frames()
    view = StreamView(opening(), frames)
    view.reset()
    view.show(Change.ADDED, made("1", b'{"a":"1"}'))
    view.synced()
    view.show(Change.MODIFIED, made("2", b'{"a":"1"}'))
    view.show(Change.MODIFIED, made("3", b'{"a":"2"}'))
    view.delete(made("4", b"{}"))
    view.error(errors.unavailable("later", 1))
    types = [event["type"] for event in events(frames.wire)]
    assert types == ["reset", "added", "synced", "modified", "deleted", "error"]
    assert all(head.startswith(b"data: ") and tail.endswith(b"\n\n") for head, tail in frames.written)


def test_what_comes_of_a_scope_of_secrets_is_one_whatever_it_says_it_is() -> None:
    frames = Frames()
    view = StreamView(opening(SECRETS), frames)
    view.reset()
    view.show(Change.ADDED, made("1", b'{"a":"hunter2"}'))
    assert b"hunter2" not in frames.wire
    assert b"/data/a" in frames.wire


def test_an_error_that_is_the_last_event_is_the_end_and_no_other_is() -> None:
    frames = Frames()
    view = StreamView(opening(), frames)
    view.reset()
    view.error(errors.resync("again"))
    assert frames.why is None
    view.reset()
    gone = errors.forbidden("no")
    view.error(gone)
    assert frames.why is gone

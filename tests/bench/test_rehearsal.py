"""`python -m bench.rehearsal`: that what comes is read however it was cut, and what is wrong found."""

import json
import resource
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.messages import H1, H2, Type, frame
from bench.rehearsal.__main__ import files_missing, rehearse_foyer
from bench.rehearsal.frames import HEADER_BYTES, Frames, header
from bench.rehearsal.kinds import Kind
from bench.rehearsal.objects import INITIAL_END, MARK, bookmark, event, small_object
from bench.rehearsal.plot import drawn
from bench.rehearsal.rounds import EACH, Found, Size, grown
from bench.rehearsal.rows import fill
from bench.rehearsal.watching import Awaited, Chunks, Watch
from bench.report import Report


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """`data`, cut at these places."""
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[begin:end] for begin, end in pairwise(places)]


CUTS = st.lists(st.integers(min_value=0, max_value=5000), max_size=8)
CONTENTS = st.lists(st.binary(min_size=1, max_size=300), max_size=6)


@given(contents=CONTENTS, cuts=CUTS)
def test_frames_are_read_however_they_are_cut(contents: list[bytes], cuts: list[int]) -> None:
    sent = b"".join(frame(Type.DATA, 0, 2 * number + 1, each) for number, each in enumerate(contents))
    frames = Frames()
    read = [found for piece in pieces(sent, cuts) for found in frames.read(piece)]
    assert read == [(Type.DATA, 0, 2 * number + 1, each) for number, each in enumerate(contents)]


def test_a_header_is_what_stands_before_the_content_of_a_frame() -> None:
    content = bytes(70_000)
    whole = frame(Type.DATA, 1, 9, content)
    assert header(len(content), Type.DATA, 1, 9) == whole[:HEADER_BYTES]


@given(contents=CONTENTS, cuts=CUTS)
def test_chunks_are_read_however_they_are_cut(contents: list[bytes], cuts: list[int]) -> None:
    sent = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in contents)
    chunks = Chunks()
    assert b"".join(map(chunks.read, pieces(sent, cuts))) == b"".join(contents)
    assert not chunks.ended
    assert chunks.read(b"0\r\n\r\n") == b""
    assert chunks.ended


@given(cuts=CUTS, before=st.binary(max_size=100))
def test_a_mark_is_seen_once_however_it_is_cut(cuts: list[int], before: bytes) -> None:
    awaited = Awaited(b"mark-h2-000007.")
    watch = Watch(0, awaited, [])
    line = before.replace(b"mark", b"") + event("MODIFIED", small_object("mark-h2-000007."))
    for number, piece in enumerate(pieces(line, cuts)):
        watch.took(piece, 1000 + number)
    watch.took(line, 2000)
    assert len(awaited.seen) == 1
    assert awaited.seen[0] < 2000


def test_each_mark_is_awaited_anew() -> None:
    first, second = Awaited(INITIAL_END.encode()), Awaited(b"mark-1")
    watch = Watch(0, first, [])
    watch.took(event("ADDED", small_object("none")) + bookmark(1), 1)
    watch.awaited = second
    watch.took(bookmark(2), 2)
    watch.took(event("MODIFIED", small_object("mark-1")), 3)
    assert (first.seen, second.seen) == ([1], [3])


def test_a_watch_ends_once_and_says_how() -> None:
    over: list[Watch] = []
    watch = Watch(3, Awaited(b"mark"), over)
    watch.over(5, clean=False)
    watch.over(6, clean=True)
    assert (over, watch.ended, watch.clean) == ([watch], 5, False)


def test_the_object_has_its_mark() -> None:
    line = json.loads(event("MODIFIED", small_object("mark-4")))
    assert line["object"]["metadata"]["annotations"] == {MARK: "mark-4"}
    assert 900 < len(event("MODIFIED", small_object("mark-4"))) < 1200


# What would be found.

IDLE = {"tasks": 2, "files": 20, "objects": {"foyer.net.upstream.UpstreamConnection": 1}}


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (IDLE, []),
        ({**IDLE, "tasks": 3}, ["3 tasks, not 2"]),
        ({**IDLE, "files": 21}, ["+1 open files beside connections"]),
        ({**IDLE, "files": 38, "objects": {"foyer.net.upstream.UpstreamConnection": 19}}, []),
        ({**IDLE, "objects": {"foyer.net.browser.BrowserConnection": 1}}, []),
        ({**IDLE, "objects": {**IDLE["objects"], "foyer.x.Y": 181}}, ["181 more of foyer.x.Y"]),  # type: ignore[dict-item]
        ({**IDLE, "objects": {**IDLE["objects"], "foyer.x.Y": 180}}, []),  # type: ignore[dict-item]
    ],
)
def test_what_has_grown_is_said(now: dict[str, object], found: list[str]) -> None:
    assert grown(now, IDLE, 1800) == found


def test_only_what_does_not_hold_is_taken_down() -> None:
    found = Found()
    found.holds(True, "it does")
    found.holds(False, "it does not")
    assert found.failures == ["it does not"]


def test_too_few_open_files_are_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 1024))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: None)
    assert files_missing(20) == ""
    assert "2200 open files are needed, 1024 allowed" in files_missing(200)


# All of it, with two people.


@pytest.mark.long
@pytest.mark.parametrize(("kind", "version"), [(Kind.WATCH, H1), (Kind.SHARED, H2)])
def test_a_small_rehearsal_finds_everything_as_it_must_be(
    kind: Kind, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rehearse_foyer(kind, version, Size(people=2, changes=1, hold=0.1, soak=0.1))
    assert found.failures == []
    most = kind.upstream(2 * EACH)
    assert found.upstream == [0, most, 0]
    # Once before a restart and in two rounds or more after it.
    rounds = len(found.open)
    assert len(found.opening) == len(found.slowest) == rounds >= 3
    assert [len(cut) for cut in found.cut] == [2 * EACH] * (rounds - 1)
    assert {len(cpu) for cpu in found.cpu.values()} == {rounds}
    assert found.soaked
    servers = {("foyer", version): found}
    fill(Report(), servers, kind, 2, "stand-ins")
    drawing = ElementTree.fromstring(drawn([(kind, servers)]))
    assert drawing.tag.endswith("}svg")
    assert [line for line in drawing.iter() if line.tag.endswith("}polyline")]
    assert not [part for part in drawing.iter() if part.tag.endswith("}script")]
    printed = capsys.readouterr().out
    assert f"2 people, 18 {kind.value.name}; stand-ins" in printed
    for label in (
        "opening 18 at once",
        "one change, to the slowest",
        "logout to cut",
        "KiB each",
        "a change a second",
    ):
        assert label in printed
    assert ("access reviews" in printed) is (kind is Kind.SHARED)

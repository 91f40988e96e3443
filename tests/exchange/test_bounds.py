"""The bounds of one response: how many bytes, and cuts at every stage (spec 04, Bytes, Abort; A4, A5, A17).

Over a limit of L bytes: known before it starts, a 502 and nothing of it; else exactly L bytes and an abort.
"""

import gzip
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.bound import Bound
from foyer.exchange.endings import Cause, Complete, CutShort, Interrupted
from foyer.exchange.exchange import Exchange
from foyer.exchange.ports import HIGH_WATER, ResponseBounds
from foyer.interruption import Reason, StatusCause
from foyer.protocol.events import Failure, Fields, ResponseHead
from foyer_native.inflate import Inflater
from tests.exchange.scene import GZIP, Scene, asked
from tests.exchange.sides import WINDOW, Admission, Browser, Pool, Services, Told

LIMIT = 70_000
"""More than a step of decoding, and than what a queue takes at once."""

CONTENT = random.Random(2).randbytes(LIMIT + 1)

BOUNDS = ResponseBounds(LIMIT, 60.0)


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def known(content: bytes) -> tuple[Fields, bytes]:
    return [(b"content-length", b"%d" % len(content))], content


def unknown(content: bytes) -> tuple[Fields, bytes]:
    return [], content


def coded(content: bytes) -> tuple[Fields, bytes]:
    encoded = gzip.compress(content)
    # Its length says how long it is encoded, which is nothing to go by.
    return [*GZIP, (b"content-length", b"%d" % len(encoded))], encoded


def in_members(content: bytes) -> tuple[Fields, bytes]:
    return GZIP, b"".join(gzip.compress(piece) for piece in pieces(content, 9_000))


FORMS = pytest.mark.parametrize("form", [known, unknown, coded, in_members])
Form = Callable[[bytes], tuple[Fields, bytes]]


def bring(scene: Scene, data: bytes, size: int) -> None:
    """The API server sends `data`, while the browser takes what there is."""
    for piece in pieces(data, size):
        if scene.upstream.over:
            return
        scene.upstream.content(piece)
        scene.browser.take(1 << 20)
    if not scene.upstream.over:
        scene.upstream.end()
    for _ in range(100):
        scene.browser.take(1 << 20)


@FORMS
@pytest.mark.parametrize("size", [WINDOW, 32_768, 7_001, 101])
@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT])
def test_up_to_the_limit_a_response_passes_whole(form: Form, length: int, size: int) -> None:
    fields, data = form(CONTENT[:length])
    scene = Scene(bounds=BOUNDS)
    scene.upstream.answer(ResponseHead(200, fields))
    bring(scene, data, size)
    assert (bytes(scene.browser.taken), scene.browser.told) == (CONTENT[:length], Told.FINISHED)
    assert scene.exchange.content == length
    scene.assert_ended(Complete(200))


@FORMS
@pytest.mark.parametrize("size", [WINDOW, 32_768, 7_001, 101])
def test_one_byte_more_is_refused_where_that_is_known_and_else_cut_after_exactly_the_limit(
    form: Form, size: int
) -> None:
    fields, data = form(CONTENT)
    scene = Scene(bounds=BOUNDS)
    scene.upstream.answer(ResponseHead(200, fields))
    if form is known:
        assert scene.browser.head is not None and scene.browser.head.status == 502
        assert scene.upstream.cancelled
        scene.browser.take(1 << 20)
        [ending] = scene.services.endings
        assert isinstance(ending, Interrupted)
        assert scene.exchange.content is None, "there was none"
        return
    bring(scene, data, size)
    assert (bytes(scene.browser.taken), scene.browser.told) == (CONTENT[:LIMIT], Told.ABORTED)
    assert scene.upstream.cancelled
    assert scene.exchange.content == LIMIT
    scene.assert_ended(CutShort(Cause.RESPONSE_BYTES))


def test_a_response_known_to_be_too_large_is_an_interruption_that_names_the_bound() -> None:
    scene = Scene(bounds=BOUNDS)
    scene.upstream.answer(ResponseHead(200, [(b"content-length", b"70001")]))
    scene.browser.take(1 << 20)
    [ending] = scene.services.endings
    assert isinstance(ending, Interrupted)
    assert ending.interruption.reason is Reason.RESPONSE_TOO_LARGE
    assert ending.interruption.bound is Bound.RESPONSE_BYTES
    assert ending.interruption.causes == (StatusCause("BoundReached", "response_bytes", "70000"),)
    assert ending.interruption.retry_after is None
    assert bytes(scene.browser.taken) == ending.interruption.message.encode()


@pytest.mark.parametrize("status", [200, 403, 404])
@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT, LIMIT + 1, 1 << 50])
@pytest.mark.parametrize("fields", [[], GZIP])
def test_an_answer_to_head_is_never_too_large(status: int, length: int, fields: Fields) -> None:
    """It has no content: its length is the GET's."""
    scene = Scene(asked(b"HEAD"), bounds=BOUNDS)
    scene.upstream.answer(ResponseHead(status, [*fields, (b"content-length", b"%d" % length)], ended=True))
    scene.browser.take(0)
    assert scene.browser.head is not None and scene.browser.head.status == status
    scene.assert_ended(Complete(status))


@pytest.mark.parametrize("status", [204, 304])
def test_nor_is_one_that_can_have_no_content(status: int) -> None:
    scene = Scene(bounds=BOUNDS)
    scene.upstream.answer(ResponseHead(status, [(b"content-length", b"%d" % (1 << 50))], ended=True))
    scene.browser.take(0)
    scene.assert_ended(Complete(status))


@given(
    content=st.integers(0, 120).map(lambda size: bytes(range(size))),
    limit=st.integers(1, 120),
    members=st.lists(st.integers(0, 60), max_size=4),
    size=st.integers(1, 60),
    takes=st.integers(1, 200),
)
def test_it_is_whole_or_exactly_the_limit_however_it_is_split(
    content: bytes, limit: int, members: list[int], size: int, takes: int
) -> None:
    """Members are counted together, an empty one among them, and split anywhere."""
    cuts = sorted({0, len(content), *(at for at in members if at < len(content))})
    parts = [content[start:end] for start, end in pairwise(cuts)]
    data = b"".join(gzip.compress(part) for part in [*parts[:1], b"", *parts[1:]])
    scene = Scene(bounds=ResponseBounds(limit, 60.0))
    scene.upstream.answer(ResponseHead(200, GZIP))
    for piece in pieces(data, size):
        if not scene.upstream.over:
            scene.upstream.content(piece)
        scene.browser.take(takes)
    if not scene.upstream.over:
        scene.upstream.end()
    for _ in range(200):
        scene.browser.take(takes)
    assert bytes(scene.browser.taken) == content[:limit]
    scene.assert_ended(Complete(200) if len(content) <= limit else CutShort(Cause.RESPONSE_BYTES))


def test_what_was_good_before_a_broken_trailer_is_within_the_limit_too() -> None:
    encoded = gzip.compress(CONTENT[:LIMIT])
    scene = Scene(bounds=BOUNDS)
    scene.upstream.answer(ResponseHead(200, GZIP))
    bring(scene, encoded[:-8] + bytes(byte ^ 255 for byte in encoded[-8:-4]) + encoded[-4:], 9_000)
    assert bytes(scene.browser.taken) == CONTENT[:LIMIT]
    scene.assert_ended(CutShort(Cause.UPSTREAM, Failure.PROTOCOL))


# Bombs


class Counted(Inflater):
    """The decoder, and what all of them have decoded."""

    everything = 0

    def step(self, limit: int) -> bytes:
        piece = super().step(limit)
        Counted.everything += len(piece)
        return piece


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    Counted.everything = 0
    monkeypatch.setattr("foyer.exchange.exchange.Inflater", Counted)
    return Counted


def a_bomb(size: int) -> bytes:
    """A thousand times as large when it is decoded."""
    return gzip.compress(bytes(size), 9)


@pytest.mark.parametrize("limit", [1, HIGH_WATER - 1, HIGH_WATER, HIGH_WATER + 1, 1 << 20])
def test_of_a_bomb_no_more_is_decoded_than_the_limit_and_a_step(limit: int, counted: type[Counted]) -> None:
    scene = Scene(bounds=ResponseBounds(limit, 60.0))
    scene.upstream.answer(ResponseHead(200, GZIP))
    bring(scene, a_bomb(16 << 20), WINDOW)
    assert bytes(scene.browser.taken) == bytes(limit)
    assert scene.browser.most_queued <= 2 * HIGH_WATER
    assert counted.everything <= limit + HIGH_WATER
    scene.assert_ended(CutShort(Cause.RESPONSE_BYTES))


def test_of_a_bomb_that_nobody_reads_a_queue_is_decoded_and_no_more(counted: type[Counted]) -> None:
    scene = Scene(bounds=ResponseBounds(32 << 20, 60.0))
    scene.upstream.answer(ResponseHead(200, GZIP))
    scene.upstream.content(a_bomb(16 << 20)[:WINDOW])
    assert scene.upstream.paused
    assert scene.browser.queued == counted.everything <= 2 * HIGH_WATER


# Cuts

STAGES = ["waiting for a place", "sent", "relaying", "decoding", "delivering its last"]


def at_stage(stage: str) -> Scene:
    """An exchange that somebody waits for."""
    scene = Scene(at_once=stage != "waiting for a place", bounds=BOUNDS)
    match stage:
        case "relaying":
            scene.upstream.answer(ResponseHead(200, []))
            scene.upstream.content(CONTENT[:50_000])
        case "decoding":
            scene.upstream.answer(ResponseHead(200, GZIP))
            scene.upstream.content(gzip.compress(bytes(60_000) + CONTENT[:5000])[:4000])
        case "delivering its last":
            scene.upstream.answer(ResponseHead(200, []))
            scene.upstream.content(CONTENT[:LIMIT])
            scene.upstream.content(b"x")
            assert scene.browser.queued == LIMIT, "the limit's bytes are still to be taken"
    return scene


def assert_left(scene: Scene) -> None:
    assert (scene.browser.queued, scene.browser.told) == (0, Told.ABORTED)
    assert scene.pool.cancelled if scene.pool.side is None else scene.pool.side.cancelled


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("cause", [Cause.RESPONSE_DURATION, Cause.WRITE_TIMEOUT, Cause.SESSION_ENDED])
def test_a_cut_reaches_every_stage_at_once_and_waits_for_nobody(stage: str, cause: Cause) -> None:
    """The browser takes nothing and the API server says nothing, and neither is asked."""
    scene = at_stage(stage)
    match cause:
        case Cause.RESPONSE_DURATION:
            scene.exchange.duration_reached()
        case Cause.WRITE_TIMEOUT:
            scene.exchange.browser_stalled()
        case _:
            scene.exchange.session_ended()
    assert_left(scene)
    if stage == "delivering its last":
        # The first cut is why the browser has a part of it; the later one only hurried it.
        scene.assert_ended(CutShort(Cause.RESPONSE_BYTES))
    else:
        scene.assert_ended(CutShort(cause))


@pytest.mark.parametrize("cut", [Exchange.duration_reached, Exchange.session_ended])
def test_a_cut_reaches_work_that_waits_for_the_api_server(cut: Callable[[Exchange], None]) -> None:
    """whoami, the check and the access page hold a place at the gate as well."""
    services, browser, work, admission = Services(), Browser(), Pool(), Admission()
    exchange = Exchange(services, browser, asked())
    exchange.admission = admission
    exchange.wait_for(work)
    cut(exchange)
    assert (work.cancelled, browser.told, admission.closed) == (True, Told.ABORTED, 1)
    assert browser.head is None, "an abort, and not an invented status"


def test_the_limits_bytes_are_delivered_before_the_abort_and_upstream_is_left_at_once() -> None:
    scene = at_stage("delivering its last")
    assert scene.upstream.cancelled
    assert scene.services.endings == []
    assert scene.admission.closed == 0, "a browser that takes them still holds its place"
    scene.browser.take(LIMIT)
    assert bytes(scene.browser.taken) == CONTENT[:LIMIT]
    scene.assert_ended(CutShort(Cause.RESPONSE_BYTES))


def test_a_stall_is_told_of_an_answer_of_foyers_own_too() -> None:
    scene = Scene(bounds=BOUNDS)
    scene.upstream.fail(Failure.CONNECTION)
    assert scene.browser.queued
    scene.exchange.browser_stalled()
    assert (scene.browser.queued, scene.browser.told) == (0, Told.ABORTED)
    scene.assert_ended(CutShort(Cause.WRITE_TIMEOUT))


def test_the_browsers_side_is_told_how_long_it_may_take_nothing() -> None:
    for timeout in (7.0, None):
        scene = Scene(bounds=ResponseBounds(1, timeout))
        own = scene.browser.write_timeout  # which is that of an interruption in the answer's place, too
        assert own is not None and own != timeout
        scene.upstream.answer(ResponseHead(200, []))
        assert scene.browser.write_timeout == timeout

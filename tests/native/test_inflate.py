"""`foyer_native.inflate` against its twin: what comes out, when, and what it costs (cases A17, A18)."""

import gzip
import tracemalloc
import zlib
from itertools import cycle, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer_native.inflate import STEP, GzipError, Inflater
from tests.support.inflate_twin import Outcome, inflate

MIB = 1024 * 1024


def member(content: bytes, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS + 16, 9, strategy)
    return deflate.compress(content) + deflate.flush()


def with_fields(content: bytes, flags: int, optional: bytes) -> bytes:
    """A member whose header has the optional fields that `flags` announce."""
    plain = member(content)
    return plain[:3] + bytes([flags]) + plain[4:10] + optional + plain[10:]


def drain(inflater: Inflater, limit: int = STEP) -> bytes:
    out = b""
    while step := inflater.step(limit):
        out += step
    return out


def run(feeds: list[bytes], limits: list[int] | None = None) -> Outcome:
    """Feed each, step until it gives nothing, finish: what came out, and the fault."""
    inflater = Inflater()
    content = b""
    limit = cycle(limits or [STEP])
    try:
        for data in feeds:
            inflater.feed(data)
            while step := inflater.step(most := next(limit)):
                assert len(step) <= most
                content += step
                assert inflater.decoded == len(content)
            assert inflater.pending == 0
        inflater.finish()
    except GzipError as fault:
        return Outcome(content, fault.kind)
    return Outcome(content, None)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(at)]


WORDS = st.sampled_from([b'{"kind":"Pod"', b'"name":', b"abcdefgh" * 9, b"\n", b"\0" * 300])
CONTENTS = st.lists(WORDS | st.binary(max_size=40), max_size=60).map(b"".join)
MEMBERS = st.builds(
    member,
    CONTENTS,
    st.integers(0, 9),
    st.sampled_from(
        [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED]
    ),
)
WHOLE = st.lists(MEMBERS, max_size=5).map(b"".join)
CUTS = st.lists(st.integers(0, 100_000), max_size=20)
LIMITS = st.lists(st.sampled_from([1, 2, 7, 100, 4096, STEP]), min_size=1, max_size=4)


@given(st.lists(CONTENTS, max_size=5), st.integers(0, 9), CUTS, LIMITS)
def test_any_members_come_out_whole_however_they_are_split_and_stepped(
    contents: list[bytes], level: int, cuts: list[int], limits: list[int]
) -> None:
    data = b"".join(member(content, level) for content in contents)
    assert run(split(data, cuts), limits) == Outcome(b"".join(contents), None)


@given(WHOLE)
def test_the_twin_agrees_with_the_standard_library(data: bytes) -> None:
    assert inflate(data) == Outcome(gzip.decompress(data), None)


@given(WHOLE, st.integers(0, 100_000), CUTS, LIMITS)
def test_content_cut_anywhere_gives_its_good_bytes_and_then_truncated(
    data: bytes, cut: int, cuts: list[int], limits: list[int]
) -> None:
    data = data[: cut % (len(data) + 1)]
    ours, twin = run(split(data, cuts), limits), inflate(data)
    assert ours.fault == twin.fault
    assert twin.content.startswith(ours.content)
    # ISA-L decodes up to three literals at once, and waits for the bits of all three.
    assert len(twin.content) - len(ours.content) <= (2 if twin.fault else 0)


@given(WHOLE.filter(bool), st.integers(0, 100_000), st.integers(1, 255), CUTS, LIMITS)
def test_a_corrupted_byte_never_passes_and_never_changes_what_came_before(
    data: bytes, place: int, change: int, cuts: list[int], limits: list[int]
) -> None:
    broken = bytearray(data)
    broken[place % len(data)] ^= change
    ours, twin = run(split(bytes(broken), cuts), limits), inflate(bytes(broken))
    if "corrupt" not in (ours.fault, twin.fault):
        assert ours.fault == twin.fault
        assert twin.content.startswith(ours.content)
    else:
        # The engines draw the line of what is DEFLATE in slightly different places: each refuses some
        # code sets that the other goes on with, until a CRC or the input's end has the last word. And
        # each gives nothing of the piece that it refuses.
        assert twin.content.startswith(ours.content) or ours.content.startswith(twin.content)
        assert ours.fault or ours.content == gzip.decompress(data)


@given(WHOLE.filter(bool), st.binary(min_size=1, max_size=40), CUTS, LIMITS)
@example(member(b"x"), b"\0", [], [STEP])
@example(member(b"x"), b"\0\0\0", [], [STEP])
@example(member(b"x"), b"\x1f", [], [STEP])
@example(member(b"x"), b"\x1f\x8c", [], [STEP])
@example(member(b"x"), b"\x1f\x8b\x08", [], [STEP])
def test_what_follows_the_last_member_is_judged_after_all_of_it_was_given(
    data: bytes, tail: bytes, cuts: list[int], limits: list[int]
) -> None:
    ours = run(split(data + tail, cuts), limits)
    assert ours == inflate(data + tail)
    assert ours.content == gzip.decompress(data)
    assert ours.fault == ("junk" if not b"\x1f\x8b".startswith(tail[:2]) else ours.fault)
    assert ours.fault


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (member(b"good")[:-1], "truncated"),
        (member(b"good")[:-8], "truncated"),
        (member(b"good")[:4], "truncated"),
        (member(b"good")[:-8] + b"\0" * 4 + member(b"good")[-4:], "crc"),
        (member(b"good")[:-4] + b"\5\0\0\0", "length"),
        (member(b"good") + b"\0" * 512, "junk"),
        (member(b"good") + b"good", "junk"),
        (b"good", "corrupt"),
        (b"\x1f\x8c", "corrupt"),
        (b"\x1f\x8b\x07", "corrupt"),
        (b"\x1f\x8b\x08\x20", "corrupt"),
        (member(b"good")[:10] + b"\xff", "corrupt"),
    ],
)
def test_each_way_to_end_oddly_has_its_kind(data: bytes, fault: str) -> None:
    one_by_one = [data[at : at + 1] for at in range(len(data))]
    for feeds in ([data], one_by_one):
        assert run(feeds).fault == fault
        assert run([member(b"before"), *feeds]).content.startswith(b"before")
    assert inflate(data).fault == fault


def test_no_content_at_all_is_empty() -> None:
    assert run([]) == run([b""]) == Outcome(b"", None)


@given(st.lists(CONTENTS.filter(bool), min_size=1, max_size=5), CUTS)
def test_a_watch_of_members_passes_each_event_at_once_and_rests_in_between(
    events: list[bytes], cuts: list[int]
) -> None:
    inflater = Inflater()
    for event in events:
        out = b""
        for data in split(member(event), cuts):
            inflater.feed(data)
            out += drain(inflater)
        assert out == event
        assert inflater.resting
        inflater.finish()  # the upstream may end here, cleanly


@given(st.lists(CONTENTS.filter(bool), min_size=1, max_size=5), CUTS, st.integers(0, 9))
def test_a_watch_of_one_flushed_member_passes_each_event_at_once(
    events: list[bytes], cuts: list[int], level: int
) -> None:
    deflate = zlib.compressobj(level, wbits=zlib.MAX_WBITS + 16)
    inflater = Inflater()
    for event in events:
        out = b""
        for data in split(deflate.compress(event) + deflate.flush(zlib.Z_SYNC_FLUSH), cuts):
            inflater.feed(data)
            out += drain(inflater)
        assert out == event
    with pytest.raises(GzipError, match="truncated"):
        inflater.finish()


def test_many_empty_members_are_one_step() -> None:
    inflater = Inflater()
    inflater.feed(member(b"") * 5_000 + member(b"then this"))
    assert inflater.step(STEP) == b"then this"
    assert inflater.step(STEP) == b""
    inflater.finish()


OPTIONAL = st.tuples(
    st.none() | st.binary(max_size=300),
    st.none() | st.binary(max_size=50).map(lambda text: text.replace(b"\0", b"?")),
    st.none() | st.binary(max_size=50).map(lambda text: text.replace(b"\0", b"?")),
    st.none() | st.integers(0, 1),
)


@given(CONTENTS, OPTIONAL, CUTS)
def test_optional_header_fields_are_skipped_and_a_header_crc_is_checked(
    content: bytes, optional: tuple[bytes | None, bytes | None, bytes | None, int | None], cuts: list[int]
) -> None:
    extra, name, comment, wrong = optional
    flags, fields = 1, b""  # FTEXT says nothing that matters here
    if extra is not None:
        flags, fields = flags | 4, fields + len(extra).to_bytes(2, "little") + extra
    if name is not None:
        flags, fields = flags | 8, fields + name + b"\0"
    if comment is not None:
        flags, fields = flags | 16, fields + comment + b"\0"
    if wrong is not None:
        flags |= 2
        crc = zlib.crc32(with_fields(content, flags, fields)[: 10 + len(fields)]) & 0xFFFF
        fields += (crc ^ wrong).to_bytes(2, "little")
    data = with_fields(content, flags, fields)
    expected = Outcome(b"", "crc") if wrong else Outcome(content, None)
    assert run(split(data, cuts)) == inflate(data) == expected


@pytest.mark.parametrize(("size", "fault"), [(64 * 1024 - 1, None), (64 * 1024, "corrupt")])
@pytest.mark.parametrize("flag", [8, 16])
def test_a_header_is_bounded(flag: int, size: int, fault: str | None) -> None:
    data = with_fields(b"content", flag, b"n" * size + b"\0")
    assert run([data]).fault == run(split(data, list(range(0, len(data), 1000)))).fault == fault
    assert inflate(data).fault == fault


def test_an_endless_header_ends_at_the_bound() -> None:
    inflater = Inflater()
    inflater.feed(with_fields(b"", 8, b"")[:10])
    for _ in range(64):
        inflater.feed(b"n" * 1024)
        assert inflater.step(STEP) == b""
    inflater.feed(b"n")
    with pytest.raises(GzipError, match="corrupt"):
        inflater.step(STEP)


def test_a_step_is_never_longer_than_64_kib() -> None:
    inflater = Inflater()
    inflater.feed(member(bytes(MIB)))
    assert len(inflater.step(MIB)) == STEP
    assert inflater.pending > 0


@pytest.mark.parametrize("limit", [0, -1])
def test_a_step_of_nothing_is_refused_since_nothing_means_more_input(limit: int) -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        Inflater().step(limit)


def test_a_fault_is_raised_again_and_holds_nothing() -> None:
    inflater = Inflater()
    inflater.feed(member(b"good") + b"junk")
    inflater.feed(bytes(1000))
    assert inflater.step(STEP) == b"good"
    for _ in range(2):
        with pytest.raises(GzipError) as raised:
            inflater.step(STEP)
        assert raised.value.kind == "junk"
        assert inflater.pending == 0
        assert not inflater.resting
    with pytest.raises(GzipError, match="junk"):
        inflater.finish()


def test_finishing_before_the_last_step_is_a_mistake_of_the_caller() -> None:
    inflater = Inflater()
    inflater.feed(member(b"good"))
    with pytest.raises(AssertionError):
        inflater.finish()


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """The start of a member of a GiB of zeros: blocks that each say 16 MiB more of the same."""
    deflate = zlib.compressobj(9, wbits=zlib.MAX_WBITS + 16)
    head = deflate.compress(bytes(16 * MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(bytes(16 * MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return head + block * 63


def test_a_bomb_costs_what_the_limit_lets_through(bomb: bytes) -> None:
    limit = 10 * MIB
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        inflater = Inflater()
        inflater.feed(bomb)
        while inflater.decoded < limit:
            assert set(inflater.step(limit - inflater.decoded)) == {0}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert inflater.decoded == limit
    assert inflater.pending > len(bomb) * 98 // 100
    assert peak - before < MIB // 2


def test_a_bomb_decodes_to_the_last_byte_if_it_is_let(bomb: bytes) -> None:
    inflater = Inflater()
    inflater.feed(bomb[: len(bomb) // 16])
    while inflater.step(STEP):
        pass
    assert inflater.decoded > 60 * MIB


def test_two_thousand_quiet_watches_hold_no_decoder() -> None:
    event = member(b'{"type":"MODIFIED"}' * 30)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        watches = [Inflater() for _ in range(2_000)]
        for watch in watches:
            watch.feed(event)
            drain(watch)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(watch.resting for watch in watches)
    assert (after - before) / len(watches) < 256


def test_input_is_let_go_as_it_is_consumed() -> None:
    source = zlib.compressobj(0, wbits=zlib.MAX_WBITS + 16)
    data = source.compress(bytes(range(256)) * 4096) + source.flush()
    tracemalloc.start()
    try:
        inflater = Inflater()
        before, _ = tracemalloc.get_traced_memory()
        for at in range(0, len(data), STEP):
            inflater.feed(data[at : at + STEP])
        drained = drain(inflater)
        assert drained == bytes(range(256)) * 4096
        del drained
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 4096

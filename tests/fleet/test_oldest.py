"""The oldest items that fit: a beginning of the sorted list without a gap, in whichever order they come."""

from hypothesis import given
from hypothesis import strategies as st

from foyer.fleet.objects import Entry
from foyer.fleet.oldest import Oldest, cost
from foyer.fleet.position import Position
from tests.fleet.fleets import Gates, Held

ENTRIES = st.lists(
    st.builds(
        Entry,
        st.builds(
            Position, st.sampled_from(["", "1", "2"]), st.sampled_from("ab"), st.just(""), st.text("xyz")
        ),
        st.integers(1, 3000).map(bytes),
    ),
    unique_by=lambda entry: entry.position,
    max_size=30,
)


def kept(entries: list[Entry], most: int, pool: int) -> Oldest:
    oldest = Oldest(most, Held(Gates(pool)))
    for entry in entries:
        oldest.add(entry)
    return oldest


@given(ENTRIES)
def test_with_room_for_all_of_them_it_is_everything_in_order(entries: list[Entry]) -> None:
    oldest = kept(entries, len(entries), 10**9)
    assert oldest.entries == sorted(entries)
    assert oldest.dropped is None


@given(ENTRIES, st.integers(1, 30))
def test_at_most_so_many_are_the_first_of_them(entries: list[Entry], most: int) -> None:
    oldest = kept(entries, most, 10**9)
    ordered = sorted(entries)
    assert oldest.entries == ordered[:most]
    assert oldest.dropped == (ordered[most].position if len(ordered) > most else None)


@given(ENTRIES, st.integers(0, 30_000))
def test_as_many_bytes_as_there_are_hold_the_longest_beginning_that_fits(
    entries: list[Entry], pool: int
) -> None:
    oldest = kept(entries, 1000, pool)
    ordered = sorted(entries)
    fits, used = 0, 0
    for entry in ordered:
        used += cost(len(entry.text))
        if used > pool:
            break
        fits += 1
    assert oldest.entries == ordered[:fits]
    assert oldest.held == sum(cost(len(entry.text)) for entry in oldest.entries) <= pool
    if fits < len(ordered):
        assert (oldest.dropped, oldest.dropped_cost) == (
            ordered[fits].position,
            cost(len(ordered[fits].text)),
        )


@given(ENTRIES, st.integers(1, 10), st.randoms(use_true_random=False))
def test_the_order_in_which_they_come_does_not_matter(
    entries: list[Entry], most: int, random: object
) -> None:
    other = list(entries)
    random.shuffle(other)  # type: ignore[attr-defined]
    assert kept(entries, most, 10_000).entries == kept(other, most, 10_000).entries


@given(ENTRIES, st.data())
def test_no_more_than_fits_is_ever_held(entries: list[Entry], data: st.DataObject) -> None:
    memory = Held(Gates(data.draw(st.integers(0, 20_000))))
    most = data.draw(st.integers(1, 10))
    oldest = Oldest(most, memory)
    for entry in entries:
        oldest.add(entry)
        assert len(oldest.entries) <= most
        assert oldest.held <= memory.size


def test_an_object_that_is_listed_twice_is_kept_once() -> None:
    entry = Entry(Position("1", "eu", "", "one"), b"{}")
    assert kept([entry, entry._replace(text=b"{ }")], 10, 10**9).entries == [entry]


def test_what_was_dropped_is_not_taken_again_though_there_be_room_by_then() -> None:
    entries = [Entry(Position(str(number), "a", "", "x"), b"12") for number in range(3)]
    gates = Gates(2 * cost(2))
    oldest = Oldest(1000, Held(gates))
    for entry in entries:
        oldest.add(entry)
    gates.pool = 10**9
    oldest.add(entries[2])
    assert (oldest.entries, oldest.dropped) == (entries[:2], entries[2].position)

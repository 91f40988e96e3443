"""Revisions of redacted values (spec 05, Projections)."""

from foyer.streams.redactions import SIZE, Redaction, Redactions
from foyer.streams.revisions import ABSENT_MOST, GONE_MOST, Revisions


def show(revisions: Revisions, uid: str, **values: bytes) -> dict[str, int]:
    redactions = Redactions(Redaction(path.encode(), digest.ljust(SIZE)) for path, digest in values.items())
    return {path.decode(): revision for path, revision in revisions.show(uid, redactions)}


def test_a_revision_starts_at_one_and_rises_when_the_value_changes() -> None:
    revisions = Revisions()
    assert show(revisions, "u", a=b"1", b=b"1") == {"a": 1, "b": 1}
    assert show(revisions, "u", a=b"2", b=b"1") == {"a": 2, "b": 1}
    assert show(revisions, "u", a=b"1", b=b"1") == {"a": 3, "b": 1}
    assert show(revisions, "other", a=b"2") == {"a": 1}


def test_a_value_that_goes_and_comes_back_goes_on_where_it_was() -> None:
    revisions = Revisions()
    show(revisions, "u", a=b"1")
    assert show(revisions, "u", b=b"1") == {"b": 1}
    assert show(revisions, "u", a=b"1", b=b"1") == {"a": 1, "b": 1}
    assert show(revisions, "u", a=b"2") == {"a": 2}


def test_revisions_hold_across_cycles() -> None:
    revisions = Revisions()
    show(revisions, "u", a=b"1")
    revisions.begin()
    assert show(revisions, "u", a=b"2") == {"a": 2}
    revisions.complete()
    assert show(revisions, "u", a=b"3") == {"a": 3}


def test_an_object_that_left_goes_on_where_it_was_when_it_comes_back() -> None:
    revisions = Revisions()
    show(revisions, "left", a=b"1")
    show(revisions, "missed", a=b"1")
    revisions.leave("left")
    revisions.leave("never seen")
    revisions.begin()
    revisions.complete()
    assert show(revisions, "left", a=b"2") == {"a": 2}
    assert show(revisions, "missed", a=b"2") == {"a": 2}


def test_of_objects_that_are_gone_the_last_thousand_are_remembered() -> None:
    revisions = Revisions()
    for number in range(ABSENT_MOST + 1):
        show(revisions, f"u{number}", a=b"1")
        revisions.leave(f"u{number}")
    assert show(revisions, "u0", a=b"2") == {"a": 1}
    assert show(revisions, "u1", a=b"2") == {"a": 2}


def test_a_snapshot_of_more_than_that_forgets_none_that_is_in_it() -> None:
    revisions = Revisions()
    uids = [f"u{number}" for number in range(3 * ABSENT_MOST)]
    for uid in uids:
        show(revisions, uid, a=b"1")
    revisions.begin()
    assert {show(revisions, uid, a=b"2")["a"] for uid in uids} == {2}
    revisions.complete()


def test_of_an_objects_values_that_are_gone_the_last_hundred_are_remembered() -> None:
    revisions = Revisions()
    show(revisions, "u", first=b"1", second=b"1", stays=b"1")
    show(revisions, "u", second=b"2", stays=b"1")
    for number in range(GONE_MOST - 1):
        show(revisions, "u", stays=b"1", **{f"v{number}": b"1"})
    assert show(revisions, "u", stays=b"2") == {"stays": 2}
    assert show(revisions, "u", first=b"2", second=b"3", stays=b"2") == {"first": 1, "second": 3, "stays": 2}

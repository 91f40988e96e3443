"""Redacted values, packed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.streams.projection import Projection, project
from foyer.streams.redactions import SIZE, Redaction, Redactions
from foyer.streams.resource import read
from foyer.streams.revisions import Revisions
from tests.streams.following import secret
from tests.support.allocations import allocations

VALUES = st.lists(
    st.builds(
        Redaction,
        st.text(st.characters(codec="ascii", exclude_characters="\n"), max_size=5).map(str.encode),
        st.binary(min_size=SIZE, max_size=SIZE),
    ),
    max_size=4,
)


@given(VALUES, VALUES)
def test_what_is_packed_is_what_it_was(one: list[Redaction], other: list[Redaction]) -> None:
    packed = Redactions(one)
    assert (list(packed), len(packed), bool(packed)) == (one, len(one), bool(one))
    assert (packed == Redactions(other)) is (one == other)
    assert (packed.packed == Redactions(other).packed) is (one == other)
    assert packed != tuple(one)


@pytest.mark.parametrize("per_object", [5, 100, 4000])
def test_a_small_value_is_kept_in_some_dozens_of_bytes(per_object: int) -> None:
    objects = 4000 // per_object
    data = b"{%b}" % b",".join([b'"%04d":1' % number for number in range(per_object)])
    texts = [secret(data=data).replace(b'"s1"', b'"s%d"' % number) for number in range(objects)]
    revisions = Revisions()
    with allocations() as made:
        for text in texts:
            found = read(text)
            assert found is not None
            shown = project(found, Projection.FULL)
            assert len(revisions.show(shown.uid, shown.redactions)) == per_object
            del found, shown
    assert made.kept < 50 * 4000 + 700 * objects

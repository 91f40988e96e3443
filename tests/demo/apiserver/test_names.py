"""Names, labels and finalizers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.names import (
    config_key_faults,
    finalizer_faults,
    label_faults,
    label_key_faults,
    label_value_faults,
    subdomain_faults,
)

GOOD = [
    (subdomain_faults, ["a", "a.b", "a-b.c-1", "0", "x" * 253]),
    (label_faults, ["a", "a-b", "0", "x" * 63]),
    (label_key_faults, ["a", "A_b.c-d", "example.com/a", "x" * 63, "a.b/" + "x" * 63]),
    (label_value_faults, ["", "a", "A_b.c-d", "x" * 63]),
    (config_key_faults, ["a", ".a", "A-b_c.d", "...", "x" * 253]),
    (finalizer_faults, ["example.com/f", "orphan", "foregroundDeletion"]),
]

BAD = [
    (subdomain_faults, ["", "A", "-a", "a-", "a..b", ".a", "a/b", "a\n", "ä", "x" * 254]),
    (label_faults, ["", "A", "a.b", "-a", "a\n", "x" * 64]),
    (label_key_faults, ["", "/a", "a/", "a/b/c", "A.b/c", "-a", "a b", "a\n", "x" * 64, "ä"]),
    (label_value_faults, ["-a", "a-", "a b", "a/b", "a\n", "x" * 64]),
    (config_key_faults, ["", ".", "..", "a/b", "a b", "a\n", "x" * 254]),
    (finalizer_faults, ["", "f", "/f", "example.com/"]),
]


@pytest.mark.parametrize(("faults", "values"), GOOD)
def test_good_ones_have_no_faults(faults, values) -> None:  # type: ignore[no-untyped-def]
    assert [value for value in values if faults(value)] == []


@pytest.mark.parametrize(("faults", "values"), BAD)
def test_bad_ones_have(faults, values) -> None:  # type: ignore[no-untyped-def]
    assert [value for value in values if not faults(value)] == []


@given(st.text(max_size=300))
def test_a_namespace_name_is_a_name_and_a_name_is_a_label_key(text: str) -> None:
    if not label_faults(text):
        assert not subdomain_faults(text)
        assert not label_key_faults(text)
        assert not label_value_faults(text)


@pytest.mark.parametrize("faults", [subdomain_faults, label_faults, label_key_faults, label_value_faults])
def test_a_megabyte_is_no_name_and_takes_no_time(faults) -> None:  # type: ignore[no-untyped-def]
    for text in ("a" * 1_000_000 + "!", "a." * 500_000 + "!", "a-" * 500_000):
        assert faults(text)

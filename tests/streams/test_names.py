"""What Kubernetes lets things be called."""

import pytest

from foyer.streams import names


@pytest.mark.parametrize("label", ["a", "0", "app-1", "1app", "x" * 63])
def test_a_label_is_letters_digits_and_inner_hyphens(label: str) -> None:
    assert names.is_label(label)


@pytest.mark.parametrize("label", ["", "-a", "a-", "A", "a.b", "a_b", "a/b", "ä", "a\n", "x" * 64])
def test_anything_else_is_no_label(label: str) -> None:
    assert not names.is_label(label)
    assert not names.is_letter_first_label(label)


def test_a_version_or_a_resource_begins_with_a_letter() -> None:
    assert names.is_letter_first_label("v1")
    assert not names.is_letter_first_label("1v")


@pytest.mark.parametrize("name", ["apps", "a.b", "0.1", "notes.example.com", "x" * 253])
def test_a_subdomain_is_labels_between_dots_bounded_as_a_whole(name: str) -> None:
    assert names.is_subdomain(name)


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "a.-b", "a.B", "a/b", "x" * 254])
def test_anything_else_is_no_subdomain(name: str) -> None:
    assert not names.is_subdomain(name)


@pytest.mark.parametrize("name", ["system:node", "A b", "admin@example.com", "sha256:00", "é", "..."])
def test_elsewhere_a_name_is_a_segment_of_a_path(name: str) -> None:
    assert names.is_path_segment(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2Fb", "a\0", "a\n", "x" * 254])
def test_what_leaves_its_segment_is_none(name: str) -> None:
    assert not names.is_path_segment(name)
